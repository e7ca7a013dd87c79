"""The releases before, read from a private folder, and the plan of the next one (S3.10)."""

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.attacks.attack import Finding
from shoal.attacks.composition_over_time import Candidates, sets_of, told
from shoal.data.class_counts import Flags
from shoal.data.codes import Codes, Table, numbered
from shoal.data.frequency_set import FrequencySet
from shoal.engine_port import Engine, Source
from shoal.errors import BadData, BadInput, BadPolicy, Infeasible, ShoalWarning
from shoal.hierarchy.build import build
from shoal.metrics.catalogue import lost_in_cells
from shoal.models.model import exact
from shoal.partition.released_labels import show_levels
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.publish.contents import load_private
from shoal.publish.fixed_recoding import EarlierRelease
from shoal.recoding.kinds import PartRecoding
from shoal.recoding.outcome import RecodedCells
from shoal.republish.context import HistoryUpdate, Make, NextRelease, RepublishContext
from shoal.republish.history import NAME, History, begun, load_history, match, typed
from shoal.republish.m_invariance import grow_invariant
from shoal.republish.next_monotone import begin_monotone, grow_monotone, increment_monotone
from shoal.roles import Role
from shoal.runtime.tempdir import settle
from shoal.verify.release_files import is_there


def remember(table: Table, policy: Policy, levels: Mapping[str, int], rows: NDArray[np.int64], name: str) -> History:
    """Rebuild the history of one release at a node from its original, whose `rows` are behind the released ones."""
    quasi = tuple(sorted(levels))
    sensitive = tuple(policy.named(Role.SENSITIVE))
    empty = begun(quasi, sensitive, table)
    match(table, policy.key or "", empty, name)  # refuses a key that is none
    # [released row] its code at the released level, by quasi-identifier; together they tell its class
    coded = {}
    for attribute in quasi:
        builder = policy.attributes[attribute].hierarchy
        assert builder is not None, "a private folder tells every hierarchy in full"
        tree, level = build(table[attribute], builder), levels[attribute]
        coded[attribute] = tree.levels[level][table[attribute].codes[rows]], tree.groups(level)
    group = FrequencySet.count(coded, want_classes=True).classes
    assert group is not None
    key = table[policy.key or ""]
    left = {}
    for each, candidates in empty.candidates.items():
        column = table[each]
        sets = sets_of(group, column.codes[rows], int(group.max(initial=-1)) + 1, column.size)
        left[each] = candidates.joined_by(len(rows)).after(group, sets)
    return replace(
        empty,
        releases=1,
        keys=key.texts.take(pa.array(key.codes[rows])),
        group=group,
        shown=np.ones(len(rows), dtype=bool),
        levels=np.tile(np.array([levels[each] for each in quasi], dtype=np.int16), (len(rows), 1)),
        values={each: typed(table[each], table[each].codes[rows]) for each in sensitive},
        candidates=left,
    )


@dataclass(frozen=True)
class PreviousRelease(EarlierRelease):
    """What the next release of a table follows."""

    doing: ClassVar[str] = "republish"
    history: History | None
    """None where the folder keeps none, since its policy did not say that the table would be published again."""
    increment: bool = False
    """Whether the table has new rows only, which are published alone."""
    erased: pa.Array | None = None
    """Keys of people of whom nothing is kept."""

    @classmethod
    def load(
        cls, private: str | os.PathLike[str], policy: Policy | None = None, *, increment: bool = False
    ) -> "PreviousRelease":
        """Read a private folder; hierarchies and roles are those of before, all else is what the policy says now."""
        folder = Path(os.path.abspath(private))
        settle(folder)
        if not folder.is_dir():
            raise BadInput(f"{folder.name}: there is no such folder; give the private one of a release: OUT.private")
        before = load_private(folder).policy
        now = before if policy is None else _following(before, policy)
        if now.republish is None:
            raise BadPolicy("the policy has no section [republish]: it must name the key that tells persons apart")
        kept = is_there(folder / NAME)
        if kept and before.republish is not None and before.republish.way != now.republish.way:
            raise BadPolicy(f"republish.way was {before.republish.way!r}, and no other one continues it")
        if kept and before.key != now.key:
            raise BadPolicy(f"republish.key was {before.key!r}; persons cannot be known again by another column")
        if increment and now.republish.way == "m-invariance":
            raise BadPolicy(
                "republish.way = 'm-invariance' shows everybody again; give the whole table, not an increment"
            )
        return cls(folder, now, load_history(folder) if kept else None, increment)

    def forgotten(self, history: History) -> History:
        return history if self.erased is None else history.forgetting(self.erased)


def _following(before: Policy, now: Policy) -> Policy:
    """The policy of now with the hierarchies of before; refused where roles differ."""
    roles = [{name: attribute.role for name, attribute in each.attributes.items()} for each in (before, now)]
    differ = sorted({name for name, _ in roles[0].items() ^ roles[1].items()})
    if differ:
        raise BadPolicy(f"attributes.{differ[0]}: its role is not that of the earlier release; keep the roles")
    kept = {
        name: now.attributes[name].model_copy(update={"hierarchy": each.hierarchy})
        for name, each in before.attributes.items()
    }
    return now.model_copy(update={"attributes": kept})


def plan_next_release(
    source: Source, policy: Policy, engine: Engine, previous: EarlierRelease | None, file: Path | None, make: Make
) -> tuple[Source, Plan]:
    """Plan the next release of a growing table, or its first; its history names the file and forgets who was erased."""
    assert isinstance(previous, PreviousRelease | None)
    if previous is None:
        source, plan = grow(source, policy, engine, None, make)
    else:
        source, plan = grow(source, policy, engine, previous.history, make, increment=previous.increment)
    assert plan.grown is not None
    whole = previous is None or not previous.increment
    history = replace(plan.grown.history, source=file.name if whole and file is not None else None)
    history = history if previous is None else previous.forgotten(history)
    return source, replace(plan, grown=replace(plan.grown, history=history))


def grow(
    source: Source, policy: Policy, engine: Engine, history: History | None, make: Make, *, increment: bool = False
) -> tuple[Source, Plan]:
    """The table, in codes that know the values of before, and the plan of its next release; raises why there is none.

    `make` plans a table as if it were the first. An increment has new rows only, which are published alone.
    """
    assert policy.republish is not None
    started = perf_counter()
    context = RepublishContext.of(source, policy, engine, history)
    if history is not None and not increment:
        _refuse_strangers(context)
    if policy.republish.way == "m-invariance":
        after = _unexposed(context, lambda out: grow_invariant(context, out), lifting=True)
    elif history is None:
        plan, after = begin_monotone(context, make)
        return context.source, replace(plan, grown=_judged(context, after, plan.class_of_row))
    elif increment:
        after = increment_monotone(context, make)
    else:
        after = _unexposed(context, lambda out: grow_monotone(context, make, out), lifting=False)
    _refuse_left_out(context, after)
    plan = _planned(context, after, started)
    return context.source, replace(plan, grown=_judged(context, after, plan.class_of_row))


def _refuse_strangers(context: RepublishContext) -> None:
    """Refuse a table in which nobody is found again: its keys may be spelt differently; warn where few are found."""
    found, shown = context.matched.row >= 0, int(context.history.shown.sum())
    known = int((found & context.history.shown).sum())
    if shown and not found.any():
        raise BadData(
            f"{context.source.name}: nobody of the last release is found again by column {context.policy.key!r}; spell "
            "it as before, or, if all have left, anonymize the table afresh under a policy of its own"
        )
    if 2 * known < shown:
        warnings.warn(
            ShoalWarning(f"only {known:,} of {shown:,} people of the last release are found again; check the key"),
            stacklevel=2,
        )


def _refuse_left_out(context: RepublishContext, after: NextRelease) -> None:
    out, limit = int((after.part < 0).sum()), context.policy.suppressible(context.table.rows)
    if out == len(after.part):
        raise Infeasible("nobody could be shown in this release; wait for more rows, or weaken the policy")
    if out > limit:
        raise Infeasible(
            f"{out:,} of {len(after.part):,} rows would have to be left out, so that nobody is betrayed by a "
            f"difference between the releases, and suppression allows {limit:,}; raise it, wait for more rows, or "
            "use way = 'm-invariance'"
        )


def _planned(context: RepublishContext, after: NextRelease, started: float) -> Plan:
    """Plan of the release; rows that are left out are a part and a class of their own, all `*`."""
    out = after.part < 0
    used, at = numbered(after.part[~out])
    # [row] its part, renumbered from 0; rows that are left out are the last part
    levels, parts = after.levels[used], len(used)
    part = np.full(len(out), parts, dtype=np.int32)
    part[~out] = at
    if out.any():
        top = [hierarchy.height for hierarchy in context.hierarchies]
        levels = np.append(levels, np.array([top], dtype=np.int16), axis=0)
    showing = show_levels(context.rows, part, levels, context.hierarchies)
    # [part] its class; the part left out stays apart from others that are all `*`
    alike, classes = showing.alike()
    if out.any():
        used, alike = numbered(np.append(alike[:-1], np.int32(classes)))
        classes = len(used)
    of_row = alike[part]
    left_out = int(alike[-1]) if out.any() else None
    released = context.rows.parted(of_row, classes)
    sizes = np.bincount(part, minlength=len(levels)).astype(np.int64)
    recoded = RecodedCells(released, sizes, showing.losses, tuple(showing.covers.values()), left_out)
    metrics = lost_in_cells(replace(context.problem.before, hierarchies=()), recoded)
    return Plan(
        roles=context.problem.roles,
        builders=context.problem.builders,
        hierarchies=dict(zip(context.quasi, context.hierarchies, strict=True)),
        before=replace(context.problem.before, hierarchies=()),
        after=recoded,
        recoding=PartRecoding("cells", part, showing.shown, parts if out.any() else None),
        score=metrics["loss"],
        metrics=metrics,
        seconds=perf_counter() - started,
        failed={"republish": recoded.suppressed},
        class_of_row=of_row,
        reading=context.problem.reading,
        added=after.added,
    )


def _narrowed(context: RepublishContext, after: NextRelease, class_of_row: Codes) -> dict[str, Candidates]:
    """Sensitive values that remain possible for each line after this release, by attribute."""
    # [line] the class that shows it; -1 where none does
    shown = np.where(after.row >= 0, class_of_row[after.row], -1)
    rows, classes = after.row[after.row >= 0], int(class_of_row.max()) + 1
    left = {}
    for name, candidates in after.history.candidates.items():
        column = context.table[name]
        # [shown or added row] its class and its value
        held, values = class_of_row[rows], column.codes[rows]
        if after.added is not None:
            held, values = (
                np.append(held, class_of_row[after.added.copied]),
                np.append(values, after.added.codes),
            )
        left[name] = candidates.after(shown, sets_of(held, values, classes, column.size))
    return left


def _judged(context: RepublishContext, after: NextRelease, class_of_row: Codes) -> HistoryUpdate:
    """Run the composition attack over all releases; raise Infeasible where it exposes more than the policy allows."""
    policy, history = context.policy, after.history
    assert policy.republish is not None
    left = _narrowed(context, after, class_of_row)
    ever = np.any([each.of >= 0 for each in left.values()], axis=0)
    people = int((ever & history.keys.is_valid().to_numpy(zero_copy_only=False)).sum())
    finding = _with_differences(context, after, told(left, policy.values_left, history.releases, people))
    if finding.exposed > exact("limit", policy.republish.limit) * finding.of:
        raise Infeasible(
            f"the composition attack over {history.releases} release(s) exposes {finding.exposed:,} of {finding.of:,} "
            f"people, and limit = {policy.republish.limit!r}; nothing is released"
        )
    return HistoryUpdate(replace(history, candidates=left), finding)


def _with_differences(context: RepublishContext, after: NextRelease, finding: Finding) -> Finding:
    """Add whom subtracting releases exposes: everybody in a group that is newly told apart and fails the policy."""
    history, touched = after.history, after.touched
    if touched is None or not touched.any():
        return finding
    used, group = numbered(history.group[touched])
    values = {name: _coded(context, name, history.values[name].filter(pa.array(touched))) for name in context.sensitive}
    fine = context.comply(values, group, len(used))
    below = int((~fine)[group].sum())
    figures = {**finding.figures, "people_in_groups_told_apart": int(touched.sum()), "of_them_below_the_policy": below}
    sentence = f"{finding.sentence}; {below:,} stand in groups that differences tell apart and that do not comply"
    return replace(finding, exposed=finding.exposed + below, sentence=sentence, figures=figures)


def _coded(context: RepublishContext, name: str, values: pa.Array) -> Codes:
    """Codes that the table has for values of the history."""
    column = context.table[name]
    found = pc.index_in(values, value_set=column.values).fill_null(len(column.values))
    codes: Codes = found.to_numpy(zero_copy_only=False).astype(np.int32)
    return codes


def _unexposed(context: RepublishContext, way: Callable[[Flags], NextRelease], *, lifting: bool) -> NextRelease:
    """Plan the next release such that no class narrows down what was left to somebody whose value changed.

    A part can do so if it looks like others that hold values which were left. It is then generalised further, where
    that is allowed, until it looks like none of these; where that does not help, the person is left out.
    """
    top = np.array([hierarchy.height for hierarchy in context.hierarchies], dtype=np.int16)
    out = np.zeros(context.table.rows, dtype=bool)
    after = way(out)
    while True:
        left = _narrowed(context, after, np.append(context.alike(after.part, after.levels), -1)[after.part])
        # [line] fewer values would remain possible than the policy asks for
        below = np.zeros(len(after.row), dtype=bool)
        for name, each in left.items():
            below |= each.left() < context.policy.values_left[name]
        changed = np.append(context.matched.line, 0)[after.row] >= 0
        rows = after.row[below & (after.row >= 0) & changed]
        if not len(rows) or out[rows].all():
            return after
        # parts of these people that can still rise by a level
        lift = np.unique(after.part[rows])
        lift = lift[(after.levels[lift] < top).any(axis=1)] if lifting else lift[:0]
        if len(lift):
            levels = after.levels.copy()
            levels[lift, (levels[lift] < top).argmax(axis=1)] += 1
            after = replace(after, levels=levels)
        else:
            out[rows] = True
            after = way(out)
