"""What was decided: how each quasi-identifier is generalised and which rows are left out; a pure value."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.codes import Codes, Column, Table
from shoal.frequency import FrequencySet
from shoal.hierarchy import TOP, Hierarchy

_RARE = (pa.types.is_decimal256, pa.types.is_duration)
"""Types that many readers of a file do not know: they are published as text."""


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


class Recoding(Protocol):
    """A way to show the quasi-identifiers of every row."""

    @property
    def kind(self) -> str:
        """What it is made of: a node, boxes, cells or clusters."""
        ...

    @property
    def suppressed(self) -> NDArray[np.bool_]:
        """Per row of the input."""
        ...

    def columns_of(self, name: str) -> tuple[str, ...]:
        """The columns that are released of a quasi-identifier."""
        ...

    def show(self, column: Column, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Released]:
        """Those columns, a code for every row of the input."""
        ...


@dataclass(frozen=True)
class NodeRecoding:
    """Full-domain generalisation: one level per quasi-identifier, and the rows that are suppressed (AG_TS of S2.3)."""

    kind: ClassVar[str] = "node"
    levels: Mapping[str, int]
    suppressed: NDArray[np.bool_]
    """Per row of the input; empty where the rows stay where they are."""
    kept: FrequencySet | None = None
    """Then: the classes that are released, coded at the levels."""

    def columns_of(self, name: str) -> tuple[str, ...]:
        return (name,)

    def show(self, column: Column, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Released]:
        hierarchy, level = hierarchies[column.name], self.levels[column.name]
        return {column.name: Released.of(hierarchy.levels[level][column.codes], hierarchy.labels[level])}


@dataclass(frozen=True)
class PartRecoding:
    """Rows in parts, each of which shows something of its own: boxes, cells, clusters (CG_ of S2.3)."""

    kind: Literal["boxes", "cells", "clusters", "groups"]
    part: Codes
    """Of each row of the input."""
    shown: Mapping[str, Mapping[str, Released]]
    """Per quasi-identifier the columns that are released of it, a code for every part."""
    left_out: int | None = None
    """The part of the rows that are left out, if there are such."""

    @property
    def suppressed(self) -> NDArray[np.bool_]:
        return np.asarray(self.part == (-1 if self.left_out is None else self.left_out))

    def columns_of(self, name: str) -> tuple[str, ...]:
        return tuple(self.shown[name])

    def show(self, column: Column, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Released]:
        del hierarchies
        return {name: replace(each, codes=each.codes[self.part]) for name, each in self.shown[column.name].items()}


@dataclass(frozen=True)
class StoredRecoding:
    """The same boxes where the rows stay where they are."""

    kind: ClassVar[Literal["boxes"]] = "boxes"
    lines: Any
    """Distinct rows of all released columns, each with its part, as their engine keeps them."""
    points: Path
    """A Parquet file: the code of each quasi-identifier, in the order of their names (q0, q1, …), and the part."""
    shown: Mapping[str, Mapping[str, Released]]
    """Per quasi-identifier the columns that are released of it, a code for every part."""
    sizes: NDArray[np.int64]
    """Rows of each part."""

    @property
    def suppressed(self) -> NDArray[np.bool_]:
        return np.zeros(0, dtype=bool)

    def columns_of(self, name: str) -> tuple[str, ...]:
        return tuple(self.shown[name])

    def show(self, column: Column, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Released]:
        """Part by part: rows are not here."""
        del hierarchies
        return dict(self.shown[column.name])


@dataclass(frozen=True)
class GroupRecoding:
    """Rows in groups, and the sensitive values group by group in a table of their own (Anatomy, Xiao and Tao 2006)."""

    kind: ClassVar[Literal["groups"]] = "groups"
    group: Codes
    """Of each row of the input."""
    column: str
    """What the column of groups is called."""
    sensitive: str
    """What is told in the other table."""

    @property
    def suppressed(self) -> NDArray[np.bool_]:
        return np.zeros(len(self.group), dtype=bool)

    def columns_of(self, name: str) -> tuple[str, ...]:
        return (name,)

    def show(self, column: Column, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Released]:
        del hierarchies
        return {column.name: Released(column.codes, *_with_null(column))}

    def grouped(self) -> Released:
        """The column of groups."""
        return _whole_numbers(self.group, np.arange(1, int(self.group.max()) + 2))

    def separate(self, column: Column) -> dict[str, Released]:
        """The other table: how often each sensitive value occurs in each group."""
        pairs, counts = np.unique(self.group.astype(np.int64) * column.size + column.codes, return_counts=True)
        many, at = np.unique(counts, return_inverse=True)
        return {
            self.column: replace(self.grouped(), codes=(pairs // column.size).astype(np.int32)),
            self.sensitive: Released((pairs % column.size).astype(np.int32), *_with_null(column)),
            "count" if self.sensitive != "count" else "rows": _whole_numbers(at.astype(np.int32), many),
        }


def _whole_numbers(codes: Codes, values: NDArray[np.int64]) -> Released:
    numbers = pa.array(values, pa.int64())
    return Released(codes, numbers, numbers.cast(pa.string()))


def recode(
    table: Table,
    recoding: Recoding,
    hierarchies: Mapping[str, Hierarchy],
    columns: list[str],
    quasi_identifiers: Collection[str],
    *,
    show: bool,
) -> tuple[dict[str, Released], NDArray[np.int64]]:
    """The released columns and the input row of each released row; with `show`, suppressed rows stay as all `*`."""
    rows = np.arange(table.rows) if show else np.flatnonzero(~recoding.suppressed)
    hidden = recoding.suppressed[rows] if show else np.zeros(len(rows), dtype=bool)
    out = {}
    for name in columns:
        if name not in quasi_identifiers:
            out[name] = Released(table[name].codes[rows], *_with_null(table[name]))
            continue
        for shown, column in recoding.show(table[name], hierarchies).items():
            kept = replace(column, codes=column.codes[rows])
            out[shown] = _starred(kept, hidden) if hidden.any() else kept
    return out, rows


def recode_items(
    table: Table,
    items: FrequencySet,
    recoding: NodeRecoding,
    hierarchies: Mapping[str, Hierarchy],
    columns: Sequence[str],
    *,
    show: bool,
) -> tuple[dict[str, Released], NDArray[np.int64]]:
    """The same for rows that were counted, quasi-identifiers coded at the levels; and how often each row occurs."""
    assert recoding.kept is not None
    inside = items.among(recoding.kept)
    if not show:
        items = items.kept(inside)
    hidden = ~inside if show else np.zeros(len(items), dtype=bool)
    out = {}
    for name in columns:
        if name in recoding.levels:
            made = Released.of(items.codes(name), hierarchies[name].labels[recoding.levels[name]])
            out[name] = _starred(made, hidden) if hidden.any() else made
        else:
            out[name] = replace(shown_values(table[name]), codes=items.codes(name))
    return out, items.counts


def shown_values(column: Column) -> Released:
    """A column as it is."""
    return Released(column.codes, *_with_null(column))


def _starred(column: Released, hidden: NDArray[np.bool_]) -> Released:
    """The column with `*` in hidden rows."""
    labels = column.texts.to_pylist()
    if TOP not in labels:
        labels.append(TOP)
    return Released.of(np.where(hidden, np.int32(labels.index(TOP)), column.codes), labels)


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


KINDS: dict[str, str] = {
    "node": "Every identifying column was made coarser as a whole: all its values are shown at one level of detail.",
    "boxes": "The rows were cut into boxes: each box shows a range or a label of its own for every identifying column.",
    "cells": "Every class of rows has labels of its own, each only as coarse as this class needs.",
    "clusters": "Rows near to each other were put together, and show what is in their middle.",
    "groups": "Nothing was made coarser: the sensitive values were moved to a table of their own, group by group.",
}
"""What each kind of recoding does, for people."""
