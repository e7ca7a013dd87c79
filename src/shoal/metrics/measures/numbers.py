"""Numbers: how far those shown lie from those that were, and whether they still move together."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from shoal.counts import Longs
from shoal.metrics.base import Floats
from shoal.metrics.seen import Facet, Seen
from shoal.metrics.told import Pair, Told

_NOTHING = 1e-12
"""A variance that is so small a share of the squares is what rounding left of none."""


def sse(seen: Seen) -> Told:
    """Σ (number before - number after)² of each numeric attribute; no total, since units differ.

    The number after is the mean if the release shows it, else the middle of its range; open ends and `*` end at the
    least and the greatest number of the table. Domingo-Ferrer, Mateo-Sanz, TKDE 2002.

    >>> sse(seen).attributes
    {'age': 2.0}
    """
    return Told(None, _errors(seen))


def sse_share(seen: Seen) -> Told:
    """SSE / SST: the same as a share of the attribute's own sum of squares; the mean of the numeric attributes.

    >>> round(sse_share(seen).total, 3)
    0.714
    """
    errors, shares = _errors(seen), {}
    for facet in seen.facets:
        if facet.numbers is not None and (all_of_it := _spread(facet.numbers[0], facet.rows)) > 0:
            shares[facet.name] = errors[facet.name] / all_of_it
    return Told(sum(shares.values()) / len(shares) if shares else None, shares)


def correlation_change(seen: Seen) -> Told:
    """The mean change of Pearson's r of two numeric attributes, of released rows after.

    Numbers as for SSE; what does not vary correlates with nothing. Of at most 16 quasi-identifiers, the most important
    ones.
    """
    numeric = [facet for facet in seen.foremost if facet.numbers is not None]
    if len(numeric) < 2:
        return Told(None)
    before = correlations([_before(seen, facet) for facet in numeric], seen.points.counts)
    after = correlations([_shown(facet)[facet.of] for facet in numeric], np.where(seen.out, 0, seen.lines))
    pairs = tuple(
        Pair(one.name, other.name, float(before[i, j]), float(np.nan_to_num(after[i, j])))
        for (i, one), (j, other) in combinations(enumerate(numeric), 2)
        if not np.isnan(before[i, j])
    )
    return Told(sum(abs(p.before - p.after) for p in pairs) / len(pairs) if pairs else None, pairs=pairs)


def correlations(columns: Sequence[Floats], counts: Longs) -> Floats:
    """Pearson's r of every two columns whose lines occur so often, by the lines where both are known.

    It is nan where one of the two does not vary.

    >>> columns = [np.array([1.0, 2.0, 3.0, np.nan]), np.array([1.0, 2.0, 5.0, 9.0]), np.ones(4)]
    >>> correlations(columns, np.array([1, 1, 0, 1]))[0].tolist()
    [1.0, 1.0, nan]
    """
    x = np.stack(columns, axis=1)
    known = (~np.isnan(x) & (counts[:, None] > 0)).astype(np.float64)
    x = np.where(known > 0, x, 0)
    weights = counts.astype(np.float64)
    # from the middle on, so that squares of large numbers do not swallow their differences
    x -= (weights @ x) / np.maximum(weights @ known, 1)
    x *= known
    weighted = x * weights[:, None]
    rows = np.maximum((known * weights[:, None]).T @ known, 1)
    sums, squares = weighted.T @ known, (weighted * x).T @ known  # of the first where the second is known, too
    spread = squares - sums * sums / rows
    spread[spread <= _NOTHING * squares] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        r = (weighted.T @ x - sums * sums.T / rows) / np.sqrt(spread * spread.T)
    r[spread * spread.T == 0] = np.nan
    return np.clip(r, -1, 1)


def _errors(seen: Seen) -> dict[str, float]:
    errors = {}
    for facet in seen.facets:
        if facet.numbers is not None:
            apart = _before(seen, facet)[seen.point] - _shown(facet)[facet.of][seen.line]
            errors[facet.name] = float(np.nansum(seen.counts * apart * apart))
    return errors


def _before(seen: Seen, facet: Facet) -> Floats:
    """The number of each point."""
    assert facet.numbers is not None
    return facet.numbers[0][seen.points.codes(facet.name)]


def _shown(facet: Facet) -> Floats:
    """The number that each label stands for."""
    assert facet.numbers is not None
    return facet.numbers[1]


def _spread(numbers: Floats, rows: Longs) -> float:
    """SST: the sum of squared distances from the mean."""
    known = ~np.isnan(numbers) & (rows > 0)
    if not known.any():
        return 0.0
    apart = numbers[known] - np.average(numbers[known], weights=rows[known])
    return float(rows[known] @ (apart * apart))
