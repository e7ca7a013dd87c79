"""k-anonymity."""

import numpy as np
import pytest

from shoal.data.class_counts import ClassCounts
from shoal.models.k_anonymity import KAnonymity, least_size


def sizes(*given):
    return ClassCounts(np.array(given, np.int64))


def test_a_class_of_exactly_k_rows_complies():
    assert KAnonymity(3).complies(sizes(2, 3, 4)).tolist() == [False, True, True]


def test_attained_is_the_smallest_class():
    assert KAnonymity(1).attained(sizes(7, 4, 9)) == {"k": 4}
    assert KAnonymity(1).attained(sizes()) == {"k": 0}


@pytest.mark.parametrize("k", [0, -1, 1.5, "abc", 1e400, float("nan"), None, True])
def test_k_is_a_whole_number(k):
    """Bad input 4."""
    with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
        KAnonymity(k)


def test_impossible_says_the_numbers():
    """Bad input 3."""
    assert KAnonymity(50).impossible(sizes(12), 12) == "12 records < k=50"
    assert KAnonymity(12).impossible(sizes(12), 0) is None


def test_the_worst_class_is_the_first_of_the_smallest():
    assert KAnonymity(3).worst(sizes(5, 2, 7, 2)) == 1
    assert KAnonymity(3).worst(sizes()) is None


def test_measure_asks_for_k_once_and_for_no_attribute():
    assert tuple(KAnonymity.probes(None)) == (KAnonymity(1),)
    assert tuple(KAnonymity.probes("ill")) == ()


def test_the_least_size_of_a_class_is_the_largest_of_all_models():
    assert KAnonymity(4).least_rows == 4
    assert least_size([KAnonymity(3), KAnonymity(5), KAnonymity(2)]) == 5
    assert least_size([]) == 1
