"""What was decided: how each quasi-identifier is generalised and which rows are left out; a pure value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.codes import Codes, Column, Table
from shoal.hierarchy import TOP, Hierarchy

_RARE = (pa.types.is_decimal256, pa.types.is_duration)
"""Types that many readers of a file do not know: they are published as text."""


@dataclass(frozen=True)
class NodeRecoding:
    """Full-domain generalisation: one level per quasi-identifier, and the rows that are suppressed (AG_TS of S2.3)."""

    kind: ClassVar[str] = "node"
    levels: Mapping[str, int]
    suppressed: NDArray[np.bool_]
    """Per row of the input."""


@dataclass(frozen=True)
class Released:
    """One column as it will be published: a code per row and the value behind each code."""

    codes: Codes
    values: pa.Array
    texts: pa.StringArray
    """The values as a CSV shows them."""

    @classmethod
    def of(cls, codes: Codes, texts: Sequence[str | None]) -> "Released":
        """A column of texts."""
        values = pa.array(texts, pa.string())
        return cls(codes, values, values)


def recode(
    table: Table,
    recoding: NodeRecoding,
    hierarchies: Mapping[str, Hierarchy],
    columns: list[str],
    *,
    show: bool,
) -> tuple[dict[str, Released], NDArray[np.int64]]:
    """The released columns and the input row of each released row; with `show`, suppressed rows stay as all `*`."""
    rows = np.arange(table.rows) if show else np.flatnonzero(~recoding.suppressed)
    hidden = recoding.suppressed[rows] if show else None
    out = {}
    for name in columns:
        codes = table[name].codes[rows]
        if name not in hierarchies:
            out[name] = Released(codes, *_with_null(table[name]))
            continue
        level = recoding.levels[name]
        labels = list(hierarchies[name].labels[level])
        codes = hierarchies[name].levels[level][codes]
        if hidden is not None and hidden.any():
            if TOP not in labels:
                labels.append(TOP)
            codes = np.where(hidden, np.int32(labels.index(TOP)), codes)
        out[name] = Released.of(codes, labels)
    return out, rows


def _with_null(column: Column) -> tuple[pa.Array, pa.StringArray]:
    values, texts = column.values, column.texts
    if any(is_rare(values.type) for is_rare in _RARE):
        values = texts
    if not column.has_null:
        return values, texts
    return tuple(pa.concat_arrays([array, pa.nulls(1, array.type)]) for array in (values, texts))


def decoded(table: Table) -> pa.Table:
    """An encoded table as values again."""
    return pa.table({name: _with_null(c)[0].take(pa.array(c.codes)) for name, c in table.columns.items()})
