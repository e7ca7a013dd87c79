"""Parts of a table, processed together, and the sides that a proposed cut of each part would have."""

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
    """Where a part is cut; a number that is not negative means the last position of the left side."""

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
    """at[item, axis]: the position of the item."""
    weights: Longs

    @classmethod
    def of(cls, items: FrequencySet, axes: Sequence[Axis]) -> "Points":
        at = np.empty((len(items), len(axes)), dtype=np.int32)
        for a, axis in enumerate(axes):
            at[:, a] = axis.positions[items.codes(axis.attribute)]
        return cls(at, items.counts)


@dataclass(frozen=True)
class Parts:
    """Some parts of the table: their items, one part after the other, and what each part holds.

    >>> points = Points(np.array([[0], [3], [1]]), np.array([1, 1, 1]))
    >>> parts = Parts.of(points, np.array([1, 0, 1]), np.array([True, True]))
    >>> parts.items.tolist(), parts.low.tolist(), parts.high.tolist()
    ([1, 0, 2], [[3], [0]], [[3], [1]])
    """

    points: Points
    items: Longs
    begin: Longs
    """Where the items of each part begin in `items`; the last entry is the number of items."""

    @classmethod
    def of(cls, points: Points, part: Codes, chosen: Flags) -> "Parts":
        """Collect the chosen parts, given the part of each item; none of them may be empty."""
        inside = np.flatnonzero(chosen[part])
        items = inside[np.argsort(part[inside], kind="stable")]
        sizes = np.bincount(part[inside], minlength=len(chosen))[chosen]
        return cls(points, items, np.concatenate([[0], np.cumsum(sizes)]))

    @property
    def count(self) -> int:
        return len(self.begin) - 1

    @cached_property
    def part(self) -> Longs:
        """Part of each of the items."""
        return np.repeat(np.arange(self.count), np.diff(self.begin))

    @cached_property
    def weights(self) -> Longs:
        return self.points.weights[self.items]

    @cached_property
    def rows(self) -> Longs:
        """Number of rows of each part."""
        return np.add.reduceat(self.weights, self.begin[:-1])

    @cached_property
    def low(self) -> Codes:
        """low[part, axis]: the least position that the part holds."""
        return np.minimum.reduceat(self.points.at[self.items], self.begin[:-1])

    @cached_property
    def high(self) -> Codes:
        return np.maximum.reduceat(self.points.at[self.items], self.begin[:-1])

    def values(self, axis: Codes) -> Codes:
        """Return the position of each item on the axis chosen for its part."""
        return self.points.at[self.items, axis[self.part]]

    def medians(self, values: Codes) -> Codes:
        """Return the median of each part: the least value that at least half of its rows do not exceed."""
        # [item] sorted by part and value, rows summed up over all parts
        order = np.lexsort((values, self.part))
        reached = np.cumsum(self.weights[order])
        # [part] rows of the parts before it: the median is the row at half of its own beyond them
        before = np.concatenate([[0], np.cumsum(self.rows)[:-1]])
        return values[order[np.searchsorted(reached, before + (self.rows + 1) // 2)]]


@dataclass(frozen=True)
class Cuts:
    """One proposed cut for each of some parts."""

    axis: Codes
    side: Codes
    """Side of each item; sides are numbered from left to right, and some may be empty."""
    last: Codes
    """On an ordered axis: where the region of the left side ends."""
    first: Codes
    """On an ordered axis: where the region of the right side begins."""


def propose(axes: Sequence[Axis], parts: Parts, axis: Codes, at: Codes) -> Cuts:
    """Return the sides that a cut of each part would have, given its axis and its position or `At`."""
    values = parts.values(axis)
    # [part] last position of the left side
    last, below = at.copy(), at == At.BELOW_MEDIAN
    to_median = below | (at == At.MEDIAN)
    if to_median.any():
        last[to_median] = (parts.medians(values) - below)[to_median]
    cuts = Cuts(axis, (values > last[parts.part]).astype(np.int32), last, last + 1)
    if (at == At.CHILDREN).any():
        cuts = _cut_into_children(axes, parts, values, at == At.CHILDREN, cuts)
    return _cut_into_halves(parts, values, at == At.HALVES, cuts) if (at == At.HALVES).any() else cuts


def _cut_into_children(axes: Sequence[Axis], parts: Parts, values: Codes, chosen: Flags, cuts: Cuts) -> Cuts:
    """Cut the chosen parts along their hierarchy: the groups below the label are the sides."""
    side = cuts.side.copy()
    for a in np.unique(cuts.axis[chosen]):
        inside = (chosen & (cuts.axis == a))[parts.part]
        # [part] the level below that of its label; [item] its group at that level is its side
        below = axes[a].level(parts.low[:, a], parts.high[:, a]) - 1
        side[inside] = axes[a].ranks[below[parts.part[inside]], values[inside]]
    return replace(cuts, side=side)


def _cut_into_halves(parts: Parts, values: Codes, chosen: Flags, cuts: Cuts) -> Cuts:
    """Halve the chosen parts: items are sorted by value, then by position on all axes, then by number."""
    on_all = parts.points.at[parts.items]
    # [item] sorted within each part; [part] where its second half begins
    order = np.lexsort(np.stack([parts.items, *on_all.T[::-1], values, parts.part]))
    middle = parts.begin[:-1] + (np.diff(parts.begin) + 1) // 2
    # [item] whether it lies in the second half of its part; [part] the last position of the first half
    late = np.empty(len(values), dtype=bool)
    late[order] = np.arange(len(values)) >= middle[parts.part]
    last = values[order[middle - 1]]
    shared = values[order[np.minimum(middle, parts.begin[1:] - 1)]] == last  # both sides hold the median
    return Cuts(
        cuts.axis,
        np.where(chosen[parts.part], late, cuts.side).astype(np.int32),
        np.where(chosen, last, cuts.last),
        np.where(chosen, last + ~shared, cuts.first),
    )


def finalise_regions(axes: Sequence[Axis], points: Points, part: Codes, low: Codes, high: Codes) -> Regions:
    """Return the regions as they are shown: along a hierarchy what the part holds; null only where it occurs."""
    parts = Parts.of(points, part, np.ones(len(low), dtype=bool))
    low, high = low.copy(), high.copy()
    for a, axis in enumerate(axes):
        low[:, a], high[:, a] = axis.edges_to_show(low[:, a], high[:, a], parts.low[:, a], parts.high[:, a])
    return Regions(part, low, high)
