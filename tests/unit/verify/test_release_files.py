"""Files of a release: found directly in its folder, regular, and as they were published."""

import hashlib

import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.errors import BadInput, NotVerified
from shoal.verify.release_files import PartitionFiles, published_table, table_in


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data.csv").write_text("age\n31\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "link.csv").symlink_to("/etc/passwd")
    return tmp_path


def test_a_table_is_a_regular_file_or_a_folder(folder):
    assert table_in(folder, "data.csv") == folder / "data.csv"
    assert table_in(folder, "data") == folder / "data"
    with pytest.raises(BadInput):
        table_in(folder, "link.csv")


@pytest.mark.parametrize("name", [None, "", "nix.csv", "../data.csv", "data/../data.csv", "/etc/passwd", ".", "a\0b"])
def test_a_table_lies_directly_in_its_folder(folder, name):
    with pytest.raises(BadInput, match="the released table is missing"):
        table_in(folder, name)


def test_a_table_is_the_one_that_was_published(folder):
    sha256 = hashlib.sha256(b"age\n31\n").hexdigest()
    assert published_table(folder, "data.csv", sha256) == folder / "data.csv"
    for other in (sha256.replace("a", "b"), "", None):
        with pytest.raises(NotVerified, match="was changed since it was published"):
            published_table(folder, "data.csv", other)


def test_parts_of_a_table_tell_their_partitions(folder):
    """An empty folder is no table; each part is read from the folder that names its value."""
    with pytest.raises(NotVerified):
        PartitionFiles.of(folder / "data", {"sex": "text"})
    for sex in ("f", "m"):
        part = folder / "data" / f"sex={sex}"
        part.mkdir()
        parquet.write_table(pa.table({"age": [31]}), part / "part-0.parquet")
    found = PartitionFiles.of(folder / "data", {"sex": "text"})
    assert [file.parent.name for file in found.files] == ["sex=f", "sex=m"]
    assert found.told["sex"].to_pylist() == ["f", "m"]
    assert found.schema.names == ["age", "sex"]
