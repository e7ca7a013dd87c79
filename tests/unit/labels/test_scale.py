"""The values of a column as exact numbers, as moments and as texts, and where an interval lies among them."""

from decimal import Decimal
from fractions import Fraction
from math import inf

import numpy as np
import pyarrow as pa
import pytest

from shoal.data.codes import encode
from shoal.labels.grammar import Interval
from shoal.labels.scale import Coverage, Scale, read_moment, read_number, read_time, runs_of, to_texts

SECOND = 10**9
DAY = 86_400 * SECOND


def times(*texts):
    return Scale(pa.array(texts).cast(pa.timestamp("s")))


@pytest.mark.parametrize(
    ("values", "sort"),
    [
        (["1", "2.5"], "number"),
        (["-0", "1"], "text"),
        (["02138"], "text"),
        ([1, 2], "number"),
        ([Decimal("1.50")], "number"),
        ([1.5, 1e22], "number"),
        ([1.5, inf], "text"),
        ([True, False], "text"),
        (["2024-01-31", "2024-02-01"], "moment"),
        (["2024-01-31", "2024-02-30"], "text"),
        (["2024-01-31", "9999-12-31"], "text"),  # a placeholder
        (["2024-01-31 10:00:00"], "text"),  # texts are read as days only
        (["9" * 4_000], "number"),
        (["9" * 4_001], "text"),
        (pa.array([0], pa.timestamp("s")), "moment"),
        (pa.array([0], pa.date32()), "moment"),
        (pa.array([253_402_300_799], pa.timestamp("s")), "moment"),  # the last second of 9999
        (pa.array([253_402_300_800], pa.timestamp("s")), "text"),
        (pa.array([-62_135_596_800], pa.timestamp("s")), "moment"),  # the first second of the year 1
        (pa.array([-62_135_596_801, 0], pa.timestamp("s")), "text"),  # the last one of the year 0, which is no date
        (pa.array([], pa.timestamp("s")), "text"),
        (pa.array([], pa.string()), "text"),
    ],
)
def test_the_sort_of_a_scale_agrees_with_the_encoding(values, sort):
    """As the encoding of a column says, so says who reads its labels; of days it says that they are dates."""
    array = values if isinstance(values, pa.Array) else pa.array(values)
    assert Scale(array).sort == sort
    if len(array):
        assert encode("x", array).kind == {"moment": "date"}.get(sort, sort)


@pytest.mark.parametrize(
    ("values", "unit", "ranks"),
    [
        (["10", "9"], 1, [1, 0]),
        (["10", "9.25", "9.3", "9.30"], 100, [2, 0, 1, 1]),
        ([3.0, 1e22, 0.5], 10, [1, 2, 0]),
        ([1e22, 3.0], 1, [1, 0]),
        (["b", "a"], 1, [1, 0]),
        (["2024-02-01", "2024-01-31"], 1, [1, 0]),
        (pa.array([], pa.string()), 1, []),
    ],
)
def test_ranks_and_the_unit_of_numbers(values, unit, ranks):
    scale = Scale(values if isinstance(values, pa.Array) else pa.array(values))
    assert (scale.unit, scale.ranks.tolist()) == (unit, ranks)


def test_spellings_of_one_number_share_a_rank():
    scale = Scale(pa.array(["9.30", "10", "9.3"]))
    assert scale.first_codes.tolist() == [0, 1]
    assert (scale.rank("9.300"), scale.rank("10"), scale.rank("11")) == (0, 1, None)
    assert scale.number_of(0) == Fraction(93, 10)
    assert [scale.is_value(text) for text in ("9.3", "9.300", "10.0")] == [True] * 3
    assert [scale.is_value(text) for text in ("11", "x")] == [False] * 2


def test_texts_stand_for_what_they_spell_and_numbers_for_what_they_mean():
    assert Scale(pa.array(["30.0", "30", "41"])).codes_of_text("30.00").tolist() == [0, 1]
    assert Scale(pa.array([1e22, 0.5])).codes_of_text("1" + "0" * 22).tolist() == [0]
    assert Scale(pa.array(["30.0", "30", "x"])).codes_of_text("30").tolist() == [1]
    assert Scale(pa.array(["30", "41"])).codes_of_text("x").tolist() == []
    assert Scale(pa.array(["2024-01-31"])).codes_of_text("2024-01-31 00:00:00").tolist() == [0]
    assert Scale(pa.array(["2024-01-31"])).codes_of_text("x").tolist() == []
    assert Scale(pa.array(["2024-01-31", "x"])).codes_of_text("2024-01-31 00:00:00").tolist() == []


def test_how_times_may_be_written():
    midnight = times("2024-01-31 00:00:00")
    assert midnight.codes_of_text("2024-01-31").tolist() == [0]
    assert not midnight.is_value("2024-01-31")
    noon = Scale(pa.array([45_000_000], pa.time32("ms")))
    assert noon.texts == ["12:30:00"]
    assert noon.codes_of_text("12:30:00").tolist() == noon.codes_of_text("12:30:00.000").tolist() == [0]
    late = Scale(pa.array([253_402_300_800_000], pa.timestamp("ms")))
    assert [late.codes_of_text(f"10000-01-01{rest}").tolist() for rest in ("", " 00:00:00", " 00:00:00.000")] == [
        [0]
    ] * 3


@pytest.mark.parametrize(
    ("interval", "runs"),
    [
        (Interval("1", "4"), [(0, 2), (3, 4)]),
        (Interval("2", "3", closed=True), [(1, 2), (3, 4)]),
        (Interval(None, "2"), [(0, 1)]),
        (Interval("4", None), [(2, 3)]),
        (Interval("2.5", "2.7"), []),
        (Interval("9", "10"), []),
        (Interval("3", "2"), []),
        (Interval("a", "z"), None),
        (Interval("2024-01-31", None), None),
    ],
)
def test_runs_of_codes_that_do_not_follow_each_other(interval, runs):
    assert Scale(pa.array(["1", "2", "4", "3"])).runs(interval) == runs


def test_runs_of_codes_that_follow_each_other():
    scale = Scale(pa.array(["1", "2", "3", "4"]))
    assert scale.runs(Interval("2", "4")) == [(1, 3)]
    assert scale.runs(Interval("9", "10")) == []
    assert Scale(pa.array(["1", "x", "2", "y", "3"])).runs(Interval("1", "3")) == [(0, 1), (2, 3)]
    assert runs_of(np.array([7, 3, 4, 4, 9])) == [(3, 5), (7, 8), (9, 10)]
    assert runs_of(np.array([], int)) == []


def test_ends_are_compared_with_what_they_are():
    assert Scale(pa.array(["9", "41"])).runs(Interval("!", "z")) is None
    texts = Scale(pa.array(["2024-01-31", "7", "x"]))
    assert texts.covered(Interval("!", "z")).tolist() == [True, True, True]
    assert texts.covered(Interval("2024-01-31", "z")).tolist() == [False] * 3
    assert texts.covered(Interval("2024-01-31", "2024-02-01")).tolist() == [True, False, False]
    assert texts.covered(Interval("7", "z")).tolist() == [False] * 3
    assert texts.covered(Interval("7", "8")).tolist() == [False, True, False]


def test_the_end_of_a_day_is_its_last_nanosecond():
    scale = Scale(pa.array([DAY - 1, DAY, DAY // 2], pa.timestamp("ns")))
    noon = Interval("1970-01-01 12:00:00", "1970-01-01", closed=True)
    assert scale.covered(noon).tolist() == [True, False, True]
    assert scale.covered(Interval("1970-01-01", "1970-01-01", closed=True)).tolist() == [True, False, True]
    assert scale.covered(Interval("1970-01-01", "1970-01-02")).tolist() == [True, False, True]
    until = Interval("1970-01-01", "1970-01-01 12:00:00", closed=True)
    assert scale.covered(until).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1970-01-02", DAY),
        ("1970-01-01 01:02:03.000000004", 3_723 * SECOND + 4),
        ("1970-01-01T00:00:00.5", SECOND // 2),
        ("1970-01-01 00:00:00Z", 0),
        ("1970-01-01 00:00:00", 0),
        ("1970-01-01 05:30:00+05:30", 0),
        ("1970-01-01 11:00:00+1100", 0),
        ("1970-01-01 00:00:00-0130", 5_400 * SECOND),
    ],
)
def test_moments(text, at):
    assert read_moment(text).at == read_time(text) == at
    assert read_moment(text).is_day == (len(text) == 10)


@pytest.mark.parametrize("text", ["", "noon", "2024-02-30", "2024-02-30 10:00:00", "2024-01-31 10:00"])
def test_what_is_no_moment(text):
    assert read_moment(text) is read_time(text) is None


def test_times_of_day_end_without_zeros():
    assert [read_time(text) for text in ("12:30:00", "12:30:00.000", "12:30:10.250")] == [
        "12:30:00",
        "12:30:00",
        "12:30:10.25",
    ]
    of_day = pa.array([45_000_000, 45_000_250], pa.time32("ms"))
    assert to_texts(of_day).to_pylist() == ["12:30:00", "12:30:00.25"]
    assert to_texts(pa.array(["1.500"])).to_pylist() == ["1.500"]


def test_numbers_have_at_most_thousands_of_digits():
    assert read_number("9" * 4_000) == 10**4_000 - 1
    assert read_number("9" * 4_001) is None
    assert read_number("x") is None


def test_what_labels_cover_where_null_is_the_last_code():
    ages = Coverage(Scale(pa.array(["9", "30", "41"])), has_null=True)
    assert ages.size == 4
    assert [ages.runs(label) for label in ("*", None, "[9, 41)", "{9 | 41}", "{8}", "x", "[a, z)")] == [
        [(0, 4)],
        [(3, 4)],
        [(0, 2)],
        [(0, 1), (2, 3)],
        [],
        [],
        [],
    ]
    known = Coverage(Scale(pa.array(["9", "30", "41"])))
    assert [known.runs(label) for label in ("*", None)] == [[(0, 3)], []]
    assert Coverage(Scale(pa.array([], pa.string()))).runs("*") == []
