"""Prosecutor, journalist, marketer: the worked numbers, and brute force over rows."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import BadInput
from shoal.risk.attackers import (
    count_at_risk,
    estimated_journalist,
    histogram,
    journalist,
    known_threshold,
    marketer,
    prosecutor,
)

TINY = np.array([3, 2, 1])


@pytest.mark.parametrize(("tau", "rows"), [(0.34, 3), (0.33, 6), (0.5, 1), (1, 0), (Fraction(1, 3), 3)])
def test_classes_of_3_2_1(tau, rows):
    """models.md 1.19: max 1, average .5; above .34 three of six, above .33 all, since 1/3 > .33."""
    found = prosecutor(TINY, known_threshold(tau))
    assert (found.max, found.average, found.at_risk, found.certain) == (1.0, 0.5, rows, 1)
    assert marketer(TINY).average == 0.5


def test_a_risk_equal_to_the_threshold_is_not_above_it():
    """Ten alike have the risk 0.1, which is not above 0.1, whatever binary fractions say (design 15)."""
    assert count_at_risk(np.array([10]), np.array([10]), known_threshold(0.1)) == 0
    assert count_at_risk(np.array([9]), np.array([9]), known_threshold(0.1)) == 9


def test_journalist():
    """models.md 1.19: max 1/min F; the average is the greater of J/ΣF and Σ(f/F)/n."""
    found = journalist(np.array([2, 1]), np.array([4, 10]), known_threshold(0.2))
    assert (found.max, found.at_risk, found.certain) == (0.25, 2, 0)
    assert found.average == pytest.approx(max(2 / 14, (2 / 4 + 1 / 10) / 3))
    assert marketer(np.array([2, 1]), np.array([4, 10])).average == pytest.approx((2 / 4 + 1 / 10) / 3)


def test_a_table_that_is_its_own_population():
    same = journalist(TINY, TINY, known_threshold(0.34))
    whole = estimated_journalist(TINY, 6, known_threshold(0.34))
    first = prosecutor(TINY, known_threshold(0.34))
    assert (same.max, same.average, same.at_risk) == (first.max, first.average, first.at_risk)
    assert (whole.max, whole.average) == (pytest.approx(1), pytest.approx(0.5))
    assert whole.certain is None


sizes = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), min_size=1, max_size=20)


@naive.examples(200)
@given(sizes, st.fractions(Fraction(1, 50), 1))
def test_by_rows(pairs, tau):
    f = np.array([one for one, _ in pairs])
    people = np.array([one + more for one, more in pairs])
    rows = [(Fraction(1, one), Fraction(1, one + more)) for one, more in pairs for _ in range(one)]
    mine, theirs = prosecutor(f, tau), journalist(f, people, tau)
    assert mine.at_risk == sum(risk > tau for risk, _ in rows)
    assert theirs.at_risk == sum(risk > tau for _, risk in rows)
    assert mine.average == pytest.approx(float(sum(risk for risk, _ in rows) / len(rows)))
    assert marketer(f, people).average == pytest.approx(float(sum(risk for _, risk in rows) / len(rows)))
    assert mine.max == float(max(risk for risk, _ in rows))
    assert theirs.max == float(max(risk for _, risk in rows))
    assert sum(size * classes for size, classes in histogram(f)) == len(rows)


@pytest.mark.parametrize("tau", [0, -1, 1.5, float("nan"), "x", True])
def test_bad_thresholds_are_refused(tau):
    with pytest.raises(BadInput, match="threshold must"):
        known_threshold(tau)
