"""The composition attack release after release finds what it finds over all of them at once."""

import naive
import naive_republish
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.attacks.composition_over_time import Candidates, sets_of, told

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
def test_what_is_left_is_what_brute_force_leaves(drawn):  # S3.10
    candidates, all_told = Candidates.none(VALUES, 6), []
    for shown, value in drawn:
        there = shown >= 0
        candidates = candidates.after(shown, sets_of(shown[there], value[there], 3, 4))
        rows = [(int(c), VALUES[v]) for c, v in zip(shown[there], value[there], strict=True)]
        of = {person: int(shown[person]) for person in np.flatnonzero(there).tolist()}
        all_told.append(naive_republish.Told(rows, of))
    left = naive_republish.intersected(all_told)
    for person in range(6):
        if person in left:
            flags = candidates.flags()[candidates.of[person]]
            assert {value for value, flag in zip(VALUES, flags, strict=True) if flag} == left[person]
            assert candidates.left()[person] == len(left[person] - {None})
        else:
            assert candidates.of[person] == -1
    found = told({"ill": candidates}, {"ill": 2}, len(drawn), len(left))
    assert found.exposed == sum(len(each - {None}) < 2 for each in left.values())
    assert found.of == len(left)


def test_null_may_be_missing_later():
    before = Candidates.none(["b", None], 1).after(np.array([0]), sets_of([0, 0], [0, 1], 1, 2))
    assert before.among(["a", "b"]).flags().tolist() == [[False, True]]


def test_values_of_later_tables_are_further_bits():
    before = Candidates.none(["b", None], 1).after(np.array([0]), sets_of([0, 0], [0, 1], 1, 2))
    after = before.among(["a", "b", "c", None])
    assert after.flags()[after.of[0]].tolist() == [False, True, False, True]
    assert after.joined_by(1).of.tolist() == [0, -1]
