"""Quasi-identifiers as Mondrian sees them: an axis with positions, cut at a value or along a hierarchy."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import Flags
from shoal.data.codes import Codes, Column, Kind
from shoal.hierarchy.taxonomy import Hierarchy

Floats = NDArray[np.float64]
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Axis:
    """One quasi-identifier: a position per code, such that values that belong together are neighbours (S4.1, S4.4).

    On an ordered axis, positions follow the values; spellings of one number (`7`, `7.0`) share a position, so that no
    cut separates them. Along a hierarchy, the leaves of every label are neighbours, so the label of a range of
    positions is the lowest one that its two ends share.
    """

    attribute: str
    positions: Codes
    """Position of each code; every position has at least one code."""
    values: Floats
    """Number at each position, from which widths are computed; without null. Not used along a hierarchy."""
    null: int | None = None
    """Position of null on an ordered axis: the last. A range that holds null and values is shown as `*`."""
    hierarchy: Hierarchy | None = None
    categorical: bool = False
    """Whether the values are names: text, or an order given by hand."""
    importance: float = 1.0

    @cached_property
    def size(self) -> int:
        """Number of positions."""
        return int(self.positions.max(initial=-1)) + 1

    @cached_property
    def codes(self) -> Codes:
        """The code at each position; where several share it, the first."""
        codes = np.empty(self.size, dtype=np.int32)
        # assigned in reverse, so that the first code of each position is written last
        codes[self.positions[::-1]] = np.arange(len(self.positions), dtype=np.int32)[::-1]
        return codes

    @cached_property
    def levels(self) -> tuple[Codes, ...]:
        """Along a hierarchy: levels[h][position] is the group at level h."""
        assert self.hierarchy is not None
        return tuple(level[self.codes] for level in self.hierarchy.levels)

    @cached_property
    def ranks(self) -> Codes:
        """Along a hierarchy: ranks[h, position] numbers the groups of level h from left to right."""
        # [level][position] whether a new group begins here: the running sum numbers the groups
        steps = [np.diff(level, prepend=level[:1]) != 0 for level in self.levels]
        return np.cumsum(steps, axis=1, dtype=np.int32)

    @cached_property
    def losses(self) -> Floats:
        """Along a hierarchy: losses[h, position] is the width of the label of level h."""
        assert self.hierarchy is not None
        return np.stack([loss[level] for loss, level in zip(self.hierarchy.losses, self.levels, strict=True)])

    @cached_property
    def ends(self) -> Floats:
        """On an ordered axis: the number at each position; 0 for null."""
        return np.append(self.values, 0.0) if self.null is not None else self.values

    @property
    def span(self) -> float:
        """Difference of the greatest and the least number; 1 where there is none."""
        return float(self.values[-1] - self.values[0] if len(self.values) else 0.0) or 1.0

    def level(self, low: Codes, high: Codes) -> Codes:
        """Along a hierarchy: return the lowest level at which the two ends of each range are in one group.

        It is one above the top where the ends differ even there: then the attribute is not shown at all.
        """
        # [range] from the top down, so that the lowest level that fits is written last
        level = np.full(len(low), len(self.levels), dtype=np.int32)
        for h in reversed(range(len(self.levels))):
            level[self.levels[h][low] == self.levels[h][high]] = h
        return level

    def widths(self, low: Codes, high: Codes) -> Floats:
        """Return the share of the axis that each range of positions covers, times the importance of the attribute.

        A range of null and values is infinitely wide, so that null is split off first (design 7).
        """
        if self.hierarchy is not None:
            level = self.level(low, high)
            wide = np.ones(len(low))
            for h in range(len(self.levels)):
                at = level == h
                wide[at] = self.losses[h, low[at]]
            return wide * self.importance
        mixed = (high == self.null) & (low != self.null) if self.null is not None else np.zeros(len(low), dtype=bool)
        wide = (self.ends[high] - self.ends[low]) / self.span * self.importance
        wide[mixed] = np.inf
        return np.asarray(wide)

    def edges_to_show(self, low: Codes, high: Codes, least: Codes, most: Codes) -> tuple[Codes, Codes]:
        """Return the edges to show for regions from `low` to `high` whose items lie from `least` to `most`.

        Along a hierarchy they are the positions held; on an ordered axis null is shown only where it occurs (design 7).
        """
        if self.hierarchy is not None:
            return least, most
        if self.null is None:
            return low, high
        return np.where(least == self.null, least, low), np.where(
            most < self.null, np.minimum(high, self.null - 1), high
        )


def ordered_axis(column: Column, importance: float = 1.0) -> Axis:
    """Return an axis in the natural order of a column: numbers by size, dates by time, text by code point.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> axis = ordered_axis(encode("age", pa.array([35, 36, 39])))
    >>> axis.widths(np.array([0, 0]), np.array([1, 2])).tolist()
    [0.25, 1.0]
    """
    positions = np.arange(column.size, dtype=np.int32)
    if column.kind is Kind.NUMBER:
        numbers = column.numbers
        # [code] whether the number differs from the one before: equal numbers share a position
        fresh = np.array([True, *(low != high for low, high in pairwise(numbers))][: len(numbers)], dtype=bool)
        positions = (np.cumsum(np.append(fresh, True)) - 1).astype(np.int32)[: column.size]
        values = _finite_floats(column, fresh)
    elif column.kind is Kind.DATE:
        values = np.array([float(date.toordinal()) for date in column.dates])
    else:
        values = np.arange(len(column.values), dtype=np.float64)
    return Axis(
        column.name,
        positions,
        values,
        len(values) if column.has_null else None,
        categorical=column.kind is Kind.TEXT,
        importance=importance,
    )


def _finite_floats(column: Column, chosen: Flags) -> Floats:
    """Return the chosen numbers as floats, or as shares of their range where it is too wide for floats.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> _finite_floats(encode("v", pa.array(["-1" + "0" * 400, "0", "1" + "0" * 400])), np.ones(3, dtype=bool)).tolist()
    [0.0, 0.5, 1.0]
    """
    floats = column.floats[chosen]
    if not len(floats) or max(abs(floats[0]), abs(floats[-1])) < _LARGEST / 4:
        return floats
    numbers = [number for number, wanted in zip(column.numbers, chosen.tolist(), strict=True) if wanted]
    low, span = numbers[0], (numbers[-1] - numbers[0]) or 1
    return np.array([float((number - low) / span) for number in numbers])


def hierarchy_axis(hierarchy: Hierarchy, importance: float = 1.0) -> Axis:
    """Return an axis along a hierarchy."""
    codes = np.lexsort(hierarchy.levels)  # sorted by the top level first: lexsort takes the last key first
    positions = np.empty(len(codes), dtype=np.int32)
    positions[codes] = np.arange(len(codes), dtype=np.int32)
    return Axis(hierarchy.attribute, positions, np.zeros(0), None, hierarchy, True, importance)


def sort_axes(axes: Iterable[Axis]) -> list[Axis]:
    """Sort axes in the order that decides ties: categorical before numeric, fewer values first, then by name (S4.1)."""
    return sorted(axes, key=lambda axis: (not axis.categorical, axis.size, axis.attribute))


@dataclass(frozen=True)
class Regions:
    """The result of a partitioning: the part of each item, and the range of positions of each part on each axis."""

    part: Codes
    low: Codes
    """low[part, axis]: on an ordered axis the edge of the region, along a hierarchy the least position held."""
    high: Codes

    @property
    def count(self) -> int:
        return len(self.low)


Axes = Mapping[str, Axis]
