"""What the data lost: metrics that searches minimise, and measures of what they found."""

from shoal.metrics.catalogue import METRICS, Entry, catalogue, lost_in_cells, measured, scorers
from shoal.metrics.comparison import Comparison, Facet, Measurement, see
from shoal.metrics.metric import Floats, Floors, Judgement, Metric, Scorer

__all__ = [
    "METRICS",
    "Comparison",
    "Entry",
    "Facet",
    "Floats",
    "Floors",
    "Judgement",
    "Measurement",
    "Metric",
    "Scorer",
    "catalogue",
    "lost_in_cells",
    "measured",
    "scorers",
    "see",
]
