"""Samarati: binary search on the height, then every complying node of the least one; hybrid bounds it by Datafly."""

from collections.abc import Generator, Sequence

from shoal.hierarchy.lattice import Lattice
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
    for node in lattice.at(height):
        if (yield Ask(node, settled)):
            return True
    return False


def hybrid(lattice: Lattice, distinct: Sequence[Sequence[int]]) -> Walk:
    """Return the same as Samarati's search, which is bounded by the node where Datafly ends (S2.8)."""
    reached = yield from datafly(lattice, distinct)
    if not reached:
        return ()
    return (yield from samarati(lattice, lattice.height(reached[0])))
