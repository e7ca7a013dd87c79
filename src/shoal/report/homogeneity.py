"""Homogeneity: classes that show one sensitive value only, how many there are and how many chance would make."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.attacks.homogeneity import expectations, homogeneous
from shoal.counts import ClassCounts
from shoal.metrics.alpha import alphas, largest, spread


def measured_homogeneity(counts: ClassCounts, sensitive: Sequence[str]) -> dict[str, Any]:
    """Per sensitive attribute: homogeneous classes as expected (S0.3, S0.4) and as they are, and the rows in them."""
    return {name: _document(counts, name) for name in sensitive}


def _document(counts: ClassCounts, name: str) -> dict[str, Any]:
    found = homogeneous(counts, [name])
    return expectations(counts, [name]) | {"classes": int(found.sum()), "rows": int(counts.sizes[found].sum())}


def measured_alphas(counts: ClassCounts, sensitive: Sequence[str]) -> dict[str, Any]:
    """Per sensitive attribute: the α of each value that occurs, the largest and their spread (S0.1, S0.6)."""
    out = {}
    for name in sensitive:
        alpha = alphas(counts.sensitive[name])
        labels = counts.sensitive[name].labels
        values = {label: float(a) for label, a in zip(labels, alpha, strict=True) if np.isfinite(a)}
        out[name] = {"max": largest(alpha), "spread": spread(alpha), "values": values}
    return out
