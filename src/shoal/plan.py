"""From a policy to a recoding, top-down on one page: roles, hierarchies, counts, feasibility, search, suppression."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from math import inf
from time import perf_counter

import numpy as np

from shoal.codes import Table
from shoal.counts import ClassCounts
from shoal.engine import Engine, Source
from shoal.errors import BadPolicy, Infeasible, ShoalWarning
from shoal.frequency import FrequencySet
from shoal.hierarchy import Builder, Hierarchy, build, draft
from shoal.lattice import Lattice
from shoal.metrics import METRICS
from shoal.models import Flags, KAnonymity, Model, asked
from shoal.policy import Policy
from shoal.recode import NodeRecoding
from shoal.release import After, Before
from shoal.schema import Role
from shoal.search import Answer, Found, Oracle, Stop, Tally, Watch
from shoal.search.find import find
from shoal.search.oracle import together

_UNIQUE_SHARE = Fraction(1, 20)


@dataclass(frozen=True)
class Plan:
    """What was decided, and how."""

    roles: Mapping[str, Role]
    builders: Mapping[str, Builder]
    hierarchies: Mapping[str, Hierarchy]
    before: Before
    after: After
    recoding: NodeRecoding
    lattice: Lattice
    found: Found
    score: float
    gap: float
    tally: Tally
    seconds: float
    failed: Mapping[str, Flags]
    """Per required model, the classes of `after` that fail it."""


def make_plan(
    source: Source,
    policy: Policy,
    engine: Engine,
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
) -> Plan:
    """Find the recoding of least loss that keeps the policy, or say why there is none; `stop` ends the search early."""
    return solve(set_task(source, policy, engine), policy, watch, stop)


def solve(task: "Task", policy: Policy, watch: Watch = lambda *_: None, stop: Stop = lambda: False) -> Plan:
    """The plan for a task that was set."""
    oracle, lattice = task.oracle, task.lattice
    started = perf_counter()
    found = find(policy.method, lattice, oracle, watch, _deadline(policy.method.time_limit, stop))
    seconds = perf_counter() - started
    if stop():
        warnings.warn(ShoalWarning("the search was interrupted, and the best node so far was taken"), stacklevel=2)
    if found.best is None:
        raise Infeasible(_why_not(oracle, lattice) if found.proved else _why_none(policy, oracle))
    after, recoding = _apply(task.before.classes, found.best, oracle)
    scorer = oracle.scorer
    least = sum(floor[low] for floor, low in zip(scorer.floors, lattice.bottom, strict=True))
    return Plan(
        roles=task.roles,
        builders=task.builders,
        hierarchies=task.hierarchies,
        before=task.before,
        after=after,
        recoding=recoding,
        lattice=lattice,
        found=found,
        score=scorer.value(found.best.score),
        gap=scorer.value(found.best.score) - scorer.value(max(found.bound, least)),
        tally=oracle.tally,
        seconds=seconds,
        failed=_failed(policy.models, after.classes.class_counts(oracle.labels)),
    )


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
    quasi = sorted(name for name, role in roles.items() if role is Role.QUASI_IDENTIFIER)
    counted = {model.about for model in policy.models}
    sensitive = [name for name in roles if name in counted]  # the others need not be counted
    builders = {name: policy.attributes[name].hierarchy or draft(table[name], policy.largest_k) for name in quasi}
    hierarchies = {name: build(table[name], builders[name]) for name in quasi}
    classes = engine.count(table, quasi, sensitive)
    labels = {name: [*table[name].texts.to_pylist(), None][: table[name].size] for name in sensitive}
    limit = policy.suppressible(table.rows)
    _refuse_impossible(policy.models, classes.class_counts(labels), limit)
    _warn_of_unknown_values(policy.models, labels)

    importance = {name: a.importance for name, a in policy.attributes.items() if a.importance is not None}
    before = Before(classes, tuple(hierarchies.values()), importance)
    scorer = METRICS[policy.method.metric].on(before)
    oracle = Oracle(before, policy.models, limit, scorer, labels, policy.release.suppressed == "show")
    return Task(roles, builders, hierarchies, before, allowed_lattice(policy, hierarchies), oracle)


def _deadline(time_limit: float | None, stop: Stop) -> Stop:
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


def _failed(models: list[Model], counts: ClassCounts) -> dict[str, Flags]:
    """Per model, whatever attribute it is about, the classes that fail it."""
    failed: dict[str, Flags] = {}
    for model in models:
        failed[model.name] = ~model.complies(counts) | failed.get(model.name, np.False_)
    return failed


def assign_roles(table: Table, policy: Policy, index: Sequence[str] = ()) -> dict[str, Role]:
    """The role of every column, in the order of the table; a column without one is an error (design 12)."""
    for name in policy.attributes:
        if name not in table.columns:
            folded = {column.casefold(): column for column in table.columns}
            near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
            hint = f" (did you mean {folded[near[0]]!r}?)" if near else ""
            raise BadPolicy(f"attributes.{name}: the table has no column {name!r}{hint}")
    unknown = [name for name in table.columns if name not in policy.attributes]
    if policy.data.others is None and any(name in index for name in unknown):
        raise BadPolicy(
            "the frame has an index of its own, which can identify people: drop it with reset_index(drop=True), or "
            f"give it a role as attribute {next(name for name in unknown if name in index)!r}"
        )
    if unknown and policy.data.others is None:
        named = ", ".join(repr(name) for name in unknown)
        raise BadPolicy(
            f"column(s) {named} have no role; add them to [attributes], or set others = 'drop' or 'insensitive' "
            "under [data]"
        )
    other = Role.INSENSITIVE if policy.data.others == "insensitive" else Role.IDENTIFIER
    roles = {n: policy.attributes[n].role if n in policy.attributes else other for n in table.columns}
    _refuse_units(roles)
    _refuse_unconfirmed(table, policy, roles)
    for model in policy.require:
        if isinstance(model, KAnonymity) and model.k == 1:
            warnings.warn(ShoalWarning("k = 1 gives no protection"), stacklevel=2)
    return roles


def _refuse_units(roles: Mapping[str, Role]) -> None:
    for name, role in roles.items():
        if role is Role.UNIT:
            raise BadPolicy(
                f"attributes.{name}: counting persons by a unit column is not in this version; make the table one "
                "row per person"
            )


def _refuse_unconfirmed(table: Table, policy: Policy, roles: Mapping[str, Role]) -> None:
    for name, role in roles.items():
        confirmed = name in policy.attributes and policy.attributes[name].confirm
        unique = int((table[name].counts == 1).sum())
        if role is Role.INSENSITIVE and not confirmed and Fraction(unique, max(table.rows, 1)) > _UNIQUE_SHARE:
            raise BadPolicy(
                f"attributes.{name}: {unique} of {table.rows} rows hold a value that no other row has, so it may "
                "identify people; give it another role, or confirm = true"
            )


def _refuse_impossible(models: list[Model], counts: ClassCounts, limit: int) -> None:
    whole = together(counts, np.ones(len(counts.sizes), dtype=bool))
    for model in models:
        why = model.impossible(whole, limit)
        if why is not None:
            raise Infeasible(f"impossible: {model.name}: {why}")


def _warn_of_unknown_values(models: list[Model], labels: Mapping[str, list[str | None]]) -> None:
    """A threshold for a value that the table does not hold protects nobody: a slip of the pen, perhaps."""
    for model in models:
        for table in asked(model).values():
            unknown = [v for v in table if v not in labels[model.about or ""]] if isinstance(table, Mapping) else []
            if unknown:
                named = ", ".join(repr(value) for value in unknown)
                warnings.warn(ShoalWarning(f"{model.name}: the table holds no {named}"), stacklevel=2)


def allowed_lattice(policy: Policy, hierarchies: Mapping[str, Hierarchy]) -> Lattice:
    """The lattice between the policy's least and greatest levels."""
    low, high = [], []
    for name, hierarchy in hierarchies.items():
        attribute = policy.attributes[name]
        least = attribute.min_level or 0
        if least > hierarchy.height or (attribute.max_level or 0) > hierarchy.height:
            raise BadPolicy(f"attributes.{name}: its hierarchy has the levels 0 to {hierarchy.height} only")
        low.append(least)
        high.append(hierarchy.height if attribute.max_level is None else attribute.max_level)
    return Lattice(tuple(hierarchies), tuple(low), tuple(high))


def _apply(bottom: FrequencySet, found: Answer, oracle: Oracle) -> tuple[After, NodeRecoding]:
    """The classes at the node found, and per row whether its class is suppressed."""
    levels = dict(zip(bottom.attributes, found.node, strict=True))
    steps = {h.attribute: h.levels[levels[h.attribute]] for h in oracle.before.hierarchies}
    coarse = bottom.rollup(steps, want_classes=True)
    after = After(found.node, coarse, oracle.failing(coarse))
    assert bottom.classes is not None
    assert coarse.classes is not None
    return after, NodeRecoding(levels, after.suppressed[coarse.classes[bottom.classes]])


def _why_not(oracle: Oracle, lattice: Lattice) -> str:
    """Which model fails at the most general node, and by how many rows."""
    top = oracle.apply(lattice.top)
    failed = _failed(list(oracle.models), top.classes.class_counts(oracle.labels))
    failing = {name: int(top.classes.counts[classes].sum()) for name, classes in failed.items()}
    worst = max(failing, key=lambda name: failing[name])
    where, levels = ("at the only", "other") if lattice.size == 1 else ("even at the most general", "higher")
    said = f"no node keeps the policy: {where} one {failing[worst]} of {oracle.before.rows} rows fail "
    if top.suppressed_rows == oracle.before.rows <= oracle.limit:
        return f"{said}{worst}, and a release without rows is none; allow {levels} levels or a weaker model"
    if top.suppressed_rows <= oracle.limit:
        return (
            f"{said}{worst}, and the suppressed rows, shown as one class, do not keep the policy themselves; drop them "
            f"(suppressed = 'drop' under [release]), or allow {levels} levels or a weaker model"
        )
    return (
        f"{said}{worst} and only {oracle.limit} may be suppressed; allow more suppression, {levels} levels or a weaker "
        "model"
    )
