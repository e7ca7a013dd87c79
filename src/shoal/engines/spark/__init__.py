"""The engine for tables on a cluster: Spark reads, groups and recodes them; the driver only sees distinct values."""
