"""Estimators of population uniques: slide negative binomial, Pitman, Zayatz, and the rule that chooses one."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import exp, isfinite, lgamma, log, sqrt
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["ESTIMATORS", "Estimate", "Sample", "population_uniques"]
Longs = NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """The histogram of a sample: `classes[i]` classes have `sizes[i]` rows each; `population` people in all.

    >>> Sample.of(np.array([3, 1, 1]), 50).classes.tolist()
    [2, 1]
    """

    sizes: Longs
    classes: Longs
    population: int

    @classmethod
    def of(cls, sizes: Longs, population: int) -> "Sample":
        """Build the histogram from the sizes of all classes."""
        distinct, classes = np.unique(sizes, return_counts=True)
        return cls(distinct.astype(np.int64), classes.astype(np.int64), population)

    @classmethod
    def from_histogram(cls, histogram: Mapping[int, int], population: int) -> "Sample":
        """Build the histogram from a mapping of sizes to numbers of classes."""
        sizes, classes = zip(*sorted(histogram.items()), strict=True)
        return cls(np.array(sizes, dtype=np.int64), np.array(classes, dtype=np.int64), population)

    @property
    def rows(self) -> int:
        return int(self.sizes @ self.classes)

    @property
    def count(self) -> int:
        """Number of classes."""
        return int(self.classes.sum())

    @property
    def fraction(self) -> float:
        """Share of the population that was sampled."""
        return self.rows / self.population

    def of_size(self, size: int) -> int:
        """Return the number of classes of this size."""
        return int(self.classes[self.sizes == size].sum())


Floats = NDArray[np.float64]


def snb(sample: Sample) -> float | None:
    """Estimate by Chen and Keller-McNulty 1998: class sizes minus 1 are negative binomial; uniques = K b^a.

    The expected numbers of classes of one row and of two rows are set equal to the observed ones:
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
    """Estimate the number of classes of the population: Haas and Stokes 1998, third form of Shlosser's estimator.

    >>> round(shlosser(Sample.from_histogram({1: 20, 2: 10, 3: 5, 5: 3}, 1000)), 1)
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
    """Return the logarithms of the expected numbers of classes of one row and of two, per class of the population."""
    d = (1 - fraction) * (1 - b)
    one = log(fraction) + a * np.log(b / (1 - d)) + np.log1p(a * d / (1 - d))
    two = np.log(a) + a * np.log(b) + np.log1p(-b) - (a + 2) * np.log1p(-d) + np.log(2 - (1 - a) * d)
    return one, two + 2 * log(fraction) - log(2)


def _solve_snb(fraction: float, one: float, two: float) -> tuple[float, float] | None:
    """Solve for a > 0 and 0 < b < 1 by Newton's method on ln a and logit b, starting from a coarse grid search.

    Without good starts it gets lost in the valley a → ∞, b → 1, where class sizes are nearly Poisson.
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
    """Yield starting points (ln a, logit b): on the curve that gives `one`, where it crosses `two`."""
    # a grid of b; for each, the up to two values of a that give `one`, and how far they miss `two`
    logits = np.linspace(-14, 14, 449)
    b = 1 / (1 + np.exp(-logits))
    branches = []
    for rising in (False, True):
        a = _solve_for_a(b, one - log(fraction), fraction, rising=rising)
        branches.append((np.stack([np.log(a), logits]), snb_expected(a, b, fraction)[1] - two))
    for points, missed in branches:
        for i in np.flatnonzero(missed[:-1] * missed[1:] <= 0).tolist():
            yield (points[:, i] + points[:, i + 1]) / 2
    (falling, below), (rising_, above) = branches
    # both branches meet at the peak, beyond the last point of b at which there are two: only there they cross `two`
    both = np.isfinite(below * above)
    last = both & ~(np.append(both[1:], False) & np.append(False, both[:-1]))
    for i in np.flatnonzero(last & (below * above <= 0)).tolist():
        yield (falling[:, i] + rising_[:, i]) / 2


def _solve_for_a(b: Floats, share: float, fraction: float, *, rising: bool) -> Floats:
    """Solve ln(1 + a d/(1−d)) + a ln(b/(1−d)) = share for a, by bisection on one side of the peak; else nan."""
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
    """Return a point where both components are 0; None where the steps do not converge."""
    near, h = miss(x), 1e-6
    for _ in range(60):
        if np.abs(near).max() < 1e-11:
            return x
        slopes = np.stack([(miss(x + step) - miss(x - step)) / (2 * h) for step in np.eye(2) * h], axis=1)
        if not np.isfinite(slopes).all() or not np.linalg.det(slopes):
            return None
        step = np.linalg.solve(slopes, -near)
        step = step / max(float(np.abs(step).max()), 1.0)
        while not np.linalg.norm(miss(x + step)) < np.linalg.norm(near):  # halve the step until it leads nearer
            step = step / 2
            if np.abs(step).max() < 1e-15:
                return x if np.abs(near).max() < 1e-9 else None
        x = x + step
        near = miss(x)
    return None


class Pitman(NamedTuple):
    """Parameters of Pitman's sampling formula: 0 < alpha < 1, theta > −alpha."""

    theta: float
    alpha: float


def pitman(sample: Sample) -> float | None:
    """Estimate by Hoshino 2001: Pitman's sampling formula by maximum likelihood; uniques ~ Γ(θ+1)/Γ(θ+α) N^α.

    >>> histogram = {1: 60, 2: 15, 3: 6, 4: 3, 6: 2, 10: 1, 20: 1}
    >>> round(pitman(Sample.from_histogram(histogram, 1620)), 1)
    215.7
    """
    found = pitman_parameters(sample)
    if found is None:
        return None
    theta, alpha = found
    return exp(lgamma(theta + 1) - lgamma(theta + alpha) + alpha * log(sample.population))


_EDGE: Final = 1e-7
"""Least distance of α from 0 and 1."""


def pitman_parameters(sample: Sample) -> Pitman | None:
    """Find where both derivatives of the likelihood are 0: θ for each α, then α; None if there is no such point."""
    if not 1 < sample.count < sample.rows:
        return None  # one class, or uniques only: the likelihood has no maximum inside

    def slope(alpha: float) -> float:
        return _slope(_theta(alpha, sample), alpha, sample) * (1 - alpha)  # without its pole

    if slope(_EDGE) <= 0 or slope(1 - _EDGE) >= 0:
        return None
    alpha = _root(slope, _EDGE, 1 - _EDGE)
    return Pitman(_theta(alpha, sample), alpha)


def _slope(theta: float, alpha: float, sample: Sample) -> float:
    """Return the derivative of the log-likelihood by α: Σ i/(θ+iα), i < u, minus Σ c_j Σ 1/(i−α), i < j."""
    i = np.arange(1, sample.count, dtype=np.float64)
    several = sample.sizes > 1
    inside = _digamma(sample.sizes[several] - alpha) - _digamma(np.array([1 - alpha]))
    return float((i / (theta + i * alpha)).sum()) - float(sample.classes[several] @ inside)


def _theta(alpha: float, sample: Sample) -> float:
    """Solve Σ 1/(θ+iα), i < u, = Σ 1/(θ+i), i < n, for θ > −α; there is a solution because 1 < u < n."""
    steps = np.arange(1, sample.count, dtype=np.float64) * alpha

    def slope(theta: float) -> float:
        rows = _digamma(np.array([theta + sample.rows, theta + 1]))
        return (float((1 / (theta + steps)).sum()) - float(rows[0] - rows[1])) * (theta + alpha)  # without its pole

    high = 1.0
    while slope(high) >= 0:
        high *= 4
    return _root(slope, -alpha * (1 - 1e-9), high)


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a falling function: Ridders 1979, which at least halves the bracket in each step."""
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
    """Return ψ(x) for x > 0: raise x to at least 12 by ψ(x) = ψ(x+1) − 1/x, then use the asymptotic series."""
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


def zayatz(sample: Sample) -> float | None:
    """Estimate by Zayatz 1991: class sizes of the population are distributed like those of the sample.

    >>> histogram = {1: 60, 2: 15, 3: 6, 4: 3, 6: 2, 10: 1, 20: 1}
    >>> round(zayatz(Sample.from_histogram(histogram, 1620)), 1)
    290.2
    """
    return sample.of_size(1) * zayatz_conditional(sample) / sample.fraction


def zayatz_conditional(sample: Sample) -> float:
    """Return the probability that a sample unique is a population unique; 0 without sample uniques."""
    once = np.array([_drawn_once(size, sample) for size in sample.sizes.tolist()]) * sample.classes
    total = float(once.sum())
    return float(once[sample.sizes == 1].sum()) / total if total else 0.0


def _drawn_once(size: int, sample: Sample) -> float:
    """Return the hypergeometric probability that exactly one of `size` people of the population was sampled."""
    people, rows = sample.population, sample.rows
    if people - size < rows - 1:
        return 0.0
    return size * exp(
        lgamma(people - size + 1)
        - lgamma(people - size - rows + 2)
        - lgamma(people + 1)
        + lgamma(people - rows + 1)
        + log(rows)
    )


class Estimate(NamedTuple):
    """Estimated number of population uniques, and the estimator."""

    uniques: float
    estimator: str


ESTIMATORS: dict[str, Callable[[Sample], float | None]] = {"zayatz": zayatz, "pitman": pitman, "snb": snb}


def population_uniques(sample: Sample, estimator: str = "dankar") -> Estimate | None:
    """Estimate how many people are unique in the population; None if the estimator has no valid solution.

    `dankar` is the rule of Dankar, El Emam, Neisa and Roffey 2012: 0 without sample uniques; Pitman if at most a tenth
    of the population was sampled; else the smaller of Zayatz and SNB; Zayatz where these have no solution.

    >>> population_uniques(Sample.from_histogram({1: 20, 2: 10, 3: 5, 5: 3}, 1000)).estimator
    'zayatz'
    """
    if sample.rows > sample.population:
        return None
    if not sample.of_size(1):
        return Estimate(0.0, estimator)
    if estimator != "dankar":
        return _estimate(sample, estimator)
    first = _estimate(sample, "zayatz")
    if 10 * sample.rows <= sample.population:
        return _estimate(sample, "pitman") or first
    return min((found for found in (first, _estimate(sample, "snb")) if found is not None), default=None)


def _estimate(sample: Sample, estimator: str) -> Estimate | None:
    """Return one estimator's answer, unless it is invalid: not finite, or more people than the population has."""
    uniques = ESTIMATORS[estimator](sample)
    if uniques is None or not isfinite(uniques) or uniques > sample.population * (1 + 1e-9):
        return None
    return Estimate(min(uniques, float(sample.population)), estimator)
