"""Runs of codes, the axis on which they lie, and the kernel that joins, each against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples

from shoal import kernels
from shoal.attacks.label_match import Masks
from shoal.attacks.label_sets import LabelRuns

codes = st.integers(0, 11)
families = st.lists(st.sets(codes, max_size=8), min_size=1, max_size=8)


def runs_of(sets):
    pairs = [(label, code) for label, members in enumerate(sets) for code in sorted(members, reverse=True)]
    label, code = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return LabelRuns.of(label, code, code + 1, len(sets), 12)


@given(families)
@examples(200)
def test_an_axis_tells_what_each_label_holds(sets):
    runs = runs_of(sets)
    assert [runs.members(label) for label in range(len(sets))] == [sorted(members) for members in sets]
    axis = runs.axis()
    for label, members in enumerate(sets):
        found = axis.holds(np.full(12, label), axis.place[:12])
        assert np.flatnonzero(found).tolist() == sorted(members)
    assert axis.holds(np.array([0]), np.array([axis.size])).all()  # a null is compatible with all


def test_labels_of_a_hierarchy_become_one_range_each():
    sets = [{0, 2, 4, 6}, {0, 4}, {2, 6}, {1, 3, 5}, {1, 5}, {7}, set(range(12))]
    assert (runs_of(sets).axis().sets == -1).all()


@given(families, st.lists(st.tuples(codes, codes), min_size=1, max_size=6, unique=True))
@examples(100)
def test_points_in_boxes_of_sets(sets, points):
    """Two axes of the same labels; a box per pair of labels."""
    axis = runs_of(sets).axis()
    boxes = [(one, other) for one in range(len(sets)) for other in range(len(sets))]
    labels = np.array(boxes)
    shape = {name: np.ascontiguousarray(getattr(axis, name)[labels]) for name in ("low", "high", "sets")}
    at = np.unique(axis.place[np.array(points)], axis=0).astype(np.int32)
    ones = np.ones(len(boxes), dtype=np.int64)
    rows, *_ = kernels.contained(
        at, *shape.values(), axis.begin, axis.run_low, axis.run_high, ones, np.zeros(len(boxes) + 1, np.int64),
        np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int32), 0,
    )  # fmt: skip
    for point, many in zip(at, rows, strict=True):
        held = [axis.holds(np.arange(len(sets)), np.full(len(sets), place)) for place in point]
        assert many == held[0].sum() * held[1].sum()


@pytest.mark.parametrize(
    "wrong",
    [
        {"low": np.zeros((2, 1), np.int32)},
        {"sets": np.zeros((1, 2), np.int32)},
        {"begin": np.array([0, 5])},
        {"begin": np.array([1, 1])},
        {"rows": np.zeros(3, np.int64)},
        {"values": np.array([7], np.int32), "weights": np.ones(1), "begin": np.array([0, 1])},
        {"attribute": np.array([3], np.int32)},
    ],
)
def test_the_kernel_refuses_reads_outside_its_arrays(wrong):
    given_ = {
        "points": np.zeros((1, 2), np.int32),
        "low": np.zeros((1, 2), np.int32),
        "high": np.zeros((1, 2), np.int32),
        "sets": np.full((1, 2), -1, np.int32),
        "runs": np.zeros(1, np.int64),
        "run_low": np.zeros(0, np.int32),
        "run_high": np.zeros(0, np.int32),
        "rows": np.ones(1, np.int64),
        "begin": np.zeros(2, np.int64),
        "values": np.zeros(0, np.int32),
        "weights": np.zeros(0),
        "attribute": np.zeros(1, np.int32),
        "attributes": 1,
    }
    assert kernels.contained(**given_)[0].tolist() == [1]
    with pytest.raises(ValueError, match=r"\w"):
        kernels.contained(**given_ | wrong)


@given(
    st.lists(st.text("ab1", max_size=4), max_size=8, unique=True),
    st.text("ab1*", min_size=1, max_size=4),
    st.booleans(),
)
@examples(300)
def test_masks_find_what_the_stars_stand_for(texts, label, short):
    def fits(text, pattern):
        if not pattern:
            return not text
        skip = short and pattern[0] == "*" and fits(text, pattern[1:])
        return skip or (bool(text) and pattern[0] in ("*", text[0]) and fits(text[1:], pattern[1:]))

    found = Masks(texts, short=short).find_texts(label)
    assert found.tolist() == [at for at, text in enumerate(texts) if fits(text, label)]
