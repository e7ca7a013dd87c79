"""Clusters put together until each keeps what was promised."""

from typing import TYPE_CHECKING

import numpy as np

from shoal.codes import Codes
from shoal.partition.axes import Floats
from shoal.partition.condition import Condition

if TYPE_CHECKING:
    from numpy.typing import NDArray


def merged_until(condition: Condition, clusters: Codes, points: Floats) -> Codes:
    """The clusters, each that fails merged with the one of nearest centroid, until all comply or one is left.

    In each round every cluster takes part in one merger at most, so that none grows more than it must; ties go to the
    cluster of lower number. Whether the one that is left complies is for the caller to ask.

    >>> from shoal.frequency import FrequencySet
    >>> from shoal.models import KAnonymity
    >>> rows = FrequencySet.count({"age": (np.arange(4, dtype=np.int32), 4)})
    >>> ages = np.array([[20.0], [21], [40], [90]])
    >>> merged_until(Condition(rows, [KAnonymity(2)]), np.array([0, 1, 2, 2], np.int32), ages).tolist()
    [0, 0, 1, 1]
    """
    clusters = _numbered(clusters)
    while (count := int(clusters.max(initial=-1)) + 1) > 1:
        failing = np.flatnonzero(~condition.complies(clusters, count))
        if not len(failing):
            break
        centroids = _centroids(condition.items.counts, clusters, points, count)
        clusters = _numbered(_paired(failing, centroids)[clusters])
    return clusters


def _numbered(clusters: Codes) -> Codes:
    """Numbers from 0, each in use, in the same order."""
    return np.unique(clusters, return_inverse=True)[1].reshape(-1).astype(np.int32)


def _centroids(rows: "NDArray[np.int64]", clusters: Codes, points: Floats, count: int) -> Floats:
    weights = np.bincount(clusters, weights=rows, minlength=count)
    sums = [np.bincount(clusters, weights=axis * rows, minlength=count) for axis in points.T]
    return np.stack(sums, axis=1) / weights[:, None]


def _paired(failing: "NDArray[np.intp]", centroids: Floats) -> Codes:
    """The cluster that each one becomes in this round."""
    becomes = np.arange(len(centroids), dtype=np.int32)
    free = np.ones(len(centroids), dtype=bool)
    for cluster in failing:
        if not free[cluster]:
            continue
        squares = ((centroids - centroids[cluster]) ** 2).sum(axis=1)
        squares[cluster] = np.inf
        nearest = squares.argmin()
        # the nearest of all, or a later round: what is near now may be better then
        if free[nearest]:
            becomes[max(cluster, nearest)] = min(cluster, nearest)
            free[[cluster, nearest]] = False
    return becomes
