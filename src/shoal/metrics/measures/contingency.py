"""Whether what two categorical attributes tell of each other is still there."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from shoal.codes import Codes
from shoal.counts import Longs
from shoal.metrics.seen import Facet, Seen
from shoal.metrics.told import Pair, Told

MOST = 1_000
"""An attribute of more values or labels is no category any more: its V only says that rows are few."""
_MOST_CELLS = 1 << 22
"""A table of so many cells is counted whole, a larger one only where there is something."""


def contingency_change(seen: Seen) -> Told:
    """The mean change of Cramér's V of two quasi-identifiers, and of each with every sensitive attribute.

    Labels are categories, and null is one; after, of released rows. Of at most 16 quasi-identifiers, the most
    important ones. Cramér 1946.
    """
    pairs = tuple(_pairs(seen))
    return Told(sum(abs(p.before - p.after) for p in pairs) / len(pairs) if pairs else None, pairs=pairs)


def _pairs(seen: Seen) -> Iterator[Pair]:
    few = [facet for facet in seen.foremost if _categories(facet) <= MOST]
    values = {facet.name: seen.points.codes(facet.name) for facet in few}
    labels = {facet.name: facet.alike[facet.of] for facet in few}
    kept = np.where(seen.out, 0, seen.lines)
    for one, other in combinations(few, 2):
        before = cramers_v(values[one.name], values[other.name], seen.points.counts)
        if before is not None:
            after = cramers_v(labels[one.name], labels[other.name], kept)
            yield Pair(one.name, other.name, before, after or 0.0)
    for name, long in seen.beside.items():
        point, line = seen.point[long.classes], seen.line[long.classes]
        left = np.where(seen.out[line], 0, long.counts)
        for facet in few if long.size <= MOST else ():
            before = cramers_v(values[facet.name][point], long.values, long.counts)
            if before is not None:
                after = cramers_v(labels[facet.name][line], long.values, left)
                yield Pair(facet.name, name, before, after or 0.0)


def _categories(facet: Facet) -> int:
    """How many there are, before or after."""
    return max(int(np.count_nonzero(facet.rows)), len(np.unique(facet.alike[facet.of])))


def cramers_v(one: Codes, other: Codes, counts: Longs) -> float | None:
    """Of codes that occur together so often; None where one of them is always the same.

    >>> cramers_v(np.array([0, 1, 1], np.int32), np.array([0, 1, 1], np.int32), np.array([2, 1, 0]))
    1.0
    """
    width = int(other.max(initial=0)) + 1
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
