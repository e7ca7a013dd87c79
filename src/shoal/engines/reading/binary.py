"""Parquet and Arrow files, one or several: they say themselves what they hold, if they are whole."""

import re
from collections.abc import Callable, Collection, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from shoal.engine_port import ReadOptions, Source
from shoal.engines.reading.assemble import assemble, check_names, check_type, marker
from shoal.engines.reading.content import Content
from shoal.errors import BadData

_NULL = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")


def partitions(name: str, files: Sequence[PurePath]) -> dict[str, pa.Array]:
    """Columns that the folders of files tell, one value per file: numbers where all are, else text.

    >>> partitions("people", [PurePath("year=2024/a.parquet"), PurePath("year=2025/b.parquet")])["year"].to_pylist()
    [2024, 2025]
    """
    found = [_told(file) for file in files]
    keys = list(found[0])
    if any(list(told) != keys for told in found):
        raise BadData(f"{name}: its folders do not all name the same columns (key=value)")
    return {key: _typed([told[key] for told in found]) for key in keys}


def refuse_both(name: str, columns: Sequence[str], told: Collection[str]) -> None:
    """Refuse a column that files and folders both tell."""
    both = [column for column in columns if column in told]
    if both:
        raise BadData(f"{name}: {both[0]!r} is a column of the files and of their folders (key=value); rename one")


def read_several(name: str, files: Sequence[tuple[PurePath, Content]], options: ReadOptions) -> Source:
    """Read Parquet files with the same columns into one table."""
    tables = [parquet_table(content) for _, content in files]
    first = tables[0].schema
    for (_, content), table in zip(files, tables, strict=True):
        if not table.schema.equals(first):
            raise BadData(f"{content.name}: its columns or their types differ from those of {files[0][1].name}")
    told = partitions(name, [path for path, _ in files])
    refuse_both(name, first.names, told)
    for key, values in told.items():
        tables = [table.append_column(key, pa.repeat(values[i], table.num_rows)) for i, table in enumerate(tables)]
    whole = pa.concat_tables(tables).unify_dictionaries()
    check_names(name, whole.column_names)
    columns = dict(zip(whole.column_names, whole.columns, strict=True))
    return Source(assemble(name, columns, options), format="parquet", name=name, missing=marker(options))


def _told(file: PurePath) -> dict[str, str | None]:
    parts = [part.partition("=") for part in file.parent.parts]
    told = [(unquote(key), unquote(value)) for key, equals, value in parts if key and equals]
    return {key: None if value == _NULL else value for key, value in told}


def _typed(values: list[str | None]) -> pa.Array:
    present = [value for value in values if value is not None]
    if present and all(_WHOLE.fullmatch(value) for value in present):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    return pa.array(values, pa.string())


def read_parquet(content: Content, options: ReadOptions) -> Source:
    """Read a Parquet file."""
    return _source(content, "parquet", parquet_table(content), options)


def parquet_table(content: Content) -> pa.Table:
    """Read and check the table of a Parquet file; texts stay dictionaries, and its metadata is left out."""
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
