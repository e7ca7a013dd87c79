"""Clusters that fail are merged with what is nearest, and no others."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation
from shoal.models.k_anonymity import KAnonymity
from shoal.models.l_diversity import DistinctLDiversity
from shoal.partition.condition import Condition
from shoal.partition.mdav import merge_until_complying


def condition(values, *models):
    rows = np.arange(len(values), dtype=np.int32)
    names = sorted(set(values))
    codes = np.array([names.index(value) for value in values], dtype=np.int32)
    items = FrequencySet.count({"row": (rows, len(rows))}, {"s": (codes, len(names))})
    return Condition(items, models, CountInterpretation({"s": names}))


def test_a_cluster_of_one_value_joins_the_nearest():
    values = ["a", "a", "a", "b", "a", "b"]
    points = np.array([[0.0], [0], [5], [5], [9], [9]])
    clusters = np.array([0, 0, 1, 1, 2, 2], np.int32)
    merged = merge_until_complying(condition(values, DistinctLDiversity(2, "s")), clusters, points)
    assert merged.tolist() == [0, 0, 0, 0, 1, 1]


def test_complying_clusters_stay():
    values = ["a", "b"] * 3
    clusters = np.array([0, 0, 1, 1, 2, 2], np.int32)
    asked = condition(values, KAnonymity(2), DistinctLDiversity(2, "s"))
    assert merge_until_complying(asked, clusters, np.zeros((6, 1))).tolist() == clusters.tolist()


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 6)), min_size=1, max_size=30),
    st.integers(1, 3),
)
def test_merging_ends_when_all_comply_or_one_cluster_is_left(rows, l):
    values, at, of = zip(*rows, strict=True)
    clusters = np.unique(of, return_inverse=True)[1].astype(np.int32)
    asked = condition(values, DistinctLDiversity(l, "s"))
    merged = merge_until_complying(asked, clusters, np.array(at, dtype=np.float64)[:, None])
    count = int(merged.max()) + 1
    assert sorted(set(merged.tolist())) == list(range(count))
    assert len(set(zip(clusters.tolist(), merged.tolist(), strict=True))) == clusters.max() + 1  # none is split
    assert count == 1 or asked.complies(merged, count).all()
    if len(set(values)) >= l:
        assert asked.complies(merged, count).all()
