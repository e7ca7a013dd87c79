"""The releases before, read from a private folder, and the plan of the next one (S3.10)."""

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.attacks.attack import Finding
from shoal.attacks.composition_over_time import Candidates, finding_of_candidates, sets_of
from shoal.data.class_counts import Flags
from shoal.data.codes import Codes, Table, renumber
from shoal.data.frequency_set import FrequencySet
from shoal.engine_port import Engine, Source
from shoal.errors import BadData, BadInput, BadPolicy, Infeasible, ShoalWarning
from shoal.hierarchy.build import build
from shoal.metrics.catalogue import lost_in_cells
from shoal.models.model import exact_share
from shoal.partition.released_labels import show_levels
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.publish.contents import load_private
from shoal.publish.fixed_recoding import EarlierRelease
from shoal.recoding.kinds import PartRecoding
from shoal.recoding.outcome import RecodedCells
from shoal.republish.context import HistoryUpdate, Make, NextRelease, RepublishContext
from shoal.republish.history import NAME, History, empty_history, load_history, match_people, values_of_codes
from shoal.republish.m_invariance import grow_invariant
from shoal.republish.next_monotone import begin_monotone, grow_monotone, increment_monotone
from shoal.roles import Role
from shoal.runtime.tempdir import settle
from shoal.verify.release_files import is_there


def rebuild_history(
    table: Table, policy: Policy, levels: Mapping[str, int], rows: NDArray[np.int64], name: str
) -> History:
    """Rebuild the history of one release at a node from its original, whose `rows` are behind the released ones."""
    quasi = tuple(sorted(levels))
    sensitive = tuple(policy.named(Role.SENSITIVE))
    empty = empty_history(quasi, sensitive, table)
    match_people(table, policy.key or "", empty, name)  # refuses a key that is none
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
        left[each] = candidates.add_people(len(rows)).add_release(group, sets)
    return replace(
        empty,
        releases=1,
        keys=key.texts.take(pa.array(key.codes[rows])),
        group=group,
        shown=np.ones(len(rows), dtype=bool),
        levels=np.tile(np.array([levels[each] for each in quasi], dtype=np.int16), (len(rows), 1)),
        values={each: values_of_codes(table[each], table[each].codes[rows]) for each in sensitive},
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
        """Read a private folder; hierarchies and roles stay those of before, all else is as the new policy says."""
        folder = Path(os.path.abspath(private))
        settle(folder)
        if not folder.is_dir():
            raise BadInput(f"{folder.name}: there is no such folder; give the private one of a release: OUT.private")
        before = load_private(folder).policy
        now = before if policy is None else _continue_policy(before, policy)
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

    def forget_erased(self, history: History) -> History:
        """Return a history without the keys of people who were erased."""
        return history if self.erased is None else history.forget(self.erased)


def _continue_policy(before: Policy, now: Policy) -> Policy:
    """Return the new policy with the hierarchies of before; refuse one with other roles."""
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
    """Plan the next release of a growing table, or its first.

    The history of the plan names the file and holds no keys of people who were erased.
    """
    assert isinstance(previous, PreviousRelease | None)
    if previous is None:
        source, plan = grow(source, policy, engine, None, make)
    else:
        source, plan = grow(source, policy, engine, previous.history, make, increment=previous.increment)
    assert plan.grown is not None
    whole = previous is None or not previous.increment
    history = replace(plan.grown.history, source=file.name if whole and file is not None else None)
    history = history if previous is None else previous.forget_erased(history)
    return source, replace(plan, grown=replace(plan.grown, history=history))


def grow(
    source: Source, policy: Policy, engine: Engine, history: History | None, make: Make, *, increment: bool = False
) -> tuple[Source, Plan]:
    """Return the table, in codes that know earlier values, and the plan of its next release; raise where there is none.

    `make` plans a table as if it were the first. An increment has new rows only, which are published alone.
    """
    assert policy.republish is not None
    started = perf_counter()
    context = RepublishContext.of(source, policy, engine, history)
    if history is not None and not increment:
        _refuse_unmatched(context)
    if policy.republish.way == "m-invariance":
        after = _plan_unexposed(context, lambda out: grow_invariant(context, out))
    elif history is None:
        plan, after = begin_monotone(context, make)
        return context.source, replace(plan, grown=_judge_release(context, after, plan.class_of_row))
    elif increment:
        after = increment_monotone(context, make)
    else:
        after = _plan_unexposed(context, lambda out: grow_monotone(context, make, out))
    _refuse_left_out(context, after)
    plan = _make_plan(context, after, started)
    return context.source, replace(plan, grown=_judge_release(context, after, plan.class_of_row))


def _refuse_unmatched(context: RepublishContext) -> None:
    """Refuse a table in which nobody of the last release is found; warn where fewer than half are."""
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
    """Refuse a release that leaves out everybody, or more rows than the policy allows."""
    out, limit = int((after.part < 0).sum()), context.policy.suppressible(context.table.rows)
    if out == len(after.part):
        raise Infeasible("nobody could be shown in this release; wait for more rows, or weaken the policy")
    if out > limit:
        assert context.policy.republish is not None
        if context.policy.republish.way == "m-invariance":
            why, remedy = "so that groups of different sensitive values do not look alike", "add levels to hierarchies"
        else:
            why, remedy = "so that nobody is betrayed by a difference between the releases", "use way = 'm-invariance'"
        raise Infeasible(
            f"{out:,} of {len(after.part):,} rows would have to be left out, {why}, and suppression allows {limit:,}; "
            f"raise it, wait for more rows, or {remedy}"
        )


def _make_plan(context: RepublishContext, after: NextRelease, started: float) -> Plan:
    """Return the plan of the release; rows that are left out are a part and a class of their own, all `*`."""
    out = after.part < 0
    used, at = renumber(after.part[~out])
    # [row] its part, renumbered from 0; rows that are left out are the last part
    levels, parts = after.levels[used], len(used)
    part = np.full(len(out), parts, dtype=np.int32)
    part[~out] = at
    if out.any():
        top = [hierarchy.height for hierarchy in context.hierarchies]
        levels = np.append(levels, np.array([top], dtype=np.int16), axis=0)
    showing = show_levels(context.rows, part, levels, context.hierarchies)
    # [part] its class; the part left out stays apart from others that are all `*`
    alike, classes = showing.group_identical()
    if out.any():
        used, alike = renumber(np.append(alike[:-1], np.int32(classes)))
        classes = len(used)
    of_row = alike[part]
    left_out = int(alike[-1]) if out.any() else None
    released = context.rows.merge_into_parts(of_row, classes)
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


def _narrow_candidates(context: RepublishContext, after: NextRelease, class_of_row: Codes) -> dict[str, Candidates]:
    """Return, by attribute, the sensitive values that remain possible for each line after this release."""
    shown, classes = _class_of_lines(after, class_of_row), int(class_of_row.max()) + 1
    left = {}
    for name, candidates in after.history.candidates.items():
        held, values = _shown_values(context, after, class_of_row, name)
        left[name] = candidates.add_release(shown, sets_of(held, values, classes, context.table[name].size))
    return left


def _class_of_lines(after: NextRelease, class_of_row: Codes) -> Codes:
    """Return the class that shows each line; -1 where none does."""
    return np.where(after.row >= 0, class_of_row[after.row], -1).astype(np.int32)


def _shown_values(context: RepublishContext, after: NextRelease, class_of_row: Codes, name: str) -> tuple[Codes, Codes]:
    """Return the class and the sensitive value of every shown or added row."""
    rows = after.row[after.row >= 0]
    held, values = class_of_row[rows], context.table[name].codes[rows]
    if after.added is None:
        return held, values
    return np.append(held, class_of_row[after.added.copied]), np.append(values, after.added.codes)


def _judge_release(context: RepublishContext, after: NextRelease, class_of_row: Codes) -> HistoryUpdate:
    """Run the composition attack over all releases; raise Infeasible where it exposes more than the policy allows."""
    policy, history = context.policy, after.history
    assert policy.republish is not None
    left = _narrow_candidates(context, after, class_of_row)
    ever = np.any([each.of >= 0 for each in left.values()], axis=0)
    people = int((ever & history.keys.is_valid().to_numpy(zero_copy_only=False)).sum())
    # [line] fewer values are left than the policy asks for
    fewer = np.zeros(len(ever), dtype=bool)
    for name, each in left.items():
        fewer |= (each.of >= 0) & (each.count_left() < policy.values_left[name])
    finding = finding_of_candidates(left, policy.values_left, history.releases, people)
    finding = _with_differences(context, after, finding, fewer)
    if history.seen is not None:
        history, finding = _with_beliefs(context, after, class_of_row, left, finding)
    if finding.exposed > exact_share("limit", policy.republish.limit) * finding.of:
        raise Infeasible(
            f"the composition attack over {history.releases} release(s) exposes {finding.exposed:,} of {finding.of:,} "
            f"people, and limit = {policy.republish.limit!r}; nothing is released"
        )
    return HistoryUpdate(replace(history, candidates=left), finding)


def _with_beliefs(
    context: RepublishContext, after: NextRelease, class_of_row: Codes, left: Mapping[str, Candidates], finding: Finding
) -> tuple[History, Finding]:
    """Return the history with the classes of this release, and the finding with those added whom worlds betray.

    Worlds of all releases are weighed: no value of anybody may have more than 1/m of them.
    """
    (name,), republish, history = context.sensitive, context.policy.republish, after.history
    assert history.seen is not None
    assert republish is not None
    assert republish.m is not None
    held, values = _shown_values(context, after, class_of_row, name)
    counts = np.zeros((int(class_of_row.max()) + 1, context.table[name].size), dtype=np.int64)
    np.add.at(counts, (held, values), 1)
    seen = history.seen.add_release(_class_of_lines(after, class_of_row), counts)
    above, bounded = seen.flag_believed(Fraction(1, republish.m))
    few = left[name].count_left()[: len(above)] < context.policy.values_left[name]
    figures = {
        **finding.figures,
        "releases_weighed": len(seen.classes),
        "believed_above_1_in_m": int(above.sum()),
        "weighed_by_bounds": int(bounded.sum()),
    }
    sentence = (
        f"{finding.sentence}; {int(above.sum()):,} have a value that more than 1 in {republish.m} worlds give them"
    )
    more = replace(finding, exposed=finding.exposed + int((above & ~few).sum()), sentence=sentence, figures=figures)
    return replace(history, seen=seen), more


def _with_differences(context: RepublishContext, after: NextRelease, finding: Finding, fewer: Flags) -> Finding:
    """Return the finding with those added whom differences between releases expose.

    These are all people of groups that are newly told apart and fail the policy; `fewer` flags the lines that the
    finding counts already.
    """
    history, touched = after.history, after.touched
    if touched is None or not touched.any():
        return finding
    used, group = renumber(history.group[touched])
    values = {
        name: _encode_values(context, name, history.values[name].filter(pa.array(touched)))
        for name in context.sensitive
    }
    fine = context.flag_complying(values, group, len(used))
    apart = np.zeros(len(touched), dtype=bool)
    apart[touched] = (~fine)[group]
    below = int(apart.sum())
    figures = {**finding.figures, "people_in_groups_told_apart": int(touched.sum()), "of_them_below_the_policy": below}
    sentence = f"{finding.sentence}; {below:,} stand in groups that differences tell apart and that do not comply"
    return replace(finding, exposed=finding.exposed + int((apart & ~fewer).sum()), sentence=sentence, figures=figures)


def _encode_values(context: RepublishContext, name: str, values: pa.Array) -> Codes:
    """Return the codes that the table has for values of the history."""
    column = context.table[name]
    found = pc.index_in(values, value_set=column.values).fill_null(len(column.values))
    codes: Codes = found.to_numpy(zero_copy_only=False).astype(np.int32)
    return codes


def _plan_unexposed(context: RepublishContext, way: Callable[[Flags], NextRelease]) -> NextRelease:
    """Plan the next release such that nobody known from before has fewer values left than the policy asks for.

    That can happen where parts that look alike become one class: the people concerned are left out.
    """
    out = np.zeros(context.table.rows, dtype=bool)
    while True:
        after = way(out)
        left = _narrow_candidates(
            context, after, np.append(context.classes_of_parts(after.part, after.levels), -1)[after.part]
        )
        # [line] fewer values would remain possible than the policy asks for
        below = np.zeros(len(after.row), dtype=bool)
        for name, each in left.items():
            below |= each.count_left() < context.policy.values_left[name]
        # [line] its person was in the history before this release
        changed = np.append(context.matched.line, 0)[after.row] >= 0
        rows = after.row[below & (after.row >= 0) & changed]
        if not len(rows) or out[rows].all():
            return after
        out[rows] = True
