"""Target-aware Mondrian: cut where the sides tell most about what the release will be used to predict."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.data.class_counts import Longs
from shoal.data.codes import Codes
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import Long
from shoal.partition.axes import Axis, Floats, Regions
from shoal.partition.condition import Condition
from shoal.partition.cuts import At, Parts
from shoal.partition.mondrian import Plan, Tries, Watch, compiled_form, grow, unwatched


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


_DECIMALS = 9
"""Impurities per row that agree so far are ties: sums in another order differ in the last digits."""


@dataclass(frozen=True)
class Target:
    """What a release should still tell: how many rows of each item have each value of an attribute.

    >>> ill = Long.count(np.array([0, 1, 1], np.int32), np.array([0, 1, 1], np.int32), 2)
    >>> Target(ill).together(Target(ill)).entries.values.tolist()
    [0, 1, 2, 3]
    """

    entries: Long
    numbers: Floats | None = None
    """The number behind each value, where the target is a number."""

    def together(self, other: "Target") -> "Target":
        """Both as one: the sum of their entropies is, but for a constant, that of their values side by side."""
        assert self.numbers is None
        assert other.numbers is None
        one, two = self.entries, other.entries
        return Target(
            Long(
                np.concatenate([one.classes, two.classes]),
                np.concatenate([one.values, two.values + np.int32(one.size)]),
                np.concatenate([one.counts, two.counts]),
                one.size + two.size,
            )
        )

    def impurity(self, items: int) -> Impurity:
        """Entropy, or squared deviations where the target is a number."""
        if self.numbers is None:
            return Entropy(self.entries)
        return Squares.count(self.entries, self.numbers, items)


def target_aware(condition: Condition, axes: Sequence[Axis], target: Target, *, watch: Watch = unwatched) -> Regions:
    """Mondrian by information gain or regression, LeFevre, DeWitt and Ramakrishnan, KDD 2006 and TODS 2008 (S4.9).

    Of the cuts after any position of an ordered axis, and into the children along a hierarchy, the one whose sides are
    least impure in the target is made; ties go to the first axis, then to the lower position. Beyond k, an axis is
    offered with its best position only. Null is cut off from the values of its axis before these are cut.

    >>> from shoal.data.frequency_set import FrequencySet
    >>> from shoal.models import KAnonymity
    >>> age = np.array([0, 1, 2, 3, 4, 5], np.int32)
    >>> items = FrequencySet.count({"age": (age, 6)}, {"ill": (np.array([0, 0, 1, 1, 1, 1], np.int32), 2)})
    >>> axis = Axis("age", np.arange(6, dtype=np.int32), np.arange(6.0))
    >>> target_aware(Condition(items, [KAnonymity(2)]), [axis], Target(items.long["ill"])).high.tolist()
    [[1], [3], [5]]
    """
    impurity = target.impurity(len(condition.items))
    if condition.k is None:
        return grow(condition, axes, by_impurity(axes, impurity, condition.least), watch)
    found = impurity.cut_for_k(condition.items, axes, condition.k)
    watch(1.0)
    return found


def by_impurity(axes: Sequence[Axis], impurity: Impurity, least: int) -> Plan:
    """Offers of each axis the cut of least impurity that leaves so many rows on its sides, the best axis first."""

    def plan(parts: Parts) -> Tries:
        cost = np.full((parts.count, len(axes)), np.inf)
        at = np.full((parts.count, len(axes)), At.NOWHERE, dtype=np.int32)
        for a, axis in enumerate(axes):
            offer = _after if axis.hierarchy is None else _to_children
            cost[:, a], at[:, a] = offer(axis, parts, a, impurity, least)
        cost = np.round(cost / parts.rows[:, None], _DECIMALS)
        order = np.argsort(cost, axis=1, kind="stable")
        at = np.where(np.isinf(cost), At.NOWHERE, at).astype(np.int32)
        return Tries(order.astype(np.int32), np.take_along_axis(at, order, axis=1))

    return plan


def _after(axis: Axis, parts: Parts, a: int, impurity: Impurity, least: int) -> tuple[Floats, Codes]:
    """On an ordered axis: the best position after which each part can be cut, and what that costs."""
    values = parts.points.at[parts.items, a]
    spots, where, rows = _spots(parts, values, axis.size)
    left = spots.up_to(rows)
    fits = (left >= least) & (parts.rows[spots.part] - left >= least)
    if axis.null is not None:
        mixed = (parts.high[:, a] == axis.null) & (parts.low[:, a] < axis.null)
        before_null = np.append(where[1:], -1) == axis.null
        fits &= ~mixed[spots.part] | before_null
    cost = np.where(fits, impurity.of_cuts(spots), np.inf)
    cost = np.round(cost / parts.rows[spots.part], _DECIMALS)
    least_cost = np.minimum.reduceat(cost, spots.begin)
    best = np.flatnonzero(cost == least_cost[spots.part])
    first = best[np.unique(spots.part[best], return_index=True)[1]]
    at = where[first]
    if axis.null is not None:
        at = np.where(mixed, axis.null - 1, at)
    return least_cost * parts.rows, at.astype(np.int32)


def _to_children(axis: Axis, parts: Parts, a: int, impurity: Impurity, least: int) -> tuple[Floats, Codes]:
    """Along a hierarchy: into the groups below the label."""
    several = parts.low[:, a] < parts.high[:, a]
    below = np.maximum(axis.level(parts.low[:, a], parts.high[:, a]) - 1, 0)
    group = axis.ranks[below[parts.part], parts.points.at[parts.items, a]]
    spots, _, rows = _spots(parts, group, axis.size)
    fits = several & np.logical_and.reduceat(rows >= least, spots.begin)
    return np.where(fits, impurity.of_parts(spots), np.inf), np.full(parts.count, At.CHILDREN, dtype=np.int32)


def _spots(parts: Parts, values: Codes, size: int) -> tuple[Spots, Longs, Floats]:
    """The items of each part by value; the value and the rows of each spot."""
    keys, which = np.unique(parts.part * size + values, return_inverse=True)
    spot = np.full(len(parts.points.weights), -1, dtype=np.int64)
    spot[parts.items] = which
    return Spots(spot, keys // size), keys % size, summed(which, parts.weights, len(keys))
