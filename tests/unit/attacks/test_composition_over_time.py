"""The composition attack release after release finds what it finds over all of them at once."""

from collections import Counter
from fractions import Fraction

import naive
import naive_beliefs
import naive_republish
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.attacks import composition_over_time
from shoal.attacks.composition_over_time import Candidates, PossibleWorlds, finding_of_candidates, sets_of

VALUES = ["a", "b", "c", None]


@st.composite
def releases(draw):
    """Some releases of six people: the class of each, or none, and the value of each."""
    people = 6
    return [
        (
            np.array(draw(st.lists(st.integers(-1, 2), min_size=people, max_size=people)), np.int32),
            np.array(draw(st.lists(st.integers(0, 3), min_size=people, max_size=people)), np.int32),
        )
        for _ in range(draw(st.integers(1, 4)))
    ]


@naive.examples(200)
@given(releases())
def test_the_values_left_are_those_of_brute_force(drawn):  # S3.10
    candidates, all_told = Candidates.empty(VALUES, 6), []
    for shown, value in drawn:
        there = shown >= 0
        candidates = candidates.add_release(shown, sets_of(shown[there], value[there], 3, 4))
        rows = [(int(c), VALUES[v]) for c, v in zip(shown[there], value[there], strict=True)]
        of = {person: int(shown[person]) for person in np.flatnonzero(there).tolist()}
        all_told.append(naive_republish.SeenRelease(rows, of))
    left = naive_republish.intersected_values(all_told)
    for person in range(6):
        if person in left:
            flags = candidates.flags()[candidates.of[person]]
            assert {value for value, flag in zip(VALUES, flags, strict=True) if flag} == left[person]
            assert candidates.count_left()[person] == len(left[person] - {None})
        else:
            assert candidates.of[person] == -1
    found = finding_of_candidates({"ill": candidates}, {"ill": 2}, len(drawn), len(left))
    assert found.exposed == sum(len(each - {None}) < 2 for each in left.values())
    assert found.of == len(left)


def test_null_may_be_missing_later():
    before = Candidates.empty(["b", None], 1).add_release(np.array([0]), sets_of([0, 0], [0, 1], 1, 2))
    assert before.with_values(["a", "b"]).flags().tolist() == [[False, True]]


def test_values_of_later_tables_are_further_bits():
    before = Candidates.empty(["b", None], 1).add_release(np.array([0]), sets_of([0, 0], [0, 1], 1, 2))
    after = before.with_values(["a", "b", "c", None])
    assert after.flags()[after.of[0]].tolist() == [False, True, False, True]
    assert after.add_people(1).of.tolist() == [0, -1]


BOB_AND_ANN = [
    naive_republish.SeenRelease([("*", "d"), ("*", "a")], {"bob": "*", "ann": "*"}),
    naive_republish.SeenRelease(
        [("*", value) for value in "dadddefg"],
        dict.fromkeys(["bob", "f1", "f2", "f3", "m1", "m2", "m3"], "*"),
        Counter({"*": 1}),
    ),
]
"""Bob (f, d), Ann (m, a); then, without Ann, three more (f, d), (m, e), (m, f), (m, g), and an a that shows nobody."""


def weigh(seen):
    """The worlds of releases as the oracle has them, and the people, values and classes behind the numbers."""
    people = list(dict.fromkeys(person for each in seen for person in each.of))
    values = sorted({value for each in seen for _, value in each.rows}, key=str)
    classes, counts = [], []
    for each in seen:
        names = list(each.held)
        classes.append(np.array([names.index(each.of[who]) if who in each.of else -1 for who in people], np.int32))
        counts.append(np.array([[each.held[name][value] for value in values] for name in names], np.int64))
    return PossibleWorlds.of(classes, counts), people, values


def test_840_of_1050_worlds_tell_the_value():
    """m-invariant groups that look alike: a, d is Bob's signature, and d has 0.8 (issue of unlike groups)."""
    worlds, shares = naive_beliefs.posteriors(BOB_AND_ANN)["bob", 0]
    assert (worlds, shares["d"]) == (1050, Fraction(840, 1050))
    found, people, values = weigh(BOB_AND_ANN)
    bob = found.kind[people.index("bob")]
    assert dict(zip(values, found.beliefs[bob], strict=True)) == {v: shares.get(v, 0) for v in values}
    assert found.flag_believed(Fraction(1, 2))[bob]
    assert not found.flag_believed(Fraction(4, 5))[bob]


@st.composite
def histories(draw):
    """Some releases of up to seven people and of rows that show nobody; one world that gives them."""
    people = draw(st.integers(1, 7))
    value = draw(st.lists(st.sampled_from("abc"), min_size=people, max_size=people))
    seen = []
    for _ in range(draw(st.integers(1, 3))):
        of = {
            who: where for who in range(people) if (where := draw(st.sampled_from([None, 0, 0, 1, 1, 2]))) is not None
        }
        fakes = draw(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc")), max_size=2))
        rows = [(where, value[who]) for who, where in of.items()] + fakes
        if rows:
            seen.append(naive_republish.SeenRelease(rows, of, Counter(where for where, _ in fakes)))
    return seen or [naive_republish.SeenRelease([(0, "a")], {0: 0})]


@naive.examples(60)
@given(histories())
def test_the_oracle_counts_every_world(seen):
    if len(naive_beliefs.unknowns(seen)) > 7:
        return
    worlds = list(naive_beliefs.list_worlds(seen))
    for unknown, (_, shares) in naive_beliefs.posteriors(seen).items():
        counts = Counter(world[unknown] for world in worlds)
        assert shares == {value: Fraction(many, len(worlds)) for value, many in counts.items()}


@naive.examples(400)
@given(histories())
def test_worlds_of_small_blocks_are_counted_exactly(seen):
    found, people, values = weigh(seen)
    assert found.exact.all()
    shares = found.highest_shares()
    for number, person in enumerate(people):
        kind = found.kind[number]
        _, believed = naive_beliefs.posteriors(seen)[person, 0]
        exact = found.beliefs.get(kind, [Fraction(int(each), int(found.sizes[kind])) for each in found.most[kind]])
        assert list(exact) == [believed.get(value, 0) for value in values]
        assert shares[kind].tolist() == pytest.approx([float(each) for each in exact])
        for limit in (Fraction(1, 3), Fraction(1, 2), Fraction(2, 3)):
            assert found.flag_believed(limit)[kind] == (max(believed.values()) > limit)


@naive.examples(400)
@given(histories())
def test_bounds_hold_where_worlds_are_not_counted(seen):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(composition_over_time, "_STEPS", 0)
        found, people, values = weigh(seen)
    assert not found.beliefs
    assert not found.contradictory.any()
    shares = found.highest_shares()
    for number, person in enumerate(people):
        kind = found.kind[number]
        _, believed = naive_beliefs.posteriors(seen)[person, 0]
        for code, value in enumerate(values):
            assert shares[kind, code] >= float(believed.get(value, 0)) - 1e-12
            assert found.possible[kind, code] or value not in believed
        for limit in (Fraction(1, 3), Fraction(1, 2)):
            assert found.flag_believed(limit)[kind] >= (max(believed.values()) > limit)


def test_values_that_can_be_exchanged_bound_belief_in_large_blocks():
    """600 people in groups of three values each, regrouped: too many worlds to count, and everybody has 1/3."""
    people = np.arange(600)
    classes = [people // 3, people % 200]
    found = PossibleWorlds.of(classes, [np.ones((200, 3), np.int64)] * 2)
    assert not found.exact.any()
    assert found.highest_shares().max() == 1 / 3
    assert not found.flag_believed(Fraction(1, 3)).any()
    assert found.flag_believed(Fraction(33, 100)).all()


def test_a_contradiction_stays_in_its_block():
    """Two people with u and v, then u and w: one has changed. Others are weighed as ever."""
    classes = [np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2])]
    counts = [np.array([[1, 1, 0], [1, 1, 0]]), np.array([[1, 0, 1], [1, 0, 0], [0, 1, 0]])]
    found = PossibleWorlds.of(classes, counts)
    assert found.contradictory[found.kind].tolist() == [True, True, False, False]
    assert found.possible[found.kind][2:].tolist() == [[True, False, False], [False, True, False]]
