"""From a policy and a history to the next m-invariant release."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.attacks.running import Candidates
from shoal.codes import Codes
from shoal.counts import Flags
from shoal.errors import Infeasible
from shoal.models import exact
from shoal.partition.axes import Floats, hierarchy_axis
from shoal.plan.stage import Next, Stage
from shoal.plan.values import Added
from shoal.republish.history import History, labels, typed
from shoal.republish.invariance import Invariant, invariant
from shoal.republish.levels import lowest


def grow_invariant(stage: Stage, out: Flags) -> Next:
    """Division, balancing, assignment and partition of the rows whose sensitive value is known, without those `out`."""
    how, (name,) = stage.policy.republish, stage.sensitive
    assert how is not None
    assert how.m is not None
    column, history, line = stage.table[name], stage.history, stage.matched.line
    known = history.signatures or Candidates.none(labels(column), len(history))
    known = known.among(labels(column))
    signatures = [tuple(np.flatnonzero(each).tolist()) for each in known.flags()]
    rows = np.flatnonzero(~out & (column.codes != (-1 if column.null_code is None else column.null_code)))
    of, last = np.append(known.of, -1)[line[rows]], np.append(np.where(history.shown, history.group, -1), -1)
    found = invariant(
        column.codes[rows],
        of.astype(np.int32),
        signatures,
        last[line[rows]].astype(np.int32),
        how.m,
        len(column.values),
        [place[rows] for place in _places(stage)],
        stage.policy.method.seed,
    )
    groups, values = found.counterfeits
    if len(groups) > exact("counterfeits", how.counterfeits) * (len(rows) + len(groups)):
        raise Infeasible(
            f"m-invariance needs {len(groups):,} rows that show nobody beside {len(rows):,} that do, and "
            f"counterfeits = {how.counterfeits!r}; raise it, ask for a smaller m, or wait for rows of other values"
        )
    part = np.full(stage.table.rows, -1, dtype=np.int32)
    part[rows] = found.group
    shown = np.flatnonzero(part >= 0)
    parts = int(part.max(initial=-1)) + 1
    first = np.zeros(parts, dtype=np.int64)
    first[part[shown][::-1]] = shown[::-1]
    # a row that shows nobody must not leave one person's own values as the label: a neighbour's lie under it too
    beside = np.unique(groups)
    every = np.append(shown, _neighbours(stage)[first[beside]]) if len(beside) else shown
    together = np.append(part[shown], beside)
    levels = lowest(together, parts, [codes[every] for codes in stage.codes], stage.hierarchies)
    added = Added(name, first[groups], values) if len(groups) else None
    return Next(part, levels, *_history(stage, part, known, rows, found), added=added)


def _places(stage: Stage) -> list[Floats]:
    """Where every row lies along each quasi-identifier, from 0 to 1."""
    axes = [hierarchy_axis(hierarchy) for hierarchy in stage.hierarchies]
    return [axis.positions[codes] / max(axis.size - 1, 1) for axis, codes in zip(axes, stage.codes, strict=True)]


def _neighbours(stage: Stage) -> NDArray[np.int64]:
    """The next row of each, in the order of the quasi-identifiers."""
    order = np.lexsort(_places(stage)[::-1])
    after = np.empty(len(order), dtype=np.int64)
    after[order] = np.roll(order, -1)
    return after


def _history(
    stage: Stage, part: Codes, known: Candidates, rows: NDArray[np.intp], found: Invariant
) -> tuple[History, NDArray[np.int64]]:
    """One line for everybody: the signature that is kept, and the group of this release."""
    history, line, (name,) = stage.history, stage.matched.line, stage.sensitive
    new = np.flatnonzero((part >= 0) & (line < 0))
    row = np.append(stage.matched.row, new)
    row[row >= 0] = np.where(part[row[row >= 0]] >= 0, row[row >= 0], -1)
    signature = np.full(stage.table.rows, -1, dtype=np.int32)
    signature[rows] = found.signature
    flags = np.zeros((len(found.signatures), stage.table[name].size), dtype=bool)
    for number, values in enumerate(found.signatures):
        flags[number, list(values)] = True
    kept = np.append(known.of, np.full(len(new), -1, np.int32))
    signatures = replace(
        known, sets=np.packbits(flags, axis=1), of=np.where(row >= 0, signature[row], kept).astype(np.int32)
    ).packed()
    key = stage.table[stage.policy.key or ""]
    keys = pa.concat_arrays([history.keys, key.texts.take(pa.array(key.codes[new]))])
    value = np.append(stage.matched.past[name].codes, stage.table[name].codes[new])
    return (
        replace(
            history,
            releases=history.releases + 1,
            keys=keys,
            group=np.where(row >= 0, part[row], -1).astype(np.int32),
            shown=row >= 0,
            levels=np.zeros((len(keys), len(stage.quasi)), dtype=np.int16),
            values={name: typed(stage.table[name], np.where(row >= 0, stage.table[name].codes[row], value))},
            domains={name: stage.table[name].values},
            candidates={name: history.candidates[name].among(labels(stage.table[name])).joined_by(len(new))},
            signatures=signatures,
        ),
        row,
    )
