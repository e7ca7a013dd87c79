"""The compiled core: grouping of packed keys, rollup, marginal counts, the cuts of partitions, clusters of cells."""

from shoal.kernels._core import Clusters, group_columns, least_entropy, least_squares, marginals, mondrian, rollup

__all__ = ["Clusters", "group_columns", "least_entropy", "least_squares", "marginals", "mondrian", "rollup"]
