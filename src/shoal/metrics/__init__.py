"""What the data lost: metrics that searches minimise and reports state."""

from shoal.metrics.base import Floats, Floors, Judgement, Metric, Scorer
from shoal.metrics.cells import lost_in_cells
from shoal.metrics.registry import METRICS, scorers

__all__ = ["METRICS", "Floats", "Floors", "Judgement", "Metric", "Scorer", "lost_in_cells", "scorers"]
