"""Mondrian: cut the table at medians, the widest attribute first, as long as the sides comply; all parts at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.data.class_counts import Longs, sum_counts
from shoal.data.codes import Codes
from shoal.data.frequency_set import FrequencySet
from shoal.errors import Infeasible
from shoal.models.model import Flags
from shoal.partition.axes import Axis, Floats, Regions
from shoal.partition.condition import Condition
from shoal.partition.cuts import At, Cuts, Parts, Points, finalise_regions, propose

Words = NDArray[np.uint64]
AxisArrays = tuple[Codes, Floats, float, float, int, Codes | None, Floats | None]
"""Positions, ends, span, importance and position of null (-1: none); along a hierarchy also its ranks and losses."""


def kernel_arguments_of(
    items: FrequencySet, axes: Sequence[Axis]
) -> tuple[Words, Longs, Codes, Codes, Words, list[AxisArrays]]:
    """Return what the compiled kernels take: packed keys, counts, word, shift and mask of each axis, and the axes."""
    word, shift, mask = items.layout.fields
    field = [items.attributes.index(axis.attribute) for axis in axes]
    return items.keys, items.counts, word[field], shift[field], mask[field], [_arrays(axis) for axis in axes]


def _arrays(axis: Axis) -> AxisArrays:
    """Return an axis in the form that the compiled kernels take."""
    ordered = axis.hierarchy is None
    return (
        axis.positions,
        axis.ends,
        axis.span,
        float(axis.importance),
        -1 if axis.null is None else axis.null,
        None if ordered else axis.ranks,
        None if ordered else axis.losses,
    )


Watch = Callable[[float], None]
"""Called with the share of the items whose part is final."""


def ignore_progress(share: float) -> None:
    """Ignore progress: the default where nobody watches."""


@dataclass(frozen=True)
class PlannedCuts:
    """The cuts to try on each part, best first; the rest of each line is `At.NOWHERE`."""

    axis: Codes
    """axis[part, try]: the axis to cut."""
    at: Codes
    """at[part, try]: the position after which to cut, or an `At`."""


Plan = Callable[[Parts], PlannedCuts]
"""Proposes the cuts of some parts, which are then tried in this order."""


class Extents(Protocol):
    """The range of positions that each of some parts holds on each axis."""

    @property
    def count(self) -> int: ...

    @property
    def low(self) -> Codes:
        """low[part, axis]: the least position that the part holds."""
        ...

    @property
    def high(self) -> Codes: ...


PlanByExtents = Callable[[Extents], PlannedCuts]
"""A plan that needs only the extents of the parts, so that their items need not be in memory."""


@dataclass(frozen=True)
class _Tree:
    """The parts so far: the leaves of the tree of cuts, numbered from left to right."""

    part: Codes
    """Part of each item."""
    low: Codes
    """low[part, axis]: the lower edge of the region of each part."""
    high: Codes
    tries: PlannedCuts
    turn: Codes
    """Number of the try that comes next, for each part."""

    def next_cuts(self) -> tuple[Codes, Codes]:
        """Return the axis and the place of the next cut of each part; `At.NOWHERE` where no try is left."""
        most = self.tries.at.shape[1]
        rows, turn = np.arange(len(self.turn)), np.minimum(self.turn, most - 1)
        at = np.where(self.turn < most, self.tries.at[rows, turn], At.NOWHERE)
        return self.tries.axis[rows, turn], at.astype(np.int32)


@dataclass(frozen=True)
class _Children:
    """The pieces that the proposed cuts would make: their non-empty sides, numbered part by part."""

    cuts: Cuts
    number: Codes
    """Piece of each item, in the order of `Parts.items`."""
    pieces: Longs
    """Number of pieces that each part would fall into."""

    @classmethod
    def of(cls, parts: Parts, cuts: Cuts) -> "_Children":
        # [item] sorted by part, then by side: every change begins a new piece
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
        """Return which parts fall into several pieces that all comply."""
        # [item of the table] its piece; -1 outside the open parts, which the condition skips
        asked = np.full(len(parts.points.weights), -1, dtype=np.int32)
        asked[parts.items] = self.number
        flags = condition.complies(asked, int(self.pieces.sum()))
        return (self.pieces > 1) & np.logical_and.reduceat(flags, self.begin)


def cut_all_parts(condition: Condition, axes: Sequence[Axis], plan: Plan, watch: Watch = ignore_progress) -> Regions:
    """Cut all parts, round by round, until no planned cut is allowable, and return the regions.

    A cut is allowable if all its sides comply. Where the table as one part does not comply, parts that fail are cut
    first, until all comply. Models of the table as a whole are checked after each round: of its
    cuts, in the order of the parts, the longest run that keeps them is made, found by bisection; the rest is refused.
    """
    points = Points.of(condition.items, axes)
    part = np.zeros(len(points.weights), dtype=np.int32)
    low = np.zeros((1, len(axes)), dtype=np.int32)
    high = np.array([[axis.size - 1 for axis in axes]], dtype=np.int32)
    tree = _Tree(part, low, high, plan(Parts.of(points, part, np.array([True]))), np.zeros(1, dtype=np.int32))
    tree = _cut_failing_parts(condition, axes, points, tree, plan)
    while True:
        axis, at = tree.next_cuts()
        is_open = at != At.NOWHERE
        watch(float(1 - np.count_nonzero(is_open[tree.part]) / len(tree.part)))
        if not is_open.any():
            return finalise_regions(axes, points, tree.part, tree.low, tree.high)
        parts = Parts.of(points, tree.part, is_open)
        children = _Children.of(parts, propose(axes, parts, axis[is_open], at[is_open]))
        good = children.allowable(condition, parts)
        if condition.table_wide:
            good = _keep_holding_cuts(condition, tree, parts, children, good)
        tree = _apply_cuts(tree, parts, children, good, plan)


def _cut_failing_parts(condition: Condition, axes: Sequence[Axis], points: Points, tree: _Tree, plan: Plan) -> _Tree:
    """Cut parts that do not comply until all do: of the planned cuts of each, the first whose sides all comply.

    If there is none, the first whose sides keep the models that no smaller part of a failing one can keep. What fails
    these as one part is left as it is: cuts cannot help.
    """
    closed = condition.closed
    if not closed.complies(tree.part, len(tree.turn)).all() or condition.complies(tree.part, len(tree.turn)).all():
        return tree
    while True:
        failing = ~condition.complies(tree.part, len(tree.turn))
        if not failing.any():
            break
        # [part] the try that is chosen, and how good it is: 2 if all sides comply, 1 if they may be cut further
        chosen, worth = np.zeros(len(failing), dtype=np.intp), np.zeros(len(failing), dtype=np.int64)
        for turn in range(tree.tries.at.shape[1]):
            axis, at = tree.tries.axis[:, turn], tree.tries.at[:, turn]
            asked = np.flatnonzero(failing & (at != At.NOWHERE) & (worth < 2))
            if len(asked):
                parts = Parts.of(points, tree.part, np.isin(np.arange(len(failing)), asked))
                children = _Children.of(parts, propose(axes, parts, axis[asked], at[asked]))
                good, fair = children.allowable(condition, parts), children.allowable(closed, parts)
                found = np.where(good, 2, fair.astype(np.int64))
                better = found > worth[asked]
                chosen[asked[better]], worth[asked[better]] = turn, found[better]
        if (worth[failing] == 0).any():
            break
        each = np.flatnonzero(failing)
        parts = Parts.of(points, tree.part, failing)
        cuts = propose(axes, parts, tree.tries.axis[each, chosen[each]], tree.tries.at[each, chosen[each]])
        tree = _apply_cuts(tree, parts, _Children.of(parts, cuts), np.ones(len(each), dtype=bool), plan)
    if failing.any() or not condition.holds(tree.part, len(tree.turn)):
        raise Infeasible("no way was found to cut the table so that every class keeps the policy; weaken it")
    return tree


def _keep_holding_cuts(condition: Condition, tree: _Tree, parts: Parts, children: _Children, good: Flags) -> Flags:
    """Return the longest run of good cuts after which the models of the whole table still hold."""
    number = np.cumsum(good)

    def holds(cuts: int) -> bool:
        part, count, _ = _renumber_parts(tree, parts, children, good & (number <= cuts))
        return condition.holds(part, count)

    fewest, most = 0, int(good.sum())
    while fewest < most:
        middle = (fewest + most + 1) // 2
        fewest, most = (middle, most) if holds(middle) else (fewest, middle - 1)
    return good & (number <= fewest)


def _renumber_parts(tree: _Tree, parts: Parts, children: _Children, good: Flags) -> tuple[Codes, int, Longs]:
    """Return the part of each item after the good cuts, the number of parts, and the pieces each old part fell into."""
    owner = _numbers(tree, parts)
    # [part of the tree] number of pieces: 1 where nothing is cut, so that the order from left to right stays
    pieces = np.ones(len(tree.turn), dtype=np.int64)
    pieces[owner[good]] = children.pieces[good]
    begin = np.cumsum(pieces) - pieces
    part = begin[tree.part].astype(np.int32)
    # items of parts that are cut move on by the number of their piece within the part
    moved = good[parts.part]
    part[parts.items[moved]] += children.number[moved] - children.begin[parts.part[moved]].astype(np.int32)
    return part, int(pieces.sum()), pieces


def _numbers(tree: _Tree, parts: Parts) -> Codes:
    """Return the number that each of the parts has in the tree."""
    return tree.part[parts.items[parts.begin[:-1]]]


def _apply_cuts(tree: _Tree, parts: Parts, children: _Children, good: Flags, plan: Plan) -> _Tree:
    """Return the tree after the good cuts; parts whose cut was refused go on to their next try."""
    turn = tree.turn.copy()
    turn[_numbers(tree, parts)] += 1
    part, count, pieces = _renumber_parts(tree, parts, children, good)
    # every piece inherits the region of its part; then the cut narrows one axis of both sides
    low, high = np.repeat(tree.low, pieces, axis=0), np.repeat(tree.high, pieces, axis=0)
    left = (np.cumsum(pieces) - pieces)[_numbers(tree, parts)[good]]
    axis = children.cuts.axis[good]
    high[left, axis] = children.cuts.last[good]  # meaningless along a hierarchy, and replaced at the end
    low[left + 1, axis] = children.cuts.first[good]
    tries = PlannedCuts(np.repeat(tree.tries.axis, pieces, axis=0), np.repeat(tree.tries.at, pieces, axis=0))
    turn = np.repeat(turn, pieces)
    # new parts get a plan of their own and start at its first try
    fresh = np.repeat(pieces > 1, pieces)
    if fresh.any():
        planned = plan(Parts.of(parts.points, part, fresh))
        tries.axis[fresh], tries.at[fresh], turn[fresh] = planned.axis, planned.at, 0
    assert len(low) == count
    return _Tree(part, low, high, tries, turn)


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
        """Return the side of each position; sides are numbered from left to right."""
        return np.searchsorted(self.ends, positions)


@dataclass(frozen=True)
class Marginals:
    """Number of rows of one part at each position of each axis.

    >>> age = Axis("age", np.arange(2, dtype=np.int32), np.array([1.0, 5.0]))
    >>> held = Marginals.of(FrequencySet.count({"age": (np.array([0, 0, 1, 1, 1, 1, 1], np.int32), 2)}), [age])
    >>> held.rows, held.low.tolist(), held.high.tolist()
    (7, [[0]], [[1]])
    """

    rows_at: tuple[Longs, ...]
    """rows_at[axis][position]"""

    @classmethod
    def without_rows(cls, axes: Sequence[Axis]) -> "Marginals":
        return cls(tuple(np.zeros(axis.size, dtype=np.int64) for axis in axes))

    @classmethod
    def of(cls, items: FrequencySet, axes: Sequence[Axis]) -> "Marginals":
        found = cls.without_rows(axes)
        for a, axis in enumerate(axes):
            found.add(a, axis.positions[items.codes(axis.attribute)], items.counts)
        return found

    def add(self, a: int, positions: Codes, counts: Longs) -> None:
        """Add rows at some positions of axis `a`."""
        self.rows_at[a][:] += sum_counts(positions, counts, len(self.rows_at[a]))

    @property
    def count(self) -> int:
        """Number of parts: one."""
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

    def choose_cut(self, axes: Sequence[Axis], plan: PlanByExtents, k: int) -> Cut | None:
        """Return the first planned cut whose sides all have at least k rows; None if there is none."""
        tries = plan(self)
        for a, at in zip(tries.axis[0].tolist(), tries.at[0].tolist(), strict=True):
            if at == At.NOWHERE:
                break
            cut = self._cut(axes, a, at, k)
            if cut is not None:
                return cut
        return None

    def _cut(self, axes: Sequence[Axis], a: int, at: int, k: int) -> Cut | None:
        """Return one cut if all its sides have k rows; it depends on the rows of its own axis alone."""
        # one item per position that holds rows, all in one part
        held = np.flatnonzero(self.rows_at[a])
        points = Points(held[:, None].astype(np.int32), self.rows_at[a][held])
        part = Parts.of(points, np.zeros(len(held), dtype=np.int32), np.array([True]))
        cuts = propose([axes[a]], part, np.zeros(1, dtype=np.int32), np.array([at], dtype=np.int32))
        numbers, sides = np.unique(cuts.side, return_inverse=True)
        if len(numbers) < 2 or sum_counts(sides.ravel(), points.weights).min() < k:
            return None
        if axes[a].hierarchy is None:
            return Cut(a, cuts.last)
        return Cut(a, held[np.flatnonzero(np.diff(sides.ravel()))].astype(np.int32))


def mondrian(
    condition: Condition, axes: Sequence[Axis], *, relaxed: bool = False, watch: Watch = ignore_progress
) -> Regions:
    """Partition the items by greedy median cuts: Mondrian, LeFevre, DeWitt and Ramakrishnan, ICDE 2006 (S4.1, S4.2).

    Strict: rows of one point stay together. For k alone, d ordered axes and at most m copies of one point, no part has
    more than 2d(k-1) + m rows. Relaxed: rows at the median go to both sides, and a part that no axis can cut is halved
    in the order of all positions, so for k alone every part has k to 2k-1 rows; items must be single rows.
    The order of the axes decides between equal widths. Parts are numbered from left to right.

    >>> from shoal.data.frequency_set import FrequencySet
    >>> from shoal.models import KAnonymity
    >>> from shoal.partition.axes import Axis
    >>> items = FrequencySet.count({"age": (np.array([0, 0, 1, 1, 1, 1, 1], np.int32), 2)})
    >>> age = Axis("age", np.arange(2, dtype=np.int32), np.array([1.0, 5.0]))
    >>> found = mondrian(Condition(items, [KAnonymity(2)]), [age])
    >>> found.part.tolist(), found.low.tolist(), found.high.tolist()
    ([0, 1], [[0], [1]], [[0], [1]])
    """
    assert not relaxed or not np.any(condition.items.counts != 1)
    if condition.k is None:
        return cut_all_parts(condition, axes, plan_by_width(axes, relaxed=relaxed), watch)
    given = kernel_arguments_of(condition.items, axes)
    found = Regions(*kernels.mondrian(*given, condition.k, relaxed))
    watch(1.0)
    return found


def plan_by_width(axes: Sequence[Axis], *, relaxed: bool = False) -> PlanByExtents:
    """Plan cuts of the widest axis first; on an ordered axis after the median, then before it (S4.1)."""

    def plan(parts: Extents) -> PlannedCuts:
        # [part, axis] width of each part; [part, axis, try] the up to two places to cut
        wide = np.empty((parts.count, len(axes)))
        at = np.full((parts.count, len(axes), 2), At.NOWHERE, dtype=np.int32)
        for a, axis in enumerate(axes):
            low, high = parts.low[:, a], parts.high[:, a]
            wide[:, a] = axis.widths(low, high)
            several = low < high
            if axis.hierarchy is not None:
                at[several, a, 0] = At.CHILDREN
                continue
            at[several, a] = (At.HALVES, At.NOWHERE) if relaxed else (At.MEDIAN, At.BELOW_MEDIAN)
            if axis.null is not None:  # null is cut off from the values before these are cut
                at[several & (high == axis.null), a] = (axis.null - 1, At.NOWHERE)
        # [part, 2 * axis] both tries of the widest axis, then both of the next, ...
        order = np.argsort(-wide, axis=1, kind="stable")
        on: Codes = np.repeat(order, 2, axis=1).astype(np.int32)
        there: Codes = np.take_along_axis(at, order[:, :, None], axis=1).reshape(parts.count, -1)
        if relaxed:
            on = np.pad(on, ((0, 0), (0, 1)))
            there = np.pad(there, ((0, 0), (0, 1)), constant_values=At.HALVES)
        return move_nowhere_last(on, there)

    return plan


def move_nowhere_last(axis: Codes, at: Codes) -> PlannedCuts:
    """Move the `At.NOWHERE` entries of each part behind its real tries."""
    filled = np.argsort(at == At.NOWHERE, axis=1, kind="stable")
    return PlannedCuts(np.take_along_axis(axis, filled, axis=1), np.take_along_axis(at, filled, axis=1))
