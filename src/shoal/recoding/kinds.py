"""Recodings: how each quasi-identifier is generalised and which rows are left out; pure values."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.data.codes import Codes, Column, Table
from shoal.data.frequency_set import FrequencySet
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.recoding.columns import Released, shown_values, starred, whole_numbers, with_null

T = TypeVar("T")

SENTENCES: dict[str, str] = {
    "node": "Every identifying column was made coarser as a whole: all its values are shown at one level of detail.",
    "boxes": "The rows were cut into boxes: each box shows a range or a label of its own for every identifying column.",
    "cells": "Every class of rows has labels of its own, each only as coarse as this class needs.",
    "clusters": "Rows near to each other were put together, and show what is in their middle.",
    "groups": "Nothing was made coarser: the sensitive values were moved to a table of their own, group by group.",
}
"""What each kind of recoding does, for people."""


class Recoding(Protocol):
    """A way to show the quasi-identifiers of every row."""

    on_disk: ClassVar[bool]
    """Whether the rows, and which of them belong together, stay on disk."""
    keeps_values: ClassVar[bool]
    """Whether quasi-identifiers are shown as they were."""

    @property
    def kind(self) -> Literal["node", "boxes", "cells", "clusters", "groups"]:
        """What it is made of."""
        ...

    @property
    def levels(self) -> Mapping[str, int] | None:
        """The level of each quasi-identifier, where one is the same for all rows."""
        ...

    @property
    def suppressed(self) -> NDArray[np.bool_]:
        """Per row of the input."""
        ...

    @property
    def moved(self) -> str | None:
        """The sensitive attribute that is told in a table of its own."""
        ...

    def columns_of(self, name: str) -> tuple[str, ...]:
        """The columns that are released of a quasi-identifier."""
        ...

    def show(self, column: Column, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Released]:
        """Those columns, a code for every row of the input."""
        ...

    def label_counts(self) -> dict[str, int] | None:
        """How many different labels each released column shows; None where a level tells it."""
        ...

    def further_columns(self) -> dict[str, Released]:
        """Columns that are released beside those of the table."""
        ...

    def separate(self, table: Table) -> dict[str, Released] | None:
        """The second table, where there is one."""
        ...

    def by_kind(
        self,
        *,
        node: "Callable[[NodeRecoding], T]",
        parts: "Callable[[PartRecoding], T]",
        stored: "Callable[[StoredRecoding], T]",
        groups: "Callable[[GroupRecoding], T]",
    ) -> T:
        """What the function for its kind returns."""
        ...


class _OneTable:
    """What recodings share that generalise labels and release one table."""

    on_disk: ClassVar[bool] = False
    keeps_values: ClassVar[bool] = False

    @property
    def moved(self) -> None:
        return None

    def further_columns(self) -> dict[str, Released]:
        return {}

    def separate(self, table: Table) -> None:
        del table


def never(recoding: Recoding) -> NoReturn:
    """For kinds that were refused before the work began."""
    raise AssertionError(f"a recoding of kind {recoding.kind!r} cannot come here")


def in_parts(recoding: Recoding) -> "PartRecoding":
    """A recoding that is known to consist of parts."""
    return recoding.by_kind(node=never, parts=lambda own: own, stored=never, groups=never)


def stored_boxes(recoding: Recoding) -> "StoredRecoding":
    """A recoding that is known to be one of boxes on disk."""
    return recoding.by_kind(node=never, parts=never, stored=lambda own: own, groups=never)


@dataclass(frozen=True)
class NodeRecoding(_OneTable):
    """Full-domain generalisation: one level per quasi-identifier, and the rows that are suppressed (AG_TS of S2.3)."""

    kind: ClassVar[Literal["node"]] = "node"
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

    def label_counts(self) -> None:
        return None

    def by_kind(self, *, node: Callable[["NodeRecoding"], T], **_: Any) -> T:
        return node(self)


@dataclass(frozen=True)
class PartRecoding(_OneTable):
    """Rows in parts, each of which shows something of its own: boxes, cells, clusters (CG_ of S2.3)."""

    levels: ClassVar[None] = None
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

    def label_counts(self) -> dict[str, int]:
        return _label_counts(self.shown)

    def by_kind(self, *, parts: Callable[["PartRecoding"], T], **_: Any) -> T:
        return parts(self)


@dataclass(frozen=True)
class StoredRecoding(_OneTable):
    """The same boxes where the rows stay where they are."""

    kind: ClassVar[Literal["boxes"]] = "boxes"
    levels: ClassVar[None] = None
    on_disk: ClassVar[bool] = True
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

    def label_counts(self) -> dict[str, int]:
        return _label_counts(self.shown)

    def by_kind(self, *, stored: Callable[["StoredRecoding"], T], **_: Any) -> T:
        return stored(self)


def _label_counts(shown: Mapping[str, Mapping[str, Released]]) -> dict[str, int]:
    return {name: len(column.texts) for columns in shown.values() for name, column in columns.items()}


@dataclass(frozen=True)
class GroupRecoding:
    """Rows in groups, and the sensitive values group by group in a table of their own (Anatomy, Xiao and Tao 2006)."""

    kind: ClassVar[Literal["groups"]] = "groups"
    levels: ClassVar[None] = None
    on_disk: ClassVar[bool] = False
    keeps_values: ClassVar[bool] = True
    group: Codes
    """Of each row of the input."""
    column: str
    """What the column of groups is called."""
    sensitive: str
    """What is told in the other table."""

    @property
    def suppressed(self) -> NDArray[np.bool_]:
        return np.zeros(len(self.group), dtype=bool)

    @property
    def moved(self) -> str:
        return self.sensitive

    def columns_of(self, name: str) -> tuple[str, ...]:
        return (name,)

    def show(self, column: Column, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Released]:
        del hierarchies
        return {column.name: shown_values(column)}

    def label_counts(self) -> dict[str, int]:
        return {self.column: int(self.group.max()) + 1}

    def further_columns(self) -> dict[str, Released]:
        """The column of groups."""
        return {self.column: whole_numbers(self.group, np.arange(1, int(self.group.max()) + 2))}

    def separate(self, table: Table) -> dict[str, Released]:
        """The other table: how often each sensitive value occurs in each group."""
        column = table[self.sensitive]
        pairs, counts = np.unique(self.group.astype(np.int64) * column.size + column.codes, return_counts=True)
        many, at = np.unique(counts, return_inverse=True)
        groups = self.further_columns()[self.column]
        return {
            self.column: replace(groups, codes=(pairs // column.size).astype(np.int32)),
            self.sensitive: replace(shown_values(column), codes=(pairs % column.size).astype(np.int32)),
            "count" if self.sensitive != "count" else "rows": whole_numbers(at.astype(np.int32), many),
        }

    def by_kind(self, *, groups: Callable[["GroupRecoding"], T], **_: Any) -> T:
        return groups(self)


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
            out[name] = Released(table[name].codes[rows], *with_null(table[name]))
            continue
        for shown, column in recoding.show(table[name], hierarchies).items():
            kept = replace(column, codes=column.codes[rows])
            out[shown] = starred(kept, hidden) if hidden.any() else kept
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
            out[name] = starred(made, hidden) if hidden.any() else made
        else:
            out[name] = replace(shown_values(table[name]), codes=items.codes(name))
    return out, items.counts
