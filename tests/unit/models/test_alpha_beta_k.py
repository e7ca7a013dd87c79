"""(α,β,k)-anonymity."""

from itertools import combinations

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.models.alpha_beta_k import AlphaBetaK
from shoal.models.k_anonymity import KAnonymity
from shoal.models.model import Closure
from shoal.models.p_sensitive import PSensitive

LABELS = ["a1", "a2", "a3", "b", "c", "x", None]
CATEGORIES = [["a1", "a2", "a3"], ["b"], ["c"]]
"""x has none."""


def counted(rows):
    dense = np.array([[row.count(value) for value in LABELS] for row in rows], np.int64).reshape(-1, len(LABELS))
    classes, values = np.nonzero(dense)
    long = ValueCounts(classes, values, dense[classes, values], LABELS, len(dense))
    return ClassCounts(dense.sum(axis=1), {"disease": long})


def of(alpha, beta, k):
    return AlphaBetaK(alpha, beta, k, CATEGORIES, "disease", experimental=True)


def test_pairs_of_values():
    """models.md 1.6: {a1, a2, b, b} has two unlike pairs and one alike."""
    table = counted([["a1", "a2", "b", "b"]])
    assert of(1, 1, 1).attained(table) == {"alpha": 1, "beta": 3, "k": 4}
    assert of(1, 3, 4).complies(table).all()
    for stricter in (of(2, 3, 4), of(1, 4, 4), of(1, 3, 5)):
        assert not stricter.complies(table).any()


def test_merging_can_break_it():
    """models.md 1.6: not closed."""
    fine = [["a1", "b"], ["a2", "b"], ["a3", "b"]]
    assert of(1, 1, 1).complies(counted(fine)).all()
    assert not of(1, 1, 1).complies(counted([[value for row in fine for value in row]])).any()
    assert AlphaBetaK.closure is Closure.NOT


def excess(row):
    kind = {value: i for i, category in enumerate(CATEGORIES) for value in category}
    pairs = list(combinations(sorted({value for value in row if value is not None}), 2))
    alike = sum("x" in pair or kind[pair[0]] == kind[pair[1]] for pair in pairs)
    return len(pairs) - 2 * alike


@naive.examples(300)
@given(
    st.lists(st.lists(st.sampled_from(LABELS), min_size=1, max_size=8), min_size=1, max_size=5),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_alpha_beta_k_follows_its_definition(rows, alpha, beta, k):
    table = counted(rows)
    distinct = [len({value for value in row if value is not None}) for row in rows]
    expected = [
        len(row) >= k and many >= beta and excess(row) >= alpha for row, many in zip(rows, distinct, strict=True)
    ]
    assert of(alpha, beta, k).complies(table).tolist() == expected
    attained = of(alpha, beta, k).attained(table)
    assert attained == {"alpha": min(map(excess, rows)), "beta": min(distinct), "k": min(map(len, rows))}
    assert excess(rows[of(alpha, beta, k).worst(table)]) == min(map(excess, rows))


def test_the_parts_of_alpha_beta_k():
    assert list(of(1, 2, 3).parts()) == [KAnonymity(3), PSensitive(2, "disease"), of(1, 1, 1)]


def test_impossible():
    table = counted([["a1", "a2", "a2", "b", None]])
    assert of(2, 3, 5).impossible(table, 0) is None
    assert of(1, 1, 6).impossible(table, 0) == "5 records < k=6"
    assert of(1, 4, 1).impossible(table, 0) == "'disease' has 3 different values in the whole table < beta=4"
    assert of(3, 1, 1).impossible(table, 0) == "'disease' has 2 pairs of unlike values in the whole table < alpha=3"


def test_an_empty_table_attains_nothing():
    assert of(1, 1, 1).attained(counted([])) == {"alpha": 0, "beta": 0, "k": 0}
    assert of(1, 1, 1).worst(counted([])) is None
    assert list(AlphaBetaK.probes("disease")) == []


@pytest.mark.parametrize("wrong", [0, 1.5, "abc", None])
@pytest.mark.parametrize("name", ["alpha", "beta", "k"])
def test_whole_numbers_only(name, wrong):
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1"):
        of(**{"alpha": 1, "beta": 1, "k": 1, name: wrong})


def test_values_of_no_category_are_like_all_others():
    """Of a1, x and y two are of no category: all three pairs are alike, and none is unlike."""
    labels = ["a1", "b", "x", "y"]
    both = ValueCounts(np.array([0, 0, 0]), np.array([0, 2, 3]), np.array([1, 1, 1]), labels, 1)
    assert of(1, 1, 1).attained(ClassCounts(np.array([3]), {"disease": both}))["alpha"] == -3
    more = ValueCounts(np.array([0] * 4), np.arange(4), np.array([1] * 4), labels, 1)  # a1 and b are unlike
    assert of(1, 1, 1).complies(ClassCounts(np.array([4]), {"disease": more})).tolist() == [False]
    assert "has 1 pairs of unlike values" in of(2, 1, 1).impossible(ClassCounts(np.array([4]), {"disease": more}), 0)
