"""Formats by extension and by their first bytes."""

import bz2
import pickle

import pytest

from shoal.engine_port import ReadOptions
from shoal.engines.reading.content import Content
from shoal.engines.reading.sniff import Dialect, format_of, sniff_dialect
from shoal.errors import ShoalWarning


@pytest.mark.parametrize(
    ("suffix", "data", "of"),
    [
        (".csv", b"a,b", "csv"),
        (".txt", b"a,b.", "csv"),
        (".parquet", b"anything", "parquet"),
        (".feather", b"ARROW1", "arrow"),
        (".ods", b"PK\x03\x04", "excel"),
        ("", b"PAR1...", "parquet"),
        ("", b"ARROW1\0\0", "arrow"),
        ("", b"\xff\xff\xff\xff\x10", "arrow"),
        ("", b"PK\x03\x04", "excel"),
        (".data", b"a,b", "csv"),
    ],
)
def test_formats(suffix, data, of):
    assert format_of(Content("x", suffix, data)) == of


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ["people.csv", "people"])
def test_a_pickle_is_refused(refused, protocol, name):
    # bad input 29
    assert "pickle" in refused(pickle.dumps([{"a": "CANARY-7f3", "b": 1.5}], protocol), name)


@pytest.mark.parametrize(
    "content",
    [b"PAR1CANARY-7f3", b"PK\x03\x04CANARY-7f3", bz2.compress(b"a,b"), b"SQLite format 3\x00", b"%PDF-1.7"],
)
def test_what_is_no_text_is_refused(refused, content):
    # bad input 11
    assert "not a table as text" in refused(content)


def test_nul_bytes_are_refused(refused):
    # bad input 11
    assert "line 3 holds a NUL byte" in refused(b"a,b\n1,2\nCANARY-7f3\0,3\n")
    assert "utf-16-le" in refused("a,b\n1,2\n".encode("utf-16-le"))
    assert "NUL" in refused(bytes(range(256)) * 10, "people.bin")


@pytest.mark.parametrize(
    ("sample", "delimiter"),
    [
        ("a;b\n1,5;2,5\n", ";"),
        ("a,b\n1;2,3;4\n", ","),
        ("a,b,c\n1,2\n1,2,3\n", ","),  # ragged, but surely commas
        ('a|b\n"x|y"|"1,2"\n', "|"),
        ("a\n1\n", ","),
    ],
)
def test_delimiters(sample, delimiter):
    found = sniff_dialect(sample, complete=True, suffix=".csv", options=ReadOptions())
    assert found == Dialect(delimiter, '"')


def test_a_cut_sample_does_not_mislead():
    sample = "a;b\n" + "1;2\n" * 20 + '"3;'
    assert sniff_dialect(sample, complete=False, suffix="", options=ReadOptions()).delimiter == ";"


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        ("name\nMüller\n", "latin-1", "latin-1"),
        ("name\nMüller 5 €\n", "cp1252", "cp1252"),
        ("name\nO’Brien\n", "cp1252", "cp1252"),
    ],
)
def test_an_encoding_is_guessed_and_said(load, cells_of, text, encoding, found):
    with pytest.warns(ShoalWarning, match=f"it is read as {found}, Western European, which is a guess"):
        source = load(text.encode(encoding), guess_encoding=True)
    assert (source.encoding, source.guessed["encoding"]) == (found, found)
    assert cells_of(source, "name") == [text.split("\n")[1]]


@pytest.mark.parametrize(
    ("text", "encoding"), [("name\nМария\n", "cp1251"), ("name\nMädchen\n", "cp850"), ("name\nMüller\n", "cp850")]
)
def test_what_does_not_look_western_is_not_guessed(refused, text, encoding):
    said = refused(text.encode(encoding), guess_encoding=True)
    assert "is not UTF-8, nor does the file look like cp1252; give the encoding" in said


def test_characters_far_from_the_first_accent_tell_cp1252(load, monkeypatch):
    monkeypatch.setattr("shoal.engines.reading.sniff._EXAMINED", 8)
    with pytest.warns(ShoalWarning, match="read as cp1252"):
        assert load("name\nMüller\nMaria\n5 €\n".encode("cp1252"), guess_encoding=True).encoding == "cp1252"


def test_utf8_is_no_guess(load):
    assert load("name\nMüller €\n", guess_encoding=True).encoding == "utf-8"
