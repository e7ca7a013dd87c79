"""From a policy to a node of the lattice: hierarchies, counts, feasibility, search, suppression."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter

import numpy as np

from shoal.codes import Codes, Column
from shoal.engine import Engine, Source
from shoal.errors import BadPolicy, Infeasible, ShoalWarning
from shoal.events import tell
from shoal.frequency import FrequencySet
from shoal.hierarchy import Builder, Hierarchy, ValueOnly, draft
from shoal.lattice import Lattice
from shoal.metrics import METRICS, scorers
from shoal.models import least_size
from shoal.plan.counting import counted, read_columns, warn_of_unknown_values
from shoal.plan.feasible import as_one_class, failed_by, refuse_impossible, refuse_outsiders
from shoal.plan.margin import in_order
from shoal.plan.population import hierarchy_of
from shoal.plan.roles import assign_roles
from shoal.plan.values import Plan, Searched
from shoal.policy import Policy
from shoal.policy.fitting import refuse_misfits
from shoal.recode import NodeRecoding
from shoal.release import After, Before
from shoal.schema import Role
from shoal.search import Answer, Oracle, Stop, Tally, Watch
from shoal.search.find import find


@dataclass(frozen=True)
class Task:
    """What a search is about, made from a table and a policy."""

    roles: Mapping[str, Role]
    builders: Mapping[str, Builder]
    hierarchies: Mapping[str, Hierarchy]
    before: Before
    lattice: Lattice
    oracle: Oracle

    def afresh(self) -> "Task":
        """The same task for a search that nothing was asked yet."""
        return replace(self, oracle=replace(self.oracle, tally=Tally()))


def set_task(source: Source, policy: Policy, engine: Engine) -> Task:
    """Roles, hierarchies, counts and feasibility: all that comes before the search."""
    table = source.table
    roles = assign_roles(table, policy, source.index)
    quasi = in_order((name for name, role in roles.items() if role is Role.QUASI_IDENTIFIER), policy.method)
    builders = {name: builder_of(policy, table[name]) for name in quasi}
    hierarchies = {name: hierarchy_of(source, name, builders[name]) for name in quasi}
    refuse_misfits(policy, table, roles)
    beside = counted(policy, quasi)
    if table.relation is not None:  # measures cannot look at the rows again
        beside += [name for name in policy.named(Role.SENSITIVE) if name not in beside]
    limit = policy.suppressible(table.rows)
    classes = engine.count(table, quasi, beside).at_least(least_size(policy.models), limit)
    tell("counted", classes=len(classes))
    reading = read_columns(table, policy, classes, quasi)
    population = None if source.population is None else engine.count(source.population, quasi, [])
    refuse_outsiders(policy.models, classes, reading, population)
    refuse_impossible(policy.models, as_one_class(classes, reading, population), limit, split=reading.split)
    warn_of_unknown_values(policy.models, reading.labels)

    importance = {name: a.importance for name, a in policy.attributes.items() if a.importance is not None}
    every = {*policy.named(Role.SENSITIVE)} == {*policy.about} != set()
    sensitive = reading if every else None
    before = Before(classes, tuple(hierarchies.values()), importance, population, sensitive, source.room)
    scorer = METRICS[policy.method.metric].on(before)
    oracle = Oracle(before, policy.models, limit, scorer, reading, policy.release.suppressed == "show")
    return Task(roles, builders, hierarchies, before, allowed_lattice(policy, hierarchies), oracle)


def solve(task: "Task", policy: Policy, watch: Watch = lambda *_: None, stop: Stop = lambda: False) -> Plan:
    """The plan for a task that was set."""
    oracle, lattice = task.oracle, task.lattice
    started = perf_counter()
    found = find(policy.method, lattice, oracle, watch, deadline(policy.method.time_limit, stop))
    seconds = perf_counter() - started
    if stop():
        warnings.warn(ShoalWarning("the search was interrupted, and the best node so far was taken"), stacklevel=2)
    if found.best is None:
        raise Infeasible(_why_not(oracle, lattice) if found.proved else _why_none(policy, oracle))
    after, recoding, of_row = _apply(task.before.classes, found.best, oracle)
    scorer = oracle.scorer
    least = sum(floor[low] for floor, low in zip(scorer.floors, lattice.bottom, strict=True))
    score = scorer.value(found.best.score)
    return Plan(
        roles=task.roles,
        builders=task.builders,
        hierarchies=task.hierarchies,
        before=task.before,
        after=after,
        recoding=recoding,
        score=score,
        metrics={name: s.value(s.score(after)) for name, s in scorers(task.before).items()},
        seconds=seconds,
        failed=failed_by(policy.models, oracle.counts(after.node, after.classes)),
        class_of_row=of_row,
        reading=oracle.reading,
        search=Searched(lattice, found, score - scorer.value(max(found.bound, least)), oracle.tally),
    )


def builder_of(policy: Policy, column: Column) -> Builder:
    """The hierarchy that the policy gives, or a draft; where nothing is generalised, the value or `*`."""
    if policy.method.generalise == "none":
        return ValueOnly()
    return policy.attributes[column.name].hierarchy or draft(column, policy.largest_k)


def deadline(time_limit: float | None, stop: Stop) -> Stop:
    """Stop when told to, or when the time is over."""
    ends = inf if time_limit is None else perf_counter() + time_limit
    return lambda: stop() or perf_counter() >= ends


def _why_none(policy: Policy, oracle: Oracle) -> str:
    """Why a search ended with nothing although it did not prove that there is nothing."""
    if policy.method.algorithm == "optimal":
        return "no node that keeps the policy was found before the search had to stop; allow more time"
    named = " and ".join(dict.fromkeys(part.name for part in oracle.open_parts)) or "the class of suppressed rows"
    return (
        f"{policy.method.algorithm} went up to the most general node without meeting one that keeps the policy, but "
        f"{named} may hold elsewhere; use algorithm = 'optimal'"
    )


def allowed_lattice(policy: Policy, hierarchies: Mapping[str, Hierarchy]) -> Lattice:
    """The lattice between the policy's least and greatest levels."""
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
    if policy.method.generalise == "none" and policy.method.suppress == "tuple":
        return 0
    limit = policy.attributes[hierarchy.attribute].max_level
    return hierarchy.height if limit is None else limit


def _apply(bottom: FrequencySet, found: Answer, oracle: Oracle) -> tuple[After, NodeRecoding, Codes]:
    """The classes at the node found, per row whether its class is suppressed, and per row its class.

    Where rows stay where they are: the classes that are kept, and per class of the table its class at the node.
    """
    levels = dict(zip(bottom.attributes, found.node, strict=True))
    steps = {h.attribute: h.levels[levels[h.attribute]] for h in oracle.before.hierarchies}
    coarse = bottom.rollup(steps, want_classes=True)
    after = After(found.node, coarse, oracle.failing(found.node, coarse))
    if bottom.classes is None:
        kept = replace(coarse.kept(~after.suppressed), rest=None)
        of_class = np.zeros(0, dtype=np.int32) if coarse.classes is None else coarse.classes
        return after, NodeRecoding(levels, np.zeros(0, dtype=bool), kept), of_class
    assert coarse.classes is not None
    of_row = coarse.classes[bottom.classes]
    return after, NodeRecoding(levels, after.suppressed[of_row]), of_row


def _why_not(oracle: Oracle, lattice: Lattice) -> str:
    """Which model fails at the most general node, and by how many rows."""
    top = oracle.apply(lattice.top)
    counts = oracle.counts(lattice.top, top.classes)
    failed = failed_by(list(oracle.models), counts)
    failing = {name: top.rows_of(classes) for name, classes in failed.items()}
    worst = max(failing, key=lambda name: failing[name])
    where, levels = ("at the only", "other") if lattice.size == 1 else ("even at the most general", "higher")
    said = f"no node keeps the policy: {where} one {failing[worst]} of {oracle.before.rows} rows fail "
    if top.suppressed_rows == oracle.before.rows <= oracle.limit:
        return f"{said}{worst}, and a release without rows is none; allow {levels} levels or a weaker model"
    wide = [model.name for model in oracle.models if model.table_wide and not model.holds(counts.kept(~top.suppressed))]
    if top.suppressed_rows <= oracle.limit and wide:
        return (
            f"no node keeps the policy: {where} one the table as a whole fails {wide[0]}; allow {levels} levels or a "
            "weaker model"
        )
    if top.suppressed_rows <= oracle.limit:
        return (
            f"{said}{worst}, and the suppressed rows, shown as one class, do not keep the policy themselves; drop them "
            f"(suppressed = 'drop' under [release]), or allow {levels} levels or a weaker model"
        )
    return (
        f"{said}{worst} and only {oracle.limit} may be suppressed; allow more suppression, {levels} levels or a weaker "
        "model"
    )
