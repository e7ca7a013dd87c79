"""Reads a path, standard input or a frame into a Source, or says in a sentence why not."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from shoal.engine_port import ReadOptions, Source
from shoal.engines.reading.binary import read_arrow, read_parquet, read_several
from shoal.engines.reading.content import (
    Content,
    files_of,
    is_many,
    is_remote,
    local_path,
    open_content,
    open_remote,
    shown,
)
from shoal.engines.reading.csv_reader import read_csv
from shoal.engines.reading.excel import read_excel
from shoal.engines.reading.input_frames import read_frame
from shoal.engines.reading.sniff import format_of

__all__ = ["read"]
_READERS: Mapping[str, Callable[[Content, ReadOptions], Source]] = {
    "csv": read_csv,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "excel": read_excel,
}


def read(source: Any, options: ReadOptions) -> Source:
    """Read a path, an address, `-` for standard input, or a pandas, polars or pyarrow frame."""
    if not isinstance(source, str | os.PathLike):
        return read_frame(source, options)
    several, files = _opened(source)
    if several:
        return read_several(_name(source), files, options)
    ((_, content),) = files
    return _READERS[format_of(content)](content, options)


def _name(source: str | os.PathLike[str]) -> str:
    return shown(PurePath(os.fsdecode(source)).name)


def _opened(source: str | os.PathLike[str]) -> tuple[bool, Sequence[tuple[PurePath, Content]]]:
    """Whether a path or an address names several files, and each of them with its path below their folder."""
    if is_remote(source):
        return open_remote(os.fsdecode(source))
    path = local_path(source)
    if source == "-" or path is None:
        return False, [(PurePath(), open_content(source))]
    if not is_many(path):
        return False, [(PurePath(), open_content(path))]
    root, files = files_of(path, _name(path))
    return True, [(file.relative_to(root) if root else file, open_content(file)) for file in files]
