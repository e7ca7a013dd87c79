"""Homogeneity: classes that show one sensitive value only, how many there are and how many chance would make."""

from collections.abc import Collection, Sequence
from math import prod
from typing import Any

import numpy as np

from shoal.counts import ClassCounts, ValueCounts
from shoal.metrics.alpha import alphas, largest, spread
from shoal.models import Flags


def measured_homogeneity(counts: ClassCounts, sensitive: Sequence[str]) -> dict[str, Any]:
    """Per sensitive attribute: homogeneous classes as expected (S0.3, S0.4) and as they are, and the rows in them."""
    return {name: _document(counts, name) for name in sensitive}


def _document(counts: ClassCounts, name: str) -> dict[str, Any]:
    found = homogeneous(counts, [name])
    values = counts.sensitive[name].non_null()
    smallest = int(counts.sizes.min(initial=counts.rows))
    return {
        "expected_uniform": expected_uniform(counts.rows, max(smallest, 1), [len(np.unique(values.values))]),
        "expected": expected(counts, [name]),
        "classes": int(found.sum()),
        "rows": int(counts.sizes[found].sum()),
    }


def measured_alphas(counts: ClassCounts, sensitive: Sequence[str]) -> dict[str, Any]:
    """Per sensitive attribute: the α of each value that occurs, the largest and their spread (S0.1, S0.6)."""
    out = {}
    for name in sensitive:
        alpha = alphas(counts.sensitive[name])
        labels = counts.sensitive[name].labels
        values = {label: float(a) for label, a in zip(labels, alpha, strict=True) if np.isfinite(a)}
        out[name] = {"max": largest(alpha), "spread": spread(alpha), "values": values}
    return out


def expected_uniform(rows: int, k: int, distinct: Sequence[int]) -> float:
    """SE: homogeneous classes among rows/k of k rows each if all of the distinct values were equally likely (S0.3).

    Mohapatra, Patra, equation (1): (ΠKᵢ / ΠKᵢᵏ) (n/k), for attributes of K₁, K₂ … values.

    >>> round(expected_uniform(12, 4, [3]), 6)
    0.111111
    """
    if not all(distinct):
        return 0.0  # no value is known of anybody
    return rows / k * float(prod(distinct)) ** (1 - k)


def expected(counts: ClassCounts, attributes: Sequence[str]) -> float:
    """The same with the table's own shares p of the values and sizes of the classes: Σ_E Π_attr Σ_v p_v^|E| (S0.4).

    Sizes are numbers of known values; a class of which nothing is known is not homogeneous.
    """
    chance = np.ones(len(counts.sizes))
    for name in attributes:
        values = counts.sensitive[name].non_null()
        totals, at = np.unique(values.totals, return_inverse=True)
        overall = np.bincount(values.values, weights=values.counts, minlength=len(values.labels))
        share = overall[overall > 0] / max(overall.sum(), 1)
        chance *= np.array([float((share**total).sum()) if total else 0.0 for total in totals.tolist()])[at]
    return float(chance.sum())


def homogeneous(counts: ClassCounts, attributes: Sequence[str], protected: Collection[str] | None = None) -> Flags:
    """Which classes show one known value of each attribute, and where values are protected, one of these (S3.7)."""
    found = np.ones(len(counts.sizes), dtype=bool)
    for name in attributes:
        values = counts.sensitive[name].non_null()
        found &= _one_value(values) & _holding(values, protected)
    return found


def attacked_rows(counts: ClassCounts, attribute: str, protected: Collection[str] | None = None) -> int:
    """Records under homogeneity attack: rows of classes with one value, all or only the protected ones (S3.7)."""
    return int(counts.sizes[homogeneous(counts, [attribute], protected)].sum())


def _one_value(values: ValueCounts) -> Flags:
    return np.asarray(np.bincount(values.classes, minlength=values.class_count) == 1)


def _holding(values: ValueCounts, protected: Collection[str] | None) -> Flags:
    """Which classes hold one of the protected values; all, where it does not matter."""
    if protected is None:
        return np.ones(values.class_count, dtype=bool)
    codes = [code for code, label in enumerate(values.labels) if label in protected]
    held = np.isin(values.values, codes)
    return np.asarray(np.bincount(values.classes[held], minlength=values.class_count) > 0)
