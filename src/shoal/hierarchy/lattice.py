"""The lattice of full-domain generalisations: a node is a tuple of levels, one per quasi-identifier."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

Node = tuple[int, ...]


@dataclass(frozen=True)
class Lattice:
    """All nodes between the least and the greatest allowed levels (S2.2).

    Attributes stand in the order of their names, so comparing nodes as tuples is the tie rule of the searches.

    >>> lattice = Lattice(("pin", "sex"), (0, 0), (2, 1))
    >>> lattice.size, lattice.height(lattice.top)
    (6, 3)
    >>> list(lattice.successors((1, 0)))
    [(2, 0), (1, 1)]
    """

    attributes: tuple[str, ...]
    bottom: Node
    top: Node

    @property
    def size(self) -> int:
        return prod(high - low + 1 for low, high in zip(self.bottom, self.top, strict=True))

    @property
    def shape(self) -> Node:
        return tuple(high - low + 1 for low, high in zip(self.bottom, self.top, strict=True))

    def height(self, node: Node) -> int:
        return sum(node)

    def successors(self, node: Node) -> Iterator[Node]:
        """Yield the direct generalisations of a node."""
        for i, level in enumerate(node):
            if level < self.top[i]:
                yield (*node[:i], level + 1, *node[i + 1 :])

    def nodes(self) -> Iterator[Node]:
        """Yield every node; only for small lattices."""
        ranges = (range(low, high + 1) for low, high in zip(self.bottom, self.top, strict=True))
        yield from product(*ranges)

    def at(self, height: int) -> Iterator[Node]:
        """Yield the nodes of one height in ascending order, without listing other heights.

        >>> list(Lattice(("pin", "sex"), (0, 0), (2, 1)).at(2))
        [(1, 1), (2, 0)]
        """
        yield from _tuples_with_sum(list(zip(self.bottom, self.top, strict=True)), height)


def _tuples_with_sum(ranges: list[tuple[int, int]], total: int) -> Iterator[Node]:
    """Yield the tuples within the ranges that add up to a total."""
    if not ranges:
        if total == 0:
            yield ()
        return
    (low, high), rest = ranges[0], ranges[1:]
    least, most = (sum(ends) for ends in zip(*rest, strict=True)) if rest else (0, 0)
    for level in range(max(low, total - most), min(high, total - least) + 1):
        for others in _tuples_with_sum(rest, total - level):
            yield (level, *others)
