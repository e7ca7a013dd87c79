"""Frames: pandas with its index and its objects, polars, pyarrow."""

from datetime import date
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.data.codes import Kind
from shoal.engine_port import ReadOptions
from shoal.engines.reading import read
from shoal.errors import BadData, ShoalWarning

DATA = {"b": ["x", None, "y"], "a": [3, 1, 2]}


@pytest.fixture
def said(sentence):
    def said(frame):
        with pytest.raises(BadData) as caught:
            read(frame, ReadOptions())
        return sentence(caught.value)

    return said


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, pa.RecordBatch.from_pydict])
def test_every_kind_of_frame(make, cells_of):
    frame = make(DATA)
    source = read(frame, ReadOptions())
    assert (source.format, source.name, source.index) == ("frame", "the frame", ())
    assert source.native is frame
    assert list(source.table.columns) == ["b", "a"]
    assert cells_of(source, "b") == ["x", None, "y"]
    assert cells_of(source, "a") == ["3", "1", "2"]


def test_missing_markers_and_normalise_hold_for_frames_too(cells_of):
    source = read(pl.DataFrame({"a": ["?", "5", " 5"]}), ReadOptions(missing=("?",), normalise=True))
    assert cells_of(source, "a") == [None, "5", "5"]
    assert source.missing == "?"


@pytest.mark.parametrize("index", [pd.RangeIndex(3), None])
def test_a_default_index_is_no_data(index):
    assert read(pd.DataFrame(DATA, index), ReadOptions()).index == ()


@pytest.mark.parametrize(
    ("index", "name", "shown"),
    [
        # bad input 24
        (pd.RangeIndex(1, 4), "index", ["1", "2", "3"]),
        (pd.RangeIndex(0, 6, 2), "index", ["0", "2", "4"]),
        (pd.Index([7, 7, 5]), "index", ["7", "7", "5"]),
        (pd.Index(["u", "v", None], name="who"), "who", ["u", "v", None]),
        (
            pd.DatetimeIndex(["2020-01-02", "2020-01-01", "2020-01-03"]),
            "index",
            ["2020-01-02", "2020-01-01", "2020-01-03"],
        ),
        (pd.CategoricalIndex(["u", "v", "u"]), "index", ["u", "v", "u"]),
    ],
)
def test_another_index_is_a_column(index, name, shown, cells_of):
    source = read(pd.DataFrame(DATA, index), ReadOptions())
    assert source.index == (name,)
    assert list(source.table.columns) == [name, "b", "a"]
    assert cells_of(source, name) == shown
    assert cells_of(source, "a") == ["3", "1", "2"]


def test_a_multi_index(cells_of):
    index = pd.MultiIndex.from_tuples([("u", 1), ("u", 2), ("v", 1)], names=["who", None])
    source = read(pd.DataFrame(DATA, index), ReadOptions())
    assert source.index == ("who", "level_1")
    assert cells_of(source, "level_1") == ["1", "2", "1"]


def test_names_of_an_index(said):
    assert "both named 'a'" in said(pd.DataFrame(DATA, pd.Index([7, 8, 9], name="a")))
    assert "name of the index is not text" in said(pd.DataFrame(DATA, pd.Index([7, 8, 9], name=0)))
    twice = pd.MultiIndex.from_tuples([(1, 2), (1, 3), (2, 2)], names=["u", "u"])
    assert "both named 'u'" in said(pd.DataFrame(DATA, twice))


def test_an_index_alone(cells_of):
    assert cells_of(read(pd.DataFrame(index=pd.Index([3, 4])), ReadOptions()), "index") == ["3", "4"]


def test_names(said):
    assert "rename the columns" in said(pd.DataFrame([[1, 2]]))
    assert "columns 1 and 2 are both named 'a'" in said(pd.DataFrame([[1, 2]], columns=["a", "a"]))  # bad input 8
    assert "columns 1 and 2 are both named 'a'" in said(pa.table([[1], [2]], ["a", "a"]))
    assert "column 2 has no name" in said(pl.DataFrame({"a": [1], " ": [2]}))
    assert r"'\x1b'" in said(pd.DataFrame([[1, 2]], columns=["\x1b", "\x1b"]))  # bad input 27


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_without_columns_or_rows_are_refused(make, said):
    assert "no columns" in said(make({}))  # bad input 1
    assert "no records" in said(make({"a": []}))  # bad input 2


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        # bad input 5
        (["x", None, "nan"], ["x", None, "nan"]),
        (["x", np.nan, "None"], ["x", None, "None"]),
        (["x", pd.NA, pd.NaT], ["x", None, None]),
        ([1, None, 2.5], ["1", None, "2.5"]),
        ([np.int64(1), 2, None], ["1", "2", None]),
        ([True, None, False], ["true", None, "false"]),
        ([date(2020, 1, 2), None, pd.NaT], ["2020-01-02", None, None]),
        ([Decimal("1.50"), None, Decimal("2.00")], ["1.50", None, "2.00"]),
        ([2**70, 1, None], [str(2**70), "1", None]),
        ([None, None, np.nan], [None, None, None]),
    ],
)
def test_objects_of_one_sort(values, shown, cells_of):
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    before = frame.copy(deep=True)
    assert cells_of(read(frame, ReadOptions()), "a") == shown
    pd.testing.assert_frame_equal(frame, before)


def test_mixed_objects_become_text(cells_of):
    # bad input 7
    frame = pd.DataFrame({"a": pd.Series([5, "x", None, 2.5, True, date(2020, 1, 2)], dtype=object)})
    with pytest.warns(ShoalWarning, match="column 'a' mixes bool and date and number and text values"):
        source = read(frame, ReadOptions())
    assert cells_of(source, "a") == ["5", "x", None, "2.5", "True", "2020-01-02"]


@pytest.mark.parametrize(
    ("series", "shown"),
    [
        (pd.Series([1.5, np.nan, -0.0]), ["1.5", None, "0"]),
        (pd.Series([1, None, 2], dtype="Int64"), ["1", None, "2"]),
        (pd.Series([True, None], dtype="boolean"), ["true", None]),
        (pd.Series(["x", None, "nan"], dtype="string"), ["x", None, "nan"]),
        (pd.Series(["x", None], dtype=pd.ArrowDtype(pa.string())), ["x", None]),
        (pd.Series(pd.to_datetime(["2020-01-02", None])), ["2020-01-02", None]),
        (pd.Series(pd.Categorical(["x", None, "y"], categories=["z", "y", "x"])), ["x", None, "y"]),
        (pd.Series(pd.Categorical([1, 10, None])), ["1", "10", None]),
        (pd.Series(pd.cut([5, 15, np.nan], [0, 10, 20])), ["(0, 10]", "(10, 20]", None]),
        (pd.Series(pd.PeriodIndex(["2020-01", None], freq="M")), ["2020-01", None]),
        (pd.Series([pd.Timedelta(days=1), None]).dt.total_seconds(), ["86400", None]),
    ],
)
def test_pandas_types(series, shown, cells_of):
    source = read(pd.DataFrame({"a": series}), ReadOptions())
    assert cells_of(source, "a") == shown
    assert source.table["a"].size == len(set(shown))  # no code for an unused category


def test_polars_types(cells_of):
    frame = pl.DataFrame(
        {
            "cat": pl.Series(["x", None, "y"], dtype=pl.Categorical),
            "enum": pl.Series(["x", None, "y"], dtype=pl.Enum(["z", "y", "x"])),
            "date": [date(2020, 1, 2), None, date(1999, 1, 1)],
            "float": [1.5, float("nan"), None],
        }
    )
    source = read(frame, ReadOptions())
    assert cells_of(source, "cat") == cells_of(source, "enum") == ["x", None, "y"]
    assert source.table["enum"].size == 3
    assert source.table["date"].kind is Kind.DATE
    assert cells_of(source, "float") == ["1.5", None, None]


CANARY = "CANARY-7f3"


class Odd:
    def __repr__(self):
        return CANARY


@pytest.mark.parametrize(
    "value", [[CANARY], {"a": CANARY}, {CANARY}, (CANARY,), CANARY.encode(), Odd(), 1j, f"{CANARY}\ud800"]
)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_what_is_no_plain_value(value, make, said):
    try:
        frame = make({"fine": [1, 2], "odd": [value, value]})
    except (UnicodeEncodeError, TypeError):
        pytest.skip("such a frame cannot be")
    assert "column" in said(frame)


def test_lazy_frames(said):
    assert "collect" in said(pl.LazyFrame(DATA))
    with duckdb.connect() as connection:
        assert "collect" in said(connection.sql("select 1 as a"))


@pytest.mark.parametrize(
    "thing", [None, 5, b"people.csv", [1, 2], {"a": [1]}, pd.Series([1]), pl.Series([1]), object()]
)
def test_what_is_no_frame(thing, said):
    assert "cannot read a" in said(thing)
