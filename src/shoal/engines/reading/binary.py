"""Read files that describe their own columns: Parquet and Arrow, one or several, and those of Stata, SPSS and SAS."""

import io
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from math import isnan
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engine_port import ReadOptions, Source
from shoal.engines.reading.assemble import (
    assemble,
    beyond_calendar_error,
    bounds_of,
    check_names,
    check_type,
    find_beyond_calendar,
    null_marker,
    typed_column,
)
from shoal.engines.reading.content import Content
from shoal.errors import BadData, ShoalError

_NULL = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")


def partition_columns(name: str, files: Sequence[PurePath]) -> dict[str, pa.Array]:
    """Return the columns that the names of folders give, one value per file: integers if all are, else text.

    >>> files = [PurePath("year=2024/a.parquet"), PurePath("year=2025/b.parquet")]
    >>> partition_columns("people", files)["year"].to_pylist()
    [2024, 2025]
    """
    found = [_parse_folders(file) for file in files]
    keys = list(found[0])
    if any(list(told) != keys for told in found):
        raise BadData(f"{name}: its folders do not all name the same columns (key=value)")
    return {key: _to_array([told[key] for told in found]) for key in keys}


def refuse_duplicate_columns(name: str, columns: Sequence[str], told: Collection[str]) -> None:
    """Refuse a column that both the files and the names of their folders give."""
    both = [column for column in columns if column in told]
    if both:
        raise BadData(f"{name}: {both[0]!r} is a column of the files and of their folders (key=value); rename one")


def read_parquet_files(name: str, files: Sequence[tuple[PurePath, Content]], options: ReadOptions) -> Source:
    """Read Parquet files with the same columns into one table."""
    tables = [parquet_table(content) for _, content in files]
    first = tables[0].schema
    for (_, content), table in zip(files, tables, strict=True):
        if not table.schema.equals(first):
            raise BadData(f"{content.name}: its columns or their types differ from those of {files[0][1].name}")
    told = partition_columns(name, [path for path, _ in files])
    refuse_duplicate_columns(name, first.names, told)
    for key, values in told.items():
        tables = [table.append_column(key, pa.repeat(values[i], table.num_rows)) for i, table in enumerate(tables)]
    whole = pa.concat_tables(tables).unify_dictionaries()
    check_names(name, whole.column_names)
    columns = dict(zip(whole.column_names, whole.columns, strict=True))
    return Source(assemble(name, columns, options), format="parquet", name=name, missing=null_marker(options))


def _parse_folders(file: PurePath) -> dict[str, str | None]:
    """Parse the columns and values that the folders of a file give as key=value."""
    parts = [part.partition("=") for part in file.parent.parts]
    told = [(unquote(key), unquote(value)) for key, equals, value in parts if key and equals]
    return {key: None if value == _NULL else value for key, value in told}


def _to_array(values: list[str | None]) -> pa.Array:
    present = [value for value in values if value is not None]
    if present and all(_WHOLE.fullmatch(value) for value in present):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    return pa.array(values, pa.string())


def read_parquet(content: Content, options: ReadOptions) -> Source:
    """Read a Parquet file."""
    return _source(content, "parquet", parquet_table(content), options)


def parquet_table(content: Content) -> pa.Table:
    """Read and check the table of a Parquet file; texts become dictionaries, and its metadata is left out."""
    from pyarrow import parquet

    def schema() -> pa.Schema:
        return parquet.read_schema(pa.BufferReader(content.data))

    def table() -> pa.Table:
        texts = [field.name for field in found if pa.types.is_string(field.type)]
        how = {"read_dictionary": texts, "coerce_int96_timestamp_unit": "us"}
        return parquet.ParquetFile(pa.BufferReader(content.data), **how).read()

    found = _load(content, "Parquet", schema)
    _check(content.name, found)
    _load(content, "Parquet", lambda: refuse_unsafe_timestamps(content.name, content.data))
    return _load(content, "Parquet", table).replace_schema_metadata(None)


_MOST_SECONDS = 2**63 // 10**6


def int96_columns(data: Any) -> list[str]:
    """Return the columns of a Parquet file that are timestamps in the old 96-bit form, without unit or bounds."""
    from pyarrow import parquet

    schema = parquet.ParquetFile(pa.BufferReader(data)).schema
    return [schema.column(i).path for i in range(len(schema)) if schema.column(i).physical_type == "INT96"]


def refuse_unsafe_timestamps(name: str, data: Any) -> None:
    """Refuse dates and timestamps of a Parquet file that would overflow in Arrow or be rounded by DuckDB."""
    from pyarrow import parquet

    old = int96_columns(data)
    for column in old:
        _refuse_inexact(name, column, data)
    file = parquet.ParquetFile(pa.BufferReader(data))
    places = {file.schema.column(i).path: i for i in range(len(file.schema))}
    for column in file.schema_arrow:
        if column.name in places and column.name not in old and bounds_of(column.type) is not None:
            _refuse_beyond(name, places[column.name], column, file)


def _refuse_inexact(name: str, column: str, data: Any) -> None:
    """Refuse timestamps of 96 bits that are not whole microseconds, or do not fit into 64 bits as such."""
    from pyarrow import parquet

    units = ("s", "us", "ns")
    files = [parquet.ParquetFile(pa.BufferReader(data), coerce_int96_timestamp_unit=unit) for unit in units]
    row = 0
    for batches in zip(*(file.iter_batches(columns=[column]) for file in files), strict=True):
        s, us, ns = (batch.column(0).cast(pa.int64()) for batch in batches)
        beyond = pc.or_(pc.greater_equal(s, _MOST_SECONDS), pc.less_equal(s, -_MOST_SECONDS))
        # beyond some years nanoseconds overflow, but so does the product: they differ only if a fraction was lost
        finer = pc.not_equal(pc.multiply(us, 1000), ns)
        if (at := pc.index(beyond, True).as_py()) >= 0:
            raise beyond_calendar_error(name, column, row + at + 1)
        if (at := pc.index(finer, True).as_py()) >= 0:
            raise BadData(
                f"{name}: column {column!r}, row {row + at + 1}: a timestamp (INT96) is finer than a microsecond; "
                "write the column as timestamps of 64 bits, or as text"
            )
        row += len(s)


def _refuse_beyond(name: str, i: int, column: pa.Field, file: Any) -> None:
    """Refuse dates and timestamps out of bounds; row groups whose statistics are within bounds are not read."""
    first, last = bounds_of(column.type) or (0, 0)
    unit = 1 if not pa.types.is_timestamp(column.type) or column.type.unit != "s" else 1000  # kept as milliseconds
    row = 0
    for at in range(file.num_row_groups):
        group = file.metadata.row_group(at)
        known = group.column(i).statistics
        if known is None or not known.has_min_max or known.min_raw < first * unit or known.max_raw > last * unit:
            odd = find_beyond_calendar(file.read_row_group(at, columns=[column.name]).column(0).combine_chunks())
            if odd is not None:
                raise beyond_calendar_error(name, column.name, row + odd + 1)
        row += group.num_rows


def read_arrow(content: Content, options: ReadOptions) -> Source:
    """Read an Arrow IPC file (Feather) or stream."""

    def table() -> pa.Table:
        buffer = pa.py_buffer(content.data)
        opened = pa.ipc.open_file if content.data[:6] == b"ARROW1" else pa.ipc.open_stream
        return opened(buffer).read_all()

    found = _load(content, "Arrow", table)
    _check(content.name, found.schema)
    return _source(content, "arrow", found, options)


def _load(content: Content, kind: str, load: Callable[[], Any]) -> Any:
    """Load a schema or a table; an error of Arrow is replaced, since its message may contain cells."""
    try:
        loaded = load()
        if isinstance(loaded, pa.Table):
            loaded.validate(full=True)
    except ShoalError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError):
        raise BadData(f"{content.name}: this is not a {kind} file, or it is damaged or cut short") from None
    return loaded


def _check(name: str, schema: pa.Schema) -> None:
    check_names(name, schema.names)
    for field in schema:
        check_type(name, field.name, field.type)


def _source(content: Content, kind: str, table: pa.Table, options: ReadOptions) -> Source:
    columns = dict(zip(table.column_names, table.columns, strict=True))
    return Source(
        assemble(content.name, columns, options), format=kind, name=content.name, missing=null_marker(options)
    )


_READERS: Mapping[str, tuple[str, str]] = {
    ".dta": ("a Stata", "read_dta"),
    ".sav": ("an SPSS", "read_sav"),
    ".zsav": ("an SPSS", "read_sav"),
    ".por": ("a portable SPSS", "read_por"),
    ".sas7bdat": ("a SAS", "read_sas7bdat"),
    ".xpt": ("a SAS transport", "read_xport"),
}
"""By extension: the kind of file in error messages, and the function of pyreadstat that reads it."""


def read_statistics(content: Content, options: ReadOptions) -> Source:
    """Read a file of Stata, SPSS or SAS, which needs `shoal[statistics]`.

    Value labels become the values, and values declared missing become null.
    """
    cells, labels = _load_with_labels(content, options)
    check_names(content.name, list(cells))
    columns = {title: typed_column(title, _apply_labels(cells[title], labels.get(title, {}))) for title in cells}
    table = assemble(content.name, columns, options)
    return Source(table, format="statistics", name=content.name, missing=null_marker(options))


def _load_with_labels(
    content: Content, options: ReadOptions
) -> tuple[Mapping[str, Sequence[Any]], Mapping[str, Mapping[Any, str]]]:
    """Return the cells of each column, and the value labels of the columns that have some."""
    kind, reader = _READERS[content.suffix]
    try:
        import pyreadstat
    except ImportError:
        raise BadData(f"{content.name}: to read {kind} file, install shoal[statistics], or pyreadstat itself") from None
    how = {} if options.encoding is None else {"encoding": options.encoding}
    try:
        cells, about = getattr(pyreadstat, reader)(io.BytesIO(content.data), output_format="dict", **how)
    except Exception:  # noqa: BLE001 - it raises errors of many kinds, and what they say may hold cells
        raise BadData(f"{content.name}: this is not {kind} file, or it is damaged") from None
    return cells, about.variable_value_labels


def _apply_labels(cells: Sequence[Any], labels: Mapping[Any, str]) -> list[Any]:
    """Return the label of each value, the value itself if it has none, and None if it is missing."""
    values = [_to_python(cell) for cell in cells]
    return [labels.get(value, value) for value in values] if labels else values


def _to_python(cell: Any) -> Any:
    """Convert a cell to a plain Python value; None if it is missing."""
    value = cell.item() if isinstance(cell, np.generic) else cell
    return None if isinstance(value, float) and isnan(value) else value
