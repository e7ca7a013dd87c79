"""Folds: disjoint, balanced, the same for the same seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples

import shoal as sh
from shoal.mining.cross_validation import assign_folds


@examples(200)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=60), st.data())
def test_every_class_is_dealt_evenly(classes, data):
    folds = data.draw(st.integers(2, len(classes)))
    seed = data.draw(st.integers(0, 5))
    codes = np.array(classes, np.int32)
    fold = assign_folds(codes, folds, seed)
    assert fold.tolist() == assign_folds(codes, folds, seed).tolist()
    for some in (codes >= 0, *(codes == each for each in set(classes))):
        sizes = np.bincount(fold[some], minlength=folds)
        assert len(sizes) == folds
        assert sizes.max() - sizes.min() <= 1


@examples(100)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1)), min_size=1, max_size=40), st.integers(0, 3))
def test_a_person_is_in_one_fold(rows, seed):
    persons, classes = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    if len(set(persons.tolist())) < 2:
        with pytest.raises(sh.BadInput, match="at most as many as persons: 1"):
            assign_folds(classes, 2, seed, persons)
        return
    fold = assign_folds(classes, 2, seed, persons)
    for person in set(persons.tolist()):
        assert len(set(fold[persons == person].tolist())) == 1
    assert set(fold.tolist()) == {0, 1}


def test_another_seed_is_another_deal():
    codes = np.zeros(100, np.int32)
    assert assign_folds(codes, 2, 0).tolist() != assign_folds(codes, 2, 1).tolist()


@pytest.mark.parametrize("folds", [1, 4])
def test_too_few_or_too_many_folds_are_refused(folds):
    with pytest.raises(sh.BadInput, match=f"folds = {folds}"):
        assign_folds(np.zeros(3, np.int32), folds, 0)
