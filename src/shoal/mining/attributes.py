"""What a decision tree can test: nominal attributes by their texts, numbers and dates by their size."""

from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.codes import Codes, Column, Kind
from shoal.errors import BadInput
from shoal.mining.midpoints import midpoints
from shoal.mining.quantities import values_of

Floats = NDArray[np.float64]
Shown = str | float | int | None
"""What a test compares with."""
Cells = Column | Floats
"""One attribute of every row: coded, or as plain numbers, of which NaN is missing."""


@dataclass(frozen=True, eq=False)
class Attribute:
    """One attribute of the training rows; codes are ranks of its values, and -1 is missing.

    >>> from shoal.codes import encode
    >>> age, codes = Attribute.of("age", encode("age", pa.array([30, None, 9])))
    >>> age.shown, codes.tolist(), age.coded(np.array([5.0, 9.0, 31.0])).tolist()
    ((9, 30), [1, -1, 0], [0, 0, 2])
    """

    name: str
    shown: tuple[Shown, ...]
    """The value behind each code."""
    numbers: Floats | None
    """The number behind each code, ascending; None where the attribute is nominal."""
    labels: bool = False
    """Whether labels are read as their midpoints."""

    @classmethod
    def of(cls, name: str, cells: Cells, *, labels: bool = False) -> tuple["Attribute", Codes]:
        """An attribute and the codes of its rows."""
        if isinstance(cells, Column) and cells.kind is Kind.TEXT and not labels:
            return cls(name, tuple(cells.texts.to_pylist()), None), _through(None, cells)
        each = _numbers(cells, labels=labels)
        values, inverse = np.unique(each[~np.isnan(each)], return_inverse=True)
        ranks = np.full(len(each), -1, dtype=np.int32)
        ranks[~np.isnan(each)] = inverse
        days = isinstance(cells, Column) and cells.kind is Kind.DATE
        shown = tuple(_day(value) if days else _plain(value) for value in values.tolist())
        return cls(name, shown, values, labels), _through(ranks, cells)

    def coded(self, cells: Cells) -> Codes:
        """Other rows in the codes of this attribute; a text that training rows did not have is missing."""
        if self.numbers is None:
            if not isinstance(cells, Column):
                raise BadInput(f"column {self.name!r} was text in training; give text")
            known = pc.index_in(cells.texts, value_set=pa.array(self.shown, pa.string())).fill_null(-1)
            return _through(known.to_numpy(zero_copy_only=False).astype(np.int32), cells)
        if isinstance(cells, Column) and cells.kind is Kind.TEXT and len(cells.values) and not self.labels:
            raise BadInput(f"column {self.name!r} was numeric in training; give numbers")
        each = _numbers(cells, labels=self.labels)
        ranks = np.searchsorted(self.numbers, each).astype(np.int32)
        return _through(np.where(np.isnan(each), np.int32(-1), ranks), cells)


def _numbers(cells: Cells, *, labels: bool) -> Floats:
    """The number behind each code, or in each row where there are no codes."""
    if not isinstance(cells, Column):
        return cells
    if cells.kind is Kind.TEXT:
        return midpoints(cells) if labels else np.empty(0)
    if pa.types.is_integer(cells.values.type) or pa.types.is_floating(cells.values.type):
        floats: Floats = cells.values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return floats
    return values_of(cells)


def _through(ranks: Codes | None, cells: Cells) -> Codes:
    """The codes of rows, given those of the values; null is -1."""
    if not isinstance(cells, Column):
        assert ranks is not None
        return ranks
    if ranks is None:
        if not cells.has_null:
            return cells.codes
        ranks = np.arange(len(cells.values), dtype=np.int32)
    return np.append(ranks, np.int32(-1)).astype(np.int32)[cells.codes]


def _plain(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _day(value: float) -> str:
    return date.fromordinal(int(value)).isoformat()
