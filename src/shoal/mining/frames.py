"""Frames and matrices as the columns of a learner; an index is no feature."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.codes import Codes, Column, Table, encode
from shoal.errors import BadData
from shoal.mining.attributes import Cells

_TWICE = "two columns have the same name; rename one"


def cells_of(frame: Any) -> tuple[dict[str, Cells], int]:
    """The columns of a frame that narwhals takes eagerly, of coded columns or of a matrix, and how many rows.

    >>> cells, rows = cells_of(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    >>> list(cells), rows
    (['x0', 'x1'], 3)
    """
    if isinstance(frame, Table):
        return dict(frame.columns), frame.rows
    if isinstance(frame, Mapping):
        return {str(name): column for name, column in frame.items()}, len(next(iter(frame.values())).codes)
    if isinstance(frame, np.ndarray | list | tuple):
        return _matrix(frame)
    import narwhals as nw

    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    try:
        eager = nw.from_native(frame, eager_only=True)
        series = list(eager.iter_columns())  # not by name: a frame of pandas may have numbers for names
    except TypeError:
        raise BadData(
            "cannot learn from this; give a pandas, polars or pyarrow frame, or a matrix of numbers"
        ) from None
    except nw.exceptions.DuplicateError:
        raise BadData(_TWICE) from None
    names = [str(name) for name in eager.columns]
    if len(set(names)) < len(names):  # 1 and "1"
        raise BadData(_TWICE)
    return {name: _column(name, each) for name, each in zip(names, series, strict=True)}, len(eager)


def classes_of(target: Any) -> tuple[NDArray[Any], Codes]:
    """The classes in ascending order, and the code of each row; -1 where it is missing.

    >>> classes, codes = classes_of(["no", None, "yes", "no"])
    >>> classes.tolist(), codes.tolist()
    (['no', 'yes'], [0, -1, 1, 0])
    """
    try:
        given = target.to_arrow() if hasattr(target, "to_arrow") else target
        if not isinstance(given, pa.Array | pa.ChunkedArray):
            values = np.asarray(given) if hasattr(given, "__array__") else given
            given = pa.array(values.ravel() if isinstance(values, np.ndarray) else values, from_pandas=True)
        if isinstance(given, pa.ChunkedArray):
            given = given.combine_chunks()
        known = given if pa.types.is_dictionary(given.type) else given.dictionary_encode()
        distinct = known.dictionary.to_numpy(zero_copy_only=False)
        classes, ranks = np.unique(distinct, return_inverse=True)
    except (pa.ArrowException, TypeError, ValueError):
        raise BadData("the target holds values that are not plain; give one number or text per row") from None
    codes = known.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    return classes, np.append(ranks, -1).astype(np.int32)[codes]


def _column(name: str, series: Any) -> Column:
    try:
        return encode(name, series.to_arrow())
    except (pa.ArrowException, TypeError, ValueError):  # what they say may hold cells
        raise BadData(f"column {name!r} holds values that are not plain; turn it into text") from None


def _matrix(given: Any) -> tuple[dict[str, Cells], int]:
    try:
        matrix = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadData("a matrix must hold numbers only; give a frame where columns are text") from None
    if matrix.ndim != 2:
        raise BadData("a matrix must have rows and columns: reshape it to two dimensions")
    if np.isinf(matrix).any():
        raise BadData("the matrix holds infinity, which is no number to learn from")
    return {f"x{at}": np.ascontiguousarray(matrix[:, at]) for at in range(matrix.shape[1])}, len(matrix)
