"""What a label says, by its grammar alone (design 9): intervals, sets, and the numbers between which it lies."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan, nan

_VALUE = r'(?:"(?:[^"]|"")*"|[^,|{}\[\]()"<≥*]*)'
_BETWEEN = re.compile(rf"\[({_VALUE}), ({_VALUE})([)\]])")
_TAIL = re.compile(rf"([<≥])({_VALUE})")
_SET = re.compile(rf"\{{({_VALUE}(?: \| {_VALUE})*)\}}")
_MEMBER = re.compile(rf"(?:^| \| )({_VALUE})(?= \| |\Z)")


@dataclass(frozen=True, slots=True)
class Interval:
    """`low <= x < high`, or `<= high` where it is closed; an end that is None is open."""

    low: str | None
    high: str | None
    closed: bool = False
    quoted: bool = False
    """Whether its ends stand in quotes: then they are texts in the order of their code points, whatever they hold."""

    @property
    def ends(self) -> tuple[str, ...]:
        """The ends that there are."""
        return tuple(end for end in (self.low, self.high) if end is not None)


@dataclass(frozen=True, slots=True)
class Members:
    """One of these values."""

    values: tuple[str, ...]


def parse_label(label: str) -> Interval | Members | None:
    """Read an interval or a set; None for everything else, and for what is not written as the grammar asks.

    >>> parse_label("[20, 30)")
    Interval(low='20', high='30', closed=False, quoted=False)
    >>> parse_label('["108", "15"]')
    Interval(low='108', high='15', closed=True, quoted=True)
    >>> parse_label('{a | "b, c"}'), parse_label("20")
    (Members(values=('a', 'b, c')), None)
    """
    if found := _BETWEEN.fullmatch(label):
        return _interval(found[1], found[2], closed=found[3] == "]")
    if found := _TAIL.fullmatch(label):
        return _interval(None, found[2]) if found[1] == "<" else _interval(found[2], None)
    if found := _SET.fullmatch(label):
        values = [_unquote(text) for text in _MEMBER.findall(found[1])]
        known = tuple(value for value in values if value is not None)
        return Members(known) if len(known) == len(values) else None
    return None


def _interval(low: str | None, high: str | None, *, closed: bool = False) -> Interval | None:
    """Return the interval between written ends; None if only one of two is in quotes, or an end is no value."""
    written = [end for end in (low, high) if end is not None]
    quoted = {end[:1] == '"' for end in written}
    if len(quoted) > 1 or any(_unquote(end) is None for end in written):
        return None
    first, last = (None if end is None else _unquote(end) for end in (low, high))
    return Interval(first, last, closed, quoted.pop())


def _unquote(written: str) -> str | None:
    """Return a written value without its quotes; None if it has none, but begins or ends with spaces."""
    if written[:1] == '"':
        return written[1:-1].replace('""', '"')
    return written if written == written.strip() else None


_STAR = "*"
_MASKED = re.compile(r"(-?[0-9]+)(\*+)")


def ends_of(label: str, *, whole: bool, read: Callable[[str], float] = float) -> tuple[float, float] | None:
    """Return the least and greatest number behind a label: nan for an open end; None if it stands for no number.

    Among whole numbers, `[20, 30)` ends with 29; elsewhere it comes as near to 30 as one likes.

    >>> [ends_of(label, whole=True) for label in ("[20, 30)", "[20, 30]", "3*", "{40 | 46}", "17", "north")]
    [(20.0, 29.0), (20.0, 30.0), (30.0, 39.0), (40.0, 46.0), (17.0, 17.0), None]
    >>> ends_of("[20, 30)", whole=False), ends_of("<20", whole=True), ends_of("≥80", whole=True)
    ((20.0, 30.0), (nan, 19.0), (80.0, nan))
    """
    if label == _STAR:
        return nan, nan
    meaning = parse_label(label)
    try:
        if isinstance(meaning, Interval):
            return None if meaning.quoted else _ends(meaning, read, whole=whole)
        numbers = [read(value) for value in _numbers_of(label, meaning)]
    except ValueError:
        return None
    return min(numbers), max(numbers)


def _ends(interval: Interval, read: Callable[[str], float], *, whole: bool) -> tuple[float, float]:
    """Return the ends of an interval; an excluded upper end is 1 less among whole numbers."""
    low = nan if interval.low is None else read(interval.low)
    high = nan if interval.high is None else read(interval.high) - (whole and not interval.closed)
    return low, high


def _numbers_of(label: str, meaning: Members | None) -> Sequence[str]:
    """Return the values of a set, the first and the last of a masked number, or the value itself."""
    if meaning is not None:
        return meaning.values
    masked = _MASKED.fullmatch(label)
    return [label] if masked is None else [f"{masked[1]}{digit * len(masked[2])}" for digit in "09"]


def middle(ends: tuple[float, float], least: float = nan, greatest: float = nan) -> float:
    """Return the middle between two ends.

    An open end lies at `least` or `greatest` where that is known, else at the other end.

    >>> middle((20.0, 29.0)), middle((80.0, nan), 17.0, 90.0), middle((80.0, nan)), middle((nan, nan))
    (24.5, 85.0, 80.0, nan)
    """
    low, high = (least if isnan(ends[0]) else ends[0]), (greatest if isnan(ends[1]) else ends[1])
    if isnan(low) or isnan(high):
        return high if isnan(low) else low
    return (low + high) / 2
