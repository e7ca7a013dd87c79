"""What a label says, by the grammar of labels alone (design 9)."""

import re
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Members:
    """One of these values."""

    values: tuple[str, ...]


def parsed(label: str) -> Interval | Members | None:
    """An interval or a set; None for everything else, and for what is not written as the grammar asks.

    >>> parsed("[20, 30)"), parsed("≥80")
    (Interval(low='20', high='30', closed=False), Interval(low='80', high=None, closed=False))
    >>> parsed('{a | "b, c"}'), parsed("20")
    (Members(values=('a', 'b, c')), None)
    """
    if found := _BETWEEN.fullmatch(label):
        low, high = _values([found[1], found[2]])
        return None if low is None or high is None else Interval(low, high, found[3] == "]")
    if found := _TAIL.fullmatch(label):
        (end,) = _values([found[2]])
        if end is None:
            return None
        return Interval(None, end) if found[1] == "<" else Interval(end, None)
    if found := _SET.fullmatch(label):
        values = _values(_MEMBER.findall(found[1]))
        known = tuple(value for value in values if value is not None)
        return Members(known) if len(known) == len(values) else None
    return None


def _values(written: list[str]) -> list[str | None]:
    return [_value(text) for text in written]


def _value(written: str) -> str | None:
    """What was written, without its quotes; None if outer spaces stand without any."""
    if written[:1] == '"':
        return written[1:-1].replace('""', '"')
    return written if written == written.strip() else None
