"""What builders ask of a column: its values, its labels, and the row that does not fit."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.data.class_counts import Flags
from shoal.data.codes import Column, Kind
from shoal.errors import BadHierarchy
from shoal.hierarchy.taxonomy import TOP, Hierarchy, Taxonomy
from shoal.labels.scale import Coverage, Run, Scale

MAX_LABELS = 5_000_000
"""Most labels (distinct values times levels); a larger hierarchy would not be worth its memory."""


def built(column: Column, levels: Sequence[Sequence[str]]) -> Taxonomy:
    """Build a taxonomy over the column's own values, with `*` on top, as all builders do (design 8).

    >>> from shoal.data.codes import encode
    >>> built(encode("age", pa.array(["1", "2"])), [["low", "low"]]).levels
    [['low', 'low'], ['*', '*']]
    """
    leaves = column.texts.to_pylist()
    if not leaves:  # a column of nulls still needs a top to join
        return Taxonomy([TOP], [[TOP]] * (len(levels) + 1), lambda _: "no value")
    top = [TOP] * len(leaves)
    return Taxonomy(leaves, [*levels, top], lambda code: f"the value in row {column.first_row(code)}")


def first_row(column: Column, wrong: Sequence[bool] | pa.BooleanArray) -> int | None:
    """Return the first row, counted from 1, whose value is marked wrong; None if no value is. Null is never wrong.

    It is 0 where no row has a wrong value: a column also has the values of a population, which rows may lack.

    >>> from shoal.data.codes import encode
    >>> first_row(encode("age", pa.array(["b", None, "a"])), [True, False])
    3
    """
    marked = np.zeros(column.size, dtype=bool)
    marked[: len(wrong)] = np.asarray(wrong, dtype=bool)
    if not marked.any():
        return None
    rows = column.first_rows[marked]
    return int(rows[rows > 0].min()) if (rows > 0).any() else 0


def numbers_of(column: Column, needed_by: str) -> list[Fraction]:
    """Return the column's numbers, ascending; refuse a column that is not numeric, naming a row.

    >>> from shoal.data.codes import encode
    >>> numbers_of(encode("age", pa.array(["9", "10.5"])), "intervals")
    [Fraction(9, 1), Fraction(21, 2)]
    """
    if column.kind is Kind.NUMBER or not len(column.texts):
        return column.numbers
    plain = rf"\A-?(0|[1-9][0-9]*)({re.escape(column.decimal)}[0-9]+)?\z"
    row = first_row(column, pc.invert(pc.match_substring_regex(column.texts, plain)))
    if row is None:
        raise BadHierarchy(
            f"column {column.name!r}: {needed_by} needs each number written in one way, but some "
            "appear in two (with and without a decimal point, or as minus zero); normalise the column"
        )
    raise BadHierarchy(
        f"column {column.name!r}: {needed_by} needs plain numbers, and row {row} holds none; correct it, "
        "list it in [data] missing, or choose another hierarchy"
    )


def refuse_explosion(column: Column, levels: int) -> None:
    """Refuse a column of nearly unique values whose hierarchy would fill the memory (bad input 16)."""
    distinct = len(column.texts)
    if distinct * levels > MAX_LABELS:
        raise BadHierarchy(
            f"column {column.name!r}: {distinct:,} distinct values on {levels} level(s) are too many for a "
            "hierarchy; it looks like an identifier: give it that role, or round it first"
        )


@dataclass(frozen=True)
class Labels:
    """The labels that the cells of one column may show, and which of its codes each covers.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> Labels(encode("age", pa.array([9, 30, 41, None]))).covered("[9, 41)").tolist()
    [True, True, False, False]
    """

    column: Column
    hierarchy: Hierarchy | None = None

    def covered(self, label: str | None) -> Flags:
        """Flag the codes of the column that a label covers; a label that is not understood covers none."""
        return self._coverage.of(label)

    def runs(self, label: str | None) -> list[Run]:
        """Return the covered codes as runs."""
        return self._coverage.runs(label)

    @property
    def scale(self) -> Scale:
        return self._coverage.scale

    @cached_property
    def _coverage(self) -> Coverage:
        scale = Scale(self.column.values, self.column.decimal)
        return Coverage(scale, self.column.has_null, self.hierarchy)
