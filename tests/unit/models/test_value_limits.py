"""Limits on shares: how many rows must go, by hand and by trying every rest."""

from itertools import product

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ValueCounts
from shoal.models.value_limits import ShareLimits, flag_counted, removed_for_shares

LABELS = ["flu", "hiv", "tbc"]


def one_class(row):
    at = np.flatnonzero(row)
    return ValueCounts(np.zeros(len(at), np.int64), at, np.array(row)[at], LABELS, 1)


def removed(row, **limits):
    return removed_for_shares(one_class(row), ShareLimits(np.ones(3, dtype=bool), **limits)).item()


@pytest.mark.parametrize(
    ("row", "upper", "least"),
    [
        # of 10 rows 4.5 of each may stay, 4 then; 4 + 4 + 1 = 9, and 4 is no more than 0.45 of 9
        ([5, 5, 1], [0.45, 0.45, 0.45], 2),
        # half of what is left may be flu: 1 and 1
        ([6, 1, 0], [0.5, 1.0, 1.0], 5),
        # a quarter of 3 rows or fewer is less than a row, and 3 values have no more than three quarters
        ([1, 1, 1], [0.25, 0.25, 0.25], 3),
    ],
)
def test_rows_are_whole(row, upper, least):
    assert removed(row, upper=np.array(upper)) == least


def test_a_value_that_must_be_there():
    """At least a sixth of the rest is tbc: 6 rows for one of them, and none without."""
    limits = {"upper": np.ones(3), "lower": np.array([0.0, 0.0, 1 / 6])}
    assert removed([6, 4, 1], **limits) == 5
    assert removed([6, 4, 0], **limits) == 10


shares = st.lists(st.sampled_from([0.1, 0.25, 1 / 3, 0.5, 0.7, 1.0]), min_size=3, max_size=3).map(np.array)


@naive.examples(150)
@given(st.lists(st.integers(0, 5), min_size=3, max_size=3), shares)
def test_no_rest_with_more_rows_keeps_the_limits(row, upper):
    """And where nothing but upper limits is asked, exactly that many must go."""
    rests = list(product(*(range(n + 1) for n in row)))
    kept = [rest for rest in rests if all(n <= u * sum(rest) + 1e-9 for n, u in zip(rest, upper, strict=True))]
    assert removed(row, upper=upper) == sum(row) - max(map(sum, kept))


def test_null_counts_where_it_is_a_value():
    assert flag_counted(["flu", None], null=True).tolist() == [True, True]
