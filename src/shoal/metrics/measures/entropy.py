"""How many bits are missing to know the value behind a label."""

import numpy as np

from shoal.counts import Longs
from shoal.metrics.base import Floats
from shoal.metrics.seen import Facet, Seen
from shoal.metrics.told import Told


def non_uniform_entropy(seen: Seen) -> Told:
    """Σ over the cells of -log2(f(value) / f(label)), f counted in the original; in bits.

    De Waal, Willenborg 1999; Gionis, Tassa, TKDE 2009. The f of a label is the number of rows whose value lies under
    it, whatever they show, so it is one number also where equal values show different labels.

    >>> round(non_uniform_entropy(seen).total, 3)
    7.059
    """
    bits = {facet.name: _bits(facet) for facet in seen.facets}
    return Told(sum(bits.values()), bits)


def non_uniform_entropy_share(seen: Seen) -> Told:
    """The same as a share of what a table of `*` alone has; an attribute of one value has nothing to lose.

    >>> round(non_uniform_entropy_share(seen).total, 3)
    0.566
    """
    bits, most = non_uniform_entropy(seen).attributes, {facet.name: _most(facet) for facet in seen.facets}
    whole = sum(most.values())
    shares = {name: each / most[name] if most[name] else 0.0 for name, each in bits.items()}
    return Told(sum(bits.values()) / whole if whole else 0.0, shares)


def _bits(facet: Facet) -> float:
    return max(float(facet.shown @ _log2(facet.covers.held) - facet.rows @ _log2(facet.rows)), 0.0)


def _most(facet: Facet) -> float:
    rows = facet.rows.sum(keepdims=True)
    return max(float(rows @ _log2(rows) - facet.rows @ _log2(facet.rows)), 0.0)


def _log2(counts: Longs) -> Floats:
    """Of what does not occur, 0: it is counted no times."""
    return np.log2(np.maximum(counts, 1))
