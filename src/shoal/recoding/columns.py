"""Released columns: a code for every row, with the value and the text of each code."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.data.codes import Codes, Column, Table
from shoal.hierarchy.taxonomy import TOP

_RARE = (pa.types.is_decimal256, pa.types.is_duration)
"""Types that many programs cannot read from a file: they are published as text."""


@dataclass(frozen=True)
class ReleasedColumn:
    """One column as it will be published: a code per row and the value of each code."""

    codes: Codes
    values: pa.Array
    texts: pa.StringArray
    """The values as a CSV shows them."""

    def text(self, row: int) -> str:
        """Return the text of a row, empty for null."""
        return str(self.texts[int(self.codes[row])].as_py() or "")

    @classmethod
    def of(cls, codes: Codes, texts: Sequence[str | None]) -> "ReleasedColumn":
        """Return a column of texts, given the text of each code."""
        values = pa.array(texts, pa.string())
        return cls(codes, values, values)


def integer_column(codes: Codes, values: NDArray[np.int64]) -> ReleasedColumn:
    """Return a column of integers, given the number of each code."""
    numbers = pa.array(values, pa.int64())
    return ReleasedColumn(codes, numbers, numbers.cast(pa.string()))


def unchanged_column(column: Column) -> ReleasedColumn:
    """Return a column with its values unchanged."""
    return ReleasedColumn(column.codes, *values_with_null(column))


def star_rows(column: ReleasedColumn, hidden: NDArray[np.bool_]) -> ReleasedColumn:
    """Return the column with `*` in the hidden rows."""
    labels = column.texts.to_pylist()
    if TOP not in labels:
        labels.append(TOP)
    return ReleasedColumn.of(np.where(hidden, np.int32(labels.index(TOP)), column.codes), labels)


def values_with_null(column: Column) -> tuple[pa.Array, pa.StringArray]:
    """Return the value and the text of each code, null included; values of rare types are replaced by their texts."""
    values, texts = column.values, column.texts
    if any(is_rare(values.type) for is_rare in _RARE):
        values = texts
    if not column.has_null:
        return values, texts
    return tuple(pa.concat_arrays([array, pa.nulls(1, array.type)]) for array in (values, texts))


def decode_table(table: Table) -> pa.Table:
    """Decode a table: return its values as an Arrow table."""
    return pa.table({name: values_with_null(c)[0].take(pa.array(c.codes)) for name, c in table.columns.items()})
