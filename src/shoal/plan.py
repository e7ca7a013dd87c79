"""From a policy to a recoding, top-down on one page: roles, hierarchies, counts, feasibility, search, suppression."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from itertools import chain
from math import inf
from time import perf_counter

import numpy as np

from shoal.codes import Column, Table, alone, united
from shoal.counts import ClassCounts
from shoal.engine import Engine, Source
from shoal.errors import BadData, BadHierarchy, BadPolicy, Infeasible, ShoalWarning
from shoal.frequency import Counted, FrequencySet, Reading, joined
from shoal.hierarchy import Builder, Hierarchy, build, draft
from shoal.lattice import Lattice
from shoal.metrics import METRICS
from shoal.models import QUASI, Closure, Flags, KAnonymity, Model, asked
from shoal.models.presence import DeltaPresence
from shoal.policy import Policy
from shoal.policy.fitting import refuse_misfits
from shoal.recode import NodeRecoding
from shoal.release import After, Before
from shoal.schema import Role
from shoal.search import Answer, Found, Oracle, Stop, Tally, Watch
from shoal.search.find import find

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
    reading: Reading
    """How what models count beside the classes was read."""


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
        failed=_failed(policy.models, oracle.counts(after.node, after.classes)),
        reading=oracle.reading,
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


def meet(source: Source, everybody: Source, quasi: Sequence[str]) -> Source:
    """A table that knows the population: their quasi-identifiers in one encoding."""
    missing = [name for name in quasi if name not in everybody.table.columns]
    if missing:
        named = ", ".join(map(repr, missing))
        raise BadData(f"{everybody.name}: the population has no column {named}; it needs every quasi-identifier")
    both = {name: united(source.table[name], everybody.table[name]) for name in quasi if name in source.table.columns}
    table = {name: both[name][0] if name in both else column for name, column in source.table.columns.items()}
    people = {name: column for name, (_, column) in both.items()}
    return replace(source, table=Table(table, source.table.rows), population=Table(people, everybody.table.rows))


def _hierarchy(source: Source, name: str, builder: Builder) -> Hierarchy:
    """The hierarchy of a quasi-identifier; an error counts the rows of the table that it is about."""
    try:
        return build(source.table[name], builder)
    except BadHierarchy:
        if source.population is not None:
            build(alone(source.table[name]), builder)
            try:
                build(alone(source.population[name]), builder)
            except BadHierarchy as wrong:
                raise BadHierarchy(f"the population: {wrong}", wrong.values) from None
        raise


def set_task(source: Source, policy: Policy, engine: Engine) -> Task:
    """Roles, hierarchies, counts and feasibility: all that comes before the search."""
    table = source.table
    roles = assign_roles(table, policy, source.index)
    quasi = sorted(name for name, role in roles.items() if role is Role.QUASI_IDENTIFIER)
    builders = {name: policy.attributes[name].hierarchy or draft(table[name], policy.largest_k) for name in quasi}
    hierarchies = {name: _hierarchy(source, name, builders[name]) for name in quasi}
    refuse_misfits(policy, table, roles)
    classes = engine.count(table, quasi, counted(policy, quasi))
    reading = read_columns(table, policy, classes, quasi)
    population = None if source.population is None else engine.count(source.population, quasi, [])
    _refuse_outsiders(policy.models, classes, reading, population)
    limit = policy.suppressible(table.rows)
    _refuse_impossible(policy.models, _as_one_class(classes, reading, population), limit, split=reading.split)
    _warn_of_unknown_values(policy.models, reading.labels)

    importance = {name: a.importance for name, a in policy.attributes.items() if a.importance is not None}
    every = {*policy.named(Role.SENSITIVE)} == {*policy.about} != set()
    before = Before(classes, tuple(hierarchies.values()), importance, population, reading if every else None)
    scorer = METRICS[policy.method.metric].on(before)
    oracle = Oracle(before, policy.models, limit, scorer, reading, policy.release.suppressed == "show")
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
    units = [name for name, role in roles.items() if role is Role.UNIT]
    if len(units) > 1:
        raise BadPolicy(f"attributes.{units[1]}: {units[0]!r} is the unit already; one column tells persons apart")


def _refuse_unconfirmed(table: Table, policy: Policy, roles: Mapping[str, Role]) -> None:
    for name, role in roles.items():
        confirmed = name in policy.attributes and policy.attributes[name].confirm
        unique = int((table[name].counts == 1).sum())
        if role is Role.INSENSITIVE and not confirmed and Fraction(unique, max(table.rows, 1)) > _UNIQUE_SHARE:
            raise BadPolicy(
                f"attributes.{name}: {unique} of {table.rows} rows hold a value that no other row has, so it may "
                "identify people; give it another role, or confirm = true"
            )


def counted(policy: Policy, quasi: Sequence[str]) -> list[Counted]:
    """What models and the metric need counted beside the classes; where a unit is given, with the persons."""
    if policy.unit is None:
        return [*policy.about, *together(policy, quasi)]
    return [policy.unit, *((policy.unit, name) for name in policy.about), *together(policy, quasi)]


def together(policy: Policy, quasi: Sequence[str]) -> list[tuple[str, ...]]:
    """The sets of columns that models need counted together."""
    return sorted({_expanded(model.columns, quasi) for model in policy.models if model.columns})


def _expanded(columns: Sequence[str], quasi: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for column in columns for name in (quasi if column == QUASI else [column]))


def trees_of(table: Table, policy: Policy) -> dict[str, Hierarchy]:
    """The hierarchies of sensitive attributes that have one."""
    known = {name: policy.attributes[name].hierarchy for name in policy.named(Role.SENSITIVE)}
    return {name: build(table[name], builder) for name, builder in known.items() if builder is not None}


def orders_of(policy: Policy) -> dict[str, tuple[str, ...]]:
    """The orders of sensitive attributes that have one."""
    return {name: a.order for name, a in policy.attributes.items() if a.order is not None}


def read_columns(table: Table, policy: Policy, classes: FrequencySet, quasi: Sequence[str]) -> Reading:
    """How the counted columns are read: labels, hierarchies and orders, and what the whole table holds."""
    jointly = together(policy, quasi)
    trees = trees_of(table, policy)
    reading = Reading(
        labels={name: _labels(table[name]) for name in dict.fromkeys([*policy.about, *chain(*jointly)])},
        unit=policy.unit,
        levels={name: tree.levels for name, tree in trees.items()},
        order=orders_of(policy),
        joint=dict.fromkeys(jointly),
        level_labels={name: tree.labels for name, tree in trees.items()},
        split=_warn_of_varying_persons(table, quasi, policy.unit),
    )
    whole = classes.project([]).class_counts(reading)
    reference = {name: values.overall for name, values in whole.sensitive.items()}
    return replace(reading, reference=reference, joint=whole.joint)


def _labels(column: Column) -> list[str | None]:
    return [*column.texts.to_pylist(), None][: column.size]


def _warn_of_varying_persons(table: Table, quasi: Sequence[str], unit: str | None) -> bool:
    """Whether a person's quasi-identifiers differ from row to row, so that he stands in several classes."""
    varying = []
    for name in quasi if unit is not None else ():
        _, pairs, _ = joined([(table[n].codes, table[n].size) for n in (unit, name) if n is not None])
        varying += [name] if pairs > table[unit or ""].size else []
    for name in varying:
        said = f"attributes.{name}: some persons have several values of it, so they stand in several classes"
        warnings.warn(ShoalWarning(said), stacklevel=2)
    return bool(varying)


def _as_one_class(classes: FrequencySet, reading: Reading, population: FrequencySet | None) -> ClassCounts:
    whole = classes.project([]).class_counts(reading)
    return whole if population is None else replace(whole, population=np.array([population.rows]))


def _refuse_outsiders(
    models: list[Model], classes: FrequencySet, reading: Reading, population: FrequencySet | None
) -> None:
    """Who is in the table is in the population: else the share of it that is in the table means nothing."""
    if population is None or not any(isinstance(model, DeltaPresence) for model in models):
        return
    found, _ = classes.found_in(population)
    outside = int(np.maximum(classes.class_counts(reading).sizes - found, 0).sum())
    if outside:
        raise BadData(
            f"{outside} row(s) of the table have quasi-identifiers that fewer persons of the population have; "
            "delta-presence needs a population that the table is a part of"
        )


def _refuse_impossible(models: list[Model], whole: ClassCounts, limit: int, *, split: bool) -> None:
    """What the whole table shows of its classes; where persons are in several, only what grows shows."""
    for model in models:
        parts = [part for part in model.parts() if part.merging is Closure.SUPERSET] if split else [model]
        for part in parts:
            why = part.impossible(whole, limit)
            if why is not None:
                raise Infeasible(f"impossible: {model.name}: {why}")


def _warn_of_unknown_values(models: list[Model], labels: Mapping[str, Sequence[str | None]]) -> None:
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
    after = After(found.node, coarse, oracle.failing(found.node, coarse))
    assert bottom.classes is not None
    assert coarse.classes is not None
    return after, NodeRecoding(levels, after.suppressed[coarse.classes[bottom.classes]])


def _why_not(oracle: Oracle, lattice: Lattice) -> str:
    """Which model fails at the most general node, and by how many rows."""
    top = oracle.apply(lattice.top)
    counts = oracle.counts(lattice.top, top.classes)
    failed = _failed(list(oracle.models), counts)
    failing = {name: int(top.classes.counts[classes].sum()) for name, classes in failed.items()}
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
