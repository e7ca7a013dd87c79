"""Parquet and Arrow."""

from datetime import date

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from shoal.data.codes import Kind
from shoal.engine_port import ReadOptions
from shoal.engines.reading import read


def table():
    return pa.table(
        {
            "name": ["b", "a", None],
            "age": [3, None, 20],
            "birth": [date(2020, 1, 1), date(1999, 1, 1), None],
            "ok": [True, False, True],
            "kind": pa.array(["x", "y", "x"]).dictionary_encode(),
            "big": pa.array(["u", "?", ""], pa.large_string()),
        }
    )


def to_stream(of, path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, of.schema) as writer:
        writer.write_table(of)


WRITERS = {
    "x.parquet": parquet.write_table,
    "parquet": parquet.write_table,
    "x.arrow": feather.write_feather,
    "x.feather": feather.write_feather,
    "feather": feather.write_feather,
    "x.ipc": to_stream,
    "stream": to_stream,
}


@pytest.mark.parametrize("name", WRITERS)
def test_round_trip(tmp_path, name, cells_of):
    WRITERS[name](table(), tmp_path / name)
    source = read(tmp_path / name, ReadOptions(missing=("?",)))
    assert source.format == ("parquet" if "parquet" in name else "arrow")
    assert (source.name, source.missing, source.guessed) == (name, "?", {})
    assert list(source.table.columns) == table().column_names
    assert cells_of(source, "name") == ["b", "a", None]
    assert cells_of(source, "age") == ["3", None, "20"]
    assert cells_of(source, "big") == ["u", None, ""]
    assert source.table["birth"].kind is Kind.DATE
    assert cells_of(source, "ok") == ["true", "false", "true"]


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.ipc"])
def test_damaged_files(tmp_path, refused, name):
    WRITERS[name](pa.table({"a": ["CANARY-7f3"] * 100}), tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    assert "damaged" in refused(whole[: len(whole) // 2], name)
    assert "damaged" in refused(b"CANARY-7f3,b\n1,2\n", name)


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_any_damage_is_refused_or_read(tmp_path, load, sentence, name):
    """No byte that changes may end in anything but a table or a sentence."""
    from shoal.errors import BadData

    WRITERS[name](table(), tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 150)):
        try:
            load(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :], name)
        except BadData as error:
            sentence(error)


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (pa.array([["CANARY-7f3"]]), "lists or records"),
        (pa.array([{"a": "CANARY-7f3"}]), "lists or records"),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "lists or records"),
        (pa.array([b"CANARY-7f3"]), "binary"),
        (pa.array([b"CANARY-7f3"], pa.binary(10)), "binary"),
        (pa.array([b"CANARY-7f3"], pa.large_binary()), "binary"),
    ],
)
@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_nested_and_binary_columns(tmp_path, refused, values, what, name):
    WRITERS[name](pa.table({"ok": [1], "odd": values}), tmp_path / "whole")
    assert f"column 'odd' holds {what}" in refused((tmp_path / "whole").read_bytes(), name)


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_bad_names_and_empty_tables_are_refused(tmp_path, refused, name):
    def said(of):
        WRITERS[name](of, tmp_path / "whole")
        return refused((tmp_path / "whole").read_bytes(), name)

    assert "columns 1 and 2 are both named 'a'" in said(pa.table([[1], [2]], ["a", "a"]))  # bad input 8
    assert "no records" in said(pa.table({"a": pa.array([], pa.string())}))  # bad input 2
    assert "no columns" in said(pa.table({}))  # bad input 1
    assert "column 1 has no name" in said(pa.table([[1]], [""]))


def test_text_that_is_no_utf8(tmp_path, refused):
    odd = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\x0b\0\0\0"), pa.py_buffer(b"CANARY-7f3\xff")]
    )
    parquet.write_table(pa.table({"a": odd}), tmp_path / "whole")
    assert "damaged" in refused((tmp_path / "whole").read_bytes(), "x.parquet")
