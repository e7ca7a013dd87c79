"""How many people are unique in a population of which the table is a sample, and who says so."""

from collections.abc import Callable
from math import isfinite
from typing import NamedTuple

from shoal.estimators.pitman import pitman
from shoal.estimators.sample import Sample
from shoal.estimators.snb import snb
from shoal.estimators.zayatz import zayatz


class Estimate(NamedTuple):
    """People who are unique in the population, and who says so."""

    uniques: float
    estimator: str


ESTIMATORS: dict[str, Callable[[Sample], float | None]] = {"zayatz": zayatz, "pitman": pitman, "snb": snb}


def population_uniques(sample: Sample, estimator: str = "dankar") -> Estimate | None:
    """People who are unique in the population; None where the estimator has no valid solution.

    `dankar` is the rule of Dankar, El Emam, Neisa and Roffey 2012: no unique row, none; up to a tenth of the population
    sampled, Pitman; beyond, the less of Zayatz and SNB; Zayatz where these have no solution.

    >>> population_uniques(Sample.counted({1: 20, 2: 10, 3: 5, 5: 3}, 1000)).estimator
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
    """One estimator's answer, where it is one: people, and not more of them than there are."""
    uniques = ESTIMATORS[estimator](sample)
    if uniques is None or not isfinite(uniques) or uniques > sample.population * (1 + 1e-9):
        return None
    return Estimate(min(uniques, float(sample.population)), estimator)
