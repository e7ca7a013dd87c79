"""Parts of a table that are looked at together, and the cuts that can be proposed to them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

import numpy as np

from shoal.data.class_counts import Longs
from shoal.data.codes import Codes
from shoal.data.frequency_set import FrequencySet
from shoal.models.model import Flags
from shoal.partition.axes import Axis, Regions


class At(IntEnum):
    """Where a part is cut; a number that is not negative is the last position of the left side."""

    NOWHERE = -1
    MEDIAN = -2
    """The median is the last position of the left side."""
    BELOW_MEDIAN = -3
    """The median is the first position of the right side."""
    CHILDREN = -4
    """Along a hierarchy: into the groups of the next lower level."""
    HALVES = -5
    """Rows at the median go to both sides, so that both get half of the rows."""


@dataclass(frozen=True)
class Points:
    """Where each item lies on each axis, and how many rows it stands for."""

    at: Codes
    """at[item, axis]"""
    weights: Longs

    @classmethod
    def of(cls, items: FrequencySet, axes: Sequence[Axis]) -> "Points":
        at = np.empty((len(items), len(axes)), dtype=np.int32)
        for a, axis in enumerate(axes):
            at[:, a] = axis.positions[items.codes(axis.attribute)]
        return cls(at, items.counts)


@dataclass(frozen=True)
class Parts:
    """Some parts: their items, one part after the other, and what they hold.

    >>> points = Points(np.array([[0], [3], [1]]), np.array([1, 1, 1]))
    >>> parts = Parts.of(points, np.array([1, 0, 1]), np.array([True, True]))
    >>> parts.items.tolist(), parts.low.tolist(), parts.high.tolist()
    ([1, 0, 2], [[3], [0]], [[3], [1]])
    """

    points: Points
    items: Longs
    begin: Longs
    """Where the items of each part begin; at the end, how many there are."""

    @classmethod
    def of(cls, points: Points, part: Codes, chosen: Flags) -> "Parts":
        """The chosen ones of numbered parts, none of them empty."""
        inside = np.flatnonzero(chosen[part])
        items = inside[np.argsort(part[inside], kind="stable")]
        sizes = np.bincount(part[inside], minlength=len(chosen))[chosen]
        return cls(points, items, np.concatenate([[0], np.cumsum(sizes)]))

    @property
    def count(self) -> int:
        return len(self.begin) - 1

    @cached_property
    def part(self) -> Longs:
        """The part of each of the items."""
        return np.repeat(np.arange(self.count), np.diff(self.begin))

    @cached_property
    def weights(self) -> Longs:
        return self.points.weights[self.items]

    @cached_property
    def rows(self) -> Longs:
        return np.add.reduceat(self.weights, self.begin[:-1])

    @cached_property
    def low(self) -> Codes:
        """low[part, axis]: the least position that the part holds."""
        return np.minimum.reduceat(self.points.at[self.items], self.begin[:-1])

    @cached_property
    def high(self) -> Codes:
        return np.maximum.reduceat(self.points.at[self.items], self.begin[:-1])

    def values(self, axis: Codes) -> Codes:
        """The position of each of the items on the axis of its part."""
        return self.points.at[self.items, axis[self.part]]

    def medians(self, values: Codes) -> Codes:
        """The least value of each part that half of its rows do not exceed."""
        order = np.lexsort((values, self.part))
        reached = np.cumsum(self.weights[order])
        before = np.concatenate([[0], np.cumsum(self.rows)[:-1]])
        return values[order[np.searchsorted(reached, before + (self.rows + 1) // 2)]]


@dataclass(frozen=True)
class Cuts:
    """A proposed cut of each of some parts."""

    axis: Codes
    side: Codes
    """Of each of the items; sides are numbered from left to right, some may be empty."""
    last: Codes
    """On an ordered axis: where the region of the left side ends."""
    first: Codes
    """On an ordered axis: where the region of the right side begins."""


def propose(axes: Sequence[Axis], parts: Parts, axis: Codes, at: Codes) -> Cuts:
    """What a cut of each part on this axis, at this position or `At`, would do."""
    values = parts.values(axis)
    last, below = at.copy(), at == At.BELOW_MEDIAN
    to_median = below | (at == At.MEDIAN)
    if to_median.any():
        last[to_median] = (parts.medians(values) - below)[to_median]
    cuts = Cuts(axis, (values > last[parts.part]).astype(np.int32), last, last + 1)
    if (at == At.CHILDREN).any():
        cuts = _to_children(axes, parts, values, at == At.CHILDREN, cuts)
    return _halved(parts, values, at == At.HALVES, cuts) if (at == At.HALVES).any() else cuts


def _to_children(axes: Sequence[Axis], parts: Parts, values: Codes, chosen: Flags, cuts: Cuts) -> Cuts:
    """The chosen parts along their hierarchy: the groups below the label are the sides."""
    side = cuts.side.copy()
    for a in np.unique(cuts.axis[chosen]):
        inside = (chosen & (cuts.axis == a))[parts.part]
        below = axes[a].level(parts.low[:, a], parts.high[:, a]) - 1
        side[inside] = axes[a].ranks[below[parts.part[inside]], values[inside]]
    return replace(cuts, side=side)


def _halved(parts: Parts, values: Codes, chosen: Flags, cuts: Cuts) -> Cuts:
    """The chosen parts in two halves: by value, then by position on all axes, then by number."""
    on_all = parts.points.at[parts.items]
    order = np.lexsort(np.stack([parts.items, *on_all.T[::-1], values, parts.part]))
    middle = parts.begin[:-1] + (np.diff(parts.begin) + 1) // 2
    late = np.empty(len(values), dtype=bool)
    late[order] = np.arange(len(values)) >= middle[parts.part]
    last = values[order[middle - 1]]
    shared = values[order[np.minimum(middle, parts.begin[1:] - 1)]] == last  # the median lies on both sides
    return Cuts(
        cuts.axis,
        np.where(chosen[parts.part], late, cuts.side).astype(np.int32),
        np.where(chosen, last, cuts.last),
        np.where(chosen, last + ~shared, cuts.first),
    )


def settled(axes: Sequence[Axis], points: Points, part: Codes, low: Codes, high: Codes) -> Regions:
    """The regions as they are shown: along a hierarchy what the part holds, and null only where there is some."""
    parts = Parts.of(points, part, np.ones(len(low), dtype=bool))
    low, high = low.copy(), high.copy()
    for a, axis in enumerate(axes):
        low[:, a], high[:, a] = axis.shown(low[:, a], high[:, a], parts.low[:, a], parts.high[:, a])
    return Regions(part, low, high)
