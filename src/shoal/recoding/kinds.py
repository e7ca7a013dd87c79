"""Recodings: immutable descriptions of how each quasi-identifier is generalised and which rows are left out."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.data.codes import Codes, Column, Table
from shoal.data.frequency_set import FrequencySet
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.recoding.columns import ReleasedColumn, integer_column, star_rows, unchanged_column, values_with_null

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
    """How the quasi-identifiers of every row are shown in a release."""

    on_disk: ClassVar[bool]
    """Whether the rows, and the part of each, stay on disk."""
    keeps_values: ClassVar[bool]
    """Whether quasi-identifiers are released unchanged."""

    @property
    def kind(self) -> Literal["node", "boxes", "cells", "clusters", "groups"]:
        """Kind of recoding, a key of `SENTENCES`."""
        ...

    @property
    def levels(self) -> Mapping[str, int] | None:
        """Level of each quasi-identifier, where all rows share one."""
        ...

    @property
    def suppressed(self) -> NDArray[np.bool_]:
        """Whether each row of the input is suppressed."""
        ...

    @property
    def moved(self) -> str | None:
        """The sensitive attribute that is released in a table of its own."""
        ...

    def columns_of(self, name: str) -> tuple[str, ...]:
        """Return the names of the released columns of a quasi-identifier."""
        ...

    def show(self, column: Column, hierarchies: Mapping[str, Hierarchy]) -> dict[str, ReleasedColumn]:
        """Return the released columns of a quasi-identifier, with a code for every row of the input."""
        ...

    def label_counts(self) -> dict[str, int] | None:
        """Return the number of labels of each released column; None where it follows from the levels."""
        ...

    def further_columns(self) -> dict[str, ReleasedColumn]:
        """Return columns that are released in addition to those of the table."""
        ...

    def separate(self, table: Table) -> dict[str, ReleasedColumn] | None:
        """Return the second table, where there is one."""
        ...

    def by_kind(
        self,
        *,
        node: "Callable[[NodeRecoding], T]",
        parts: "Callable[[PartRecoding], T]",
        stored: "Callable[[StoredRecoding], T]",
        groups: "Callable[[GroupRecoding], T]",
    ) -> T:
        """Call the function for the kind of this recoding, and return its result."""
        ...


class _OneTable:
    """Base of recodings that generalise and release a single table."""

    on_disk: ClassVar[bool] = False
    keeps_values: ClassVar[bool] = False

    @property
    def moved(self) -> None:
        return None

    def further_columns(self) -> dict[str, ReleasedColumn]:
        return {}

    def separate(self, table: Table) -> None:
        del table


def fail_for_kind(recoding: Recoding) -> NoReturn:
    """Fail on a recoding of a kind that should have been refused before any work."""
    raise AssertionError(f"a recoding of kind {recoding.kind!r} cannot come here")


def as_part_recoding(recoding: Recoding) -> "PartRecoding":
    """Cast a recoding that is known to be a `PartRecoding`."""
    return recoding.by_kind(node=fail_for_kind, parts=lambda own: own, stored=fail_for_kind, groups=fail_for_kind)


def as_stored_recoding(recoding: Recoding) -> "StoredRecoding":
    """Cast a recoding that is known to be a `StoredRecoding`."""
    return recoding.by_kind(node=fail_for_kind, parts=fail_for_kind, stored=lambda own: own, groups=fail_for_kind)


@dataclass(frozen=True)
class NodeRecoding(_OneTable):
    """Full-domain generalisation: one level per quasi-identifier, and the rows that are suppressed (AG_TS of S2.3)."""

    kind: ClassVar[Literal["node"]] = "node"
    levels: Mapping[str, int]
    suppressed: NDArray[np.bool_]
    """Whether each row of the input is suppressed; empty where the rows are not in memory."""
    kept: FrequencySet | None = None
    """Where the rows are not in memory: the classes that are released, coded at the levels."""

    def columns_of(self, name: str) -> tuple[str, ...]:
        return (name,)

    def show(self, column: Column, hierarchies: Mapping[str, Hierarchy]) -> dict[str, ReleasedColumn]:
        hierarchy, level = hierarchies[column.name], self.levels[column.name]
        return {column.name: ReleasedColumn.of(hierarchy.levels[level][column.codes], hierarchy.labels[level])}

    def label_counts(self) -> None:
        return None

    def by_kind(self, *, node: Callable[["NodeRecoding"], T], **_: Any) -> T:
        return node(self)


@dataclass(frozen=True)
class PartRecoding(_OneTable):
    """A partition of the rows, each part with labels of its own: boxes, cells, clusters (CG_ of S2.3)."""

    levels: ClassVar[None] = None
    kind: Literal["boxes", "cells", "clusters", "groups"]
    part: Codes
    """Part of each row of the input."""
    shown: Mapping[str, Mapping[str, ReleasedColumn]]
    """Released columns of each quasi-identifier; a code per part."""
    left_out: int | None = None
    """Part of the rows that are left out, if there are any."""

    @property
    def suppressed(self) -> NDArray[np.bool_]:
        return np.asarray(self.part == (-1 if self.left_out is None else self.left_out))

    def columns_of(self, name: str) -> tuple[str, ...]:
        return tuple(self.shown[name])

    def show(self, column: Column, hierarchies: Mapping[str, Hierarchy]) -> dict[str, ReleasedColumn]:
        del hierarchies
        return {name: replace(each, codes=each.codes[self.part]) for name, each in self.shown[column.name].items()}

    def label_counts(self) -> dict[str, int]:
        return _label_counts(self.shown)

    def by_kind(self, *, parts: Callable[["PartRecoding"], T], **_: Any) -> T:
        return parts(self)


@dataclass(frozen=True)
class StoredRecoding(_OneTable):
    """Boxes of rows that are not in memory."""

    kind: ClassVar[Literal["boxes"]] = "boxes"
    levels: ClassVar[None] = None
    on_disk: ClassVar[bool] = True
    lines: Any
    """Distinct rows of all released columns, each with its part, as their engine keeps them."""
    points: Path
    """A Parquet file: the code of each quasi-identifier, in the order of their names (q0, q1, …), and the part."""
    shown: Mapping[str, Mapping[str, ReleasedColumn]]
    """Released columns of each quasi-identifier; a code per part."""
    sizes: NDArray[np.int64]
    """Rows of each part."""
    losses: NDArray[np.float64]
    """losses[part, attribute]: the share of the values that the label cannot tell apart."""

    @property
    def suppressed(self) -> NDArray[np.bool_]:
        return np.zeros(0, dtype=bool)

    def columns_of(self, name: str) -> tuple[str, ...]:
        return tuple(self.shown[name])

    def show(self, column: Column, hierarchies: Mapping[str, Hierarchy]) -> dict[str, ReleasedColumn]:
        """Return the columns with a code per part, since the rows are not in memory."""
        del hierarchies
        return dict(self.shown[column.name])

    def label_counts(self) -> dict[str, int]:
        return _label_counts(self.shown)

    def by_kind(self, *, stored: Callable[["StoredRecoding"], T], **_: Any) -> T:
        return stored(self)


def _label_counts(shown: Mapping[str, Mapping[str, ReleasedColumn]]) -> dict[str, int]:
    """Return the number of labels of each released column."""
    return {name: len(column.texts) for columns in shown.values() for name, column in columns.items()}


@dataclass(frozen=True)
class GroupRecoding:
    """Rows in groups; a second table has the sensitive values of each group (Anatomy, Xiao and Tao 2006)."""

    kind: ClassVar[Literal["groups"]] = "groups"
    levels: ClassVar[None] = None
    on_disk: ClassVar[bool] = False
    keeps_values: ClassVar[bool] = True
    group: Codes
    """Group of each row of the input."""
    column: str
    """Name of the column of groups."""
    sensitive: str
    """The attribute that is released in the second table."""

    @property
    def suppressed(self) -> NDArray[np.bool_]:
        return np.zeros(len(self.group), dtype=bool)

    @property
    def moved(self) -> str:
        return self.sensitive

    def columns_of(self, name: str) -> tuple[str, ...]:
        return (name,)

    def show(self, column: Column, hierarchies: Mapping[str, Hierarchy]) -> dict[str, ReleasedColumn]:
        del hierarchies
        return {column.name: unchanged_column(column)}

    def label_counts(self) -> dict[str, int]:
        return {self.column: int(self.group.max()) + 1}

    def further_columns(self) -> dict[str, ReleasedColumn]:
        """Return the column of groups, numbered from 1."""
        return {self.column: integer_column(self.group, np.arange(1, int(self.group.max()) + 2))}

    def separate(self, table: Table) -> dict[str, ReleasedColumn]:
        """Return the second table: how often each sensitive value occurs in each group."""
        column = table[self.sensitive]
        # [line of the second table] pair of group and value as one number, and how often it occurs
        pairs, counts = np.unique(self.group.astype(np.int64) * column.size + column.codes, return_counts=True)
        # the counts as a column: its distinct values, and [line] which of them
        many, at = np.unique(counts, return_inverse=True)
        groups = self.further_columns()[self.column]
        return {
            self.column: replace(groups, codes=(pairs // column.size).astype(np.int32)),
            self.sensitive: replace(unchanged_column(column), codes=(pairs % column.size).astype(np.int32)),
            "count" if self.sensitive != "count" else "rows": integer_column(at.astype(np.int32), many),
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
) -> tuple[dict[str, ReleasedColumn], NDArray[np.int64]]:
    """Return the released columns and the input row of each released row; with `show`, suppressed rows stay as `*`."""
    # [released row] its row in the input, and whether its quasi-identifiers are shown as `*`
    rows = np.arange(table.rows) if show else np.flatnonzero(~recoding.suppressed)
    hidden = recoding.suppressed[rows] if show else np.zeros(len(rows), dtype=bool)
    out = {}
    for name in columns:
        if name not in quasi_identifiers:
            out[name] = ReleasedColumn(table[name].codes[rows], *values_with_null(table[name]))
            continue
        for shown, column in recoding.show(table[name], hierarchies).items():
            kept = replace(column, codes=column.codes[rows])
            out[shown] = star_rows(kept, hidden) if hidden.any() else kept
    return out, rows


def recode_items(
    table: Table,
    items: FrequencySet,
    recoding: NodeRecoding,
    hierarchies: Mapping[str, Hierarchy],
    columns: Sequence[str],
    *,
    show: bool,
) -> tuple[dict[str, ReleasedColumn], NDArray[np.int64]]:
    """Like `recode`, for distinct rows with quasi-identifiers coded at the levels; also return the count of each."""
    assert recoding.kept is not None
    # [distinct row] whether its class is released
    inside = items.is_in(recoding.kept)
    if not show:
        items = items.select_classes(inside)
    hidden = ~inside if show else np.zeros(len(items), dtype=bool)
    out = {}
    for name in columns:
        if name in recoding.levels:
            made = ReleasedColumn.of(items.codes(name), hierarchies[name].labels[recoding.levels[name]])
            out[name] = star_rows(made, hidden) if hidden.any() else made
        else:
            out[name] = replace(unchanged_column(table[name]), codes=items.codes(name))
    return out, items.counts
