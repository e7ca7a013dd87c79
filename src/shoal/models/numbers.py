"""The numbers that labels are, exactly."""

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import lcm

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


def scaled(labels: Sequence[str | None]) -> tuple[tuple[int, ...], int] | None:
    """The labels as whole multiples of 1/scale, and the scale; None where one of them is no plain number. Null is 0.

    >>> scaled(["1", "2.5", None])
    ((2, 5, 0), 2)
    >>> scaled(["1", "02138"])
    """
    return _scaled(tuple(labels))


@lru_cache(maxsize=16)  # a search asks again at every node
def _scaled(labels: tuple[str | None, ...]) -> tuple[tuple[int, ...], int] | None:
    if not all(label is None or _NUMBER.fullmatch(label) for label in labels):
        return None
    numbers = [Fraction(label or 0) for label in labels]
    scale = lcm(*(number.denominator for number in numbers))
    return tuple(number.numerator * (scale // number.denominator) for number in numbers), scale
