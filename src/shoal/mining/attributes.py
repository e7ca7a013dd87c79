"""What is shown of an attribute, and what a decision tree can test: texts by name, numbers and dates by their size."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from math import isnan, nan

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.data.codes import Codes, Column, Kind
from shoal.errors import BadInput
from shoal.hierarchy.taxonomy import TOP
from shoal.hierarchy.value_columns import Labels
from shoal.labels.grammar import Interval, ends_of, middle, parse_label
from shoal.recoding.columns import ReleasedColumn

Rows = NDArray[np.int64]
"""Positions of rows in a table."""
ShownColumns = Mapping[str, ReleasedColumn]
"""Released columns by form: a label is `range`, its ends `lo` and `hi` or `min` and `max`; `mean`, `median`, `mode`."""
RANGE = "range"


def show_unchanged(column: Column) -> ShownColumns:
    """Return a column as a release would show it with nothing generalised: every row shows its own value.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> show_unchanged(encode("age", pa.array([31, 30, None])))["range"].texts.to_pylist()
    ['30', '31', None]
    """
    return {RANGE: ReleasedColumn.of(column.codes, [*column.texts.to_pylist(), None])}


def key_by_form(released: Mapping[str, ReleasedColumn], statistics: Mapping[str, tuple[str, str]]) -> ShownColumns:
    """Key the released columns of one attribute by form; `statistics` names those that show a statistic."""
    return {statistics[name][1] if name in statistics else RANGE: column for name, column in released.items()}


def take_rows(shown: ShownColumns, rows: NDArray[np.bool_] | Rows) -> ShownColumns:
    """Return the shown columns restricted to some rows: a flag per row, or positions."""
    return {form: replace(released, codes=released.codes[rows]) for form, released in shown.items()}


Floats = NDArray[np.float64]
_ENDS = (("lo", "hi"), ("min", "max"))
_POINTS = ("mean", "median", "mode")


def values_of(column: Column) -> Floats:
    """Return the number behind each code of a column of numbers or dates (days as ordinals), without null."""
    if column.kind is Kind.DATE:
        return np.array([float(day.toordinal()) for day in column.dates])
    return column.floats


@dataclass(frozen=True)
class Quantity:
    """Three features of a number: midpoint, width (as shares of the training rows' range), and whether it is missing.

    Open tails end where the training rows end; `*` is the middle of everything, and as wide.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> age = encode("age", pa.array([20, 30, 40, 60]))
    >>> quantity = Quantity.of(Labels(age), age.codes)
    >>> quantity.to_features({"range": ReleasedColumn.of(np.arange(5), ["30", "[20, 40)", "≥40", "*", None])}).tolist()
    [[0.25, 0.0, 0.0], [0.2375, 0.475, 0.0], [0.75, 0.5, 0.0], [0.5, 1.0, 0.0], [0.5, 1.0, 1.0]]
    """

    labels: Labels
    least: float
    greatest: float

    @classmethod
    def of(cls, labels: Labels, training: Codes) -> "Quantity":
        """Fit the range to the codes of the training rows."""
        held = training[training < len(labels.column.values)]
        values = values_of(labels.column)[held] if len(held) else np.zeros(1)
        return cls(labels, float(values.min()), float(values.max()))

    @property
    def names(self) -> tuple[str, ...]:
        name = self.labels.column.name
        return (name, f"width of {name}", f"{name} is missing")

    def to_features(self, shown: ShownColumns) -> Floats:
        """Return the features of every row: [row, 3]."""
        # ends of what each row shows: [row]; an open end is where the training rows end
        low, high = self._ends(shown)
        low = np.where(np.isnan(low), np.fmin(self.least, high), low)
        high = np.where(np.isnan(high), np.fmax(self.greatest, low), high)
        middle = (low + high) / 2
        # a released mean, median or mode is a better midpoint than that of the range
        for form in _POINTS:
            if form in shown:
                known = self._read_labels(shown[form], self._number_of_label)
                middle = np.where(np.isnan(known), middle, known)
                break
        span = (self.greatest - self.least) or 1.0
        return np.stack([(middle - self.least) / span, (high - low) / span, self._flag_missing(shown)], axis=1)

    def _ends(self, shown: ShownColumns) -> tuple[Floats, Floats]:
        if RANGE in shown:
            both = self._read_labels(shown[RANGE], self._ends_of_label)
            return both[:, 0], both[:, 1]
        for low, high in _ENDS:
            if low in shown:
                return self._read_labels(shown[low], self._number_of_label), self._read_labels(
                    shown[high], self._number_of_label
                )
        point = self._read_labels(shown[next(form for form in _POINTS if form in shown)], self._number_of_label)
        return point, point

    def _flag_missing(self, shown: ShownColumns) -> Floats:
        """Return 1 for rows without a value, else 0; bounds alone cannot tell, since `*` has open bounds too."""
        form = next((form for form in (RANGE, *_POINTS) if form in shown), None)
        if form is None:
            return np.zeros(len(next(iter(shown.values())).codes))
        return self._read_labels(shown[form], lambda text: float(text is None))

    @staticmethod
    def _read_labels(released: ReleasedColumn, read: Callable[[str | None], object]) -> Floats:
        """Apply `read` to every distinct label once, and return the result for each row."""
        return np.array([read(text) for text in released.texts.to_pylist()], dtype=np.float64)[released.codes]

    def _ends_of_label(self, text: str | None) -> tuple[float, float]:
        """Return the ends of a label; NaN for an end that is open or unknown."""
        if text is None or text == TOP:
            return nan, nan
        if (value := self._values.get(text)) is not None:
            return value, value
        if isinstance(parse_label(text), Interval):
            return ends_of(text, whole=self._whole, read=self._number_of_label) or (nan, nan)
        held = values_of(self.labels.column)[self.labels.covered(text)[: len(self.labels.column.values)]]
        if len(held):
            return float(held.min()), float(held.max())
        return self._number_of_label(text), self._number_of_label(text)

    def _number_of_label(self, text: str | None) -> float:
        if text is None:
            return nan
        if self.labels.column.kind is Kind.DATE:
            try:
                return float(date.fromisoformat(text[:10]).toordinal())
            except ValueError:
                return nan
        number = self.labels.scale.number(text)
        return nan if number is None else float(number)

    @cached_property
    def _whole(self) -> bool:
        """Whether all values are whole numbers; days are."""
        return all(value.is_integer() for value in values_of(self.labels.column).tolist())

    @cached_property
    def _values(self) -> dict[str, float]:
        return dict(zip(self.labels.column.texts.to_pylist(), values_of(self.labels.column).tolist(), strict=True))


def midpoints(column: Column) -> NDArray[np.float64]:
    """Return the midpoint of each label: of an interval, set or masked number; an open tail is its end, `*` NaN.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> ages = encode("age", pa.array(["[20, 30)", "3*", "≥80", "{40 | 46}", "*", "17"]))
    >>> dict(zip(ages.texts.to_pylist(), midpoints(ages).tolist()))
    {'*': nan, '17': 17.0, '3*': 34.5, '[20, 30)': 24.5, '{40 | 46}': 43.0, '≥80': 80.0}
    """
    texts = column.texts.to_pylist()
    written = [ends_of(text, whole=False) for text in texts]
    if any(ends is None or np.isinf(ends).any() for ends in written):
        raise BadInput(f"column {column.name!r}: a label cannot be read as a number; leave it nominal")
    whole = all(isnan(end) or end.is_integer() for ends in written if ends is not None for end in ends)
    found = (ends_of(text, whole=whole) for text in texts)
    return np.array([middle(ends) for ends in found if ends is not None], dtype=np.float64)


CellValue = str | float | int | None
"""A value that a test compares with."""
Cells = Column | Floats
"""One attribute of every row: coded, or as plain numbers with NaN for missing."""


@dataclass(frozen=True, eq=False)
class TreeAttribute:
    """One attribute of the training rows; codes are ranks of its values, and -1 is missing.

    >>> from shoal.data.codes import encode
    >>> age, codes = TreeAttribute.of("age", encode("age", pa.array([30, None, 9])))
    >>> age.shown, codes.tolist(), age.encode_cells(np.array([5.0, 9.0, 31.0])).tolist()
    ((9, 30), [1, -1, 0], [0, 0, 2])
    """

    name: str
    shown: tuple[CellValue, ...]
    """The value behind each code."""
    numbers: Floats | None
    """The number behind each code, ascending; None where the attribute is nominal."""
    labels: bool = False
    """Whether labels are read as their midpoints."""

    @classmethod
    def of(cls, name: str, cells: Cells, *, labels: bool = False) -> tuple["TreeAttribute", Codes]:
        """Return an attribute and the codes of its rows."""
        if isinstance(cells, Column) and cells.kind is Kind.TEXT and not labels:
            return cls(name, tuple(cells.texts.to_pylist()), None), _codes_of_rows(None, cells)
        # number behind each code, or of each row where cells are plain numbers; NaN is missing
        each = _numbers(cells, labels=labels)
        values, inverse = np.unique(each[~np.isnan(each)], return_inverse=True)
        # rank of each number among the distinct ones, which is its code in the tree
        ranks = np.full(len(each), -1, dtype=np.int32)
        ranks[~np.isnan(each)] = inverse
        days = isinstance(cells, Column) and cells.kind is Kind.DATE
        shown = tuple(_day(value) if days else _int_if_whole(value) for value in values.tolist())
        return cls(name, shown, values, labels), _codes_of_rows(ranks, cells)

    def encode_cells(self, cells: Cells) -> Codes:
        """Encode other rows with this attribute's codes; a text that no training row has is missing."""
        if self.numbers is None:
            if not isinstance(cells, Column):
                raise BadInput(f"column {self.name!r} was text in training; give text")
            known = pc.index_in(cells.texts, value_set=pa.array(self.shown, pa.string())).fill_null(-1)
            return _codes_of_rows(known.to_numpy(zero_copy_only=False).astype(np.int32), cells)
        if isinstance(cells, Column) and cells.kind is Kind.TEXT and len(cells.values) and not self.labels:
            raise BadInput(f"column {self.name!r} was numeric in training; give numbers")
        each = _numbers(cells, labels=self.labels)
        ranks = np.searchsorted(self.numbers, each).astype(np.int32)
        return _codes_of_rows(np.where(np.isnan(each), np.int32(-1), ranks), cells)


def _numbers(cells: Cells, *, labels: bool) -> Floats:
    """Return the number behind each code, or of each row where cells are plain numbers."""
    if not isinstance(cells, Column):
        return cells
    if cells.kind is Kind.TEXT:
        return midpoints(cells) if labels else np.empty(0)
    if pa.types.is_integer(cells.values.type) or pa.types.is_floating(cells.values.type):
        floats: Floats = cells.values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return floats
    return values_of(cells)


def _codes_of_rows(ranks: Codes | None, cells: Cells) -> Codes:
    """Return the code of each row, given the code of each value (None: unchanged); null is -1."""
    if not isinstance(cells, Column):
        assert ranks is not None
        return ranks
    if ranks is None:
        if not cells.has_null:
            return cells.codes
        ranks = np.arange(len(cells.values), dtype=np.int32)
    return np.append(ranks, np.int32(-1)).astype(np.int32)[cells.codes]


def _int_if_whole(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _day(value: float) -> str:
    return date.fromordinal(int(value)).isoformat()
