"""The metrics there are: adding one is a file beside this one and a line here, or an entry point `shoal.metrics`."""

from shoal.metrics.additive import GeometricLoss, Height, Loss, PrecisionLoss
from shoal.metrics.alpha import AlphaMax, AlphaSpread
from shoal.metrics.base import Metric, Scorer
from shoal.metrics.classwise import AverageClass, Discernibility
from shoal.registry import Registry
from shoal.release import Before, Recoded

METRICS: Registry[Metric] = Registry(
    "shoal.metrics",
    [
        Loss(),
        GeometricLoss(),
        PrecisionLoss(),
        Discernibility(),
        AverageClass(),
        Height(),
        AlphaMax(),
        AlphaSpread(),
    ],
)


def scorers(before: Before) -> dict[str, Scorer]:
    """Every metric that this table can tell: without counts of the sensitive attributes, not those about them."""
    return {metric.name: metric.on(before) for metric in _fitting(before)}


def lost_in_cells(before: Before, after: Recoded) -> dict[str, float]:
    """Every metric of a recoding of cells; height and precision, which count levels, are none of them."""
    values = {metric.name: metric.of_cells(before, after) for metric in _fitting(before)}
    return {name: value for name, value in values.items() if value is not None}


def _fitting(before: Before) -> list[Metric]:
    return [metric for metric in METRICS.values() if before.sensitive is not None or not metric.of_sensitive]
