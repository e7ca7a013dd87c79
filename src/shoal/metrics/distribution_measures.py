"""What happened to distributions: of pairs of attributes, of numbers, and of all attributes jointly."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from shoal.data.class_counts import Longs
from shoal.data.codes import Codes
from shoal.metrics.comparison import Comparison, Facet, MeasuredPair, Measurement
from shoal.metrics.metric import Floats

MOST = 1_000
"""Most values or labels of a category: with more, Cramér's V only shows that rows are few."""
_MOST_CELLS = 1 << 22
"""Most cells of a contingency table that is counted densely; a larger one is counted sparsely."""


def contingency_change(seen: Comparison) -> Measurement:
    """The mean change of Cramér's V of two quasi-identifiers, and of each with every sensitive attribute.

    Labels are categories, and null is one; after, of released rows. Of at most 16 quasi-identifiers, the most
    important ones. Cramér 1946.
    """
    pairs = tuple(_pairs(seen))
    return Measurement(sum(abs(p.before - p.after) for p in pairs) / len(pairs) if pairs else None, pairs=pairs)


def _pairs(seen: Comparison) -> Iterator[MeasuredPair]:
    """Yield Cramér's V before and after for every pair that has one before."""
    few = [facet for facet in seen.most_important if _categories(facet) <= MOST]
    values = {facet.name: seen.points.codes(facet.name) for facet in few}
    labels = {facet.name: facet.alike[facet.of] for facet in few}
    kept = np.where(seen.out, 0, seen.lines)
    for one, other in combinations(few, 2):
        before = cramers_v(values[one.name], values[other.name], seen.points.counts)
        if before is not None:
            after = cramers_v(labels[one.name], labels[other.name], kept)
            yield MeasuredPair(one.name, other.name, before, after or 0.0)
    for name, long in seen.beside.items():
        point, line = seen.point[long.classes], seen.line[long.classes]
        left = np.where(seen.out[line], 0, long.counts)
        for facet in few if long.size <= MOST else ():
            before = cramers_v(values[facet.name][point], long.values, long.counts)
            if before is not None:
                after = cramers_v(labels[facet.name][line], long.values, left)
                yield MeasuredPair(facet.name, name, before, after or 0.0)


def _categories(facet: Facet) -> int:
    """Return the number of categories, before or after, whichever is greater."""
    return max(int(np.count_nonzero(facet.rows)), len(np.unique(facet.alike[facet.of])))


def cramers_v(one: Codes, other: Codes, counts: Longs) -> float | None:
    """Return Cramér's V of two columns of codes whose lines occur `counts` times; None if one is constant.

    >>> cramers_v(np.array([0, 1, 1], np.int32), np.array([0, 1, 1], np.int32), np.array([2, 1, 0]))
    1.0
    """
    width = int(other.max(initial=0)) + 1
    # number of the cell of each pair of codes; `found` are the cells that occur, `rows` their counts
    cells = one.astype(np.int64) * width + other
    if (int(one.max(initial=0)) + 1) * width <= _MOST_CELLS:
        rows = np.bincount(cells, weights=counts)
        found = np.flatnonzero(rows)
        rows = rows[found]
    else:
        found, at = np.unique(cells[counts > 0], return_inverse=True)
        rows = np.bincount(at, weights=counts[counts > 0])
    left, right = found // width, found % width
    of_left, of_right = np.bincount(left, weights=rows), np.bincount(right, weights=rows)
    fewest = min(np.count_nonzero(of_left), np.count_nonzero(of_right))
    if fewest < 2:
        return None
    # χ² / n = Σ n_ij² / (n_i n_j) - 1: empty cells need not be looked at
    phi = float((rows / of_left[left]) @ (rows / of_right[right])) - 1
    return float(np.sqrt(min(max(phi, 0.0) / (fewest - 1), 1.0)))


_NOTHING = 1e-12
"""Variance, as a share of the squares, that is taken for rounding error of 0."""


def sse(seen: Comparison) -> Measurement:
    """Σ (number before - number after)² of each numeric attribute; no total, since units differ.

    The number after is the mean if the release shows it, else the middle of its range; open ends and `*` end at the
    least and the greatest number of the table. Domingo-Ferrer, Mateo-Sanz, TKDE 2002.

    >>> sse(seen).attributes
    {'age': 2.0}
    """
    return Measurement(None, _errors(seen))


def sse_share(seen: Comparison) -> Measurement:
    """SSE / SST: the same as a share of the attribute's own sum of squares; the mean of the numeric attributes.

    >>> round(sse_share(seen).total, 3)
    0.714
    """
    errors, shares = _errors(seen), {}
    for facet in seen.facets:
        if facet.numbers is not None and (all_of_it := _spread(facet.numbers[0], facet.rows)) > 0:
            shares[facet.name] = errors[facet.name] / all_of_it
    return Measurement(sum(shares.values()) / len(shares) if shares else None, shares)


def correlation_change(seen: Comparison) -> Measurement:
    """The mean change of Pearson's r between two numeric attributes; afterwards, over released rows.

    Numbers as for SSE; what does not vary correlates with nothing. Of at most 16 quasi-identifiers, the most important
    ones.
    """
    numeric = [facet for facet in seen.most_important if facet.numbers is not None]
    if len(numeric) < 2:
        return Measurement(None)
    before = correlations([_original_numbers(seen, facet) for facet in numeric], seen.points.counts)
    after = correlations([_shown_numbers(facet)[facet.of] for facet in numeric], np.where(seen.out, 0, seen.lines))
    pairs = tuple(
        MeasuredPair(one.name, other.name, float(before[i, j]), float(np.nan_to_num(after[i, j])))
        for (i, one), (j, other) in combinations(enumerate(numeric), 2)
        if not np.isnan(before[i, j])
    )
    return Measurement(sum(abs(p.before - p.after) for p in pairs) / len(pairs) if pairs else None, pairs=pairs)


def correlations(columns: Sequence[Floats], counts: Longs) -> Floats:
    """Return Pearson's r of every two columns whose lines occur `counts` times, over lines where both are known.

    It is nan where one of the two does not vary.

    >>> columns = [np.array([1.0, 2.0, 3.0, np.nan]), np.array([1.0, 2.0, 5.0, 9.0]), np.ones(4)]
    >>> correlations(columns, np.array([1, 1, 0, 1]))[0].tolist()
    [1.0, 1.0, nan]
    """
    # [line, column] numbers, and 1 where they are known, else 0
    x = np.stack(columns, axis=1)
    known = (~np.isnan(x) & (counts[:, None] > 0)).astype(np.float64)
    x = np.where(known > 0, x, 0)
    weights = counts.astype(np.float64)
    # as distances from the mean, so that squares of large numbers do not swallow their differences
    x -= (weights @ x) / np.maximum(weights @ known, 1)
    x *= known
    weighted = x * weights[:, None]
    # [column, column]: rows where both are known, at least 1
    rows = np.maximum((known * weights[:, None]).T @ known, 1)
    sums, squares = weighted.T @ known, (weighted * x).T @ known  # of the first where the second is known, too
    spread = squares - sums * sums / rows
    spread[spread <= _NOTHING * squares] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        r = (weighted.T @ x - sums * sums.T / rows) / np.sqrt(spread * spread.T)
    r[spread * spread.T == 0] = np.nan
    return np.clip(r, -1, 1)


def _errors(seen: Comparison) -> dict[str, float]:
    """Return the sum of squared errors of each numeric attribute."""
    errors = {}
    for facet in seen.facets:
        if facet.numbers is not None:
            apart = _original_numbers(seen, facet)[seen.point] - _shown_numbers(facet)[facet.of][seen.line]
            errors[facet.name] = float(np.nansum(seen.counts * apart * apart))
    return errors


def _original_numbers(seen: Comparison, facet: Facet) -> Floats:
    """Return the original number of each point."""
    assert facet.numbers is not None
    return facet.numbers[0][seen.points.codes(facet.name)]


def _shown_numbers(facet: Facet) -> Floats:
    """Return the number that each label stands for."""
    assert facet.numbers is not None
    return facet.numbers[1]


def _spread(numbers: Floats, rows: Longs) -> float:
    """Return SST, the sum of squared distances from the mean."""
    known = ~np.isnan(numbers) & (rows > 0)
    if not known.any():
        return 0.0
    apart = numbers[known] - np.average(numbers[known], weights=rows[known])
    return float(rows[known] @ (apart * apart))


def _volumes(seen: Comparison) -> Floats:
    """Return log2 of the number of points that each line may stand for."""
    bits = np.zeros(len(seen.out))
    for facet in seen.facets:
        bits += np.where(seen.out, np.log2(facet.values), np.log2(facet.covers.values)[facet.of])
    return bits


def kl_divergence(seen: Comparison) -> Measurement:
    """Σ p log2(p / q) over the points of the original, q what the lines say that hold the point. Kifer, Gehrke 2006.

    A line's rows are spread evenly over the points that it may be; suppressed rows over all. Lines that cover a point
    but hold no row of it are not asked for, which would take time by the square of the table: where labels overlap,
    the true divergence is at most this.

    >>> round(kl_divergence(seen).total, 3)
    0.339
    """
    # log2 of the share of each point in the original
    p = np.log2(seen.points.counts / seen.rows)
    bits, lines = _volumes(seen), seen.lines
    kept = ~seen.out[seen.line]
    q = np.full(len(seen.points), -np.inf)
    # log2 of what a line gives each point it may be: its rows spread evenly
    each = np.log2(np.maximum(lines, 1) / seen.rows) - bits
    np.logaddexp2.at(q, seen.point[kept], each[seen.line[kept]])
    if seen.out.any():
        q = np.logaddexp2(q, np.log2(lines[seen.out].sum() / seen.rows) - bits[seen.out][0])
    return Measurement(max(float(seen.points.counts @ (p - q) / seen.rows), 0.0))


def ambiguity(seen: Comparison) -> Measurement:
    """How many points of the domain a row may be, on average. Goldberger, Tassa, TDP 2010.

    Not told where the number is too large for a float.

    >>> round(ambiguity(seen).total, 3)
    2.8
    """
    with np.errstate(over="ignore"):
        mean = float(seen.lines @ np.exp2(_volumes(seen)) / seen.rows)
    return Measurement(mean if np.isfinite(mean) else None)


def ambiguity_log2(seen: Comparison) -> Measurement:
    """The same as log2 of the geometric mean: the bits that are missing to know a row, were all points alike.

    >>> round(ambiguity_log2(seen).total, 3)
    1.317
    """
    values = {f.name: f.mean(np.log2(f.covers.values)) for f in seen.facets}
    return Measurement(sum(values.values()), values)
