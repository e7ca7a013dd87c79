"""The engine for tables that do not fit in memory: DuckDB reads, groups and sorts them, and spills where it must."""

from shoal.engines.duckdb.engine import DuckDBEngine

__all__ = ["DuckDBEngine"]
