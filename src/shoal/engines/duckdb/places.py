"""What a path names: one file, the files of a folder or a pattern, or a table of a DuckDB database."""

import glob
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.engines.reading.content import open_content, shown
from shoal.engines.reading.sniff import format_of
from shoal.errors import BadData

DATABASES = {".duckdb", ".ddb", ".db"}
_READ = {"csv", "parquet"}
_PATTERN = "*?["
_SUFFIXES = {".csv", ".tsv", ".txt", ".parquet"}


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


def many_or_database(source: Any) -> bool:
    """Whether a source is no single file: a folder, a pattern or a table of a database."""
    if not isinstance(source, str | os.PathLike):
        return False
    text = os.fsdecode(source)
    return _database(text) is not None or Path(text).is_dir() or _is_pattern(text)


def place_of(source: Any) -> Place:
    """Find the files behind a path, or say in one sentence why there are none."""
    if not isinstance(source, str | os.PathLike):
        raise BadData("the duckdb engine reads files and databases, not frames: leave out --engine duckdb")
    text = os.fsdecode(source)
    if text == "-":
        raise BadData("-: the duckdb engine reads a table several times, so it cannot read standard input; name a file")
    database = _database(text)
    if database is not None:
        return database
    path = Path(text)
    if path.is_dir():
        found = sorted(each for each in path.rglob("*") if each.is_file() and not each.name.startswith((".", "_")))
    elif _is_pattern(text):
        found = sorted(
            Path(each)
            for each in glob.glob(text, recursive=True)  # noqa: PTH207 - a pattern may be absolute
            if Path(each).is_file()
        )
    else:
        open_content(path)
        found = [path]
    name = shown(path.name or text)
    if path.is_dir() and not all(each.suffix.lower() in _SUFFIXES for each in found):
        raise BadData(f"{name}: this is a folder with other files than tables in it; name these by a pattern, '*.csv'")
    if not found:
        raise BadData(f"{name}: there are no files in it")
    kinds = {format_of(open_content(each)) for each in found}
    if len(kinds) > 1:
        raise BadData(f"{name}: its files are of different formats ({', '.join(sorted(kinds))}); name those of one")
    (kind,) = kinds
    if kind not in _READ:
        raise BadData(f"{name}: the duckdb engine reads CSV and Parquet files and DuckDB databases, not {kind}")
    return Place(name, kind, tuple(found))


def _is_pattern(text: str) -> bool:
    return any(c in text for c in _PATTERN) and not Path(text).exists()


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
    paths = ("".join(f"[{c}]" if c in _PATTERN else c for c in str(file.absolute())) for file in files)
    return f"[{', '.join(quoted(path) for path in paths)}]"
