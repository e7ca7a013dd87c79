"""What is shown of one attribute, row by row and by form: a label, its ends, a statistic."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Column
from shoal.recode import Released

Rows = NDArray[np.int64]
"""Positions of rows in a table."""
Shown = Mapping[str, Released]
"""By form: a label as `range`, its ends as `lo` and `hi` or as `min` and `max`, a `mean`, a `median`, a `mode`."""
RANGE = "range"


def as_it_is(column: Column) -> Shown:
    """Every row with its own value.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> as_it_is(encode("age", pa.array([31, 30, None])))["range"].texts.to_pylist()
    ['30', '31', None]
    """
    return {RANGE: Released.of(column.codes, [*column.texts.to_pylist(), None])}


def by_form(released: Mapping[str, Released], statistics: Mapping[str, tuple[str, str]]) -> Shown:
    """The columns that are released of one attribute; those that show a statistic are named in `statistics`."""
    return {statistics[name][1] if name in statistics else RANGE: column for name, column in released.items()}


def some_of(shown: Shown, rows: NDArray[np.bool_] | Rows) -> Shown:
    """The same of some rows."""
    return {form: replace(released, codes=released.codes[rows]) for form, released in shown.items()}
