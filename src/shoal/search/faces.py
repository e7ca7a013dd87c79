"""A lower bound for a lattice too large to exhaust: the sum of the optima of its faces."""

from collections.abc import Generator
from dataclasses import replace
from math import ceil, log, prod

from shoal.lattice import Lattice, Node
from shoal.metrics import Floors
from shoal.search.driver import Ask
from shoal.search.exhaust import exhaust
from shoal.search.incumbent import Incumbent
from shoal.search.oracle import Answer


def bound_by_faces(
    lattice: Lattice, floors: Floors, left_out: Node, largest: int, *, additive: bool
) -> Generator[Ask, Answer, float]:
    """Share the attributes out to faces of at most `largest` nodes, exhaust each, and add up what they cost at least.

    With the other attributes left out, classes only grow: what fails on a face fails in every node below it, and its
    rows are suppressed there too. So a node costs on the attributes of a face no less than the face's optimum. Disjoint
    pattern databases bound the puzzles of Korf and Felner (Artificial Intelligence 134, 2002) the same way.
    """
    bounds = []
    for group in _groups(lattice, largest):
        bottom = tuple(low if i in group else left_out[i] for i, low in enumerate(lattice.bottom))
        top = tuple(high if i in group else left_out[i] for i, high in enumerate(lattice.top))
        face = Incumbent()
        yield from exhaust(replace(lattice, bottom=bottom, top=top), floors, face)
        bounds.append(face.bound)
    return sum(bounds) if additive else max(bounds)


def _groups(lattice: Lattice, largest: int) -> list[set[int]]:
    """Attributes shared out to as few faces as will do; each face has one attribute at least."""
    for count in range(ceil(log(lattice.size) / log(largest)), len(lattice.shape)):
        groups = _shared_out(lattice.shape, count)
        if all(prod(lattice.shape[i] for i in group) <= largest for group in groups):
            return groups
    return [{i} for i in range(len(lattice.shape))]


def _shared_out(shape: Node, count: int) -> list[set[int]]:
    """So many groups, each attribute given to the smallest one so far, the tall first."""
    groups: list[set[int]] = [set() for _ in range(count)]
    sizes = [1] * count
    for i in sorted(range(len(shape)), key=lambda i: -shape[i]):
        at = sizes.index(min(sizes))
        groups[at].add(i)
        sizes[at] *= shape[i]
    return [group for group in groups if group]
