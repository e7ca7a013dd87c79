"""Zayatz's estimator of population uniques."""

from math import exp, lgamma, log

import numpy as np

from shoal.estimators.sample import Sample


def zayatz(sample: Sample) -> float | None:
    """Zayatz 1991: the classes of the population are as large as those of the sample, and one of them was drawn once.

    >>> histogram = {1: 60, 2: 15, 3: 6, 4: 3, 6: 2, 10: 1, 20: 1}
    >>> round(zayatz(Sample.counted(histogram, 1620)), 1)
    290.2
    """
    return sample.of_size(1) * zayatz_conditional(sample) / sample.fraction


def zayatz_conditional(sample: Sample) -> float:
    """The probability that a unique row of the sample is unique in the population; 0 where there is none."""
    once = np.array([_drawn_once(size, sample) for size in sample.sizes.tolist()]) * sample.classes
    total = float(once.sum())
    return float(once[sample.sizes == 1].sum()) / total if total else 0.0


def _drawn_once(size: int, sample: Sample) -> float:
    """The hypergeometric probability that exactly one of `size` people of the population is among the sampled rows."""
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
