"""Workload-driven Mondrian: cut where the answers to a given workload become less wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.codes import Codes
from shoal.counts import Longs
from shoal.models import Flags
from shoal.partition.axes import Axis, Floats, Regions
from shoal.partition.condition import Condition
from shoal.partition.demand import AxisDemand, Demand
from shoal.partition.growth import Plan, Tries, Watch, grow, unwatched
from shoal.partition.mondrian import by_width, in_a_row
from shoal.partition.parts import At, Parts, Points

_LEAST_GAIN = 1e-9
"""Of the error of a part: sums in another order differ by less."""


def steered(condition: Condition, axes: Sequence[Axis], demand: Demand, *, watch: Watch = unwatched) -> Regions:
    """Mondrian whose cuts reduce the weighted error of a workload: the future work of our paper's section 2.4 (S4.9).

    The error of a part is, summed over the queries, how far the rows that satisfy a query lie from what the part's
    ranges let expect. Of each axis the cut is offered that leaves least of it: after a position where some predicate
    begins or ends, at the median, or into the children along a hierarchy. Where no cut helps, the widest axis is cut
    at its median as ever, so that parts stay small.

    >>> from shoal.frequency import FrequencySet
    >>> from shoal.models import KAnonymity
    >>> from shoal.partition.demand import Asked
    >>> items = FrequencySet.count({"age": (np.array([0, 1, 2, 3, 4, 5], np.int32), 6)})
    >>> age = Axis("age", np.arange(6, dtype=np.int32), np.array([20.0, 21.0, 50.0, 51.0, 52.0, 53.0]))
    >>> young = Demand(np.ones(1), {"age": Asked(np.array([0]), np.arange(6)[None, :] < 2)})
    >>> steered(Condition(items, [KAnonymity(2)]), [age], young).high.tolist()
    [[1], [3], [5]]
    """
    satisfied = demand.satisfied(Points.of(condition.items, axes), axes)
    return grow(condition, axes, by_error(axes, demand, satisfied, condition.least), watch)


def by_error(axes: Sequence[Axis], demand: Demand, satisfied: Flags, least: int) -> Plan:
    """Offers the cuts that gain most, each axis's best, then what plain Mondrian offers."""
    asked = [demand.on(axis) for axis in axes]
    plain = by_width(axes)

    def plan(parts: Parts) -> Tries:
        now = _State.of(parts, asked, demand.weights, satisfied)
        gain = np.full((parts.count, len(axes)), -np.inf)
        at = np.full((parts.count, len(axes)), At.NOWHERE, dtype=np.int32)
        for a, axis in enumerate(axes):
            offer = _after if axis.hierarchy is None else _to_children
            cost, at[:, a] = offer(now, asked[a], a, least)
            gain[:, a] = now.error - cost
        at[gain <= _LEAST_GAIN * now.error[:, None]] = At.NOWHERE
        order = np.argsort(-gain, axis=1, kind="stable")
        others = plain(parts)
        first = np.take_along_axis(at, order, axis=1)
        return in_a_row(
            np.concatenate([order.astype(np.int32), others.axis], axis=1), np.concatenate([first, others.at], axis=1)
        )

    return plan


@dataclass(frozen=True)
class _State:
    """Some parts as the workload sees them."""

    parts: Parts
    weights: Floats
    amounts: Floats
    """amounts[item of a part, query]: rows that satisfy."""
    shares: list[Floats]
    """Per axis: the share of each part's range that satisfies each query."""
    error: Floats

    @classmethod
    def of(cls, parts: Parts, asked: Sequence[AxisDemand], weights: Floats, satisfied: Flags) -> "_State":
        amounts: Floats = np.where(satisfied[parts.items], parts.weights[:, None], 0).astype(np.float64)
        shares = [one.shares(parts.low[:, a], parts.high[:, a]) for a, one in enumerate(asked)]
        held = np.add.reduceat(amounts, parts.begin[:-1], axis=0)
        expected = parts.rows[:, None] * np.prod(shares, axis=0)
        return cls(parts, weights, amounts, shares, np.abs(held - expected) @ weights)

    def beside(self, a: int) -> Floats:
        """The share of each part's ranges on all other axes."""
        others = [share for b, share in enumerate(self.shares) if b != a]
        return np.asarray(np.prod([np.ones_like(self.shares[a]), *others], axis=0))


@dataclass(frozen=True)
class _Spots:
    """The items of each part by what they have on one axis."""

    part: Longs
    begin: Longs
    """Where the items of each spot begin in `order`."""
    order: Longs
    low: Codes
    high: Codes

    @classmethod
    def of(cls, parts: Parts, a: int, group: Codes) -> "_Spots":
        values = parts.points.at[parts.items, a]
        order = np.lexsort((values, group, parts.part))
        part, group, values = parts.part[order], group[order], values[order]
        fresh = np.ones(len(order), dtype=bool)
        fresh[1:] = (group[1:] != group[:-1]) | (part[1:] != part[:-1])
        begin = np.flatnonzero(fresh)
        return cls(part[begin], begin, order, values[begin], values[np.append(begin[1:], len(order)) - 1])

    @property
    def first(self) -> Longs:
        """The first spot of each part."""
        return np.flatnonzero(np.diff(self.part, prepend=-1))

    def summed(self, amounts: Floats) -> Floats:
        """What the items of each spot have together."""
        return np.add.reduceat(amounts[self.order], self.begin, axis=0)


def _up_to(spots: _Spots, amounts: Floats) -> Floats:
    """The sum over the spots of a part up to each one."""
    sums = np.cumsum(amounts, axis=0)
    before = np.concatenate([np.zeros_like(sums[:1]), sums])[spots.first]
    return np.asarray(sums - before[spots.part])


def _after(now: _State, asked: AxisDemand, a: int, least: int) -> tuple[Floats, Codes]:
    """On an ordered axis: where cutting each part leaves least error, and how much."""
    parts = now.parts
    spots = _Spots.of(parts, a, parts.points.at[parts.items, a])
    left = _up_to(spots, spots.summed(parts.weights.astype(np.float64)))
    at, chosen = _candidates(now, asked, a, spots, left, least)
    held = _up_to(spots, spots.summed(now.amounts))
    whole = held[np.append(spots.first[1:], len(spots.part)) - 1]
    some = np.flatnonzero(chosen)
    part = spots.part[some]
    sides = (
        (held[some], left[some], parts.low[part, a], at[some]),
        (whole[part] - held[some], parts.rows[part] - left[some], at[some] + 1, parts.high[part, a]),
    )
    beside = now.beside(a)[part]
    cost = np.full(len(spots.part), np.inf)
    cost[some] = sum(
        np.abs(satisfy - rows[:, None] * beside * asked.shares(low, high)) @ now.weights
        for satisfy, rows, low, high in sides
    )
    best = np.minimum.reduceat(cost, spots.first)
    ties = np.flatnonzero(cost == best[spots.part])
    first = ties[np.unique(spots.part[ties], return_index=True)[1]]
    return best, at[first].astype(np.int32)


def _candidates(now: _State, asked: AxisDemand, a: int, spots: _Spots, left: Floats, least: int) -> tuple[Longs, Flags]:
    """After each spot: the position at which to cut, and whether that is offered.

    A cut may lie anywhere before the next value that the part holds: there it lies where a predicate begins or ends.
    """
    parts, null = now.parts, asked.axis.null
    rows = parts.rows[spots.part]
    following = np.append(spots.low[1:], 0)
    is_last = np.append(np.diff(spots.part) != 0, True)
    boundary = asked.last_boundary[np.maximum(following - 1, 0)]
    on_boundary = boundary >= spots.low
    median = (left >= rows / 2) & (left - spots.summed(parts.weights.astype(np.float64)) < rows / 2)
    chosen = ~is_last & (left >= least) & (rows - left >= least) & (on_boundary | median)
    at = np.where(on_boundary, boundary, spots.low).astype(np.int64)
    if null is None:
        return at, chosen
    mixed = ((parts.high[:, a] == null) & (parts.low[:, a] < null))[spots.part]
    return np.where(mixed, null - 1, at), np.where(mixed, chosen & (following == null), chosen)


def _to_children(now: _State, asked: AxisDemand, a: int, least: int) -> tuple[Floats, Codes]:
    """Along a hierarchy: what error cutting into the groups below the label leaves."""
    parts, axis = now.parts, asked.axis
    several = parts.low[:, a] < parts.high[:, a]
    below = np.maximum(axis.level(parts.low[:, a], parts.high[:, a]) - 1, 0)
    spots = _Spots.of(parts, a, axis.ranks[below[parts.part], parts.points.at[parts.items, a]])
    rows = spots.summed(parts.weights.astype(np.float64))
    expected = rows[:, None] * now.beside(a)[spots.part] * asked.shares(spots.low, spots.high)
    cost = np.add.reduceat(np.abs(spots.summed(now.amounts) - expected) @ now.weights, spots.first)
    fits = several & np.logical_and.reduceat(rows >= least, spots.first)
    return np.where(fits, cost, np.inf), np.full(parts.count, At.CHILDREN, dtype=np.int32)
