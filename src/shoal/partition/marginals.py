"""The frequency set of each axis alone: all that a cut for k needs to know of a part (LeFevre et al. 2006, §2.3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.codes import Codes
from shoal.counts import Longs
from shoal.frequency import FrequencySet
from shoal.partition.axes import Axis
from shoal.partition.growth import PlanByExtents
from shoal.partition.parts import At, Parts, Points, propose


@dataclass(frozen=True)
class Cut:
    """A cut of a part: the axis, and the last position of each side but the rightmost one.

    >>> Cut(0, np.array([3, 5])).side(np.array([0, 3, 4, 9])).tolist()
    [0, 0, 1, 2]
    """

    axis: int
    ends: Codes

    @property
    def sides(self) -> int:
        return len(self.ends) + 1

    def side(self, positions: Codes) -> Longs:
        """The side of each position that the part holds: from left to right, none is empty."""
        return np.searchsorted(self.ends, positions)


@dataclass(frozen=True)
class Marginals:
    """Rows of a part at each position of each axis.

    >>> age = Axis("age", np.arange(2, dtype=np.int32), np.array([1.0, 5.0]))
    >>> held = Marginals.of(FrequencySet.count({"age": (np.array([0, 0, 1, 1, 1, 1, 1], np.int32), 2)}), [age])
    >>> held.rows, held.low.tolist(), held.high.tolist()
    (7, [[0]], [[1]])
    """

    rows_at: tuple[Longs, ...]

    @classmethod
    def none(cls, axes: Sequence[Axis]) -> "Marginals":
        return cls(tuple(np.zeros(axis.size, dtype=np.int64) for axis in axes))

    @classmethod
    def of(cls, items: FrequencySet, axes: Sequence[Axis]) -> "Marginals":
        found = cls.none(axes)
        for a, axis in enumerate(axes):
            found.add(a, axis.positions[items.codes(axis.attribute)], items.counts)
        return found

    def add(self, a: int, positions: Codes, counts: Longs) -> None:
        """More rows at these positions of an axis."""
        self.rows_at[a][:] += np.bincount(positions, weights=counts, minlength=len(self.rows_at[a])).astype(np.int64)

    @property
    def count(self) -> int:
        """Of parts: one."""
        return 1

    @cached_property
    def rows(self) -> int:
        return int(self.rows_at[0].sum())

    @cached_property
    def low(self) -> Codes:
        """low[0, axis]: the least position that the part holds."""
        return np.array([[np.flatnonzero(rows)[0] for rows in self.rows_at]], dtype=np.int32)

    @cached_property
    def high(self) -> Codes:
        return np.array([[np.flatnonzero(rows)[-1] for rows in self.rows_at]], dtype=np.int32)

    def chosen(self, axes: Sequence[Axis], plan: PlanByExtents, k: int) -> Cut | None:
        """The first of the planned cuts whose sides all have k rows; None if there is none."""
        tries = plan(self)
        for a, at in zip(tries.axis[0].tolist(), tries.at[0].tolist(), strict=True):
            if at == At.NOWHERE:
                break
            cut = self._cut(axes, a, at, k)
            if cut is not None:
                return cut
        return None

    def _cut(self, axes: Sequence[Axis], a: int, at: int, k: int) -> Cut | None:
        """What becomes of a table that has this axis alone: where it is cut does not depend on the others."""
        held = np.flatnonzero(self.rows_at[a])
        points = Points(held[:, None].astype(np.int32), self.rows_at[a][held])
        part = Parts.of(points, np.zeros(len(held), dtype=np.int32), np.array([True]))
        cuts = propose([axes[a]], part, np.zeros(1, dtype=np.int32), np.array([at], dtype=np.int32))
        numbers, sides = np.unique(cuts.side, return_inverse=True)
        if len(numbers) < 2 or np.bincount(sides.ravel(), weights=points.weights).min() < k:
            return None
        if axes[a].hierarchy is None:
            return Cut(a, cuts.last)
        return Cut(a, held[np.flatnonzero(np.diff(sides.ravel()))].astype(np.int32))
