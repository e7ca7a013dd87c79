"""(ε,m)-anonymity."""

from dataclasses import replace
from fractions import Fraction

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.errors import BadPolicy
from shoal.models.model import Closure
from shoal.models.proximity import EpsilonM


def table(*classes):
    """Classes given by their numbers, as texts."""
    labels = list(dict.fromkeys(text for one in classes for text in one))
    dense = np.array([[one.count(label) for label in labels] for one in classes], np.int64).reshape(len(classes), -1)
    at, codes = np.nonzero(dense)
    return ClassCounts(dense.sum(axis=1), {"s": ValueCounts(at, codes, dense[at, codes], labels, len(classes))})


def test_the_worked_examples():
    """models.md 1.8: {40, 60} complies with ε = 15, m = 2; {40, 50, 60} does not."""
    counts = table(["40", "60"], ["40", "50", "60"])
    assert EpsilonM(15, 2, "s").complies(counts).tolist() == [True, False]
    assert EpsilonM(15, 2, "s").attained(counts) == {"m": 1}
    assert EpsilonM(15, 2, "s").worst(counts) == 1


def test_merging_can_break_it():
    """models.md 0, M1: values 0..3, (1,2,0,3) and (3,0,3,0) comply with ε = 1, m = 2; (4,2,3,3) does not."""
    one, other = [*"011333"], [*"000222"]
    assert EpsilonM(1, 2, "s").complies(table(one, other)).tolist() == [True, True]
    assert EpsilonM(1, 2, "s").complies(table(one + other)).tolist() == [False]
    assert EpsilonM.closure is Closure.NOT


numbers = st.sampled_from(["-3", "-1.5", "0", "0.1", "0.3", "1", "1.0", "2", "2.5", "10", "1000000000000000000000"])


@naive.examples(300)
@given(
    st.lists(st.lists(numbers, min_size=1, max_size=7), min_size=1, max_size=4),
    st.sampled_from([0, 0.1, 0.2, 0.5, 1.0]),
    st.integers(1, 4),
    st.booleans(),
)
def test_epsilon_m_follows_its_definition(classes, epsilon, m, relative):
    model, exactly = EpsilonM(epsilon, m, "s", relative), Fraction(repr(epsilon))
    near = []
    for one in classes:
        xs = [Fraction(text) for text in one]
        near.append(max(sum(abs(y - x) <= exactly * (abs(x) if relative else 1) for y in xs) for x in xs))
    sizes = [len(one) for one in classes]
    counts = table(*classes)
    assert model.complies(counts).tolist() == [m * n <= size for n, size in zip(near, sizes, strict=True)]
    assert model.attained(counts) == {"m": min(size // n for n, size in zip(near, sizes, strict=True))}
    shares = [Fraction(n, size) for n, size in zip(near, sizes, strict=True)]
    assert shares[model.worst(counts)] == max(shares)


def test_exact_at_the_edge():
    """Design 15: 0.3 lies within 0.1 of 0.2 and 0.4, though floats say otherwise."""
    counts = table(["0.2", "0.3", "0.4", "9"])
    assert EpsilonM(0.1, 1, "s").attained(counts) == {"m": 1}
    assert EpsilonM(0.09999999999999999, 4, "s").complies(counts).all()


def test_null_is_no_number():
    """Design 7: neither near anything nor one of those who hide it."""
    counts = table(["1", "5", None, None])
    assert EpsilonM(1, 2, "s").complies(counts).all()
    assert EpsilonM(1, 2, "s").attained(counts) == {"m": 2}
    assert not EpsilonM(1, 3, "s").complies(counts).any()
    assert EpsilonM(1, 3, "s").complies(table([None, None])).all()
    assert EpsilonM(1, 3, "s").attained(table([None])) == {"m": 0}
    assert EpsilonM(1, 3, "s").worst(table([None])) is None


def test_text_is_refused_without_the_cell():
    with pytest.raises(BadPolicy, match="epsilon-m: 's' holds values that are not plain numbers") as refused:
        EpsilonM(1, 2, "s").impossible(table(["1", "secret"]), 0)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("model", "suppressible", "why"),
    [
        (
            EpsilonM(2, 2, "s"),
            0,
            "at least 4 of 6 values of 's' lie within 2 of each other, more than one in m=2",
        ),
        (
            EpsilonM(2, 2, "s"),
            1,
            "at least 3 of 5 values of 's' that are kept lie within 2 of each other, more than one in m=2",
        ),
        (EpsilonM(2, 2, "s"), 2, None),
        (EpsilonM(1, 2, "s"), 0, None),  # 1, 2 and 3 are near 2, but not each other
        (
            EpsilonM(0.5, 3, "s", relative=True),
            0,
            "at least 3 of 6 values of 's' lie within 0.5 times the least of them of each other, more than one in m=3",
        ),
    ],
)
def test_impossible(model, suppressible, why):
    assert model.impossible(table(["1", "2", "3", "3", "50", "90"]), suppressible) == why


def test_impossible_is_not_said_of_persons():
    """A person may have two numbers that are near each other."""
    counts = table(["1", "2"])
    long = replace(counts.sensitive["s"], holders=np.array([2]), everyone=np.array([2]))
    assert EpsilonM(2, 2, "s").impossible(replace(counts, sensitive={"s": long}), 0) is None


def test_not_measured_without_an_epsilon():
    assert list(EpsilonM.probes("s")) == []


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"epsilon": -1}, "epsilon must be a number of at least 0, not -1"),
        ({"epsilon": "x"}, "epsilon must be a number, not 'x'"),
        ({"m": 0}, "m must be a whole number of at least 1, not 0"),
        ({"m": 1.5}, "m must be a whole number of at least 1, not 1.5"),
        ({"relative": 1}, "relative must be true or false, not 1"),
        ({"relative": True, "epsilon": 1.5}, "a relative epsilon must lie from 0 to 1, not 1.5"),
    ],
)
def test_bad_parameters(how, why):
    with pytest.raises(ValueError, match=why):
        EpsilonM(**{"epsilon": 1, "m": 2} | how)
