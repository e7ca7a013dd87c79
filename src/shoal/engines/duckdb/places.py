"""What a path names: one file, the files of a folder or a pattern, or a table of a DuckDB database."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.engines.reading.content import open_content, shown
from shoal.engines.reading.many import PATTERN, files_of, is_many
from shoal.engines.reading.remote import local_path
from shoal.engines.reading.several import partitions
from shoal.engines.reading.sniff import format_of
from shoal.errors import BadData

DATABASES = {".duckdb", ".ddb", ".db"}
_READ = {"csv", "parquet"}


@dataclass(frozen=True)
class Place:
    """Files of one format, or a table of a database."""

    name: str
    """What errors call it."""
    format: str
    """csv, parquet or database."""
    files: tuple[Path, ...]
    table: str = ""
    """Of a database."""
    told: Mapping[str, pa.Array] = field(default_factory=dict)
    """Columns that the names of folders tell (`year=2024/`), one value per file."""


def many_or_database(source: Any) -> bool:
    """Whether a source is no single file: a folder, a pattern or a table of a database."""
    if not isinstance(source, str | os.PathLike):
        return False
    text = os.fsdecode(source)
    return _database(text) is not None or is_many(local_path(text))


def place_of(source: Any, engine: str = "duckdb") -> Place:
    """Find the files behind a path, or say in one sentence why there are none."""
    if not isinstance(source, str | os.PathLike):
        raise BadData(f"the {engine} engine reads files and databases, not this kind of frame; leave out the engine")
    text = os.fsdecode(source)
    if text == "-":
        raise BadData(
            f"-: the {engine} engine reads a table several times, so it cannot read standard input; name a file"
        )
    database = _database(text)
    if database is not None and engine != "duckdb":
        raise BadData(f"{database.name}: only the duckdb engine reads DuckDB databases")
    if database is not None:
        return database
    path = local_path(text)
    if path is None:
        raise BadData(f"{shown(Path(text).name)}: the {engine} engine reads files of this machine; use --engine arrow")
    name = shown(path.name or text)
    root, found = None, [path]
    if is_many(path):
        root, found = files_of(path, name)
    else:
        open_content(path)
    kinds = {format_of(open_content(each)) for each in found}
    if len(kinds) > 1:
        raise BadData(f"{name}: its files are of different formats ({', '.join(sorted(kinds))}); name those of one")
    (kind,) = kinds
    if kind not in _READ:
        raise BadData(f"{name}: the {engine} engine reads CSV and Parquet files, not {kind}")
    below = [file.relative_to(root) if root else file for file in found] if is_many(path) else []
    told = partitions(name, below) if below else {}
    if told and kind != "parquet":
        raise BadData(f"{name}: folders that name a column (key=value) are read of Parquet files only; rename them")
    return Place(name, kind, tuple(found), told=told)


def _database(text: str) -> Place | None:
    """`people.duckdb::table`; the table may be left out where there is only one."""
    file, _, table = text.partition("::")
    path = Path(file)
    if path.suffix.lower() not in DATABASES or path.is_dir():
        return None
    if not path.is_file():
        raise BadData(f"{shown(path.name)}: there is no such database")
    return Place(shown(path.name), "database", (path,), table)


def quoted(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def listed(files: tuple[Path, ...]) -> str:
    """Files as SQL lists them: paths, not patterns."""
    paths = ("".join(f"[{c}]" if c in PATTERN else c for c in str(file.absolute())) for file in files)
    return f"[{', '.join(quoted(path) for path in paths)}]"
