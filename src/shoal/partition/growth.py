"""Cutting under any condition: all parts at once, each at its own next try."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shoal.codes import Codes
from shoal.counts import Longs
from shoal.models import Flags
from shoal.partition.axes import Axis, Regions
from shoal.partition.condition import Condition
from shoal.partition.parts import At, Cuts, Parts, Points, propose, settled

Watch = Callable[[float], None]
"""Told the share of the items whose part is final."""


def unwatched(share: float) -> None:
    """For those who do not want to know."""


@dataclass(frozen=True)
class Tries:
    """The cuts that each part is offered, from the first to the last; then `At.NOWHERE`."""

    axis: Codes
    """axis[part, try]"""
    at: Codes


Plan = Callable[[Parts], Tries]


class Extents(Protocol):
    """What some parts hold on each axis."""

    @property
    def count(self) -> int: ...

    @property
    def low(self) -> Codes:
        """low[part, axis]: the least position."""
        ...

    @property
    def high(self) -> Codes: ...


PlanByExtents = Callable[[Extents], Tries]
"""A plan that needs to know no more, so that the items may lie elsewhere."""


@dataclass(frozen=True)
class _Tree:
    """The leaves of the tree of cuts, numbered from left to right: the region of each and the try it is at."""

    part: Codes
    low: Codes
    high: Codes
    tries: Tries
    turn: Codes

    def current(self) -> tuple[Codes, Codes]:
        """Axis and place of each part's next cut."""
        most = self.tries.at.shape[1]
        rows, turn = np.arange(len(self.turn)), np.minimum(self.turn, most - 1)
        at = np.where(self.turn < most, self.tries.at[rows, turn], At.NOWHERE)
        return self.tries.axis[rows, turn], at.astype(np.int32)


@dataclass(frozen=True)
class _Children:
    """The non-empty sides of the proposed cuts."""

    cuts: Cuts
    number: Codes
    """Of each of the items of the parts, in the order of the parts."""
    pieces: Longs
    """How many each part would fall into."""

    @classmethod
    def of(cls, parts: Parts, cuts: Cuts) -> "_Children":
        order = np.lexsort((cuts.side, parts.part))
        side, part = cuts.side[order], parts.part[order]
        fresh = np.ones(len(order), dtype=bool)
        fresh[1:] = (side[1:] != side[:-1]) | (part[1:] != part[:-1])
        number = np.empty(len(order), dtype=np.int32)
        number[order] = np.cumsum(fresh) - 1
        return cls(cuts, number, np.bincount(part[fresh], minlength=parts.count))

    @property
    def begin(self) -> Longs:
        return np.cumsum(self.pieces) - self.pieces

    def allowable(self, condition: Condition, parts: Parts) -> Flags:
        """Which parts fall into several pieces that all comply."""
        asked = np.full(len(parts.points.weights), -1, dtype=np.int32)
        asked[parts.items] = self.number
        flags = condition.complies(asked, int(self.pieces.sum()))
        return (self.pieces > 1) & np.logical_and.reduceat(flags, self.begin)


def grow(condition: Condition, axes: Sequence[Axis], plan: Plan, watch: Watch = unwatched) -> Regions:
    """Cut parts as planned until no planned cut is allowable: one whose sides all comply.

    A promise about all parts together is asked after each round: of its cuts, in the order of the parts, as many are
    made as leave it kept, found by bisection; each of the others counts as refused.
    """
    points = Points.of(condition.items, axes)
    part = np.zeros(len(points.weights), dtype=np.int32)
    low = np.zeros((1, len(axes)), dtype=np.int32)
    high = np.array([[axis.size - 1 for axis in axes]], dtype=np.int32)
    tree = _Tree(part, low, high, plan(Parts.of(points, part, np.array([True]))), np.zeros(1, dtype=np.int32))
    while True:
        axis, at = tree.current()
        is_open = at != At.NOWHERE
        watch(float(1 - np.count_nonzero(is_open[tree.part]) / len(tree.part)))
        if not is_open.any():
            return settled(axes, points, tree.part, tree.low, tree.high)
        parts = Parts.of(points, tree.part, is_open)
        children = _Children.of(parts, propose(axes, parts, axis[is_open], at[is_open]))
        good = children.allowable(condition, parts)
        if condition.table_wide:
            good = _kept(condition, tree, parts, children, good)
        tree = _cut(tree, parts, children, good, plan)


def _kept(condition: Condition, tree: _Tree, parts: Parts, children: _Children, good: Flags) -> Flags:
    """As many of the good cuts as leave the table as promised."""
    number = np.cumsum(good)

    def holds(cuts: int) -> bool:
        part, count, _ = _renumbered(tree, parts, children, good & (number <= cuts))
        return condition.holds(part, count)

    fewest, most = 0, int(good.sum())
    while fewest < most:
        middle = (fewest + most + 1) // 2
        fewest, most = (middle, most) if holds(middle) else (fewest, middle - 1)
    return good & (number <= fewest)


def _renumbered(tree: _Tree, parts: Parts, children: _Children, good: Flags) -> tuple[Codes, int, Longs]:
    """The part of each item after the good cuts, how many there are, and into how many each part fell."""
    owner = _numbers(tree, parts)
    pieces = np.ones(len(tree.turn), dtype=np.int64)
    pieces[owner[good]] = children.pieces[good]
    begin = np.cumsum(pieces) - pieces
    part = begin[tree.part].astype(np.int32)
    moved = good[parts.part]
    part[parts.items[moved]] += children.number[moved] - children.begin[parts.part[moved]].astype(np.int32)
    return part, int(pieces.sum()), pieces


def _numbers(tree: _Tree, parts: Parts) -> Codes:
    """The number of each of the parts in the tree."""
    return tree.part[parts.items[parts.begin[:-1]]]


def _cut(tree: _Tree, parts: Parts, children: _Children, good: Flags, plan: Plan) -> _Tree:
    """The tree after the good cuts; where the cut was not good, it is the turn of the next try."""
    turn = tree.turn.copy()
    turn[_numbers(tree, parts)] += 1
    part, count, pieces = _renumbered(tree, parts, children, good)
    low, high = np.repeat(tree.low, pieces, axis=0), np.repeat(tree.high, pieces, axis=0)
    left = (np.cumsum(pieces) - pieces)[_numbers(tree, parts)[good]]
    axis = children.cuts.axis[good]
    high[left, axis] = children.cuts.last[good]  # along a hierarchy without meaning: what is held is shown
    low[left + 1, axis] = children.cuts.first[good]
    tries = Tries(np.repeat(tree.tries.axis, pieces, axis=0), np.repeat(tree.tries.at, pieces, axis=0))
    turn = np.repeat(turn, pieces)
    fresh = np.repeat(pieces > 1, pieces)
    if fresh.any():
        planned = plan(Parts.of(parts.points, part, fresh))
        tries.axis[fresh], tries.at[fresh], turn[fresh] = planned.axis, planned.at, 0
    assert len(low) == count
    return _Tree(part, low, high, tries, turn)
