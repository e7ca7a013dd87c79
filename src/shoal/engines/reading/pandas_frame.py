"""pandas: a frame whose columns may hold anything, with an index that may be data."""

import warnings
from collections.abc import Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.engines.reading.assemble import FRAME, check_names
from shoal.errors import BadData, ShoalWarning

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
    """Return index and columns as Arrow arrays, and the names of those that were the index."""
    titles = list(frame.columns)
    index = _index(frame)
    _check_index([given for given, _ in index], titles)
    check_names(FRAME, titles or [given for given, _ in index])
    series = dict([*index, *((title, frame.iloc[:, i]) for i, title in enumerate(titles))])
    return {title: _column(title, column) for title, column in series.items()}, tuple(dict(index))


def _index(frame: "pd.DataFrame") -> list[tuple[Any, "pd.Series[Any]"]]:
    """Return the levels of an index that is more than 0, 1, 2 …"""
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
    except (pa.ArrowException, UnicodeError, TypeError, ValueError):  # what they say may hold cells
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
    """Convert a column of Python objects: of one sort, or as text."""
    kinds = {type(value) for value in column[column.notna().to_numpy()]}
    sorts = sorted({_sort(kind) for kind in kinds})
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


def _sort(kind: type) -> str:
    return next((sort for sort, types in _SORTS.items() if issubclass(kind, types)), kind.__qualname__)


def _texts(column: "pd.Series[Any]") -> pa.Array:
    present = column.notna().to_numpy()
    return pa.array([str(value) if there else None for value, there in zip(column, present, strict=True)], pa.string())
