"""Frames that are in memory already: pandas, polars, pyarrow, and what narwhals takes eagerly."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from shoal.engine import ReadOptions, Source
from shoal.engines.reading.assemble import FRAME, assemble, check_names, marker
from shoal.errors import BadData


def read_frame(frame: Any, options: ReadOptions) -> Source:
    """Read a frame without changing it."""
    columns, index = _columns(frame)
    return Source(
        assemble(FRAME, columns, options),
        format="frame",
        name=FRAME,
        missing=marker(options),
        native=frame,
        index=index,
    )


def _columns(frame: Any) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return the columns as Arrow arrays, and which of them were an index."""
    import narwhals as nw

    from shoal.engines.reading.pandas_frame import pandas_columns

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
    try:
        return eager.to_arrow()
    except Exception:  # noqa: BLE001 - each library has its own tree, and what they say may hold cells
        raise BadData(f"{FRAME}: a column holds Python objects; turn it into text") from None
