"""Engines: Arrow for what fits in memory, DuckDB for what does not, Spark for a cluster; PostgreSQL is read by two."""
