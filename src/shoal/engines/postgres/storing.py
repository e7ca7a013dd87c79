"""Writing to PostgreSQL: all in one transaction, re-read before it is committed; a failure leaves all as it was."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from shoal.engines.postgres.connecting import connected, explained, run
from shoal.engines.postgres.naming import Postgres, identifier, literal, refuse_name
from shoal.errors import BadInput, BadOutput

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection

_MARK = "Shoal release, sha256 "
"""How the comment of our tables begins; a table without it is never replaced."""
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
class Stored:
    """A table that nobody else sees until `commit`."""

    target: Postgres
    db: "Connection" = field(repr=False)
    force: bool
    schema: pa.Schema | None = None
    _made: str = field(default_factory=lambda: f"shoal_{secrets.token_hex(8)}")
    _number: int = 0
    """Of the transaction: by it, another connection can tell whether it was committed."""

    def fill(self, rows: pa.RecordBatchReader) -> None:
        """Copy the rows into a new table."""
        self.schema = rows.schema
        kept = pa.schema([(each.name, _storable(self.target.name, each)) for each in rows.schema])
        for each in kept:
            refuse_name(self.target.name, each.name)
        cells = ", ".join(f"{identifier(each.name)} {_sql_type(each.type)}" for each in kept)
        fitting = (pa.record_batch([c.cast(f.type) for c, f in zip(b.columns, kept, strict=True)], kept) for b in rows)
        with explained(self.target.name, BadOutput, _FAILED):
            run(self.db, f"SET LOCAL lock_timeout = '{_PATIENCE}'", f"CREATE TABLE {self._new} ({cells})")
            ((self._number,),) = run(self.db, "SELECT pg_catalog.txid_current()")
            with self.db.cursor() as cursor:
                cursor.adbc_ingest(
                    self._made,
                    pa.RecordBatchReader.from_batches(kept, fitting),
                    mode="append",
                    db_schema_name=self.target.names[0],
                )

    @contextmanager
    def read_again(self) -> Iterator[pa.RecordBatchReader]:
        """The rows as the database gives them, in the types that they were released in."""
        assert self.schema is not None
        schema = self.schema
        cells = ", ".join(identifier(name) for name in schema.names)
        with self.db.cursor() as cursor:
            with explained(self.target.name, BadOutput, _FAILED):
                cursor.execute(f"SELECT {cells} FROM {self._new}")
                reader = cursor.fetch_record_batch()

            def typed() -> Iterator[pa.RecordBatch]:
                for batch in reader:
                    columns = [c.storage if isinstance(c, pa.ExtensionArray) else c for c in batch.columns]
                    yield pa.record_batch([c.cast(f.type) for c, f in zip(columns, schema, strict=True)], schema)

            yield pa.RecordBatchReader.from_batches(schema, typed())

    def replace(self, sha256: str) -> None:
        """Put the new table into its place, still unseen, marked as ours."""
        with explained(self.target.name, BadOutput, _FAILED):
            _refuse_existing(self.db, self.target, force=self.force)
            if self.force:
                run(self.db, f"DROP TABLE IF EXISTS {self.target.sql}")
            run(
                self.db,
                f"ALTER TABLE {self._new} RENAME TO {identifier(self.target.names[1])}",
                f"COMMENT ON TABLE {self.target.sql} IS {literal(_MARK + sha256)}",
            )

    def commit(self) -> None:
        """Let everybody see it; if the connection is lost just then, ask another one what came of it."""
        from adbc_driver_manager import Error

        try:
            self.db.commit()
        except Error:
            if self._outcome() != "committed":
                raise BadOutput(f"{self.target.name}: {_FAILED}") from None

    def _outcome(self) -> str:
        try:
            with connected(self.target) as other, explained(self.target.name):
                ((status,),) = run(other, f"SELECT pg_catalog.txid_status({self._number})")
        except BadInput:
            status = None
        if status in {"committed", "aborted"}:
            return str(status)
        raise BadOutput(
            f"{self.target.name}: the connection was lost while the release was committed, so whether the table was "
            "replaced is not known; the folders are as they were: run it again with --force"
        )

    @property
    def _new(self) -> str:
        return f"{identifier(self.target.names[0])}.{identifier(self._made)}"


@contextmanager
def storing(target: Postgres, *, force: bool) -> Iterator[Stored]:
    """A transaction that stores a release; it is rolled back unless it was committed."""
    with connected(target) as db:
        yield Stored(target, db, force)


def refuse_target(target: Postgres, source: object, *, force: bool) -> None:
    """Refuse a table that must not be written, before any work is done."""
    if target.query_file is not None:
        raise BadOutput(f"{target.name}: a release is stored in a table; name it, postgres:schema.table")
    if isinstance(source, Postgres) and source.query_file is None and source.names == target.names:
        raise BadOutput(f"{target.name}: the release would be written over its own input; choose another table")
    with connected(target) as db, explained(target.name, BadOutput):
        _refuse_existing(db, target, force=force)
        may = run(db, f"SELECT pg_catalog.has_schema_privilege({literal(target.names[0])}, 'CREATE')")
    if not may[0][0]:
        raise BadOutput(f"{target.name}: no permission to make a table in this schema")


def _refuse_existing(db: "Connection", target: Postgres, *, force: bool) -> None:
    schema, table = (literal(name) for name in target.names)
    found = run(
        db,
        "SELECT c.relkind::text, pg_catalog.obj_description(c.oid, 'pg_class') FROM pg_catalog.pg_class c "
        f"JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = {schema} AND c.relname = {table}",
    )
    if not found:
        return
    ((kind, comment),) = found
    if kind != "r" or not str(comment or "").startswith(_MARK):
        raise BadOutput(f"{target.name}: there is such a table, and it is not a release of Shoal; choose another")
    if not force:
        raise BadOutput(f"{target.name}: there is a release already; use --force to replace it")


def _storable(name: str, column: pa.Field) -> pa.DataType:
    """The type in which a column is sent."""
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
