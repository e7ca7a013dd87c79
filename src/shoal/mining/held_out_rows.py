"""Applies the recoding found on the training rows to rows that were held out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import Flags
from shoal.data.codes import Codes, Kind, Table
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.hierarchy.value_columns import Labels
from shoal.mining.attributes import ShownColumns, as_it_is, by_form, some_of, values_of
from shoal.recoding.kinds import NodeRecoding, PartRecoding, Recoding

Floats = NDArray[np.float64]
_CELLS_AT_ONCE = 4_000_000


def place(
    recoding: PartRecoding,
    labelled: Collection[str],
    training: Table,
    others: Table,
    hierarchies: Mapping[str, Hierarchy],
) -> tuple[Codes, Flags]:
    """Return the part that each of the other rows belongs to, and which rows lie in no box.

    A row belongs to the smallest box that holds it. One that lies in none belongs to the nearest: by the sum over the
    attributes of the gap as a share of the range; for texts, and between null and a value, the gap is 1. Of attributes
    that are not among the `labelled` ones, a box holds what lies between the values of its training rows.
    """
    parts = int(recoding.part.max()) + 1
    of_part, gaps, codes, sizes = [], [], [], np.zeros(parts)
    for name in recoding.shown:
        labels = Labels(training[name], hierarchies.get(name))
        which, covered = _edges(recoding, labels) if name in labelled else _hull(recoding, labels, parts)
        used, code = np.unique(others[name].codes, return_inverse=True)
        of_part.append(which)
        codes.append(code)
        # [label, code that other rows have]
        gaps.append(_gaps(labels, covered)[:, used])
        # size of each box: sum over the attributes of the share of codes that it covers
        sizes += covered.mean(axis=1)[which]
    nearest = np.empty(others.rows, dtype=np.int32)
    outside = np.empty(others.rows, dtype=bool)
    for rows in np.array_split(np.arange(others.rows), others.rows * parts // _CELLS_AT_ONCE + 1):
        # away[row, part]: total gap; of the nearest boxes, the smallest is taken
        away = _summed(of_part, gaps, [code[rows] for code in codes], parts)
        least = away.min(axis=1, keepdims=True)
        nearest[rows] = np.where(away == least, sizes, np.inf).argmin(axis=1)
        outside[rows] = least[:, 0] > 0
    return nearest, outside


def _edges(recoding: PartRecoding, labels: Labels) -> tuple[Codes, NDArray[np.bool_]]:
    """The label of each part, and the codes that each label covers."""
    shown = recoding.shown[labels.column.name][labels.column.name]
    return shown.codes, np.stack([labels.covered(text) for text in shown.texts.to_pylist()])


def _hull(recoding: PartRecoding, labels: Labels, parts: int) -> tuple[Codes, NDArray[np.bool_]]:
    """Label every part by itself; it covers the codes from the least to the greatest of its rows."""
    column = labels.column
    least, most = np.full(parts, column.size, dtype=np.int32), np.full(parts, -1, dtype=np.int32)
    np.minimum.at(least, recoding.part, column.codes)
    np.maximum.at(most, recoding.part, column.codes)
    every = np.arange(column.size)
    return np.arange(parts, dtype=np.int32), (least[:, None] <= every) & (every <= most[:, None])


def _gaps(labels: Labels, covered: NDArray[np.bool_]) -> Floats:
    """gaps[label, code]: distance of a value from what a label covers, as a share of the range."""
    column = labels.column
    gaps = np.where(covered, 0.0, 1.0)
    known = len(column.values)
    if column.kind is Kind.TEXT or not known:
        return gaps
    values = values_of(column)
    span = (values[-1] - values[0]) or 1.0
    some = np.flatnonzero(covered[:, :known].any(axis=1))
    # first and last code that each label covers, and the gap to the nearer end
    first = covered[some, :known].argmax(axis=1)
    last = known - 1 - covered[some, :known][:, ::-1].argmax(axis=1)
    gaps[some, :known] = np.maximum(values[first][:, None] - values, values - values[last][:, None]).clip(0) / span
    return gaps


def _summed(of_part: Sequence[Codes], gaps: Sequence[Floats], codes: Sequence[NDArray[np.intp]], parts: int) -> Floats:
    away = np.zeros((len(codes[0]), parts))
    for which, gap, code in zip(of_part, gaps, codes, strict=True):
        away += gap.T[code[:, None], which]
    return away


class How(StrEnum):
    """How rows are shown that were not there when the recoding was found.

    A level per attribute fits any row. Boxes share out the space: a row is shown as the box that it lies in, or the
    nearest one. Cells and clusters do not, they overlap and leave gaps: a row is shown as it is, and shares with the
    training rows the labels above its values, and midpoints.
    """

    LEVELS = "levels"
    BOXES = "boxes"
    VALUES = "values"


@dataclass(frozen=True)
class HeldOut:
    """What held-out rows show."""

    how: How
    shown: Mapping[str, ShownColumns]
    outside: Flags
    """Flags the rows that lie in no box, and are shown as the nearest."""


@dataclass(frozen=True)
class Training:
    """The recoding decided for the training rows."""

    table: Table
    """The training rows, in the codes of the whole table."""
    recoding: Recoding
    hierarchies: Mapping[str, Hierarchy]
    """Hierarchies along which the recoding shows values."""
    statistics: Mapping[str, tuple[str, str]]
    """Released columns that show a statistic: of which quasi-identifier, and which statistic."""

    @property
    def kept(self) -> Flags:
        """Flags the rows that were not suppressed."""
        return ~self.recoding.suppressed

    def shown(self, features: Collection[str], quasi: Collection[str]) -> dict[str, ShownColumns]:
        """What the release shows of the kept rows; columns other than quasi-identifiers are shown as they are."""
        shown = _through(self.recoding, self.table, features, quasi, self)
        return {name: some_of(each, self.kept) for name, each in shown.items()}

    def held_out(self, others: Table, features: Collection[str], quasi: Collection[str]) -> HeldOut:
        """What the release would show of other rows."""
        nowhere = np.zeros(others.rows, dtype=bool)

        def by_level(recoding: NodeRecoding) -> HeldOut:
            return HeldOut(How.LEVELS, _through(recoding, others, features, quasi, self), nowhere)

        def by_part(recoding: PartRecoding) -> HeldOut:
            if recoding.kind != "boxes":
                return as_they_are(recoding)
            labelled = [name for name in recoding.shown if name in recoding.shown[name] and name not in self.statistics]
            part, outside = place(recoding, labelled, self.table, others, self.hierarchies)
            shown = _through(replace(recoding, part=part), others, features, quasi, self)
            return HeldOut(How.BOXES, shown, outside)

        def as_they_are(_: Recoding) -> HeldOut:
            return HeldOut(How.VALUES, {name: as_it_is(others[name]) for name in features}, nowhere)

        return self.recoding.by_kind(node=by_level, parts=by_part, stored=as_they_are, groups=as_they_are)


def _through(
    recoding: Recoding, table: Table, features: Collection[str], quasi: Collection[str], how: Training
) -> dict[str, ShownColumns]:
    """What a recoding shows of the features."""
    return {
        name: by_form(recoding.show(table[name], how.hierarchies), how.statistics)
        if name in quasi
        else as_it_is(table[name])
        for name in features
    }
