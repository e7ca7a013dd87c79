"""β-likeness."""

from dataclasses import replace
from fractions import Fraction
from math import log

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.models.likeness import BetaLikeness
from shoal.models.model import Closure, Need


def table(rows, reference=None, labels=None):
    dense = np.array(rows, np.int64).reshape(len(rows), -1)
    classes, codes = np.nonzero(dense)
    overall = None if reference is None else np.array(reference, np.int64)
    names = labels or [f"v{i}" for i in range(dense.shape[1])]
    long = ValueCounts(classes, codes, dense[classes, codes], names, len(dense), overall)
    return ClassCounts(dense.sum(axis=1), {"s": long})


def test_the_worked_example():
    """models.md 1.11: p = (.5, .3, .2), q = (.5, .5, 0): basic 0.667."""
    counts = table([[5, 5, 0]], [5, 3, 2])
    attained = BetaLikeness(1, "basic", "s").attained(counts)
    assert attained["beta"] == attained["basic"] == attained["enhanced"] == pytest.approx(2 / 3)
    assert BetaLikeness(0.67, "basic", "s").complies(counts).all()
    assert not BetaLikeness(0.66, "basic", "s").complies(counts).any()


@pytest.mark.parametrize(
    ("counts", "complies"),
    [([846, 92, 62], True), ([847, 92, 61], False), ([0, 600, 400], True), ([0, 601, 399], False)],
)
def test_the_bounds_of_the_enhanced_form(counts, complies):
    """models.md 1.11: for β = 1 the gains of .5, .3 and .2 may be .693, 1 and 1."""
    assert BetaLikeness(1, "enhanced", "s").complies(table([counts], [5, 3, 2])).tolist() == [complies]


def test_no_beta_is_enough_where_the_logarithm_is_less():
    counts = table([[9, 1], [1, 9]])
    assert BetaLikeness(1, "enhanced", "s").attained(counts) == {"beta": None, "basic": 0.8, "enhanced": None}
    assert BetaLikeness(1, "basic", "s").attained(counts)["beta"] == 0.8
    assert not BetaLikeness(100, "enhanced", "s").complies(counts).any()


def test_a_value_of_everybody_gains_nothing():
    """-ln 1 = 0: rounding must not make it a violation."""
    assert BetaLikeness(0, "enhanced", "s").complies(table([[3], [7]])).all()


@naive.examples(300)
@given(
    st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any), min_size=1, max_size=4),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.sampled_from([0, 0.3333333333333333, 0.5, 1, 2.5]),
)
def test_beta_likeness_follows_its_definitions(rows, more, beta):
    whole = [sum(column) + extra for column, extra in zip(zip(*rows, strict=True), more, strict=True)]
    shares = [Fraction(n, sum(whole)) for n in whole]
    gains = [
        [Fraction(n, sum(row)) / p - 1 if p else Fraction(0) for n, p in zip(row, shares, strict=True)] for row in rows
    ]
    counts = table(rows, whole)
    limit = Fraction(repr(beta))
    basic, enhanced = BetaLikeness(beta, "basic", "s"), BetaLikeness(beta, "enhanced", "s")
    assert basic.complies(counts).tolist() == [all(gain <= limit for gain in row) for row in gains]
    under = [[gain <= (-log(p) if p else 0) + 1e-12 for gain, p in zip(row, shares, strict=True)] for row in gains]
    expected = [all(g <= limit for g in gain) and all(fits) for gain, fits in zip(gains, under, strict=True)]
    assert enhanced.complies(counts).tolist() == expected
    most = max(max(row) for row in gains)
    found = basic.attained(counts)
    assert Fraction(repr(found["beta"])) >= most
    assert found["basic"] == pytest.approx(float(most), rel=1e-12)
    assert found["enhanced"] == (found["basic"] if all(map(all, under)) else None)
    assert max(gains[basic.worst(counts)]) == most


@pytest.mark.parametrize("times", [1, 10**5, 10**9])
def test_exact_at_the_threshold(times):
    """Design 15: a gain of one third."""
    counts = table([[2 * times, times], [times, 2 * times]], [3 * times, 3 * times])
    assert BetaLikeness(0.33333333333333337, "basic", "s").complies(counts).all()
    assert not BetaLikeness(0.3333333333333333, "basic", "s").complies(counts).any()


def test_reference():
    """Design 3; models.md 0, M3: {(3,1,0),(3,0,1),(0,1,1)} without the first goes from 1.5 to 2.0."""
    rows = [[3, 1, 0], [3, 0, 1], [0, 1, 1]]
    whole = [6, 2, 2]
    itself = BetaLikeness(1.5, "basic", "s", "release")
    assert itself.holds(table(rows, whole))
    assert not itself.holds(table(rows[1:], whole))
    assert itself.attained(table(rows[1:], whole))["beta"] == 2.0
    assert BetaLikeness(1.5, "basic", "s").complies(table(rows[1:], whole)).all()
    found = BetaLikeness(1.5, "basic", "s").attained(table(rows[1:], whole))
    assert (found["beta"], found["release"]["beta"]) == (1.5, 2.0)
    assert (itself.needs, itself.merging, itself.table_wide) == (frozenset(), Closure.NOT, True)
    assert BetaLikeness(1).needs == {Need.ORIGINAL}


def test_null_is_no_value():
    """Design 7."""
    counts = table([[1, 1, 0], [0, 1, 2]], labels=["a", "b", None])
    assert BetaLikeness(9, "basic", "s").attained(counts)["beta"] == 0.5
    assert BetaLikeness(9, "basic", "s", null_is_value=True).attained(counts)["beta"] == pytest.approx(1.5)


def test_a_value_that_the_reference_lacks_is_never_like():
    counts = table([[1, 1]], [5, 0])
    assert BetaLikeness(10**6, "basic", "s").complies(counts).tolist() == [False]
    assert BetaLikeness(1, "basic", "s").attained(counts)["beta"] is None


def test_an_empty_table_attains_nothing():
    counts = table([[1]])
    nobody = counts.sensitive["s"].select_classes(np.array([False]))
    empty = replace(counts, sizes=counts.sizes[:0], sensitive={"s": nobody})
    assert BetaLikeness(1, "enhanced", "s").attained(empty) == {"beta": 0.0, "basic": 0.0, "enhanced": 0.0}
    assert BetaLikeness(1, "enhanced", "s").worst(empty) is None


@pytest.mark.parametrize("beta", [-0.1, float("nan"), float("inf"), "x", None, True])
def test_beta_is_a_number(beta):
    with pytest.raises(ValueError, match="beta must be a number"):
        BetaLikeness(beta)


def test_settings():
    with pytest.raises(ValueError, match="form must be 'basic' or 'enhanced', not 'strong'"):
        BetaLikeness(1, "strong")
    with pytest.raises(ValueError, match="reference must be 'original' or 'release', not None"):
        BetaLikeness(1, reference=None)


def test_the_worst_class_gains_most():
    """Shares .5 and .5: 3 of 4 in the second class, 2 of 3 in the first; the enhanced form looks at −ln p first."""
    assert BetaLikeness(1, "basic", "s").worst(table([[2, 1], [1, 3]], [5, 5])) == 1
    # of p = (.9, .1): (10, 0) gains 0.11 > −ln .9 = 0.105, which no β allows; (8, 2) gains 1, and β = 1 allows it
    two = table([[8, 2], [10, 0]], [9, 1])
    assert BetaLikeness(1, "enhanced", "s").worst(two) == 1
    assert BetaLikeness(1, "basic", "s").worst(two) == 0
    assert BetaLikeness(1, "basic", "s").worst(table([[4]], labels=[None])) is None


def test_what_is_measured_asks_nothing():
    (probe,) = BetaLikeness.probes("s")
    assert (probe.form, probe.attribute) == ("basic", "s")
    assert probe.complies(table([[9, 1], [1, 9]])).all()
    assert BetaLikeness.probes(None) == ()


def test_a_public_model_is_compared_with_the_release():
    """The distribution of the original would tell of rows that were left out."""
    model = BetaLikeness(1, "basic", "s")
    assert model.needs == {Need.ORIGINAL}
    assert model.public == replace(model, reference="release")
    assert model.public.needs == frozenset()


def test_the_enhanced_form_limits_shares_by_the_logarithm():
    """A share may rise to p (1 + min(β, −ln p)); a value that the table lacks may not occur."""
    values = table([[1, 3, 0]], [1, 3, 0]).sensitive["s"]
    limits = BetaLikeness(1, "enhanced", "s")._value_limits(values).upper
    assert limits == pytest.approx([0.25 * 2, 0.75 * (1 + log(4 / 3)), 0], abs=1e-6)
    assert BetaLikeness(0.1, "enhanced", "s")._value_limits(values).upper == pytest.approx([0.275, 0.825, 0])
    alone = table([[1]]).sensitive["s"]
    assert BetaLikeness(1, "basic", "s")._value_limits(alone).upper.tolist() == [2.0]


def test_a_value_of_one_row_has_its_own_logarithm():
    """p = 1/20 and q = 1/6: the gain 2.33 lies between ln 10 and ln 20."""
    assert BetaLikeness(10, "enhanced", "s").complies(table([[1, 5], [0, 14]]))[0]


def test_a_value_that_the_reference_has_once_is_known():
    """The gain of a value with p = 1/4 in a class of 2 is 1, and not without end."""
    assert BetaLikeness(1, "basic", "s").worst(table([[1, 1], [0, 2]])) == 0
    assert BetaLikeness(1, "basic", "s").worst(table([[1, 1, 0], [0, 0, 2]], [1, 3, 0])) == 1
