"""Telling combinations of columns against brute force over all of them."""

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import BadInput
from shoal.risk.discovery import discover, usual_size


def coded(rows):
    return {f"c{i}": (np.array(column, np.int32), max(column) + 1) for i, column in enumerate(zip(*rows, strict=True))}


def measured(rows, which):
    """Distinction and separation, pair by pair."""
    seen = [tuple(row[i] for i in which) for row in rows]
    pairs = list(combinations(seen, 2))
    apart = sum(one != other for one, other in pairs)
    return Fraction(len(set(seen)), len(seen)), Fraction(apart, len(pairs)) if pairs else Fraction(1)


tables = st.integers(1, 5).flatmap(
    lambda width: st.lists(
        st.tuples(*[st.integers(0, top) for top in (1, 2, 3, 5, 1)[:width]]), min_size=1, max_size=16
    )
)


@naive.examples(300)
@given(tables, st.fractions(Fraction(1, 20), 1), st.sampled_from(["distinction", "separation"]), st.integers(1, 5))
def test_by_definition(rows, threshold, measure, most):
    most, at = min(most, len(rows[0])), ["distinction", "separation"].index(measure)
    names = [f"c{i}" for i in range(len(rows[0]))]
    every = {
        which: measured(rows, which) for size in range(1, most + 1) for which in combinations(range(len(names)), size)
    }
    reached = [which for which, both in every.items() if both[at] >= threshold]
    smallest = [which for which in reached if not any(set(part) < set(which) for part in reached)]
    found = discover(coded(rows), threshold=threshold, measure=measure, max_size=most)
    assert {one.columns for one in found.minimal} == {tuple(names[i] for i in which) for which in smallest}
    for one in (*found.minimal, *found.alone, *found.best):
        assert (one.distinction, one.separation) == every[tuple(names.index(name) for name in one.columns)]
    assert [one.columns for one in found.alone] == [(name,) for name in names]
    for best in found.best:  # of those that have no part that reaches it already
        size = len(best.columns)
        left = [
            both[at]
            for which, both in every.items()
            if len(which) == size and not any(set(part) < set(which) for part in reached)
        ]
        assert getattr(best, measure) == max(left)


def test_weights_of_equal_rows_count_pairs():
    rows = [(0, 0)] * 3 + [(0, 1)] * 2 + [(1, 0)]
    (pair,) = [one for one in discover(coded(rows), threshold=0.5, max_size=2).minimal if len(one.columns) == 2]
    alike = Counter(rows)
    assert pair.equal_pairs == sum(comb(often, 2) for often in alike.values()) == 4
    assert (pair.distinction, pair.separation) == (Fraction(1, 2), Fraction(11, 15))


def test_only_minimal_keys_are_listed():
    rows = [(i, i % 2, i % 3) for i in range(12)]
    found = discover(coded(rows), threshold=0.5)
    assert [one.columns for one in found.minimal] == [("c0",), ("c1", "c2")]


def test_all_rows_identical():
    found = discover(coded([(1, 1)] * 5), threshold=0.3)
    assert found.minimal == ()
    assert [float(one.separation) for one in found.best] == [0, 0]


def test_column_sets_that_cannot_reach_the_threshold_are_not_counted():
    """Columns of two values cannot reach half of 4,096 rows: nothing beyond the best of each size is counted."""
    rows = [tuple((i >> j) & 1 for j in range(11)) for i in range(4096)]
    found = discover(coded(rows), threshold=0.5, max_size=5)
    assert found.minimal == ()
    assert found.counted == 11 + 4
    assert [one.distinct for one in found.best] == [2, 4, 8, 16, 32]
    assert usual_size(11) == 3


@pytest.mark.parametrize("threshold", [0, -0.1, 1.01, float("nan"), "x"])
def test_bad_thresholds_are_refused(threshold):
    with pytest.raises(BadInput, match="distinction must"):
        discover(coded([(1,), (2,)]), threshold=threshold)


def test_bad_measures_and_sizes_are_refused():
    with pytest.raises(BadInput, match="'x' is no measure of combinations; write distinction or separation"):
        discover(coded([(1,), (2,)]), measure="x")
    with pytest.raises(BadInput, match="at least 1, not 0"):
        discover(coded([(1,), (2,)]), max_size=0)
