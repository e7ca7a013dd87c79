"""Worked examples and refusals of intervals; S2.2."""

import re
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.codes import encode
from shoal.errors import BadHierarchy
from shoal.hierarchy.build import build
from shoal.hierarchy.intervals import Edges, Intervals

DECIMALS = st.decimals(-1000, 1000, places=2).map(lambda d: format(d.normalize(), "f")).filter("-0".__ne__)
NUMBER_COLUMNS = st.lists(st.none() | DECIMALS, min_size=1, max_size=30)


def column(values):
    return encode("age", pa.array(values))


def contains(label: str, number: Fraction) -> bool:
    """Read a label back as the set of numbers it names."""
    if label.startswith("<"):
        return number < Fraction(label[1:])
    if label.startswith("≥"):
        return number >= Fraction(label[1:])
    low, high = re.fullmatch(r"\[(-?[0-9.]+), (-?[0-9.]+)\)", label).groups()
    return Fraction(low) <= number < Fraction(high)


def test_levels_nest_and_end_in_the_top():  # S2.2
    hierarchy = build(column([17, 23, 27, 44]), Intervals([5, 10, 20]))
    assert hierarchy.labels == (
        ("17", "23", "27", "44"),
        ("[15, 20)", "[20, 25)", "[25, 30)", "[40, 45)"),
        ("[10, 20)", "[20, 30)", "[40, 50)"),
        ("[0, 20)", "[20, 40)", "[40, 60)"),
        ("*",),
    )


def test_negative_numbers_and_decimals():
    assert Intervals([5]).taxonomy(column(["-5", "-0.1", "0", "4.99"])).levels[0] == [
        "[-5, 0)",
        "[-5, 0)",
        "[0, 5)",
        "[0, 5)",
    ]
    assert Intervals([0.1]).taxonomy(column(["0.3", "0.35"])).levels[0] == ["[0.3, 0.4)"] * 2


def test_decimal_commas_are_read_and_labels_stay_unambiguous():
    prices = encode("price", pa.array(["1,5", "2,5"]), decimal=",")
    assert Intervals([0.5]).taxonomy(prices).levels[0] == ["[1.5, 2)", "[2.5, 3)"]


def test_tails_cut_the_intervals_they_meet():
    taxonomy = Intervals([5, 20], bottom=13, top=90).taxonomy(column([4, 13, 17, 81, 89, 90]))
    assert taxonomy.levels[0] == ["<13", "[13, 15)", "[15, 20)", "[80, 85)", "[85, 90)", "≥90"]
    assert taxonomy.levels[1] == ["<13", "[13, 20)", "[13, 20)", "[80, 90)", "[80, 90)", "≥90"]


def test_nulls_join_at_the_top_only():  # design 7, bad input 5
    assert build(column([3, None]), Intervals([5])).labels == (("3", None), ("[0, 5)", None), ("*",))
    assert build(encode("age", pa.array([None], pa.string())), Intervals([5])).labels[-1] == ("*",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"widths": [10, 25]}, r"25 is not a multiple of 10"),
        ({"widths": [5, 5]}, r"5 is not a multiple of 5"),
        ({"widths": [10, 5]}, r"5 is not a multiple of 10"),
        ({"widths": [0]}, r"above 0"),
        ({"widths": [-5]}, r"above 0"),
        ({"widths": []}, r"not a list of numbers"),
        ({"widths": "5"}, r"not a list of numbers"),
        ({"widths": ["5"]}, r"not a finite number"),
        ({"widths": [True]}, r"not a finite number"),
        ({"widths": [float("nan")]}, r"not a finite number"),
        ({"widths": [float("inf")]}, r"not a finite number"),
        ({"widths": [5], "bottom": 80, "top": 20}, r"bottom = 80 is not below top = 20"),
        ({"widths": [5], "top": "80"}, r"top = '80' is not a finite number"),
    ],
)
def test_bad_widths_and_tails_are_refused(arguments, message):
    with pytest.raises(BadHierarchy, match=message):
        Intervals(**arguments)


@pytest.mark.parametrize("builder", [Intervals([5]), Edges([18])])
def test_text_is_refused_with_its_row_and_without_its_value(builder):  # bad inputs 21, 22
    with pytest.raises(BadHierarchy, match=r"column 'age': .* row 3 holds none") as refusal:
        builder.taxonomy(column(["30", None, "CANARY", "7", "ZEBRA"]))
    assert "CANARY" not in str(refusal.value)


def test_one_number_written_in_two_ways_lies_in_one_interval():  # bad input 7
    taxonomy = Intervals([5]).taxonomy(column(["5.0", "5", "12"]))
    assert taxonomy.leaves == ["5", "5.0", "12"]
    assert taxonomy.levels[0] == ["[5, 10)", "[5, 10)", "[10, 15)"]


def test_edges_may_have_levels():
    taxonomy = Edges([[0, 18, 40, 65], [0, 65]]).taxonomy(column([-1, 0, 20, 50, 65]))
    assert taxonomy.levels == [
        ["<0", "[0, 18)", "[18, 40)", "[40, 65)", "≥65"],
        ["<0", "[0, 65)", "[0, 65)", "[0, 65)", "≥65"],
        ["*"] * 5,
    ]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([18, 0], r"edges must rise"),
        ([0, 0], r"edges must rise"),
        ([[0, 18], [0, 20]], r"keep some, not all"),
        ([[0, 18], [0, 18]], r"keep some, not all"),
        ([], r"not a list of numbers"),
        ([[0], 1], r"not a finite number"),
        (5, r"not a list of numbers"),
    ],
)
def test_bad_edges_are_refused(edges, message):
    with pytest.raises(BadHierarchy, match=message):
        Edges(edges)


@given(NUMBER_COLUMNS, st.sampled_from([[1], [0.5, 5], [3, 6, 60]]), st.sampled_from([(None, None), (-7, 13)]))
def test_every_label_contains_its_value(values, widths, tails):
    ages = column(values)
    if ages.kind != "number":
        return
    for builder in (Intervals(widths, *tails), Edges([[-20, -1, 0.5, 7], [-1, 7]])):
        for level in builder.taxonomy(ages).levels[:-1]:
            assert all(contains(label, x) for label, x in zip(level, ages.numbers, strict=False))
