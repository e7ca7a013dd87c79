"""Runs the algorithm that a policy names, or says why it cannot be used."""

from math import inf

from shoal.errors import BadPolicy, Infeasible
from shoal.lattice import Lattice
from shoal.methods import ALGORITHMS
from shoal.models import Closure
from shoal.policy.method import Method
from shoal.search.driver import Found, Stop, Stopped, Watch, answer, decide
from shoal.search.oracle import Oracle
from shoal.search.preference import preferred
from shoal.search.walks import LARGEST_LISTED, Setting


def find(
    method: Method, lattice: Lattice, oracle: Oracle, watch: Watch = lambda *_: None, stop: Stop = lambda: False
) -> Found:
    """The node to release; `stop` ends an anytime search early."""
    oracle.tally.nodes = lattice.size
    algorithm = ALGORITHMS[method.algorithm]
    if algorithm.closed:
        _refuse_open(method, oracle)
    if algorithm.lists:
        _refuse_large(method, lattice)
    setting = Setting(
        oracle.pruned(lattice) if algorithm.prunes else lattice,
        oracle.before,
        method.weighting,
        method.minimal,
        oracle.scorer.floors,
        oracle.scorer.additive,
        method.seed,
        endless=method.time_limit is not None,
    )
    walk = algorithm.load()(setting)
    if algorithm.scores:
        return answer(walk, oracle, watch, stop)
    try:
        nodes = decide(walk, oracle, watch, stop)
    except Stopped:
        raise Infeasible(
            f"{method.algorithm} was stopped before its end and has no node to release; allow more time, or use "
            "algorithm = 'optimal', which ends with the best node so far"
        ) from None
    if not nodes:
        return Found(None, bound=inf if oracle.closed else -inf)
    heights = [hierarchy.height for hierarchy in oracle.before.hierarchies]
    found = answer(preferred(nodes, method.preference, heights, oracle.scorer.floors), oracle, watch)
    complete = method.algorithm == "incognito" and method.preference == "metric" and not method.minimal
    bound = found.best.score if complete and found.best is not None else -inf
    return Found(found.best, bound, nodes if algorithm.lists else ())


def _refuse_open(method: Method, oracle: Oracle) -> None:
    """Samarati, Incognito and what builds on them discard nodes unseen, which only a closed policy allows."""
    if oracle.closed:
        return
    why = (
        "which suppressed rows that are shown as a class do not promise; use algorithm = 'optimal', or drop them "
        "(suppressed = 'drop' under [release])"
    )
    if oracle.open_parts:
        named = " and ".join(dict.fromkeys(part.name for part in oracle.open_parts))
        union = all(oracle.merging(part) >= Closure.UNION for part in oracle.open_parts)
        why = (
            f"which {named} does not promise{' once rows may be suppressed' if union else ''}; use algorithm = "
            f"'optimal'{', or suppression = 0' if union else ''}"
        )
    raise BadPolicy(
        f"method.algorithm: {method.algorithm!r} relies on it that whatever is more general than a complying node "
        f"complies, {why}"
    )


def _refuse_large(method: Method, lattice: Lattice) -> None:
    if lattice.size > LARGEST_LISTED:
        raise BadPolicy(
            f"method.algorithm: the lattice has {lattice.size:,} nodes, more than the {LARGEST_LISTED:,} that "
            f"{method.algorithm!r} can list; use algorithm = 'optimal', which takes any number, or min-level and "
            "max-level to make it smaller"
        )
