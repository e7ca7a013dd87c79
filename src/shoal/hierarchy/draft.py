"""A first hierarchy for a column that has none, which tells nothing about single rows (design 13)."""

import re
from fractions import Fraction

import numpy as np
import pyarrow.compute as pc

from shoal.data.codes import Column, Kind
from shoal.hierarchy.build import Builder
from shoal.hierarchy.dates import Dates
from shoal.hierarchy.exact_numbers import Number, exact
from shoal.hierarchy.intervals import Intervals
from shoal.hierarchy.mask import Mask
from shoal.hierarchy.top_bottom import TopBottom, ValueOnly

_FEWEST_IN_TAIL = 10
_FEW_VALUES = 5
_MOST_FINE = 30
_MOST_COARSE = 5
_MANY_CODES = 20
_CODE = r"\A[A-Za-z0-9-]{3,12}\z"
_POSTCODE_NAME = re.compile(
    r"zip|plz|postal|post.?code|postleitzahl|pin.?code|pocztow|posta.?kod|(?<![a-z])(?:cap|cep|cp)(?![a-z])",
    re.IGNORECASE,
)
_POSTCODE = r"\A[A-Za-z0-9 -]{3,12}\z"
_LEADING_ZERO = r"\A[1-9][0-9]{2,5}\z"
"""A postcode whose leading zero may have been lost: a whole number of three to six digits."""
_REASONS: dict[type[Builder], str] = {
    Intervals: "numbers: nested intervals in round steps, with open tails so that extremes do not show",
    TopBottom: "few numbers: large ones, which few rows have, are joined",
    Dates: "dates: calendar units",
    Mask: "codes of one length: hidden from the right, a character per level",
}
_VALUE_ONLY = {
    True: "numbers, but few of them or too close together for intervals: the value or *",
    False: "texts of no common form: the value or *; a tree or a CSV file would lose less",
}


def draft(column: Column, k: int = 5) -> Builder:
    """Draft intervals with open tails for numbers, calendar units for dates, a mask for codes, else value or `*`.

    Widths and edges are 1-2-5 steps, and each tail holds at least max(k, 10) rows.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> draft(encode("age", pa.array([age for age in range(17, 91) for _ in range(5)])))
    Intervals(widths=(5, 10, 20), bottom=20, top=85)
    """
    if column.kind is Kind.DATE:
        with_time = (pc.max(pc.utf8_length(column.texts)).as_py() or 0) > len("2024-03-31")
        return Dates((*["day"] * with_time, "month", "quarter", "year", "decade"))
    if _looks_like_codes(column):
        return Mask("right")
    if _lost_a_zero(column):
        return Intervals(tuple(10**power for power in range(1, _longest(column))))
    if column.kind is not Kind.NUMBER:
        return ValueOnly()
    fewest = max(k, _FEWEST_IN_TAIL)
    return (_intervals(column, fewest) if len(column.values) > _FEW_VALUES else _tail(column, fewest)) or ValueOnly()


def reason(column: Column, builder: Builder) -> str:
    """Say why a draft is what it is, in one line without any value of the data.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> reason(encode("sex", pa.array(["f"])), ValueOnly())
    'texts of no common form: the value or *; a tree or a CSV file would lose less'
    """
    if isinstance(builder, Intervals) and builder.bottom is builder.top is None and _lost_a_zero(column):
        return "postcodes, some without their leading zero: intervals of ten, a hundred … hide a digit per level"
    if isinstance(builder, ValueOnly):
        return _VALUE_ONLY[column.kind is Kind.NUMBER]
    return next(why for kind, why in _REASONS.items() if isinstance(builder, kind))


def _looks_like_codes(column: Column) -> bool:
    """Return whether texts look like codes: many, of one length, mostly digits.

    A column that is named as a postcode may have few values, or numbers.
    """
    named = bool(_POSTCODE_NAME.search(column.name))
    if len(column.texts) < (2 if named else _MANY_CODES) or (column.kind is Kind.NUMBER and not named):
        return False
    lengths, code = pc.utf8_length(column.texts), _POSTCODE if named else _CODE
    alike = pc.all(pc.match_substring_regex(column.texts, code)).as_py() and pc.count_distinct(lengths).as_py() == 1
    digits = pc.sum(pc.count_substring_regex(column.texts, "[0-9]")).as_py()
    return bool(alike and 2 * digits >= pc.sum(lengths).as_py())


def _lost_a_zero(column: Column) -> bool:
    """Return whether postcodes were read as numbers, so that those with a leading zero are a digit shorter."""
    if column.kind is not Kind.NUMBER or not _POSTCODE_NAME.search(column.name):
        return False
    whole = pc.all(pc.match_substring_regex(column.texts, _LEADING_ZERO)).as_py()
    return bool(whole) and _longest(column) == 1 + pc.min(pc.utf8_length(column.texts)).as_py()


def _longest(column: Column) -> int:
    """Return the length of the longest text."""
    longest: int = pc.max(pc.utf8_length(column.texts)).as_py()
    return longest


def _tail(column: Column, fewest: int) -> TopBottom | None:
    """Draft an open tail for few numbers of which the greatest has fewer than `fewest` rows.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> _tail(encode("children", pa.array([0] * 20 + [1] * 20 + [2] * 8 + [3] * 3)), 10)
    TopBottom(bottom=None, top=2)
    """
    # [value] rows from it on
    above = np.cumsum(column.counts[: len(column.values)][::-1])[::-1]
    whole = all(number.denominator == 1 for number in column.numbers)
    if len(above) < 3 or above[-1] >= fewest or not whole:
        return None
    top = int(np.flatnonzero(above >= fewest)[-1]) if above[0] >= fewest else 0
    return TopBottom(top=_plain(column.numbers[top])) if top else None


def _intervals(column: Column, fewest: int) -> Intervals | None:
    """Draft intervals; their widths follow the range that starts `fewest` rows from either end."""
    # [value] rows up to and including it
    below = np.cumsum(column.counts[: len(column.values)])
    if below[-1] < 2 * fewest:
        return None
    low = column.numbers[int(np.searchsorted(below, fewest))]
    high = column.numbers[int(np.searchsorted(below, below[-1] - fewest, side="right"))]
    if low >= high:
        return None
    whole = all(number.denominator == 1 for number in column.numbers)
    fine = _step(max((high - low) / _MOST_FINE, Fraction(2 * whole)))
    bottom, top = (low // fine + 1) * fine, high // fine * fine
    if bottom >= top:
        return None
    exactly = [*_nested(fine, (high - low) / _MOST_COARSE), bottom, top]
    *widths, low_edge, high_edge = [_plain(number) for number in exactly]
    if [exact(number) for number in (*widths, low_edge, high_edge)] != exactly:  # too fine for TOML's numbers
        return None
    return Intervals(tuple(widths), low_edge, high_edge)


def _step(least: Fraction) -> Fraction:
    """Return the smallest of …, 1, 2, 5, 10, 20, … that is at least `least`.

    >>> [str(_step(Fraction(x))) for x in ("2", "2.1", "0.03", "70")]
    ['2', '5', '1/20', '100']
    """
    power: Fraction = Fraction(10) ** (len(str(least.numerator)) - len(str(least.denominator)) - 1)
    while power * 5 < least:
        power *= 10
    return power * next(m for m in (1, 2, 5) if m * power >= least)


def _nested(fine: Fraction, coarse: Fraction) -> list[Fraction]:
    """Return 1-2-5 steps from `fine` to about `coarse`, each a multiple of the one before.

    >>> [str(width) for width in _nested(Fraction(5), Fraction(15))]
    ['5', '10', '20']
    """
    last = _step(max(coarse, fine))
    while last % fine:
        last = _next_step(last)
    widths, step = [fine], _next_step(fine)
    while step < last:
        if step % widths[-1] == 0 and last % step == 0:
            widths.append(step)
        step = _next_step(step)
    return [*widths, last] if last > fine else widths


def _next_step(step: Fraction) -> Fraction:
    """Return the 1-2-5 step after this one."""
    return _step(step * Fraction(11, 10))


def _plain(number: Fraction) -> Number:
    """Return a number as TOML has it: an integer if it is whole, else a float."""
    return number.numerator if number.denominator == 1 else float(number)
