"""The least and the greatest number that a label covers, and the middle between them: one rule for every reader."""

import re
from collections.abc import Callable, Sequence
from math import isnan, nan

from shoal.labels.grammar import Interval, Members, parse_label

_STAR = "*"
_MASKED = re.compile(r"(-?[0-9]+)(\*+)")


def ends_of(label: str, *, whole: bool, read: Callable[[str], float] = float) -> tuple[float, float] | None:
    """The least and the greatest number behind a label; an open end is nan, and None is what says no number.

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
        numbers = [read(value) for value in _values(label, meaning)]
    except ValueError:
        return None
    return min(numbers), max(numbers)


def _ends(interval: Interval, read: Callable[[str], float], *, whole: bool) -> tuple[float, float]:
    low = nan if interval.low is None else read(interval.low)
    high = nan if interval.high is None else read(interval.high) - (whole and not interval.closed)
    return low, high


def _values(label: str, meaning: Members | None) -> Sequence[str]:
    """The values of a set, the first and the last of a masked number, or the value itself."""
    if meaning is not None:
        return meaning.values
    masked = _MASKED.fullmatch(label)
    return [label] if masked is None else [f"{masked[1]}{digit * len(masked[2])}" for digit in "09"]


def middle(ends: tuple[float, float], least: float = nan, greatest: float = nan) -> float:
    """The middle between two ends; an open one lies at `least` or `greatest`, where these are known, else at the other.

    >>> middle((20.0, 29.0)), middle((80.0, nan), 17.0, 90.0), middle((80.0, nan)), middle((nan, nan))
    (24.5, 85.0, 80.0, nan)
    """
    low, high = (least if isnan(ends[0]) else ends[0]), (greatest if isnan(ends[1]) else ends[1])
    if isnan(low) or isnan(high):
        return high if isnan(low) else low
    return (low + high) / 2
