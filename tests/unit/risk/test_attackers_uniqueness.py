"""Uniques of the table and of the population: the worked numbers, and no estimate where there is none."""

import numpy as np
import pytest

from shoal.errors import BadInput
from shoal.estimators import Sample, snb, snb_expected
from shoal.risk.attackers import counted_uniqueness, uniqueness

GOOD = {1: 60, 2: 15, 3: 6, 4: 3, 6: 2, 10: 1, 20: 1}
BAD = {1: 20, 2: 10, 3: 5, 5: 3}


def sizes(histogram):
    return np.repeat(list(histogram), list(histogram.values()))


def test_the_worked_example():
    """models.md 1.20: Pitman 215.7, Zayatz 290.2; a tenth is sampled, so the rule takes Pitman."""
    found = uniqueness(sizes(GOOD), 1620)
    assert (found.sample, found.estimate.estimator) == (60, "pitman")
    assert found.estimate.uniques == pytest.approx(215.7, abs=0.05)
    assert found.estimates["pitman"] == pytest.approx(215.7, abs=0.05)
    assert found.estimates["zayatz"] == pytest.approx(290.2, abs=0.05)


def test_without_a_pitman_solution_the_rule_falls_back_to_zayatz():
    """models.md 1.20: Pitman has no valid solution, which is no estimate and not 0; the rule falls back: 90.9."""
    found = uniqueness(sizes(BAD), 1000)
    assert found.estimates["pitman"] is None
    assert found.document()["estimates"]["pitman"] is None
    assert found.estimate.uniques == pytest.approx(90.9, abs=0.05)
    assert found.estimate.estimator == "zayatz"


def test_snb():
    """models.md 1.20: K=500, a=1.7, b=.3, f=.2 expect 76.672 classes of two; above a tenth the rule takes the least."""
    two = snb_expected(np.array(1.7), np.array(0.3), 0.2)[1]
    assert 500 * np.exp(two) == pytest.approx(76.672, abs=5e-4)
    random = np.random.default_rng(1)
    population = random.negative_binomial(1.7, 0.3, 5_000) + 1
    sample = random.binomial(population, 0.2)
    found = uniqueness(sample[sample > 0], int(population.sum()))
    assert found.estimates["snb"] == snb(Sample.of(sample[sample > 0], int(population.sum())))
    assert found.estimate.uniques == min(found.estimates["snb"], found.estimates["zayatz"])


def test_nobody_is_unique():
    found = uniqueness(np.array([2, 3]), 100)
    assert (found.sample, found.estimate.uniques) == (0, 0.0)


def test_uniqueness_of_a_table_of_the_whole_population_is_counted():
    found = uniqueness(np.array([1, 1, 3]), 5)
    assert (found.estimate.uniques, found.estimates) == (2.0, {})


def test_a_table_larger_than_the_population_is_refused():
    with pytest.raises(BadInput, match="the table has 5 people, more than the population size of 4"):
        uniqueness(np.array([1, 1, 3]), 4)


def test_without_a_population():
    assert uniqueness(np.array([1, 2])).document() == {"sample": 1}


def test_counted_uniqueness_in_a_population_table():
    found = counted_uniqueness(np.array([1, 1, 2]), np.array([1, 4, 3]), np.array([1, 4, 3, 1]))
    assert found.document() == {"sample": 2, "population": 2, "both": 1}
