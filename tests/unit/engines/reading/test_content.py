"""Files that are not there, or are no files."""

import gzip
import os

import fsspec
import pyarrow as pa
import pytest

from shoal.engine_port import ReadOptions
from shoal.engines.reading import read
from shoal.engines.reading.content import files_of, open_content, open_remote
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


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_packed_files(packing, cells_of, tmp_path):
    path = tmp_path / f"people.csv.{packing}"
    with pa.output_stream(path, compression=packing) as stream:
        stream.write(b"age,sex\n31,f\n")
    source = read(path, ReadOptions())
    assert (source.format, source.name) == ("csv", path.name)
    assert cells_of(source, "age") == ["31"]


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_a_packed_file_that_is_a_bomb(packing, tmp_path, sentence):
    path = tmp_path / f"people.csv.{packing}"
    with pa.output_stream(path, compression=packing) as stream:
        for _ in range(16):
            stream.write(b"a" * (1 << 20))
    with pytest.raises(BadData) as caught:
        read(path, ReadOptions())
    said = sentence(caught.value)
    assert said == f"{path.name}: the file unpacks to more than 200 times its size; unpack it yourself"


def test_a_packed_file_that_is_cut_short(refused):
    packed = gzip.compress(b"age,sex\n31,CANARY-7f3\n" * 1000)
    said = refused(packed[:-20], "people.csv.gz")
    assert said == "people.csv.gz: this is not a gzip file, or it is damaged or cut short"


def test_a_pattern_hides_what_is_no_data_and_nothing_for_the_folders_it_names(tmp_path):
    folder = tmp_path / "_ours" / ".cache"
    folder.mkdir(parents=True)
    for name in ("a.csv", "_b.csv"):
        (folder / name).write_text("age\n31\n")
    (folder / "_SUCCESS").touch()
    assert [path.name for path in files_of(folder / "*", "x")[1]] == ["a.csv"]
    assert [path.name for path in files_of(tmp_path / "_ours" / ".cache" / "*.csv", "x")[1]] == ["a.csv"]
    assert [path.name for path in files_of(folder / "_*.csv", "x")[1]] == ["_b.csv"]


def test_a_remote_pattern_hides_the_same(monkeypatch):
    store = fsspec.filesystem("memory")
    for name in ("a.csv", "_b.csv", "_SUCCESS", "year=2024/_temporary/c.csv", "year=2024/d.csv"):
        store.pipe(f"/_parent/people/{name}", b"age\n31\n")
    try:
        assert [str(path.name) for path, _ in open_remote("memory://_parent/people/*")[1]] == ["a.csv"]
        assert [path.name for path, _ in open_remote("memory://_parent/people/**/*.csv")[1]] == ["a.csv", "d.csv"]
        assert [path.name for path, _ in open_remote("memory://_parent/people/_*.csv")[1]] == ["_b.csv"]
        assert [path.name for path, _ in open_remote("memory://_parent/people")[1]] == ["a.csv", "d.csv"]
    finally:
        store.rm("/_parent", recursive=True)


def test_the_lock_file_of_a_workbook_is_named(refused):
    said = "~$people.xlsx: this is the lock file of an open workbook; take people.xlsx"
    assert refused(b"\x05Anna", "~$people.xlsx") == said


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_device_without_an_end(device):
    with pytest.raises(BadData, match=r"^(zero|urandom): this is a device, which may have no end; name a file$"):
        open_content(device)


def test_nothing_is_empty():
    with pytest.raises(BadData, match=r"^null: the file is empty"):
        open_content("/dev/null")
