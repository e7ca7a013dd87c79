"""δ-disclosure privacy."""

from dataclasses import replace
from math import inf, log, log2, nextafter

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.models.disclosure import DeltaDisclosure
from shoal.models.model import Closure, Need


def table(rows, reference=None, labels=None):
    dense = np.array(rows, np.int64).reshape(len(rows), -1)
    classes, codes = np.nonzero(dense)
    overall = None if reference is None else np.array(reference, np.int64)
    names = labels or [f"v{i}" for i in range(dense.shape[1])]
    long = ValueCounts(classes, codes, dense[classes, codes], names, len(dense), overall)
    return ClassCounts(dense.sum(axis=1), {"s": long})


@pytest.mark.parametrize(("base", "lenient"), [("e", 0.511), (2, 0.737)])
def test_the_worked_example(base, lenient):
    """models.md 1.10: p = (.5, .3, .2), q = (.5, .5, 0): lenient ln 0.511, log2 0.737; strict infinite."""
    counts = table([[5, 5, 0]], [5, 3, 2])
    strict = DeltaDisclosure(1, "violates", base, "s").attained(counts)
    assert strict["delta"] is strict["strict"] is None
    assert strict["lenient"] == pytest.approx(lenient, abs=5e-4)
    assert DeltaDisclosure(1, "skip", base, "s").attained(counts)["delta"] == strict["lenient"]
    assert DeltaDisclosure(1, "skip", base, "s").complies(counts).all()
    assert not DeltaDisclosure(10**6, "violates", base, "s").complies(counts).any()


def test_closure():
    """models.md 0: skipping what is absent, {(0,3,2),(3,3,3),(1,3,0)} goes from .405 to .693 when classes merge."""
    rows = [[0, 3, 2], [3, 3, 3], [1, 3, 0]]
    model = DeltaDisclosure(9, "skip", "e", "s")
    assert model.attained(table(rows))["delta"] == pytest.approx(0.405, abs=5e-4)
    assert model.attained(table([[1, 6, 2], rows[1]]))["delta"] == pytest.approx(0.693, abs=5e-4)
    assert model.merging is Closure.NOT
    assert DeltaDisclosure(9).merging is Closure.UNION
    assert DeltaDisclosure(9, reference="release").merging is Closure.NOT


def test_parts():
    """How frequent a value may be is closed, even where absent values are skipped."""
    part, likeness = DeltaDisclosure(2, "skip", 2, "s").parts()
    assert part == DeltaDisclosure(2, "skip", 2, "s")
    assert (likeness.beta, likeness.merging) == (pytest.approx(3), Closure.UNION)
    assert likeness.complies(table([[4, 4]], [2, 14])).all()  # 4 times as frequent
    assert not likeness.complies(table([[5, 3]], [2, 14])).any()
    for whole in (DeltaDisclosure(2), DeltaDisclosure(10**6, "skip")):
        assert list(whole.parts()) == [whole]


def test_reference():
    """Design 3; models.md 0, M3: {(2,3,3),(3,3,3),(2,3,2)} without the last goes from .1542 to .1625."""
    rows = [[2, 3, 3], [3, 3, 3], [2, 3, 2]]
    whole = [7, 9, 8]
    itself = DeltaDisclosure(0.16, "violates", "e", "s", "release")
    assert itself.attained(table(rows, whole))["delta"] == pytest.approx(0.1542, abs=5e-5)
    assert itself.attained(table(rows[:2], whole))["delta"] == pytest.approx(0.1625, abs=5e-5)
    assert itself.holds(table(rows, whole))
    assert not itself.holds(table(rows[:2], whole))
    assert itself.complies(table(rows[:2], whole)).all()
    found = DeltaDisclosure(1, "violates", "e", "s").attained(table(rows[:2], whole))
    assert found["release"]["delta"] == pytest.approx(0.1625, abs=5e-5)
    assert (itself.needs, DeltaDisclosure(1).needs) == (frozenset(), {Need.ORIGINAL})


@naive.examples(300)
@given(
    st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any), min_size=1, max_size=4),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.sampled_from([0.2, 0.5, 1, 2.5]),
    st.sampled_from(["e", 2]),
)
def test_delta_disclosure_follows_its_definitions(rows, more, delta, base):
    whole = [sum(column) + extra for column, extra in zip(zip(*rows, strict=True), more, strict=True)]
    logarithm = log2 if base == 2 else log
    lenient = [
        max(abs(logarithm(n * sum(whole) / (sum(row) * total))) for n, total in zip(row, whole, strict=True) if n)
        for row in rows
    ]
    lacks = [any(total and not n for n, total in zip(row, whole, strict=True)) for row in rows]
    strict = [inf if lack else far for far, lack in zip(lenient, lacks, strict=True)]
    counts = table(rows, whole)
    for absent, expected in (("skip", lenient), ("violates", strict)):
        model = DeltaDisclosure(delta, absent, base, "s")
        assert model.complies(counts).tolist() == [far < delta for far in expected]
        assert expected[model.worst(counts)] == pytest.approx(max(expected))
        found = model.attained(counts)
        most = None if max(expected) == inf else pytest.approx(max(expected))
        assert found["delta"] == most
        assert found["strict"] == (None if max(strict) == inf else pytest.approx(max(strict)))
        assert found["lenient"] == pytest.approx(max(lenient))


@pytest.mark.parametrize("power", range(1, 20))
def test_exact_at_powers_of_two(power):
    """Design 15: |log2 q/p| < δ is strict, and q = 2p is not below 1."""
    times = 2**power
    counts = table([[3, 3 * (times - 1)]], [3, 3 * (times * times - 1)])  # 1/times against 1/times²
    model = DeltaDisclosure(power, "violates", 2, "s")
    assert not model.complies(counts).any()
    assert replace(model, delta=nextafter(float(power), inf)).complies(counts).all()


def test_attained_may_be_asked_for():
    counts = table([[2, 1], [1, 2]])
    found = DeltaDisclosure(9, "violates", "e", "s").attained(counts)["delta"]
    assert found > log(4 / 3)
    assert DeltaDisclosure(found, "violates", "e", "s").complies(counts).all()


def test_null_is_no_value():
    """Design 7: a class that lacks null lacks nothing, unless null is a value."""
    counts = table([[1, 1, 0], [1, 1, 2]], labels=["a", "b", None])
    assert DeltaDisclosure(0.1, "violates", "e", "s").complies(counts).all()
    assert not DeltaDisclosure(9, "violates", "e", "s", null_is_value=True).complies(counts)[0]


def test_a_class_of_nulls_tells_nothing():
    counts = table([[0, 0, 2], [1, 1, 2]], labels=["a", "b", None])
    assert DeltaDisclosure(0.1, "violates", "e", "s").complies(counts).all()


def test_an_empty_table_attains_nothing():
    counts = table([[1]])
    nobody = counts.sensitive["s"].select_classes(np.array([False]))
    empty = replace(counts, sizes=counts.sizes[:0], sensitive={"s": nobody})
    assert DeltaDisclosure(1, attribute="s").attained(empty) == {"delta": 0.0, "strict": 0.0, "lenient": 0.0}
    assert DeltaDisclosure(1, attribute="s").worst(empty) is None


@pytest.mark.parametrize("delta", [0, -0.1, float("nan"), float("inf"), "x", None, True])
def test_delta_is_a_number(delta):
    with pytest.raises(ValueError, match="delta must be a number"):
        DeltaDisclosure(delta)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"absent": "ignore"}, "absent must be 'violates' or 'skip', not 'ignore'"),
        ({"log": 10}, "log must be 'e' or 2, not 10"),
        ({"log": True}, "log must be 'e' or 2, not True"),
    ],
)
def test_settings(how, why):
    with pytest.raises(ValueError, match=why):
        DeltaDisclosure(1, **how)


def test_what_is_measured_asks_nothing():
    (probe,) = DeltaDisclosure.probes("s")
    assert (probe.absent, probe.log, probe.attribute) == ("violates", "e", "s")
    assert probe.complies(table([[9, 1], [1, 9]])).all()
    assert DeltaDisclosure.probes(None) == ()


@pytest.mark.parametrize(("base", "beta"), [("e", 6.38905609893065), (2, 3.0)])
def test_the_limit_on_frequency_alone(base, beta):
    """δ = 2: q/p below e² = 7.389 or 2² = 4, so β = 6.389 or 3."""
    whole, frequency = DeltaDisclosure(2, "skip", base, "s").parts()
    assert whole == DeltaDisclosure(2, "skip", base, "s")
    assert frequency.beta == pytest.approx(beta, rel=1e-9)
    assert frequency.form == "basic"


def test_a_class_of_one_row_lacks_a_value():
    """Of two values it shows one: no δ is enough where that violates."""
    counts = table([[1, 0], [3, 4]])
    assert DeltaDisclosure(5, "violates", "e", "s").complies(counts).tolist() == [False, True]


@pytest.mark.parametrize(
    ("model", "row", "least"),
    [
        # 0.6 of the rest at most: 30 and 20 are left
        (DeltaDisclosure(log(1.2), "skip", "e", "s"), [80, 20], 50),
        (DeltaDisclosure(log2(1.2), "skip", 2, "s"), [80, 20], 50),
        # 0.5 / 1.2 of the rest at least: 7 and 5
        (DeltaDisclosure(log(1.2), "violates", "e", "s"), [95, 5], 88),
        (DeltaDisclosure(10**6, "skip", "e", "s"), [80, 20], 0),
    ],
)
def test_rows_that_must_go(model, row, least):
    assert model.least_removed(table([row], [50, 50])).tolist() == [least]
