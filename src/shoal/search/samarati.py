"""Samarati: binary search on the height, then every complying node of the least one; hybrid bounds it by Datafly."""

from collections.abc import Generator, Sequence
from dataclasses import replace

from shoal.hierarchy.lattice import Lattice, Node
from shoal.search.driver import Ask, Walk
from shoal.search.greedy import datafly


def samarati(lattice: Lattice, high: int | None = None) -> Walk:
    """Return all complying nodes of the least height that has one (S2.5); `high` is a height known to have one.

    Samarati 2001. If a height has no complying node, no lower one has.
    """
    low = lattice.height(lattice.bottom)
    high = lattice.height(lattice.top) if high is None else high
    whole = max(high - low, 1)
    while low < high:
        middle = (low + high) // 2
        if (yield from _any_complies(lattice, middle, 1 - (high - low) / whole)):
            high = middle
        else:
            low = middle + 1
    least = []
    for node in lattice.at(low):
        if (yield Ask(node, 1.0)):
            least.append(node)  # noqa: PERF401 - a comprehension cannot yield
    return tuple(least)


def _any_complies(lattice: Lattice, height: int, settled: float) -> Generator[Ask, bool, bool]:
    """Ask about the nodes of one height until one complies; return whether one does."""
    for node in lattice.at(height):
        if (yield Ask(node, settled)):
            return True
    return False


def hybrid(lattice: Lattice, distinct: Sequence[Sequence[int]], left_out: Node | None = None) -> Walk:
    """Return the same as Samarati's search, between a lower and an upper limit of Sweeney's kind (S2.8).

    The upper one is the height where Datafly ends. The lower one comes from the columns alone: a node complies only if
    each of its attributes does with all others left out (`left_out` are these virtual levels, design 6), so that no
    level below the least at which an attribute complies alone has to be looked at. Without `left_out` there is none.
    """
    reached = yield from datafly(lattice, distinct)
    if not reached:
        return ()
    least = lattice.bottom if left_out is None else (yield from _least_levels(lattice, reached[0], left_out))
    return (yield from samarati(replace(lattice, bottom=least), lattice.height(reached[0])))


def _least_levels(lattice: Lattice, reached: Node, left_out: Node) -> Generator[Ask, bool, Node]:
    """Return the least level at which each attribute complies alone; at those of a complying node all of them do."""
    least = []
    for i, most in enumerate(reached):
        level = lattice.bottom[i]
        while level < most and not (yield Ask((*left_out[:i], level, *left_out[i + 1 :]), 0.0)):
            level += 1
        least.append(level)
    return tuple(least)
