import re
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples
from naive_attacks import release, same_rows, table

from shoal.attacks.definetti import DeFinetti, MemberGroups
from shoal.attacks.release_under_attack import Published
from shoal.errors import BadInput


def grouped(quasi, values, groups):
    """People as they are, in groups whose values stand elsewhere: Anatomy."""
    whole = release(quasi, s=list(values), **quasi)
    classes = release("g", s=list(values), g=[str(g) for g in groups])
    return replace(whole, class_of_row=classes.class_of_row, counts=classes.counts)


def generated(seed, dependence, people=4_000):
    """A value that goes with two quasi-identifiers, or with none; groups of four at random."""
    random = np.random.default_rng(seed)
    values = random.choice(5, people, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    noise = random.integers(0, 5, (2, people))
    keep = random.random((2, people)) < dependence
    quasi = {name: [str(v) for v in np.where(keep[i], values, noise[i])] for i, name in enumerate("ab")}
    groups = random.permutation(people) // 4
    return quasi, [str(v) for v in values], groups


def attacked(seed, dependence) -> tuple:
    quasi, values, groups = generated(seed, dependence)
    found = DeFinetti(seed=seed).on(grouped(quasi, values, groups), same_rows(table(**quasi, s=values)))
    return found.success.interval, found.baseline.interval


@pytest.mark.parametrize("seed", [1, 2])
def test_groups_teach_what_goes_with_what(seed):
    success, baseline = attacked(seed, 0.7)
    assert success[0] > baseline[1]  # Wilson's intervals do not meet


@pytest.mark.parametrize(
    ("dependence", "said"),
    [
        (0.7, r"the attacker is at least 90% sure of [0-9,]+ and right about [0-9,]+: better than guessing, so these"),
        (0.0, r"the attacker believes to be at least 90% sure of .* but is right about [0-9,]+: all in all no better"),
    ],
)
def test_the_sentence_says_whether_it_is_better_than_guessing(dependence, said):
    quasi, values, groups = generated(1, dependence)
    found = DeFinetti(seed=1).on(grouped(quasi, values, groups), same_rows(table(**quasi, s=values)))
    assert re.search(said, found.sentence)


@pytest.mark.parametrize("seed", [1, 2])
def test_where_nothing_goes_with_it_nothing_is_learned(seed):
    success, baseline = attacked(seed, 0.0)
    assert success[0] <= baseline[1]


def test_generalised_classes_are_attacked_by_who_knows_everybody():
    quasi, values, groups = generated(3, 0.8)
    published = release("g", s=values, g=[f"{g}*" for g in groups])
    published = replace(published, quasi_identifiers={"a": published.quasi_identifiers["g"]})
    with pytest.raises(BadInput, match="look alike"):
        DeFinetti().on(published)
    found = DeFinetti().on(published, same_rows(table(a=quasi["a"], s=values)))
    assert found.success.interval[0] > found.baseline.interval[1]


def test_the_same_seed_gives_the_same():
    quasi, values, groups = generated(4, 0.5, 200)
    published = grouped(quasi, values, groups)
    assert DeFinetti(seed=7).on(published) == DeFinetti(seed=7).on(published)


def exactly(likelihoods, values):
    """Of all permutations, weighted by their likelihood: how likely each member has each value."""
    out = np.zeros_like(likelihoods)
    for order in permutations(values):
        weight = np.exp(sum(likelihoods[i, v] for i, v in enumerate(order)))
        for i, v in enumerate(order):
            out[i, v] += weight
    return out / out.sum(axis=1, keepdims=True)


@st.composite
def weighted_groups(draw, size):
    values = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    numbers = st.lists(st.floats(-1, 1), min_size=3, max_size=3)
    return values, np.array([draw(numbers) for _ in range(size)])


@examples(100)
@given(weighted_groups(2))
def test_pairs_are_exact(drawn):
    values, likelihoods = drawn
    groups = MemberGroups(np.zeros(2, dtype=np.int64), np.bincount(values, minlength=3)[None])
    assert groups.likely(likelihoods) == pytest.approx(exactly(likelihoods, values), abs=0.01)


@examples(100)
@given(weighted_groups(4))
def test_larger_groups_are_near_the_permutations(drawn):
    values, likelihoods = drawn
    groups = MemberGroups(np.zeros(4, dtype=np.int64), np.bincount(values, minlength=3)[None])
    found, wanted = groups.likely(likelihoods), exactly(likelihoods, values)
    assert found.sum(axis=1) == pytest.approx(np.ones(4))
    assert found.sum(axis=0) == pytest.approx(np.bincount(values, minlength=3), abs=1e-2)
    best = np.take_along_axis(wanted, found.argmax(axis=1)[:, None], axis=1).sum()
    assert best >= 0.9 * wanted.max(axis=1).sum()  # guesses that are as often right, nearly


@pytest.mark.parametrize(
    ("how", "said"),
    [({"rounds": 0}, "rounds"), ({"sure": 2}, "sure"), ({"seed": 0.5}, "whole number"), ({"attribute": "x"}, "'x'")],
)
def test_bad_options(how, said):
    quasi, values, groups = generated(4, 0.5, 20)
    with pytest.raises(BadInput, match=said):
        DeFinetti(**how).on(grouped(quasi, values, groups))


def test_no_sensitive_attribute():
    with pytest.raises(BadInput, match="no sensitive attribute"):
        DeFinetti().on(Published.of("r", table(a=["1", "2"]), ["a"], []))
