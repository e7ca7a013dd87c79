"""Datafly: generalise the attribute with most distinct values until few enough rows are left to suppress."""

from collections.abc import Sequence

from shoal.lattice import Lattice
from shoal.search.climb import climb
from shoal.search.driver import Walk


def datafly(lattice: Lattice, distinct: Sequence[Sequence[int]]) -> Walk:
    """Walk up from the bottom, always in the attribute with most distinct values; ties by name (S2.6).

    Sweeney 1997. `distinct[i][level]` is the number of values of attribute i at a level. Not minimal, but quick.

    >>> walk = datafly(Lattice(("age", "sex"), (0, 0), (2, 1)), [[72, 15, 1], [2, 1]])
    >>> next(walk).node, walk.send(False).node
    ((0, 0), (1, 0))
    """
    return climb(lattice, lambda i, level: -distinct[i][level])
