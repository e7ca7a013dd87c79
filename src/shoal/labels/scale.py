"""The values of a column as exact numbers, as moments and as texts, where an interval lies, and what a label covers.

Arithmetic is that of whole numbers without limit; nothing here relies on the order in which values were encoded.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, floor
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.labels.grammar import Interval, Members, parse_label

Codes = NDArray[np.int64]
Run = tuple[int, int]
"""Consecutive codes: the first, and the one after the last."""

_LONGEST = 4_000
_PLAIN = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
_NUMBER = re.compile(rf"(?:{_PLAIN})(?:[eE][+-]?[0-9]{{1,4}})?")
_PLAIN_NUMBER = re.compile(_PLAIN)
_MINUS_ZERO = re.compile(r"-0(?:\.0*)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_TIME_OF_DAY = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?")
_PLACEHOLDER_YEARS = ("0000", "9999")
_EPOCH = date(1970, 1, 1).toordinal()
_SECOND = 10**9
_DAY = 86_400 * _SECOND
_UNITS = {"s": _SECOND, "ms": 10**6, "us": 10**3, "ns": 1}
_MIDNIGHT = " 00:00:00"


class ValueKind(StrEnum):
    """What all values of a column are."""

    NUMBER = "number"
    MOMENT = "moment"
    TEXT = "text"


@dataclass(frozen=True)
class Moment:
    """A day or a point in time, in nanoseconds since 1970; a day stands at its beginning."""

    at: int
    is_day: bool = False


@dataclass(frozen=True)
class OrderedValues:
    """Some values of a column from least to greatest: what each is compared by, and its code."""

    keys: Sequence[Any]
    codes: Codes

    @classmethod
    def of(cls, keys: Sequence[Any], codes: Sequence[int]) -> "OrderedValues":
        """Sort keys, and the code of each with it."""
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return cls([keys[at] for at in order], np.array([codes[at] for at in order], dtype=np.int64))

    @cached_property
    def is_natural(self) -> bool:
        """Whether codes follow each other as the keys do: then every interval is one run of codes."""
        return bool((np.diff(self.codes) == 1).all())

    def below(self, key: Any) -> int:
        """Return the number of keys that are less than this one."""
        return bisect_left(self.keys, key)

    def up_to(self, key: Any) -> int:
        """Return the number of keys that are less than or equal to this one."""
        return bisect_right(self.keys, key)


@dataclass(frozen=True)
class Scale:
    """The distinct values of a column, without null; a code is the place of a value among them.

    >>> ages = Scale(pa.array(["9", "30.0", "30", "41", "100"]))
    >>> ages.sort.value, ages.covered(Interval("30", "100")).tolist()
    ('number', [False, True, True, True, False])
    >>> ages.codes_of_text("30").tolist(), ages.ranks.tolist()
    ([1, 2], [0, 1, 1, 2, 3])
    """

    values: pa.Array
    decimal: str = "."

    # --- what the values are ---------------------------------------------------------------------------------------

    @cached_property
    def texts(self) -> list[str]:
        """Each value as a person would write it."""
        texts: list[str] = to_texts(self.values).to_pylist()
        return texts

    @cached_property
    def sort(self) -> ValueKind:
        """Numbers or moments where all of them are; else texts."""
        if len(self.numbers.keys) == len(self.values) and not any(_MINUS_ZERO.fullmatch(t) for t in self._plain):
            return ValueKind.NUMBER if len(self.values) else ValueKind.TEXT
        return ValueKind.MOMENT if len(self.instants.keys) == len(self.values) else ValueKind.TEXT

    @cached_property
    def ranks(self) -> Codes:
        """The place of each value in the order of its sort; values that are one number have one rank."""
        line = {
            ValueKind.NUMBER: lambda: self.numbers,
            ValueKind.MOMENT: lambda: self.instants,
            ValueKind.TEXT: lambda: self._by_text,
        }
        ordered = line[self.sort]()
        # [place] whether a key differs from the one before it: their running sum is the rank
        steps = [0, *(before != after for before, after in pairwise(ordered.keys))]
        ranks = np.empty(len(self.values), dtype=np.int64)
        ranks[ordered.codes] = np.cumsum(steps[: len(ordered.keys)])
        return ranks

    @cached_property
    def first_codes(self) -> Codes:
        """The first code of each rank."""
        _, first = np.unique(self.ranks, return_index=True)
        return np.asarray(first, dtype=np.int64)

    def rank(self, text: str) -> int | None:
        """Return the rank of the value that a text stands for; None if there is none."""
        found = self.codes_of_text(text)
        return int(self.ranks[found[0]]) if len(found) else None

    @cached_property
    def _text_set(self) -> frozenset[str]:
        return frozenset(self.texts)

    def is_value(self, text: str) -> bool:
        """Return whether a value is written just so, or is this number; a day is no value of a column of times."""
        return text in self._text_set or (self.sort is ValueKind.NUMBER and len(self.codes_of_text(text)) > 0)

    def codes_of_text(self, text: str) -> Codes:
        """Return the codes of the values that a text stands for: numbers and moments by meaning, texts by spelling."""
        if self.sort is ValueKind.NUMBER and (number := self.number(text)) is not None:
            start, stop = self.numbers.below(key := number * self.unit), self.numbers.up_to(key)
            return np.sort(self.numbers.codes[start:stop])
        if self.sort is ValueKind.MOMENT and (moment := read_moment(text)) is not None:
            start, stop = self.instants.below(moment.at), self.instants.up_to(moment.at)
            return np.sort(self.instants.codes[start:stop])
        code = self._spellings.get(text)
        return np.array([] if code is None else [code], dtype=np.int64)

    # --- intervals -------------------------------------------------------------------------------------------------

    def covered(self, interval: Interval) -> NDArray[np.bool_]:
        """Flag the values that lie in an interval; one that no value can be compared with covers nothing."""
        flags = np.zeros(len(self.values), dtype=bool)
        if (found := self._between(interval)) is not None:
            line, start, stop = found
            flags[line.codes[start:stop]] = True
        return flags

    def runs(self, interval: Interval) -> list[Run] | None:
        """Return the values in an interval as runs of codes; None where no value can be compared with it."""
        found = self._between(interval)
        if found is None:
            return None
        line, start, stop = found
        if start >= stop:
            return []
        if line.is_natural:
            first = int(line.codes[start])
            return [(first, first + stop - start)]
        return runs_of(line.codes[start:stop])

    def _between(self, interval: Interval) -> tuple[OrderedValues, int, int] | None:
        """Return the ordered values that an interval is compared with, and from where to where it covers them.

        Ends in quotes are texts; others are numbers if all are, else moments if all are. Ends that are neither are
        texts where the column holds texts, as other tools write them.
        """
        ends = interval.ends
        if interval.quoted:
            return self._locate_interval(interval, self._by_text, str, str)
        if all(self.number(end) is not None for end in ends):
            return self._locate_interval(interval, self.numbers, self._units_from, self._units_up_to)
        moments = [moment for end in ends if (moment := read_moment(end)) is not None]
        if len(moments) == len(ends):
            line = self.days if all(moment.is_day for moment in moments) else self.instants
            return self._locate_interval(interval, line, _instant, _last_instant)
        if self.sort is ValueKind.TEXT and not moments and not any(self.number(end) is not None for end in ends):
            return self._locate_interval(interval, self._by_text, str, str)
        return None

    def _locate_interval(
        self, interval: Interval, line: OrderedValues, low: Callable[[str], Any], high: Callable[[str], Any]
    ) -> tuple[OrderedValues, int, int] | None:
        """Return where an interval begins and ends among ordered values; `low` and `high` turn its ends into keys."""
        if not len(line.keys) and len(self.values):
            return None
        start = 0 if interval.low is None else line.below(low(interval.low))
        if interval.high is None:
            return line, start, len(line.keys)
        stop = line.up_to(high(interval.high)) if interval.closed else line.below(low(interval.high))
        return line, start, stop

    # --- numbers ---------------------------------------------------------------------------------------------------

    def number(self, text: str) -> Fraction | None:
        """Return the exact number that a text stands for; None if it is none."""
        return read_number(text, self.decimal)

    @cached_property
    def unit(self) -> int:
        """Power of ten that makes every number of the column whole when multiplied by it: 100 for two decimals."""
        return int(10 ** max((max(-exponent, 0) for _, exponent in self._scientific), default=0))

    @cached_property
    def numbers(self) -> OrderedValues:
        """Values that are numbers, compared as whole multiples of 1 / `unit`."""
        unit = self.unit
        if unit == 1 and not any(exponent for _, exponent in self._scientific):
            return OrderedValues.of([digits for digits, _ in self._scientific], self._numeric)
        keys = [
            digits * 10**exponent * unit if exponent >= 0 else digits * (unit // 10**-exponent)
            for digits, exponent in self._scientific
        ]
        return OrderedValues.of(keys, self._numeric)

    def number_of(self, code: int) -> Fraction:
        """Return the number behind a code that has one."""
        found = self.number(self._plain[code])
        assert found is not None
        return found

    def _units_from(self, text: str) -> int:
        """Return a number in units, rounded up."""
        number = self.number(text)
        assert number is not None
        return ceil(number * self.unit)

    def _units_up_to(self, text: str) -> int:
        """Return a number in units, rounded down."""
        number = self.number(text)
        assert number is not None
        return floor(number * self.unit)

    @cached_property
    def _plain(self) -> list[str]:
        return [text.replace(self.decimal, ".") for text in self.texts] if self.decimal != "." else self.texts

    @cached_property
    def _numeric(self) -> list[int]:
        """The codes of the values that are numbers: texts only where they are plain decimals."""
        of = self.values.type
        if pa.types.is_integer(of) or pa.types.is_decimal(of):
            return list(range(len(self.values)))
        if pa.types.is_floating(of):
            return np.flatnonzero(pc.is_finite(self.values).to_numpy(zero_copy_only=False)).tolist()
        if not pa.types.is_string(of):
            return []
        foreign = "." if self.decimal != "." else None  # where the mark is a comma, 1.5 is no number
        return [
            code
            for code, (text, plain) in enumerate(zip(self.texts, self._plain, strict=True))
            if len(plain) <= _LONGEST and _PLAIN_NUMBER.fullmatch(plain) and not (foreign and foreign in text)
        ]

    @cached_property
    def _scientific(self) -> list[tuple[int, int]]:
        """Each of the `_numeric` values as (digits, exponent): it is digits × 10^exponent."""
        return [_split_exponent(self._plain[code]) for code in self._numeric]

    # --- moments and texts -----------------------------------------------------------------------------------------

    @cached_property
    def instants(self) -> OrderedValues:
        """The values that are days or points in time, by time."""
        return OrderedValues.of([moment.at for moment in self._moments.values()], list(self._moments))

    @cached_property
    def days(self) -> OrderedValues:
        """Values that are days or points in time, by the day that each shows in its own time zone."""
        return OrderedValues.of([_instant(self.texts[code][:10]) for code in self._moments], list(self._moments))

    @cached_property
    def _moments(self) -> dict[int, Moment]:
        of = self.values.type
        if pa.types.is_date(of) or pa.types.is_timestamp(of):
            years = pc.min_max(pc.year(self.values)).as_py()
            if years["min"] is not None and not 1 <= years["min"] <= years["max"] <= date.max.year:
                return {}
            if pa.types.is_timestamp(of):
                step = _UNITS[of.unit]
                return {code: Moment(at * step) for code, at in enumerate(self.values.cast(pa.int64()).to_pylist())}
        elif not pa.types.is_string(of):
            return {}
        placeholders = _PLACEHOLDER_YEARS if pa.types.is_string(of) else ()  # in a column of dates, these are dates
        found = {c: read_moment(t) for c, t in enumerate(self.texts) if t[:4] not in placeholders}
        return {code: moment for code, moment in found.items() if moment is not None and moment.is_day}

    @cached_property
    def _by_text(self) -> OrderedValues:
        return OrderedValues.of(self.texts, range(len(self.texts)))

    @cached_property
    def _spellings(self) -> dict[str, int]:
        """Every way in which a value may be written, and its code."""
        found = {text: code for code, text in enumerate(self.texts)}
        if pa.types.is_timestamp(self.values.type):
            found |= {text.removesuffix(_MIDNIGHT): code for code, text in enumerate(self.texts)}
        if pa.types.is_timestamp(self.values.type) or pa.types.is_time(self.values.type):
            found |= {text: code for code, text in enumerate(self.values.cast(pa.string()).to_pylist())}
        return found


def runs_of(codes: NDArray[np.integer[Any]]) -> list[Run]:
    """Return runs of consecutive codes, given codes in any order.

    >>> runs_of(np.array([4, 0, 1, 0]))
    [(0, 2), (4, 5)]
    """
    codes = np.unique(codes)
    if not len(codes):
        return []
    # places where a run ends, since the next code does not follow
    gaps = np.flatnonzero(np.diff(codes) > 1)
    return list(zip(codes[[0, *(gaps + 1)]].tolist(), (codes[[*gaps, -1]] + 1).tolist(), strict=True))


@lru_cache(maxsize=4096)  # an interval asks several times what its ends are
def read_number(text: str, decimal: str = ".") -> Fraction | None:
    """Read a number exactly; None where the text is none, or has thousands of digits.

    >>> read_number("-0.125"), read_number("1e+22") == 10**22, read_number("02138")
    (Fraction(-1, 8), True, None)
    """
    plain = text.replace(decimal, ".")
    return Fraction(plain) if len(plain) <= _LONGEST and _NUMBER.fullmatch(plain) else None


def read_moment(text: str) -> Moment | None:
    """Read a day or a point in time in ISO 8601; None where the text is none.

    >>> read_moment("1970-01-02"), read_moment("1970-01-01 00:00:01.5+0100").at
    (Moment(at=86400000000000, is_day=True), -3598500000000)
    """
    if _DATE.fullmatch(text):
        try:
            return Moment((date.fromisoformat(text).toordinal() - _EPOCH) * _DAY, is_day=True)
        except ValueError:  # the 30th of February
            return None
    found = _MOMENT.fullmatch(text)
    day = read_moment(found[1]) if found is not None else None
    if found is None or day is None:
        return None
    hours, minutes, seconds = int(found[2]), int(found[3]), int(found[4])
    passed = ((hours * 60 + minutes) * 60 + seconds) * _SECOND + int((found[5] or "0").ljust(9, "0"))
    return Moment(day.at + passed - _offset(found[6]))


def read_time(text: str) -> int | str | None:
    """Read a day, a point in time or a time of day, however many zeros end it; None where the text is none.

    >>> read_time("1970-01-01") == read_time("1970-01-01 00:00:00.000"), read_time("12:30:00.500"), read_time("noon")
    (True, '12:30:00.5', None)
    """
    if _TIME_OF_DAY.fullmatch(text):
        return text.rstrip("0").rstrip(".") if "." in text else text
    moment = read_moment(text)
    return None if moment is None else moment.at


def to_texts(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return each value as text, however its type is stored: 12:30:00 and 12:30:00.000 are one time.

    >>> to_texts(pa.array([1500, 2000], pa.timestamp("ms", "UTC"))).to_pylist()
    ['1970-01-01 00:00:01.5Z', '1970-01-01 00:00:02Z']
    """
    texts = values.cast(pa.string())
    if pa.types.is_timestamp(values.type) or pa.types.is_time(values.type):
        shorter = pc.replace_substring_regex(texts, r"(\.[0-9]*[1-9])0+(Z|[+-]|$)", r"\1\2")
        return pc.replace_substring_regex(shorter, r"\.0+(Z|[+-]|$)", r"\1")
    return texts


def _split_exponent(text: str) -> tuple[int, int]:
    """Split a number into a whole number and the power of ten that it is multiplied by.

    >>> _split_exponent("-1.50"), _split_exponent("2e+3")
    ((-150, -2), (2, 3))
    """
    if text.removeprefix("-").isdecimal():
        return int(text), 0
    mantissa, _, exponent = text.replace("E", "e").partition("e")
    whole, _, part = mantissa.partition(".")
    return int(whole + part), int(exponent or 0) - len(part)


def _offset(zone: str | None) -> int:
    """Return the offset of a time zone in nanoseconds."""
    if zone is None or zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return (-minutes if zone[0] == "-" else minutes) * 60 * _SECOND


def _instant(text: str) -> int:
    """Return the point in time that a text stands for; of a day, its beginning."""
    moment = read_moment(text)
    assert moment is not None
    return moment.at


def _last_instant(text: str) -> int:
    """Return the last instant of a day, or the point in time itself."""
    moment = read_moment(text)
    assert moment is not None
    return moment.at + _DAY - 1 if moment.is_day else moment.at


Flags = NDArray[np.bool_]
TOP = "*"
"""The label that covers everything."""


class Generalisation(Protocol):
    """The levels of a hierarchy: the group of each code on each level, and what each group is called."""

    @property
    def levels(self) -> Sequence[NDArray[np.integer[Any]]]: ...

    @property
    def labels(self) -> Sequence[Sequence[str | None]]: ...


@dataclass(frozen=True)
class Coverage:
    """What the cells of one column may show, and which of its codes that covers; null is the last code, if any.

    >>> import pyarrow as pa
    >>> ages = Coverage(Scale(pa.array(["9", "30", "41"])), has_null=True)
    >>> [ages.of(label).tolist() for label in ("[9, 41)", "≥30")]
    [[True, True, False, False], [False, True, True, False]]
    >>> [ages.of(label).tolist() for label in ("30", "*", None)]
    [[False, True, False, False], [True, True, True, True], [False, False, False, True]]
    """

    scale: Scale
    has_null: bool = False
    hierarchy: Generalisation | None = None

    @property
    def size(self) -> int:
        """Number of codes, null included."""
        return len(self.scale.values) + self.has_null

    def of(self, label: str | None) -> Flags:
        """Flag the codes that a label covers; a label that cannot be read covers none."""
        flags = np.zeros(self.size, dtype=bool)
        for start, stop in self.runs(label):
            flags[start:stop] = True
        return flags

    def runs(self, label: str | None) -> list[Run]:
        """Return the codes that a label covers, as runs from least to greatest."""
        if label is None or label == TOP:
            first = 0 if label == TOP else len(self.scale.values)
            return [(first, self.size)] if first < self.size else []
        # a value may look like a label, and a label of days like the midnight that begins one of them
        if self.scale.is_value(label) or label not in self._groups:
            if len(codes := self.scale.codes_of_text(label)):
                return runs_of(codes)
        else:
            return runs_of(np.concatenate([np.flatnonzero(level == group) for level, group in self._groups[label]]))
        match parse_label(label):
            case Interval() as interval:
                return self.scale.runs(interval) or []
            case Members(values):
                return runs_of(np.concatenate([self.scale.codes_of_text(value) for value in values]))
        return []

    @cached_property
    def _groups(self) -> dict[str, list[tuple[NDArray[np.integer[Any]], int]]]:
        """Pairs of level and group that have each label; all cover the same values, but at the top null may join."""
        found: dict[str, list[tuple[NDArray[np.integer[Any]], int]]] = {}
        for level, labels in zip(self.hierarchy.levels, self.hierarchy.labels, strict=True) if self.hierarchy else ():
            for group, label in enumerate(labels):
                if label is not None:
                    found.setdefault(label, []).append((level, group))
        return found
