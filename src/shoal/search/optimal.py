"""The node of least loss, proved: every other node was checked or bounded away."""

from collections.abc import Generator
from functools import reduce
from math import inf
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from shoal.lattice import Lattice, Node
from shoal.metrics import Floors
from shoal.search.oracle import Answer, Ask, Found, Search

TOLERANCE = 1e-12
"""Scores nearer than this, relatively, are a tie."""

Bounds = NDArray[np.float64]


def optimal(lattice: Lattice, floors: Floors, time_limit: float | None = None) -> Search:
    """Keep a lower bound of every node; ask the open node with the most nodes below it until none is open.

    A node is open while its bound does not exclude that it beats the best one so far. One answer raises the bounds of
    all finer nodes at once: to infinity where they cannot comply, else by the rows that stay suppressed there. So the
    coarsest open nodes are asked first: each answer settles a whole sublattice. Ties go to the lower node, then to
    the first in the order of the attributes' names.
    """
    inside = (f[low : high + 1] for f, low, high in zip(floors, lattice.bottom, lattice.top, strict=True))
    bounds = _outer(tuple(inside)).copy()  # of one attribute the sum would be its floors themselves
    reach = _reach(lattice.shape, upward=not any(floor.any() for floor in floors))
    rank = _outer(tuple(np.arange(n, dtype=np.float64) for n in lattice.shape)) * bounds.size
    rank += np.arange(bounds.size).reshape(bounds.shape)
    ends = inf if time_limit is None else monotonic() + time_limit
    best = yield from _first_good(lattice, floors, bounds)
    while True:
        open_nodes = _open(bounds, rank, best, lattice)
        if not open_nodes.any():
            return Found(best, bound=inf if best is None else best.score)
        if monotonic() >= ends and best is not None:
            return Found(best, bound=float(bounds[open_nodes].min()))
        at = np.unravel_index(int(np.argmax(np.where(open_nodes, reach, -1))), bounds.shape)
        node = tuple(int(i) + low for i, low in zip(at, lattice.bottom, strict=True))
        answer = yield Ask(node, 1 - int(open_nodes.sum()) / bounds.size)
        _learn(bounds, lattice, answer)
        if answer.ok and (best is None or _better(answer, best, lattice)):
            best = answer


def _first_good(lattice: Lattice, floors: Floors, bounds: Bounds) -> Generator[Ask, Answer, Answer | None]:
    """The best node met when bisecting the cheapest way up: a good one to measure all others by."""
    path, best = _cheapest_path(lattice, floors), None
    low, high = 0, len(path) - 1
    while low <= high:
        middle = (low + high) // 2
        answer = yield Ask(path[middle], 0.0)
        _learn(bounds, lattice, answer)
        if answer.ok:
            best = answer if best is None or _better(answer, best, lattice) else best
            high = middle - 1
        else:
            low = middle + 1
    return best


def _cheapest_path(lattice: Lattice, floors: Floors) -> list[Node]:
    """From the bottom to the top, each step the one that raises the bound least."""
    path = [lattice.bottom]
    while path[-1] != lattice.top:
        path.append(min(lattice.successors(path[-1]), key=lambda n: sum(f[i] for f, i in zip(floors, n, strict=True))))
    return path


def _open(bounds: Bounds, rank: Bounds, best: Answer | None, lattice: Lattice) -> NDArray[np.bool_]:
    if best is None:
        return bounds < inf
    slack = TOLERANCE * max(1.0, abs(best.score))
    at = tuple(level - low for level, low in zip(best.node, lattice.bottom, strict=True))
    can_win: NDArray[np.bool_] = (bounds < best.score - slack) | ((bounds <= best.score + slack) & (rank < rank[at]))
    return can_win


def _learn(bounds: Bounds, lattice: Lattice, answer: Answer) -> None:
    at = tuple(level - low for level, low in zip(answer.node, lattice.bottom, strict=True))
    finer = bounds[tuple(slice(0, i + 1) for i in at)]
    if answer.below is None:
        finer[...] = inf
    else:
        below = tuple(floor[low:] for floor, low in zip(answer.below, lattice.bottom, strict=True))
        np.maximum(finer, _outer(below), out=finer)
    coarser = bounds[tuple(slice(i, None) for i in at)]
    np.maximum(coarser, answer.above, out=coarser)
    bounds[at] = inf


def _better(answer: Answer, best: Answer, lattice: Lattice) -> bool:
    slack = TOLERANCE * max(1.0, abs(best.score))
    if abs(answer.score - best.score) > slack:
        return answer.score < best.score
    return _order(answer.node, lattice) < _order(best.node, lattice)


def _order(node: Node, lattice: Lattice) -> tuple[int, Node]:
    return lattice.height(node), node


def _reach(shape: Node, *, upward: bool) -> Bounds:
    """Logarithm of the number of finer nodes; where answers also bound coarser nodes, those count half."""
    down = _outer(tuple(np.log(np.arange(1, n + 1)) for n in shape))
    return down + _outer(tuple(np.log(np.arange(n, 0, -1)) for n in shape)) / 2 if upward else down


def _outer(floors: Floors) -> Bounds:
    return reduce(np.add.outer, floors)
