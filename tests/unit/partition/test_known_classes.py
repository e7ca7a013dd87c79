"""Which class of an earlier release covers a row, how far labels are from a value, and which label encloses it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.codes import encode
from shoal.hierarchy.build import build, parse
from shoal.hierarchy.value_columns import Labels
from shoal.partition import known_classes
from shoal.partition.known_classes import KnownClasses, LabelWidener, covers_of

TREE = parse({"tree": {"any": {"coast": ["a", "b"], "inland": ["x", "y", "z"]}}}, None)


def stretch(values, labels, members, *, builder=None, order=None, decimal="."):
    """Labels of a column of these values; `members` are values under each."""
    column = encode("q", pa.array(values), decimal=decimal)
    texts = [*column.texts.to_pylist(), None]
    member = np.array([texts.index(None if each is None else str(each)) for each in members], dtype=np.int32)
    hierarchy = None if builder is None else build(column, builder)
    return LabelWidener(column, hierarchy, tuple(labels), member, order)


def codes(made, *values):
    texts = [*made.column.texts.to_pylist(), None]
    return np.array([texts.index(None if each is None else str(each)) for each in values], dtype=np.int32)


@pytest.mark.parametrize(
    ("label", "values", "expected"),
    [
        ("[20, 30)", [25], "[20, 30)"),  # nothing to widen
        ("[20, 30)", [30], "[20, 40)"),  # an open end does not cover
        ("[20, 30)", [45], "[20, 50)"),
        ("[20, 30)", [10, 45], "<50"),
        ("[20, 30)", [61], "≥20"),
        ("<20", [45], "<50"),
        ("<20", [61], "*"),
        ("[40, 50]", [25], "[20, 50]"),
        ("[40, 50]", [10], "<60"),
        ("60", [45], "≥40"),
        ("60", [61], "≥60"),
    ],
)
def test_intervals_are_widened_up_to_the_ends_of_others(label, values, expected):
    labels = ["<20", "[20, 30)", "[30, 40)", "[40, 50]", "60"]
    made = stretch([10, 25, 30, 45, 50, 60, 61], labels, [10, 25, 30, 45, 60])
    assert made.widen_label(label, codes(made, *values)) == expected


def test_ends_are_exact_and_written_with_a_point():
    made = stretch(["0,5", "1,25", "3"], ["0,5", "≥3"], ["0,5", "3"], decimal=",")
    assert made.widen_label("0,5", codes(made, "1,25")) == "[0.5, 3)"
    assert made.widen_label("≥3", codes(made, "1,25")) == "≥0.5"


@pytest.mark.parametrize(
    ("label", "values", "expected"),
    [
        ("{a | b}", ["c"], "{a | b | c}"),
        ("b", ["a"], "{a | b}"),
        ("c | d", ["a"], '{a | "c | d"}'),
        ('["a", "b"]', ["c | d"], '["a", "c | d"]'),
        ("{a | b}", [None], "*"),
        (None, ["a"], "*"),
        (None, [None], None),
    ],
)
def test_texts_are_listed(label, values, expected):
    made = stretch(["a", "b", "c", "c | d", None], [label], [None if label is None else "a"])
    assert made.widen_label(label, codes(made, *values)) == expected


def test_a_label_that_cannot_be_read_becomes_a_star():
    made = stretch([1, 2, 9], ["low"], [1])
    assert made.widen_label("low", codes(made, 9)) == "*"
    named = stretch(["{a | b}", "a", "b"], ["a"], ["a"])
    assert named.widen_label("a", codes(named, "b")) == "*"  # {a | b} is a value here


@pytest.mark.parametrize(
    ("label", "member", "values", "expected"),
    [
        ("a", "a", ["b"], "coast"),
        ("a", "a", ["x"], "any"),
        ("inland", "x", ["z", "y"], "inland"),
        ("inland", "x", ["a"], "any"),
        (None, None, ["a"], "any"),
        ("a", "a", [None], "any"),
        ("*", "a", ["x", None], "*"),
    ],
)
def test_labels_of_a_hierarchy_rise_to_where_they_meet(label, member, values, expected):
    made = stretch(["a", "b", "x", "y", "z", None], [label], [member], builder=TREE)
    assert made.widen_label(label, codes(made, *values)) == expected


def test_gaps_are_shares_of_the_range():
    numbers = stretch([0, 5, 10, None], ["<5", "[5, 10)", None], [0, 5, None])
    assert numbers.gaps(codes(numbers, 0, 10, None)).tolist() == [[0.0, 1.0, 1.0], [0.5, 0.5, 1.0], [1.0, 1.0, 0.0]]
    texts = stretch(["a", "b", "c"], ["a", "{b | c}"], ["a", "b"])
    assert texts.gaps(codes(texts, "a", "c")).tolist() == [[0.0, 0.5], [0.5, 0.0]]
    towns = stretch(["a", "b", "x", "y", "z"], ["a", "inland"], ["a", "x"], builder=TREE)
    assert towns.gaps(codes(towns, "a", "b", "x")).tolist() == [[0.0, 0.25, 1.0], [0.5, 0.5, 0.0]]


AGES = st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=1, max_size=8)
LABELS = st.sampled_from(["<3", "[3, 6)", "≥6", "[1, 4]", "5", "*", None, "{2 | 7}"])


@given(AGES, st.lists(st.tuples(LABELS, LABELS, st.sampled_from([0.1, 0.2])), min_size=1, max_size=20), st.data())
def test_the_first_class_that_covers_is_found(ages, classes, data):
    """By bits and by blocks, as one by one."""
    column = encode("a", pa.array(ages, pa.int64()))
    lines = pa.table(
        {
            "original.a": pa.array(["1"] * len(classes)),
            "shown.a": pa.array([one for one, _, _ in classes], pa.string()),
            "original.b": pa.array(["1"] * len(classes)),
            "shown.b": pa.array([other for _, other, _ in classes], pa.string()),
            "rows": [1] * len(classes),
            "loss": [loss for _, _, loss in classes],
        }
    )
    known = KnownClasses.of(lines, ["a", "b"])
    labels = Labels(column)
    points = data.draw(st.lists(st.tuples(*[st.integers(0, column.size - 1)] * 2), min_size=1, max_size=6))
    a, b = (np.array(each, dtype=np.int32) for each in zip(*points, strict=True))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(known_classes, "_CELLS_AT_ONCE", data.draw(st.sampled_from([1, 7, 1000])))
        found = known._find_covering_classes({"a": labels, "b": labels}, {"a": a, "b": b})
    for one, other, at in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
        both = zip(known.texts["a"], known.texts["b"], strict=True)
        fitting = [i for i, (x, y) in enumerate(both) if labels.covered(x)[one] and labels.covered(y)[other]]
        assert at == (fitting[0] if fitting else -1)


def test_losses_leaves_and_rows_of_labels():
    ages = covers_of(encode("q", pa.array([0, 5, 5, 10, None])), None, ["<5", "≥5", "*", None], np.array([1, 2, 1, 1]))
    assert ages.losses.tolist() == [0.0, 0.5, 1.0, 0.0]
    assert ages.leaves.tolist() == [1, 2, 3, 1]
    assert ages.held.tolist() == [1, 3, 5, 1]
    assert ages.mixed.tolist() == [False, False, True, False]
    column = encode("q", pa.array(["a", "b", "x"]))
    towns = covers_of(column, build(column, TREE), ["coast", "x", "*", "coast"], np.array([1, 1, 4]))
    assert towns.losses.tolist() == [0.25, 0.0, 1.0, 0.25]
    assert towns.held.tolist() == [2, 4, 6, 2]
