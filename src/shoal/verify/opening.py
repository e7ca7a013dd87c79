"""A released file or table, read afresh into a private database."""

import csv
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import NotVerified

if TYPE_CHECKING:
    import duckdb


_UNDEFUSED = r"CASE WHEN c{0} ^@ '''' THEN regexp_replace(c{0}, '^''(''*[=+@\t\r\n-])', '\1') ELSE c{0} END AS c{0}"
"""A cell as it was before one ' was put in front of it; the same as `_undefused`, in SQL."""


@dataclass(frozen=True)
class Opened:
    """A release in a private database: its distinct rows as texts c0, c1, … with their count n, in `released`."""

    db: "duckdb.DuckDBPyConnection"
    typed: frozenset[str]
    """Columns that were not released as text but as numbers, dates …"""
    listed: bool = False
    """Whether `listed` has all rows, the same texts, as they follow each other: `rowid` counts them from 0."""


@contextmanager
def opened(
    data: Path | pa.Table, columns: Sequence[str], how: Mapping[str, Any], *, listed: bool = False
) -> Iterator[Opened]:
    """Open a file or a table that should have these columns; `how` tells how a CSV is written.

    `listed` keeps every row in its place too, for who knows where it came from.
    """
    import duckdb

    # what does not fit in memory spills to a private folder; nothing is fetched from anywhere
    with (
        tempfile.TemporaryDirectory(prefix="shoal-") as spill,
        duckdb.connect(config={"temp_directory": spill, "autoinstall_known_extensions": False}) as db,
    ):
        typed: frozenset[str] = frozenset()
        if isinstance(data, Path) and data.suffix != ".parquet":
            source, values = _csv(data, columns, how)
        else:
            table = _parquet(data) if isinstance(data, Path) else data
            _refuse_other_columns(table.column_names, columns)
            typed = frozenset(column.name for column in table.schema if not _is_text(column.type))
            texts = [words(column) for column in table.columns]
            db.register("given", pa.table(texts, names=[f"c{i}" for i in range(len(texts))]))
            source, values = "given", []
        try:
            _fill(db, source, values, len(columns), safe=bool(how.get("spreadsheet_safe")), listed=listed)
        except duckdb.Error:  # what it says may hold cells
            raise NotVerified("the released table cannot be read as its manifest says") from None
        yield Opened(db, typed, listed)


def _fill(
    db: "duckdb.DuckDBPyConnection", source: str, values: list[str], width: int, *, safe: bool, listed: bool
) -> None:
    cells = ", ".join(f"CAST(c{i} AS VARCHAR) AS c{i}" for i in range(width))
    undefused = ", ".join(_UNDEFUSED.format(i) if safe else f"c{i}" for i in range(width))
    if not listed:  # distinct rows are fewer
        grouped = f"SELECT {cells}, count(*) AS n FROM {source} GROUP BY ALL"
        db.execute(f"CREATE TEMP TABLE released AS SELECT {undefused}, n FROM ({grouped})", values)
        return
    db.execute("SET preserve_insertion_order = true")
    db.execute(f"CREATE TEMP TABLE listed AS SELECT {undefused} FROM (SELECT {cells} FROM {source})", values)
    db.execute("CREATE TEMP TABLE released AS SELECT *, count(*) AS n FROM listed GROUP BY ALL")


def _csv(file: Path, columns: Sequence[str], how: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The SQL that reads a CSV, and its parameters."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            header = next(csv.reader(lines, delimiter=how["delimiter"], quotechar=how["quote"]), [])
    except (csv.Error, UnicodeDecodeError):
        header = []
    _refuse_other_columns([_undefused(name) for name in header] if how.get("spreadsheet_safe") else header, columns)
    types = "{" + ", ".join(f"c{i}: 'VARCHAR'" for i in range(len(columns))) + "}"
    source = (
        f"read_csv(?, auto_detect=false, header=true, columns={types}, delim=?, quote=?, escape=?, nullstr=?, "
        "max_line_size=134217728)"
    )
    path = "".join(f"[{c}]" if c in "*?[" else c for c in str(file.absolute()))  # a path, not a pattern
    return source, [path, how["delimiter"], how["quote"], how["quote"], how["missing"]]


def _parquet(file: Path) -> pa.Table:
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(file).read()
    except (pa.ArrowException, OSError, ValueError):
        raise NotVerified("the released table is not a Parquet file, or it is damaged") from None


def _refuse_other_columns(found: Sequence[str], columns: Sequence[str]) -> None:
    if list(found) != list(columns):
        raise NotVerified("the released table has other columns than its manifest says")


def _undefused(text: str) -> str:
    """Without the one ' that keeps a spreadsheet from running a cell."""
    return text[1:] if text[:1] == "'" and text.lstrip("'")[:1] in set("=+-@\t\r\n") else text


def _is_text(of: pa.DataType) -> bool:
    plain = of.value_type if pa.types.is_dictionary(of) else of
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_null(plain))


def words(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Each value as text, however its type is stored: 12:30:00 and 12:30:00.000 are one time."""
    texts = values.cast(pa.string())
    if pa.types.is_timestamp(values.type) or pa.types.is_time(values.type):
        shorter = pc.replace_substring_regex(texts, r"(\.[0-9]*[1-9])0+\b", r"\1")
        return pc.replace_substring_regex(shorter, r"\.0+\b", "")
    return texts
