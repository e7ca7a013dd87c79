"""What the data lost: metrics that searches minimise and reports state."""

from shoal.metrics.base import Floats, Floors, Judgement, Metric, Scorer
from shoal.metrics.registry import METRICS, scorers

__all__ = ["METRICS", "Floats", "Floors", "Judgement", "Metric", "Scorer", "scorers"]
