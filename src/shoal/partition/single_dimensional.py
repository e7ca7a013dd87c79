"""Single-dimensional partitioning: every attribute gets one set of intervals for the whole table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import islice

import numpy as np

from shoal.data.class_counts import Longs, sum_counts
from shoal.data.codes import Codes
from shoal.errors import Infeasible
from shoal.partition.axes import Axis, Regions
from shoal.partition.condition import Condition
from shoal.partition.cuts import Parts, Points

_MOST_TRIED = 16
"""Most cuts of an interval that are tried while classes fail, the nearest to its median first."""


@dataclass(frozen=True)
class _Interval:
    """A range of positions of one axis, with all items that lie in it."""

    axis: int
    low: int
    high: int
    items: Longs


@dataclass(frozen=True)
class _Classes:
    """The class of each item: its combination of intervals, numbered."""

    number: Codes
    count: int

    def split(self, items: Longs, side: Codes) -> tuple["_Classes", Codes, int]:
        """Return the classes after a cut of `items` into sides, the pieces of the classes it splits, and their number.

        Items of classes that are not split have piece -1.
        """
        # [pair of class and side] the class it is cut from; `which` is the pair of each item
        owner, _, which = _pairs(self.number[items], side)
        first = np.ones(len(owner), dtype=bool)
        first[1:] = owner[1:] != owner[:-1]
        name = owner.copy()  # the first side of a class keeps its number
        name[~first] = self.count + np.arange(np.count_nonzero(~first))
        number = self.number.copy()
        number[items] = name[which]
        # [pair] whether the cut splits its class: only such pieces have to be checked
        several = np.bincount(owner, minlength=self.count)[owner] > 1
        asked = np.full(len(number), -1, dtype=np.int32)
        asked[items] = np.where(several, np.cumsum(several) - 1, -1)[which]
        return _Classes(number, self.count + int(np.count_nonzero(~first))), asked, int(several.sum())


def single_dimensional(condition: Condition, axes: Sequence[Axis], *, empty_sides: bool = True) -> Regions:
    """Partition by single-dimensional cuts, LeFevre, DeWitt and Ramakrishnan, ICDE 2006: a baseline (S4.3).

    A cut of an interval is allowable if both sides of every class that it splits comply. Without `empty_sides` it must
    split every class that it crosses, as the paper asks: k rows or more on both sides of each of them, so that a region
    without rows can never come about. The widest interval that has
    an allowable cut is cut at the one nearest to its median, until none has any. Where merging complying
    classes is safe, other cuts never make a cut allowable, so each interval is tried only once. Models that smaller
    classes may keep although the table as one class does not are met by the first cuts.

    >>> from shoal.data.frequency_set import FrequencySet
    >>> from shoal.models import KAnonymity
    >>> items = FrequencySet.count({"age": (np.array([0, 1, 2, 3, 3], np.int32), 4)})
    >>> age = Axis("age", np.arange(4, dtype=np.int32), np.array([20.0, 30.0, 40.0, 50.0]))
    >>> found = single_dimensional(Condition(items, [KAnonymity(2)]), [age])
    >>> found.part.tolist(), found.low.tolist(), found.high.tolist()
    ([0, 0, 0, 1], [[0], [3]], [[2], [3]])
    """
    points = Points.of(condition.items, axes)
    everything = np.arange(len(points.weights))
    classes = _Classes(np.zeros(len(everything), dtype=np.int32), 1)
    intervals = [_Interval(a, 0, axis.size - 1, everything) for a, axis in enumerate(axes)]
    classes, intervals = _cut_failing_classes(condition, axes, points, classes, intervals, empty_sides=empty_sides)
    final: list[_Interval] = []
    waiting = [_rank_interval(axes, points, interval) for interval in intervals]
    heapify(waiting)
    while waiting:
        interval = heappop(waiting)[-1]
        for side, last in _cuts(condition, axes[interval.axis], points, classes, interval):
            cut = _allowed_cut(condition, classes, interval, side, empty_sides=empty_sides)
            if cut is not None and condition.holds(cut.number, cut.count):
                classes = cut
                for piece in _pieces(interval, side, last):
                    heappush(waiting, _rank_interval(axes, points, piece))
                break
        else:
            final.append(interval)
    return _regions(axes, points, classes, final)


def _allowed_cut(
    condition: Condition, classes: _Classes, interval: _Interval, side: Codes, *, empty_sides: bool
) -> _Classes | None:
    """Return the classes after a cut; None if a piece of a class that it splits does not comply."""
    cut, asked, split = classes.split(interval.items, side)
    if not empty_sides and split != len(np.unique(classes.number[interval.items])) * len(np.unique(side)):
        return None
    return cut if split == 0 or bool(condition.complies(asked, split).all()) else None


def _cut_failing_classes(
    condition: Condition,
    axes: Sequence[Axis],
    points: Points,
    classes: _Classes,
    intervals: list[_Interval],
    *,
    empty_sides: bool,
) -> tuple[_Classes, list[_Interval]]:
    """Cut until every class complies, each time so that the fewest rows are in classes that do not.

    Every cut keeps the models that no smaller class of a failing one can keep. What fails these as one class is left as
    it is: cuts cannot help.
    """
    closed = condition.closed
    if not closed.complies(classes.number, classes.count).all():
        return classes, intervals

    def count_failing(tried: _Classes) -> int:
        bad = ~condition.complies(tried.number, tried.count)
        return int(points.weights[bad[tried.number]].sum())

    failing = count_failing(classes)
    while failing:
        failing, best = int(points.weights.sum()) + 1, None
        for at, interval in enumerate(intervals):
            cuts = islice(_cuts(closed, axes[interval.axis], points, classes, interval), _MOST_TRIED)
            for side, last in cuts:
                cut = _allowed_cut(closed, classes, interval, side, empty_sides=empty_sides)
                if cut is not None and (left := count_failing(cut)) < failing:
                    failing = left
                    best = cut, [*intervals[:at], *_pieces(interval, side, last), *intervals[at + 1 :]]
        if best is None:
            raise Infeasible("no way was found to cut the table so that every class keeps the policy; weaken it")
        classes, intervals = best
    if not condition.holds(classes.number, classes.count):
        raise Infeasible("no way was found to cut the table so that the policy holds; weaken it")
    return classes, intervals


def _rank_interval(axes: Sequence[Axis], points: Points, interval: _Interval) -> tuple[float, int, int, _Interval]:
    """Return the interval with its rank: the widest first, then by the order of the axes, then the lower one."""
    low, high = _occupied_range(points, interval)
    width = axes[interval.axis].widths(np.array([low]), np.array([high]))[0]
    return (-float(width), interval.axis, low, interval)


def _occupied_range(points: Points, interval: _Interval) -> tuple[int, int]:
    """Return the least and the greatest position that the interval holds."""
    values = points.at[interval.items, interval.axis]
    return int(values.min()), int(values.max())


def _cuts(
    condition: Condition, axis: Axis, points: Points, classes: _Classes, interval: _Interval
) -> Iterator[tuple[Codes, int | None]]:
    """Yield the cuts to try: the side of each item, and on an ordered axis the last position of the left side."""
    values = points.at[interval.items, interval.axis]
    low, high = _occupied_range(points, interval)
    if low == high:
        return
    if axis.hierarchy is not None:
        below = int(axis.level(np.array([low]), np.array([high]))[0]) - 1
        yield axis.ranks[below][values], None
        return
    at = _allowed_cut_values(values, classes.number[interval.items], points.weights[interval.items], condition.least)
    if axis.null == high:
        at = at[at == values[values < high].max()]
    all_items = Parts(points, interval.items, np.array([0, len(interval.items)]))
    median = int(all_items.medians(values)[0])
    for last in at[np.lexsort((at, np.abs(at - median)))].tolist():
        yield (values > last).astype(np.int32), (axis.null - 1 if axis.null == high else last)


def _allowed_cut_values(values: Codes, classes: Codes, weights: Longs, least: int) -> Codes:
    """Return the values after which a cut leaves at least `least` rows on both sides of every class that it splits.

    A class that has too few rows up to one of its values, or after it, forbids all cuts from there to its next value.
    """
    held, place = np.unique(values, return_inverse=True)
    owner, spot, which = _pairs(classes, place.astype(np.int32))
    # [pair of class and value] its rows, and the rows of the class up to this value
    rows = sum_counts(which, weights)
    total = sum_counts(owner, rows)
    left = np.cumsum(rows) - (np.cumsum(total) - total)[owner]
    inner = owner[1:] == owner[:-1]  # not the last value of its class
    tight = inner & ((left < least) | (total[owner] - left < least))[:-1]
    # [value] +1 where a forbidden stretch begins, -1 where it ends: their running sum counts the open ones
    forbidden = np.bincount(spot[:-1][tight], minlength=len(held)) - np.bincount(spot[1:][tight], minlength=len(held))
    free: Codes = held[:-1][np.cumsum(forbidden)[:-1] == 0]
    return free


def _pairs(one: Codes, other: Codes) -> tuple[Longs, Longs, Longs]:
    """Return both numbers of each distinct pair, in order, and the index of the pair of each entry."""
    width = int(other.max()) + 1
    keys, which = np.unique(one.astype(np.int64) * width + other, return_inverse=True)
    return keys // width, keys % width, which


def _pieces(interval: _Interval, side: Codes, last: int | None) -> Iterator[_Interval]:
    """Yield the intervals that a cut makes of one."""
    for number in np.unique(side).tolist():
        low, high = interval.low, interval.high
        if last is not None:
            low, high = (last + 1, high) if number else (low, last)
        yield _Interval(interval.axis, low, high, interval.items[side == number])


def _regions(axes: Sequence[Axis], points: Points, classes: _Classes, final: Sequence[_Interval]) -> Regions:
    """Return the classes as regions, sorted by their intervals, axis by axis."""
    low, high = np.empty_like(points.at), np.empty_like(points.at)
    for interval in final:
        least, most = _occupied_range(points, interval)
        where = (interval.items, interval.axis)
        low[where], high[where] = axes[interval.axis].edges_to_show(
            *(np.array([edge]) for edge in (interval.low, interval.high, least, most))
        )
    # [class] its first item, which stands for all: they share every interval
    first = np.empty(classes.count, dtype=np.int64)
    first[classes.number[::-1]] = np.arange(len(classes.number))[::-1]
    order = np.lexsort(low[first].T[::-1])
    rank = np.empty(classes.count, dtype=np.int32)
    rank[order] = np.arange(classes.count, dtype=np.int32)
    return Regions(rank[classes.number], low[first][order], high[first][order])
