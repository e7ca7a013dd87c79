"""What the values of an attribute are, and which of them satisfy a predicate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Column, Kind
from shoal.counts import Flags
from shoal.workload.queries import Predicate, Value, Within

Floats = NDArray[np.float64]
_DAY = 10


@dataclass(frozen=True)
class Spans:
    """The numbers that satisfy a predicate: those from `low` to `high`, or single ones."""

    low: float = -math.inf
    high: float = math.inf
    points: Floats | None = None
    """In ascending order, where only single numbers do."""

    def holds(self, numbers: Floats) -> Flags:
        if self.points is not None:
            return np.isin(numbers, self.points)
        return np.asarray((numbers >= self.low) & (numbers <= self.high))


@dataclass(frozen=True)
class Numbers:
    """Numbers by size, or dates as numbers of days; whole ones are uniform over the whole numbers, others continuous.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> ages = Numbers(encode("age", pa.array(["30", "9", None])))
    >>> ages.whole, ages.low, ages.high, ages.satisfying(Within(10, None)).tolist()
    (True, 9.0, 30.0, [False, True, False])
    """

    column: Column

    @cached_property
    def values(self) -> Floats:
        """The number behind each code, without null."""
        if self.column.kind is Kind.NUMBER:
            return self.column.floats
        return np.array([_days(text) for text in self.column.texts.to_pylist()])

    @cached_property
    def whole(self) -> bool:
        return bool((self.values == np.floor(self.values)).all())

    @property
    def low(self) -> float:
        return float(self.values[0])

    @property
    def high(self) -> float:
        return float(self.values[-1])

    def number(self, value: Value) -> float:
        """The number that is meant; ValueError if it is none."""
        if self.column.kind is not Kind.NUMBER:
            return _days(str(value))
        number = float(str(value).replace(self.column.decimal, "."))
        if not math.isfinite(number):
            raise ValueError(value)
        return number

    def last(self, value: Value) -> float:
        """The greatest number that is not above a value: of a day among times, its end."""
        number = self.number(value)
        is_day = self.column.kind is Kind.DATE and len(str(value)) == _DAY
        return math.nextafter(number + 1, 0.0) if is_day and not self.whole else number

    def spans(self, predicate: Predicate) -> Spans:
        """The numbers that satisfy a predicate; ValueError where it names what is none."""
        if isinstance(predicate, Within):
            low = -math.inf if predicate.low is None else self.number(predicate.low)
            return Spans(low, math.inf if predicate.high is None else self.last(predicate.high))
        return Spans(points=np.unique([self.number(value) for value in predicate.values]))

    def satisfying(self, predicate: Predicate) -> Flags:
        """Which codes of the column satisfy a predicate; null never does."""
        held = self.spans(predicate).holds(self.values)
        return np.append(held, False) if self.column.has_null else held

    @property
    def kind(self) -> str:
        return "number" if self.column.kind is Kind.NUMBER else "date"


@dataclass(frozen=True)
class Texts:
    """Texts by code point: those of the column and those that only its hierarchy knows."""

    column: Column
    leaves: Sequence[str] = ()

    kind = "text"

    @cached_property
    def values(self) -> list[str]:
        """The texts of the column in the order of their codes, then the others."""
        texts: list[str] = self.column.texts.to_pylist()
        known = set(texts)
        return [*texts, *(leaf for leaf in self.leaves if leaf not in known)]

    @cached_property
    def place(self) -> dict[str, int]:
        return {text: at for at, text in enumerate(self.values)}

    def held(self, predicate: Predicate) -> Flags:
        """Which of the values satisfy a predicate."""
        flags = np.zeros(len(self.values), dtype=bool)
        if isinstance(predicate, Within):
            low, high = (None if end is None else str(end) for end in (predicate.low, predicate.high))
            flags[:] = [(low is None or low <= text) and (high is None or text <= high) for text in self.values]
        else:
            flags[[at for at in map(self.place.get, map(str, predicate.values)) if at is not None]] = True
        return flags

    def satisfying(self, predicate: Predicate) -> Flags:
        """Which codes of the column satisfy a predicate; null never does."""
        held = self.held(predicate)[: len(self.column.values)]
        return np.append(held, False) if self.column.has_null else held


Domain = Numbers | Texts


def domain_of(column: Column, leaves: Sequence[str] = ()) -> Domain:
    """Numbers and dates have sizes; all else is text, and so is a column of nothing but null."""
    return Texts(column, leaves) if column.kind is Kind.TEXT or not len(column.values) else Numbers(column)


def _days(text: str) -> float:
    if len(text) == _DAY:
        return float(date.fromisoformat(text).toordinal())
    moment = datetime.fromisoformat(text)
    passed = moment.replace(tzinfo=None) - datetime.combine(moment.date(), datetime.min.time())
    return moment.toordinal() + passed.total_seconds() / 86_400
