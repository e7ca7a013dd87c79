"""What a release says of the joint distribution of the quasi-identifiers, each line spread evenly over its points."""

import numpy as np

from shoal.metrics.base import Floats
from shoal.metrics.seen import Seen
from shoal.metrics.told import Told


def _volumes(seen: Seen) -> Floats:
    """log2 of the number of points that each line may be."""
    bits = np.zeros(len(seen.out))
    for facet in seen.facets:
        bits += np.where(seen.out, np.log2(facet.values), np.log2(facet.covers.values)[facet.of])
    return bits


def kl_divergence(seen: Seen) -> Told:
    """Σ p log2(p / q) over the points of the original, q what the lines say that hold the point. Kifer, Gehrke 2006.

    A line's rows are spread evenly over the points that it may be; suppressed rows over all. Lines that cover a point
    but hold no row of it are not asked for, which would take time by the square of the table: where labels overlap,
    the true divergence is at most this.

    >>> round(kl_divergence(seen).total, 3)
    0.339
    """
    p = np.log2(seen.points.counts / seen.rows)
    bits, lines = _volumes(seen), seen.lines
    kept = ~seen.out[seen.line]
    q = np.full(len(seen.points), -np.inf)
    each = np.log2(np.maximum(lines, 1) / seen.rows) - bits
    np.logaddexp2.at(q, seen.point[kept], each[seen.line[kept]])
    if seen.out.any():
        q = np.logaddexp2(q, np.log2(lines[seen.out].sum() / seen.rows) - bits[seen.out][0])
    return Told(max(float(seen.points.counts @ (p - q) / seen.rows), 0.0))


def ambiguity(seen: Seen) -> Told:
    """How many points of the domain a row may be, on average. Goldberger, Tassa, TDP 2010.

    Not told where the number is too large for a float.

    >>> round(ambiguity(seen).total, 3)
    2.8
    """
    with np.errstate(over="ignore"):
        mean = float(seen.lines @ np.exp2(_volumes(seen)) / seen.rows)
    return Told(mean if np.isfinite(mean) else None)


def ambiguity_log2(seen: Seen) -> Told:
    """The same as log2 of the geometric mean: the bits that are missing to know a row, were all points alike.

    >>> round(ambiguity_log2(seen).total, 3)
    1.317
    """
    values = {f.name: f.mean(np.log2(f.covers.values)) for f in seen.facets}
    return Told(sum(values.values()), values)
