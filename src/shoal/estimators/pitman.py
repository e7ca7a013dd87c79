"""Pitman's sampling formula as an estimator of population uniques."""

from collections.abc import Callable
from math import exp, lgamma, log, sqrt
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.estimators.sample import Sample

Floats = NDArray[np.float64]


class Pitman(NamedTuple):
    """Parameters of Pitman's sampling formula: 0 < alpha < 1, theta > −alpha."""

    theta: float
    alpha: float


def pitman(sample: Sample) -> float | None:
    """Hoshino 2001: Pitman's sampling formula of greatest likelihood; uniques ~ Γ(θ+1)/Γ(θ+α) N^α.

    >>> histogram = {1: 60, 2: 15, 3: 6, 4: 3, 6: 2, 10: 1, 20: 1}
    >>> round(pitman(Sample.counted(histogram, 1620)), 1)
    215.7
    """
    found = pitman_parameters(sample)
    if found is None:
        return None
    theta, alpha = found
    return exp(lgamma(theta + 1) - lgamma(theta + alpha) + alpha * log(sample.population))


_EDGE: Final = 1e-7
"""How near α may come to 0 and 1."""


def pitman_parameters(sample: Sample) -> Pitman | None:
    """Where both derivatives of the likelihood are 0: θ for each α, then α; None where there is no such place."""
    if not 1 < sample.count < sample.rows:
        return None  # one class, or uniques only: the likelihood has no greatest value inside

    def slope(alpha: float) -> float:
        return _slope(_theta(alpha, sample), alpha, sample) * (1 - alpha)  # without its pole

    if slope(_EDGE) <= 0 or slope(1 - _EDGE) >= 0:
        return None
    alpha = _root(slope, _EDGE, 1 - _EDGE)
    return Pitman(_theta(alpha, sample), alpha)


def _slope(theta: float, alpha: float, sample: Sample) -> float:
    """The logarithm of the likelihood derived by α: Σ i/(θ+iα), i < u, less Σ c_j Σ 1/(i−α), i < j."""
    i = np.arange(1, sample.count, dtype=np.float64)
    several = sample.sizes > 1
    inside = _digamma(sample.sizes[several] - alpha) - _digamma(np.array([1 - alpha]))
    return float((i / (theta + i * alpha)).sum()) - float(sample.classes[several] @ inside)


def _theta(alpha: float, sample: Sample) -> float:
    """The θ > −α at which Σ 1/(θ+iα), i < u, is Σ 1/(θ+i), i < n; there is one because 1 < u < n."""
    steps = np.arange(1, sample.count, dtype=np.float64) * alpha

    def slope(theta: float) -> float:
        rows = _digamma(np.array([theta + sample.rows, theta + 1]))
        return (float((1 / (theta + steps)).sum()) - float(rows[0] - rows[1])) * (theta + alpha)  # without its pole

    high = 1.0
    while slope(high) >= 0:
        high *= 4
    return _root(slope, -alpha * (1 - 1e-9), high)


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that falls from above 0 to below it is 0: Ridders 1979, which halves the bracket at least."""
    at_low, at_high, last = falling(low), falling(high), low
    while True:
        middle = (low + high) / 2
        at = falling(middle)
        guess = middle + (middle - low) * at / sqrt(at**2 - at_low * at_high)
        if abs(guess - last) <= 1e-14 * abs(guess) or not low < middle < high:
            return guess
        last, at_guess = guess, falling(guess)
        if at_guess == 0:
            return guess
        for x, y in sorted([(middle, at), (guess, at_guess)]):  # the tightest bracket
            if y > 0:
                low, at_low = x, y
            elif x < high:
                high, at_high = x, y


def _digamma(x: NDArray[np.floating]) -> Floats:
    """ψ(x) for x > 0: lifted to at least 12 by ψ(x) = ψ(x+1) − 1/x, then its asymptotic series."""
    x = np.asarray(x, dtype=np.float64).copy()
    lift = np.zeros_like(x)
    for _ in range(12):
        small = x < 12
        if not small.any():
            break
        lift[small] -= 1 / x[small]
        x[small] += 1
    y = 1 / x**2
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))
    return np.asarray(np.log(x) - 0.5 / x - series + lift)
