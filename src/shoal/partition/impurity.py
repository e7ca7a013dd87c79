"""How much the rows of a part differ in a target, and how much they would on both sides of every cut."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.codes import Codes
from shoal.counts import Longs
from shoal.frequency import FrequencySet, Long
from shoal.partition.axes import Axis, Floats, Regions
from shoal.partition.compiled import compiled_form


@dataclass(frozen=True)
class Spots:
    """Items of some parts put together in spots, the spots one part after the other and from left to right."""

    spot: Longs
    """Of each item of the table; -1 where it is in none of the parts."""
    part: Longs
    """Of each spot."""

    @property
    def count(self) -> int:
        return len(self.part)

    @cached_property
    def begin(self) -> Longs:
        """The first spot of each part."""
        return np.flatnonzero(np.diff(self.part, prepend=-1))

    def up_to(self, amounts: Floats) -> Floats:
        """Of an amount per spot: the sum over the spots of its part up to it."""
        sums = np.cumsum(amounts)
        before: Floats = np.concatenate([np.zeros(1), sums])[self.begin]
        return np.asarray(sums - before[self.part])

    def total(self, amounts: Floats) -> Floats:
        """Of an amount per spot: the sum over each part."""
        return np.add.reduceat(amounts, self.begin)


class Impurity(ABC):
    """A statistic of the target's values in a set of rows that is 0 where all are alike; sides add up."""

    @abstractmethod
    def of_cuts(self, spots: Spots) -> Floats:
        """If the part of each spot were cut after it: the sum over both sides."""

    @abstractmethod
    def of_parts(self, spots: Spots) -> Floats:
        """If each part were cut into its spots: the sum over them."""

    @abstractmethod
    def cut_for_k(self, items: FrequencySet, axes: Sequence[Axis], k: int) -> Regions:
        """Compiled: cut where the sides are least impure, as long as k rows are on every side."""


@dataclass(frozen=True)
class Entropy(Impurity):
    """n times the entropy of the values among n rows, in nats: f(n) - Σ f(n_v) with f(x) = x ln x."""

    entries: Long

    def of_cuts(self, spots: Spots) -> Floats:
        spot, values, counts = self._inside(spots)
        order = np.lexsort((spot, values))  # value by value, so part by part within a value
        spot, values, counts = spot[order], values[order], counts[order]
        part = spots.part[spot]
        fresh = np.ones(len(spot), dtype=bool)
        fresh[1:] = (values[1:] != values[:-1]) | (part[1:] != part[:-1])
        run = Spots(spot, np.cumsum(fresh) - 1)  # one run per value and part
        left = run.up_to(counts)
        right = run.total(counts)[run.part] - left
        gained = summed(spot, _nats(left) - _nats(left - counts), spots.count)
        lost = summed(spot, _nats(right + counts) - _nats(right), spots.count)
        rows = summed(spot, counts, spots.count)
        before, all_rows = spots.up_to(rows), spots.total(rows)[spots.part]
        on_the_right = spots.total(lost)[spots.part] - spots.up_to(lost)
        return _nats(before) - spots.up_to(gained) + _nats(all_rows - before) - on_the_right

    def of_parts(self, spots: Spots) -> Floats:
        spot, values, counts = self._inside(spots)
        pairs, which = np.unique(spot * self.entries.size + values, return_inverse=True)
        each = summed(which, counts, len(pairs))
        rows = summed(spot, counts, spots.count)
        return spots.total(_nats(rows) - summed(pairs // self.entries.size, _nats(each), spots.count))

    def cut_for_k(self, items: FrequencySet, axes: Sequence[Axis], k: int) -> Regions:
        order = np.argsort(self.entries.classes, kind="stable")
        begin = np.searchsorted(self.entries.classes[order], np.arange(len(items) + 1))
        values, counts = self.entries.values[order], self.entries.counts[order]
        return Regions(*kernels.least_entropy(*compiled_form(items, axes), k, begin, values, counts, self.entries.size))

    def _inside(self, spots: Spots) -> tuple[Longs, Codes, Floats]:
        spot = spots.spot[self.entries.classes]
        inside = spot >= 0
        return spot[inside], self.entries.values[inside], self.entries.counts[inside].astype(np.float64)


@dataclass(frozen=True)
class Squares(Impurity):
    """The sum of squared distances from the mean: Σ x² - (Σ x)² / n."""

    rows: Floats
    """Of each item: how many rows have a number, ..."""
    sums: Floats
    """... their sum, ..."""
    squares: Floats
    """... and the sum of their squares."""

    @classmethod
    def count(cls, entries: Long, numbers: Floats, items: int) -> "Squares":
        """The numbers in units of their own spread, so that squares of large ones do not swallow small differences."""
        number = numbers[entries.values]
        mean = np.average(number, weights=entries.counts)
        spread = np.sqrt(np.average((number - mean) ** 2, weights=entries.counts)) or 1.0
        number = (number - mean) / spread
        moments = (summed(entries.classes, entries.counts * number**p, items) for p in range(3))
        return cls(*moments)

    def of_cuts(self, spots: Spots) -> Floats:
        left = [spots.up_to(amounts) for amounts in self._per_spot(spots)]
        whole = [spots.total(amounts)[spots.part] for amounts in self._per_spot(spots)]
        return _spread(*left) + _spread(*(total - some for total, some in zip(whole, left, strict=True)))

    def of_parts(self, spots: Spots) -> Floats:
        return spots.total(_spread(*self._per_spot(spots)))

    def cut_for_k(self, items: FrequencySet, axes: Sequence[Axis], k: int) -> Regions:
        return Regions(*kernels.least_squares(*compiled_form(items, axes), k, self.rows, self.sums, self.squares))

    def _per_spot(self, spots: Spots) -> list[Floats]:
        inside = spots.spot >= 0
        return [
            summed(spots.spot[inside], amounts[inside], spots.count) for amounts in (self.rows, self.sums, self.squares)
        ]


def summed(where: NDArray[np.integer], amounts: Floats | Longs, count: int) -> Floats:
    """The amounts of each number below `count`."""
    return np.bincount(where, amounts, minlength=count).astype(np.float64)


def _nats(x: Floats) -> Floats:
    return x * np.log(np.maximum(x, 1.0))


def _spread(rows: Floats, sums: Floats, squares: Floats) -> Floats:
    return squares - sums**2 / np.maximum(rows, 1.0)
