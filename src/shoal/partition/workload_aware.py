"""Workload-driven Mondrian: cut where the answers to a given workload become less wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shoal.data.class_counts import Longs
from shoal.data.codes import Codes, Table
from shoal.errors import BadInput, BadPolicy
from shoal.models.model import Flags
from shoal.models.spec import suggest_column
from shoal.partition.axes import Axis, Floats, Regions
from shoal.partition.condition import Condition
from shoal.partition.cuts import At, Parts, Points
from shoal.partition.mondrian import (
    Plan,
    PlannedCuts,
    Watch,
    cut_all_parts,
    ignore_progress,
    move_nowhere_last,
    plan_by_width,
)
from shoal.policy.sections import LocatedPath
from shoal.problem import Problem
from shoal.workload.answers import SANITY, answer_queries
from shoal.workload.generalised_table import QueriedOriginal
from shoal.workload.queries import Numbers, Query, attributes_of, load_queries
from shoal.workload.selectivity import ranges_to_next_value


@dataclass(frozen=True)
class AttributeDemand:
    """What queries ask of one attribute."""

    which: Longs
    """Number of the predicate of each query on this attribute; -1 for none."""
    held: Flags
    """held[predicate, code]: whether the value satisfies the predicate."""
    shares: Floats | None = None
    """shares[predicate, code]: for numbers, the satisfying share of the gap from each value to the next; else None."""

    @classmethod
    def unconstrained(cls, queries: int, size: int) -> "AttributeDemand":
        """Return the demand on an attribute that no query has a predicate on."""
        return cls(np.full(queries, -1), np.zeros((0, size), dtype=bool))


@dataclass(frozen=True)
class Demand:
    """A workload as regions with weights: for each query, which values of which attributes satisfy it.

    >>> ages = Axis("age", np.arange(4, dtype=np.int32), np.array([20.0, 30.0, 40.0, 49.0]))
    >>> young = AttributeDemand(np.array([0]), np.array([[True, True, False, False]]))
    >>> demand = Demand(np.array([2.0]), {"age": young})
    >>> demand.on(ages).shares(np.array([0, 1]), np.array([3, 2])).tolist()
    [[0.6666666666666666], [0.5263157894736842]]
    """

    weights: Floats
    """Cost of one row of error in each query."""
    asked: Mapping[str, AttributeDemand]

    def on(self, axis: Axis) -> "AxisDemand":
        """Return the demand on one axis, with a last predicate that every position satisfies."""
        asked = self.asked.get(axis.attribute) or AttributeDemand.unconstrained(len(self.weights), len(axis.positions))
        held, every = asked.held[:, axis.codes], np.ones((1, axis.size), dtype=bool)
        shares = held if asked.shares is None else asked.shares[:, axis.codes]
        return AxisDemand(axis, asked.which, np.concatenate([held, every]), np.concatenate([shares, every]) * 1.0)

    def satisfied(self, points: Points, axes: Sequence[Axis]) -> Flags:
        """Return [item, query]: whether the item satisfies the query."""
        found = np.ones((len(points.weights), len(self.weights)), dtype=bool)
        for a, axis in enumerate(axes):
            asked = self.on(axis)
            some = np.flatnonzero(asked.which >= 0)
            if len(some):
                found[:, some] &= asked.positions[asked.which[some]].T[points.at[:, a]]
        return found


@dataclass(frozen=True)
class AxisDemand:
    """What all queries ask of one axis."""

    axis: Axis
    which: Longs
    """Predicate of each query; -1, the last one, is satisfied by everything."""
    positions: Flags
    """positions[predicate, position]: whether it satisfies the predicate."""
    covered: Floats
    """covered[predicate, position]: the satisfying share of what the position covers."""

    @cached_property
    def boundaries(self) -> Flags:
        """Whether some predicate begins or ends right after each position."""
        changes = (self.positions[:, 1:] != self.positions[:, :-1]).any(axis=0)
        return np.append(changes, False)

    @cached_property
    def last_boundary(self) -> Longs:
        """The last boundary at or before each position; -1 where there is none."""
        places = np.where(self.boundaries, np.arange(self.axis.size), -1)
        return np.maximum.accumulate(places)

    @cached_property
    def _measure(self) -> Floats:
        """Length that each position covers: for numbers the gap to the next one, else 1."""
        if self.axis.hierarchy is not None or self.axis.categorical:
            return np.ones(self.axis.size)
        steps = np.diff(self.axis.values, append=self.axis.values[-1:] + 1.0)
        return np.append(steps, 1.0) if self.axis.null is not None else steps

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """Prefix sums: the length before each position, and the part of it that satisfies each predicate."""
        return self._prefix_sums(self._measure)

    @cached_property
    def _counts(self) -> tuple[Floats, Floats]:
        """Prefix sums of the same form, with every position of length 1."""
        return self._prefix_sums(np.ones(self.axis.size))

    def _prefix_sums(self, measure: Floats) -> tuple[Floats, Floats]:
        """Return the length before each position, and [position, predicate] the satisfying part of it."""
        covered = np.concatenate([[0.0], np.cumsum(measure)])
        held = np.zeros((self.axis.size + 1, len(self.positions)))
        held[1:] = np.cumsum(self.covered.T * measure[:, None], axis=0)
        return covered, held

    def shares(self, low: Codes | Longs, high: Codes | Longs) -> Floats:
        """Return shares[range, query]: how much of what is shown for a range of positions satisfies the query."""
        if self.axis.hierarchy is not None:
            low, high = self._range_of_label(np.asarray(low), np.asarray(high))
        covered, held = self._sums
        length, part = covered[high + 1] - covered[low], held[high + 1] - held[low]
        # beside huge numbers floats cannot tell the length of some ranges: there positions are counted
        lost = length <= 0
        if lost.any():
            counted, some = self._counts
            length[lost] = (counted[high + 1] - counted[low])[lost]
            part[lost] = (some[high + 1] - some[low])[lost]
        return np.asarray((part / length[:, None])[:, self.which])

    def _range_of_label(self, low: Codes, high: Codes) -> tuple[Longs, Longs]:
        """Return the first and last position under the label that covers each range."""
        level = self.axis.level(low, high)
        first, last = np.zeros(len(low), dtype=np.int64), np.full(len(low), self.axis.size - 1, dtype=np.int64)
        for h, ranks in enumerate(self.axis.ranks):
            at = level == h
            first[at] = np.searchsorted(ranks, ranks[low[at]])
            last[at] = np.searchsorted(ranks, ranks[low[at]], side="right") - 1
        return first, last


_LEAST_GAIN = 1e-9
"""Least gain, as a share of the error of a part: less may be rounding."""


def workload_aware(
    condition: Condition, axes: Sequence[Axis], demand: Demand, *, watch: Watch = ignore_progress
) -> Regions:
    """Partition by cuts that reduce the weighted error of a workload: future work of the paper's section 2.4 (S4.9).

    The error of a part is, summed over the queries, the difference between the rows that satisfy a query and the rows
    that the part's ranges suggest. For each axis the cut that leaves the least error is proposed: after a position
    where some predicate begins or ends, at the median, or into the children along a hierarchy. Where no cut helps, the
    widest axis is cut at its median, as in plain Mondrian, so that parts stay small.

    >>> from shoal.data.frequency_set import FrequencySet
    >>> from shoal.models import KAnonymity
    >>> from shoal.partition.workload_aware import AttributeDemand
    >>> items = FrequencySet.count({"age": (np.array([0, 1, 2, 3, 4, 5], np.int32), 6)})
    >>> age = Axis("age", np.arange(6, dtype=np.int32), np.array([20.0, 21.0, 50.0, 51.0, 52.0, 53.0]))
    >>> young = Demand(np.ones(1), {"age": AttributeDemand(np.array([0]), np.arange(6)[None, :] < 2)})
    >>> workload_aware(Condition(items, [KAnonymity(2)]), [age], young).high.tolist()
    [[1], [3], [5]]
    """
    satisfied = demand.satisfied(Points.of(condition.items, axes), axes)
    return cut_all_parts(condition, axes, plan_by_error(axes, demand, satisfied, condition.least), watch)


def plan_by_error(axes: Sequence[Axis], demand: Demand, satisfied: Flags, least: int) -> Plan:
    """Plan the best cut of each axis, the largest gain first, and then the cuts of plain Mondrian."""
    asked = [demand.on(axis) for axis in axes]
    plain = plan_by_width(axes)

    def plan(parts: Parts) -> PlannedCuts:
        now = _State.of(parts, asked, demand.weights, satisfied)
        # [part, axis] error that the best cut on the axis removes, and where that cut is
        gain = np.full((parts.count, len(axes)), -np.inf)
        at = np.full((parts.count, len(axes)), At.NOWHERE, dtype=np.int32)
        for a, axis in enumerate(axes):
            offer = _best_ordered_cut if axis.hierarchy is None else _children_cut
            cost, at[:, a] = offer(now, asked[a], a, least)
            gain[:, a] = now.error - cost
        at[gain <= _LEAST_GAIN * now.error[:, None]] = At.NOWHERE
        order = np.argsort(-gain, axis=1, kind="stable")
        others = plain(parts)
        first = np.take_along_axis(at, order, axis=1)
        return move_nowhere_last(
            np.concatenate([order.astype(np.int32), others.axis], axis=1), np.concatenate([first, others.at], axis=1)
        )

    return plan


@dataclass(frozen=True)
class _State:
    """The error of some parts under the workload, and what it is computed from."""

    parts: Parts
    weights: Floats
    amounts: Floats
    """amounts[item of a part, query]: rows of the item that satisfy the query."""
    shares: list[Floats]
    """shares[axis][part, query]: the share of the part's range that satisfies the query."""
    error: Floats
    """Weighted error of each part."""

    @classmethod
    def of(cls, parts: Parts, asked: Sequence[AxisDemand], weights: Floats, satisfied: Flags) -> "_State":
        amounts: Floats = np.where(satisfied[parts.items], parts.weights[:, None], 0).astype(np.float64)
        shares = [one.shares(parts.low[:, a], parts.high[:, a]) for a, one in enumerate(asked)]
        # [part, query] rows that satisfy, against rows expected if they were spread evenly over the ranges
        held = np.add.reduceat(amounts, parts.begin[:-1], axis=0)
        expected = parts.rows[:, None] * np.prod(shares, axis=0)
        return cls(parts, weights, amounts, shares, np.abs(held - expected) @ weights)

    def share_on_other_axes(self, a: int) -> Floats:
        """Return [part, query]: the product of the shares on all axes but `a`."""
        others = [share for b, share in enumerate(self.shares) if b != a]
        return np.asarray(np.prod([np.ones_like(self.shares[a]), *others], axis=0))


@dataclass(frozen=True)
class _Spots:
    """Spots: the items of each part grouped by their position, or group, on one axis."""

    part: Longs
    """Part of each spot."""
    begin: Longs
    """Where the items of each spot begin in `order`."""
    order: Longs
    """Items sorted by part and spot."""
    low: Codes
    high: Codes

    @classmethod
    def of(cls, parts: Parts, a: int, group: Codes) -> "_Spots":
        values = parts.points.at[parts.items, a]
        # [item] sorted by part, group and position: every change of part or group begins a new spot
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
        """Sum the amounts of the items of each spot."""
        return np.add.reduceat(amounts[self.order], self.begin, axis=0)


def _running_sum(spots: _Spots, amounts: Floats) -> Floats:
    """Return the running sum of the amounts within each part, up to and including each spot."""
    sums = np.cumsum(amounts, axis=0)
    before = np.concatenate([np.zeros_like(sums[:1]), sums])[spots.first]
    return np.asarray(sums - before[spots.part])


def _best_ordered_cut(now: _State, asked: AxisDemand, a: int, least: int) -> tuple[Floats, Codes]:
    """For an ordered axis, return the least error that a cut of each part can leave, and where to cut."""
    parts = now.parts
    spots = _Spots.of(parts, a, parts.points.at[parts.items, a])
    # [spot] rows of the part up to each spot: the left side of a cut after it
    left = _running_sum(spots, spots.summed(parts.weights.astype(np.float64)))
    at, chosen = _candidates(now, asked, a, spots, left, least)
    # [spot, query] satisfying rows on the left side; [part, query] in the whole part
    held = _running_sum(spots, spots.summed(now.amounts))
    whole = held[np.append(spots.first[1:], len(spots.part)) - 1]
    some = np.flatnonzero(chosen)
    part = spots.part[some]
    sides = (
        (held[some], left[some], parts.low[part, a], at[some]),
        (whole[part] - held[some], parts.rows[part] - left[some], at[some] + 1, parts.high[part, a]),
    )
    beside = now.share_on_other_axes(a)[part]
    # [spot] error of both sides together; infinite where no cut is proposed
    cost = np.full(len(spots.part), np.inf)
    cost[some] = sum(
        np.abs(satisfy - rows[:, None] * beside * asked.shares(low, high)) @ now.weights
        for satisfy, rows, low, high in sides
    )
    best = np.minimum.reduceat(cost, spots.first)
    # [part] the first spot of least error
    ties = np.flatnonzero(cost == best[spots.part])
    first = ties[np.unique(spots.part[ties], return_index=True)[1]]
    return best, at[first].astype(np.int32)


def _candidates(now: _State, asked: AxisDemand, a: int, spots: _Spots, left: Floats, least: int) -> tuple[Longs, Flags]:
    """For each spot, return the position of a cut after it, and whether that cut is proposed.

    A cut may lie anywhere before the next value that the part holds; there it is put where a predicate begins or ends.
    """
    parts, null = now.parts, asked.axis.null
    rows = parts.rows[spots.part]
    # [spot] position of the next spot, and the last boundary before that
    following = np.append(spots.low[1:], 0)
    is_last = np.append(np.diff(spots.part) != 0, True)
    boundary = asked.last_boundary[np.maximum(following - 1, 0)]
    on_boundary = boundary >= spots.low
    # [spot] whether the median row of the part lies in it
    median = (left >= rows / 2) & (left - spots.summed(parts.weights.astype(np.float64)) < rows / 2)
    chosen = ~is_last & (left >= least) & (rows - left >= least) & (on_boundary | median)
    at = np.where(on_boundary, boundary, spots.low).astype(np.int64)
    if null is None:
        return at, chosen
    # parts with null and values: the only cut is the one that separates the two
    mixed = ((parts.high[:, a] == null) & (parts.low[:, a] < null))[spots.part]
    return np.where(mixed, null - 1, at), np.where(mixed, chosen & (following == null), chosen)


def _children_cut(now: _State, asked: AxisDemand, a: int, least: int) -> tuple[Floats, Codes]:
    """For an axis along a hierarchy, return the error that is left by a cut into the groups below the label."""
    parts, axis = now.parts, asked.axis
    several = parts.low[:, a] < parts.high[:, a]
    below = np.maximum(axis.level(parts.low[:, a], parts.high[:, a]) - 1, 0)
    spots = _Spots.of(parts, a, axis.ranks[below[parts.part], parts.points.at[parts.items, a]])
    rows = spots.summed(parts.weights.astype(np.float64))
    # [spot, query] rows that would satisfy if they were spread evenly over the ranges; [part] error of the cut
    expected = rows[:, None] * now.share_on_other_axes(a)[spots.part] * asked.shares(spots.low, spots.high)
    cost = np.add.reduceat(np.abs(spots.summed(now.amounts) - expected) @ now.weights, spots.first)
    fits = several & np.logical_and.reduceat(rows >= least, spots.first)
    return np.where(fits, cost, np.inf), np.full(parts.count, At.CHILDREN, dtype=np.int32)


def demand_of(problem: Problem) -> Demand:
    """Return the policy's workload as a demand on the quasi-identifiers; every aggregate counts as its rows."""
    path = problem.policy.method.workload
    assert isinstance(path, LocatedPath)
    file = path.file
    queries = [Query(where=query.where, weight=query.weight) for query in load_queries(file)]
    try:
        return _demand(queries, problem.table, problem.quasi)
    except BadInput as wrong:
        raise BadPolicy(f"method.workload: {file.name}: {wrong}") from None


def _demand(queries: Sequence[Query], table: Table, quasi: Sequence[str]) -> Demand:
    """Return the demand of queries on the quasi-identifiers; refuse unknown columns, and a workload on none."""
    for number, query in enumerate(queries, 1):
        for name in query.attributes:
            if name not in table.columns:
                raise BadInput(f"query {number}: the table has no column {name!r}{suggest_column(name, table.columns)}")
    original = QueriedOriginal(table)
    recoded = [replace(query, where=tuple(one for one in query.where if one[0] in quasi)) for query in queries]
    if not any(query.where for query in recoded):
        raise BadInput("no query looks at a quasi-identifier")
    rows = answer_queries(original.show_columns(attributes_of(queries)), [*queries, *recoded])
    asked = {name: _attribute_demand_of(recoded, original, name) for name in quasi}
    found, satisfying = np.split(rows.values, 2)
    return Demand(_costs(queries, found, satisfying, table.rows), asked)


def _costs(queries: Sequence[Query], found: Floats, recoded: Floats, rows: int) -> Floats:
    """Return the cost of one row that is wrongly counted as satisfying the recoded part of each query.

    The other part of a query, on columns that are not recoded, is exact: it keeps a known share of those rows.
    """
    weights = np.array([query.weight for query in queries])
    return np.asarray(weights * np.maximum(found, 1) / np.maximum(recoded, 1) / np.maximum(found, SANITY * rows))


def _attribute_demand_of(queries: Sequence[Query], original: QueriedOriginal, name: str) -> AttributeDemand:
    """Return what the queries ask of one quasi-identifier."""
    domain, size = original.domain(name), original.table[name].size
    predicates = [dict(query.where).get(name) for query in queries]
    distinct = list(dict.fromkeys(one for one in predicates if one is not None))
    number = {predicate: at for at, predicate in enumerate(distinct)}
    which = np.array([-1 if one is None else number[one] for one in predicates], dtype=np.int64)
    held = np.array([domain.flag_codes(one) for one in distinct], dtype=bool).reshape(len(distinct), size)
    if not isinstance(domain, Numbers):
        return AttributeDemand(which, held)
    shares = held.astype(np.float64)  # null satisfies nothing
    gaps = ranges_to_next_value(domain)
    for at, predicate in enumerate(distinct):
        shares[at, : len(domain.values)] = gaps.apply_predicate(predicate).share
    return AttributeDemand(which, held, shares)
