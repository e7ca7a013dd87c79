"""Arithmetic that stays exact when numbers grow."""

from fractions import Fraction

import numpy as np
import pytest

from shoal.models.reference_models import greatest_ratio, integers, refuse_unless_one_of, sum_by_class


@pytest.mark.parametrize("large", [1, 2**52, 2**61])
def test_sums(large):
    parts = np.array([large, 1, 1], integers(4 * large))
    assert sum_by_class(np.array([1, 1, 0]), parts, 3).tolist() == [1, large + 1, 0]


def test_numbers_of_any_size():
    assert [integers(largest).kind for largest in (2**63 - 1, 2**63)] == ["i", "O"]


@pytest.mark.parametrize("large", [3, 10**17])
def test_greatest(large):
    """Quotients that are one float differ as fractions."""
    part, whole = np.array([large - 1, large, large - 2]), np.array([large, large + 1, large])
    assert greatest_ratio(part, whole) == Fraction(large, large + 1)


def test_settings():
    with pytest.raises(ValueError, match="log must be 'e' or 2, not 3"):
        refuse_unless_one_of("log", 3, ["e", 2])
