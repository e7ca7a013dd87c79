"""MDAV is what its authors say: held to a naive version of the same words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.partition.mdav import mdav, standardise

POINTS = st.integers(1, 3).flatmap(lambda d: st.lists(st.tuples(*[st.integers(-8, 8)] * d), min_size=1, max_size=40))


def naive(points, k):
    """Clusters as a list of lists of rows, in the order in which they are found; integers, so that sums are exact."""
    left, clusters = list(range(len(points))), []

    def far(row, point):
        return sum((a - b) * (a - b) for a, b in zip(points[row], point, strict=True))

    def farthest(point, rows):
        return max(rows, key=lambda row: (far(row, point), -row))

    def cluster(centre, rows):
        others = sorted((row for row in rows if row != centre), key=lambda row: (far(row, points[centre]), row))
        return [centre, *others[: k - 1]]

    def outermost():
        centroid = [sum(points[row][a] for row in left) / len(left) for a in range(len(points[0]))]
        return farthest(centroid, left)

    while len(left) >= 3 * k:
        r = outermost()
        s = farthest(points[r], [row for row in left if row != r])
        one = cluster(r, [row for row in left if row != s])
        other = cluster(s, [row for row in left if row not in one])
        clusters += [one, other]
        left = [row for row in left if row not in one + other]
    if len(left) >= 2 * k:
        one = cluster(outermost(), left)
        clusters.append(one)
        left = [row for row in left if row not in one]
    return [sorted(c) for c in [*clusters, left]]


@given(POINTS, st.integers(1, 6))
def test_mdav_equals_the_naive_implementation(points, k):
    clusters = mdav(np.array(points, dtype=np.float64), k)
    found = [np.flatnonzero(clusters == c).tolist() for c in range(clusters.max() + 1)]
    assert found == naive(points, k)


def _sizes_are_right(clusters, rows, k):
    sizes = np.bincount(clusters)
    return (k <= sizes.min() and sizes.max() < 2 * k) if rows >= k else sizes.tolist() == [rows]


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1, 1)), min_size=1, max_size=60),
    st.integers(1, 8),
)
def test_clusters_have_k_to_2k_minus_1_rows(points, k):
    assert _sizes_are_right(mdav(np.array(points), k), len(points), k)


@pytest.mark.parametrize("rows", [6, 7, 8, 9, 10, 30])
def test_equal_rows_are_clustered_in_the_right_sizes(rows):
    assert _sizes_are_right(mdav(np.zeros((rows, 2)), 3), rows, 3)


def test_standardised_axes_weigh_alike():
    rng = np.random.default_rng(0)
    columns = [rng.normal(40, 12, 500), rng.normal(0, 1e-3, 500), np.full(500, 7.0)]
    points = standardise(columns)
    assert np.allclose(points.mean(axis=0), 0)
    assert np.allclose(points.std(axis=0), [1, 1, 0])
    assert np.allclose(standardise(columns, [1.0, 0.25, 1.0]).std(axis=0), [1, 0.5, 0])
