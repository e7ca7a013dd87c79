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
    """An interval or a set; None for everything else, and for what is not written as the grammar asks.

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
        values = [_value(text) for text in _MEMBER.findall(found[1])]
        known = tuple(value for value in values if value is not None)
        return Members(known) if len(known) == len(values) else None
    return None


def _interval(low: str | None, high: str | None, *, closed: bool = False) -> Interval | None:
    """Both ends stand in quotes, or none does."""
    written = [end for end in (low, high) if end is not None]
    quoted = {end[:1] == '"' for end in written}
    if len(quoted) > 1 or any(_value(end) is None for end in written):
        return None
    first, last = (None if end is None else _value(end) for end in (low, high))
    return Interval(first, last, closed, quoted.pop())


def _value(written: str) -> str | None:
    """What was written, without its quotes; None if outer spaces stand without any."""
    if written[:1] == '"':
        return written[1:-1].replace('""', '"')
    return written if written == written.strip() else None
