"""One value for all rows of a part: its mean, median or mode, and its least and greatest value (S4.6)."""

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.data.class_counts import sum_counts
from shoal.data.codes import Codes, Column, Kind
from shoal.hierarchy.exact_numbers import show
from shoal.partition.axes import Axis
from shoal.recoding.columns import ReleasedColumn

FEWEST = 5
"""A statistic of fewer rows reveals too much about their values."""


@dataclass(frozen=True)
class Ends:
    """The published range of a class, in units of the column; None is an open end."""

    low: int | None
    high: int | None
    met: bool
    """Whether some row has the low value and some row the high one."""


def is_determined(rows: int, total: int, ends: Ends, step: int = 1) -> bool:
    """Return whether the values of the rows follow from their sum and range; all differ by multiples of `step`.

    >>> is_determined(3, 10, Ends(1, 5, met=True)), is_determined(6, 20, Ends(1, 6, met=True))
    (True, False)
    >>> is_determined(6, 6, Ends(1, None, met=False))  # all are 1
    True
    """
    if ends.low is not None and ends.low == ends.high:
        return False  # the range shows the value already, and the mean adds nothing
    left = rows
    if ends.met and ends.low is not None and ends.high is not None:
        left, total = rows - 2, total - ends.low - ends.high
    if left <= 1:
        return True
    # steps by which the values together lie above the low end, and below the high end
    above = None if ends.low is None else (total - left * ends.low) // step
    below = None if ends.high is None else (left * ends.high - total) // step
    # with at most one step to distribute, or at most one between the ends, only one distribution exists
    few = any(steps is not None and steps <= 1 for steps in (above, below))
    return few or (above is not None and below is not None and above + below <= left)


def step_of(units: list[int]) -> int:
    """Return the largest step of which all differences between values are multiples.

    >>> step_of([10, 25, 40])
    15
    """
    return gcd(*(unit - units[0] for unit in units)) or 1


Longs = NDArray[np.int64]
_DIGITS_OF_INT64, _DIGITS_OF_DECIMAL = 18, 38


@dataclass(frozen=True)
class PositionCounts:
    """Rows of each part at each position of an axis, sorted by part and position, without null."""

    axis: Axis
    column: Column
    part: Codes
    position: Codes
    rows: Longs
    parts: int

    @classmethod
    def of(cls, axis: Axis, column: Column, part: Codes, codes: Codes, counts: Longs, parts: int) -> "PositionCounts":
        """Count items, each with a part, a code and a number of rows."""
        known = codes != column.null_code if column.has_null else np.ones(len(codes), dtype=bool)
        # [item] one number for its part and position; equal ones are counted together
        key = part[known].astype(np.int64) * axis.size + axis.positions[codes[known]]
        found, at = np.unique(key, return_inverse=True)
        rows = sum_counts(at, counts[known], len(found))
        return cls(
            axis, column, (found // axis.size).astype(np.int32), (found % axis.size).astype(np.int32), rows, parts
        )

    @property
    def numeric(self) -> bool:
        """Whether values are shown as numbers; those with an order given by hand are not."""
        return self.column.kind is Kind.NUMBER and not self.axis.categorical

    @property
    def sizes(self) -> Longs:
        """Number of rows of each part that are not null."""
        return sum_counts(self.part, self.rows, self.parts)

    @property
    def numbers(self) -> list[Fraction]:
        """The number at each position of a numeric column, without null."""
        known = len(self.axis.values)
        return [self.column.numbers[code] for code in self.axis.codes[:known].tolist()]

    @property
    def units(self) -> tuple[NDArray[np.object_], int]:
        """The number at each position as a multiple of a unit, and how many units make 1."""
        numbers = self.numbers
        unit = lcm(*(number.denominator for number in numbers))
        return np.array([int(number * unit) for number in numbers], dtype=object), unit

    @property
    def totals(self) -> list[int]:
        """Sum of the values of each part, in units."""
        numbers, _ = self.units
        totals = [0] * self.parts
        for part, total in zip(self.part.tolist(), numbers[self.position] * self.rows.astype(object), strict=True):
            totals[part] += total
        return totals

    def mean(self) -> ReleasedColumn:
        """Return the mean of each part; null where it holds only null."""
        _, unit = self.units
        sizes = self.sizes.tolist()
        return show_numbers([Fraction(t, unit * n) if n else None for t, n in zip(self.totals, sizes, strict=True)])

    def median(self) -> ReleasedColumn:
        """Return the median of each part; of two middle values the mean of numbers, else the lower one."""
        low, high = (self._at_rank((self.sizes + more) // 2) for more in (1, 2))
        if not self.numeric:
            return self._values(low)
        numbers = self.numbers
        return show_numbers(
            [
                (numbers[a] + numbers[b]) / 2 if a >= 0 else None
                for a, b in zip(low.tolist(), high.tolist(), strict=True)
            ]
        )

    def mode(self) -> ReleasedColumn:
        """Return the most frequent value of each part; at a tie the least one."""
        order = np.lexsort((-self.position, self.rows, self.part))  # the last of each part is its mode
        return self._values(self._last_of_each_part(order, self.part[order]))

    def least(self) -> Codes:
        """Return the least position that each part holds; -1 where it holds only null."""
        return self._last_of_each_part(np.arange(len(self.part))[::-1], self.part[::-1])

    def greatest(self) -> Codes:
        """Return the greatest position that each part holds; -1 where it holds only null."""
        return self._last_of_each_part(np.arange(len(self.part)), self.part)

    def _last_of_each_part(self, order: NDArray[np.int64], part: Codes) -> Codes:
        """Return the position of each part that comes last in the order; -1 for none."""
        at = np.full(self.parts, -1, dtype=np.int32)
        at[part] = self.position[order]
        return at

    def _at_rank(self, rank: Longs) -> Codes:
        """Return the position of the row with the given rank, counted from 1, in each part."""
        # [entry] rows up to it in all parts; [part] rows of the parts before it
        upto = np.cumsum(self.rows)
        before = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        at = np.searchsorted(upto, before + rank)
        known = self.sizes > 0
        found = np.full(self.parts, -1, dtype=np.int32)
        found[known] = self.position[at[known]]
        return found

    def _values(self, position: Codes) -> ReleasedColumn:
        """Return the values at some positions, numbers as numbers; null at -1."""
        codes = np.where(position >= 0, self.axis.codes[position], -1)
        if self.numeric:
            numbers = self.column.numbers
            return show_numbers([numbers[code] if code >= 0 else None for code in codes.tolist()])
        texts = self.column.texts.to_pylist()
        return show_labels([texts[code] if code >= 0 else None for code in codes.tolist()])


def show_numbers(numbers: list[Fraction | None]) -> ReleasedColumn:
    """Return a numeric column with a code per number of the list; no number is shown as a different one.

    Its type is float where every float is printed as its number is, or the number is an endless fraction; else integer
    or decimal, and text where even decimals have too few digits.

    >>> show_numbers([Fraction(2**53 + 1), None]).values.to_pylist()
    [9007199254740993, None]
    """
    different = list(dict.fromkeys(numbers))
    at = {number: code for code, number in enumerate(different)}
    codes = np.array([at[number] for number in numbers], dtype=np.int32)
    floats = [None if number is None else _printable_float(number) for number in different]
    if not any(f is None and number is not None for f, number in zip(floats, different, strict=True)):
        texts = [None if f is None else repr(f).removesuffix(".0") for f in floats]
        return ReleasedColumn(codes, pa.array(floats, pa.float64()), pa.array(texts, pa.string()))
    texts = [None if number is None else show(_to_finite_decimal(number)) for number in different]
    values = pa.array(texts, pa.string())
    known = [text.lstrip("-").partition(".") for text in texts if text is not None]
    whole, places = max(len(front) for front, _, _ in known), max(len(back) for _, _, back in known)
    if whole <= _DIGITS_OF_INT64 and not places:
        return ReleasedColumn(codes, values.cast(pa.int64()), values)
    if whole + places <= _DIGITS_OF_DECIMAL:
        return ReleasedColumn(codes, values.cast(pa.decimal128(_DIGITS_OF_DECIMAL, places)), values)
    return ReleasedColumn(codes, values, values)


def _printable_float(number: Fraction) -> float | None:
    """Return the float that prints as the number, or the nearest one to an endless fraction; None if there is none."""
    try:
        near = float(number)
    except OverflowError:
        return None
    endless = _to_finite_decimal(number) != number
    return near if (endless and (near or not number)) or Fraction(repr(near)) == number else None


def _to_finite_decimal(number: Fraction) -> Fraction:
    """Return the number if it is a finite decimal, else a decimal that agrees with it in 30 digits."""
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1:
        return number
    size = len(str(abs(number.numerator))) - len(str(number.denominator))
    unit = Fraction(10) ** (size - 30)
    return round(number / unit) * unit


def show_labels(texts: list[str | None]) -> ReleasedColumn:
    """Return a text column with a code per text of the list."""
    different = list(dict.fromkeys(texts))
    at = {text: code for code, text in enumerate(different)}
    return ReleasedColumn.of(np.array([at[text] for text in texts], dtype=np.int32), different)
