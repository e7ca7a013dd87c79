"""Shares of values and of labels, against sums that are written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_attacks import release, table

from shoal.attacks.label_sets import covered_by_labels, marginal, meaning_of, spread_over_runs, sum_runs
from shoal.attacks.singling_out import class_weights

RUNS = st.integers(1, 40).flatmap(
    lambda size: st.tuples(
        st.just(size),
        st.lists(st.tuples(st.integers(0, size), st.integers(0, size)).map(sorted), min_size=1, max_size=9),
    )
)


@given(RUNS)
def test_sums_of_runs(case):
    size, runs = case
    amounts = np.arange(1.0, size + 1)
    start, stop = np.array(runs).T
    assert sum_runs(amounts, start, stop).tolist() == [float(amounts[a:b].sum()) for a, b in runs]


@given(RUNS)
def test_what_is_spread_over_runs(case):
    size, runs = case
    given_out = np.arange(1.0, len(runs) + 1)
    start, stop = np.array(runs).T
    wanted = [float(sum(g for g, (a, b) in zip(given_out, runs, strict=True) if a <= i < b)) for i in range(size)]
    assert spread_over_runs(given_out, start, stop, size).tolist() == wanted


def test_small_amounts_beside_large_ones_are_kept():
    start, stop = np.array([1]), np.array([2])
    assert sum_runs(np.array([1e40, 1.0, 1e40]), start, stop).tolist() == [1.0]


LABELS = st.one_of(
    st.integers(0, 30).map(str),
    st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted).map(lambda ends: f"[{ends[0]}, {ends[1] + 1})"),
    st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted).map(lambda ends: f"[{ends[0]}, {ends[1]}]"),
    st.lists(st.integers(0, 30), min_size=1, max_size=3, unique=True).map(
        lambda numbers: "{" + " | ".join(map(str, numbers)) + "}"
    ),
    st.sampled_from(["*", "<9", "≥20", "[1.5, 2.5)", None]),
)


@given(st.lists(LABELS, min_size=1, max_size=12), st.none() | st.lists(st.integers(0, 35).map(str), min_size=1))
def test_stretches_of_numbers_weigh_as_much_as_all_their_numbers(labels, people):
    published = release("a", [], a=labels)
    control = None if people is None else table(a=people)
    known = () if control is None else (control["a"],)
    found = []
    for listed in (True, False):
        meaning = meaning_of(published, "a", *known, listed=listed)
        found.append(covered_by_labels(meaning, marginal(published, "a", meaning, control)).tolist())
    assert found[0] == pytest.approx(found[1])
    if people is None:
        whole = meaning_of(published, "a")
        share = marginal(published, "a", whole)
        assert found[0] == pytest.approx((whole.covered @ share).tolist())


def test_many_wide_ranges_take_little_room():
    """10,000 labels over ten million numbers: a matrix of both would have 10^11 cells."""
    labels = [f"[{i * 1000}, {(i + 1) * 1000 + 500})" for i in range(10_000)]
    published = release("a", [], a=labels)
    meaning = meaning_of(published, "a", listed=False)
    assert meaning.column.size == 19_999
    found = class_weights(published)
    # half of the numbers lie in two ranges and have two thirds of the mass: 2/3 · 2 + 1/3 · 1
    assert found.sum() == pytest.approx(5 / 3, abs=1e-3)
