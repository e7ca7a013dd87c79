"""What labels cannot tell apart: loss, NCP, GCP, granularity, and the loss of the (alp, dif) paper."""

import numpy as np

from shoal.metrics.seen import Seen
from shoal.metrics.told import Told


def _losses(seen: Seen) -> dict[str, float]:
    """Of each attribute the mean share of its leaves that a cell cannot tell apart."""
    return {facet.name: facet.mean(facet.covers.losses) for facet in seen.facets}


def loss(seen: Seen) -> Told:
    """The mean of the attributes' losses, by importance. Iyengar, KDD 2002 (LM).

    >>> round(loss(seen).total, 3)
    0.4
    """
    losses = _losses(seen)
    return Told(sum(facet.weight * losses[facet.name] for facet in seen.facets), losses)


def ncp(seen: Seen) -> Told:
    """Normalised certainty penalty: the sum of a record's losses, on average. Xu et al., KDD 2006.

    >>> round(ncp(seen).total, 3)
    0.8
    """
    return Told(sum(_losses(seen).values()))


def gcp(seen: Seen) -> Told:
    """Global certainty penalty: the mean loss of all cells. Ghinita et al., VLDB 2007.

    >>> round(gcp(seen).total, 3)
    0.4
    """
    losses = _losses(seen)
    return Told(sum(losses.values()) / len(losses))


def granularity(seen: Seen) -> Told:
    """1 - loss, as ARX tells of a column; of the table the mean of its columns.

    >>> round(granularity(seen).total, 3)
    0.6
    """
    left = {name: 1 - each for name, each in _losses(seen).items()}
    return Told(sum(left.values()) / len(left), left)


def leaf_loss(seen: Seen) -> Told:
    """(leaves under the label - 1) / leaves of the domain, summed over the rows; attributes by importance (S3.5).

    >>> round(leaf_loss(seen).total, 3)
    1.25
    """
    costs = {f.name: seen.rows * f.mean((f.covers.leaves - 1) / f.covers.size) for f in seen.facets}
    return Told(sum(facet.weight * costs[facet.name] for facet in seen.facets), costs)


def leaf_loss_mean(seen: Seen) -> Told:
    """The same for a cell on average.

    >>> round(leaf_loss_mean(seen).total, 3)
    0.25
    """
    whole = leaf_loss(seen).total
    assert whole is not None
    return Told(whole / seen.rows)


def missing_cells(seen: Seen) -> Told:
    """The share of cells that are `*` or of suppressed rows. ARX's missings.

    >>> round(missing_cells(seen).total, 3)
    0.2
    """
    shares = {facet.name: facet.mean(facet.stars.astype(np.float64)) for facet in seen.facets}
    return Told(sum(shares.values()) / len(shares), shares)
