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
from shoal.mining.attributes import ShownColumns, key_by_form, show_unchanged, take_rows, values_of
from shoal.recoding.kinds import NodeRecoding, PartRecoding, Recoding

Floats = NDArray[np.float64]
_CELLS_AT_ONCE = 4_000_000


def assign_to_boxes(
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
        which, covered = (
            _cover_by_labels(recoding, labels) if name in labelled else _cover_by_hull(recoding, labels, parts)
        )
        # distinct codes of the other rows, and which of them each row has
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
        away = _sum_gaps(of_part, gaps, [code[rows] for code in codes], parts)
        least = away.min(axis=1, keepdims=True)
        nearest[rows] = np.where(away == least, sizes, np.inf).argmin(axis=1)
        outside[rows] = least[:, 0] > 0
    return nearest, outside


def _cover_by_labels(recoding: PartRecoding, labels: Labels) -> tuple[Codes, NDArray[np.bool_]]:
    """Return the label of each part, and covered[label, code]: which codes each label covers."""
    shown = recoding.shown[labels.column.name][labels.column.name]
    return shown.codes, np.stack([labels.covered(text) for text in shown.texts.to_pylist()])


def _cover_by_hull(recoding: PartRecoding, labels: Labels, parts: int) -> tuple[Codes, NDArray[np.bool_]]:
    """Return a label for each part, its own number, and covered[part, code]: codes from its least to its greatest."""
    column = labels.column
    least, most = np.full(parts, column.size, dtype=np.int32), np.full(parts, -1, dtype=np.int32)
    np.minimum.at(least, recoding.part, column.codes)
    np.maximum.at(most, recoding.part, column.codes)
    every = np.arange(column.size)
    return np.arange(parts, dtype=np.int32), (least[:, None] <= every) & (every <= most[:, None])


def _gaps(labels: Labels, covered: NDArray[np.bool_]) -> Floats:
    """Return gaps[label, code]: distance of a value from what a label covers, as a share of the range."""
    column = labels.column
    gaps = np.where(covered, 0.0, 1.0)
    known = len(column.values)
    if column.kind is Kind.TEXT or not known:
        return gaps
    values = values_of(column)
    span = (values[-1] - values[0]) or 1.0
    # labels that cover some value other than null
    some = np.flatnonzero(covered[:, :known].any(axis=1))
    # first and last code that each label covers, and the gap to the nearer end
    first = covered[some, :known].argmax(axis=1)
    last = known - 1 - covered[some, :known][:, ::-1].argmax(axis=1)
    gaps[some, :known] = np.maximum(values[first][:, None] - values, values - values[last][:, None]).clip(0) / span
    return gaps


def _sum_gaps(
    of_part: Sequence[Codes], gaps: Sequence[Floats], codes: Sequence[NDArray[np.intp]], parts: int
) -> Floats:
    # away[row, part]: sum of the gaps over the attributes
    away = np.zeros((len(codes[0]), parts))
    for which, gap, code in zip(of_part, gaps, codes, strict=True):
        away += gap.T[code[:, None], which]
    return away


class HeldOutDisplay(StrEnum):
    """How a release shows rows that were not there when the recoding was found.

    A level per attribute fits any row. Boxes divide the space: a row is shown as the box that it lies in, or the
    nearest one. Cells and clusters overlap and leave gaps, so a row is shown as it is; it has in common with the
    training rows the labels above its values, and midpoints.
    """

    LEVELS = "levels"
    BOXES = "boxes"
    VALUES = "values"


@dataclass(frozen=True)
class HeldOut:
    """What a release shows of held-out rows, and how."""

    how: HeldOutDisplay
    shown: Mapping[str, ShownColumns]
    outside: Flags
    """Flags the rows that lie in no box, and are shown as the nearest."""


@dataclass(frozen=True)
class TrainingRecoding:
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
        """Flags of the rows that were not suppressed."""
        return ~self.recoding.suppressed

    def show_kept(self, features: Collection[str], quasi: Collection[str]) -> dict[str, ShownColumns]:
        """Return what the release shows of the kept rows; columns other than quasi-identifiers are unchanged."""
        shown = _show_features(self.recoding, self.table, features, quasi, self)
        return {name: take_rows(each, self.kept) for name, each in shown.items()}

    def show_held_out(self, others: Table, features: Collection[str], quasi: Collection[str]) -> HeldOut:
        """Return what the release would show of other rows."""
        nowhere = np.zeros(others.rows, dtype=bool)

        def by_level(recoding: NodeRecoding) -> HeldOut:
            return HeldOut(HeldOutDisplay.LEVELS, _show_features(recoding, others, features, quasi, self), nowhere)

        def by_part(recoding: PartRecoding) -> HeldOut:
            if recoding.kind != "boxes":
                return as_they_are(recoding)
            labelled = [name for name in recoding.shown if name in recoding.shown[name] and name not in self.statistics]
            part, outside = assign_to_boxes(recoding, labelled, self.table, others, self.hierarchies)
            shown = _show_features(replace(recoding, part=part), others, features, quasi, self)
            return HeldOut(HeldOutDisplay.BOXES, shown, outside)

        def as_they_are(_: Recoding) -> HeldOut:
            return HeldOut(HeldOutDisplay.VALUES, {name: show_unchanged(others[name]) for name in features}, nowhere)

        return self.recoding.by_kind(node=by_level, parts=by_part, stored=as_they_are, groups=as_they_are)


def _show_features(
    recoding: Recoding, table: Table, features: Collection[str], quasi: Collection[str], how: TrainingRecoding
) -> dict[str, ShownColumns]:
    """Return what a recoding shows of each feature; those that are no quasi-identifiers are unchanged."""
    return {
        name: key_by_form(recoding.show(table[name], how.hierarchies), how.statistics)
        if name in quasi
        else show_unchanged(table[name])
        for name in features
    }
