"""Branch and bound over a lattice that fits in an array: every node is asked or bounded away."""

from collections.abc import Generator
from functools import reduce
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.hierarchy.lattice import Lattice, Node
from shoal.metrics.metric import Floats, Floors
from shoal.search.driver import Ask, Incumbent, slack
from shoal.search.oracle import Answer

_AT_ONCE = 256
_CLEARLY = 2.0
"""How many times too many rows must go at a node before one above it is likely to fail as well."""

Bounds = NDArray[np.float64]


class Frontier:
    """Lower bounds of all nodes: an array with an axis for each attribute that has more than one level.

    >>> frontier = Frontier(Lattice(("age", "sex"), (0, 0), (1, 1)), (np.array([0.0, 0.4]), np.array([0.0, 0.5])))
    >>> frontier.learn(Answer((1, 0), ok=False, suppressed=9, classes=0, score=inf, below=None, above=-inf))
    >>> frontier.bounds.tolist()
    [[inf, 0.5], [inf, 0.9]]
    """

    def __init__(self, lattice: Lattice, floors: Floors) -> None:
        self.lattice = lattice
        self.axes = [i for i, n in enumerate(lattice.shape) if n > 1]  # NumPy allows at most 64 axes
        shape = [lattice.shape[i] for i in self.axes]
        levels = zip(floors, lattice.bottom, lattice.top, strict=True)
        self.bounds = self._sum([floor[low : high + 1] for floor, low, high in levels])
        # nodes in the order in which they are asked: those that settle most others first
        reach = _reach(shape, upward=not any(floor.any() for floor in floors))
        self._order = np.argsort(-reach, axis=None, kind="stable")
        self._at = 0
        # [node] rank that decides ties: by height, then by the order of the names
        heights = _outer_sum([np.arange(n, dtype=np.float64) for n in shape])
        self._rank = (heights * self.bounds.size + np.arange(self.bounds.size).reshape(self.bounds.shape)).reshape(-1)

    @property
    def settled(self) -> float:
        """Share of the nodes that need no more attention."""
        return self._at / len(self._order)

    def learn(self, answer: Answer) -> None:
        """Raise the bounds of the node, of all finer and of all coarser ones, by what its answer proves."""
        at = self._where(answer.node)
        finer = self._part([slice(0, i + 1) for i in at])
        if answer.below is None:
            finer[...] = inf
        else:
            below = [floor[low:] for floor, low in zip(answer.below, self.lattice.bottom, strict=True)]
            np.maximum(finer, self._sum(below), out=finer)
        if answer.above > -inf:
            coarser = self._part([slice(i, None) for i in at])
            np.maximum(coarser, answer.above, out=coarser)
        self.bounds[at] = inf

    def next_open_node(self, best: Answer | None) -> Node | None:
        """Return the node with most nodes below it that may still beat the best one; None if nothing can.

        A node that cannot win never can again, so each node is passed once.
        """
        while self._at < len(self._order):
            part = self._order[self._at : self._at + _AT_ONCE]
            may_win = self._can_beat(part, best)
            first = int(may_win.argmax())
            if may_win[first]:
                self._at += first  # it stays open until its answer is learned: the search may stop before
                return self._node(int(part[first]))
            self._at += len(part)
        return None

    def widest_successor(self, node: Node, best: Answer | None) -> Node | None:
        """Return the next more general node below which most nodes are open that are not below this one; or None."""
        at, most, found = self._where(node), 0, None
        ceiling = inf if best is None else best.score
        for axis, i in enumerate(at):
            above = (*at[:axis], i + 1, *at[axis + 1 :])
            if i + 1 < self.bounds.shape[axis] and self.bounds[above] < inf:
                # what it adds: the same levels or lower ones in all attributes, but for this one
                added = self._part(
                    [slice(level, level + 1) if j == axis else slice(0, level + 1) for j, level in enumerate(above)]
                )
                many = int(np.count_nonzero(added < ceiling))
                if many > most:
                    most, found = many, above
        return None if found is None else self._node(int(np.ravel_multi_index(found, self.bounds.shape)))

    def lower_bound(self, best: Answer | None) -> float:
        """Return a lower bound of all scores: the best one, or less where an open node may be lower."""
        left = self._order[self._at :]
        bounds = self.bounds.reshape(-1)[left[self._can_beat(left, best)]]
        return min(float(bounds.min(initial=inf)), inf if best is None else best.score)

    def _can_beat(self, nodes: NDArray[np.int64], best: Answer | None) -> NDArray[np.bool_]:
        """Return which nodes may beat the best one: by score, at a tie by lower height, then by the names' order."""
        bounds = self.bounds.reshape(-1)[nodes]
        if best is None:
            return np.asarray(bounds < inf)
        first = self._rank[nodes] < self._rank[np.ravel_multi_index(self._where(best.node), self.bounds.shape)]
        near = slack(best.score)
        return np.asarray((bounds < best.score - near) | ((bounds <= best.score + near) & first))

    def _node(self, at: int) -> Node:
        """Return the node at an index of the flattened `bounds`."""
        node = list(self.lattice.bottom)
        for axis, i in zip(self.axes, np.unravel_index(at, self.bounds.shape), strict=True):
            node[axis] += int(i)
        return tuple(node)

    def _part(self, slices: list[slice]) -> Bounds:
        """Return a view of the bounds, also where there is no axis at all."""
        where: Any = (*slices, ...)
        part: Bounds = self.bounds[where]
        return part

    def _where(self, node: Node) -> tuple[int, ...]:
        """Return the index of a node in `bounds`."""
        return tuple(node[i] - self.lattice.bottom[i] for i in self.axes)

    def _sum(self, floors: list[Floats]) -> Bounds:
        """Add up the floors of all attributes at every node."""
        fixed = sum(float(floor[0]) for i, floor in enumerate(floors) if i not in self.axes)
        return np.array(_outer_sum([floors[i] for i in self.axes]) + fixed)  # 0 axes: an array, not a number


def _reach(shape: list[int], *, upward: bool) -> Bounds:
    """Return the logarithm of the number of finer nodes; where answers bound coarser nodes too, these count half."""
    down = _outer_sum([np.log(np.arange(1, n + 1)) for n in shape])
    return down + _outer_sum([np.log(np.arange(n, 0, -1)) for n in shape]) / 2 if upward else down


def _outer_sum(floors: list[Floats]) -> Bounds:
    """Return a new array of the sums of one entry of each vector: [level of axis 0, level of axis 1, ...]."""
    return np.array(reduce(np.add.outer, floors, np.zeros(())))


Questions = Generator[Ask, Answer, None]
"""A part of a search."""


def exhaust(lattice: Lattice, floors: Floors, found: Incumbent) -> Questions:
    """Keep a lower bound of every node; ask the open node with the most nodes below it until none is open.

    A node is open while its bound does not exclude that it beats the best one so far. One answer raises the bounds of
    all finer nodes at once: to infinity where they cannot comply, else by the rows that stay suppressed there. So the
    coarsest open nodes are asked first: each answer settles a whole sublattice. Where far too many rows go, a node
    above is asked next although it cannot win: it often fails, too, and settles more open nodes. Ties go to the lower
    node, then to the first in the order of the attributes' names.
    """
    frontier = Frontier(lattice, floors)
    try:
        top = yield Ask(lattice.top, 0.0)  # from here on there may be something to release
        frontier.learn(top)
        found.consider(top)
        yield from _bisect(lattice, floors, frontier, found)
        node = frontier.next_open_node(found.best)
        while node is not None:
            answer = yield Ask(node, frontier.settled)
            frontier.learn(answer)
            found.consider(answer)
            above = frontier.widest_successor(node, found.best) if answer.excess >= _CLEARLY else None
            node = frontier.next_open_node(found.best) if above is None else above
    finally:  # also when it has to stop
        found.raise_bound(frontier.lower_bound(found.best))


def _bisect(lattice: Lattice, floors: Floors, frontier: Frontier, found: Incumbent) -> Questions:
    """Bisect the cheapest path to the top for a first good node, against which all others are measured."""
    path = cheapest_path(lattice, floors)[:-1]
    low, high = 0, len(path) - 1
    while low <= high:
        middle = (low + high) // 2
        answer = yield Ask(path[middle], 0.0)
        frontier.learn(answer)
        found.consider(answer)
        if answer.ok:
            high = middle - 1
        else:
            low = middle + 1


def cheapest_path(lattice: Lattice, floors: Floors) -> list[Node]:
    """Return a path from the bottom to the top; each step raises the bound as little as possible."""

    def bound(node: Node) -> float:
        return float(sum(floor[level] for floor, level in zip(floors, node, strict=True)))

    path = [lattice.bottom]
    while path[-1] != lattice.top:
        path.append(min(lattice.successors(path[-1]), key=bound))
    return path
