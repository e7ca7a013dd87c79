"""One value for all rows of a part: its mean, median or mode, and its least and greatest value (S4.6)."""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.codes import Codes, Column, Kind
from shoal.partition.axes import Axis
from shoal.recode import Released

Longs = NDArray[np.int64]


@dataclass(frozen=True)
class Holdings:
    """How many rows of each part lie at each position of an axis, sorted by part and position; null left out."""

    axis: Axis
    column: Column
    part: Codes
    position: Codes
    rows: Longs
    parts: int

    @classmethod
    def of(cls, axis: Axis, column: Column, part: Codes, codes: Codes, counts: Longs, parts: int) -> "Holdings":
        """Of items with a part, a code and a number of rows each."""
        known = codes != column.null_code if column.has_null else np.ones(len(codes), dtype=bool)
        key = part[known].astype(np.int64) * axis.size + axis.positions[codes[known]]
        found, at = np.unique(key, return_inverse=True)
        rows = np.bincount(at, weights=counts[known], minlength=len(found)).astype(np.int64)
        return cls(
            axis, column, (found // axis.size).astype(np.int32), (found % axis.size).astype(np.int32), rows, parts
        )

    @property
    def sizes(self) -> Longs:
        """Rows of each part that are not null."""
        return np.bincount(self.part, weights=self.rows, minlength=self.parts).astype(np.int64)

    @property
    def units(self) -> tuple[NDArray[np.object_], int]:
        """The number at each position in whole units, and how many of them make 1."""
        numbers = self.column.numbers
        unit = lcm(*(number.denominator for number in numbers))
        return np.array([int(number * unit) for number in numbers], dtype=object), unit

    @property
    def totals(self) -> list[int]:
        """The sum of each part, in units."""
        numbers, _ = self.units
        totals = [0] * self.parts
        for part, total in zip(self.part.tolist(), numbers[self.position] * self.rows.astype(object), strict=True):
            totals[part] += total
        return totals

    def mean(self) -> Released:
        """The mean of each part; null where it holds null only."""
        _, unit = self.units
        sizes = self.sizes.tolist()
        return numbers_shown([Fraction(t, unit * n) if n else None for t, n in zip(self.totals, sizes, strict=True)])

    def median(self) -> Released:
        """The middle value, of numbers the mean of the two middle ones; of others the lower of the two."""
        low, high = (self._at_rank((self.sizes + more) // 2) for more in (1, 2))
        if self.column.kind is not Kind.NUMBER:
            return self._values(low)
        numbers = self.column.numbers
        return numbers_shown(
            [
                (numbers[a] + numbers[b]) / 2 if a >= 0 else None
                for a, b in zip(low.tolist(), high.tolist(), strict=True)
            ]
        )

    def mode(self) -> Released:
        """The most frequent value, of several the least."""
        order = np.lexsort((-self.position, self.rows, self.part))  # the last of each part is its mode
        return self._values(self._one_each(order, self.part[order]))

    def least(self) -> Codes:
        """The first position that each part holds; -1 where it holds null only."""
        return self._one_each(np.arange(len(self.part))[::-1], self.part[::-1])

    def greatest(self) -> Codes:
        return self._one_each(np.arange(len(self.part)), self.part)

    def _one_each(self, order: NDArray[np.int64], part: Codes) -> Codes:
        """Of each part the position that comes last in the order."""
        at = np.full(self.parts, -1, dtype=np.int32)
        at[part] = self.position[order]
        return at

    def _at_rank(self, rank: Longs) -> Codes:
        """Of each part the position of the row of a rank, counted from 1."""
        upto = np.cumsum(self.rows)
        before = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        at = np.searchsorted(upto, before + rank)
        known = self.sizes > 0
        found = np.full(self.parts, -1, dtype=np.int32)
        found[known] = self.position[at[known]]
        return found

    def _values(self, position: Codes) -> Released:
        """The values at some positions, of numbers as numbers."""
        codes = np.where(position >= 0, self.axis.codes[position], -1)
        if self.column.kind is Kind.NUMBER:
            numbers = self.column.numbers
            return numbers_shown([numbers[code] if code >= 0 else None for code in codes.tolist()])
        texts = self.column.texts.to_pylist()
        return labels_shown([texts[code] if code >= 0 else None for code in codes.tolist()])


def numbers_shown(numbers: list[Fraction | None]) -> Released:
    """Numbers as a numeric column, a code for each of the list."""
    different = list(dict.fromkeys(numbers))
    at = {number: code for code, number in enumerate(different)}
    floats = [None if number is None else float(number) for number in different]
    texts = [None if f is None else repr(f).removesuffix(".0") for f in floats]
    codes = np.array([at[number] for number in numbers], dtype=np.int32)
    return Released(codes, pa.array(floats, pa.float64()), pa.array(texts, pa.string()))


def labels_shown(texts: list[str | None]) -> Released:
    """Texts as a column, a code for each of the list."""
    different = list(dict.fromkeys(texts))
    at = {text: code for code, text in enumerate(different)}
    return Released.of(np.array([at[text] for text in texts], dtype=np.int32), different)
