"""Means over random splits, with intervals for splits that overlap (Nadeau and Bengio, Machine Learning 52, 2003)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, variance

_T = {
    1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228, 11: 2.201,
    12: 2.179, 13: 2.160, 14: 2.145, 15: 2.131, 16: 2.120, 17: 2.110, 18: 2.101, 19: 2.093, 20: 2.086, 25: 2.060,
    30: 2.042, 40: 2.021, 60: 2.000, 120: 1.980,
}  # fmt: skip
"""Student's t for 95 %, two-sided, by degrees of freedom; between two, the one for fewer."""


@dataclass(frozen=True)
class Mean:
    """A mean and half the width of its 95 % interval.

    >>> found = over([0.8, 0.9, 0.85], tested=0.3)
    >>> round(found.mean, 3), round(found.error, 3)
    (0.85, 0.188)
    """

    mean: float
    error: float

    @property
    def low(self) -> float:
        return self.mean - self.error

    @property
    def high(self) -> float:
        return self.mean + self.error


def over(values: Sequence[float], *, tested: float) -> Mean:
    """The mean over splits that each tested this share of the rows; they share rows, so they vary less than samples."""
    splits = len(values)
    if splits < 2:
        return Mean(mean(values), float("nan"))
    spread = variance(values) * (1 / splits + tested / (1 - tested))
    t = _T[max(freedom for freedom in _T if freedom <= splits - 1)]
    return Mean(mean(values), t * sqrt(spread))
