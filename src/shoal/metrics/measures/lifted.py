"""How far cells were lifted in their hierarchies."""

import numpy as np

from shoal.metrics.seen import Seen
from shoal.metrics.told import Told


def prec(seen: Seen) -> Told:
    """1 - the mean share of its hierarchy that a cell was lifted, attributes by importance; equation (11) of S3.6.

    Sweeney 2002. Not told where an attribute follows no hierarchy.

    >>> round(prec(seen).total, 3)
    0.6
    """
    left = {facet.name: 1 - facet.mean(facet.covers.lifts) for facet in seen.facets}
    known = {name: each for name, each in left.items() if not np.isnan(each)}
    if len(known) < len(left):
        return Told(None, known)
    return Told(sum(facet.weight * left[facet.name] for facet in seen.facets), left)


def prec_full_domain(seen: Seen) -> Told:
    """1 - the mean of level / height; equation (12) of S3.6: suppressed rows and importance do not count.

    Not told where the cells of an attribute stand at several levels.

    >>> round(prec_full_domain(seen).total, 3)
    0.75
    """
    left = {}
    for facet in seen.facets:
        lifts = np.unique(facet.covers.lifts[facet.of[~seen.out]])
        if len(lifts) == 1 and not np.isnan(lifts[0]):
            left[facet.name] = 1 - float(lifts[0])
    return Told(sum(left.values()) / len(left) if len(left) == len(seen.facets) else None, left)
