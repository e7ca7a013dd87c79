"""Every model's attained value for a table as it is."""

from collections.abc import Sequence
from typing import Any

from shoal.counts import ClassCounts
from shoal.models.registry import MODELS


def measured(counts: ClassCounts, sensitive: Sequence[str]) -> list[dict[str, Any]]:
    """What each registered model finds, the ones about a sensitive attribute once for each, and in which class.

    >>> import numpy as np
    >>> measured(ClassCounts(np.array([3, 2])), [])[0]
    {'model': 'k-anonymity', 'attained': {'k': 2}, 'worst': 1}
    """
    return [
        {
            "model": model.name,
            **({"attribute": name} if name is not None else {}),
            "attained": probe.attained(counts),
            "worst": probe.worst(counts),
        }
        for name in (None, *sensitive)
        for model in MODELS.values()
        for probe in model.probes(name)
    ]
