"""The compiled core: hash grouping of packed keys, rollup, and marginal counts."""

from shoal.kernels._core import group_columns, marginals, rollup

__all__ = ["group_columns", "marginals", "rollup"]
