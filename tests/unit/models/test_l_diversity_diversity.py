"""Distinct and entropy l-diversity."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import exp, log, prod

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.models.l_diversity import DistinctLDiversity, EntropyLDiversity, is_as_even_as
from shoal.models.model import Closure


def counts(rows, labels=None):
    dense = np.array(rows, np.int64)
    labels = labels or [f"v{i}" for i in range(dense.shape[1])]
    dense = dense.reshape(-1, len(labels))
    classes, values = np.nonzero(dense)
    long = ValueCounts(classes, values, dense[classes, values], labels, len(dense))
    return ClassCounts(dense.sum(axis=1), {"disease": long})


def entropy(l, **more):
    return EntropyLDiversity(l, "disease", **more)


def test_the_worked_example():
    """models.md 1.1: counts 3, 2, 1 are 3-diverse."""
    table = counts([[3, 2, 1]], ["flu", "hiv", "tbc"])
    assert DistinctLDiversity(1, "disease").attained(table) == {"l": 3}
    assert DistinctLDiversity(3, "disease").complies(table).all()
    assert not DistinctLDiversity(4, "disease").complies(table).any()


def test_the_worked_example_of_entropy():
    """models.md 1.1: counts 3, 2, 1 have exp(H) = 2.7495."""
    table = counts([[3, 2, 1]])
    assert entropy(1).attained(table) == {"l": pytest.approx(2.7495, abs=5e-5)}
    assert entropy(2.749).complies(table).all()
    assert not entropy(2.75).complies(table).any()


def test_merging_with_a_bad_class_can_break_entropy():
    """models.md 0, M2: (3,0,3) complies and (3,0,1) does not; (6,0,4) does not."""
    assert entropy(2).complies(counts([[3, 0, 3], [3, 0, 1]])).tolist() == [True, False]
    assert not entropy(2).complies(counts([[6, 0, 4]])).any()
    assert EntropyLDiversity.closure is Closure.UNION


@pytest.mark.parametrize("many", [1, 2, 3, 5, 7, 1000])
@pytest.mark.parametrize("each", [1, 3, 10**9])
def test_even_classes_attain_their_number_of_values(many, each):
    """Within the tolerance that is stated."""
    table = counts([[each] * many])
    assert entropy(many).complies(table).all()
    assert not entropy(many * (1 + 1e-9)).complies(table).any()
    assert entropy(entropy(1).attained(table)["l"]).complies(table).all()


classes = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=1, max_size=8), min_size=1, max_size=5
)


@naive.examples(300)
@given(classes, st.sampled_from([1, 1.5, 2, 2.5, 3.0]), st.booleans())
def test_entropy_l_diversity_follows_its_definition(rows, l, null):
    """n(ln n - ln l) >= Σ f ln f, as ARX has it."""
    labels = ["a", "b", "c", "d", None]
    table = counts([[row.count(value) for value in labels] for row in rows], labels)

    def holds(row):
        known = Counter(value for value in row if value is not None or null)
        n = known.total()
        spread = sum(f * log(f) for f in known.values())
        return n > 0 and len(known) >= int(l) and n * (log(n) - log(l)) >= spread - 1e-9

    assert entropy(l, null_is_value=null).complies(table).tolist() == [holds(row) for row in rows]


@naive.examples(100)
@given(classes)
def test_entropy_attained(rows):
    labels = ["a", "b", "c", "d", None]
    table = counts([[row.count(value) for value in labels] for row in rows], labels)
    each = []
    for row in rows:
        known = Counter(value for value in row if value is not None)
        shares = [f / known.total() for f in known.values()]
        each.append(exp(-sum(q * log(q) for q in shares)) if shares else 0)
    assert entropy(1).attained(table)["l"] == pytest.approx(min(each))
    assert each[entropy(1).worst(table)] == pytest.approx(min(each))


def test_null_protects_nobody():
    """Bad input 6: {HIV, HIV, null} is 1-diverse; a class of nulls is not even that."""
    table = counts([[2, 1], [0, 3]], ["HIV", None])
    for model in (DistinctLDiversity, EntropyLDiversity):
        assert model(2, "disease").complies(table).tolist() == [False, False]
        assert model(1, "disease").complies(table).tolist() == [True, False]
        assert model(1, "disease").attained(counts([[2, 1]], ["HIV", None])) == {"l": 1}
        assert model(1, "disease").attained(table) == {"l": 0}


def test_null_may_be_a_value():
    """Design 7."""
    table = counts([[2, 1], [0, 3]], ["HIV", None])
    assert DistinctLDiversity(2, "disease", null_is_value=True).complies(table).tolist() == [True, False]
    assert DistinctLDiversity(1, "disease", null_is_value=True).attained(table) == {"l": 1}
    assert DistinctLDiversity(2, "disease", null_is_value=True).impossible(counts([[2, 1]], ["HIV", None]), 0) is None
    assert entropy(1.8, null_is_value=True).complies(table).tolist() == [True, False]


@pytest.mark.parametrize("flag", [1, 0, "yes", None])
@pytest.mark.parametrize("model", [DistinctLDiversity, EntropyLDiversity])
def test_null_is_value_is_a_flag(model, flag):
    with pytest.raises(ValueError, match="null-is-value must be true or false"):
        model(2, "disease", flag)


def test_an_empty_release_attains_nothing():
    empty = counts(np.zeros((0, 1)), ["flu"])
    assert DistinctLDiversity(1, "disease").attained(empty) == {"l": 0}
    assert entropy(1).attained(empty) == {"l": 0.0}
    assert entropy(1).worst(empty) is None


def test_impossible_counts_the_values():
    table = counts([[5, 2, 9]], ["flu", "hiv", None])
    assert DistinctLDiversity(2, "disease").impossible(table, 0) is None
    for model in (DistinctLDiversity, EntropyLDiversity):
        why = model(3, "disease").impossible(table, 16)
        assert why == "'disease' has 2 different values in the whole table < l=3"


def test_one_value_is_enough_for_an_entropy_of_1_and_none_is_not():
    assert entropy(1).impossible(counts([[3]]), 1) is None
    none = counts([[0, 3]], ["HIV", None])
    assert entropy(1).impossible(none, 0) == "'disease' has 0 different values in the whole table < l=1"


@pytest.mark.parametrize("model", [DistinctLDiversity, EntropyLDiversity])
def test_measure_asks_for_one_value_of_an_attribute(model):
    assert model.probes("disease") == (model(1, "disease"),)
    assert model.probes(None) == ()


def test_impossible_by_entropy_only_when_nothing_is_suppressed():
    """Design 3; the figure is rounded down, so that a policy that asks for it can be met."""
    table = counts([[3, 2, 1]])
    assert entropy(2.75).impossible(table, 0) == "'disease' attains l=2.7494 in the whole table < l=2.75"
    assert entropy(2.7494).impossible(table, 0) is None
    assert entropy(2.75).impossible(table, 1) is None
    assert entropy(3).impossible(table, 3) is None  # one of each


@pytest.mark.parametrize("l", [0, -1, 1.5, "abc", None])
def test_l_is_a_whole_number(l):
    with pytest.raises(ValueError, match="l must be a whole number of at least 1"):
        DistinctLDiversity(l)


@pytest.mark.parametrize("l", [0, -1, 0.999, "abc", None, True, float("nan"), 1e400])
def test_l_of_entropy_is_a_number(l):
    with pytest.raises(ValueError, match="l must be a number"):
        EntropyLDiversity(l)


def test_every_small_class_that_is_merged_from_complying_ones_complies():
    """M1 of entropy: exhaustively for two classes of three values, each at most three times."""
    small = [row for row in product(range(4), repeat=3) if any(row)]
    pairs = list(product(small, repeat=2))
    table = counts([row for pair in pairs for row in pair])
    union = counts([np.add(*pair) for pair in pairs])
    for l in (1.5, 2, 2.5, 3):
        both = entropy(l).complies(table).reshape(-1, 2).all(axis=1)
        assert (entropy(l).complies(union) | ~both).all()


def test_entropy_has_no_slack():
    """(n, n + 1) falls short of ln 2 by 1/(8 n^2) or so: at n = 10^8 no float can tell."""
    table = counts([[10**8, 10**8], [10**8, 10**8 + 1]])
    assert entropy(2).complies(table).tolist() == [True, False]
    assert entropy(2).attained(table)["l"] < 2
    assert entropy(2).attained(counts([[7, 7], [3, 3]])) == {"l": 2.0}


def test_entropy_of_uneven_shares_can_be_met_exactly():
    """Shares of 1/2 and four of 1/8: 8^8 = 4^8 * 4^4, so that exp(H) is 4 to the last digit."""
    assert is_as_even_as((4, 1, 1, 1, 1), Fraction(4))
    assert not is_as_even_as((4, 1, 1, 1, 1), 4 + Fraction(1, 10**60))
    assert [is_as_even_as((2, 1, 1), Fraction(l, 1000)) for l in (2828, 2829)] == [True, False]  # the root of 8


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.fractions(1, 6, max_denominator=6))
@naive.examples(200)
def test_entropy_is_compared_as_whole_numbers(rows, least):
    total = sum(rows)
    holds = total**total * least.denominator**total >= least.numerator**total * prod(n**n for n in rows)
    assert entropy(least).complies(counts([rows])).tolist() == [holds]
    assert entropy(entropy(1).attained(counts([rows]))["l"]).complies(counts([rows])).all()
