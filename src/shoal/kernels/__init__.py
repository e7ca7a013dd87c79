"""The compiled core: packed keys, rollup, marginal counts, cuts of partitions, clusters of cells, trees, joins."""

from shoal.kernels._core import (
    Clusters,
    c45,
    c45_leaves,
    c45_shares,
    cheapest_sets,
    contained,
    group_columns,
    least_entropy,
    least_squares,
    marginals,
    merge_counts,
    mondrian,
    rollup,
    rollup_part,
)

__all__ = [
    "Clusters",
    "c45",
    "c45_leaves",
    "c45_shares",
    "cheapest_sets",
    "contained",
    "group_columns",
    "least_entropy",
    "least_squares",
    "marginals",
    "merge_counts",
    "mondrian",
    "rollup",
    "rollup_part",
]
