"""MDAV: clusters of k to 2k-1 rows that lie near each other (Domingo-Ferrer & Mateo-Sanz 2002).

In the form of Domingo-Ferrer & Torra 2005, which is the one in use. The time grows with the square of the rows.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Codes
from shoal.partition.axes import Floats

Rows = NDArray[np.intp]


def mdav(points: Floats, k: int) -> Codes:
    """The cluster of each row: k to 2k-1 rows each; where there are fewer than k, all are in one.

    While at least 3k rows are left, one cluster is the row farthest from their centroid with the k-1 rows nearest to
    it, another the row farthest from that one with its k-1 nearest. Ties go to the row that comes first: sort the rows
    by their values, else the outcome depends on the order in which people happen to stand.

    >>> ages = np.array([[21.0], [22], [23], [41], [42], [80], [81]])
    >>> mdav(ages, 2).tolist()
    [1, 1, 2, 2, 2, 0, 0]
    """
    clusters = np.zeros(len(points), dtype=np.int32)
    rows = np.arange(len(points))
    axes = np.ascontiguousarray(points.T)  # so that a pass over one axis is one over neighbours
    found = 0
    while len(rows) >= 2 * k:
        for members in _ends(axes, k) if len(rows) >= 3 * k else [_outermost(axes, k)]:
            clusters[rows[members]] = found
            rows[members] = -1
            found += 1
        left = np.flatnonzero(rows >= 0)
        axes, rows = axes.take(left, axis=1), rows[left]
    clusters[rows] = found
    return clusters


def standardised(columns: Sequence[Floats], importance: Sequence[float] | None = None) -> Floats:
    """Columns, none of them with NaN, as points: each axis of mean 0 and variance 1 times its importance.

    >>> standardised([np.array([1.0, 3.0]), np.array([7.0, 7.0])], [4, 1]).tolist()
    [[-2.0, 0.0], [2.0, 0.0]]
    """
    points = np.stack(columns, axis=1)
    points = points - points.mean(axis=0)
    spread = points.std(axis=0)
    # a distance is a sum of squares, in which an axis then weighs as much as it is important
    return np.asarray(points / np.where(spread > 0, spread, 1.0) * np.sqrt(1.0 if importance is None else importance))


def _ends(axes: Floats, k: int) -> tuple[Rows, Rows]:
    """The k rows at the farthest end of all, and the k at the end opposite to it."""
    first = int(_squares(axes, axes.mean(axis=1)).argmax())
    near = _squares(axes, axes[:, first])
    near[first] = -1
    second = int(near.argmax())
    near[second] = np.inf  # where many rows are one point it may be among the nearest
    one = _nearest(near, k)
    near = _squares(axes, axes[:, second])
    near[second] = -1
    near[one] = np.inf
    return one, _nearest(near, k)


def _outermost(axes: Floats, k: int) -> Rows:
    """The row farthest from the centroid and its k-1 nearest."""
    first = int(_squares(axes, axes.mean(axis=1)).argmax())
    near = _squares(axes, axes[:, first])
    near[first] = -1
    return _nearest(near, k)


def _squares(axes: Floats, point: Floats) -> Floats:
    """The square of the distance of every row from a point."""
    total, gap = np.zeros(axes.shape[1]), np.empty(axes.shape[1])
    for axis, at in zip(axes, point, strict=True):
        np.subtract(axis, at, out=gap)
        np.multiply(gap, gap, out=gap)
        total += gap
    return total


def _nearest(squares: Floats, k: int) -> Rows:
    """The k least; of equal ones the first."""
    last = np.partition(squares, k - 1)[k - 1]
    nearer = np.flatnonzero(squares < last)
    return np.append(nearer, np.flatnonzero(squares == last)[: k - len(nearer)])
