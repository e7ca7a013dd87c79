"""What the data lost: metrics that searches minimise, and measures of what they found."""

from shoal.metrics.base import Floats, Floors, Judgement, Metric, Scorer
from shoal.metrics.catalogue import CATALOGUE, Entry, measured
from shoal.metrics.cells import lost_in_cells
from shoal.metrics.registry import METRICS, scorers
from shoal.metrics.seen import Facet, Seen, see
from shoal.metrics.told import Told

__all__ = [
    "CATALOGUE",
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
    "lost_in_cells",
    "measured",
    "scorers",
    "see",
]
