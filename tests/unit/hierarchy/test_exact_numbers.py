"""Decimals are kept as written."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import BadHierarchy
from shoal.hierarchy.exact_numbers import check_tails, exact, interval_label, label_intervals, require_number, show


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9))
def test_show_is_exact(number):
    assert Fraction(show(Fraction(number))) == Fraction(number)


def test_show_writes_no_needless_digit():
    assert [show(Fraction(x)) for x in ("0", "-3", "0.50", "-0.05", "1e20")] == [
        "0",
        "-3",
        "0.5",
        "-0.05",
        "1" + "0" * 20,
    ]


def test_numbers_of_numpy_become_plain():
    assert type(require_number(np.int64(5), "top")) is int
    assert require_number(np.float64(0.1), "top") == 0.1
    assert exact(0.1) == Fraction(1, 10)


@pytest.mark.parametrize("value", ["5", True, None, float("nan"), Decimal(5), [5]])
def test_what_toml_has_no_number_for_is_refused(value):
    with pytest.raises(BadHierarchy, match=r"top = .* is not a finite number"):
        require_number(value, "top")


def test_tails_must_leave_something_between():
    assert check_tails(0.1, 0.2) == (0.1, 0.2)
    with pytest.raises(BadHierarchy, match="not below"):
        check_tails(5, 5)


def test_open_ends():
    assert interval_label(None, None) == "*"


def test_cut_asks_once_per_interval():
    asked = []

    def cell(x):
        asked.append(x)
        return x // 10 * Fraction(10), x // 10 * Fraction(10) + 10

    assert len(label_intervals([Fraction(x) for x in range(100)], cell)) == 100
    assert len(asked) == 10
