"""Read frames that are already in memory: pandas, polars, pyarrow, and other eager frames of narwhals."""

import warnings
from collections.abc import Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.engine_port import ReadOptions, Source
from shoal.engines.reading.assemble import FRAME, assemble, check_names, null_marker
from shoal.errors import BadData, ShoalError, ShoalWarning

if TYPE_CHECKING:
    import pandas as pd

_SORTS: Mapping[str, tuple[type, ...]] = {
    "bool": (bool, np.bool_),
    "number": (int, float, np.integer, np.floating),
    "text": (str,),
    "datetime": (datetime, np.datetime64),
    "date": (date,),
}
_CONTAINERS = (list, tuple, set, frozenset, dict, np.ndarray, bytes, bytearray)


def pandas_columns(frame: "pd.DataFrame") -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return index and columns as Arrow arrays, and the names of the index levels."""
    titles = list(frame.columns)
    index = _index(frame)
    _check_index([given for given, _ in index], titles)
    check_names(FRAME, titles or [given for given, _ in index])
    series = dict([*index, *((title, frame.iloc[:, i]) for i, title in enumerate(titles))])
    return {title: _column(title, column) for title, column in series.items()}, tuple(dict(index))


def _index(frame: "pd.DataFrame") -> list[tuple[Any, "pd.Series[Any]"]]:
    """Return the levels of the index with their names; none for the default index 0, 1, 2 …"""
    import pandas as pd

    index = frame.index
    if isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1:
        return []
    several = isinstance(index, pd.MultiIndex)
    return [
        (
            (f"level_{i}" if several else "index") if given is None else given,
            pd.Series(index.get_level_values(i)),
        )
        for i, given in enumerate(index.names)
    ]


def _check_index(names: list[Any], titles: list[Any]) -> None:
    for at, name in enumerate(names):
        if not isinstance(name, str):
            raise BadData(f"{FRAME}: the name of the index is not text; rename it to a string")
        if name in titles or name in names[:at]:
            raise BadData(f"{FRAME}: the index and a column are both named {name!r}; rename one")


def _column(title: str, column: "pd.Series[Any]") -> Any:
    try:
        return _array(title, column)
    except ShoalError:
        raise
    except (pa.ArrowException, UnicodeError, TypeError, ValueError):  # their messages may contain cells
        raise BadData(f"{FRAME}: column {title!r} holds values that are not plain; turn it into text") from None


def _array(title: str, column: "pd.Series[Any]") -> Any:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        values = _array(title, pd.Series(column.cat.categories))
        codes = column.cat.codes.to_numpy()
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32(), mask=codes < 0), values)
    if isinstance(column.dtype, pd.IntervalDtype | pd.PeriodDtype):
        return _texts(column)
    if column.dtype == object:
        return _objects(title, column)
    return pa.array(column, from_pandas=True)


def _objects(title: str, column: "pd.Series[Any]") -> Any:
    """Convert a column of Python objects: to their common type, or to text with a warning if they are mixed."""
    kinds = {type(value) for value in column[column.notna().to_numpy()]}
    sorts = sorted({_name_of_type(kind) for kind in kinds})
    if any(issubclass(kind, _CONTAINERS) for kind in kinds):
        raise BadData(f"{FRAME}: column {title!r} holds {' and '.join(sorts)} objects, not one plain value per row")
    if len(sorts) > 1:
        mixed = f"column {title!r} mixes {' and '.join(sorts)} values and is read as text"
        warnings.warn(mixed, ShoalWarning, stacklevel=2)
        return _texts(column)
    try:
        return pa.array(column, from_pandas=True)
    except OverflowError:  # integers beyond 64 bits
        return _texts(column)


def _name_of_type(kind: type) -> str:
    return next((sort for sort, types in _SORTS.items() if issubclass(kind, types)), kind.__qualname__)


def _texts(column: "pd.Series[Any]") -> pa.Array:
    present = column.notna().to_numpy()
    return pa.array([str(value) if there else None for value, there in zip(column, present, strict=True)], pa.string())


def read_frame(frame: Any, options: ReadOptions) -> Source:
    """Read a frame, which is not modified."""
    columns, index = _columns(frame)
    return Source(
        assemble(FRAME, columns, options),
        format="frame",
        name=FRAME,
        missing=null_marker(options),
        native=frame,
        index=index,
    )


def _columns(frame: Any) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return the columns as Arrow arrays, and the names of those that come from an index."""
    import narwhals as nw

    frame = nw.to_native(frame, pass_through=True)
    if nw.dependencies.is_pandas_dataframe(frame):
        return pandas_columns(frame)
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if not isinstance(frame, pa.Table):
        eager = _eager(frame)
        if eager.implementation.is_pandas_like():
            return pandas_columns(eager.to_pandas())
        frame = _arrow(eager)
    check_names(FRAME, frame.column_names)
    return dict(zip(frame.column_names, frame.columns, strict=True)), ()


def _eager(frame: Any) -> Any:
    import narwhals as nw

    try:
        found = nw.from_native(frame)
    except TypeError:
        kind = f"{type(frame).__module__}.{type(frame).__qualname__}"
        raise BadData(f"cannot read a {kind}; give a path, or a pandas, polars or pyarrow frame") from None
    if isinstance(found, nw.LazyFrame):
        raise BadData(f"{FRAME} is lazy; collect it first, e.g. frame.collect()")
    return found


def _arrow(eager: Any) -> pa.Table:
    import narwhals as nw

    refused = BadData(f"{FRAME}: a column holds Python objects; turn it into text")
    # older versions of polars panic on them, which is no Exception
    if eager.implementation.is_polars() and nw.Object in eager.schema.values():
        raise refused
    try:
        return eager.to_arrow()
    except Exception:  # noqa: BLE001 - each library has its own tree, and what they say may hold cells
        raise refused from None
