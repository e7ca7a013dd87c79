"""A release as an attacker has it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.data.class_counts import ClassCounts, Flags, ValueCounts
from shoal.data.codes import Codes, Table, encode
from shoal.data.frequency_set import FrequencySet
from shoal.errors import BadInput
from shoal.hierarchy.arx_csv import Csv
from shoal.hierarchy.build import Builder, Rows
from shoal.hierarchy.inline_tree import Tree
from shoal.hierarchy.taxonomy import TOP

OWN_LEAVES = (Csv, Rows, Tree)
"""Hierarchies that name their values themselves, whatever the column holds."""


@dataclass(frozen=True)
class LabelColumn:
    """What every released row shows of one quasi-identifier: a code, and the label behind each code."""

    codes: Codes
    labels: Sequence[str | None]


@dataclass(frozen=True)
class Published:
    """A released table, the classes of its rows, and the hierarchies that the attacker knows.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> released = {"age": ["3*", "3*", "4*"], "disease": ["flu", "flu", "hiv"]}
    >>> table = Table({name: encode(name, pa.array(values)) for name, values in released.items()}, 3)
    >>> published = Published.of("the frame", table, ["age"], ["disease"])
    >>> published.counts.sizes.tolist(), published.counts.sensitive["disease"].dense().tolist()
    ([2, 1], [[2, 0], [0, 1]])
    """

    name: str
    """Name of the release in errors."""
    table: Table
    """The released columns."""
    quasi_identifiers: Mapping[str, LabelColumn]
    """Quasi-identifiers by their name in the original."""
    sensitive: tuple[str, ...]
    class_of_row: Codes
    """Class of each row: its equivalence class, or its group in Anatomy."""
    counts: ClassCounts
    """Sizes of the classes, and how often each sensitive value occurs in each."""
    builders: Mapping[str, Builder] = field(default_factory=dict)
    """Known hierarchies by attribute, sensitive attributes included."""
    exact: bool = False
    """Whether all quasi-identifiers are shown as they are, as in Anatomy."""
    unknown: tuple[str, ...] = ()
    """Columns declared sensitive that are not attacked: nobody knows them of anybody, either."""

    @classmethod
    def of(
        cls,
        name: str,
        table: Table,
        quasi_identifiers: Sequence[str],
        sensitive: Sequence[str],
        builders: Mapping[str, Builder] | None = None,
    ) -> "Published":
        """Wrap a table that was released as it is, one column for each quasi-identifier."""
        shown = {name: LabelColumn(table[name].codes, labels_of(table, name)) for name in quasi_identifiers}
        of_row, counts = classes_of(table, quasi_identifiers, sensitive)
        return cls(name, table, shown, tuple(sensitive), of_row, counts, builders or {})

    @property
    def rows(self) -> int:
        return self.table.rows

    @property
    def known_columns(self) -> list[str]:
        """The released columns that an attacker may know of somebody: all but the sensitive ones."""
        return [name for name in self.table.columns if name not in {*self.sensitive, *self.unknown}]

    @property
    def hidden(self) -> Flags:
        """Rows that show `*`, or the name of the hierarchy's root, in every quasi-identifier: they could be anybody's.

        If all rows do, they were generalised so: only those of `*` alone, which were suppressed, are hidden then.
        """
        blank = self._rows_of({name: {TOP, self._top(name)} for name in self.quasi_identifiers})
        return blank if not blank.all() else self._rows_of({name: {TOP} for name in self.quasi_identifiers})

    def _rows_of(self, labels: Mapping[str, Collection[str]]) -> Flags:
        """Flag the rows that show one of some labels in every quasi-identifier."""
        found = np.ones(self.rows, dtype=bool)
        for name, shown in self.quasi_identifiers.items():
            found &= np.isin(shown.codes, [code for code, label in enumerate(shown.labels) if label in labels[name]])
        return found

    def _top(self, name: str) -> str:
        """Return the label of a quasi-identifier that covers every value, where its hierarchy lists its own values."""
        builder = self.builders.get(name)
        if not isinstance(builder, OWN_LEAVES):
            return TOP
        return builder.taxonomy(encode(name, pa.array([], pa.string()))).top


@dataclass(frozen=True)
class Truth:
    """The original and its row behind each released row, to tell whether a guess is right."""

    table: Table
    rows: NDArray[np.int64]
    """Row of the original behind each released row; -1 for added rows."""

    def behind(self, name: str) -> Codes:
        """Return the code in the original behind each released row; -1 for added rows."""
        return self.follow(self.table[name].codes)

    def follow(self, codes: Codes) -> Codes:
        """Return what rows of the original have, for the one behind each released row; -1 for added rows."""
        return np.where(self.rows < 0, np.int32(-1), codes[self.rows])


def labels_of(table: Table, name: str) -> list[str | None]:
    """Return the text of each code of a column; None is null."""
    column = table[name]
    return [*column.texts.to_pylist(), *([None] if column.has_null else [])]


def classes_of(table: Table, grouped: Sequence[str], sensitive: Sequence[str]) -> tuple[Codes, ClassCounts]:
    """Return the class of every row by some columns, and the counts of sensitive values in the classes."""
    found = FrequencySet.count({name: (table[name].codes, table[name].size) for name in grouped}, want_classes=True)
    assert found.classes is not None
    values = {name: values_in(table, name, found.classes, len(found.counts)) for name in sensitive}
    return found.classes, ClassCounts(found.counts, values)


def values_in(table: Table, name: str, of_row: Codes, classes: int) -> ValueCounts:
    """Count how often each value of a column occurs in each class."""
    column = table[name]
    pairs, counts = np.unique(of_row.astype(np.int64) * column.size + column.codes, return_counts=True)
    return ValueCounts(pairs // column.size, pairs % column.size, counts, labels_of(table, name), classes)


def label_of_class(published: Published, name: str) -> Codes:
    """Return the label that all rows of each class show; refuse groups of Anatomy, whose rows differ."""
    codes = published.quasi_identifiers[name].codes
    label = np.empty(len(published.counts.sizes), dtype=np.int32)
    label[published.class_of_row] = codes
    if not np.array_equal(label[published.class_of_row], codes):
        raise BadInput(
            f"{published.name}: it shows the quasi-identifiers of its people as they are, in groups; this attack is "
            "about classes whose rows look alike"
        )
    return label
