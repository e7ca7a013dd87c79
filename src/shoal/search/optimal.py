"""The node of least loss, proved: every other node was checked or bounded away."""

from collections.abc import Generator
from math import inf
from time import monotonic

from shoal.lattice import Lattice, Node
from shoal.metrics import Floors
from shoal.search.frontier import Frontier
from shoal.search.oracle import Answer, Ask, Found, Search


def optimal(lattice: Lattice, floors: Floors, time_limit: float | None = None) -> Search:
    """Keep a lower bound of every node; ask the open node with the most nodes below it until none is open.

    A node is open while its bound does not exclude that it beats the best one so far. One answer raises the bounds of
    all finer nodes at once: to infinity where they cannot comply, else by the rows that stay suppressed there. So the
    coarsest open nodes are asked first: each answer settles a whole sublattice. Ties go to the lower node, then to
    the first in the order of the attributes' names.
    """
    ends = inf if time_limit is None else monotonic() + time_limit
    frontier = Frontier(lattice, floors)
    best = yield from _first_good(lattice, floors, frontier)
    while (open_nodes := frontier.open(best)).any():
        if monotonic() >= ends:
            return Found(best, bound=float(frontier.bounds[open_nodes].min()))
        answer = yield Ask(frontier.widest(open_nodes), 1 - int(open_nodes.sum()) / open_nodes.size)
        frontier.learn(answer)
        if answer.ok and frontier.better(answer, best):
            best = answer
    return Found(best, bound=inf if best is None else best.score)


def _first_good(lattice: Lattice, floors: Floors, frontier: Frontier) -> Generator[Ask, Answer, Answer | None]:
    """The best node met when bisecting the cheapest way up: a good one to measure all others by."""
    path, best = _cheapest_path(lattice, floors), None
    low, high = 0, len(path) - 1
    while low <= high:
        middle = (low + high) // 2
        answer = yield Ask(path[middle], 0.0)
        frontier.learn(answer)
        if answer.ok:
            best = answer if frontier.better(answer, best) else best
            high = middle - 1
        else:
            low = middle + 1
    return best


def _cheapest_path(lattice: Lattice, floors: Floors) -> list[Node]:
    """From the bottom to the top, each step the one that raises the bound least."""

    def bound(node: Node) -> float:
        return float(sum(floor[level] for floor, level in zip(floors, node, strict=True)))

    path = [lattice.bottom]
    while path[-1] != lattice.top:
        path.append(min(lattice.successors(path[-1]), key=bound))
    return path
