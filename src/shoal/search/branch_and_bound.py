"""Branch and bound over a lattice that fits in an array: every node is asked or bounded away."""

from collections.abc import Generator
from functools import reduce
from math import inf

import numpy as np
from numpy.typing import NDArray

from shoal.hierarchy.lattice import Lattice, Node
from shoal.kernels import Bounds
from shoal.metrics.metric import Floats, Floors
from shoal.search.driver import Ask, Incumbent, slack
from shoal.search.oracle import Answer

_CLEARLY = 2.0
"""How many times too many rows must go at a node before one above it is likely to fail as well."""

Values = NDArray[np.float64]


class Frontier:
    """Lower bounds of all nodes: an array with an axis for each attribute that has more than one level.

    >>> frontier = Frontier(Lattice(("age", "sex"), (0, 0), (1, 1)), (np.array([0.0, 0.4]), np.array([0.0, 0.5])))
    >>> frontier.learn(Answer((1, 0), ok=False, suppressed=9, classes=0, score=inf, below=None, above=-inf))
    >>> frontier.bounds.tolist()
    [[inf, 0.5], [inf, 0.9]]
    """

    def __init__(self, lattice: Lattice, floors: Floors) -> None:
        self.lattice = lattice
        self.axes = [i for i, n in enumerate(lattice.shape) if n > 1]
        self.shape = tuple(lattice.shape[i] for i in self.axes)
        # nodes in the order in which they are asked: those that settle most others first
        reach = _reach(self.shape, upward=not any(floor.any() for floor in floors))
        order = np.argsort(-reach, axis=None, kind="stable").astype(np.uint32)
        levels = zip(floors, lattice.bottom, lattice.top, strict=True)
        self._bounds = Bounds(self.shape, *self._split([floor[low : high + 1] for floor, low, high in levels]), order)
        self._best: tuple[Answer | None, tuple[float, float, int]] = None, (inf, 0.0, -1)

    @property
    def bounds(self) -> Values:
        """The bound of every node."""
        return self._bounds.values.reshape(self.shape)

    @property
    def settled(self) -> float:
        """Share of the nodes that need no more attention."""
        return self._bounds.passed

    def learn(self, answer: Answer) -> None:
        """Raise the bounds of the node, of all finer and of all coarser ones, by what its answer proves."""
        at = self._where(answer.node)
        if answer.below is None:
            self._bounds.close_below(at)
        else:
            below = [floor[low:] for floor, low in zip(answer.below, self.lattice.bottom, strict=True)]
            self._bounds.raise_below(at, *self._split(below))
        if answer.above > -inf:
            self._bounds.raise_above(at, answer.above)
        self._bounds.close(at)

    def next_open_node(self, best: Answer | None) -> Node | None:
        """Return the node with most nodes below it that may still beat the best one; None if nothing can.

        By score, at a tie by lower height, then by the names' order. It stays open until its answer is learned: the
        search may stop before.
        """
        return self._node(self._bounds.next(*self._to_beat(best)))

    def widest_successor(self, node: Node, best: Answer | None) -> Node | None:
        """Return the next more general node below which most nodes are open that are not below this one; or None."""
        return self._node(self._bounds.widest_above(self._where(node), inf if best is None else best.score))

    def lower_bound(self, best: Answer | None) -> float:
        """Return a lower bound of all scores: the best one, or less where an open node may be lower."""
        return min(self._bounds.least(*self._to_beat(best)), inf if best is None else best.score)

    def _to_beat(self, best: Answer | None) -> tuple[float, float, int]:
        """Return the score of the best node, how near a tie is, and its index in the flattened bounds; -1: none."""
        if best is not self._best[0] and best is not None:
            at = np.ravel_multi_index(self._where(best.node), self.shape) if self.shape else 0
            self._best = best, (best.score, slack(best.score), int(at))
        return (inf, 0.0, -1) if best is None else self._best[1]

    def _node(self, at: int) -> Node | None:
        """Return the node at an index of the flattened bounds; None for -1."""
        if at < 0:
            return None
        node = list(self.lattice.bottom)
        for axis, many in zip(reversed(self.axes), reversed(self.shape), strict=True):
            at, level = divmod(at, many)
            node[axis] += level
        return tuple(node)

    def _where(self, node: Node) -> tuple[int, ...]:
        """Return the index of a node in the bounds."""
        return tuple([node[i] - self.lattice.bottom[i] for i in self.axes])

    def _split(self, floors: list[Floats]) -> tuple[list[Floats], float]:
        """Return the floors of each axis, and the sum of those that all nodes share."""
        if len(self.axes) == len(floors):
            return floors, 0.0
        return [floors[i] for i in self.axes], sum(float(f[0]) for i, f in enumerate(floors) if i not in self.axes)


def _reach(shape: Node, *, upward: bool) -> Values:
    """Return the logarithm of the number of finer nodes; where answers bound coarser nodes too, these count half."""
    down = _outer_sum([np.log(np.arange(1, n + 1)) for n in shape])
    return down + _outer_sum([np.log(np.arange(n, 0, -1)) for n in shape]) / 2 if upward else down


def _outer_sum(floors: list[Floats]) -> Values:
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
