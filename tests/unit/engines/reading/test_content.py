"""Files that are not there, or are no files."""

import os

import pytest

from shoal.engine_port import ReadOptions
from shoal.engines.reading import read
from shoal.errors import BadData


def said_of(path, sentence):
    with pytest.raises(BadData) as caught:
        read(path, ReadOptions())
    return sentence(caught.value)


def test_near_names_are_suggested(tmp_path, sentence):
    (tmp_path / "people.csv").write_text("a,b\n1,2\n")
    assert said_of(tmp_path / "poeple.csv", sentence) == "poeple.csv: there is no such file; did you mean people.csv?"
    assert said_of(tmp_path / "zzz.parquet", sentence) == "zzz.parquet: there is no such file"
    assert said_of(tmp_path / "no" / "folder.csv", sentence) == "folder.csv: there is no such file"
    assert said_of(str(tmp_path / "people.csv" / "x"), sentence) == "x: there is no such file"


def test_folders_and_odd_paths(tmp_path, sentence):
    assert "folder" in said_of(tmp_path, sentence)
    assert "not a path" in said_of("a\0b", sentence)
    assert r"'\x1b[2J.csv'" in said_of(tmp_path / "\x1b[2J.csv", sentence)
    assert "cannot be read" in said_of(tmp_path / ("x" * 300), sentence)


def test_no_permission(tmp_path, sentence, monkeypatch):
    def denied(*_, **__):
        raise PermissionError

    monkeypatch.setattr("pathlib.Path.open", denied)
    assert said_of(tmp_path / "people.csv", sentence) == "people.csv: no permission to read the file"


def test_a_pipe(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, b"a,b\n1,2\n")
    os.close(writing)
    assert read(f"/dev/fd/{reading}", ReadOptions()).table.rows == 1
    os.close(reading)
