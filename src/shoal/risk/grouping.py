"""Rows told apart by a few columns: the kernel's grouping, as numbers of groups and their weights."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal import kernels
from shoal.codes import Codes, Table
from shoal.counts import Longs
from shoal.frequency import Layout, joined

Coded = tuple[Codes, int]
"""The codes of a column, and their number."""
Told = Callable[[float], None]
"""Hears what share of the work is done."""


def grouped(columns: Sequence[Coded], weights: Longs) -> tuple[Codes, Longs]:
    """The group of every row, and the weight of every group.

    >>> ids, weights = grouped([(np.array([1, 0, 1], np.int32), 2)], np.array([1, 1, 4]))
    >>> weights[ids].tolist()
    [5, 1, 5]
    """
    layout = Layout.of([size for _, size in columns])
    codes = [code for code, _ in columns]
    _, counts, ids = kernels.group_columns(codes, *layout.fields, layout.words, weights, want_ids=True)
    assert ids is not None
    return ids, counts


@dataclass(frozen=True)
class Distinct:
    """The different rows of some columns: each once, with how often it occurs and where each row of the table went."""

    names: tuple[str, ...]
    columns: tuple[Coded, ...]
    weights: Longs
    ids: Codes

    @classmethod
    def of(cls, columns: Mapping[str, Coded]) -> "Distinct":
        ids, count, behind = joined(list(columns.values()))
        sizes = [size for _, size in columns.values()]
        weights = np.bincount(ids, minlength=count).astype(np.int64)
        return cls(tuple(columns), tuple(zip(behind, sizes, strict=True)), weights, ids)

    @property
    def rows(self) -> int:
        return len(self.ids)

    def chosen(self, which: Sequence[int], rows: Codes) -> list[Coded]:
        """Some columns of some of the different rows."""
        return [(self.columns[i][0][rows], self.columns[i][1]) for i in which]


def coded(table: Table, names: Sequence[str], rows: Longs | None = None) -> dict[str, Coded]:
    """The codes of some columns, in some rows."""
    return {
        name: (table[name].codes if rows is None else table[name].codes[rows], max(table[name].size, 1))
        for name in names
    }
