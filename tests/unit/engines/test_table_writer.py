"""What is written is read back equal, sorted, and the same bytes whatever order the rows came in."""

import csv
import datetime as dt
import hashlib
import re

import duckdb
import naive
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.engines import table_writer
from shoal.engines.row_stream import defuse_texts
from shoal.engines.table_writer import (
    Style,
    count_defused,
    given_order,
    refuse_ambiguous_marker,
    text_order,
    to_table,
    write_csv,
    write_parquet,
)
from shoal.errors import BadInput
from shoal.recoding.columns import ReleasedColumn
from shoal.verify.open_release import _UNDEFUSED, _undefused

ODD = st.text(";,|\t\n'=+-@＝＋－＠5a.", max_size=12)


@given(st.lists(ODD, min_size=1))
@example(["-5;-6;-7", "a;=1+1", "＝1", "x,'=1", ";'-5", "-1;+2.5|=x", "\t=1", "';=1", "5;-6+1"])
def test_defused_texts_are_read_back(texts):
    """Every way of defusing gives the same, and every way of reading gives the texts back."""
    safe = [table_writer.defuse(text) for text in texts]
    assert safe == [defused(text) for text in texts]
    assert defuse_texts(pa.array(texts)).to_pylist() == safe
    assert [_undefused(text) for text in safe] == texts
    with duckdb.connect() as db:
        db.register("safe", pa.table({"c0": safe}))
        assert db.sql(f"SELECT {_UNDEFUSED.format(0)} FROM safe").to_arrow_table()["c0"].to_pylist() == texts


@given(ODD)
def test_no_delimiter_makes_a_formula(text):
    for cell in re.split(r"[;,|\t\r\n]", table_writer.defuse(text)):
        assert re.match(r"[=@＝＋－＠]", cell) is None
        assert re.match(r"[+-]", cell) is None or re.fullmatch(r"[+-][0-9]+(\.[0-9]+)?", cell)


MARK = "NULL"
CELL = (
    st.none()
    | st.sampled_from(
        [
            "",
            "=1+1",
            "-5",
            "+5,5",
            "-a",
            "@x",
            "\tx",
            "\rx",
            "\nx",
            "=x",
            "'=x",
            "''=x",
            "'-5",
            "-1e-7",
            "'",
            '"',
            "a,b;c|d\te",
            "a;=1",
            "a,-5;-6|+x",
            "＝1",
            "a\r\nb",
        ]
    )
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4).filter(MARK.__ne__)
)
QUIET = naive.examples(80, fixtures=True)


def coded(rows, width):
    out = {}
    for i in range(width):
        cells = [row[i] for row in rows]
        labels = list(dict.fromkeys(cells))
        out[f"c{i}"] = ReleasedColumn.of(np.array([labels.index(cell) for cell in cells], np.int32), labels)
    return out


def tables(max_width=3):
    return st.integers(1, max_width).flatmap(
        lambda width: st.lists(st.tuples(*[CELL] * width), min_size=1, max_size=12)
    )


def write(path, columns, style, order=None):
    path.unlink(missing_ok=True)
    said = write_csv(columns, order or text_order(columns), path, style)
    assert said == hashlib.sha256(path.read_bytes()).hexdigest()
    return path.read_bytes()


def is_number(cell):
    return bool(re.fullmatch(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?", cell, re.ASCII))


def defused(cell):
    """One more ' before the text, and before each part of it after a delimiter, that a spreadsheet would run."""
    first, *others = re.split(r"([;,|\t\r\n])", cell)
    inside = [
        "'" + part
        if part.lstrip("'")[:1] in set("=+-@＝＋－＠") and not re.fullmatch(r"[+-]\d+(\.\d+)?", part, re.ASCII)
        else part
        for part in others
    ]
    bare = cell.lstrip("'")
    runs = bare and bare[0] in "=+-@\t\r\n＝＋－＠" and not is_number(cell)
    return "'" * bool(runs) + first + "".join(inside)


@QUIET
@given(
    rows=tables(),
    delimiter=st.sampled_from(",;\t|"),
    quote=st.sampled_from("\"'"),
    safe=st.booleans(),
    keep=st.booleans(),
)
def test_pythons_csv_reader_reads_the_cells_back(rows, delimiter, quote, safe, keep, tmp_path):
    columns = coded(rows, len(rows[0]))
    path = tmp_path / "data.csv"
    order = given_order(len(rows)) if keep else None
    write(path, columns, Style(delimiter, quote, MARK, safe), order)
    with path.open(encoding="utf-8", newline="") as file:
        header, *read = csv.reader(file, delimiter=delimiter, quotechar=quote, strict=True)
    assert header == list(columns)
    expected = [[MARK if c is None else defused(c) if safe else c for c in row] for row in rows]
    assert read == expected if keep else sorted(read) == sorted(expected)


@QUIET
@given(rows=tables(), seed=st.integers(0, 99))
def test_the_order_of_the_rows_leaves_no_trace(rows, seed, tmp_path):
    shuffled = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]
    style = Style(missing=MARK)
    first, second = (coded(some, len(rows[0])) for some in (rows, shuffled))
    assert write(tmp_path / "data.csv", first, style) == write(tmp_path / "data.csv", second, style)
    for name, columns in (("a", first), ("b", second)):
        (tmp_path / name).unlink(missing_ok=True)
        write_parquet(columns, text_order(columns), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@QUIET
@given(rows=tables())
def test_rows_are_sorted_by_all_columns_null_last(rows):
    columns = coded(rows, len(rows[0]))
    order = text_order(columns)
    ordered = [tuple((cell is None, (cell or "").encode()) for cell in rows[i]) for i in order.rows]
    assert ordered == sorted(ordered)
    new = [i for i, row in enumerate(ordered) if i == 0 or row != ordered[i - 1]]
    assert order.firsts.tolist() == new


def test_many_columns_of_many_values_are_sorted_too():
    rng = np.random.default_rng(0)
    values = [f"{i:05d}" for i in range(40_000)]
    columns = {f"c{i}": ReleasedColumn.of(rng.integers(0, 40_000, 500).astype(np.int32), values) for i in range(9)}
    rows = list(zip(*(column.codes.tolist() for column in columns.values()), strict=True))
    assert [rows[i] for i in text_order(columns).rows] == sorted(rows)


def test_large_tables_are_written_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.engines.table_writer.CHUNK", 3)
    rows = [("a", "x")] * 10 + [(str(i), "y") for i in range(10)] + [("b", None)] * 5
    columns = coded(rows, 2)
    text = write(tmp_path / "data.csv", columns, Style(missing="?")).decode()
    assert text.splitlines()[1:] == sorted(f"{a},{b or '?'}" for a, b in rows)


def test_types_are_kept_in_parquet_and_told_as_text_in_csv(tmp_path):
    values = pa.array([1.5, 2.0, None])
    columns = {"n": ReleasedColumn(np.array([2, 1, 0], np.int32), values, pa.array(["1.5", "2", None]))}
    write_parquet(columns, given_order(3), tmp_path / "data.parquet")
    assert pq.read_table(tmp_path / "data.parquet").equals(pa.table({"n": [None, 2.0, 1.5]}))
    assert write(tmp_path / "data.csv", columns, Style(missing="?"), given_order(3)) == b"n\n?\n2\n1.5\n"
    assert to_table(columns, np.array([2])).to_pydict() == {"n": [1.5]}


def test_a_lone_empty_cell_is_no_blank_line(tmp_path):
    columns = coded([("",), ("a",), (None,)], 1)
    assert write(tmp_path / "data.csv", columns, Style()) == b'c0\n""\na\n""\n'


@pytest.mark.parametrize(
    ("text", "runs"),
    [("=1", True), ("+a", True), ("-a", True), ("@a", True), ("\ta", True), ("-5", False), ("+5.5", False),
     ("-5,5", False), ("-5-5", True), ("", False), ("a=1", False), ("'=1", True), ("-", True), ("-1.5e-7", False),
     ("+2E5", False), ("-1e", True), ("'a", False), ("''=1", True),
     ("＝1", True), ("＋a", True), ("－a", True), ("＠a", True), ("a;=1+1", True),
     ("a|-x", True), ("52.5,-13.4", False), ("a = 1; b", False), ("[-5, -3)", False)],
)  # fmt: skip
def test_what_a_spreadsheet_would_run(text, runs):
    assert count_defused(coded([(text,), (text,), ("a",)], 1)) == 2 * runs


@pytest.mark.parametrize("values", [[-1.5e-7, -5.0, float("-inf")], [dt.timedelta(-1)], [dt.date(2020, 1, 1)]])
def test_numbers_and_dates_are_never_defused(tmp_path, values):
    array = pa.array(values)
    column = ReleasedColumn(np.arange(len(values), dtype=np.int32), array, array.cast(pa.string()))
    assert count_defused({"n": column}) == 0
    written = write(tmp_path / "data.csv", {"n": column}, Style(), given_order(len(values))).decode()
    assert written.split()[1:] == column.texts.to_pylist()


@QUIET
@example(cells={"=x", "'=x", "''=x"})
@given(cells=st.sets(CELL.filter(lambda cell: cell is not None), min_size=1, max_size=12))
def test_two_texts_are_never_written_alike(cells, tmp_path):
    columns = coded([(cell,) for cell in cells], 1)
    write(tmp_path / "data.csv", columns, Style(missing=MARK))
    with (tmp_path / "data.csv").open(encoding="utf-8", newline="") as file:
        read = [row[0] for row in csv.reader(file, strict=True)][1:]
    assert len(set(read)) == len(cells)


@pytest.mark.parametrize(
    ("cell", "marker", "missing", "says"),
    [
        ("NA", "NA", ["NA"], "a label is written like a missing value; put another text first"),
        ("=NA", "'=NA", ["'=NA"], "a label is written like a missing value"),
        ("", "", [], r"because \[data\] missing lists nothing; list a text that no cell holds"),
        ("a", ";", [";"], "a CSV cannot show it"),
    ],
)
def test_a_null_must_be_told_from_everything_else(cell, marker, missing, says):
    with pytest.raises(BadInput, match=says):
        refuse_ambiguous_marker(coded([(cell,), ("b",)], 1), Style(";", '"', marker), missing)
    refuse_ambiguous_marker(coded([(cell,), ("b",)], 1), Style(";", '"', "none"), ["none"])


def test_a_label_that_no_row_holds_is_no_missing_value():
    columns = {"q": ReleasedColumn.of(np.array([0], np.int32), ["a", "NA"])}
    refuse_ambiguous_marker(columns, Style(missing="NA"), ["NA"])


def test_headers_are_defused_too(tmp_path):
    columns = {"=x": ReleasedColumn.of(np.array([0], np.int32), ["a"])}
    assert write(tmp_path / "data.csv", columns, Style()) == b"'=x\na\n"
