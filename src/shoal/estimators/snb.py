"""The slide negative binomial estimator of population uniques."""

from collections.abc import Callable, Iterator
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from shoal.estimators.sample import Sample

Floats = NDArray[np.float64]


def snb(sample: Sample) -> float | None:
    """Chen and Keller-McNulty 1998: class sizes less 1 are negative binomial; uniques = K b^a.

    The expected classes of one row and of two in the sample are set to those that are there:
    c₁ = K f (b/(1−d))^a (a d/(1−d) + 1) and c₂ = K a b^a f² (1−b) (2 − (1−a) d) / (2 (1−d)^(a+2)), d = (1−f)(1−b).
    """
    classes, one, two = shlosser(sample), sample.of_size(1), sample.of_size(2)
    if classes is None or not one or not two:
        return None
    found = _solve_snb(sample.fraction, log(one / classes), log(two / classes))
    if found is None:
        return None
    a, b = found
    return classes * exp(a * log(b))


def shlosser(sample: Sample) -> float | None:
    """How many classes the population has: Haas and Stokes 1998, the third form of Shlosser's estimator.

    >>> round(shlosser(Sample.counted({1: 20, 2: 10, 3: 5, 5: 3}, 1000)), 1)
    129.2
    """
    q, i, c = sample.fraction, sample.sizes.astype(np.float64), sample.classes
    unseen = float(((1 - q) ** i) @ c)
    seen = float((i * q * (1 - q) ** (i - 1)) @ c)
    scale = float(((1 - q**2) ** i - (1 - q) ** i) @ c)  # (1−q)^i ((1+q)^i − 1), without its large factor
    if not seen or not scale:
        return None
    squared = float((i * q**2 * (1 - q**2) ** (i - 1)) @ c)
    return sample.count + sample.of_size(1) * squared / scale * (unseen / seen) ** 2


def snb_expected(a: Floats, b: Floats, fraction: float) -> tuple[Floats, Floats]:
    """Logarithms of the expected classes of one row and of two, for each class of the population."""
    d = (1 - fraction) * (1 - b)
    one = log(fraction) + a * np.log(b / (1 - d)) + np.log1p(a * d / (1 - d))
    two = np.log(a) + a * np.log(b) + np.log1p(-b) - (a + 2) * np.log1p(-d) + np.log(2 - (1 - a) * d)
    return one, two + 2 * log(fraction) - log(2)


def _solve_snb(fraction: float, one: float, two: float) -> tuple[float, float] | None:
    """Its a > 0 and 0 < b < 1, by Newton's method on ln a and logit b from where a coarse look finds them.

    Without that look it would be lost in the valley a → ∞, b → 1, where classes are all but Poisson.
    """

    def miss(x: Floats) -> Floats:
        expected = snb_expected(np.exp(x[0]), 1 / (1 + np.exp(-x[1])), fraction)
        return np.stack([expected[0] - one, expected[1] - two])

    for start in _starts(fraction, one, two):
        x = _newton(miss, start)
        if x is not None:
            return float(np.exp(x[0])), float(1 / (1 + np.exp(-x[1])))
    return None


def _starts(fraction: float, one: float, two: float) -> Iterator[Floats]:
    """Points ln a, logit b on the curve that gives `one`, near which it passes `two`."""
    logits = np.linspace(-14, 14, 449)
    b = 1 / (1 + np.exp(-logits))
    branches = []
    for rising in (False, True):
        a = _first(b, one - log(fraction), fraction, rising=rising)
        branches.append((np.stack([np.log(a), logits]), snb_expected(a, b, fraction)[1] - two))
    for points, missed in branches:
        for i in np.flatnonzero(missed[:-1] * missed[1:] <= 0).tolist():
            yield (points[:, i] + points[:, i + 1]) / 2
    (falling, below), (rising_, above) = branches
    for i in np.flatnonzero(below * above <= 0).tolist():  # both branches meet at the peak, between two points of b
        yield (falling[:, i] + rising_[:, i]) / 2


def _first(b: Floats, share: float, fraction: float, *, rising: bool) -> Floats:
    """The a with ln(1 + a d/(1−d)) + a ln(b/(1−d)) = share: it rises to a peak, then falls; nan where there is none."""
    d = (1 - fraction) * (1 - b)
    slope, factor = np.log1p(fraction * (1 - b) / b), d / (1 - d)

    def value(a: Floats) -> Floats:
        return np.asarray(np.log1p(a * factor) - a * slope)

    with np.errstate(divide="ignore"):
        peak = np.maximum(1 / slope - 1 / factor, 0.0)
    low, high = (np.zeros_like(b), peak) if rising else (peak, peak + 1.0)
    while not rising and (value(high) > share).any():
        high = np.where(value(high) > share, 2 * high, high)
    for _ in range(50):
        middle = (low + high) / 2
        below = (value(middle) < share) == rising
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    missing = (value(peak) < share) | (rising & (share <= 0)) | (low <= 0)
    return np.where(missing, np.nan, low)


def _newton(miss: Callable[[Floats], Floats], x: Floats) -> Floats | None:
    """Where both are 0; None where the steps lead nowhere."""
    near, h = miss(x), 1e-6
    for _ in range(60):
        if np.abs(near).max() < 1e-11:
            return x
        slopes = np.stack([(miss(x + step) - miss(x - step)) / (2 * h) for step in np.eye(2) * h], axis=1)
        if not np.isfinite(slopes).all() or not np.linalg.det(slopes):
            return None
        step = np.linalg.solve(slopes, -near)
        step = step / max(float(np.abs(step).max()), 1.0)
        while not np.linalg.norm(miss(x + step)) < np.linalg.norm(near):  # half the step until it leads nearer
            step = step / 2
            if np.abs(step).max() < 1e-15:
                return x if np.abs(near).max() < 1e-9 else None
        x = x + step
        near = miss(x)
    return None
