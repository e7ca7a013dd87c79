"""The compiled core: grouping of packed keys, rollup, marginal counts, cuts of partitions, clusters of cells, joins."""

from shoal.kernels._core import (
    Clusters,
    contained,
    group_columns,
    least_entropy,
    least_squares,
    marginals,
    mondrian,
    rollup,
)

__all__ = [
    "Clusters",
    "contained",
    "group_columns",
    "least_entropy",
    "least_squares",
    "marginals",
    "mondrian",
    "rollup",
]
