"""The metrics there are: adding one is a file beside this one, a line here, and nothing else."""

from shoal.metrics.additive import GeometricLoss, Height, Loss, PrecisionLoss
from shoal.metrics.alpha import AlphaMax, AlphaSpread
from shoal.metrics.base import Metric, Scorer
from shoal.metrics.classwise import AverageClass, Discernibility
from shoal.policy.method import SENSITIVE_METRICS
from shoal.release import Before

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Loss(),
        GeometricLoss(),
        PrecisionLoss(),
        Discernibility(),
        AverageClass(),
        Height(),
        AlphaMax(),
        AlphaSpread(),
    )
}


def scorers(before: Before) -> dict[str, Scorer]:
    """Every metric that this table can tell: without counts of the sensitive attributes, not those about them."""
    told = (name for name in METRICS if before.sensitive is not None or name not in SENSITIVE_METRICS)
    return {name: METRICS[name].on(before) for name in told}
