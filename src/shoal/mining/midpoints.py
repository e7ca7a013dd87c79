"""Generalised numbers read as numbers: the middle of what a label covers."""

import re

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Column
from shoal.errors import BadInput
from shoal.hierarchy import TOP
from shoal.labels import Interval, Members, parse_label

_MASKED = re.compile(r"(-?[0-9]+)(\*+)")


def midpoints(column: Column) -> NDArray[np.float64]:
    """The middle of each label: of an interval, a set, a masked number; of an open tail its end; `*` is missing.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> ages = encode("age", pa.array(["[20, 30)", "3*", "≥80", "{40 | 46}", "*", "17"]))
    >>> dict(zip(ages.texts.to_pylist(), midpoints(ages).tolist()))
    {'*': nan, '17': 17.0, '3*': 34.5, '[20, 30)': 25.0, '{40 | 46}': 43.0, '≥80': 80.0}
    """
    try:
        return np.array([_middle(text) for text in column.texts.to_pylist()], dtype=np.float64)
    except ValueError:
        raise BadInput(f"column {column.name!r}: a label cannot be read as a number; leave it nominal") from None


def _middle(label: str) -> float:
    if label == TOP:
        return float("nan")
    if masked := _MASKED.fullmatch(label):
        least, width = float(masked[1] + "0" * len(masked[2])), 10.0 ** len(masked[2]) - 1
        return least + (-width if label.startswith("-") else width) / 2
    match parse_label(label):
        case Interval(low, high):
            ends = [float(end) for end in (low, high) if end is not None]
        case Members(values):
            ends = [float(value) for value in values]
        case None:
            ends = [float(label)]
    middle = (min(ends) + max(ends)) / 2
    if not np.isfinite(middle):
        raise ValueError
    return middle
