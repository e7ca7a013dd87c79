"""Target-aware Mondrian: cut where the sides differ most in the column that the release will be used to predict."""

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
from shoal.data.packed_keys import LongCounts
from shoal.partition.axes import Axis, Floats, Regions
from shoal.partition.condition import Condition
from shoal.partition.cuts import At, Parts
from shoal.partition.mondrian import Plan, PlannedCuts, Watch, cut_all_parts, ignore_progress, kernel_arguments_of


@dataclass(frozen=True)
class Spots:
    """Groups of items with the same position on an axis, ordered by part and then from left to right."""

    spot: Longs
    """Spot of each item of the table; -1 where the item is in none of the parts."""
    part: Longs
    """Part of each spot."""

    @property
    def count(self) -> int:
        return len(self.part)

    @cached_property
    def begin(self) -> Longs:
        """The first spot of each part."""
        return np.flatnonzero(np.diff(self.part, prepend=-1))

    def running_sum(self, amounts: Floats) -> Floats:
        """Return the running sum of the amounts within each part, up to and including each spot."""
        sums = np.cumsum(amounts)
        before: Floats = np.concatenate([np.zeros(1), sums])[self.begin]
        return np.asarray(sums - before[self.part])

    def total(self, amounts: Floats) -> Floats:
        """Return the sum of the amounts of each part."""
        return np.add.reduceat(amounts, self.begin)


class Impurity(ABC):
    """How much the target varies in a set of rows: 0 where all are alike; that of a cut is the sum over its sides."""

    @abstractmethod
    def of_cuts(self, spots: Spots) -> Floats:
        """Return, for each spot, the impurity of both sides if its part were cut after it."""

    @abstractmethod
    def of_parts(self, spots: Spots) -> Floats:
        """Return the impurity of each part if it were cut into its spots."""

    @abstractmethod
    def cut_for_k(self, items: FrequencySet, axes: Sequence[Axis], k: int) -> Regions:
        """Partition by the cuts of least impurity that leave k rows on every side, in compiled code."""


@dataclass(frozen=True)
class Entropy(Impurity):
    """n times the entropy of the values among n rows, in nats: f(n) - Σ f(n_v) with f(x) = x ln x."""

    entries: LongCounts

    def of_cuts(self, spots: Spots) -> Floats:
        spot, values, counts = self._inside(spots)
        order = np.lexsort((spot, values))  # value by value, so part by part within a value
        spot, values, counts = spot[order], values[order], counts[order]
        # each run is one value in one part, its spots from left to right
        part = spots.part[spot]
        fresh = np.ones(len(spot), dtype=bool)
        fresh[1:] = (values[1:] != values[:-1]) | (part[1:] != part[:-1])
        run = Spots(spot, np.cumsum(fresh) - 1)  # one run per value and part
        # [entry] rows of the same value and part up to this spot, and after it
        left = run.running_sum(counts)
        right = run.total(counts)[run.part] - left
        # [spot] change of Σ f(n_v) when the spot joins the left side, and when it leaves the right side
        gained = sum_by_index(spot, _x_log_x(left) - _x_log_x(left - counts), spots.count)
        lost = sum_by_index(spot, _x_log_x(right + counts) - _x_log_x(right), spots.count)
        rows = sum_by_index(spot, counts, spots.count)
        # [spot] rows up to it and in its part; Σ f(n_v) of a side is then a running sum
        before, all_rows = spots.running_sum(rows), spots.total(rows)[spots.part]
        on_the_right = spots.total(lost)[spots.part] - spots.running_sum(lost)
        return _x_log_x(before) - spots.running_sum(gained) + _x_log_x(all_rows - before) - on_the_right

    def of_parts(self, spots: Spots) -> Floats:
        spot, values, counts = self._inside(spots)
        # [pair of spot and value] rows of each
        pairs, which = np.unique(spot * self.entries.size + values, return_inverse=True)
        each = sum_by_index(which, counts, len(pairs))
        rows = sum_by_index(spot, counts, spots.count)
        return spots.total(_x_log_x(rows) - sum_by_index(pairs // self.entries.size, _x_log_x(each), spots.count))

    def cut_for_k(self, items: FrequencySet, axes: Sequence[Axis], k: int) -> Regions:
        # entries sorted by item; [item] where its entries begin
        order = np.argsort(self.entries.classes, kind="stable")
        begin = np.searchsorted(self.entries.classes[order], np.arange(len(items) + 1))
        values, counts = self.entries.values[order], self.entries.counts[order]
        return Regions(
            *kernels.least_entropy(*kernel_arguments_of(items, axes), k, begin, values, counts, self.entries.size)
        )

    def _inside(self, spots: Spots) -> tuple[Longs, Codes, Floats]:
        """Return the spot, the value and the rows of each entry whose item is in one of the parts."""
        spot = spots.spot[self.entries.classes]
        inside = spot >= 0
        return spot[inside], self.entries.values[inside], self.entries.counts[inside].astype(np.float64)


@dataclass(frozen=True)
class Squares(Impurity):
    """The sum of the squared distances from the mean: Σ x² - (Σ x)² / n."""

    rows: Floats
    """For each item the number of rows that have a value, ..."""
    sums: Floats
    """... their sum, ..."""
    squares: Floats
    """... and the sum of their squares."""

    @classmethod
    def count(cls, entries: LongCounts, numbers: Floats, items: int) -> "Squares":
        """Sum up standardised numbers per item: squares of large numbers would swallow small differences."""
        # a power of two brings the largest below 1, exactly, so that no sum of them is infinite
        number = np.ldexp(numbers, -np.frexp(np.abs(numbers).max(initial=0.0))[1])[entries.values]
        mean = np.average(number, weights=entries.counts)
        spread = np.sqrt(np.average((number - mean) ** 2, weights=entries.counts)) or 1.0
        number = (number - mean) / spread
        moments = (sum_by_index(entries.classes, entries.counts * number**p, items) for p in range(3))
        return cls(*moments)

    def of_cuts(self, spots: Spots) -> Floats:
        # [spot] rows, sum and sum of squares on the left of a cut after it, and in the whole part
        left = [spots.running_sum(amounts) for amounts in self._per_spot(spots)]
        whole = [spots.total(amounts)[spots.part] for amounts in self._per_spot(spots)]
        return _spread(*left) + _spread(*(total - some for total, some in zip(whole, left, strict=True)))

    def of_parts(self, spots: Spots) -> Floats:
        return spots.total(_spread(*self._per_spot(spots)))

    def cut_for_k(self, items: FrequencySet, axes: Sequence[Axis], k: int) -> Regions:
        return Regions(*kernels.least_squares(*kernel_arguments_of(items, axes), k, self.rows, self.sums, self.squares))

    def _per_spot(self, spots: Spots) -> list[Floats]:
        """Return the rows, the sum and the sum of squares of each spot."""
        inside = spots.spot >= 0
        return [
            sum_by_index(spots.spot[inside], amounts[inside], spots.count)
            for amounts in (self.rows, self.sums, self.squares)
        ]


def sum_by_index(where: NDArray[np.integer], amounts: Floats | Longs, count: int) -> Floats:
    """Sum the amounts at each index below `count`."""
    return np.bincount(where, amounts, minlength=count).astype(np.float64)


def _x_log_x(x: Floats) -> Floats:
    """Return x ln x; 0 at 0."""
    return x * np.log(np.maximum(x, 1.0))


def _spread(rows: Floats, sums: Floats, squares: Floats) -> Floats:
    """Return the sum of the squared distances from the mean, given the moments."""
    return squares - sums**2 / np.maximum(rows, 1.0)


_DECIMALS = 9
"""Impurities per row that agree to so many decimals are ties: beyond them, sums differ by rounding."""


@dataclass(frozen=True)
class Target:
    """An attribute that a release should help to predict: how many rows of each item have each of its values.

    >>> ill = LongCounts.count(np.array([0, 1, 1], np.int32), np.array([0, 1, 1], np.int32), 2)
    >>> Target(ill).combine(Target(ill)).entries.values.tolist()
    [0, 1, 2, 3]
    """

    entries: LongCounts
    numbers: Floats | None = None
    """The number behind each value, where the target is numeric."""

    def combine(self, other: "Target") -> "Target":
        """Join two targets into one whose entropy is, but for a constant, the sum of their entropies."""
        assert self.numbers is None
        assert other.numbers is None
        one, two = self.entries, other.entries
        return Target(
            LongCounts(
                np.concatenate([one.classes, two.classes]),
                np.concatenate([one.values, two.values + np.int32(one.size)]),
                np.concatenate([one.counts, two.counts]),
                one.size + two.size,
            )
        )

    def impurity(self, items: int) -> Impurity:
        """Return the impurity of the target: squared deviations for numbers, else entropy."""
        if self.numbers is None:
            return Entropy(self.entries)
        return Squares.count(self.entries, self.numbers, items)


def target_aware(
    condition: Condition, axes: Sequence[Axis], target: Target, *, watch: Watch = ignore_progress
) -> Regions:
    """Partition by information gain or regression, LeFevre, DeWitt and Ramakrishnan, KDD 2006 and TODS 2008 (S4.9).

    Of the cuts after any position of an ordered axis, and into the children along a hierarchy, the one whose sides are
    least impure in the target is made; ties go to the first axis, then to the lower position. With models beyond k,
    only the best position of each axis is tried. Null is cut off from the values of its axis before these are cut.

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
        return cut_all_parts(condition, axes, plan_by_impurity(axes, impurity, condition.least), watch)
    found = impurity.cut_for_k(condition.items, axes, condition.k)
    watch(1.0)
    return found


def plan_by_impurity(axes: Sequence[Axis], impurity: Impurity, least: int) -> Plan:
    """Plan the best cut of each axis that leaves `least` rows on its sides, the least impurity first."""

    def plan(parts: Parts) -> PlannedCuts:
        # [part, axis] least impurity of a cut on the axis, and where that cut is
        cost = np.full((parts.count, len(axes)), np.inf)
        at = np.full((parts.count, len(axes)), At.NOWHERE, dtype=np.int32)
        for a, axis in enumerate(axes):
            offer = _best_ordered_cut if axis.hierarchy is None else _children_cut
            cost[:, a], at[:, a] = offer(axis, parts, a, impurity, least)
        cost = np.round(cost / parts.rows[:, None], _DECIMALS)
        order = np.argsort(cost, axis=1, kind="stable")
        at = np.where(np.isinf(cost), At.NOWHERE, at).astype(np.int32)
        return PlannedCuts(order.astype(np.int32), np.take_along_axis(at, order, axis=1))

    return plan


def _best_ordered_cut(axis: Axis, parts: Parts, a: int, impurity: Impurity, least: int) -> tuple[Floats, Codes]:
    """For an ordered axis, return the least impurity that a cut of each part can have, and where to cut."""
    values = parts.points.at[parts.items, a]
    spots, where, rows = _spots(parts, values, axis.size)
    # [spot] rows on the left of a cut after it; both sides need enough of them
    left = spots.running_sum(rows)
    fits = (left >= least) & (parts.rows[spots.part] - left >= least)
    if axis.null is not None:
        mixed = (parts.high[:, a] == axis.null) & (parts.low[:, a] < axis.null)
        # where a part holds null and values, only the cut between the two is allowed
        before_null = np.append(where[1:], -1) == axis.null
        fits &= ~mixed[spots.part] | before_null
    cost = np.where(fits, impurity.of_cuts(spots), np.inf)
    cost = np.round(cost / parts.rows[spots.part], _DECIMALS)
    least_cost = np.minimum.reduceat(cost, spots.begin)
    # [part] the first spot of least cost
    best = np.flatnonzero(cost == least_cost[spots.part])
    first = best[np.unique(spots.part[best], return_index=True)[1]]
    at = where[first]
    if axis.null is not None:
        at = np.where(mixed, axis.null - 1, at)
    return least_cost * parts.rows, at.astype(np.int32)


def _children_cut(axis: Axis, parts: Parts, a: int, impurity: Impurity, least: int) -> tuple[Floats, Codes]:
    """For an axis along a hierarchy, return the impurity of a cut into the groups below the label."""
    several = parts.low[:, a] < parts.high[:, a]
    # [part] the level below that of its label; [item] its group there
    below = np.maximum(axis.level(parts.low[:, a], parts.high[:, a]) - 1, 0)
    group = axis.ranks[below[parts.part], parts.points.at[parts.items, a]]
    spots, _, rows = _spots(parts, group, axis.size)
    fits = several & np.logical_and.reduceat(rows >= least, spots.begin)
    return np.where(fits, impurity.of_parts(spots), np.inf), np.full(parts.count, At.CHILDREN, dtype=np.int32)


def _spots(parts: Parts, values: Codes, size: int) -> tuple[Spots, Longs, Floats]:
    """Group the items of each part by value; return the spots, the value and the rows of each."""
    # each distinct pair of part and value is a spot; `which` is the spot of each item of the parts
    keys, which = np.unique(parts.part * size + values, return_inverse=True)
    spot = np.full(len(parts.points.weights), -1, dtype=np.int64)
    spot[parts.items] = which
    return Spots(spot, keys // size), keys % size, sum_by_index(which, parts.weights, len(keys))
