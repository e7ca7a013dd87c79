"""The natural order of values, what counts as a number or a date, and the law of codes."""

import re
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.codes import Kind, canonical, encode


def texts(*values, **options):
    return encode("x", pa.array(values, pa.string()), **options)


@pytest.mark.parametrize(
    ("values", "kind", "order"),
    [
        (["10", "9", "-3"], Kind.NUMBER, ["-3", "9", "10"]),
        (["1.5", "1.25", "-0.5", "10"], Kind.NUMBER, ["-0.5", "1.25", "1.5", "10"]),
        (["2020-03-01", "1999-12-31"], Kind.DATE, ["1999-12-31", "2020-03-01"]),
        (["b", "a", "B"], Kind.TEXT, ["B", "a", "b"]),
        (["02138", "02139"], Kind.TEXT, ["02138", "02139"]),  # bad input 22
        (["9007199254740993", "9007199254740992"], Kind.NUMBER, ["9007199254740992", "9007199254740993"]),
        (["9" * 30 + ".5", "9" * 30], Kind.NUMBER, ["9" * 30, "9" * 30 + ".5"]),
        (["9" * 60, "8" * 60], Kind.NUMBER, ["8" * 60, "9" * 60]),
        (["0." + "0" * 90 + "2", "0." + "0" * 90 + "1"], Kind.NUMBER, ["0." + "0" * 90 + d for d in "12"]),
    ],
)
def test_natural_order(values, kind, order):
    column = texts(*values)
    assert column.kind is kind
    assert column.texts.to_pylist() == order
    assert [order[code] for code in column.codes] == values


@pytest.mark.parametrize(
    "odd",
    [
        "inf",
        "-0",
        "-0.0",
        "1e308",
        "1_000",
        "0x1F",
        "١٢",
        "NaN",
        "1.",
        ".5",
        "+5",
        " 5",
        "5\n",
        "",
        "9" * 5000,
    ],
)
def test_what_is_no_number_stays_text(odd):
    # bad input 21
    assert texts("1", odd).kind is Kind.TEXT


@pytest.mark.parametrize("odd", ["0000-00-00", "9999-12-31", "0000-01-01", "2023-02-30", "01/02/03", "20200101"])
def test_what_is_no_date_stays_text(odd):
    # bad input 23
    assert texts("2020-01-01", odd).kind is Kind.TEXT


def test_one_number_in_two_spellings_is_a_number():
    # bad input 7
    column = texts("10", "5.0", "5", "-7.50")
    assert column.kind is Kind.NUMBER
    assert column.texts.to_pylist() == ["-7.50", "5", "5.0", "10"]
    assert column.numbers == [Fraction(-15, 2), 5, 5, 10]
    assert column.look_alikes == 1


@given(
    st.lists(
        st.builds(
            lambda sign, whole, places: sign + whole.lstrip("0").rjust(1, "0") + (f".{places}" if places else ""),
            st.sampled_from(["", "-"]),
            st.text("0123456789", min_size=1, max_size=1000),
            st.text("0123456789", max_size=1000),
        ).filter(lambda text: not re.fullmatch(r"-0(\.0*)?", text)),
        min_size=1,
        max_size=8,
    )
)
def test_numbers_are_ordered_exactly_at_any_length(numbers):
    column = texts(*numbers)
    assert column.kind is Kind.NUMBER
    assert column.texts.to_pylist() == sorted(set(numbers), key=lambda text: (Fraction(text), text))


def test_normalise_joins_look_alikes():
    column = texts("5", "5.0", " 5", "7", "5 ", None, normalise=True)
    assert column.kind is Kind.NUMBER
    assert column.texts.to_pylist() == ["5", "7"]
    assert column.codes.tolist() == [0, 0, 0, 1, 0, 2]
    assert column.look_alikes == 0


@pytest.mark.parametrize("values", [["a", "a\u00a0"], ["1.50", "1.5"], ["\ta", "a"]])
def test_look_alikes(values):
    assert texts(*values).look_alikes == 1


def test_look_alikes_are_not_sought_among_very_many():
    assert encode("id", pa.array([f" {i}" for i in range(200_001)] + ["5"])).look_alikes == 0


def test_decimal_comma():
    column = texts("1,5", "-2", "10,25", decimal=",")
    assert column.kind is Kind.NUMBER
    assert column.texts.to_pylist() == ["-2", "1,5", "10,25"]
    assert column.numbers == [Fraction(-2), Fraction(3, 2), Fraction(41, 4)]
    assert texts("1,5", "2").kind is Kind.TEXT


def test_null_is_the_last_code():
    # bad input 5
    column = texts("b", None, "a", "?", "None", "nan", missing=["?"])
    assert column.texts.to_pylist() == ["None", "a", "b", "nan"]
    assert column.null_code == 4
    assert column.codes.tolist() == [2, 4, 1, 4, 0, 3]
    assert column.counts.tolist() == [1, 1, 1, 1, 2]


@pytest.mark.parametrize("of", [pa.string(), pa.large_string(), pa.string_view(), pa.null(), pa.int64(), pa.float64()])
def test_all_null_and_empty_columns(of):
    column = encode("x", pa.array([None, None], of))
    assert (column.size, column.codes.tolist(), len(column.values)) == (1, [0, 0], 0)
    for nothing in (pa.array([], of), pa.chunked_array([], of)):
        assert encode("x", nothing).size == 0


def test_all_missing_markers():
    assert texts("?", "?", missing=["?"]).size == 1


@pytest.mark.parametrize("of", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.large_string())])
def test_every_sort_of_text_is_text(of):
    column = encode("x", pa.array(["b", "a", None]).cast(of))
    assert column.values.type == pa.string()
    assert column.codes.tolist() == [1, 0, 2]


def test_dictionaries_may_hold_unused_equal_and_null_values():
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None]), pa.array(["b", "a", "b", None, "unused"]))
    column = encode("x", array)
    assert column.texts.to_pylist() == ["a", "b"]
    assert column.codes.tolist() == [1, 0, 1, 2, 2]


def test_chunks_with_dictionaries_of_their_own():
    chunks = pa.chunked_array([pa.array(["b", "c"]).dictionary_encode(), pa.array(["a", "b"]).dictionary_encode()])
    assert encode("x", chunks).codes.tolist() == [1, 2, 0, 1]


@pytest.mark.parametrize(
    ("array", "kind", "shown"),
    [
        (pa.array([True, False, None]), Kind.TEXT, ["false", "true"]),
        (pa.array([3, -1, 2]), Kind.NUMBER, ["-1", "2", "3"]),
        (pa.array([2**63, 1], pa.uint64()), Kind.NUMBER, ["1", str(2**63)]),
        (pa.array([1.5, float("nan"), 0.0, -0.0]), Kind.NUMBER, ["0", "1.5"]),
        (pa.array([1.5, float("inf")]), Kind.TEXT, ["1.5", "inf"]),
        (pa.array([1.5, 0.1], pa.float32()), Kind.NUMBER, ["0.1", "1.5"]),
        (pa.array(np.array([1.5, 0.5], np.float16)), Kind.NUMBER, ["0.5", "1.5"]),
        (pa.array([Decimal("1.50"), Decimal("-2.00")]), Kind.NUMBER, ["-2.00", "1.50"]),
        (pa.array([date(2020, 1, 2), date(1999, 1, 1)]), Kind.DATE, ["1999-01-01", "2020-01-02"]),
        (pa.array([datetime(2020, 1, 2), datetime(1999, 1, 1)]), Kind.DATE, ["1999-01-01", "2020-01-02"]),  # noqa: DTZ001
        (pa.array([datetime(2020, 1, 2, 3)], pa.timestamp("ns")), Kind.DATE, ["2020-01-02 03:00:00"]),  # noqa: DTZ001
        (pa.array([1], pa.timestamp("ms")), Kind.DATE, ["1970-01-01 00:00:00.001"]),
        (pa.array([0], pa.timestamp("s", "UTC")), Kind.DATE, ["1970-01-01 00:00:00Z"]),
        (pa.array([10**12], pa.timestamp("s")), Kind.TEXT, ["<value out of range: 1000000000000>"]),
        (pa.array([10, 5], pa.time32("s")), Kind.TEXT, ["00:00:05", "00:00:10"]),
    ],
)
def test_typed_columns(array, kind, shown):
    column = encode("x", array)
    assert column.kind is kind
    assert column.texts.to_pylist() == shown


def test_dates_and_first_row():
    column = encode("x", pa.array([datetime(2020, 1, 2, 3), None, datetime(1999, 1, 1)]))  # noqa: DTZ001
    assert column.dates == [date(1999, 1, 1), date(2020, 1, 2)]
    assert [column.first_row(code) for code in range(3)] == [3, 1, 2]


@pytest.mark.parametrize("values", [["5", "5.0"], ["1", "1.00", "2"], ["-1.0", "-1"]])
def test_canonical_agrees_with_the_numbers(values):
    assert len({canonical(v) for v in values}) == len({Fraction(v) for v in values})


_cells = st.one_of(
    st.lists(st.none() | st.text(st.characters(codec="utf-8"), max_size=4)),
    st.lists(st.none() | st.integers(-200, 200).map(str)),
    st.lists(st.none() | st.decimals(-50, 50, places=2).map(str)),
    st.lists(st.none() | st.dates().map(str)),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)),
    st.lists(st.none() | st.floats(allow_nan=False)),
    st.lists(st.none() | st.booleans()),
    st.lists(st.none() | st.dates()),
)


@given(_cells, st.integers(0, 5))
def test_codes_are_ranks_and_give_the_input_back(cells, cut):
    whole = pa.array(cells)
    column = encode("x", pa.chunked_array([whole[:cut], whole[cut:]], whole.type))
    back = [None if code == column.null_code else column.values[int(code)].as_py() for code in column.codes]
    assert back == cells
    assert set(column.codes.tolist()) == set(range(column.size))
    assert column.has_null == (None in cells)
    key = {Kind.NUMBER: "numbers", Kind.DATE: "dates"}.get(column.kind)
    ordered = getattr(column, key) if key else column.texts.to_pylist()  # infinity makes a text of every number
    assert all(a < b for a, b in pairwise(ordered))
