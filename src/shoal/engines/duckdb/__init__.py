"""The engine for tables that do not fit in memory: DuckDB reads, groups and sorts them, and spills where it must."""
