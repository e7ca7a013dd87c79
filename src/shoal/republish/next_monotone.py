"""Plans the next release from a policy and a history, splitting no earlier class (Wu, Sun and Wang 2008)."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.attacks.composition_over_time import Candidates, sets_of
from shoal.data.class_counts import Flags
from shoal.data.codes import Codes, renumber
from shoal.data.packed_keys import join_columns
from shoal.errors import BadData, Infeasible
from shoal.models.model import Model
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.policy.sections import Attribute
from shoal.republish.context import Make, NextRelease, RepublishContext
from shoal.republish.history import History, Levels, find_lowest_levels, labels_of_codes, values_of_codes
from shoal.roles import Role

_ONE_BY_ONE = 50
"""How many new groups are left out one by one, the one that discloses most first, before all of them are."""


def suppress_failing_groups(context: RepublishContext, part: Codes, levels: Levels, groups: int, group: Codes) -> Codes:
    """Return the part of each row, -1 for new groups that would break a model judged on all classes together.

    (alp,dif) is judged on the release and on all groups that the releases together tell apart: ALP is a mean over all
    of them, so that a new group changes the bound for the others (S3.3).
    """
    wide = [model for model in context.policy.models if any(each.table_wide for each in model.parts())]
    wide = [model for model in wide if not model.columns]
    part = part.copy()
    for tried in range(_ONE_BY_ONE + 2 if wide else 0):
        failing = next(_find_failing_models(context, wide, part, levels, group), None)
        new = np.unique(part[part >= groups])
        if failing is None:
            break
        model, worst = failing
        if not len(new):
            raise Infeasible(
                f"{model.name} cannot be kept on all releases together, even without the rows that are new; weaken it, "
                "or anonymize all rows afresh and withdraw what was published"
            )
        out = np.intersect1d(new, worst)
        part[np.isin(part, out if len(out) and tried < _ONE_BY_ONE else new)] = -1
    return part


def _find_failing_models(
    context: RepublishContext, wide: list[Model], part: Codes, levels: Levels, group: Codes
) -> Iterator[tuple[Model, NDArray[np.integer]]]:
    """Yield each model that fails, with the parts of the class that protects least; no parts where none does."""
    rows = np.flatnonzero(part >= 0)
    # [part] class of each part; [row] class of each shown row, renumbered from 0
    alike = context.classes_of_parts(part, levels)
    used, at = renumber(alike[part[rows]])
    release = context.counts(context.current_values(rows), at, len(used))
    for model in wide:
        if not model.holds(release):
            worst = model.worst(release)
            yield model, np.flatnonzero(alike == used[worst]) if worst is not None else np.zeros(0, np.int32)
    if context.policy.republish is None or context.policy.republish.way != "alp-dif":
        return
    # (alp,dif) also holds for all groups ever told apart: the lines of the history, and the rows of new groups
    ever = np.flatnonzero(group >= 0)
    new = rows[part[rows] > int(group.max(initial=-1))]
    past, now = context.past_values(ever), context.current_values(new)
    every = {name: np.append(past[name], now[name]) for name in context.sensitive}
    used, at = renumber(np.append(group[ever], part[new]))
    together = context.counts(every, at, len(used))
    for model in wide:
        if not model.holds(together):
            worst = model.worst(together)
            yield model, used[[] if worst is None else [worst]]


Judge = Callable[[NDArray[np.intp], Codes, int], Flags]
"""Which groups comply: given some lines, the group of each, and the number of groups."""


def choose_left_out(group: Codes, gone: Flags, value: Codes, judge: Judge, most: int, seed: int = 0) -> Flags:
    """Flag the people to leave out although they stayed, so that those hidden and those shown of each group comply.

    Whoever has the earlier release can subtract the later one from it, which shows the values of those who left.
    Merging classes does not help, since the values of the other class are known. So each group leaves out as few more
    people as will do: first those whose value nobody left out has yet, then at random. Where `most` are not enough,
    the whole group is left out.
    """
    groups = int(group.max(initial=-1)) + 1
    rank = _ranks(group, gone, value, np.random.default_rng([seed, 2]))
    # [line] all who stayed are left out until fewer will do; [group] not settled yet
    out, open_ = ~gone, np.ones(groups, dtype=bool)
    for more in range(most + 1):
        lines = np.flatnonzero(open_[group])
        if not len(lines):
            break
        hidden = gone | (rank < more)
        # each group in two halves, which are judged apart: 2 * group is shown, 2 * group + 1 is hidden
        halves, at = np.unique(2 * group[lines].astype(np.int64) + hidden[lines], return_inverse=True)
        fine = np.zeros(2 * groups, dtype=bool)
        fine[halves] = judge(lines, at.ravel().astype(np.int32), len(halves))
        # [group] both halves exist and comply
        done = open_ & fine[::2] & fine[1::2]
        here = done[group]
        out[here] = (hidden & ~gone)[here]
        open_ &= ~done
    return out


def _ranks(group: Codes, gone: Flags, value: Codes, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the rank of each line in the order in which its group leaves people out, from 0; -1 for those who left."""
    random = rng.permutation(len(group))
    # [line] rank within (group, value), those who left first: 0 for one who stayed means that nobody who left has it
    nth = _rank_within(np.lexsort((random, ~gone, value, group)), group, value)
    # [line] rank within the group, those who left first, then by `nth`; their number is subtracted
    order = np.lexsort((random, nth, ~gone, group))
    place = _rank_within(order, group, np.zeros_like(value))
    return np.where(gone, -1, place - np.bincount(group, weights=gone).astype(np.int64)[group])


def _rank_within(order: NDArray[np.intp], group: Codes, value: Codes) -> NDArray[np.int64]:
    """Return the rank of each line within its (group, value), from 0, in the given order."""
    one, other = group[order], value[order]
    # places in the order where a new (group, value) begins
    begins = np.flatnonzero(np.append(True, (np.diff(one) != 0) | (np.diff(other) != 0)))
    nth = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    out = np.empty(len(order), dtype=np.int64)
    out[order] = nth
    return out


Rows = NDArray[np.intp]
_MOST_COMPANY = 8
"""A group leaves out at most so many times the largest k beside those who left; beyond that, everybody."""
_TRIES = 4
"""How often a batch is planned, each time without those it narrowed down; last without all who were shown before."""


def begin_monotone(context: RepublishContext, make: Make) -> tuple[Plan, NextRelease]:
    """Plan the first release like that of any table; its classes are the first groups of the history."""
    plan = make(context.source, context.policy.model_copy(update={"republish": None}))
    part = np.where(plan.recoding.suppressed, -1, plan.class_of_row).astype(np.int32)
    kept, part[part >= 0] = renumber(part[part >= 0])
    levels = _levels(context, plan, np.flatnonzero(part >= 0), part[part >= 0], len(kept))
    return plan, _with_history(context, context.history, part, levels, np.zeros(0, np.int32))


def increment_monotone(context: RepublishContext, make: Make) -> NextRelease:
    """Plan a release of new rows alone; the lines of people who were shown before stay as they are."""
    history, known = context.history, int((context.matched.line >= 0).sum())
    if known:
        raise BadData(
            f"{context.source.name}: {known:,} row(s) are of people who were released before; an increment has new "
            "people only, so leave them out, or give the whole table, not an increment"
        )
    groups = int(history.group.max(initial=-1)) + 1
    batch, new = _plan_batch(context, np.arange(context.table.rows), make)
    part = np.where(batch < 0, -1, batch + groups).astype(np.int32)
    levels = np.concatenate([np.zeros((groups, len(context.quasi)), np.int16), new])
    after = _with_history(
        context, history, suppress_failing_groups(context, part, levels, groups, history.group), levels, history.group
    )
    shown = np.append(history.shown, after.history.shown[len(history) :])
    return replace(after, history=replace(after.history, shown=shown))


def grow_monotone(context: RepublishContext, make: Make, out: Flags) -> NextRelease:
    """Plan a release of those who stay and of new rows, without the rows `out`."""
    history, matched = context.history, context.matched
    group, shown = _find_survivors(context, out)
    groups = int(group.max(initial=-1)) + 1
    part = np.full(context.table.rows, -1, dtype=np.int32)
    part[matched.row[shown]] = group[shown]
    # rows that need a class: new people, and those who are shown afresh
    rows = np.flatnonzero(~out & ((matched.line < 0) | _flag_shown_afresh(context)[matched.line]))
    fresh, new_levels = _plan_batch(context, rows, make)
    part[rows[fresh >= 0]] = groups + fresh[fresh >= 0]
    # [part, quasi-identifier] older groups keep their levels, and rise where the rows of today ask for it
    levels = np.zeros((groups + len(new_levels), len(context.quasi)), dtype=np.int16)
    levels[group[shown]] = history.levels[shown]
    levels[groups:] = new_levels
    present = np.flatnonzero(part >= 0)
    if len(present):
        used, at = renumber(part[present])
        needed = find_lowest_levels(at, len(used), [c[present] for c in context.codes], context.hierarchies)
        levels[used] = np.maximum(levels[used], needed)
    part = _suppress_failing_classes(context, part, levels, groups)
    part = suppress_failing_groups(context, part, levels, groups, group)
    return _with_history(context, history, part, levels, group)


def _find_survivors(context: RepublishContext, out: Flags) -> tuple[Codes, Flags]:
    """Return the group of each line, and flags of the lines that are shown.

    Where some people left a group, they and those left out beside them become a group of their own.
    """
    history, same = context.history, context.matched.unchanged & ~np.append(out, False)[context.matched.row]
    inside = history.group >= 0
    groups = int(history.group.max(initial=-1)) + 1
    at = np.where(inside, history.group, groups)  # one more for those in none
    # [group] its people, and those of them who are there with the same values
    size, stay = np.bincount(at, minlength=groups + 1), np.bincount(at[same], minlength=groups + 1)
    was = np.zeros(groups + 1, dtype=bool)
    was[at[history.shown]] = True
    # [group] nobody left; the last release showed it, and some left while others stayed
    whole = stay == size
    broken = was & ~whole & (stay > 0)
    lines = np.flatnonzero(broken[at] & inside)
    # [line] who stayed, but is left out beside those who left
    left = np.zeros(len(history), dtype=bool)
    if len(lines):
        left[lines] = _choose_left_out_lines(context, lines, ~same[lines])
    group = history.group.copy()
    # [line] who leaves the group, where somebody remains in it: they get the number of a new group
    gone = inside & broken[at] & (left | ~same)
    still = np.bincount(at[same & ~left], minlength=groups + 1) > 0
    apart = gone & still[at]
    group[apart] = groups + renumber(group[apart])[1]
    return group, same & inside & (whole[at] | (broken[at] & ~left))


def _choose_left_out_lines(context: RepublishContext, lines: Rows, gone: Flags) -> Flags:
    """Flag the lines, of those given, that are left out beside the people who are `gone`."""
    if any(model.columns for model in context.policy.models):
        return ~gone  # such a model cannot be judged on people who left: the whole group is left out
    values = context.past_values(lines)
    coded = [(codes, context.table[name].size) for name, codes in values.items()]
    together = join_columns(coded)[0] if coded else np.zeros(len(lines), np.int32)
    return choose_left_out(
        renumber(context.history.group[lines])[1],
        gone,
        together,
        lambda some, part, parts: context.flag_complying(
            {name: codes[some] for name, codes in values.items()}, part, parts
        ),
        _MOST_COMPANY * context.policy.largest_k,
        context.policy.method.seed,
    )


def _flag_shown_afresh(context: RepublishContext) -> Flags:
    """Flag the lines whose person is shown as if new: present, in no group or with other values, and not bound.

    One more flag at the end, False, is for rows without a line.
    """
    there = context.matched.row >= 0
    return np.append(there & ~context.bound & (~context.matched.unchanged | (context.history.group < 0)), False)


def _plan_batch(context: RepublishContext, rows: Rows, make: Make) -> tuple[Codes, Levels]:
    """Plan rows as a table of their own: return the class of each, -1 for those who wait, and levels[class, attribute].

    People who come back wait where the new class would narrow down too far what earlier releases left.
    """
    waits = np.zeros(len(rows), dtype=bool)
    for tried in range(_TRIES):
        some, part = rows[~waits], np.full(len(rows), -1, dtype=np.int32)
        try:
            plan = make(context.select_rows(some), _policy_for_batch(context)) if len(some) else None
        except Infeasible:
            plan = None  # too few to hide among each other
        if plan is None:
            break
        part[~waits] = np.where(plan.recoding.suppressed, -1, plan.class_of_row)
        narrowed = _flag_narrowed(context, rows, part)
        if not narrowed.any():
            part[part >= 0] = _keep_complying(context, rows[part >= 0], part[part >= 0])
            used, part[part >= 0] = renumber(part[part >= 0])
            return part, _levels(context, plan, rows[part >= 0], part[part >= 0], len(used))
        waits |= narrowed if tried < _TRIES - 2 else context.matched.line[rows] >= 0
    return np.full(len(rows), -1, np.int32), np.zeros((0, len(context.quasi)), np.int16)


def _policy_for_batch(context: RepublishContext) -> Policy:
    """Return the policy for planning some rows alone: with the roles of the whole table, and all confirmed."""
    plain = {
        name: Attribute(role=role)
        for name, role in context.problem.roles.items()
        if name not in context.policy.attributes
    }
    attributes = {
        name: attribute.model_copy(update={"confirm": attribute.role is Role.INSENSITIVE or attribute.confirm})
        for name, attribute in (dict(context.policy.attributes) | plain).items()
    }
    return context.policy.model_copy(update={"republish": None, "attributes": attributes})


def _flag_narrowed(context: RepublishContext, rows: Rows, part: Codes) -> Flags:
    """Flag rows whose class in a batch, with all that was shown before, leaves fewer values than the policy asks."""
    flags = np.zeros(len(rows), dtype=bool)
    known = np.flatnonzero((context.matched.line[rows] >= 0) & (part >= 0))
    if not len(known):
        return flags
    there, lines = part >= 0, context.matched.line[rows[known]]
    for name in context.sensitive:
        column, before = (
            context.table[name],
            context.history.candidates[name].with_values(labels_of_codes(context.table[name])),
        )
        sets = sets_of(part[there], column.codes[rows[there]], int(part.max()) + 1, column.size)
        left = replace(before, of=before.of[lines]).add_release(part[known], sets).count_left()
        flags[known] |= left < context.policy.values_left[name]
    return flags


def _keep_complying(context: RepublishContext, rows: Rows, part: Codes) -> Codes:
    """Return the part of each row, -1 where the part does not keep the policy against the whole table as it is now."""
    used, at = renumber(part)
    fine = context.flag_complying(context.current_values(rows), at, len(used))
    return np.where(fine[at], part, -1)


def _levels(context: RepublishContext, plan: Plan, rows: Rows, part: Codes, parts: int) -> Levels:
    """Return levels[part, quasi-identifier] of a plan: its node, or the lowest at which all rows of a part agree."""
    if plan.recoding.levels is not None:
        node = [plan.recoding.levels[name] for name in context.quasi]
        return np.tile(np.array(node, dtype=np.int16), (parts, 1))
    return find_lowest_levels(part, parts, [codes[rows] for codes in context.codes], context.hierarchies)


def _suppress_failing_classes(context: RepublishContext, part: Codes, levels: Levels, groups: int) -> Codes:
    """Return the part of each row, -1 in classes that fail; of a class of old and new parts, the new ones go first."""
    part = part.copy()
    while (rows := np.flatnonzero(part >= 0)).size:
        used, at = renumber(context.classes_of_parts(part, levels)[part[rows]])
        fails = ~context.flag_complying(context.current_values(rows), at, len(used))[at]
        if not fails.any():
            break
        # [class] fails and has rows of new parts: these are left out first
        mixed = np.zeros(len(used), dtype=bool)
        new = part[rows] >= groups
        mixed[at[fails & new]] = True
        part[rows[fails & (new | ~mixed[at])]] = -1
    return part


def _with_history(
    context: RepublishContext, history: History, part: Codes, levels: Levels, group: Codes
) -> NextRelease:
    """Return the next release with the history after it.

    People who have another value now, or are in a group for the first time, get a new line.
    """
    matched, groups = context.matched, int(group.max(initial=-1)) + 1
    there, line = matched.row >= 0, matched.line
    # [line] is shown in its group; [line] has other values now
    shown = there & (group >= 0) & (np.append(part, -1)[matched.row] == group)
    changed = there & (group >= 0) & ~matched.unchanged & ~context.bound
    # [row] is in a new group; the rows that get a line
    fresh = part >= groups
    new = np.flatnonzero(fresh | np.append(changed, False)[line])
    # [line] is replaced by a new one, so that nobody can be found by it any more
    over = changed.copy()
    over[line[fresh & (line >= 0)]] = True
    kept = ~over | (group >= 0)  # [line] stays: those replaced and in no group go
    column = context.table[context.policy.key or ""]
    keys = pc.if_else(pa.array(over), pa.scalar(None, pa.string()), history.keys)
    lines = np.append(np.flatnonzero(kept), line[new])  # [line of the new history] its old line; -1 for none
    # [new line] its group; -1 where it is not shown
    number = np.where(fresh[new], part[new], -1)
    all_groups = np.append(group[kept], number)
    # [line] is in a group whose size changed, which differences between releases now tell apart
    sizes = [np.bincount(each[each >= 0], minlength=groups + len(levels) + 1) for each in (history.group, all_groups)]
    touched = (all_groups >= 0) & (sizes[0] != sizes[1])[all_groups]
    all_groups[all_groups >= 0] = renumber(all_groups[all_groups >= 0])[1]
    # [line, quasi-identifier] levels of this release where it is shown, else those of before; [line after] its row
    own = np.where(shown[:, None], levels[group], history.levels) if len(levels) else history.levels
    row = np.append(np.where(shown, matched.row, -1)[kept], np.where(fresh[new], new, -1))
    return NextRelease(
        part,
        levels,
        replace(
            history,
            releases=history.releases + 1,
            keys=pa.concat_arrays([keys.filter(pa.array(kept)), column.texts.take(pa.array(column.codes[new]))]),
            group=all_groups.astype(np.int32),
            shown=row >= 0,
            levels=np.concatenate([own[kept], levels[np.maximum(number, 0)] if len(levels) else own[:0]]),
            values={
                name: values_of_codes(
                    context.table[name], np.append(matched.past[name].codes[kept], context.table[name].codes[new])
                )
                for name in context.sensitive
            },
            domains={name: context.table[name].values for name in context.sensitive},
            candidates={name: _candidates(context, name, lines) for name in context.sensitive},
        ),
        row,
        touched,
    )


def _candidates(context: RepublishContext, name: str, lines: NDArray[np.int64]) -> Candidates:
    """Return the candidates of the given lines; -1 stands for a line without any."""
    before = context.history.candidates[name].with_values(labels_of_codes(context.table[name]))
    return replace(before, of=np.append(before.of, np.int32(-1))[lines])
