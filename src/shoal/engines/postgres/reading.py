"""Reading from PostgreSQL: types that Arrow has come as they are, numeric as decimals, all others as text."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from shoal.engine import ReadOptions, Source
from shoal.engines.postgres.connecting import connected, explained, run
from shoal.engines.postgres.naming import Postgres, identifier
from shoal.engines.reading.assemble import assemble, check_names, check_type, marker
from shoal.errors import BadData

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection

_TYPE = b"POSTGRESQL:type"
_AS_THEY_ARE = {"int2", "int4", "int8", "float4", "float8", "bool", "text", "varchar", "name", "time"}
_CAN_BE_ENDLESS = {"date", "timestamp", "timestamptz"}
_MOST_DIGITS = 38
_PER_BYTE = 3
_ROW_GROUP = 1 << 17


@dataclass(frozen=True)
class _Rows:
    """The rows of a table, read in a transaction that sees them as they were when it began."""

    reader: pa.RecordBatchReader
    schema: pa.Schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self.reader:
            cells = [_typed(column, of) for column, of in zip(batch.columns, self.schema.types, strict=True)]
            yield pa.record_batch(cells, schema=self.schema)


def read_postgres(source: Postgres, options: ReadOptions) -> Source:
    """Read a table, a view or a query into memory."""
    with _opened(source) as rows, explained(source.name):
        table = pa.Table.from_batches(rows, rows.schema)
    columns = dict(zip(table.column_names, table.columns, strict=True))
    return Source(assemble(source.name, columns, options), format="database", name=source.name, missing=marker(options))


def spill_postgres(source: Postgres, folder: Path) -> Path:
    """Copy a table, a view or a query, batch by batch, into a Parquet file in a private folder."""
    from pyarrow import parquet

    file = folder / "postgres.parquet"
    with _opened(source) as rows, parquet.ParquetWriter(file, rows.schema) as writer, explained(source.name):
        for batch in rows:
            writer.write_batch(batch, row_group_size=_ROW_GROUP)
    return file


def seems_to_need(source: Postgres) -> int:
    """About how many bytes of memory a table takes; 0 where nobody can tell: of views and queries."""
    if source.query_file is not None:
        return 0
    with connected(source) as db, explained(source.name):
        ((size,),) = run(db, f"SELECT pg_catalog.pg_table_size('{source.sql.replace(chr(39), chr(39) * 2)}'::regclass)")
    return int(size) * _PER_BYTE


@contextmanager
def _opened(source: Postgres) -> Iterator[_Rows]:
    with connected(source) as db:
        with explained(source.name):
            run(db, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            given = _given(source)
            with db.cursor() as asking:
                schema = asking.adbc_execute_schema(f"SELECT * FROM {given}")
        check_names(source.name, schema.names)
        kinds = {field.name: (field.metadata or {}).get(_TYPE, b"").decode() for field in schema}
        with explained(source.name):
            scales = _scales(source.name, db, given, kinds)
        cells = ", ".join(_cell(name, kind) for name, kind in kinds.items())
        with db.cursor() as cursor:
            with explained(source.name):
                cursor.execute(f"SELECT {cells} FROM {given}")
                reader = cursor.fetch_record_batch()
            fields = [
                (field.name, pa.decimal128(_MOST_DIGITS, scales[field.name]) if field.name in scales else field.type)
                for field in reader.schema
            ]
            for name, of in fields:
                check_type(source.name, name, of)
            yield _Rows(reader, pa.schema(fields))


def _given(source: Postgres) -> str:
    """What stands after FROM."""
    if source.query_file is None:
        return source.sql
    try:
        query = source.query_file.read_text("utf-8").strip().rstrip(";")
    except (OSError, ValueError):
        raise BadData(f"{source.name}: the file with the query cannot be read") from None
    return f"(\n{query}\n) AS given"


def _cell(name: str, kind: str) -> str:
    """A column as it is read; bytes and arrays stay what they are, so that they are refused by name."""
    cell = identifier(name)
    if kind in _AS_THEY_ARE | _CAN_BE_ENDLESS | {"numeric", "bytea"} or kind.startswith("_"):
        return cell
    return f"CAST({cell} AS text) AS {cell}"


def _scales(name: str, db: "Connection", given: str, kinds: dict[str, str]) -> dict[str, int]:
    """How many digits stand behind the point in each numeric column; what no decimal and no date can be, is refused."""
    numeric = [column for column, kind in kinds.items() if kind == "numeric"]
    dates = [column for column, kind in kinds.items() if kind in _CAN_BE_ENDLESS]
    asked = [
        *(f"max(scale({identifier(c)})), max(length(trunc(abs({identifier(c)}))::text))" for c in numeric),
        *(f"bool_or({identifier(c)}::text ~ '[NI]')" for c in numeric),
        *(f"bool_or(NOT isfinite({identifier(c)}))" for c in dates),
    ]
    if not asked:
        return {}
    (found,) = run(db, f"SELECT {', '.join(asked)} FROM {given}")
    sizes, odd = found[: 2 * len(numeric)], found[2 * len(numeric) :]
    for column, is_odd in zip([*numeric, *dates], odd, strict=True):
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


def _typed(column: pa.Array, of: pa.DataType) -> pa.Array:
    storage = column.storage if isinstance(column, pa.ExtensionArray) else column
    return storage if storage.type == of else storage.cast(of)
