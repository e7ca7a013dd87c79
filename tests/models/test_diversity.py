"""Distinct l-diversity."""

import numpy as np
import pytest

from shoal.counts import ClassCounts, ValueCounts
from shoal.models import DistinctLDiversity


def counts(rows, labels):
    dense = np.array(rows, np.int64).reshape(-1, len(labels))
    classes, values = np.nonzero(dense)
    long = ValueCounts(classes, values, dense[classes, values], labels, len(dense))
    return ClassCounts(dense.sum(axis=1), {"disease": long})


def test_the_worked_example():
    """Counts 3, 2, 1 are 3-diverse."""
    table = counts([[3, 2, 1]], ["flu", "hiv", "tbc"])
    assert DistinctLDiversity(1, "disease").attained(table) == {"l": 3}
    assert DistinctLDiversity(3, "disease").complies(table).all()
    assert not DistinctLDiversity(4, "disease").complies(table).any()


def test_null_protects_nobody():
    """Bad input 6: {HIV, HIV, null} is 1-diverse; a class of nulls is not even that."""
    table = counts([[2, 1], [0, 3]], ["HIV", None])
    assert DistinctLDiversity(2, "disease").complies(table).tolist() == [False, False]
    assert DistinctLDiversity(1, "disease").complies(table).tolist() == [True, False]
    assert DistinctLDiversity(1, "disease").attained(counts([[2, 1]], ["HIV", None])) == {"l": 1}


def test_null_may_be_a_value():
    """Design 7."""
    table = counts([[2, 1], [0, 3]], ["HIV", None])
    assert DistinctLDiversity(2, "disease", null_is_value=True).complies(table).tolist() == [True, False]
    assert DistinctLDiversity(1, "disease", null_is_value=True).attained(table) == {"l": 1}
    assert DistinctLDiversity(2, "disease", null_is_value=True).impossible(counts([[2, 1]], ["HIV", None]), 0) is None


@pytest.mark.parametrize("flag", [1, 0, "yes", None])
def test_null_is_value_is_a_flag(flag):
    with pytest.raises(ValueError, match="null-is-value must be true or false"):
        DistinctLDiversity(2, "disease", flag)


def test_an_empty_release_attains_nothing():
    assert DistinctLDiversity(1, "disease").attained(counts([], ["flu"])) == {"l": 0}


def test_impossible_counts_the_values():
    table = counts([[5, 2, 9]], ["flu", "hiv", None])
    assert DistinctLDiversity(2, "disease").impossible(table, 0) is None
    why = DistinctLDiversity(3, "disease").impossible(table, 16)
    assert why == "'disease' has 2 different values in the whole table < l=3"


@pytest.mark.parametrize("l", [0, -1, 1.5, "abc", None])
def test_l_is_a_whole_number(l):
    with pytest.raises(ValueError, match="l must be a whole number of at least 1"):
        DistinctLDiversity(l)
