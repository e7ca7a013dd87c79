"""Engines: Arrow for what fits in memory, DuckDB for what does not, Spark for what is on a cluster."""

from shoal.engines.arrow import ArrowEngine
from shoal.engines.choosing import choose_engine

__all__ = ["ArrowEngine", "choose_engine"]
