"""Directions that a paper states, held against what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Places = Sequence[Any]
"""Where each figure was measured: at which k, of how many rows."""


@dataclass(frozen=True)
class Direction:
    """What a paper reports, what is measured here, and whether the two agree."""

    paper: str
    measured: str
    holds: bool | None
    """None: cannot be told, since nothing changes or chance may have done it."""
    why: str = ""

    @property
    def verdict(self) -> str:
        return "cannot be told" if self.holds is None else "holds" if self.holds else "does not hold"

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {"paper": self.paper, "measured": self.measured, "holds": self.holds, "why": self.why}


def rises(paper: str, places: Places, values: Sequence[float], why_not: str = "", *, slack: float = 0.0) -> Direction:
    """Whether figures rise from place to place: never a step down, and the last above the first.

    Steps of less than `slack`, a share of the figure, are chance.

    >>> rises("SE rises with the rows", [10, 20, 30], [1.0, 4.0, 4.0]).holds
    True
    >>> found = rises("time rises with k", [2, 5, 9], [3.0, 1.0, 4.0], "noise")
    >>> found.measured, found.verdict, found.why
    ('3 at 2, 4 at 9; falls after 2', 'does not hold', 'noise')
    >>> rises("time rises with k", [2, 5], [1.0, 1.05], slack=0.1).verdict
    'cannot be told'
    """
    return _along(paper, places, values, why_not, 1, slack)


def falls(paper: str, places: Places, values: Sequence[float], why_not: str = "", *, slack: float = 0.0) -> Direction:
    """The same for figures that fall.

    >>> falls("SE falls with k", [2, 3], [1.0, 0.5]).holds
    True
    """
    return _along(paper, places, values, why_not, -1, slack)


def _along(paper: str, places: Places, values: Sequence[float], why_not: str, sign: int, slack: float) -> Direction:
    steps = [sign * (b - a) for a, b in pairwise(values)]
    room = [slack * abs(a) for a in values]
    against = [place for place, step, chance in zip(places, steps, room, strict=False) if step < -chance]
    measured = f"{_short(values[0])} at {_short(places[0])}, {_short(values[-1])} at {_short(places[-1])}"
    if against:
        measured += f"; {'falls' if sign > 0 else 'rises'} after {', '.join(map(_short, against))}"
    moved = sign * (values[-1] - values[0]) > room[0]
    holds = None if not moved and not against else moved and not against
    return Direction(paper, measured, holds, "" if holds else why_not)


def longer(paper: str, places: Places, times: Sequence[float], why_not: str = "") -> Direction:
    """Whether the last time is longer than the first; on a busy machine a difference of less than a third is chance.

    >>> longer("time rises with k", [2, 5, 9], [10.0, 16.0, 12.0]).verdict
    'cannot be told'
    """
    ends = [0, -1]
    return rises(paper, [places[i] for i in ends], [times[i] for i in ends], why_not, slack=1 / 3)


def below(
    paper: str,
    places: Places,
    one: Sequence[float],
    other: Sequence[float],
    why_not: str = "",
    *,
    slack: float = 0.0,
) -> Direction:
    """Whether one figure is never above another, and somewhere below it.

    >>> below("a beats b", [2, 5], [1.0, 2.0], [3.0, 2.0]).measured
    '1 against 3 at 2, 2 against 2 at 5'
    >>> below("a beats b", [2, 5], [1.0, 3.0], [3.0, 2.0], "b is better there").verdict
    'does not hold'
    """
    room = [slack * abs(b) for b in other]
    against = [place for place, a, b, chance in zip(places, one, other, room, strict=True) if a > b + chance]
    measured = ", ".join(
        f"{_short(one[i])} against {_short(other[i])} at {_short(places[i])}" for i in sorted({0, len(places) - 1})
    )
    if against:
        measured += f"; above it at {', '.join(map(_short, against))}"
    less = any(a < b - chance for a, b, chance in zip(one, other, room, strict=True))
    holds = None if not less and not against else less and not against
    return Direction(paper, measured, holds, "" if holds else why_not)


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1_000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
