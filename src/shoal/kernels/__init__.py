"""The compiled core: packed keys, rollup, marginal counts, the cuts of partitions, clusters of cells, trees."""

from shoal.kernels._core import (
    Clusters,
    c45,
    c45_leaves,
    c45_shares,
    group_columns,
    least_entropy,
    least_squares,
    marginals,
    mondrian,
    rollup,
)

__all__ = [
    "Clusters",
    "c45",
    "c45_leaves",
    "c45_shares",
    "group_columns",
    "least_entropy",
    "least_squares",
    "marginals",
    "mondrian",
    "rollup",
]
