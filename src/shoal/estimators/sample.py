"""A sample as the histogram of its class sizes, and the population it is from."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """The histogram of a sample: `classes[i]` classes have `sizes[i]` rows each; `population` people in all.

    >>> Sample.of(np.array([3, 1, 1]), 50).classes.tolist()
    [2, 1]
    """

    sizes: Longs
    classes: Longs
    population: int

    @classmethod
    def of(cls, sizes: Longs, population: int) -> "Sample":
        """The histogram of the sizes of classes."""
        distinct, classes = np.unique(sizes, return_counts=True)
        return cls(distinct.astype(np.int64), classes.astype(np.int64), population)

    @classmethod
    def counted(cls, histogram: Mapping[int, int], population: int) -> "Sample":
        """From a table of sizes and their number of classes."""
        sizes, classes = zip(*sorted(histogram.items()), strict=True)
        return cls(np.array(sizes, dtype=np.int64), np.array(classes, dtype=np.int64), population)

    @property
    def rows(self) -> int:
        return int(self.sizes @ self.classes)

    @property
    def count(self) -> int:
        """Of classes."""
        return int(self.classes.sum())

    @property
    def fraction(self) -> float:
        return self.rows / self.population

    def of_size(self, size: int) -> int:
        """How many classes have this size."""
        return int(self.classes[self.sizes == size].sum())
