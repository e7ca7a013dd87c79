"""Reads a released file or table afresh into a private database, and numbers the classes of its rows."""

import csv
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import BadInput, NotVerified
from shoal.labels.scale import TOP, to_texts
from shoal.runtime.memory import explain_memory_error
from shoal.runtime.tempdir import SPILL, Scratch
from shoal.verify.claim import Claim
from shoal.verify.original_table import Lookup
from shoal.verify.release_files import PartitionFiles, escape_glob

if TYPE_CHECKING:
    import duckdb


def classify(db: "duckdb.DuckDBPyConnection", claim: Claim) -> None:
    """Create `classed`: the distinct released rows with the number of their class, from 0.

    Classes are fewer than rows, and only they are sorted.
    """
    cells = quasi_cells(claim)
    listed = ", ".join(cells)
    db.execute(
        f"CREATE OR REPLACE TEMP TABLE classes AS SELECT *, row_number() OVER (ORDER BY {listed}) - 1 AS class "
        f"FROM (SELECT DISTINCT {listed} FROM released)"
    )
    same = " AND ".join(f"r.{cell} IS NOT DISTINCT FROM k.{cell}" for cell in cells)
    db.execute(f"CREATE OR REPLACE TEMP TABLE classed AS SELECT r.*, k.class FROM released r JOIN classes k ON {same}")


def place_rows(db: "duckdb.DuckDBPyConnection", claim: Claim) -> None:
    """Create `placed`: every listed row with the number that its class has in `classed`."""
    same = " AND ".join(f"l.{cell} IS NOT DISTINCT FROM k.{cell}" for cell in quasi_cells(claim))
    db.execute(
        "CREATE OR REPLACE TEMP TABLE placed AS "
        f"SELECT l.rowid AS row, k.class FROM listed l JOIN {classes_sql(claim)} k ON {same}"
    )


def classes_sql(claim: Claim) -> str:
    """Return SQL for all classes, each with the cells it shows."""
    return f"(SELECT class, {', '.join(quasi_cells(claim))} FROM classes)"


def starred_sql(claim: Claim) -> str:
    """Return the SQL condition for a row that shows nothing: all `*`, and null in place of statistics."""
    return " AND ".join(
        f"coalesce({cell}, '{TOP}') = '{TOP}'" if name in claim.statistics else f"{cell} IS NOT DISTINCT FROM '{TOP}'"
        for name, cell in zip(claim.quasi_identifiers, quasi_cells(claim), strict=True)
    )


def quasi_cells(claim: Claim) -> list[str]:
    """Return the names of the quasi-identifiers in the database."""
    return [f"c{claim.columns.index(name)}" for name in claim.quasi_identifiers]


def query_number(db: "duckdb.DuckDBPyConnection", query: str) -> int:
    ((found,),) = db.execute(query).fetchall()  # all: an unfinished result blocks the connection
    return int(found)


def query_numbers(db: "duckdb.DuckDBPyConnection", query: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    column = db.sql(query).to_arrow_table().column(0).combine_chunks()
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)


def query_arrays(db: "duckdb.DuckDBPyConnection", query: str) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    found = db.sql(query).to_arrow_table()
    return [np.asarray(c.combine_chunks().to_numpy(zero_copy_only=False), dtype=np.int64) for c in found.columns]


_UNDEFUSED = (
    r"CASE WHEN contains(c{0}, '''') THEN regexp_replace(regexp_replace(c{0}, '^''(''*[=+@\t\r\n＝＋－＠-])', '\1'), "
    r"'([;,|\t\r\n])''(''*[=+@＝＋－＠-])', '\1\2', 'g') ELSE c{0} END AS c{0}"
)
"""SQL of a cell as it was before one ' was put in front of each formula; it does the same as `_undefused`."""


@dataclass(frozen=True)
class OpenedRelease:
    """A release in a private database: its distinct rows as texts c0, c1, … with their count n, in `released`."""

    db: "duckdb.DuckDBPyConnection"
    typed: frozenset[str]
    """Columns that were not released as text but as numbers, dates …"""
    listed: bool = False
    """Whether `listed` has all rows, the same texts, as they follow each other: `rowid` counts them from 0."""


ALONE: Mapping[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
}
"""Settings of a database that fetches and loads no code."""


def is_utf8(path: Path) -> bool:
    """Whether a path can be told to a database: not every name of a file is UTF-8."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def connect(folder: Path, files: Sequence[Path], **settings: Any) -> "duckdb.DuckDBPyConnection":
    """Open a private database that may read these files, and read and write its own folder, into which it spills.

    It reaches nothing else: no other file, no network, no extension; this cannot be undone while it runs. Shoal opens
    databases nowhere else.
    """
    import duckdb

    for path in (folder.absolute(), *(file.absolute() for file in files)):
        if not is_utf8(path):
            raise BadInput(
                "the path of a file or folder is not written in UTF-8, so that no database can open it; rename it"
            )
    db = duckdb.connect(config={"temp_directory": str(folder), **ALONE, **settings})
    hide_progress(db)
    own, *paths = (str(path.absolute()).replace("'", "''") for path in (folder, *files))
    # files may be addressed by an escaped pattern; a database may have a write-ahead log (.wal) beside it
    allowed = [*paths, *map(escape_glob, files), *(f"{path}.wal" for path in paths)]
    db.execute("SET allowed_paths = [" + ", ".join(f"'{path}'" for path in allowed) + "]")
    db.execute(f"SET allowed_directories = ['{own}']")
    db.execute("SET enable_external_access = false")
    return db


@dataclass(frozen=True)
class Room:
    """What a private database may use: so many bytes of memory, a folder to spill into, and files to read."""

    memory: int | None = None
    folder: Path | None = None
    files: tuple[Path, ...] = ()
    """Files that it reads beside those that it is opened for."""

    @contextmanager
    def database(self, files: Iterable[Path] = ()) -> Iterator["duckdb.DuckDBPyConnection"]:
        """Open a private database that spills what does not fit in memory to a private folder, and reads these files.

        It reads nothing else, and fetches nothing.
        """
        scratch = Scratch(self.folder or Path(tempfile.gettempdir()), SPILL)
        settings: dict[str, Any] = {}
        if self.memory is not None:
            settings |= {"memory_limit": f"{self.memory // 2}B", "preserve_insertion_order": False}
        try:
            with connect(scratch.path, [*files, *self.files], **settings) as db:
                yield db
        finally:
            scratch.close()


def hide_progress(db: "duckdb.DuckDBPyConnection") -> None:
    """Switch off the progress bar, which goes to stdout; some notebooks have it off and refuse the setting."""
    if db.execute("SELECT current_setting('enable_progress_bar')").fetchall() != [(False,)]:
        db.execute("SET enable_progress_bar = false")


@contextmanager
def opened(
    data: Path | pa.Table,
    columns: Sequence[str],
    how: Mapping[str, Any],
    *,
    listed: bool = False,
    times: NDArray[np.int64] | None = None,
    room: Room | None = None,
) -> Iterator[OpenedRelease]:
    """Open a file or a table that should have these columns; `how` tells how a CSV is written.

    `listed` also keeps all rows in their order, for comparison along a row map. `times` says how often each row of a
    table counts.
    """
    import duckdb

    parquet = isinstance(data, Path) and (data.is_dir() or data.suffix == ".parquet")
    given = PartitionFiles.of(data, how.get("partitions") or {}) if isinstance(data, Path) and parquet else data
    files = [given] if isinstance(given, Path) else given.files if isinstance(given, PartitionFiles) else ()
    with (room or Room()).database(files) as db:
        typed: frozenset[str] = frozenset()
        many = "count(*)"
        if isinstance(given, Path):
            source, values = _csv(given, columns, how)
        elif (
            isinstance(given, PartitionFiles)
            and not listed
            and (found := _large_parquet(db, given, columns)) is not None
        ):
            (source, typed), values, many = found, [], "sum(n)::BIGINT"
        else:
            table = _parquet(given, columns) if isinstance(given, PartitionFiles) else given
            _refuse_other_columns(table.column_names, columns)
            typed = frozenset(column.name for column in table.schema if not _is_text(column.type))
            texts = [to_texts(column) for column in table.columns]
            cells = pa.table(texts, names=[f"c{i}" for i in range(len(texts))])
            if times is not None:
                cells, many = cells.append_column("n", pa.array(times)), "sum(n)::BIGINT"
            db.register("given", cells)
            source, values = "given", []
        try:
            with explain_memory_error():
                if listed:
                    _fill_listed(db, source, values, len(columns), safe=bool(how.get("spreadsheet_safe")))
                else:
                    _fill_released(db, source, values, len(columns), safe=bool(how.get("spreadsheet_safe")), many=many)
        except duckdb.Error:  # what it says may hold cells
            raise NotVerified("the released table cannot be read as its manifest says") from None
        yield OpenedRelease(db, typed, listed)


def _fill_released(
    db: "duckdb.DuckDBPyConnection", source: str, values: list[str], width: int, *, safe: bool, many: str
) -> None:
    """Create `released`, the distinct rows with their counts; grouping first makes all else cheaper."""
    grouped = f"SELECT {_cells(width)}, {many} AS n FROM {source} GROUP BY ALL"
    db.execute(f"CREATE TEMP TABLE released AS SELECT {_undefused_cells(width, safe=safe)}, n FROM ({grouped})", values)


def _fill_listed(db: "duckdb.DuckDBPyConnection", source: str, values: list[str], width: int, *, safe: bool) -> None:
    """Create `listed`, all rows in their order, and `released`, the distinct ones with their counts."""
    db.execute("SET preserve_insertion_order = true")
    rows = f"SELECT {_undefused_cells(width, safe=safe)} FROM (SELECT {_cells(width)} FROM {source})"
    db.execute(f"CREATE TEMP TABLE listed AS {rows}", values)
    db.execute("CREATE TEMP TABLE released AS SELECT *, count(*) AS n FROM listed GROUP BY ALL")


def _cells(width: int) -> str:
    return ", ".join(f"CAST(c{i} AS VARCHAR) AS c{i}" for i in range(width))


def _undefused_cells(width: int, *, safe: bool) -> str:
    return ", ".join(_UNDEFUSED.format(i) if safe else f"c{i}" for i in range(width))


def _large_parquet(
    db: "duckdb.DuckDBPyConnection", parts: PartitionFiles, columns: Sequence[str]
) -> tuple[str, frozenset[str]] | None:
    """Return SQL for the distinct rows of Parquet files as texts, grouped by DuckDB, and the columns that are not text.

    Return None if DuckDB and Arrow read the type of a column differently. Arrow turns numbers and dates into text,
    once per distinct value.
    """
    schema = _ordered_schema(parts, columns)
    if not all(any(of(column.type) for of in _AS_IN_ARROW) for column in schema):
        return None
    typed = {i: column for i, column in enumerate(schema) if not _is_text(column.type)}
    rows = parts.query(db, columns)
    db.execute(f"CREATE TEMP TABLE grouped AS SELECT *, count(*) AS n FROM ({rows}) GROUP BY ALL")
    # one table per typed column: the text of each distinct value, as Arrow writes it
    for i, column in typed.items():
        values = db.sql(f"SELECT DISTINCT c{i} AS value FROM grouped WHERE c{i} IS NOT NULL").to_arrow_table()["value"]
        db.register("values_given", pa.table({"value": values, "text": to_texts(values.cast(column.type))}))
        db.execute(f"CREATE TEMP TABLE words{i} AS FROM values_given")
        db.unregister("values_given")
    lookup = Lookup(db, "grouped")
    texts = {i: lookup.join(f"LEFT JOIN words{i} {{0}} ON s.c{i} = {{0}}.value", "{0}.text") for i in typed}
    cells = ", ".join(f"{texts[i]} AS c{i}" if i in texts else f"s.c{i}" for i in range(len(columns)))
    return f"(SELECT {cells}, n FROM {lookup.rows()} s)", frozenset(column.name for column in typed.values())


def _ordered_schema(parts: PartitionFiles, columns: Sequence[str]) -> pa.Schema:
    """Return the schema in the column order of the manifest, partition columns included."""
    inside = [name for name in columns if name not in parts.told.column_names]
    _refuse_other_columns(parts.schema.names, [*inside, *parts.told.column_names])
    return pa.schema([parts.schema.field(name) for name in columns])


_AS_IN_ARROW = (
    pa.types.is_string,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_date,
    lambda of: pa.types.is_timestamp(of) and of.tz is None,
    pa.types.is_decimal128,
)


def _csv(file: Path, columns: Sequence[str], how: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return SQL that reads a CSV, and its parameters."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            header = next(csv.reader(lines, delimiter=how["delimiter"], quotechar=how["quote"]), [])
    except (csv.Error, TypeError, ValueError):  # what it says may hold cells
        header = []
    _refuse_other_columns([_undefused(name) for name in header] if how.get("spreadsheet_safe") else header, columns)
    types = "{" + ", ".join(f"c{i}: 'VARCHAR'" for i in range(len(columns))) + "}"
    # DuckDB takes a \r in a name for the end of the header, and finds no rows, unless it is told how lines end
    ends = r"new_line='\n', " if any("\r" in name for name in columns) else ""
    source = (
        f"read_csv(?, auto_detect=false, header=true, columns={types}, delim=?, quote=?, escape=?, nullstr=?, "
        f"{ends}max_line_size=134217728)"
    )
    path = escape_glob(file).replace("''", "'")
    return source, [path, how["delimiter"], how["quote"], how["quote"], how["missing"]]


def _parquet(parts: PartitionFiles, columns: Sequence[str]) -> pa.Table:
    _ordered_schema(parts, columns)
    try:
        return parts.read().select(list(columns))
    except (pa.ArrowException, OSError, ValueError):
        raise NotVerified("the released table is not a Parquet file, or it is damaged") from None


def _refuse_other_columns(found: Sequence[str], columns: Sequence[str]) -> None:
    if list(found) != list(columns):
        raise NotVerified("the released table has other columns than its manifest says")


def _undefused(text: str) -> str:
    """Return a text without the ' that keeps a spreadsheet from running it, or a part of it, as a formula."""
    text = text[1:] if text[:1] == "'" and text.lstrip("'")[:1] in set("=+-@\t\r\n＝＋－＠") else text
    return re.sub(r"([;,|\t\r\n])'('*[=+@＝＋－＠-])", r"\1\2", text)


def _is_text(of: pa.DataType) -> bool:
    plain = of.value_type if pa.types.is_dictionary(of) else of
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_null(plain))
