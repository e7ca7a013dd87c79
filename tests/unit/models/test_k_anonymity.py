"""k-anonymity."""

import numpy as np
import pytest

from shoal.data.class_counts import ClassCounts
from shoal.models.k_anonymity import KAnonymity


def sizes(*given):
    return ClassCounts(np.array(given, np.int64))


def test_at_the_threshold():
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
