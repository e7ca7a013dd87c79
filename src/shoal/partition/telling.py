"""Whether a mean tells too much: of few rows, or of rows whose every value follows from it (S4.6)."""

from dataclasses import dataclass
from math import gcd, inf

FEWEST = 5
"""Of fewer rows, a statistic comes too near to a value."""


@dataclass(frozen=True)
class Ends:
    """What is published of the range of a class, in the units of the column; None is an open end."""

    low: int | None
    high: int | None
    met: bool
    """Whether some row has the low and some row the high value."""


def determined(rows: int, total: int, ends: Ends, step: int = 1) -> bool:
    """Whether the values of some rows follow from their sum and range, all being multiples of `step` apart.

    >>> determined(3, 10, Ends(1, 5, met=True)), determined(6, 20, Ends(1, 6, met=True))
    (True, False)
    >>> determined(6, 6, Ends(1, None, met=False))  # all are 1
    True
    """
    if ends.low is not None and ends.low == ends.high:
        return False  # the range has told it, and the mean adds nothing
    left = rows
    if ends.met and ends.low is not None and ends.high is not None:
        left, total = rows - 2, total - ends.low - ends.high
    if left <= 1:
        return True
    above = inf if ends.low is None else (total - left * ends.low) // step
    below = inf if ends.high is None else (left * ends.high - total) // step
    # with at most one step to give away, or at most one between the ends, there is one way to do it
    return bool(above <= 1 or below <= 1 or above + below <= left)


def step_of(units: list[int]) -> int:
    """The largest step that leads from each value of a column to every other.

    >>> step_of([10, 25, 40])
    15
    """
    return gcd(*(unit - units[0] for unit in units)) or 1
