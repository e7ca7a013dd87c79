"""What was decided: how each quasi-identifier is generalised and which rows are left out; a pure value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.codes import Codes, Table
from shoal.hierarchy import TOP, Hierarchy


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
            null = pa.nulls(1, table[name].values.type) if table[name].has_null else None
            values = pa.concat_arrays([table[name].values, null]) if null is not None else table[name].values
            out[name] = Released(codes, values)
            continue
        level = recoding.levels[name]
        labels = list(hierarchies[name].labels[level])
        codes = hierarchies[name].levels[level][codes]
        if hidden is not None and hidden.any():
            if TOP not in labels:
                labels.append(TOP)
            codes = np.where(hidden, np.int32(labels.index(TOP)), codes)
        out[name] = Released(codes, pa.array(labels, pa.string()))
    return out, rows
