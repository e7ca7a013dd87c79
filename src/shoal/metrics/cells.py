"""What a recoding of cells lost: the metrics that need no level per attribute."""

import numpy as np

from shoal.metrics.alpha import AlphaMax, AlphaSpread
from shoal.metrics.classwise import AverageClass, Discernibility
from shoal.release import Before, Recoded


def lost_in_cells(before: Before, after: Recoded) -> dict[str, float]:
    """Every metric of a recoding of cells; height and precision, which count levels, are none of them."""
    means = after.sizes @ after.losses / before.rows
    told = {
        "loss": float(before.weights @ means),
        "loss-geometric": float(np.expm1(before.weights @ np.log1p(means))),
    }
    told |= {metric.name: metric.on(before).score(after) for metric in (Discernibility(), AverageClass())}
    if before.sensitive is not None:
        told |= {metric.name: metric.on(before).score(after) for metric in (AlphaMax(), AlphaSpread())}
    return told
