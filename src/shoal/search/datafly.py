"""Datafly: generalise the attribute with most distinct values until few enough rows are left to suppress."""

from collections.abc import Sequence
from math import inf

from shoal.lattice import Lattice
from shoal.search.oracle import Ask, Found, Search


def datafly(lattice: Lattice, distinct: Sequence[Sequence[int]]) -> Search:
    """Walk up from the bottom, always in the attribute with most distinct values; ties by name (S2.6).

    Sweeney 1997. `distinct[i][level]` is the number of values of attribute i at a level. Not minimal, but quick.

    >>> from shoal.search.oracle import Answer
    >>> walk = datafly(Lattice(("age", "sex"), (0, 0), (2, 1)), [[72, 15, 1], [2, 1]])
    >>> next(walk).node, walk.send(Answer((0, 0), False, 9, 0.0, None, 0.0)).node
    ((0, 0), (1, 0))
    """
    node = lattice.bottom
    while True:
        answer = yield Ask(node, lattice.height(node) / max(lattice.height(lattice.top), 1))
        if answer.ok:
            return Found(answer)
        above = [i for i, level in enumerate(node) if level < lattice.top[i]]
        if not above:
            return Found(None, bound=inf)  # the most general node was asked last
        i = max(above, key=lambda i: distinct[i][node[i]])
        node = (*node[:i], node[i] + 1, *node[i + 1 :])
