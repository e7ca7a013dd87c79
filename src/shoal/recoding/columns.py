"""Released columns: a code for every row, and the value and the text behind each code."""

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
class Released:
    """One column as it will be published: a code per row and the value behind each code."""

    codes: Codes
    values: pa.Array
    texts: pa.StringArray
    """The values as a CSV shows them."""

    def text(self, row: int) -> str:
        """Return what a row shows; nothing for a null."""
        return str(self.texts[int(self.codes[row])].as_py() or "")

    @classmethod
    def of(cls, codes: Codes, texts: Sequence[str | None]) -> "Released":
        """Return a column of texts."""
        values = pa.array(texts, pa.string())
        return cls(codes, values, values)


def whole_numbers(codes: Codes, values: NDArray[np.int64]) -> Released:
    """Return a column of integers."""
    numbers = pa.array(values, pa.int64())
    return Released(codes, numbers, numbers.cast(pa.string()))


def shown_values(column: Column) -> Released:
    """Return a column with its values unchanged."""
    return Released(column.codes, *with_null(column))


def starred(column: Released, hidden: NDArray[np.bool_]) -> Released:
    """Return the column with `*` in the hidden rows."""
    labels = column.texts.to_pylist()
    if TOP not in labels:
        labels.append(TOP)
    return Released.of(np.where(hidden, np.int32(labels.index(TOP)), column.codes), labels)


def with_null(column: Column) -> tuple[pa.Array, pa.StringArray]:
    """Return the values and the texts behind each code, null included."""
    values, texts = column.values, column.texts
    if any(is_rare(values.type) for is_rare in _RARE):
        values = texts
    if not column.has_null:
        return values, texts
    return tuple(pa.concat_arrays([array, pa.nulls(1, array.type)]) for array in (values, texts))


def decoded(table: Table) -> pa.Table:
    """Return the values of an encoded table."""
    return pa.table({name: with_null(c)[0].take(pa.array(c.codes)) for name, c in table.columns.items()})
