"""From a policy and a history to the next release in which nobody's earlier class is split (Wu, Sun and Wang 2009).

All that subtracting releases from each other tells is the sensitive values of groups of people: those who came
together, those of them who are still shown, those who are not. Each of these keeps the policy as if it were a class. So
new rows are planned as a table of their own, which could be published alone; who was shown before stays at the labels
of before, or above them where somebody moved; and who left is hidden among others who are left out.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.attacks.running import Candidates, sets_of
from shoal.codes import Codes, numbered
from shoal.counts import Flags
from shoal.errors import BadData, Infeasible
from shoal.frequency import joined
from shoal.plan.leaking import calmed
from shoal.plan.stage import Make, Next, Stage
from shoal.plan.values import Plan
from shoal.policy import Policy
from shoal.policy.parts import Attribute
from shoal.recode import NodeRecoding
from shoal.republish.company import company
from shoal.republish.history import History, Levels, labels, typed
from shoal.republish.levels import lowest
from shoal.schema import Role

Rows = NDArray[np.intp]
_MOST_COMPANY = 8
"""How many times the largest k are left out beside who left before the whole group is."""
_TRIES = 4
"""How often a batch is planned anew without people whom it would narrow down; then all who were shown before wait."""


def begin_monotone(stage: Stage, make: Make) -> tuple[Plan, Next]:
    """The first release is as any other; its classes are the first groups."""
    plan = make(stage.source, stage.policy.model_copy(update={"republish": None}))
    part = np.where(plan.recoding.suppressed, -1, plan.class_of_row).astype(np.int32)
    kept, part[part >= 0] = numbered(part[part >= 0])
    levels = _levels(stage, plan, np.flatnonzero(part >= 0), part[part >= 0], len(kept))
    return plan, _remembered(stage, stage.history, part, levels, np.zeros(0, np.int32))


def increment_monotone(stage: Stage, make: Make) -> Next:
    """New rows alone; whoever was shown before is as before."""
    history, known = stage.history, int((stage.matched.line >= 0).sum())
    if known:
        raise BadData(
            f"{stage.source.name}: {known:,} row(s) are of people who were released before; an increment has new "
            "people only, so leave them out, or give the whole table without --increment"
        )
    groups = int(history.group.max(initial=-1)) + 1
    batch, new = _batch(stage, np.arange(stage.table.rows), make)
    part = np.where(batch < 0, -1, batch + groups).astype(np.int32)
    levels = np.concatenate([np.zeros((groups, len(stage.quasi)), np.int16), new])
    after = _remembered(stage, history, calmed(stage, part, levels, groups, history.group), levels, history.group)
    shown = np.append(history.shown, after.history.shown[len(history) :])
    return replace(after, history=replace(after.history, shown=shown))


def grow_monotone(stage: Stage, make: Make, out: Flags) -> Next:
    """Who stays, then new rows; without rows of people whose value changed before, where they are `out`."""
    history, matched = stage.history, stage.matched
    group, shown = _survivors(stage, out)
    groups = int(group.max(initial=-1)) + 1
    part = np.full(stage.table.rows, -1, dtype=np.int32)
    part[matched.row[shown]] = group[shown]
    rows = np.flatnonzero(~out & ((matched.line < 0) | _afresh(stage)[matched.line]))
    fresh, new_levels = _batch(stage, rows, make)
    part[rows[fresh >= 0]] = groups + fresh[fresh >= 0]
    levels = np.zeros((groups + len(new_levels), len(stage.quasi)), dtype=np.int16)
    levels[group[shown]] = history.levels[shown]
    levels[groups:] = new_levels
    present = np.flatnonzero(part >= 0)
    if len(present):
        used, at = numbered(part[present])
        needed = lowest(at, len(used), [c[present] for c in stage.codes], stage.hierarchies)
        levels[used] = np.maximum(levels[used], needed)
    part = _settled(stage, part, levels, groups)
    part = calmed(stage, part, levels, groups, group)
    return _remembered(stage, history, part, levels, group)


def _survivors(stage: Stage, out: Flags) -> tuple[Codes, Flags]:
    """The group of each line, in which who left and who is left out with them are one of their own; who is shown."""
    history, same = stage.history, stage.matched.same & ~np.append(out, False)[stage.matched.row]
    inside = history.group >= 0
    groups = int(history.group.max(initial=-1)) + 1
    at = np.where(inside, history.group, groups)  # one more for those in none
    size, stay = np.bincount(at, minlength=groups + 1), np.bincount(at[same], minlength=groups + 1)
    was = np.zeros(groups + 1, dtype=bool)
    was[at[history.shown]] = True
    whole = stay == size
    broken = was & ~whole & (stay > 0)
    lines = np.flatnonzero(broken[at] & inside)
    left = np.zeros(len(history), dtype=bool)
    if len(lines):
        left[lines] = _company(stage, lines, ~same[lines])
    group = history.group.copy()
    gone = inside & broken[at] & (left | ~same)
    still = np.bincount(at[same & ~left], minlength=groups + 1) > 0
    apart = gone & still[at]
    group[apart] = groups + numbered(group[apart])[1]
    return group, same & inside & (whole[at] | (broken[at] & ~left))


def _company(stage: Stage, lines: Rows, gone: Flags) -> Flags:
    if any(model.columns for model in stage.policy.models):
        return ~gone  # what such a model tells of those who left is not known any more: the whole group is left out
    values = stage.past(lines)
    coded = [(codes, stage.table[name].size) for name, codes in values.items()]
    together = joined(coded)[0] if coded else np.zeros(len(lines), np.int32)
    return company(
        numbered(stage.history.group[lines])[1],
        gone,
        together,
        lambda some, part, parts: stage.comply({name: codes[some] for name, codes in values.items()}, part, parts),
        _MOST_COMPANY * stage.policy.largest_k,
        stage.policy.method.seed,
    )


def _afresh(stage: Stage) -> Flags:
    """Per line, and one more that stands for none: who is there and is in no group, or has other values now."""
    there = stage.matched.row >= 0
    return np.append(there & ~stage.bound & (~stage.matched.same | (stage.history.group < 0)), False)


def _batch(stage: Stage, rows: Rows, make: Make) -> tuple[Codes, Levels]:
    """The classes of new rows as a table of their own, -1 of who waits; and their levels.

    Who comes back with another value waits where the new class would narrow down what the old one left.
    """
    waits = np.zeros(len(rows), dtype=bool)
    for tried in range(_TRIES):
        some, part = rows[~waits], np.full(len(rows), -1, dtype=np.int32)
        try:
            plan = make(stage.some(some), _alone(stage)) if len(some) else None
        except Infeasible:
            plan = None  # too few to hide among each other
        if plan is None:
            break
        part[~waits] = np.where(plan.recoding.suppressed, -1, plan.class_of_row)
        narrowed = _narrowed(stage, rows, part)
        if not narrowed.any():
            part[part >= 0] = _complying(stage, rows[part >= 0], part[part >= 0])
            used, part[part >= 0] = numbered(part[part >= 0])
            return part, _levels(stage, plan, rows[part >= 0], part[part >= 0], len(used))
        waits |= narrowed if tried < _TRIES - 2 else stage.matched.line[rows] >= 0
    return np.full(len(rows), -1, np.int32), np.zeros((0, len(stage.quasi)), np.int16)


def _alone(stage: Stage) -> Policy:
    """The policy for some rows of the table, of which the whole was looked at."""
    plain = {name: Attribute(role=role) for name, role in stage.roles.items() if name not in stage.policy.attributes}
    attributes = {
        name: attribute.model_copy(update={"confirm": attribute.role is Role.INSENSITIVE or attribute.confirm})
        for name, attribute in (dict(stage.policy.attributes) | plain).items()
    }
    return stage.policy.model_copy(update={"republish": None, "attributes": attributes})


def _narrowed(stage: Stage, rows: Rows, part: Codes) -> Flags:
    """Whom the classes of a batch leave fewer values than are asked for, with all that was shown of them before."""
    flags = np.zeros(len(rows), dtype=bool)
    known = np.flatnonzero((stage.matched.line[rows] >= 0) & (part >= 0))
    if not len(known):
        return flags
    there, lines = part >= 0, stage.matched.line[rows[known]]
    for name in stage.sensitive:
        column, before = stage.table[name], stage.history.candidates[name].among(labels(stage.table[name]))
        sets = sets_of(part[there], column.codes[rows[there]], int(part.max()) + 1, column.size)
        left = replace(before, of=before.of[lines]).after(part[known], sets).left()
        flags[known] |= left < stage.policy.values_left[name]
    return flags


def _complying(stage: Stage, rows: Rows, part: Codes) -> Codes:
    """The same without parts that do not keep the policy beside the whole table, as its distribution is now."""
    used, at = numbered(part)
    fine = stage.comply(stage.now(rows), at, len(used))
    return np.where(fine[at], part, -1)


def _levels(stage: Stage, plan: Plan, rows: Rows, part: Codes, parts: int) -> Levels:
    if isinstance(plan.recoding, NodeRecoding):
        node = [plan.recoding.levels[name] for name in stage.quasi]
        return np.tile(np.array(node, dtype=np.int16), (parts, 1))
    return lowest(part, parts, [codes[rows] for codes in stage.codes], stage.hierarchies)


def _settled(stage: Stage, part: Codes, levels: Levels, groups: int) -> Codes:
    """Classes that fail are left out: where new parts look like older ones, only the new ones."""
    part = part.copy()
    while (rows := np.flatnonzero(part >= 0)).size:
        used, at = numbered(stage.alike(part, levels)[part[rows]])
        fails = ~stage.comply(stage.now(rows), at, len(used))[at]
        if not fails.any():
            break
        mixed = np.zeros(len(used), dtype=bool)
        new = part[rows] >= groups
        mixed[at[fails & new]] = True
        part[rows[fails & (new | ~mixed[at])]] = -1
    return part


def _remembered(stage: Stage, history: History, part: Codes, levels: Levels, group: Codes) -> Next:
    """The lines after this release; who has another value now, or is in a group at last, gets a line of their own."""
    matched, groups = stage.matched, int(group.max(initial=-1)) + 1
    there, line = matched.row >= 0, matched.line
    shown = there & (group >= 0) & (np.append(part, -1)[matched.row] == group)
    changed = there & (group >= 0) & ~matched.same & ~stage.bound
    fresh = part >= groups
    new = np.flatnonzero(fresh | np.append(changed, False)[line])
    over = changed.copy()
    over[line[fresh & (line >= 0)]] = True
    kept = ~over | (group >= 0)  # nobody is behind the others any more
    column = stage.table[stage.policy.key or ""]
    keys = pc.if_else(pa.array(over), pa.scalar(None, pa.string()), history.keys)
    lines = np.append(np.flatnonzero(kept), line[new])  # where what is known of each line stands; -1: nowhere
    number = np.where(fresh[new], part[new], -1)
    all_groups = np.append(group[kept], number)
    sizes = [np.bincount(each[each >= 0], minlength=groups + len(levels) + 1) for each in (history.group, all_groups)]
    touched = (all_groups >= 0) & (sizes[0] != sizes[1])[all_groups]
    all_groups[all_groups >= 0] = numbered(all_groups[all_groups >= 0])[1]
    own = np.where(shown[:, None], levels[group], history.levels) if len(levels) else history.levels
    row = np.append(np.where(shown, matched.row, -1)[kept], np.where(fresh[new], new, -1))
    return Next(
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
                name: typed(stage.table[name], np.append(matched.past[name].codes[kept], stage.table[name].codes[new]))
                for name in stage.sensitive
            },
            domains={name: stage.table[name].values for name in stage.sensitive},
            candidates={name: _candidates(stage, name, lines) for name in stage.sensitive},
        ),
        row,
        touched,
    )


def _candidates(stage: Stage, name: str, lines: NDArray[np.int64]) -> Candidates:
    before = stage.history.candidates[name].among(labels(stage.table[name]))
    return replace(before, of=np.append(before.of, np.int32(-1))[lines])
