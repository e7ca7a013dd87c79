"""CSV: what is sniffed, what is kept, what is refused."""

import csv
import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.codes import Kind
from shoal.engine_port import ReadOptions
from shoal.engines.reading import read
from shoal.engines.reading.content import Content
from shoal.engines.reading.csv_reader import read_csv
from shoal.errors import BadData, ShoalWarning


def test_a_plain_file(load, cells_of):
    source = load("age,zip\n39,02138\n,02139\n9,?\n", missing=("", "?"))
    assert (source.format, source.name, source.missing) == ("csv", "people.csv", "")
    assert source.guessed == {"delimiter": ",", "encoding": "utf-8", "decimal": "."}
    assert list(source.table.columns) == ["age", "zip"]
    assert source.table.rows == 3
    assert cells_of(source, "age") == ["39", None, "9"]
    assert source.table["age"].kind is Kind.NUMBER
    assert cells_of(source, "zip") == ["02138", "02139", None]  # bad input 22
    assert source.table["zip"].kind is Kind.TEXT


def test_texts_that_look_missing_are_not(load, cells_of):
    source = load('a,b\nnan,None\nNA,""\nnull,NaN\n', missing=())
    assert cells_of(source, "a") == ["nan", "NA", "null"]
    assert cells_of(source, "b") == ["None", "", "NaN"]
    assert source.missing == ""


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_are_stripped(load, cells_of, encoding):
    # bad inputs 9 and 10
    source = load("straße,b\nMünchen,1\nΑθήνα,2\n".encode(encoding))
    assert list(source.table.columns) == ["straße", "b"]
    assert cells_of(source, "straße") == ["München", "Αθήνα"]
    assert source.guessed["encoding"] == encoding == source.encoding


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le"])
def test_an_encoding_that_is_given(load, cells_of, encoding):
    source = load("a,b\nMüller,1\n".encode(encoding), encoding=encoding)
    assert cells_of(source, "a") == ["Müller"]
    assert "encoding" not in source.guessed


def test_text_that_is_not_utf8_is_refused_with_its_offset(refused):
    # bad input 10
    said = refused("a,b\nCANARY-7f3 Müller,1\n".encode("latin-1"))
    assert said == (
        "people.csv: byte offset 16 is not UTF-8; give the encoding: --encoding latin-1 (in Python reading=…), or "
        'encoding = "latin-1" under [data]'
    )


@pytest.mark.parametrize("rows", [1, 200_000])
def test_text_that_is_not_utf8_is_refused_far_from_the_start(refused, rows):
    start = b"\xef\xbb\xbfa,b\n" + b"x,\xc3\xa9\n" * rows
    assert f"byte offset {len(start)} is" in refused(start + b"\xe9,1\n")


@pytest.mark.parametrize("encoding", ["latin-9999", "base64", "x\0", "ascii", "utf-16"])
def test_an_encoding_that_does_not_fit(refused, encoding):
    assert "encoding" in refused("a,b\nCANARY-7f3é,1\nx,y\n", encoding=encoding)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(load, cells_of, delimiter):
    # bad input 12
    source = load(f'a{delimiter}b\n"x{delimiter}y"{delimiter}1\nz{delimiter}2\n')
    assert source.delimiter == delimiter == source.guessed["delimiter"]
    assert cells_of(source, "a") == [f"x{delimiter}y", "z"]


def test_the_delimiter_of_a_tsv(load):
    assert load("a\n1\n", "x.tsv").delimiter == "\t"
    assert list(load("a,b\tc,d\n1,2\t3,4\n", "x.tsv").table.columns) == ["a,b", "c,d"]


def test_given_options_are_not_guessed(load):
    source = load("a;b,c\n1;2,3\n", delimiter=",", quote="'", decimal=".")
    assert list(source.table.columns) == ["a;b", "c"]
    assert source.guessed == {"encoding": "utf-8"}


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ",,"},
        {"delimiter": ""},
        {"delimiter": "é"},
        {"quote": "«"},
        {"quote": "\n"},
        {"decimal": "'"},
    ],
)
def test_options_that_make_no_sense(refused, options):
    assert "must be" in refused("a,b\n1,2\n", **options)


def test_delimiter_and_quote_differ(refused):
    assert "both" in refused("a,b\n1,2\n", delimiter="'", quote="'")


def test_single_quotes(load, cells_of):
    source = load("a,b\n'x, y',1\n'it''s',2\n")
    assert cells_of(source, "a") == ["x, y", "it's"]
    assert source.guessed["quote"] == "'"
    assert cells_of(load("a,b\n't Hooft,1\n"), "a") == ["'t Hooft"]


def test_no_quote_at_all(load, cells_of):
    assert cells_of(load('a,b\n"x,1\n', quote=""), "a") == ['"x']


def test_decimal_comma(load):
    # bad input 12
    source = load('a;b;c\n1,5;"1,5";x,y\n-2;?;1,5\n', missing=("?",))
    assert source.decimal == "," == source.guessed["decimal"]
    assert [column.kind for column in source.table.columns.values()] == [Kind.NUMBER, Kind.NUMBER, Kind.TEXT]
    assert load("a;b\n1,5;2\n", decimal=".").table["a"].kind is Kind.TEXT
    assert load('a,b\n"1,5",2\n', decimal=",").table["a"].kind is Kind.NUMBER


def test_newlines_and_quotes_in_cells_are_kept(load, cells_of):
    # bad input 15
    source = load('a,b\r\n"x\r\ny",1\r\n"say ""hi""",2\r\n')
    assert cells_of(source, "a") == ["x\r\ny", 'say "hi"']


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "end"])
def test_line_ends(load, cells_of, end, last):
    source = load(end.join(["", "a,b", "", "1,5'11\"", '"2",""', last.replace("end", "")]))
    assert cells_of(source, "a") == ["1", "2"]
    assert cells_of(source, "b") == ["5'11\"", None]


def test_in_one_column_an_empty_line_is_missing(load, cells_of):
    # bad input 5
    assert cells_of(load('a\n1\n\n""\n3\n\n\n'), "a") == ["1", None, None, "3"]


def test_a_header_over_two_lines(load):
    assert list(load('"a\nb",c\n1,2\n').table.columns) == ["a\nb", "c"]


@pytest.mark.parametrize("nothing", [b"", b"\n", b"\n\r\n\n", b"\xef\xbb\xbf", b'""\n', b"\xff\xfe"])
def test_empty_files(refused, nothing):
    # bad input 1
    assert refused(nothing) == "people.csv: the file is empty: no columns"


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\n\n\n", "a", "a\n\n"])
def test_header_only(refused, content):
    # bad input 2
    assert "no records" in refused(content)


def test_duplicate_names(refused):
    # bad inputs 8 and 27
    assert "columns 1 and 3 are both named 'a'" in refused("a,b,a\nCANARY-7f3,2,3\n")
    assert r"'\x1b[2J'" in refused("\x1b[2J,\x1b[2J\n1,2\n")


def test_names_that_are_empty(refused):
    assert "column 1 has no name" in refused(",b\n1,2\n1,3\n")
    assert "column 1 has no name" in refused(",b\n1,2\n,3\n")
    assert "column 1 has no name" in refused(",row names\n1,2\n")
    assert "column 2 has no name" in refused("a,  \n1,2\n")


def test_look_alikes_are_kept_apart_and_told(load, cells_of):
    # bad input 7
    content = "a,b\n5,x\n5.0,y\n 5,z\n"
    with pytest.warns(ShoalWarning, match=r"column 'a': 2 values differ only in form") as told:
        source = load(content)
    assert len(told) == 1
    assert cells_of(source, "a") == ["5", "5.0", " 5"]
    assert cells_of(load(content, normalise=True), "a") == ["5", "5", "5"]


def test_odd_cells_stay_as_they_are(load, cells_of):
    # bad input 27
    odd = ["=cmd|' /C calc'!A0", "<script>", "\u202eRTL", "\x1b[31m", "x" * (10 << 20)]
    source = load("a,b\n" + "".join(f"{cell},1\n" for cell in odd))
    assert cells_of(source, "a") == odd


def test_many_blocks_and_a_cell_larger_than_one(load, cells_of):
    # bad input 14
    rows = "".join(f"{i % 7},{i}\n" for i in range(50_000))
    big = "y" * (30 << 20)
    source = load(f"a,b\n{rows}{big},1\n{rows}")
    assert source.table.rows == 100_001
    assert cells_of(source, "a")[50_000] == big


def test_standard_input(monkeypatch, cells_of):
    class Stdin:
        buffer = io.BytesIO(b"a,b\n1,2\n")

    monkeypatch.setattr(sys, "stdin", Stdin)
    source = read("-", ReadOptions())
    assert (source.name, source.format, cells_of(source, "b")) == ("-", "csv", ["2"])


def strictly(text):
    """The rows by Python's reader, or None if they are not well-formed or not all of two fields."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        return None
    return rows if all(len(row) == 2 for row in rows) else None


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@given(st.lists(st.text('x,"\n\r ', max_size=9).map(lambda line: f"{line}\n")).map("".join))
def test_cells_are_those_of_pythons_csv_reader_or_refused(cells_of, body):
    text = f"a,b\n1,2\n{body}"
    expected = strictly(text)
    try:
        source = read_csv(Content("x", ".csv", text.encode()), ReadOptions(missing=(), delimiter=",", quote='"'))
    except BadData:
        assert expected is None
        return
    rows = [list(row) for row in zip(cells_of(source, "a"), cells_of(source, "b"), strict=True)]
    assert expected is not None
    assert rows == expected[1:]


def test_a_header_below_other_lines(load, cells_of, refused):
    text = "Report\r\n\r\nage;sex\r\n31;f\r\n"
    source = load(text, header_row=3)
    assert list(source.table.columns) == ["age", "sex"]
    assert cells_of(source, "sex") == ["f"]
    assert "row 2 (line 5): expected 2 fields as in the header, got 1" in refused(text + "32\r\n", header_row=3)
    assert "there is no line 9 to name the columns" in refused(text, header_row=9)


def test_files_of_one_header_are_one_table(tmp_path, cells_of):
    (tmp_path / "a.csv").write_text("x;y\n1;a\n")
    (tmp_path / "b.csv").write_text("x;y\n2,5;b\n")
    source = read(tmp_path, ReadOptions())
    assert cells_of(source, "x") == ["1", "2,5"]
    assert source.decimal == ","
    (tmp_path / "c.csv").write_text("x;z\n2;b\n")
    with pytest.raises(BadData, match=r"c\.csv: its header or delimiter differs from that of a\.csv"):
        read(tmp_path, ReadOptions())


TITLED = "Patienten;;\nZeitraum 01.01.2023;;\n\nNr;PLZ;Kosten\n1;01139;5\n2;01097;6\n"


@pytest.mark.parametrize("text", [TITLED, TITLED.replace(";;", ""), TITLED.replace("\n", "\r\n"), "\ufeff" + TITLED])
def test_titles_above_the_header_are_skipped_with_a_note(load, cells_of, text):
    with pytest.warns(
        ShoalWarning, match="lines 1 to 3 are taken for titles, and the column names are read from line 4"
    ):
        source = load(text)
    assert list(source.table.columns) == ["Nr", "PLZ", "Kosten"]
    assert cells_of(source, "PLZ") == ["01139", "01097"]
    assert (source.guessed["header-row"], source.guessed["delimiter"]) == (4, ";")
    assert list(load(text, header_row=4).table.columns) == ["Nr", "PLZ", "Kosten"]


def test_titles_in_doubt_are_told_and_not_skipped(refused):
    assert refused("A list;;\nname;town;mood\nx;y;z\nu;v;w\n") == (
        "people.csv: line 1 may be titles; if line 2 names the columns, give --header-row 2 (in Python reading=…), or "
        "header-row = 2 under [data]"
    )


@pytest.mark.parametrize("text", ["CANARY-7f3;;\n1;2;3\n4;5;6\n", "a;;c\n1;2;3\n", "a;;\nx;y;z\nx;v;w\n"])
def test_rows_of_data_are_no_header_below_titles(refused, text):
    assert refused(text) == "people.csv: column 2 has no name; give it one"


def test_another_delimiter_inside_of_cells_makes_no_titles(load):
    source = load('id,notes\nx,"a;b;1"\ny,"c;d;2"\nz,"e;f;3"\n')
    assert list(source.table.columns) == ["id", "notes"]
    assert list(load("notes\na; b\nc\nd\n").table.columns) == ["notes"]


def test_rows_are_not_joined_in_a_csv(refused):
    assert refused("a,b\nc,d\n1,2\n", header_row=(1, 2)) == (
        "people.csv: rows 1 to 2 are joined in a sheet only; give one line as header row"
    )


def test_column_names_that_look_like_data_are_told(load):
    with pytest.warns(ShoalWarning, match=r"people.csv: the column names look like a row of data \(of columns 2, 3"):
        source = load("Anna,19.07.1977,01139\nJan,01.02.1950,01097\n")
    assert source.table.rows == 1
    assert load("Anna,19.07.1977,01139\nJan,01.02.1950,01097\n", header_row=1).table.rows == 1


@pytest.mark.parametrize(
    ("cells", "numbers", "marks"),
    [
        (["1.234,50", "12,5", "1234,50"], ["1234,50", "12,5", "1234,50"], {"decimal": ",", "thousands": "."}),
        (["1,234.50", "-1,234,567.5"], ["1234.50", "-1234567.5"], {"decimal": ".", "thousands": ","}),
        (["1 234,50", "1\u00a0234\u202f567", "?"], ["1234,50", "1234567", None], {"decimal": ",", "thousands": " "}),
        (["1'234.50", "1’234"], ["1234.50", "1234"], {"decimal": ".", "thousands": "'"}),
    ],
)
def test_numbers_with_their_thousands_apart(load, cells_of, cells, numbers, marks):
    source = load("\n".join(["id;pay", *(f"a;{cell}" for cell in cells)]) + "\n", missing=("?",))
    assert cells_of(source, "pay") == numbers
    assert (source.table["pay"].kind, source.table["pay"].decimal) == (Kind.NUMBER, marks["decimal"])
    assert {key: source.guessed.get(key) for key in marks} == marks
    given = load("\n".join(["id;pay", *(f"a;{cell}" for cell in cells)]) + "\n", missing=("?",), **marks)
    assert cells_of(given, "pay") == numbers
    assert "thousands" not in given.guessed


@pytest.mark.parametrize(
    "cells",
    [
        ["1.234", "2.345"],  # decimals, or thousands
        ["1.234,50", "1.23,50"],
        ["1.234,50", "1,234.50"],  # two ways
        ["1.234,50", "n/a"],
        ["01.234,50", "1"],
        ["1.234 567,5", "1"],
    ],
)
def test_what_may_be_thousands_is_left_alone(load, cells_of, cells):
    source = load("\n".join(["id;pay", *(f"a;{cell}" for cell in cells)]) + "\n")
    assert cells_of(source, "pay") == cells
    assert "thousands" not in source.guessed


def test_thousands_as_given(load, cells_of, refused):
    assert cells_of(load("id;pay\na;1.234\na;2.345\n", thousands="."), "pay") == ["1234", "2345"]
    assert cells_of(load("id;pay\na;1.234\na;2.345\n", thousands=".", decimal=","), "pay") == ["1234", "2345"]
    assert cells_of(load("id;pay\na;1.234\na;1.5\n", thousands="."), "pay") == ["1.234", "1.5"]
    assert refused("a;b\n1;2\n", thousands="_") == (
        "people.csv: the mark between thousands must be '.', ',', \"'\" or ' ', not '_'"
    )
    assert refused("a;b\n1;2\n", thousands=",", decimal=",") == (
        "people.csv: the decimal mark and the mark between thousands are both ','"
    )


@pytest.mark.parametrize("last", ["Summe,,,5", ",Total:,,5", "GESAMT,,5,", "somme,,7,", "Łącznie,,,5", "Toplam,,,5"])
def test_a_last_row_that_is_a_total_is_told(load, last):
    with pytest.warns(ShoalWarning, match=r"people.csv: the last row looks like a total .*: delete it") as told:
        load(f"name,town,sex,pay\nx,y,f,2\nu,v,m,3\n{last}\n")
    assert "5" not in str(told[0].message)


@pytest.mark.parametrize("last", ["Summe,Ulm,f,5", "Summer,,,5", "Ann,,,5", "Total,,,", "5,,,Total"])
def test_a_last_row_that_is_no_total(load, last):
    assert load(f"name,town,sex,pay\nx,y,f,2\nu,v,m,3\n{last}\n").table.rows == 3
