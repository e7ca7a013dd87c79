"""Categories of sensitive values, the most secret first, and what the classes hold of each.

A value that is in no category is treated as protecting least: it adds no category, weighs nothing, and is like every
other value. So a value that a policy forgot makes no release look safer than it is. Null is no value and has no
category (design 7).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Len

from shoal.data.class_counts import Indices, Longs, ValueCounts

Category = Annotated[tuple[str, ...], Len(1)]
Categories = Annotated[tuple[Category, ...], Len(1)]
Ranks = Annotated[tuple[Category, ...], Len(2)]
"""Categories that have weights, from 0 of the first to 1 of the last."""


@dataclass(frozen=True, slots=True)
class CategoryCounts:
    """What each class holds of each category: one entry per pair that occurs; category -1 is none."""

    classes: Indices
    categories: Indices
    rows: Longs
    """Rows of each entry, or persons where a unit is given."""
    values: Longs
    """Different values of each entry."""
    class_count: int

    @property
    def distinct(self) -> Longs:
        """The number of categories that each class holds."""
        known = self.classes[self.categories >= 0]
        return np.bincount(known, minlength=self.class_count).astype(np.int64)

    def sum_by_class(self, amounts: Longs) -> Longs:
        """Return the sum of the entries' amounts for each class."""
        out = np.zeros(self.class_count, dtype=np.int64)
        np.add.at(out, self.classes, amounts)
        return out


def count_categories(values: ValueCounts, categories: Sequence[Sequence[str]]) -> CategoryCounts:
    """Count categories instead of values.

    >>> values = ValueCounts(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2, 1, 3]), ["flu", "hiv"], 2)
    >>> counts = count_categories(values, [["hiv"], ["flu"]])
    >>> counts.distinct.tolist(), counts.rows.tolist()
    ([2, 1], [1, 2, 3])
    """
    known = values.non_null()
    rank = {value: i for i, category in enumerate(categories) for value in category}
    # category of each value, -1 for none
    of = np.array([-1 if label is None else rank.get(label, -1) for label in known.labels], dtype=np.int64)
    width = len(categories) + 1
    # one key for each (class, category) pair that occurs, and the pair of each entry
    keys, at = np.unique(known.classes * np.int64(width) + of[known.values] + 1, return_inverse=True)
    rows = np.zeros(len(keys), dtype=np.int64)
    np.add.at(rows, at, known.counts)
    distinct = np.bincount(at, minlength=len(keys)).astype(np.int64)
    return CategoryCounts(keys // width, keys % width - 1, rows, distinct, known.class_count)


def refuse_invalid_categories(model: Any, least: int = 1) -> None:
    """Raise ValueError unless `categories` are at least `least` disjoint lists of values; lists become tuples."""
    given = model.categories
    if not _is_list(given) or not all(_is_list(part) and all(isinstance(v, str) for v in part) for part in given):
        raise ValueError(f"categories must be a list of lists of values, the most secret first, not {given!r}")
    if len(given) < least:
        raise ValueError(f"categories must be at least {least}, not {len(given)}")
    if not all(given):
        raise ValueError(
            f"categories must each name a value; number {[len(part) for part in given].index(0) + 1} has none"
        )
    named = [value for part in given for value in part]
    twice = sorted({value for value in named if named.count(value) > 1})
    if twice:
        raise ValueError(f"categories must name each value once, and name {twice[0]!r} twice")
    object.__setattr__(model, "categories", tuple(tuple(part) for part in given))


def describe_uncategorised(values: ValueCounts, categories: Sequence[Sequence[str]]) -> str:
    """Return a note for messages about too few categories: how many values are in none; empty if all are in one."""
    known = {value for category in categories for value in category}
    present = {values.labels[value] for value in np.unique(values.values).tolist()} - {None}
    many = len(present - known)
    return f" ({many} of its values are in no category)" if many else ""


def _is_list(given: object) -> bool:
    return isinstance(given, list | tuple)
