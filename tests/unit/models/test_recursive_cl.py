"""Recursive (c,l)-diversity."""

from collections import Counter
from fractions import Fraction

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.models.model import Closure
from shoal.models.recursive_cl import RecursiveCLDiversity


def counts(rows, labels=None):
    dense = np.array(rows, np.int64)
    labels = labels or [f"v{i}" for i in range(dense.shape[1])]
    dense = dense.reshape(-1, len(labels))
    classes, values = np.nonzero(dense)
    long = ValueCounts(classes, values, dense[classes, values], labels, len(dense))
    return ClassCounts(dense.sum(axis=1), {"disease": long})


def recursive(l, c, **more):
    return RecursiveCLDiversity(l, c, "disease", **more)


@pytest.mark.parametrize(("l", "least"), [(2, 1), (3, 3)])
def test_the_worked_example(l, least):
    """models.md 1.1: counts 3, 2, 1 are (c,2)-diverse iff c > 1 and (c,3)-diverse iff c > 3."""
    table = counts([[3, 2, 1]])
    assert not recursive(l, least).complies(table).any()
    assert recursive(l, least + 1e-9).complies(table).all()
    attained = recursive(l, 100).attained(table)["c"]
    assert least < attained < least + 1e-12
    assert recursive(l, attained).complies(table).all()


def test_merging_with_a_bad_class_can_break_it():
    """models.md 0, M2, c=2, l=2: (1,1,3) complies and (0,1,3) does not; (1,2,6) does not."""
    assert recursive(2, 2).complies(counts([[1, 1, 3], [0, 1, 3]])).tolist() == [True, False]
    assert not recursive(2, 2).complies(counts([[1, 2, 6]])).any()
    assert RecursiveCLDiversity.closure is Closure.UNION


def test_one_value_is_enough_for_l_1_and_c_above_1():
    """models.md 1.1."""
    table = counts([[5, 0], [1, 1]])
    assert recursive(1, 1.01).complies(table).all()
    assert recursive(1, 1).complies(table).tolist() == [False, True]


@pytest.mark.parametrize(
    ("c", "rows", "complies"),
    [
        (0.1, [1, *[1] * 10], False),  # 1 < 0.1 · 10 is false, whatever floats say
        (0.3, [3, *[1] * 10], False),
        (0.3, [3, *[1] * 11], True),
        (0.3333333333333333, [10**12] * 4, False),
        (0.33333333333333337, [10**12] * 4, True),
        (1e-300, [10**12, 10**12], False),
        (1e300, [10**12, 1], True),
        (3, [4 * 10**18, 4 * 10**18], True),  # three times the rarer ones is more than int64 holds
        (0.5, [5 * 10**18, 10**18], False),  # so is twice the most frequent one
    ],
)
def test_exact_at_the_threshold(c, rows, complies):
    """Design 15, strictly below."""
    assert recursive(2, c).complies(counts([rows])).tolist() == [complies]


def test_attained_where_floats_tell_no_difference():
    """Of (10¹⁷-1)/10¹⁷ and 1, which are one float, the larger counts: c = 1 is not attained."""
    table = counts([[10**17 - 1, 5 * 10**16, 5 * 10**16], [10**17, 10**17, 0]])
    assert recursive(2, 1).complies(table).tolist() == [True, False]
    assert recursive(2, 1).attained(table) == {"c": np.nextafter(1, 2)}


def test_the_worst_class_has_the_largest_ratio():
    """For l = 2 it is 3/2, not 1/1, though both are of few rows."""
    assert recursive(2, 2).worst(counts([[1, 1], [3, 2]])) == 1


classes = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=1, max_size=9), min_size=1, max_size=5
)
LABELS = ["a", "b", "c", "d", None]


def parts(row, l, null):
    ranked = sorted(Counter(v for v in row if v is not None or null).values(), reverse=True)
    return (ranked[0], sum(ranked[l - 1 :])) if len(ranked) >= l else (1, 0)


@naive.examples(300)
@given(classes, st.integers(1, 4), st.sampled_from([0.5, 0.6, 1, 1.5, 2.0, 3, 7]), st.booleans())
def test_recursive_cl_follows_its_definition(rows, l, c, null):
    table = counts([[row.count(value) for value in LABELS] for row in rows], LABELS)
    expected = []
    for row in rows:
        first, rest = parts(row, l, null)
        expected.append(first < Fraction(str(c)) * rest)
    model = recursive(l, c, null_is_value=null)
    assert model.complies(table).tolist() == expected
    assert model.holds(table) == all(expected)


@naive.examples(300)
@given(classes, st.integers(1, 4))
def test_what_is_attained_complies_and_less_does_not(rows, l):
    table = counts([[row.count(value) for value in LABELS] for row in rows], LABELS)
    ratios = [Fraction(first, rest) if rest else None for first, rest in (parts(row, l, null=False) for row in rows)]
    attained = recursive(l, 1).attained(table)["c"]
    worst = recursive(l, 1).worst(table)
    if None in ratios:
        assert attained is None
        assert ratios[worst] is None
        assert not recursive(l, 1e9).holds(table)
    else:
        assert recursive(l, attained).holds(table)
        assert not recursive(l, float(np.nextafter(attained, 0))).holds(table)
        assert ratios[worst] == max(ratios)


@naive.examples(100)
@given(classes, st.integers(1, 4), st.sampled_from([0.5, 1, 1.5, 2.0]))
def test_impossible_without_suppression_is_the_whole_table(rows, l, c):
    whole = counts([[sum(row.count(value) for row in rows) for value in LABELS]], LABELS)
    assert (recursive(l, c).impossible(whole, 0) is None) == recursive(l, c).holds(whole)


def test_impossible():
    table = counts([[5, 2, 1]])
    assert recursive(2, 1).impossible(table, 0) == "'disease' needs c > 1.6667 for l=2 in the whole table"
    assert recursive(2, 1.6667).impossible(table, 0) is None
    assert recursive(2, 1).impossible(table, 1) is None  # as for entropy: nothing is said where rows may go
    assert recursive(3, 6).impossible(table, 0) is None  # three values are enough for l = 3
    assert recursive(4, 9).impossible(table, 7) == "'disease' has 3 different values in the whole table < l=4"


def test_an_empty_table_attains_nothing():
    empty = counts(np.zeros((0, 1)), ["flu"])
    assert recursive(2, 2).attained(empty) == {"c": None}
    assert recursive(1, 2).worst(empty) is None


def test_measure_asks_for_one_value_and_is_told_of_two_and_three():
    (probe,) = RecursiveCLDiversity.probes("disease")
    assert (probe.l, probe.attribute) == (1, "disease")
    assert probe.attained(counts([[3, 2, 1]])).keys() == {"c", "c (l=2)", "c (l=3)"}


@pytest.mark.parametrize("c", [0, -1, "abc", None, True, float("nan"), 1e400])
def test_c_is_a_number_above_0(c):
    with pytest.raises(ValueError, match="c must be a number"):
        RecursiveCLDiversity(2, c)


@pytest.mark.parametrize("l", [0, -1, 1.5, "abc", None])
def test_l_is_a_whole_number(l):
    with pytest.raises(ValueError, match="l must be a whole number of at least 1"):
        RecursiveCLDiversity(l, 2)
