"""Engines: Arrow for what fits in memory."""

from shoal.engines.arrow import ArrowEngine

__all__ = ["ArrowEngine"]
