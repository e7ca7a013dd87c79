"""The risk of each row of a sample with weights: Franconi and Polettini 2004 (models 1.21)."""

import re
from dataclasses import dataclass
from math import fsum, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import Longs
from shoal.data.codes import Codes, Column
from shoal.errors import BadInput

Floats = NDArray[np.float64]

_NUMBER = re.compile(r"[+-]?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?")
_FEW = 30
_TERMS = 64


@dataclass(frozen=True)
class Individual:
    """Expected 1/F of each row, where F people of the population are like it: by the series, and approximately."""

    weight: str
    exact: Floats
    approximate: Floats
    light: int = 0
    """Rows in classes whose weights add up to less than their number of rows; F is then taken to be f."""

    @property
    def expected(self) -> float:
        """Σ r: how many people are expected to be found."""
        return fsum(self.exact.tolist())

    def document(self) -> dict[str, Any]:
        told = {"exact": self.exact, "approximate": self.approximate}
        return {
            "weight": self.weight,
            **{
                name: {"max": float(r.max()), "average": fsum(r.tolist()) / len(r), "expected": fsum(r.tolist())}
                for name, r in told.items()
            },
            **({"light": self.light} if self.light else {}),
        }


def individual_risks(weight: str, ids: Codes, weights: Floats) -> Individual:
    """Return the risk of every row, given its class and its weight.

    >>> found = individual_risks("w", np.array([0, 1, 1], np.int32), np.array([10.0, 4.0, 16.0]))
    >>> found.exact.round(6).tolist()
    [0.255843, 0.082684, 0.082684]
    """
    f = np.bincount(ids).astype(np.int64)
    # estimated people of the population in each class
    people = np.bincount(ids, weights=weights)
    light = people < f
    p = np.where(light, 1.0, f / people)
    return Individual(weight, expected_inverse(f, p)[ids], approximate_inverse(f, p)[ids], int(f[light].sum()))


def expected_inverse(f: Longs, p: Floats) -> Floats:
    """Return E[1/F] where F−f is negative binomial: Σ_j≥f (1/j) C(j−1, f−1) p^f (1−p)^(j−f).

    With 1/j = ∫ t^(j−1) dt that is p I_f, I_f = ∫ u^(f−1)/(p + (1−p)u) du over [0, 1]. From I_1 = ln(1/p)/(1−p) follows
    I_(f+1) = (1/f − p I_f)/(1−p), which is stable for p < 1/2; elsewhere Σ_k (1−p)^k B(f, k+1) converges fast.

    >>> expected_inverse(np.array([1, 3, 5, 4]), np.array([0.1, 0.1, 0.1, 1.0])).round(6).tolist()
    [0.255843, 0.046368, 0.024235, 0.25]
    """
    q = 1 - p
    short = (q > 0.5) & (f < _FEW)
    found = np.empty(len(f))
    found[short] = _integrate_by_recurrence(f[short], p[short], q[short])
    found[~short] = _integrate_by_series(f[~short], q[~short])
    return found * p


def _integrate_by_recurrence(f: Longs, p: Floats, q: Floats) -> Floats:
    """Return I_f by the recurrence from I_1."""
    last = -np.log(p) / q
    for i in range(1, int(f.max(initial=1))):
        last = np.where(f > i, (1 / i - p * last) / q, last)
    return last


def _integrate_by_series(f: Longs, q: Floats) -> Floats:
    """Return I_f by the series, whose terms are (1−p)^k B(f, k+1)."""
    term = 1 / f.astype(np.float64)
    total = term.copy()
    for k in range(1, _TERMS):
        term = term * q * k / (f + k)
        total += term
    return total


def approximate_inverse(f: Longs, p: Floats) -> Floats:
    """Return E[1/F] approximately: exact for f = 1 and 2, p/(f − (1−p)) beyond.

    >>> approximate_inverse(np.array([3, 5]), np.array([0.1, 0.1])).round(6).tolist()
    [0.047619, 0.02439]
    """
    many = f > 2
    return np.where(many, p / np.maximum(f - (1 - p), p), expected_inverse(np.minimum(f, 2), p))


def read_weights(column: Column) -> Floats:
    """Return the weight of every row; refuse a weight that is missing or not above 0, naming its row."""
    numbers = [_number(text, column.decimal) for text in column.texts.to_pylist()]
    values = np.array([*numbers, np.nan][: column.size], dtype=np.float64)
    wrong = np.flatnonzero(~(values > 0))
    if len(wrong):
        code = int(wrong[column.first_rows[wrong].argmin()])
        what = _describe_bad_weight(values[code], missing=code == column.null_code)
        raise BadInput(
            f"column {column.name!r}: the weight of row {column.first_row(code)} is {what}; a weight is how many "
            "people a row stands for"
        )
    weights: Floats = values[column.codes]
    return weights


def _number(text: str, decimal: str) -> float:
    """Read a weight; NaN for what is no finite number."""
    plain = text.strip().replace(decimal, ".")
    value = float(plain) if _NUMBER.fullmatch(plain) else np.nan
    return value if isfinite(value) else np.nan


def _describe_bad_weight(value: float, *, missing: bool) -> str:
    """Say what is wrong with a weight."""
    if missing:
        return "missing"
    if np.isnan(value):
        return "not a number"
    return "zero" if value == 0 else "negative"
