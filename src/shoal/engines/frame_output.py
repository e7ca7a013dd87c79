"""Return a release in the frame library of its input."""

import warnings
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.data.codes import Column, Table, encode
from shoal.engine_port import Engine, ReadOptions, Source
from shoal.errors import ShoalWarning


def to_native(source: Source, table: pa.Table, rows: NDArray[np.int64], generalised: AbstractSet[str]) -> Any:
    """Convert a release to the frame library of its input; columns that are not generalised keep their exact type.

    >>> to_native(Source(None, "csv", "a.csv"), pa.table({"a": ["*"]}), np.array([0]), {"a"}).num_rows
    1
    """
    if source.native is None:
        return table
    import narwhals as nw

    native = nw.to_native(source.native, pass_through=True)
    if isinstance(native, pa.Table | pa.RecordBatch):
        return _to_arrow(native, table, rows, generalised)
    frame = nw.from_native(native, eager_only=True)
    if frame.implementation.is_pandas_like():
        return _to_pandas(native, source.index, table, rows, generalised)
    kept = frame[rows.tolist(), :].select([name for name in table.column_names if name in frame.columns])
    fresh = [
        nw.new_series(name, table[name].to_pylist(), _type_of(table[name].type), backend=frame.implementation)
        if name in generalised
        else _drop_unused_categories(kept[name])
        for name in table.column_names
    ]
    return kept.with_columns(*fresh).select(table.column_names).to_native()


def to_same_kind(source: Source, table: pa.Table) -> Any:
    """Convert another table to the frame library of the input."""
    if source.native is None:
        return table
    import narwhals as nw

    native = nw.to_native(source.native, pass_through=True)
    if isinstance(native, pa.Table | pa.RecordBatch):
        return table
    return nw.from_arrow(table, backend=nw.from_native(native, eager_only=True).implementation).to_native()


def _type_of(made: pa.DataType) -> Any:
    """Return the narwhals type of a generalised column: floats (bounds, means), integers (groups) or text."""
    import narwhals as nw

    return nw.Float64 if pa.types.is_floating(made) else nw.Int64 if pa.types.is_integer(made) else nw.String


def read_again(engine: Engine, frame: Any, options: ReadOptions, generalised: AbstractSet[str]) -> Table:
    """Read a released frame with the options of its input, so that a marker in a cell means null in both.

    Labels of generalised columns are taken literally: none of them means null.
    """
    raw = replace(options, missing=(), normalise=False, rounding=(), bounds=())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)  # the same warnings were given for the input
        table = engine.read(frame, raw).table
    columns = {
        name: column
        if name in generalised
        else encode(name, _array(column), missing=options.missing, normalise=options.normalise)
        for name, column in table.columns.items()
    }
    return Table(columns, table.rows)


def _array(column: Column) -> pa.DictionaryArray:
    """Decode a column into a dictionary array."""
    null = None if column.null_code is None else column.codes == column.null_code
    return pa.DictionaryArray.from_arrays(pa.array(column.codes, mask=null), column.values)


def _drop_unused_categories(series: Any) -> Any:
    """Remove from an enumeration the categories that no released row has; other columns stay as they are."""
    import narwhals as nw

    if series.dtype != nw.Enum:
        return series
    used = set(series.drop_nulls().unique().to_list())
    return series.cast(nw.Enum([category for category in series.dtype.categories if category in used]))


def _to_arrow(
    native: Any, table: pa.Table, rows: NDArray[np.int64], generalised: AbstractSet[str]
) -> pa.Table | pa.RecordBatch:
    """Return the release as Arrow, with the original types; unused dictionary values and metadata are left out."""
    at = pa.array(rows)
    columns = {
        name: table[name].combine_chunks() if name in generalised else _take_rows(native.column(name), at)
        for name in table.column_names
    }
    made = pa.table(columns)
    return made if isinstance(native, pa.Table) else made.combine_chunks().to_batches()[0]


def _take_rows(column: pa.Array | pa.ChunkedArray, at: pa.Array) -> pa.Array | pa.ChunkedArray:
    """Take rows of a column; a dictionary is built anew, since unused values would disclose rows that are left out."""
    of = column.type
    if pa.types.is_dictionary(of):
        return column.cast(of.value_type).take(at).dictionary_encode().cast(of)
    if of == pa.string_view():  # Arrow cannot take from views
        return column.cast(pa.large_string()).take(at).cast(of)
    return column.take(at)


def _is_read_as_text(column: pa.ChunkedArray, kept: Any) -> bool:
    """Return whether a column of mixed objects was read as text: it is released as text, whichever rows remain."""
    return (
        kept.dtype == object
        and pa.types.is_string(column.type)
        and not all(isinstance(value, str) for value in kept[kept.notna()])
    )


def _to_pandas(
    native: Any, given: tuple[str, ...], table: pa.Table, rows: NDArray[np.int64], generalised: AbstractSet[str]
) -> Any:
    """Return the release as pandas, with the index if released, else a new one, since gaps would disclose rows."""
    import pandas as pd

    def released(name: str, kept: Any) -> Any:
        if name in generalised or _is_read_as_text(table[name], kept):
            return pd.Series(table[name].to_pandas().to_numpy(), kept.index)
        return kept.cat.remove_unused_categories() if isinstance(kept.dtype, pd.CategoricalDtype) else kept

    columns = [name for name in table.column_names if name not in given]
    frame = native.iloc[rows][[name for name in columns if name in native.columns]].copy()
    frame.attrs = {}
    for name in columns:
        frame[name] = released(name, frame[name] if name in frame else frame.index.to_series())
    frame = frame[columns]
    levels = frame.index.to_frame(index=False)
    frame = frame.reset_index(drop=True)
    names = dict(zip(given, native.index.names, strict=True)) if given else {}
    index = [name for name in given if name in table.column_names]
    if index:
        levels.columns = list(given)
        parts = [pd.Index(released(name, levels[name]), name=names[name]) for name in index]
        frame.index = parts[0] if len(parts) == 1 else pd.MultiIndex.from_arrays(parts)
    return frame
