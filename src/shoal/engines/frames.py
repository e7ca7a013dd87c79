"""Giving back the same kind of frame as came in."""

from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engine import Source


def to_native(source: Source, table: pa.Table, rows: NDArray[np.int64], generalised: AbstractSet[str]) -> Any:
    """The release in the frame library of its input, untouched columns in the very type they had.

    >>> to_native(Source(None, "csv", "a.csv"), pa.table({"a": ["*"]}), np.array([0]), {"a"}).num_rows
    1
    """
    if source.native is None:
        return table
    import narwhals as nw

    frame = nw.from_native(source.native, eager_only=True)
    if frame.implementation.is_pandas_like():
        return _to_pandas(source, table, rows, generalised)
    kept = frame[rows.tolist(), :].select(table.column_names)
    fresh = [
        nw.new_series(name, table[name].to_pylist(), nw.String, backend=frame.implementation)
        for name in table.column_names
        if name in generalised
    ]
    return kept.with_columns(*fresh).to_native()


def _to_pandas(source: Source, table: pa.Table, rows: NDArray[np.int64], generalised: AbstractSet[str]) -> Any:
    """Columns and, where it is released, the index; a default index begins anew, since its gaps would tell."""
    columns = [name for name in table.column_names if name not in source.index]
    frame = source.native.iloc[rows][columns].copy()
    index = [name for name in source.index if name in table.column_names]
    for name in columns:
        if name in generalised:
            frame[name] = table[name].to_pandas().to_numpy()
    if not index:
        return frame.reset_index(drop=True)
    levels = frame.index.to_frame(index=False)
    levels.columns = list(source.index)
    for name in index:
        if name in generalised:
            levels[name] = table[name].to_pandas().to_numpy()
    names = [n for n, known in zip(source.native.index.names, source.index, strict=True) if known in index]
    frame.index = levels[index[0]].to_numpy() if len(index) == 1 else levels[index].set_index(index).index
    frame.index.names = names
    return frame
