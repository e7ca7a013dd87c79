"""Branch and bound over a lattice that fits in an array: every node is asked or bounded away."""

from collections.abc import Generator

from shoal.lattice import Lattice, Node
from shoal.metrics import Floors
from shoal.search.driver import Ask
from shoal.search.frontier import Frontier
from shoal.search.incumbent import Incumbent
from shoal.search.oracle import Answer

Questions = Generator[Ask, Answer, None]
"""A part of a search."""


def exhaust(lattice: Lattice, floors: Floors, found: Incumbent) -> Questions:
    """Keep a lower bound of every node; ask the open node with the most nodes below it until none is open.

    A node is open while its bound does not exclude that it beats the best one so far. One answer raises the bounds of
    all finer nodes at once: to infinity where they cannot comply, else by the rows that stay suppressed there. So the
    coarsest open nodes are asked first: each answer settles a whole sublattice. Ties go to the lower node, then to
    the first in the order of the attributes' names.
    """
    frontier = Frontier(lattice, floors)
    try:
        top = yield Ask(lattice.top, 0.0)  # from here on there may be something to release
        frontier.learn(top)
        found.meet(top)
        yield from _bisect(lattice, floors, frontier, found)
        while (node := frontier.widest(found.best)) is not None:
            answer = yield Ask(node, frontier.settled)
            frontier.learn(answer)
            found.meet(answer)
    finally:  # also when it has to stop
        found.raise_bound(frontier.least(found.best))


def _bisect(lattice: Lattice, floors: Floors, frontier: Frontier, found: Incumbent) -> Questions:
    """Bisect the cheapest way up, below the top: it ends with a good node to measure all others by."""
    path = cheapest_path(lattice, floors)[:-1]
    low, high = 0, len(path) - 1
    while low <= high:
        middle = (low + high) // 2
        answer = yield Ask(path[middle], 0.0)
        frontier.learn(answer)
        found.meet(answer)
        if answer.ok:
            high = middle - 1
        else:
            low = middle + 1


def cheapest_path(lattice: Lattice, floors: Floors) -> list[Node]:
    """From the bottom to the top, each step the one that raises the bound least."""

    def bound(node: Node) -> float:
        return float(sum(floor[level] for floor, level in zip(floors, node, strict=True)))

    path = [lattice.bottom]
    while path[-1] != lattice.top:
        path.append(min(lattice.successors(path[-1]), key=bound))
    return path
