"""What the data lost: metrics that searches minimise, and measures of what they found."""

from shoal.metrics.base import Floats, Floors, Judgement, Metric, Scorer
from shoal.metrics.catalogue import Entry, catalogue, measured
from shoal.metrics.registry import METRICS, lost_in_cells, scorers
from shoal.metrics.seen import Facet, Seen, see
from shoal.metrics.told import Told

__all__ = [
    "METRICS",
    "Entry",
    "Facet",
    "Floats",
    "Floors",
    "Judgement",
    "Metric",
    "Scorer",
    "Seen",
    "Told",
    "catalogue",
    "lost_in_cells",
    "measured",
    "scorers",
    "see",
]
