"""Tables of PostgreSQL: read as Arrow, and written in one transaction whose rows are read back before the commit."""

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from shoal.engine_port import ReadOptions, Source
from shoal.engines.postgres.connection import (
    Postgres,
    call_driver,
    explain_database_error,
    open_connection,
    quote_identifier,
    quote_literal,
    refuse_name,
    run,
)
from shoal.engines.reading.assemble import assemble, check_names, check_type, null_marker
from shoal.errors import REPLACE_IT, BadData, BadInput, BadOutput

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection

_TYPE = b"POSTGRESQL:type"
_AS_THEY_ARE = {"int2", "int4", "int8", "float4", "float8", "bool", "text", "varchar", "name", "time"}
_CAN_BE_ENDLESS = {"date", "timestamp", "timestamptz"}
_MOST_DIGITS = 38
_PER_BYTE = 3
_ROW_GROUP = 1 << 17


@dataclass(frozen=True)
class _Snapshot:
    """The rows of a table, read in a transaction that sees them as they were at its beginning."""

    reader: pa.RecordBatchReader
    schema: pa.Schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self.reader:
            cells = [_cast(column, of) for column, of in zip(batch.columns, self.schema.types, strict=True)]
            yield pa.record_batch(cells, schema=self.schema)


def read_postgres(source: Postgres, options: ReadOptions) -> Source:
    """Read a table, a view or a query into memory."""
    with _open_snapshot(source) as rows, explain_database_error(source.name):
        table = pa.Table.from_batches(rows, rows.schema)
    columns = dict(zip(table.column_names, table.columns, strict=True))
    return Source(
        assemble(source.name, columns, options), format="database", name=source.name, missing=null_marker(options)
    )


def spill_postgres(source: Postgres, folder: Path) -> Path:
    """Copy a table, a view or a query, batch by batch, into a Parquet file in a private folder."""
    from pyarrow import parquet

    file = folder / "postgres.parquet"
    with (
        _open_snapshot(source) as rows,
        parquet.ParquetWriter(file, rows.schema) as writer,
        explain_database_error(source.name),
    ):
        for batch in rows:
            writer.write_batch(batch, row_group_size=_ROW_GROUP)
    return file


def estimate_memory(source: Postgres) -> int:
    """Estimate the bytes of memory that a table takes; 0 for views and queries, whose size is not known."""
    if source.query_file is not None:
        return 0
    with open_connection(source) as db, explain_database_error(source.name):
        ((size,),) = run(db, f"SELECT pg_catalog.pg_table_size('{source.sql.replace(chr(39), chr(39) * 2)}'::regclass)")
    return int(size) * _PER_BYTE


@contextmanager
def _open_snapshot(source: Postgres) -> Iterator[_Snapshot]:
    """Open the rows of a table, a view or a query in a read-only transaction."""
    with open_connection(source) as db:
        with explain_database_error(source.name):
            run(db, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            given = _from_clause(source)
            with db.cursor() as asking:
                schema = call_driver(asking, partial(asking.adbc_execute_schema, f"SELECT * FROM {given}"))
        check_names(source.name, schema.names)
        kinds = {field.name: (field.metadata or {}).get(_TYPE, b"").decode() for field in schema}
        with explain_database_error(source.name):
            scales = _scales(source.name, db, given, kinds)
        cells = ", ".join(_cell(name, kind) for name, kind in kinds.items())
        with db.cursor() as cursor:
            with explain_database_error(source.name):
                call_driver(cursor, partial(cursor.execute, f"SELECT {cells} FROM {given}"))
                reader = cursor.fetch_record_batch()
            fields = [
                (field.name, pa.decimal128(_MOST_DIGITS, scales[field.name]) if field.name in scales else field.type)
                for field in reader.schema
            ]
            for name, of in fields:
                check_type(source.name, name, of)
            yield _Snapshot(reader, pa.schema(fields))


def _from_clause(source: Postgres) -> str:
    """Return what follows FROM in SQL: the table, or the query in brackets."""
    if source.query_file is None:
        return source.sql
    try:
        query = source.query_file.read_text("utf-8").strip().rstrip(";")
    except (OSError, ValueError):
        raise BadData(f"{source.name}: the file with the query cannot be read") from None
    return f"(\n{query}\n) AS given"


def _cell(name: str, kind: str) -> str:
    """Return SQL for a column, cast to text if needed; bytes and arrays stay, so that they are refused by name."""
    cell = quote_identifier(name)
    if kind in _AS_THEY_ARE | _CAN_BE_ENDLESS | {"numeric", "bytea"} or kind.startswith("_"):
        return cell
    return f"CAST({cell} AS text) AS {cell}"


def _scales(name: str, db: "Connection", given: str, kinds: dict[str, str]) -> dict[str, int]:
    """Return the number of decimals of each numeric column; refuse numbers and dates that Arrow cannot represent."""
    numeric = [column for column, kind in kinds.items() if kind == "numeric"]
    floats = [column for column, kind in kinds.items() if kind in {"float4", "float8"}]
    dates = [column for column, kind in kinds.items() if kind in _CAN_BE_ENDLESS]
    # two sizes of each numeric column, then for each numeric, float and date column whether it has NaN or infinity
    asked = [
        *(f"max(scale({quote_identifier(c)})), max(length(trunc(abs({quote_identifier(c)}))::text))" for c in numeric),
        *(f"bool_or({quote_identifier(c)}::text ~ '[NI]')" for c in numeric),
        *(f"bool_or({quote_identifier(c)} IN ('NaN', 'Infinity', '-Infinity'))" for c in floats),
        *(f"bool_or(NOT isfinite({quote_identifier(c)}))" for c in dates),
    ]
    if not asked:
        return {}
    (found,) = run(db, f"SELECT {', '.join(asked)} FROM {given}")
    sizes, odd = found[: 2 * len(numeric)], found[2 * len(numeric) :]
    for column, is_odd in zip([*numeric, *floats, *dates], odd, strict=True):
        if is_odd:
            raise BadData(
                f"{name}: column {column!r} holds NaN or infinity; leave them out, or read a view without them"
            )
    scales = {column: int(sizes[2 * i] or 0) for i, column in enumerate(numeric)}
    for i, column in enumerate(numeric):
        if int(sizes[2 * i + 1] or 0) + scales[column] > _MOST_DIGITS:
            raise BadData(
                f"{name}: column {column!r} has numbers of more than {_MOST_DIGITS} digits; round them, or turn them "
                "into text in a view"
            )
    return scales


def _cast(column: pa.Array, of: pa.DataType) -> pa.Array:
    storage = column.storage if isinstance(column, pa.ExtensionArray) else column
    return storage if storage.type == of else storage.cast(of)


_MARK = "Shoal release, sha256 "
"""Beginning of the comment on tables that Shoal has written; a table without it is never replaced."""
_PATIENCE = "30s"
_FAILED = "the release could not be stored; the table is as it was"
_PLAIN = {
    pa.bool_(): "boolean",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.date32(): "date",
    pa.time64("us"): "time",
}
_WIDER = {
    pa.int8(): pa.int16(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.null(): pa.string(),
    pa.date64(): pa.date32(),
    pa.time32("s"): pa.time64("us"),
    pa.time32("ms"): pa.time64("us"),
    pa.time64("ns"): pa.time64("us"),
}


@dataclass
class StoredTable:
    """A table that other connections do not see until `commit`."""

    target: Postgres
    db: "Connection" = field(repr=False)
    force: bool
    schema: pa.Schema | None = None
    _made: str = field(default_factory=lambda: f"shoal_{secrets.token_hex(8)}")
    _mark: str = ""
    _number: int = 0
    """Number of the transaction, by which another connection can find out whether it was committed."""

    def fill(self, rows: pa.RecordBatchReader) -> None:
        """Copy the rows into a new table."""
        self.schema = rows.schema
        kept = pa.schema([(each.name, _storable_type(self.target.name, each)) for each in rows.schema])
        for each in kept:
            refuse_name(self.target.name, each.name)
        cells = ", ".join(f"{quote_identifier(each.name)} {_sql_type(each.type)}" for each in kept)
        fitting = (pa.record_batch([c.cast(f.type) for c, f in zip(b.columns, kept, strict=True)], kept) for b in rows)
        with explain_database_error(self.target.name, BadOutput, _FAILED):
            run(self.db, f"SET LOCAL lock_timeout = '{_PATIENCE}'", f"CREATE TABLE {self._new_table} ({cells})")
            ((self._number,),) = run(self.db, "SELECT pg_catalog.txid_current()")
            with self.db.cursor() as cursor:
                batches = pa.RecordBatchReader.from_batches(kept, fitting)
                ingest = partial(cursor.adbc_ingest, mode="append", db_schema_name=self.target.names[0])
                call_driver(cursor, partial(ingest, self._made, batches))

    @contextmanager
    def read_again(self) -> Iterator[pa.RecordBatchReader]:
        """Read the rows back from the database, in the types in which they were released."""
        assert self.schema is not None
        schema = self.schema
        cells = ", ".join(quote_identifier(name) for name in schema.names)
        with self.db.cursor() as cursor:
            with explain_database_error(self.target.name, BadOutput, _FAILED):
                call_driver(cursor, partial(cursor.execute, f"SELECT {cells} FROM {self._new_table}"))
                reader = cursor.fetch_record_batch()

            def typed() -> Iterator[pa.RecordBatch]:
                for batch in reader:
                    columns = [c.storage if isinstance(c, pa.ExtensionArray) else c for c in batch.columns]
                    yield pa.record_batch([c.cast(f.type) for c, f in zip(columns, schema, strict=True)], schema)

            yield pa.RecordBatchReader.from_batches(schema, typed())

    def replace(self, sha256: str) -> None:
        """Give the new table its final name, replacing an older release, and mark it as ours; not yet visible."""
        with explain_database_error(self.target.name, BadOutput, _FAILED):
            older = _refuse_existing(self.db, self.target, force=self.force)
            self._mark = json.dumps({"table": self.target.names, "older": older, "newer": _MARK + sha256})
            if self.force:
                run(self.db, f"DROP TABLE IF EXISTS {self.target.sql}")
            run(
                self.db,
                f"ALTER TABLE {self._new_table} RENAME TO {quote_identifier(self.target.names[1])}",
                f"COMMENT ON TABLE {self.target.sql} IS {quote_literal(_MARK + sha256)}",
            )

    def mark(self) -> str:
        """Return what tells, in case this process is killed while it commits, whether it did (`was_stored`)."""
        return self._mark

    def commit(self) -> None:
        """Commit the transaction; if the connection is lost meanwhile, ask by another one whether it was committed."""
        from adbc_driver_manager import Error

        try:
            self.db.commit()
        except Error:
            if self._outcome() != "committed":
                raise BadOutput(f"{self.target.name}: {_FAILED}") from None

    def _outcome(self) -> str:
        """Return "committed" or "aborted", asked by a new connection; raise BadOutput if that is not known."""
        try:
            with open_connection(self.target) as other, explain_database_error(self.target.name):
                ((status,),) = run(other, f"SELECT pg_catalog.txid_status({self._number})")
        except BadInput:
            status = None
        if status in {"committed", "aborted"}:
            return str(status)
        raise BadOutput(
            f"{self.target.name}: the connection was lost while the release was committed, so whether the table was "
            "replaced is not known; the folders are as they were: run it again with --force (in Python force=True)"
        )

    @property
    def _new_table(self) -> str:
        return f"{quote_identifier(self.target.names[0])}.{quote_identifier(self._made)}"


@contextmanager
def storage_transaction(target: Postgres, *, force: bool) -> Iterator[StoredTable]:
    """Open a transaction that stores a release; it is rolled back unless it was committed."""
    with open_connection(target) as db:
        yield StoredTable(target, db, force)


def ask_of(target: Postgres | None) -> Callable[[str], bool] | None:
    """Return what tells by its mark whether the table of a killed run was stored; None without a database to ask."""
    return None if target is None else partial(was_stored, target)


def was_stored(target: Postgres, mark: str) -> bool:
    """Whether the table of a killed run was committed, as far as `target` can tell.

    It was not if the table is still the one that was there before. Where the run stored into another table, or somebody
    has replaced it since, nothing can be told, and the folders of the run stay.
    """
    try:
        told = json.loads(mark)
        table, older, newer = told["table"], told["older"], told["newer"]
    except (ValueError, TypeError, KeyError, RecursionError):  # nothing that Shoal wrote
        return True
    if table != list(target.names) or older == newer:
        return True
    with open_connection(target) as db, explain_database_error(target.name, BadOutput):
        kind, comment = _find_table(db, target)
        if kind == "r":  # a transaction that is still being committed holds it
            run(db, f"SET LOCAL lock_timeout = '{_PATIENCE}'", f"LOCK TABLE {target.sql} IN ACCESS SHARE MODE")
            _, comment = _find_table(db, target)
    return bool(comment != older)


def refuse_target(target: Postgres, source: object, *, force: bool) -> None:
    """Refuse, before any work, a table that must not be written."""
    if target.query_file is not None:
        raise BadOutput(f"{target.name}: a release is stored in a table; name it, postgres:schema.table")
    if isinstance(source, Postgres) and source.query_file is None and source.names == target.names:
        raise BadOutput(f"{target.name}: the release would be written over its own input; choose another table")
    with open_connection(target) as db, explain_database_error(target.name, BadOutput):
        _refuse_existing(db, target, force=force)
        may = run(db, f"SELECT pg_catalog.has_schema_privilege({quote_literal(target.names[0])}, 'CREATE')")
    if not may[0][0]:
        raise BadOutput(f"{target.name}: no permission to make a table in this schema")


def _refuse_existing(db: "Connection", target: Postgres, *, force: bool) -> str | None:
    """Refuse a table that exists, unless it is a release of Shoal and `force` is given; return its comment."""
    kind, comment = _find_table(db, target)
    if kind is None:
        return None
    if kind != "r" or not str(comment or "").startswith(_MARK):
        raise BadOutput(f"{target.name}: there is such a table, and it is not a release of Shoal; choose another")
    if not force:
        raise BadOutput(f"{target.name}: there is a release already; {REPLACE_IT}")
    return comment


def _find_table(db: "Connection", target: Postgres) -> tuple[str | None, str | None]:
    """Return the kind of a table, such as "r" or "v", and its comment; nothing twice if there is none."""
    schema, table = (quote_literal(name) for name in target.names)
    found = run(
        db,
        "SELECT c.relkind::text, pg_catalog.obj_description(c.oid, 'pg_class') FROM pg_catalog.pg_class c "
        f"JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = {schema} AND c.relname = {table}",
    )
    return found[0] if found else (None, None)


def _storable_type(name: str, column: pa.Field) -> pa.DataType:
    """Return the type in which a column is sent; refuse a column for which PostgreSQL has no type."""
    of = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    of = _WIDER.get(of, of)
    if pa.types.is_timestamp(of):
        return pa.timestamp("us", of.tz)
    if of in _PLAIN or pa.types.is_decimal128(of):
        return of
    raise BadOutput(f"{name}: column {column.name!r} is of a type that is not stored ({of}); turn it into text")


def _sql_type(of: pa.DataType) -> str:
    if pa.types.is_timestamp(of):
        return "timestamp with time zone" if of.tz else "timestamp"
    if pa.types.is_decimal128(of):
        return f"numeric({of.precision}, {of.scale})"
    return _PLAIN[of]
