"""Exact numbers, and what models refuse."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.models.alpha_k import AlphaK
from shoal.models.model import asked, ceiling, exact, refuse_unless_whole, within


@pytest.mark.parametrize(
    ("written", "meant"),
    [(0.1, Fraction(1, 10)), (1, Fraction(1)), (0.29, Fraction(29, 100)), (Fraction(1, 3), Fraction(1, 3))],
)
def test_a_number_is_what_was_written(written, meant):
    assert exact("x", written) == meant


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), 1e400, True, "0.5", None])
def test_what_is_no_number(odd):
    with pytest.raises(ValueError, match="x must be a number"):
        exact("x", odd)


@pytest.mark.parametrize("odd", [0, -1, 1.5, 2.0, "abc", 1e400, float("nan"), True, None])
def test_whole_numbers_only(odd):
    """Bad input 4."""
    with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
        refuse_unless_whole("k", odd)


@pytest.mark.parametrize("whole", [1, 5, np.int64(3)])
def test_whole_numbers_are_taken(whole):
    refuse_unless_whole("k", whole)


shares = st.integers(1, 10**12).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole)))


@given(st.lists(st.tuples(shares, st.fractions(0, 1)), min_size=1, max_size=5))
def test_within_compares_exactly(cases):
    """Whatever the size of counts and denominators (design 15)."""
    part, whole = (np.array(side, np.int64) for side in zip(*(share for share, _ in cases), strict=True))
    limits = [limit for _, limit in cases]
    found = within(part, whole, limits, np.arange(len(cases)))
    assert found.tolist() == [Fraction(*share) <= limit for share, limit in cases]


@given(shares)
def test_ceiling_is_the_least_float_that_is_not_below(share):
    share = Fraction(*share)
    up = ceiling(share)
    assert exact("x", up) >= share
    assert up == 0 or exact("x", float(np.nextafter(up, -1))) < share


def test_asked_is_what_a_policy_says():
    assert asked(AlphaK(0.5, 3)) == {"alpha": 0.5, "k": 3}
    assert asked(AlphaK(0.5, 3, null_is_value=True)) == {"alpha": 0.5, "k": 3, "null_is_value": True}
