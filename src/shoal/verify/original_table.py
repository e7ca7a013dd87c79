"""The original as verification sees it: values as they came in, and which of them each row holds.

What it is made from was encoded by the code that made the release; what the values denote, how they are ordered and
what a label covers is found out here anew.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.counts import Indices
from shoal.labels import Coverage, Interval, Scale, parse_label, words


@dataclass(frozen=True)
class Levels:
    """The levels of a hierarchy: the group of each code on each level, level 0 being the values themselves."""

    levels: Sequence[Indices]
    labels: Sequence[Sequence[str | None]]
    """What each group of each level is called."""
    of_numbers: bool = False
    """Whether its labels are intervals of numbers; otherwise they mean what the person says who wrote them."""


@dataclass(frozen=True)
class OriginalColumn:
    """One column: its distinct values without null, and which of them each row holds."""

    values: pa.Array
    """In the type they came in."""
    texts: pa.StringArray
    """How the release writes each of them where it shows the value itself."""
    codes: Indices
    """Of each row the place of its value, or their number where it has none; of each of `raws` where there are such."""
    has_null: bool = False
    decimal: str = "."
    raws: pa.Array | None = None
    """Where rows stay where they are: the distinct values as found there."""
    missing: tuple[str, ...] | None = None
    """Of texts that are too many to be collected: those that mean null."""

    @property
    def size(self) -> int:
        """Number of codes, null included."""
        return len(self.values) + self.has_null

    @property
    def is_collected(self) -> bool:
        return self.missing is None

    @cached_property
    def scale(self) -> Scale:
        return Scale(self.values, self.decimal)

    def coverage(self, hierarchy: Levels | None) -> Coverage:
        return Coverage(self.scale, self.has_null, hierarchy)

    def labels(self, *, typed: bool = False) -> list[str | None]:
        """The text of each code, as a table of texts shows it or, `typed`, one of numbers and dates."""
        texts = words(self.values) if typed else self.texts
        return [*texts.to_pylist(), *([None] if self.has_null else [])]

    def as_original(self, text: str | None) -> str | None:
        """How the original writes what a release wrote so; as it is where no one value is meant."""
        codes = [] if text is None else self.scale.same(text).tolist()
        found: str | None = self.texts[codes[0]].as_py() if len(codes) == 1 else text
        return found

    def sql(self, cell: str) -> str:
        """The text of a cell of a column that was not collected, as DuckDB finds it."""
        if not self.missing:
            return cell
        marks = ", ".join("'" + text.replace("'", "''") + "'" for text in self.missing)
        return f"CASE WHEN {cell} IN ({marks}) THEN NULL ELSE {cell} END"

    @cached_property
    def misspelt(self) -> int:
        """How many values are written in a way that denotes another one, or nothing."""
        plain = self.values if pa.types.is_string(self.values.type) else words(self.values)
        other = np.flatnonzero(pc.not_equal(plain, self.texts).to_numpy(zero_copy_only=False)).tolist()
        if pa.types.is_string(self.values.type):
            return len(other)  # a text is written as it is
        return sum(code not in self.scale.same(self.texts[code].as_py()).tolist() for code in other)

    def mislabelled(self, hierarchy: Levels) -> Iterator[int]:
        """Codes whose label is not true of them: not the value itself on level 0, or an interval they do not lie in."""
        lowest = np.array([hierarchy.labels[0][group] for group in hierarchy.levels[0].tolist()], dtype=object)
        yield from np.flatnonzero(lowest != np.array(self.labels(), dtype=object)).tolist()
        if not hierarchy.of_numbers:
            return
        for level, labels in zip(hierarchy.levels[1:], hierarchy.labels[1:], strict=True):
            order = np.argsort(level, kind="stable")
            ends = np.searchsorted(level[order], np.arange(len(labels) + 1))
            for group, label in enumerate(labels):
                interval = None if label is None else parse_label(label)
                if isinstance(interval, Interval):
                    held = order[ends[group] : ends[group + 1]]
                    inside = np.zeros(self.size, dtype=bool)
                    inside[: len(self.values)] = self.scale.covered(interval)
                    yield from held[~inside[held]].tolist()


@dataclass(frozen=True)
class OriginalRelation:
    """Rows that stay where they are, and how DuckDB reads them there."""

    sql: str
    """A SELECT of all rows."""
    columns: Mapping[str, str]
    """What each column of the table is called in it."""
    setup: tuple[str, ...] = ()
    """What has to be run before."""
    counted: Callable[[Sequence[str]], pa.RecordBatchReader] | None = None
    """For rows that DuckDB cannot read: gives the distinct rows of some columns and how many `times` each occurs."""


@dataclass(frozen=True)
class OriginalTable:
    """All columns of the original."""

    columns: Mapping[str, OriginalColumn]
    rows: int
    relation: OriginalRelation | None = None
    """Where the rows are, if they are not in memory."""

    def __getitem__(self, name: str) -> OriginalColumn:
        return self.columns[name]
