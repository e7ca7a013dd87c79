"""Numbers as people write them in a policy, compared and shown exactly (design 15)."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

from shoal.errors import BadHierarchy

Number = int | float


def require_number(value: Any, what: str) -> Number:
    """Return an int or a finite float, as TOML has them; refuse anything else.

    >>> require_number(5, "top"), require_number(0.1, "top")
    (5, 0.1)
    """
    if not isinstance(value, bool):
        if isinstance(value, Integral):
            return int(value)
        if isinstance(value, Real) and math.isfinite(value):
            return float(value)
    raise BadHierarchy(f"{what} = {value!r} is not a finite number; write one such as 20 or 0.5")


def require_numbers(values: Any, what: str) -> tuple[Number, ...]:
    """Return a list of at least one number as a tuple; refuse anything else.

    >>> require_numbers([5, 10], "intervals")
    (5, 10)
    """
    if not is_list(values) or not values:
        raise BadHierarchy(f"{what} = {values!r} is not a list of numbers; write one such as [5, 10]")
    return tuple(require_number(value, what) for value in values)


def is_list(value: Any) -> bool:
    """Return whether a value is a list or a tuple."""
    return isinstance(value, list | tuple)


def check_tails(bottom: Any, top: Any) -> tuple[Number | None, Number | None]:
    """Return the two tails, where given; refuse tails that leave nothing between them.

    >>> check_tails(None, 80)
    (None, 80)
    """
    low = None if bottom is None else require_number(bottom, "bottom")
    high = None if top is None else require_number(top, "top")
    if low is not None and high is not None and exact(low) >= exact(high):
        raise BadHierarchy(f"bottom = {low} is not below top = {high}; exchange or change them")
    return low, high


def exact(number: Number) -> Fraction:
    """Return the decimal that was written, not the nearest binary number.

    >>> exact(0.1)
    Fraction(1, 10)
    """
    return Fraction(str(number))


def show(number: Fraction) -> str:
    """Return the shortest exact decimal of a number that has one.

    >>> show(Fraction(5)), show(Fraction(-1, 8)), show(Fraction(5, 2))
    ('5', '-0.125', '2.5')
    """
    places = 0
    while 10**places % number.denominator:
        places += 1
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def interval_label(low: Fraction | None, high: Fraction | None) -> str:
    """Return the label of `low <= x < high`; an end that is None is open (design 9).

    >>> ends = [(Fraction(-5), Fraction(0)), (None, Fraction(20)), (Fraction(80), None)]
    >>> tuple(interval_label(low, high) for low, high in ends)
    ('[-5, 0)', '<20', '≥80')
    """
    if low is None:
        return "*" if high is None else f"<{show(high)}"
    return f"≥{show(low)}" if high is None else f"[{show(low)}, {show(high)})"


def label_intervals(
    numbers: Sequence[Fraction], cell: Callable[[Fraction], tuple[Fraction | None, Fraction | None]]
) -> list[str]:
    """Return the interval label of each of the sorted numbers, with one call of `cell` per interval.

    >>> label_intervals([Fraction(1), Fraction(9)], lambda x: (None, Fraction(5)) if x < 5 else (Fraction(5), None))
    ['<5', '≥5']
    """
    labels: list[str] = []
    while (start := len(labels)) < len(numbers):
        low, high = cell(numbers[start])
        stop = len(numbers) if high is None else bisect_left(numbers, high, lo=start)
        labels += [interval_label(low, high)] * (stop - start)
    return labels
