"""Labels are read by the grammar of design 9, as a naive reading of each form says."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.codes import Kind, encode
from shoal.hierarchy.taxonomy import Taxonomy, compile_taxonomy
from shoal.hierarchy.value_columns import Labels
from shoal.labels.grammar import Interval, Members, parse_label
from shoal.labels.scale import Scale

SPECIAL = ',|{}[]()"<≥*'
TEXT = st.text(st.sampled_from([*SPECIAL, " ", "a", "b", "ä", "1", "\n", "-"]), max_size=5)
NUMBER = st.integers(-50, 50).map(lambda n: n / 4)


def written(value):
    """A value as it stands in an interval or a set."""
    bare = value and value == value.strip() and not any(c in value for c in SPECIAL)
    return value if bare else in_quotes(value)


def in_quotes(value):
    return '"' + value.replace('"', '""') + '"'


def covered(column, label, hierarchy=None):
    """The texts that a label covers, None for null."""
    flags = Labels(column, hierarchy).covered(label).tolist()
    texts = [*column.texts.to_pylist(), *([None] if column.has_null else [])]
    return {text for text, flag in zip(texts, flags, strict=True) if flag}


@given(st.lists(st.none() | NUMBER, min_size=1), NUMBER, NUMBER)
def test_intervals_of_numbers(numbers, a, b):
    column = encode("x", pa.array(numbers, pa.float64()))
    known = {str(text): float(text) for text in column.texts.to_pylist()}

    def texts(inside):
        return {text for text, number in known.items() if inside(number)}

    assert covered(column, f"[{a}, {b})") == texts(lambda x: a <= x < b)
    assert covered(column, f"[{a}, {b}]") == texts(lambda x: a <= x <= b)
    assert covered(column, f"<{b}") == texts(lambda x: x < b)
    assert covered(column, f"≥{a}") == texts(lambda x: x >= a)


@given(st.lists(TEXT, min_size=1), TEXT, TEXT)
def test_intervals_and_sets_of_texts(values, a, b):
    values = ["x", *values]
    column = encode("s", pa.array(values))
    assert column.kind is Kind.TEXT
    for label, expected in (
        (f"[{in_quotes(a)}, {in_quotes(b)})", {v for v in values if a <= v < b}),
        (f"[{in_quotes(a)}, {in_quotes(b)}]", {v for v in values if a <= v <= b}),
        (f"<{in_quotes(b)}", {v for v in values if v < b}),
        (f"≥{in_quotes(a)}", {v for v in values if a <= v}),
        ("{" + " | ".join(map(written, [a, b, "x"])) + "}", {v for v in values if v in {a, b, "x"}}),
    ):
        # a value that looks like a label is itself
        assert covered(column, label) == ({label} if label in values else expected)


@given(st.lists(TEXT, min_size=1, max_size=5))
def test_what_is_written_in_a_set_is_read_again(values):
    assert parse_label("{" + " | ".join(map(written, values)) + "}") == Members(tuple(values))
    low, high = values[0], values[-1]
    assert parse_label(f"[{in_quotes(low)}, {in_quotes(high)}]") == Interval(low, high, closed=True, quoted=True)


@given(st.lists(st.none() | TEXT, min_size=1))
def test_a_value_covers_itself_null_null_and_a_star_all(values):
    column = encode("s", pa.array(values, pa.string()))
    assert covered(column, None) == {None} & set(values)
    assert covered(column, "*") == set(values)
    for value in set(values) - {None, "*"}:
        assert covered(column, value) == {value}


@pytest.mark.parametrize(
    "label",
    ["", "30", "[30, 40", "[30,40)", "[ 30, 40)", "[a, b)", "(9, 41)", "[9, 41", "{9| 30}", "{}", "≥", "< 20", "<x",
     "[1e9999, 5)", "[1/3, 9]", "[--1, 99]", '["9, 99]'],
)  # fmt: skip
def test_what_is_not_understood_covers_nothing(label):
    assert covered(encode("age", pa.array(["9", "41", None])), label) == set()


def test_numbers_are_compared_exactly_and_with_their_decimal_mark():
    assert covered(encode("x", pa.array(["0.1", "0.30000000000000001"])), "[0.1, 0.3]") == {"0.1"}
    comma = encode("x", pa.array(["0,5", "1,5"]), decimal=",")
    assert comma.kind is Kind.NUMBER
    assert covered(comma, "[0.4, 1)") == {"0,5"}
    assert covered(comma, '["0,4", "1")') == {"0,5"}  # in quotes: as texts
    assert covered(comma, '["0,4", 1)') == set()


def test_dates():
    days = encode("d", pa.array(["2024-01-31", "2024-02-01", "2024-03-01"]))
    assert covered(days, "[2024-01-31, 2024-02-01]") == {"2024-01-31", "2024-02-01"}
    assert covered(days, "[2024-02-01, 2024-03-01)") == covered(days, "[2024-02-01 00:00:00, 2024-02-29]")
    assert covered(days, "≥2024-02") == set()
    times = encode("t", pa.array(["2024-01-31 10:00:00", "2024-02-01 09:00:00"]).cast(pa.timestamp("s")))
    assert times.kind is Kind.DATE
    assert covered(times, "[2024-01-31, 2024-01-31]") == {"2024-01-31 10:00:00"}
    assert covered(times, "≥2024-01-31 12:00:00") == {"2024-02-01 09:00:00"}


def test_other_types_are_compared_as_texts():
    seconds = encode("t", pa.array([9, 10, 100], pa.duration("s")))
    assert covered(seconds, '["10", "9"]') == {"9", "10", "100"}
    assert covered(seconds, '["100", "9")') == {"100"}
    assert covered(seconds, "[9, 10]") == set()


def test_ends_in_quotes_are_texts_and_others_are_none_where_they_look_like_numbers():
    mixed = encode("x", pa.array(["108", "15", "7.0", "n/a"]))
    assert covered(mixed, '["108", "15"]') == {"108", "15"}
    assert covered(mixed, "[108, 15]") == set()
    assert covered(mixed, "[7, 20]") == {"15", "7.0"}
    assert covered(mixed, "[a, z]") == {"n/a"}
    assert covered(mixed, "[7, z]") == set()


def test_a_hierarchy_tells_its_labels_on_every_level():
    column = encode("race", pa.array(["asian", "black", "white", None]))
    levels = [["some", "some", "other"], ["person"] * 3]
    tree = compile_taxonomy(column, Taxonomy(["asian", "black", "white"], levels, str))
    assert covered(column, "some", tree) == {"asian", "black"}
    assert covered(column, "other", tree) == {"white"}
    assert covered(column, "person", tree) == {"asian", "black", "white", None}
    assert covered(column, "nobody", tree) == set()
    assert covered(column, "{asian | white}", tree) == {"asian", "white"}


@pytest.mark.parametrize(
    ("texts", "sort"),
    [
        (["1,5", "2"], "number"),
        (["1.5", "2"], "text"),
        (["1.5", "2,5"], "text"),
        (["1.500,5", "2"], "text"),
        (["-0,0", "2"], "text"),
    ],
)
def test_with_a_decimal_comma_points_are_no_decimal_marks(texts, sort):
    """As the encoding of a column says, so says who reads its labels."""
    column = encode("x", pa.array(texts), decimal=",")
    assert Scale(column.values, column.decimal).sort == sort == column.kind


def test_labels_have_a_point_whatever_the_mark_of_the_values():
    scale = Scale(pa.array(["1,5", "2", "10,25"]), ",")
    assert scale.covered(Interval("1.5", "10.25")).tolist() == [True, True, False]
    assert scale.codes_of_text("10.25").tolist() == scale.codes_of_text("10,25").tolist() == [2]
