"""Engines: Arrow for what fits in memory, DuckDB for what does not, Spark for a cluster; PostgreSQL is read by two."""

from shoal.engines.arrow import ArrowEngine
from shoal.engines.choosing import choose_engine
from shoal.engines.postgres import Postgres, Stored, named, refuse_target, storing
from shoal.engines.reading.remote import local_path

__all__ = ["ArrowEngine", "Postgres", "Stored", "choose_engine", "local_path", "named", "refuse_target", "storing"]
