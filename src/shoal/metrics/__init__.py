"""What the data lost: metrics that searches minimise and reports state."""

from shoal.metrics.additive import GeometricLoss, Height, Loss, PrecisionLoss
from shoal.metrics.base import Floats, Floors, Judgement, Metric, Scorer
from shoal.metrics.classwise import AverageClass, Discernibility

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (Loss(), GeometricLoss(), PrecisionLoss(), Discernibility(), AverageClass(), Height())
}

__all__ = ["METRICS", "Floats", "Floors", "Judgement", "Metric", "Scorer"]
