"""Read a path, standard input or a frame into a Source, or raise BadData with the reason."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from shoal.engine_port import ReadOptions, Source
from shoal.engines.reading.binary import (
    partition_columns,
    read_arrow,
    read_parquet,
    read_parquet_files,
    read_statistics,
)
from shoal.engines.reading.content import (
    Content,
    files_of,
    is_many,
    is_remote,
    local_path,
    open_content,
    open_remote,
    printable_name,
    unpack,
)
from shoal.engines.reading.csv_reader import read_csv, read_csv_files
from shoal.engines.reading.excel import read_excel
from shoal.engines.reading.input_frames import read_frame
from shoal.engines.reading.sniff import format_of
from shoal.errors import BadData

__all__ = ["read"]
_READERS: Mapping[str, Callable[[Content, ReadOptions], Source]] = {
    "csv": read_csv,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "excel": read_excel,
    "statistics": read_statistics,
}


def read(source: Any, options: ReadOptions) -> Source:
    """Read a path, an address, `-` for standard input, or a pandas, polars or pyarrow frame."""
    if not isinstance(source, str | os.PathLike):
        return read_frame(source, options)
    several, files = _open_files(source)
    if several:
        return _read_several(_name(source), [(path, unpack(content)) for path, content in files], options)
    content = unpack(files[0][1])
    return _READERS[format_of(content)](content, options)


def _read_several(name: str, files: Sequence[tuple[PurePath, Content]], options: ReadOptions) -> Source:
    kinds = sorted({format_of(content) for _, content in files})
    if len(kinds) > 1:
        raise BadData(f"{name}: its files are of different formats ({', '.join(kinds)}); name those of one")
    if kinds == ["parquet"]:
        return read_parquet_files(name, files, options)
    if kinds != ["csv"]:
        raise BadData(f"{name}: of several files, only CSV and Parquet are read, not {kinds[0]}; name one of them")
    if partition_columns(name, [path for path, _ in files]):
        raise BadData(f"{name}: folders that name a column (key=value) are read of Parquet files only; rename them")
    return read_csv_files(name, [content for _, content in files], options)


def _name(source: str | os.PathLike[str]) -> str:
    return printable_name(PurePath(os.fsdecode(source)).name)


def _open_files(source: str | os.PathLike[str]) -> tuple[bool, Sequence[tuple[PurePath, Content]]]:
    """Return whether a path or an address names several files, and each file with its path below the folder."""
    if is_remote(source):
        return open_remote(os.fsdecode(source))
    path = local_path(source)
    if source == "-" or path is None:
        return False, [(PurePath(), open_content(source))]
    if not is_many(path):
        return False, [(PurePath(), open_content(path))]
    root, files = files_of(path, _name(path))
    return True, [(file.relative_to(root) if root else file, open_content(file)) for file in files]
