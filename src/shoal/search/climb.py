"""One step after the other from the bottom upward: what Datafly and the greedy search share."""

from collections.abc import Callable
from fractions import Fraction

from shoal.lattice import Lattice
from shoal.search.driver import Ask, Walk


def climb(lattice: Lattice, cost: Callable[[int, int], float | Fraction]) -> Walk:
    """Lift the attribute i of least `cost(i, its level)`, ties by name, until a node complies."""
    node, height = lattice.bottom, lattice.height
    steps = max(height(lattice.top) - height(node), 1)
    while not (yield Ask(node, (height(node) - height(lattice.bottom)) / steps)):
        above = [i for i, level in enumerate(node) if level < lattice.top[i]]
        if not above:
            return ()  # the most general node was asked last
        i = min(above, key=lambda i: cost(i, node[i]))
        node = (*node[:i], node[i] + 1, *node[i + 1 :])
    return (node,)
