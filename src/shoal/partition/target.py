"""Target-aware Mondrian: cut where the sides tell most about what the release will be used to predict."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.codes import Codes
from shoal.counts import Longs
from shoal.frequency import Long
from shoal.partition.axes import Axis, Floats, Regions
from shoal.partition.condition import Condition
from shoal.partition.growth import Plan, Tries, Watch, grow, unwatched
from shoal.partition.impurity import Entropy, Impurity, Spots, Squares, summed
from shoal.partition.parts import At, Parts

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

    >>> from shoal.frequency import FrequencySet
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
