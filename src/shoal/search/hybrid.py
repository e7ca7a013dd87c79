"""Datafly first, to bound the height for Samarati's search: the future work of the survey."""

from collections.abc import Sequence

from shoal.lattice import Lattice
from shoal.search.datafly import datafly
from shoal.search.driver import Walk
from shoal.search.samarati import samarati


def hybrid(lattice: Lattice, distinct: Sequence[Sequence[int]]) -> Walk:
    """What Samarati's search returns, not looked for above the node where Datafly ends (S2.8)."""
    reached = yield from datafly(lattice, distinct)
    if not reached:
        return ()
    return (yield from samarati(lattice, lattice.height(reached[0])))
