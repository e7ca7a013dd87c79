"""Solve a problem by a node of the lattice: one level of generalisation for all rows of a column."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from shoal.data.codes import Codes
from shoal.data.frequency_set import FrequencySet
from shoal.errors import BadPolicy, Infeasible, ShoalWarning
from shoal.hierarchy.lattice import Lattice
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.metrics.catalogue import METRICS, scorers
from shoal.plan import Plan, Searched
from shoal.policy.document import Policy
from shoal.problem import Problem, find_failing_classes
from shoal.recoding.kinds import NodeRecoding
from shoal.recoding.outcome import After
from shoal.search.oracle import Answer, Oracle
from shoal.search.walks import find


@dataclass(frozen=True)
class LatticeSearch:
    """A problem as a search of the lattice: the nodes that are allowed, and the oracle that judges them."""

    problem: Problem
    lattice: Lattice
    oracle: Oracle

    @classmethod
    def of(cls, problem: Problem, limit: int | None = None) -> "LatticeSearch":
        """State the search; `limit` is how many rows may be suppressed, by default as many as the policy allows."""
        policy = problem.policy
        before = replace(problem.before, hierarchies=tuple(problem.hierarchies.values()))
        oracle = Oracle(
            before,
            policy.models,
            problem.limit if limit is None else limit,
            METRICS[policy.method.metric].on(before),
            problem.reading,
            policy.release.suppressed == "show",
        )
        return cls(problem, allowed_lattice(policy, problem.hierarchies), oracle)


def search_lattice(problem: Problem, limit: int | None = None) -> Plan:
    """Find the node of least loss that keeps the policy, or say why there is none."""
    search = LatticeSearch.of(problem, limit)
    oracle, lattice, policy = search.oracle, search.lattice, problem.policy
    started = perf_counter()
    found = find(policy.method, lattice, oracle, problem.watch, problem.within_time().stop)
    seconds = perf_counter() - started
    if problem.stop():
        warnings.warn(ShoalWarning("the search was interrupted, and the best node so far was taken"), stacklevel=2)
    if found.best is None:
        raise Infeasible(_explain_infeasible(oracle, lattice) if found.proved else _explain_unproved(policy, oracle))
    after, recoding, of_row = _apply(problem.classes, found.best, oracle)
    scorer = oracle.scorer
    least = sum(floor[low] for floor, low in zip(scorer.floors, lattice.bottom, strict=True))
    score = scorer.value(found.best.score)
    return Plan(
        roles=problem.roles,
        builders=problem.builders,
        hierarchies=problem.hierarchies,
        before=oracle.before,
        after=after,
        recoding=recoding,
        score=score,
        metrics={name: s.value(s.score(after)) for name, s in scorers(oracle.before).items()},
        seconds=seconds,
        failed=oracle.explain(after),
        class_of_row=of_row,
        reading=oracle.reading,
        search=Searched(lattice, found, score - scorer.value(max(found.bound, least)), oracle.tally),
    )


def _explain_unproved(policy: Policy, oracle: Oracle) -> str:
    """Explain why a search ended without a node although it did not prove that there is none."""
    if policy.method.algorithm == "optimal":
        return "no node that keeps the policy was found before the search had to stop; allow more time"
    named = " and ".join(dict.fromkeys(part.name for part in oracle.open_parts)) or "the class of suppressed rows"
    return (
        f"{policy.method.algorithm} went up to the most general node without meeting one that keeps the policy, but "
        f"{named} may hold elsewhere; use algorithm = 'optimal'"
    )


def allowed_lattice(policy: Policy, hierarchies: Mapping[str, Hierarchy]) -> Lattice:
    """Return the lattice between the policy's least and greatest levels."""
    low, high = [], []
    for name, hierarchy in hierarchies.items():
        attribute = policy.attributes[name]
        least = attribute.min_level or 0
        if least > hierarchy.height or (attribute.max_level or 0) > hierarchy.height:
            raise BadPolicy(f"attributes.{name}: its hierarchy has the levels 0 to {hierarchy.height} only")
        low.append(least)
        high.append(_highest(policy, hierarchy))
    return Lattice(tuple(hierarchies), tuple(low), tuple(high))


def _highest(policy: Policy, hierarchy: Hierarchy) -> int:
    """Return the highest level that the policy allows an attribute."""
    if policy.method.generalise == "none" and policy.method.suppress == "tuple":
        return 0
    limit = policy.attributes[hierarchy.attribute].max_level
    return hierarchy.height if limit is None else limit


def _apply(bottom: FrequencySet, found: Answer, oracle: Oracle) -> tuple[After, NodeRecoding, Codes]:
    """Return the classes at the node, the recoding with the suppressed rows, and the class of each row.

    Where rows are not in memory, the recoding has the classes that are kept instead, and the last array is per class
    of the table.
    """
    levels = dict(zip(bottom.attributes, found.node, strict=True))
    steps = {h.attribute: h.levels[levels[h.attribute]] for h in oracle.before.hierarchies}
    coarse = bottom.rollup(steps, want_classes=True)
    after = oracle.suppress(found.node, coarse)
    if bottom.classes is None:
        kept = replace(coarse.select_classes(~after.suppressed), rest=None)
        of_class = np.zeros(0, dtype=np.int32) if coarse.classes is None else coarse.classes
        return after, NodeRecoding(levels, np.zeros(0, dtype=bool), kept), of_class
    assert coarse.classes is not None
    of_row = coarse.classes[bottom.classes]
    return after, NodeRecoding(levels, after.suppressed[of_row]), of_row


def _explain_infeasible(oracle: Oracle, lattice: Lattice) -> str:
    """Explain which model fails at the most general node, and for how many rows."""
    top = oracle.apply(lattice.top)
    counts = oracle.counts(lattice.top, top.classes)
    failed = find_failing_classes(list(oracle.models), counts)
    failing = {name: top.count_rows(classes) for name, classes in failed.items()}
    worst = max(failing, key=lambda name: failing[name])
    where, levels = ("at the only", "other") if lattice.size == 1 else ("even at the most general", "higher")
    said = f"no node keeps the policy: {where} one {failing[worst]} of {oracle.before.rows} rows fail "
    if top.suppressed_rows == oracle.before.rows <= oracle.limit:
        return f"{said}{worst}, and a release without rows is none; allow {levels} levels or a weaker model"
    wide = [
        model.name
        for model in oracle.models
        if model.table_wide and not model.holds(counts.select_classes(~top.suppressed))
    ]
    if top.suppressed_rows <= oracle.limit and wide:
        smallest = any(model.suppresses_smallest for model in oracle.models if model.name == wide[0])
        small = f", whichever of its smallest classes are suppressed, {oracle.limit} rows at most"
        return (
            f"no node keeps the policy: {where} one the table as a whole fails {wide[0]}"
            f"{small if smallest and oracle.limit else ''}; allow {levels} levels or a weaker model"
        )
    if top.suppressed_rows <= oracle.limit:
        return (
            f"{said}{worst}, and the suppressed rows, shown as one class, do not keep the policy themselves; drop them "
            f"(suppressed = 'drop' under [release]), or allow {levels} levels or a weaker model"
        )
    if keeping := [model.name for model in oracle.models if any(part.keeps_every_row for part in model.parts())]:
        return (
            f"{said}{worst}, and {keeping[0]}, as it is asked for, lets no row be left out; allow {levels} levels or a "
            "weaker model"
        )
    return (
        f"{said}{worst} and only {oracle.limit} may be suppressed; allow more suppression, {levels} levels or a weaker "
        "model"
    )
