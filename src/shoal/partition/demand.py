"""What a workload asks of the quasi-identifiers, and how wrong its answers would be from parts of a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.codes import Codes
from shoal.counts import Longs
from shoal.models import Flags
from shoal.partition.axes import Axis, Floats
from shoal.partition.parts import Points


@dataclass(frozen=True)
class Asked:
    """What queries ask of one attribute."""

    which: Longs
    """Of each query the predicate that it has, -1 for none."""
    held: Flags
    """held[predicate, code]: whether the value satisfies."""
    shares: Floats | None = None
    """Of numbers: the share of what lies from each value to the next that satisfies; else a value stands for itself."""

    @classmethod
    def nothing(cls, queries: int, size: int) -> "Asked":
        return cls(np.full(queries, -1), np.zeros((0, size), dtype=bool))


@dataclass(frozen=True)
class Demand:
    """Regions that are asked for, each with a weight: a query is which values of which attributes satisfy it.

    >>> ages = Axis("age", np.arange(4, dtype=np.int32), np.array([20.0, 30.0, 40.0, 49.0]))
    >>> demand = Demand(np.array([2.0]), {"age": Asked(np.array([0]), np.array([[True, True, False, False]]))})
    >>> demand.on(ages).shares(np.array([0, 1]), np.array([3, 2])).tolist()
    [[0.6666666666666666], [0.5263157894736842]]
    """

    weights: Floats
    """Of each query: what one row of error costs."""
    asked: Mapping[str, Asked]

    def on(self, axis: Axis) -> "AxisDemand":
        asked = self.asked.get(axis.attribute) or Asked.nothing(len(self.weights), len(axis.positions))
        held, every = asked.held[:, axis.codes], np.ones((1, axis.size), dtype=bool)
        shares = held if asked.shares is None else asked.shares[:, axis.codes]
        return AxisDemand(axis, asked.which, np.concatenate([held, every]), np.concatenate([shares, every]) * 1.0)

    def satisfied(self, points: Points, axes: Sequence[Axis]) -> Flags:
        """Which items satisfy which queries: one row per item."""
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
    """Of each query its predicate; -1, the last, is none."""
    positions: Flags
    """positions[predicate, position]: whether it satisfies."""
    covered: Floats
    """covered[predicate, position]: the share of what the position covers that satisfies."""

    @cached_property
    def boundaries(self) -> Flags:
        """After which positions some predicate begins or ends."""
        changes = (self.positions[:, 1:] != self.positions[:, :-1]).any(axis=0)
        return np.append(changes, False)

    @cached_property
    def last_boundary(self) -> Longs:
        """The last boundary up to each position; -1 where there is none."""
        places = np.where(self.boundaries, np.arange(self.axis.size), -1)
        return np.maximum.accumulate(places)

    @cached_property
    def _measure(self) -> Floats:
        """What each position covers: of numbers up to the next one, of all else one value."""
        if self.axis.hierarchy is not None or self.axis.categorical:
            return np.ones(self.axis.size)
        steps = np.diff(self.axis.values, append=self.axis.values[-1:] + 1.0)
        return np.append(steps, 1.0) if self.axis.null is not None else steps

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """What all positions before each one cover, and what of it satisfies each predicate."""
        covered = np.concatenate([[0.0], np.cumsum(self._measure)])
        held = np.zeros((self.axis.size + 1, len(self.positions)))
        held[1:] = np.cumsum(self.covered.T * self._measure[:, None], axis=0)
        return covered, held

    def shares(self, low: Codes | Longs, high: Codes | Longs) -> Floats:
        """Of what is shown of each range of positions, the share that satisfies each query: shares[range, query]."""
        if self.axis.hierarchy is not None:
            low, high = self._labelled(np.asarray(low), np.asarray(high))
        covered, held = self._sums
        shares = (held[high + 1] - held[low]) / (covered[high + 1] - covered[low])[:, None]
        return np.asarray(shares[:, self.which])

    def _labelled(self, low: Codes, high: Codes) -> tuple[Longs, Longs]:
        """The ends of the label that covers each range."""
        level = self.axis.level(low, high)
        first, last = np.zeros(len(low), dtype=np.int64), np.full(len(low), self.axis.size - 1, dtype=np.int64)
        for h, ranks in enumerate(self.axis.ranks):
            at = level == h
            first[at] = np.searchsorted(ranks, ranks[low[at]])
            last[at] = np.searchsorted(ranks, ranks[low[at]], side="right") - 1
        return first, last
