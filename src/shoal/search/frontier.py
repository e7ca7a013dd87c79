"""A lower bound for every node of a lattice, raised by every answer: which nodes can still win."""

from functools import reduce
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.lattice import Lattice, Node
from shoal.metrics import Floats, Floors
from shoal.search.oracle import Answer

TOLERANCE = 1e-12
"""Scores nearer than this, relatively, are a tie."""

Bounds = NDArray[np.float64]


class Frontier:
    """The bounds as one array with an axis for each attribute that has a choice of levels.

    >>> frontier = Frontier(Lattice(("age", "sex"), (0, 0), (1, 1)), (np.array([0.0, 0.4]), np.array([0.0, 0.5])))
    >>> frontier.learn(Answer((1, 0), ok=False, suppressed=9, score=inf, below=None, above=-inf))
    >>> frontier.bounds.tolist()
    [[inf, 0.5], [inf, 0.9]]
    """

    def __init__(self, lattice: Lattice, floors: Floors) -> None:
        self.lattice = lattice
        self.axes = [i for i, n in enumerate(lattice.shape) if n > 1]  # NumPy knows 64 axes at most
        shape = [lattice.shape[i] for i in self.axes]
        levels = zip(floors, lattice.bottom, lattice.top, strict=True)
        self.bounds = self._sum([floor[low : high + 1] for floor, low, high in levels])
        self._reach = _reach(shape, upward=not any(floor.any() for floor in floors))
        heights = _outer([np.arange(n, dtype=np.float64) for n in shape])
        self._rank = heights * self.bounds.size + np.arange(self.bounds.size).reshape(self.bounds.shape)

    def learn(self, answer: Answer) -> None:
        """Raise the bounds of the node, of all finer and of all coarser ones."""
        at = self._at(answer.node)
        finer = self._part([slice(0, i + 1) for i in at])
        if answer.below is None:
            finer[...] = inf
        else:
            below = [floor[low:] for floor, low in zip(answer.below, self.lattice.bottom, strict=True)]
            np.maximum(finer, self._sum(below), out=finer)
        coarser = self._part([slice(i, None) for i in at])
        np.maximum(coarser, answer.above, out=coarser)
        self.bounds[at] = inf

    def open(self, best: Answer | None) -> NDArray[np.bool_]:
        """Nodes that may beat the best one: by score, or at a tie by lower height and then by the names' order."""
        if best is None:
            return np.asarray(self.bounds < inf)
        slack = TOLERANCE * max(1.0, abs(best.score))
        first = self._rank < self._rank[self._at(best.node)]
        return np.asarray((self.bounds < best.score - slack) | ((self.bounds <= best.score + slack) & first))

    def widest(self, open_nodes: NDArray[np.bool_]) -> Node:
        """The open node with the most nodes below it."""
        at = np.unravel_index(int(np.argmax(np.where(open_nodes, self._reach, -1))), self.bounds.shape)
        node = list(self.lattice.bottom)
        for axis, i in zip(self.axes, at, strict=True):
            node[axis] += int(i)
        return tuple(node)

    def better(self, answer: Answer, best: Answer | None) -> bool:
        """Whether a complying node beats the best so far, by the rule of `open`."""
        if best is None or abs(answer.score - best.score) > TOLERANCE * max(1.0, abs(best.score)):
            return best is None or answer.score < best.score
        height = self.lattice.height
        return (height(answer.node), answer.node) < (height(best.node), best.node)

    def _part(self, slices: list[slice]) -> Bounds:
        """A view, also of no axis at all."""
        where: Any = (*slices, ...)
        part: Bounds = self.bounds[where]
        return part

    def _at(self, node: Node) -> tuple[int, ...]:
        return tuple(node[i] - self.lattice.bottom[i] for i in self.axes)

    def _sum(self, floors: list[Floats]) -> Bounds:
        fixed = sum(float(floor[0]) for i, floor in enumerate(floors) if i not in self.axes)
        return np.array(_outer([floors[i] for i in self.axes]) + fixed)  # 0 axes: an array, not a number


def _reach(shape: list[int], *, upward: bool) -> Bounds:
    """Logarithm of the number of finer nodes; where answers also bound coarser nodes, those count half."""
    down = _outer([np.log(np.arange(1, n + 1)) for n in shape])
    return down + _outer([np.log(np.arange(n, 0, -1)) for n in shape]) / 2 if upward else down


def _outer(floors: list[Floats]) -> Bounds:
    """The sum over the axes, as a new array."""
    return np.array(reduce(np.add.outer, floors, np.zeros(())))
