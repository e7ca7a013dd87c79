"""How likely each member of a group has each of the group's values, when one value goes to one member."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.counts import Longs

Weights = NDArray[np.float64]

_SWEEPS = 20
_EDGE = 1e-12


@dataclass(frozen=True)
class Groups:
    """Members in groups, and how often each value occurs in each group; every group has as many values as members."""

    group: Longs
    """Of each member."""
    counts: Longs
    """counts[group, value]"""

    def likely(self, likelihoods: Weights) -> Weights:
        """For each member the probability of each value, from log likelihoods: weights scaled until members get one
        value each and values go to as many as have them.

        Sinkhorn 1964; twice the log likelihoods, which makes groups of two exact: p/(1-p) is then the ratio of the two
        permutations, and not its root.

        >>> pair = Groups(np.array([0, 0]), np.array([[1, 1]]))
        >>> pair.likely(np.log([[0.9, 0.1], [0.5, 0.5]])).round(3).tolist()
        [[0.9, 0.1], [0.1, 0.9]]
        """
        order = np.argsort(self.group, kind="stable")
        group = self.group[order]
        starts = np.searchsorted(group, np.arange(len(self.counts)))
        scaled = 2 * likelihoods[order]
        weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        weights = np.maximum(weights, _EDGE) * (self.counts[group] > 0)
        for _ in range(_SWEEPS):
            sums = np.add.reduceat(weights, starts, axis=0)
            weights *= (self.counts / np.where(sums > 0, sums, 1))[group]
            weights /= weights.sum(axis=1, keepdims=True)
        out = np.empty_like(weights)
        out[order] = weights
        return np.asarray(out)
