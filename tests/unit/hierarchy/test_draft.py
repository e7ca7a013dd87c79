"""Drafts that leak nothing (design 13)."""

from collections import Counter
from datetime import datetime
from fractions import Fraction
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.data.codes import encode
from shoal.hierarchy.build import build, parse
from shoal.hierarchy.dates import Dates
from shoal.hierarchy.draft import _nested, _step, draft, reason
from shoal.hierarchy.exact_numbers import exact
from shoal.hierarchy.intervals import Intervals
from shoal.hierarchy.mask import Mask
from shoal.hierarchy.top_bottom import ValueOnly

WHOLE = st.lists(st.integers(-(10**6), 10**6) | st.integers(0, 40), min_size=20, max_size=300)
BROKEN = st.lists(st.floats(-1e6, 1e6) | st.floats(0, 1e-3), min_size=20, max_size=300)


def column(values, name="x"):
    return encode(name, pa.array(values))


def test_ages():
    ages = [age for age in range(17, 91) for _ in range(3)]
    assert draft(column(ages)) == Intervals([5, 10, 20], bottom=25, top=85)
    assert draft(column(ages), k=50) == Intervals([2, 10], bottom=34, top=74)


def test_small_decimals():
    assert draft(column([x / 1000 for x in range(1000)])) == Intervals([0.05, 0.1, 0.2], bottom=0.05, top=0.95)


@settings(deadline=None)
@given(WHOLE | BROKEN, st.integers(1, 40))
def test_each_tail_of_a_draft_holds_enough_rows_and_edges_are_round(values, k):  # design 13
    numbers = column(values)
    builder = draft(numbers, k)
    if not isinstance(builder, Intervals):
        assert builder == ValueOnly()
        return
    rows = Counter()
    for number, count in zip(numbers.numbers, numbers.counts, strict=False):
        rows["low"] += int(count) * (number < exact(builder.bottom))
        rows["high"] += int(count) * (number >= exact(builder.top))
    assert min(rows["low"], rows["high"]) >= max(k, 10)
    fine = exact(builder.widths[0])
    assert all(exact(width) == _step(exact(width)) for width in builder.widths)
    assert exact(builder.bottom) % fine == exact(builder.top) % fine == 0


@given(st.fractions(Fraction(1, 10**6), 10**6), st.integers(2, 15))
def test_widths_nest_in_steps_of_1_2_5(least, ratio):
    widths = _nested(_step(least), least * ratio)
    assert all(coarse % fine == 0 < coarse - fine for fine, coarse in pairwise(widths))
    assert all(_step(width) == width for width in widths)
    assert widths[-1] >= least * ratio


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 3, 4, 5] * 100, ValueOnly()),  # few values
        (list(range(19)), ValueOnly()),  # too few rows for two tails
        ([7] * 100 + [1, 2, 3, 4, 5, 6], ValueOnly()),  # one value holds nearly all
        ([0, 1, 2, 3] * 50 + [50, 60, 70], ValueOnly()),  # whole numbers side by side
        (["1987-03-31", "1990-01-01"], Dates(["month", "quarter", "year", "decade"])),
        ([datetime(1987, 3, 31, 9)], Dates(["day", "month", "quarter", "year", "decade"])),  # noqa: DTZ001
        ([f"0{i:04}" for i in range(50)], Mask("right")),
        ([f"AB-{i:04}" for i in range(50)], Mask("right")),
        ([f"0{i:04}" for i in range(9)], ValueOnly()),  # few codes
        ([f"name{i:02}x" for i in range(50)], ValueOnly()),  # mostly letters
        (["f", "m"], ValueOnly()),
        ([None, None], ValueOnly()),
        ([], ValueOnly()),
        ([f"1.{i:0400}1" for i in range(50)], None),
    ],
)
def test_drafts(values, expected):
    array = pa.array(values, pa.string()) if not values or values[0] is None else pa.array(values)
    builder = draft(encode("x", array))
    assert expected in (None, builder)
    build(encode("x", array), builder)


def test_postcodes_that_look_like_numbers():
    zips = list(range(53700, 53760))
    assert draft(column(zips, "ZIP code")) == Mask("right")
    assert isinstance(draft(column(zips, "income")), Intervals)


def test_drafts_can_be_saved_and_their_reasons_show_no_value():
    for values in (
        list(range(1000, 2000)),
        ["CANARY"],
        ["1987-03-31"],
        [f"0{i:04}" for i in range(50)],
        [5] * 30,
    ):
        drafted = column(values)
        builder = draft(drafted)
        assert parse(builder.spec()) == builder
        line = reason(drafted, builder)
        assert "\n" not in line
        assert not any(str(value) in line for value in values)


@pytest.mark.parametrize("how", [{}, {"format": "%d.%m.%Y"}])
def test_dates_are_not_said_to_be_of_one_format(how):
    assert reason(column(["31.03.1987"]), Dates(("month", "year"), **how)) == "dates: calendar units"


@pytest.mark.parametrize("name", ["PLZ", "zip", "Postcode", "CAP", "code postal", "CEP", "Kod pocztowy", "Posta kodu"])
@pytest.mark.parametrize("values", [[10115, 10117, 80331], ["10115", "10117", "80331"]])
def test_few_postcodes_are_masked(name, values):
    assert draft(column(values * 10, name)) == Mask("right")


def test_postcodes_of_letters_are_masked():
    assert draft(column(["1012 AB", "1013 CD"] * 10, "postcode")) == Mask("right")


def test_postcodes_that_lost_their_leading_zero_hide_a_digit_per_level():
    """01067 and 01069 of Dresden were read as numbers: a mask would take 1067 for 1067*."""
    plz = column([1067, 1069, 10115, 80331] * 10, "PLZ")
    builder = draft(plz)
    assert builder == Intervals([10, 100, 1000, 10000])
    assert "without their leading zero" in reason(plz, builder)
    first, *_ = build(plz, builder).labels[1:]
    assert first[:2] == ("[1060, 1070)", "[10110, 10120)")


@pytest.mark.parametrize(("name", "values"), [("cp", [0, 1, 2, 3]), ("capital gain", [10115, 10117, 80331])])
def test_what_is_no_postcode_is_not_masked(name, values):
    assert draft(column(values * 10, name)) == ValueOnly()
