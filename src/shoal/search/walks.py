"""Runs the search that a policy names, and chooses among the nodes it found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from shoal.errors import BadPolicy, Infeasible
from shoal.hierarchy.lattice import Lattice, Node
from shoal.methods import ALGORITHMS
from shoal.metrics.metric import Floors
from shoal.models.model import Closure
from shoal.policy.method import Method, Preference, Weighting
from shoal.recoding.outcome import Before
from shoal.search.driver import (
    Ask,
    Incumbent,
    Search,
    SearchResult,
    Stop,
    Stopped,
    Walk,
    Watch,
    drive_search,
    drive_walk,
    is_better,
    slack,
)
from shoal.search.greedy import datafly, greedy, step_losses
from shoal.search.incognito import incognito, minimal
from shoal.search.optimal import optimal
from shoal.search.oracle import Answer, Oracle
from shoal.search.samarati import hybrid, samarati

LARGEST_LISTED = 2_000_000
"""Nodes of a lattice that an algorithm may list."""


@dataclass(frozen=True)
class Setting:
    """The input of a search or walk."""

    lattice: Lattice
    before: Before
    weighting: Weighting = "importance"
    minimal: bool = False
    floors: Floors = ()
    """floors[attribute][level]: their sum is a lower bound of the score."""
    additive: bool = False
    """Whether bounds of disjoint sets of attributes add up."""
    seed: int = 0
    endless: bool = False
    """Whether an anytime search goes on until it is stopped."""

    @property
    def distinct(self) -> list[list[int]]:
        """The number of values of each attribute at each level."""
        return [[h.groups(level) for level in range(h.height + 1)] for h in self.before.hierarchies]


def walk_optimal(setting: Setting) -> Search:
    return optimal(
        setting.lattice,
        setting.floors,
        setting.before.left_out,
        additive=setting.additive,
        seed=setting.seed,
        endless=setting.endless,
    )


def walk_datafly(setting: Setting) -> Walk:
    return datafly(setting.lattice, setting.distinct)


def walk_greedy(setting: Setting) -> Walk:
    return greedy(setting.lattice, step_losses(setting.before, setting.weighting))


def walk_samarati(setting: Setting) -> Walk:
    return samarati(setting.lattice)


def walk_hybrid(setting: Setting) -> Walk:
    return hybrid(setting.lattice, setting.distinct, setting.before.left_out)


def walk_incognito(setting: Setting) -> Walk:
    nodes = yield from incognito(setting.lattice, setting.before.left_out)
    return minimal(nodes) if setting.minimal else nodes


Key = Callable[[Answer, Sequence[int]], int | Fraction]
KEYS: dict[Preference, Key] = {
    "metric": lambda *_: 0,
    "minimum-absolute-distance": lambda answer, _: sum(answer.node),
    "minimum-relative-distance": lambda answer, heights: sum(map(_relative, answer.node, heights), Fraction(0)),
    "maximum-distribution": lambda answer, _: -answer.classes,
    "minimum-suppression": lambda answer, _: answer.suppressed,
}
"""Preferences among nodes: less is better, ties go by the metric (S2.5); heights are those of the hierarchies."""


def choose_preferred(nodes: tuple[Node, ...], preference: Preference, heights: Sequence[int], floors: Floors) -> Search:
    """Choose the node to release: ask for scores in the order of the bounds, while another node could still win."""
    found = Incumbent()
    for done, node in enumerate(sorted(nodes, key=lambda node: (_bound(node, floors), node))):
        best = found.best
        if preference == "metric" and best is not None and _bound(node, floors) > best.score + slack(best.score):
            break
        answer = yield Ask(node, done / len(nodes))
        if best is None or _wins(answer, best, KEYS[preference], heights):
            found.best = answer
    return SearchResult(found.best, nodes=nodes)


def _wins(answer: Answer, best: Answer, key: Key, heights: Sequence[int]) -> bool:
    """Return whether an answer is preferred to the best so far; at a tie by the metric."""
    ours, theirs = key(answer, heights), key(best, heights)
    return ours < theirs or (ours == theirs and is_better(answer, best))


def _relative(level: int, height: int) -> Fraction:
    return Fraction(level, max(height, 1))


def _bound(node: Node, floors: Floors) -> float:
    """Return the lower bound of the score of a node."""
    return float(sum(floor[level] for floor, level in zip(floors, node, strict=True)))


def find(
    method: Method, lattice: Lattice, oracle: Oracle, watch: Watch = lambda *_: None, stop: Stop = lambda: False
) -> SearchResult:
    """Run the search of the policy, and return the node to release; `stop` ends an anytime search early."""
    oracle.tally.nodes = lattice.size
    algorithm = ALGORITHMS[method.algorithm]
    if algorithm.closed:
        _refuse_open(method, oracle)
    if algorithm.lists:
        _refuse_large(method, lattice)
    setting = Setting(
        oracle.prune(lattice) if algorithm.prunes else lattice,
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
        return drive_search(walk, oracle, watch, stop)
    try:
        nodes = drive_walk(walk, oracle, watch, stop)
    except Stopped:
        raise Infeasible(
            f"{method.algorithm} was stopped before its end and has no node to release; allow more time, or use "
            "algorithm = 'optimal', which ends with the best node so far"
        ) from None
    if not nodes:
        return SearchResult(None, bound=inf if oracle.closed else -inf)
    heights = [hierarchy.height for hierarchy in oracle.before.hierarchies]
    found = drive_search(choose_preferred(nodes, method.preference, heights, oracle.scorer.floors), oracle, watch)
    complete = method.algorithm == "incognito" and method.preference == "metric" and not method.minimal
    bound = found.best.score if complete and found.best is not None else -inf
    return SearchResult(found.best, bound, nodes if algorithm.lists else ())


def _refuse_open(method: Method, oracle: Oracle) -> None:
    """Refuse a policy that is not closed: Samarati, Incognito and their variants infer nodes from others."""
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
