"""Parquet and Arrow files: they say themselves what they hold, if they are whole."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from shoal.engine import ReadOptions, Source
from shoal.engines.reading.assemble import assemble, check_names, check_type, marker
from shoal.engines.reading.content import Content
from shoal.errors import BadData


def read_parquet(content: Content, options: ReadOptions) -> Source:
    """Read a Parquet file."""
    return _source(content, "parquet", parquet_table(content), options)


def parquet_table(content: Content) -> pa.Table:
    """What a Parquet file holds, checked; texts stay dictionaries, and what else it says of itself is left out."""
    from pyarrow import parquet

    def schema() -> pa.Schema:
        return parquet.read_schema(pa.BufferReader(content.data))

    def table() -> pa.Table:
        texts = [field.name for field in found if pa.types.is_string(field.type)]
        return parquet.ParquetFile(pa.BufferReader(content.data), read_dictionary=texts).read()

    found = _whole(content, "Parquet", schema)
    _check(content.name, found)
    return _whole(content, "Parquet", table).replace_schema_metadata(None)


def read_arrow(content: Content, options: ReadOptions) -> Source:
    """Read an Arrow IPC file (Feather) or stream."""

    def table() -> pa.Table:
        buffer = pa.py_buffer(content.data)
        opened = pa.ipc.open_file if content.data[:6] == b"ARROW1" else pa.ipc.open_stream
        return opened(buffer).read_all()

    found = _whole(content, "Arrow", table)
    _check(content.name, found.schema)
    return _source(content, "arrow", found, options)


def _whole(content: Content, kind: str, load: Callable[[], Any]) -> Any:
    """Load a schema or a table; what Arrow says about a damaged one may hold cells."""
    try:
        loaded = load()
        if isinstance(loaded, pa.Table):
            loaded.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError):
        raise BadData(f"{content.name}: this is not a {kind} file, or it is damaged or cut short") from None
    return loaded


def _check(name: str, schema: pa.Schema) -> None:
    check_names(name, schema.names)
    for field in schema:
        check_type(name, field.name, field.type)


def _source(content: Content, kind: str, table: pa.Table, options: ReadOptions) -> Source:
    columns = dict(zip(table.column_names, table.columns, strict=True))
    return Source(assemble(content.name, columns, options), format=kind, name=content.name, missing=marker(options))
