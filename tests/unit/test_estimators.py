"""Population uniques: the worked numbers of models.md 1.20, and what has no estimate."""

from math import comb, exp, lgamma, log

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.estimators import (
    ESTIMATORS,
    Sample,
    _digamma,
    _solve_snb,
    _starts,
    pitman,
    pitman_parameters,
    population_uniques,
    shlosser,
    snb,
    snb_expected,
    zayatz,
    zayatz_conditional,
)

EXAMPLE = {1: 60, 2: 15, 3: 6, 4: 3, 6: 2, 10: 1, 20: 1}
BAD = {1: 20, 2: 10, 3: 5, 5: 3}


def test_the_histogram():
    sample = Sample.from_histogram(EXAMPLE, 1620)
    assert (sample.rows, sample.count, sample.fraction, sample.of_size(7)) == (162, 88, 0.1, 0)
    again = Sample.of(np.repeat(list(EXAMPLE), list(EXAMPLE.values())), 1620)
    assert dict(zip(again.sizes.tolist(), again.classes.tolist(), strict=True)) == EXAMPLE


def test_pitman_of_the_example():
    """models.md 1.20: θ = 23.958, α = 0.52024, uniques 215.7, exactly summed 214.2."""
    sample = Sample.from_histogram(EXAMPLE, 1620)
    theta, alpha = pitman_parameters(sample)
    assert (theta, alpha) == (pytest.approx(23.958, abs=5e-4), pytest.approx(0.52024, abs=5e-6))
    assert pitman(sample) == pytest.approx(215.7, abs=0.05)
    people = 1620
    rising = lgamma(theta + alpha + people - 1) - lgamma(theta + alpha) - lgamma(theta + people) + lgamma(theta + 1)
    assert people * exp(rising) == pytest.approx(214.2, abs=0.05)


def test_pitman_solves_its_equations():
    """Both likelihood equations of models.md 1.20, summed term by term."""
    theta, alpha = pitman_parameters(Sample.from_histogram(EXAMPLE, 1620))
    left = sum(1 / (theta + i * alpha) for i in range(1, 88))
    assert left == pytest.approx(sum(1 / (theta + i) for i in range(1, 162)), rel=1e-10)
    left = sum(i / (theta + i * alpha) for i in range(1, 88))
    inside = sum(c * sum(1 / (i - alpha) for i in range(1, j)) for j, c in EXAMPLE.items())
    assert left == pytest.approx(inside, rel=1e-10)


def test_zayatz_of_the_example():
    """models.md 1.20: 0.48361 of the unique rows are unique in the population: 290.2 people."""
    sample = Sample.from_histogram(EXAMPLE, 1620)
    assert zayatz_conditional(sample) == pytest.approx(0.48361, abs=5e-6)
    assert zayatz(sample) == pytest.approx(290.2, abs=0.05)


def test_zayatz_by_exact_binomials():
    once = {i: i * comb(1000 - i, 69) / comb(1000, 70) for i in BAD}
    expected = 20 * once[1] / sum(c * once[i] for i, c in BAD.items())
    assert zayatz_conditional(Sample.from_histogram(BAD, 1000)) == pytest.approx(expected, rel=1e-9)


def test_where_pitman_has_no_solution():
    """models.md 1.20: the bad case has no 0 <= α < 1, so the rule falls back to Zayatz: 0.318, 90.9 people."""
    sample = Sample.from_histogram(BAD, 1000)
    assert pitman_parameters(sample) is None
    assert population_uniques(sample, "pitman") is None
    assert zayatz_conditional(sample) == pytest.approx(0.318, abs=5e-4)
    estimate = population_uniques(sample)
    assert estimate.estimator == "zayatz"
    assert estimate.uniques == pytest.approx(90.9, abs=0.05)


def test_expected_classes_of_the_negative_binomial():
    """models.md 1.20: K=500, a=1.7, b=0.3, f=0.2: classes of two in the sample, by summation 76.672."""
    people, a, b, f = 500, 1.7, 0.3, 0.2
    size = {s: exp(lgamma(a + s - 1) - lgamma(a) - lgamma(s)) * b**a * (1 - b) ** (s - 1) for s in range(1, 200)}
    summed = [people * sum(p * comb(s, j) * f**j * (1 - f) ** (s - j) for s, p in size.items()) for j in (1, 2)]
    said = [people * exp(x) for x in snb_expected(np.array(a), np.array(b), f)]
    assert said == pytest.approx(summed, rel=1e-10)
    assert said[1] == pytest.approx(76.672, abs=5e-4)


def test_shlosser_is_haas_and_stokes():
    """models.md 1.20: 129.2 classes, not the 49.6 of a slipped bracket."""
    assert shlosser(Sample.from_histogram(BAD, 1000)) == pytest.approx(129.2, abs=0.05)


@naive.examples(300)
@given(a=st.floats(0.05, 20), b=st.floats(0.01, 0.97), f=st.floats(0.01, 0.95))
def test_snb_finds_its_parameters_again(a, b, f):
    one, two = snb_expected(np.array(a), np.array(b), f)
    found = _solve_snb(f, float(one), float(two))
    assert found is not None
    again = snb_expected(np.array(found[0]), np.array(found[1]), f)
    assert (float(again[0]), float(again[1])) == pytest.approx((float(one), float(two)), abs=1e-9)


def test_the_rule_that_chooses_the_estimator():
    """Dankar: up to a tenth sampled, Pitman; beyond, the less of Zayatz and SNB."""
    assert population_uniques(Sample.from_histogram(EXAMPLE, 1620)).estimator == "pitman"
    more = Sample.from_histogram(EXAMPLE, 1619)
    assert population_uniques(more) == (min(zayatz(more), snb(more)), "snb")
    nobody = population_uniques(Sample.from_histogram({2: 3, 5: 1}, 100))
    assert nobody.uniques == 0


@pytest.mark.parametrize("estimator", ["dankar", *ESTIMATORS])
def test_a_sample_that_cannot_come_from_the_population_has_no_estimate(estimator):
    assert population_uniques(Sample.from_histogram({1: 5, 2: 3}, 10), estimator) is None


@pytest.mark.parametrize("histogram", [{1: 5}, {1: 1}, {1: 1, 5: 1}, {1: 3, 3: 1}])
def test_a_missing_solution_is_none_and_not_zero(histogram):
    """Without classes of two rows SNB cannot tell, and uniques alone say nothing to Pitman."""
    sample = Sample.from_histogram(histogram, 50)
    assert population_uniques(sample, "snb") is None
    assert population_uniques(sample, "pitman") is None
    assert population_uniques(sample).estimator == "zayatz"


def test_uniques_of_a_whole_population_are_counted():
    """Who is unique in a table of everybody is unique."""
    assert population_uniques(Sample.from_histogram({1: 5, 2: 1}, 7)).uniques == pytest.approx(5)


@naive.examples(300)
@given(st.dictionaries(st.integers(1, 30), st.integers(1, 40), min_size=1, max_size=8), st.integers(1, 200))
def test_every_estimate_is_a_number_of_people(histogram, times):
    sample = Sample.from_histogram(histogram, times * sum(i * c for i, c in histogram.items()))
    for estimator in ("dankar", *ESTIMATORS):
        found = population_uniques(sample, estimator)
        assert found is None or 0 <= found.uniques <= sample.population
    assert population_uniques(sample) is not None


def test_digamma():
    euler = 0.5772156649015329
    assert _digamma(np.array([1.0, 0.5, 2.0])) == pytest.approx([-euler, -euler - 2 * log(2), 1 - euler], rel=1e-13)


def test_a_million_classes():
    sizes = np.bincount(np.random.default_rng(0).integers(0, 400_000, 1_000_000))
    assert population_uniques(Sample.of(sizes[sizes > 0], 20_000_000)) is not None


@pytest.mark.parametrize(
    "classes", [{1: 2, 2: 1, 8: 1}, {1: 2, 2: 1, 4: 2}, {1: 5, 2: 2, 3: 1}, {1: 10, 2: 1}, {1: 4, 2: 4}], ids=str
)
def test_few_starting_points_are_tried_where_the_negative_binomial_does_not_fit(classes):
    """It was looked for from every point of a grid, which took minutes for a table of twelve rows."""
    sample = Sample.from_histogram(classes, 10_000)
    expected = [log(classes[size] / shlosser(sample)) for size in (1, 2)]
    assert len(list(_starts(sample.fraction, *expected))) <= 4
