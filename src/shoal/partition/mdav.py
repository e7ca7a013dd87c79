"""MDAV: clusters of k to 2k-1 rows that lie near each other (Domingo-Ferrer & Mateo-Sanz 2002)."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.data.codes import Codes
from shoal.partition.axes import Floats
from shoal.partition.condition import Condition

Rows = NDArray[np.intp]


def mdav(points: Floats, k: int, watch: Callable[[float], None] = lambda _: None) -> Codes:
    """Return the cluster of each row: k to 2k-1 rows each, or one cluster of all rows if they are fewer than k.

    While at least 3k rows are left, one cluster is the row farthest from their centroid with the k-1 rows nearest to
    it, another the row farthest from that one with its k-1 nearest. Ties go to the row that comes first: sort the rows
    by their values, or the result depends on the order of the table. `watch` is told the share that is done.

    >>> ages = np.array([[21.0], [22], [23], [41], [42], [80], [81]])
    >>> mdav(ages, 2).tolist()
    [1, 1, 2, 2, 2, 0, 0]
    """
    clusters = np.zeros(len(points), dtype=np.int32)
    rows = np.arange(len(points))
    axes = np.ascontiguousarray(points.T)  # [axis, row], so that one axis is contiguous in memory
    found = 0
    while len(rows) >= 2 * k:
        for members in _opposite_clusters(axes, k) if len(rows) >= 3 * k else [_outermost(axes, k)]:
            clusters[rows[members]] = found
            rows[members] = -1
            found += 1
        left = np.flatnonzero(rows >= 0)
        axes, rows = axes.take(left, axis=1), rows[left]
        watch(1 - len(rows) / len(points))
    clusters[rows] = found
    return clusters


def standardise(columns: Sequence[Floats], importance: Sequence[float] | None = None) -> Floats:
    """Return points [row, column] of mean 0 and variance 1 times the importance of the column; no NaN allowed.

    >>> standardise([np.array([1.0, 3.0]), np.array([7.0, 7.0])], [4, 1]).tolist()
    [[-2.0, 0.0], [2.0, 0.0]]
    """
    points = np.stack(columns, axis=1)
    points = points - points.mean(axis=0)
    spread = points.std(axis=0)
    # a distance is a sum of squares: with the root, an axis weighs in it as much as it is important
    return np.asarray(points / np.where(spread > 0, spread, 1.0) * np.sqrt(1.0 if importance is None else importance))


def _opposite_clusters(axes: Floats, k: int) -> tuple[Rows, Rows]:
    """Return the k rows around the one farthest from the centroid, and the k around the row farthest from that."""
    first = int(_squared_distances(axes, axes.mean(axis=1)).argmax())
    near = _squared_distances(axes, axes[:, first])
    near[first] = -1  # a cluster always contains its own centre
    second = int(near.argmax())
    near[second] = np.inf  # reserved for the other cluster, even where many rows are equal
    one = _nearest(near, k)
    near = _squared_distances(axes, axes[:, second])
    near[second] = -1
    near[one] = np.inf
    return one, _nearest(near, k)


def _outermost(axes: Floats, k: int) -> Rows:
    """Return the row farthest from the centroid and its k-1 nearest rows."""
    first = int(_squared_distances(axes, axes.mean(axis=1)).argmax())
    near = _squared_distances(axes, axes[:, first])
    near[first] = -1
    return _nearest(near, k)


def _squared_distances(axes: Floats, point: Floats) -> Floats:
    """Return the squared distance of every row from a point."""
    total, gap = np.zeros(axes.shape[1]), np.empty(axes.shape[1])
    for axis, at in zip(axes, point, strict=True):
        np.subtract(axis, at, out=gap)
        np.multiply(gap, gap, out=gap)
        total += gap
    return total


def _nearest(squares: Floats, k: int) -> Rows:
    """Return the rows of the k least values; at a tie the first ones."""
    # the k-th least value: all lesser ones are taken, then as many equal to it as are still needed
    last = np.partition(squares, k - 1)[k - 1]
    nearer = np.flatnonzero(squares < last)
    return np.append(nearer, np.flatnonzero(squares == last)[: k - len(nearer)])


def merge_until_complying(condition: Condition, clusters: Codes, points: Floats) -> Codes:
    """Merge each failing cluster with the one of nearest centroid until all comply or one is left.

    In each round every cluster takes part in one merger at most, so that none grows more than it must; ties go to the
    cluster of lower number. The caller checks whether a single cluster that is left complies.

    >>> from shoal.data.frequency_set import FrequencySet
    >>> from shoal.models import KAnonymity
    >>> rows = FrequencySet.count({"age": (np.arange(4, dtype=np.int32), 4)})
    >>> ages = np.array([[20.0], [21], [40], [90]])
    >>> merge_until_complying(Condition(rows, [KAnonymity(2)]), np.array([0, 1, 2, 2], np.int32), ages).tolist()
    [0, 0, 1, 1]
    """
    clusters = _renumber(clusters)
    while (count := int(clusters.max(initial=-1)) + 1) > 1:
        failing = np.flatnonzero(~condition.complies(clusters, count))
        if not len(failing):
            break
        centroids = _centroids(condition.items.counts, clusters, points, count)
        clusters = _renumber(_pair_failing(failing, centroids)[clusters])
    return clusters


def _renumber(clusters: Codes) -> Codes:
    """Renumber the clusters from 0 without gaps, in the same order."""
    return np.unique(clusters, return_inverse=True)[1].reshape(-1).astype(np.int32)


def _centroids(rows: "NDArray[np.int64]", clusters: Codes, points: Floats, count: int) -> Floats:
    """Return the centroid of each cluster, every item weighted by its rows: [cluster, axis]."""
    weights = np.bincount(clusters, weights=rows, minlength=count)
    sums = [np.bincount(clusters, weights=axis * rows, minlength=count) for axis in points.T]
    return np.stack(sums, axis=1) / weights[:, None]


def _pair_failing(failing: "NDArray[np.intp]", centroids: Floats) -> Codes:
    """Return the number that each cluster gets in this round of mergers."""
    becomes = np.arange(len(centroids), dtype=np.int32)
    free = np.ones(len(centroids), dtype=bool)
    for cluster in failing:
        if not free[cluster]:
            continue
        squares = ((centroids - centroids[cluster]) ** 2).sum(axis=1)
        squares[cluster] = np.inf
        nearest = squares.argmin()
        # if the nearest is taken, wait for the next round rather than join a worse one
        if free[nearest]:
            becomes[max(cluster, nearest)] = min(cluster, nearest)
            free[[cluster, nearest]] = False
    return becomes
