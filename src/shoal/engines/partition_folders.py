"""Split a released Parquet file into folders named by column values: `region=north/part-0.parquet`."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.table_writer import CHUNK, ROW_GROUP
from shoal.errors import BadInput

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetWriter

MOST = 500
"""Maximum number of folders of a release: each has a file that stays open until all rows are written."""
NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class PartitionedFile:
    """The folders that a file was split into."""

    sha256: str
    """Hash of the list that `sha256sum` prints for the files, sorted by path."""
    kinds: dict[str, str]
    """Whether a column in the folders' names is text or integer."""
    order: NDArray[np.int64]
    """Rows of the original file in their new order: by path of the new file, and within it as before."""


def refuse_partitions(by: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse columns after which folders cannot be named, once the released columns are known."""
    unknown = [name for name in by if name not in columns]
    if unknown:
        raise BadInput(f"partition by {unknown[0]!r}: no released column is called that")
    if len(set(by)) < len(by):
        raise BadInput("partition by: a column is named twice")
    hidden = [name for name in by if name.startswith(("_", "."))]
    if hidden:
        raise BadInput(
            f"partition by {hidden[0]!r}: Arrow, Spark and others skip folders whose names begin with _ or a dot; "
            "partition by another column"
        )
    if len(by) == len(columns):
        raise BadInput("partition by: the files would have no column left; leave one out")


def partition_file(file: Path, folder: Path, by: Sequence[str]) -> PartitionedFile:
    """Split the rows of a file into folders below a new folder, and remove the file."""
    from pyarrow import parquet

    with parquet.ParquetFile(file) as whole:
        schema = whole.schema_arrow
        kinds = {name: _kind(name, schema.field(name).type) for name in by}
        writers: dict[str, ParquetWriter] = {}
        dealt = []
        try:
            for at in range(whole.num_row_groups):
                rows = whole.read_row_group(at)
                paths, which = _paths(rows, by)
                for number, path in enumerate(paths):
                    some = rows.filter(pa.array(which == number)).drop_columns(list(by))
                    if path not in writers:
                        writers[path] = _writer(folder, path, some.schema, len(writers))
                    writers[path].write_table(some, row_group_size=ROW_GROUP)
                known = {path: number for number, path in enumerate(writers)}
                dealt.append(np.array([known[path] for path in paths], dtype=np.int32)[which])
        finally:
            for writer in writers.values():
                writer.close()
    file.unlink()
    if not writers:
        raise BadInput("partition by: no row is released, so there is no folder to name")
    # [folder, in order of creation] its rank among the sorted paths
    rank = np.empty(len(writers), dtype=np.int32)
    rank[np.argsort(np.array(list(writers)))] = np.arange(len(writers))
    return PartitionedFile(_hash_files(folder), kinds, np.argsort(rank[np.concatenate(dealt)], kind="stable"))


def _kind(name: str, of: pa.DataType) -> str:
    """Return "text" or "integer"; refuse columns of other types."""
    if not (pa.types.is_string(of) or pa.types.is_integer(of)):
        raise BadInput(f"partition by {name!r}: folders are named after texts and whole numbers, and this is neither")
    return "text" if pa.types.is_string(of) else "integer"


def _paths(rows: pa.Table, by: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the paths of the folders for these rows, and the index of the path of each row."""
    # [row] number of its combination of values in the columns so far, refined column by column
    which = np.zeros(rows.num_rows, dtype=np.int64)
    paths = [""]
    for name in by:
        coded = rows[name].combine_chunks().dictionary_encode(null_encoding="encode")
        values = coded.dictionary.to_pylist()
        pairs, which = np.unique(which * len(values) + coded.indices.to_numpy(), return_inverse=True)
        paths = [
            f"{paths[pair // len(values)]}{_folder_name(name, values[pair % len(values)])}/" for pair in pairs.tolist()
        ]
    return paths, which


def _folder_name(name: str, value: str | int | None) -> str:
    """Return the name of a folder, percent-encoded so that it is never taken for a path or a pattern."""
    if value == NULL:
        raise BadInput(f"partition by {name!r}: it holds the text that means null in the name of a folder")
    return f"{quote(name, safe='')}={NULL if value is None else quote(str(value), safe='')}"


def _writer(folder: Path, path: str, schema: pa.Schema, known: int) -> "ParquetWriter":
    """Open the file of a new folder; `known` is the number of folders so far."""
    from pyarrow import parquet

    if known == MOST:
        raise BadInput(f"partition by: more than {MOST} folders would be needed; partition by fewer or coarser columns")
    (folder / path).mkdir(parents=True)
    return parquet.ParquetWriter(folder / path / "part-0.parquet", schema, write_batch_size=CHUNK)


def _hash_files(folder: Path) -> str:
    """Return the hash of the list of hashes that `sha256sum` would print for the files, sorted by path."""
    lines = []
    for file in folder.rglob("*.parquet"):
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        lines.append((os.fsencode(file.relative_to(folder)), digest))
    return hashlib.sha256(
        b"".join(digest.encode() + b"  ./" + path + b"\n" for path, digest in sorted(lines))
    ).hexdigest()
