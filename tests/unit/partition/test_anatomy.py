"""Anatomy: no value has more than one row in l of any group, wherever that is possible."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import Infeasible
from shoal.partition.anatomy import anatomy

MULTISETS = st.lists(st.integers(0, 12), max_size=8) | st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 9)), max_size=10
).map(lambda runs: [value for value, n in runs for _ in range(n)])


def codes(values):
    return np.array(values, dtype=np.int32)


@given(MULTISETS, st.integers(1, 6), st.integers(0, 3), st.randoms())
def test_no_value_has_more_than_one_row_in_l(values, l, seed, random):
    random.shuffle(values)
    most = max(Counter(values).values(), default=0)
    if most * l > len(values):
        with pytest.raises(Infeasible):
            anatomy(codes(values), l, seed)
        return
    groups = anatomy(codes(values), l, seed).tolist()
    assert len(groups) == len(values)
    assert sorted(set(groups)) == list(range(len(values) // l if values else 0))
    for group in set(groups):
        inside = Counter(value for value, of in zip(values, groups, strict=True) if of == group)
        assert set(inside.values()) == {1}  # each value once, of at least l
        assert l <= len(inside) < 2 * l


@pytest.mark.parametrize("l", [2, 3, 5])
def test_exactly_at_the_bound(l):
    values = [0] * 4 + [1 + i for i in range(4 * (l - 1))]
    groups = anatomy(codes(values), l)
    assert sorted(groups[:4].tolist()) == [0, 1, 2, 3]  # the frequent value is in every group
    with pytest.raises(Infeasible):
        anatomy(codes(values[:-1]), l)
    with pytest.raises(Infeasible):
        anatomy(codes([0, *values]), l)


def test_a_too_frequent_value_is_refused_with_the_largest_possible_l():
    with pytest.raises(Infeasible) as caught:
        anatomy(codes([7777] * 30 + list(range(70))), 4)
    assert str(caught.value) == (
        "anatomy: the most frequent sensitive value has 30 of 100 row(s), more than one in l=4; l can be 3 at most"
    )


def test_the_seed_decides():
    values = codes([i % 7 for i in range(100)])
    assert anatomy(values, 3, 1).tolist() == anatomy(values, 3, 1).tolist()
    assert anatomy(values, 3, 1).tolist() != anatomy(values, 3, 2).tolist()


def test_the_largest_buckets_come_first():
    groups = anatomy(codes([0, 1, 2, 2, 2, 3, 3]), 2)
    assert {groups[5], groups[6]} <= {groups[2], groups[3], groups[4]}  # 3 is drawn beside 2, while it is large
    assert groups.max() == 2
