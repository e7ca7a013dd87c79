"""Plain arrays of class sizes and class-by-value counts: all that a model reads, whoever counted them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]


@dataclass(frozen=True)
class ValueCounts:
    """How often each sensitive value occurs in each class, in long form: one entry per pair that occurs.

    >>> counts = ValueCounts(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2, 1, 3]), ["flu", "hiv"], 2)
    >>> counts.dense().tolist()
    [[2, 1], [0, 3]]
    """

    classes: NDArray[np.integer]
    values: NDArray[np.integer]
    counts: Longs
    labels: Sequence[str | None]
    """The sensitive value behind each number; None is null."""
    class_count: int

    def dense(self) -> Longs:
        """Classes × values."""
        matrix = np.zeros((self.class_count, len(self.labels)), dtype=np.int64)
        matrix[self.classes, self.values] = self.counts
        return matrix

    def non_null(self) -> "ValueCounts":
        """Without the null value, which never protects anyone (design 7)."""
        if None not in self.labels:
            return self
        keep = self.values != list(self.labels).index(None)
        return ValueCounts(self.classes[keep], self.values[keep], self.counts[keep], self.labels, self.class_count)

    def protecting(self, *, null: bool) -> "ValueCounts":
        """The values that a model counts: null only where the policy says that it is one of them."""
        return self if null else self.non_null()

    def pooled(self, chosen: NDArray[np.bool_]) -> "ValueCounts":
        """The chosen classes as one class."""
        inside = chosen[self.classes]
        totals = np.bincount(self.values[inside], weights=self.counts[inside], minlength=len(self.labels))
        present = np.flatnonzero(totals)
        return ValueCounts(np.zeros_like(present), present, totals[present].astype(np.int64), self.labels, 1)


@dataclass(frozen=True)
class ClassCounts:
    """Sizes of the equivalence classes and, per sensitive attribute, their value counts."""

    sizes: Longs
    sensitive: Mapping[str, ValueCounts] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return int(self.sizes.sum())
