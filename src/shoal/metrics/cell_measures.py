"""What labels lost cell by cell: values they cannot tell apart, bits that are missing, steps in the hierarchy."""

import numpy as np

from shoal.data.class_counts import Longs
from shoal.metrics.comparison import Comparison, Facet, Measurement
from shoal.metrics.metric import Floats


def _losses(seen: Comparison) -> dict[str, float]:
    """Return, per attribute, the mean share of its leaves that a cell cannot tell apart."""
    return {facet.name: facet.mean(facet.covers.losses) for facet in seen.facets}


def loss(seen: Comparison) -> Measurement:
    """Mean of the attributes' losses, weighted by importance. Iyengar, KDD 2002 (LM).

    >>> round(loss(seen).total, 3)
    0.4
    """
    losses = _losses(seen)
    return Measurement(sum(facet.weight * losses[facet.name] for facet in seen.facets), losses)


def ncp(seen: Comparison) -> Measurement:
    """Normalised certainty penalty: the sum of a record's losses, on average. Xu et al., KDD 2006.

    >>> round(ncp(seen).total, 3)
    0.8
    """
    return Measurement(sum(_losses(seen).values()))


def gcp(seen: Comparison) -> Measurement:
    """Global certainty penalty: the mean loss of all cells. Ghinita et al., VLDB 2007.

    >>> round(gcp(seen).total, 3)
    0.4
    """
    losses = _losses(seen)
    return Measurement(sum(losses.values()) / len(losses))


def granularity(seen: Comparison) -> Measurement:
    """1 - loss of each column, as ARX defines it; the total is the mean over the columns.

    >>> round(granularity(seen).total, 3)
    0.6
    """
    left = {name: 1 - each for name, each in _losses(seen).items()}
    return Measurement(sum(left.values()) / len(left), left)


def leaf_loss(seen: Comparison) -> Measurement:
    """(leaves under the label - 1) / leaves of the domain, summed over the rows; attributes by importance (S3.5).

    >>> round(leaf_loss(seen).total, 3)
    1.25
    """
    costs = {f.name: seen.rows * f.mean((f.covers.leaves - 1) / f.covers.size) for f in seen.facets}
    return Measurement(sum(facet.weight * costs[facet.name] for facet in seen.facets), costs)


def leaf_loss_mean(seen: Comparison) -> Measurement:
    """Mean leaf loss of a cell.

    >>> round(leaf_loss_mean(seen).total, 3)
    0.25
    """
    whole = leaf_loss(seen).total
    assert whole is not None
    return Measurement(whole / seen.rows)


def missing_cells(seen: Comparison) -> Measurement:
    """Share of cells that are `*` or belong to suppressed rows. ARX's missings.

    >>> round(missing_cells(seen).total, 3)
    0.2
    """
    shares = {facet.name: facet.mean(facet.stars.astype(np.float64)) for facet in seen.facets}
    return Measurement(sum(shares.values()) / len(shares), shares)


def non_uniform_entropy(seen: Comparison) -> Measurement:
    """Σ over the cells of -log2(f(value) / f(label)), f counted in the original; in bits.

    De Waal, Willenborg 1999; Gionis, Tassa, TKDE 2009. The f of a label is the number of rows whose value lies under
    it, whatever they show, so it is one number also where equal values show different labels.

    >>> round(non_uniform_entropy(seen).total, 3)
    7.059
    """
    bits = {facet.name: _bits(facet) for facet in seen.facets}
    return Measurement(sum(bits.values()), bits)


def non_uniform_entropy_share(seen: Comparison) -> Measurement:
    """Non-uniform entropy as a share of that of a table of `*` alone; an attribute of one value loses nothing.

    >>> round(non_uniform_entropy_share(seen).total, 3)
    0.566
    """
    bits, most = non_uniform_entropy(seen).attributes, {facet.name: _most_bits(facet) for facet in seen.facets}
    whole = sum(most.values())
    shares = {name: each / most[name] if most[name] else 0.0 for name, each in bits.items()}
    return Measurement(sum(bits.values()) / whole if whole else 0.0, shares)


def _bits(facet: Facet) -> float:
    """Return the non-uniform entropy of an attribute: Σ log2 f(label) - Σ log2 f(value) over its cells."""
    return max(float(facet.shown @ _log2(facet.covers.held) - facet.rows @ _log2(facet.rows)), 0.0)


def _most_bits(facet: Facet) -> float:
    """Return the non-uniform entropy of an attribute if all its cells were `*`."""
    rows = facet.rows.sum(keepdims=True)
    return max(float(rows @ _log2(rows) - facet.rows @ _log2(facet.rows)), 0.0)


def _log2(counts: Longs) -> Floats:
    """Return log2 of counts, and 0 for a count of 0, which no row refers to."""
    return np.log2(np.maximum(counts, 1))


def prec(seen: Comparison) -> Measurement:
    """1 - the mean share of its hierarchy that a cell was lifted, attributes by importance; equation (11) of S3.6.

    Sweeney 2002. Not told where an attribute follows no hierarchy.

    >>> round(prec(seen).total, 3)
    0.6
    """
    left = {facet.name: 1 - facet.mean(facet.covers.lifts) for facet in seen.facets}
    known = {name: each for name, each in left.items() if not np.isnan(each)}
    if len(known) < len(left):
        return Measurement(None, known)
    return Measurement(sum(facet.weight * left[facet.name] for facet in seen.facets), left)


def prec_full_domain(seen: Comparison) -> Measurement:
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
    return Measurement(sum(left.values()) / len(left) if len(left) == len(seen.facets) else None, left)
