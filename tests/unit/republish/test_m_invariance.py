"""Every group has one row of each value of its signature, and nobody's signature changes (models.md 1.16)."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import Infeasible
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.republish.m_invariance import form_groups, keep_signatures_apart, split_buckets

SIZE = 5
FATES = ("stays", "leaves", "changes")


@st.composite
def histories(draw):
    """m, and for each release who comes, who stays, and whose value changes."""
    steps = draw(st.integers(1, 4))
    new = [draw(st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=12)) for _ in range(steps)]
    return draw(st.integers(2, 3)), new, draw(st.randoms(use_true_random=False))


@naive.examples(300)
@given(histories())
def test_a_history_is_m_invariant(drawn):  # S3.10
    m, steps, random = drawn
    people, signatures = [], []
    for new in steps:
        for person in people:
            fate = random.choice(FATES)
            person["here"] = fate != "leaves"
            person["value"] = random.randrange(SIZE) if fate == "changes" else person["value"]
        people += [{"value": value, "signature": -1, "group": -1, "here": True} for value in new]
        here = [person for person in people if person["here"]]
        value, signature, group = (
            np.array([person[key] for person in here], np.int32) for key in ("value", "signature", "group")
        )
        places = [np.array([random.random() for _ in here]) for _ in range(2)]
        found = form_groups(value, signature, signatures, group, m, SIZE, places)
        of, shown = found.counterfeits
        for number in range(int(found.group.max()) + 1):
            inside = found.group == number
            assert inside.any()
            (kept,) = {found.signatures[each] for each in found.signature[inside].tolist()}
            assert len(kept) >= m
            assert sorted([*value[inside].tolist(), *shown[of == number].tolist()]) == list(kept)
        assert set(of.tolist()) <= set(found.group.tolist())
        for at, person in enumerate(here):
            old = set(signatures[person["signature"]]) if person["signature"] >= 0 else set()
            now = set(found.signatures[found.signature[at]]) if found.group[at] >= 0 else set()
            if person["value"] in old:
                assert now == old
            else:
                assert not now & old
            person["signature"] = int(found.signature[at]) if now else person["signature"]
            person["group"] = int(found.group[at])
        for person in people:
            person["group"] = person["group"] if person["here"] else -1
        signatures = found.signatures


def test_a_group_of_which_nobody_left_stays_as_it_is():
    value, none = np.array([0, 1, 0, 1], np.int32), np.full(4, -1, np.int32)
    places = [np.array([0.0, 0.1, 0.9, 1.0])]
    first = form_groups(value, none, [], none, 2, 2, places)
    far = [np.array([0.0, 1.0, 0.1, 0.9])]  # would be grouped otherwise now
    second = form_groups(value, first.signature, first.signatures, first.group, 2, 2, far)
    assert second.group.tolist() == first.group.tolist()


def test_too_few_values_are_refused():
    none = np.full(3, -1, np.int32)
    with pytest.raises(Infeasible, match="m = 3 are needed"):
        form_groups(np.array([0, 1, 1], np.int32), none, [], none, 3, 2, [np.zeros(3)])


@naive.examples(100)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(2, 4), st.integers(0, 9))
def test_parts_have_one_row_of_every_value(sizes, values, seed):
    bucket = np.repeat(np.arange(len(sizes), dtype=np.int32), [size * values for size in sizes])
    value = np.concatenate([np.tile(np.arange(values, dtype=np.int32), size) for size in sizes])
    place = np.random.default_rng(seed).random(len(bucket))
    part = split_buckets(bucket, value, [place])
    for each in np.unique(part):
        assert sorted(value[part == each].tolist()) == list(range(values))
        assert len(set(bucket[part == each].tolist())) == 1


def test_neighbours_are_grouped():
    value = np.array([0, 0, 0, 0, 1, 1, 1, 1], np.int32)
    place = np.array([0.0, 0.3, 0.6, 0.9, 0.95, 0.65, 0.35, 0.05])
    part = split_buckets(np.zeros(8, np.int32), value, [np.zeros(8), place])
    assert [part[i] == part[7 - i] for i in range(4)] == [True] * 4


def doubling(name):
    """Four values, two pairs, all."""
    levels = np.array([0, 1, 2, 3], np.int32), np.array([0, 0, 1, 1], np.int32), np.zeros(4, np.int32)
    leaves = np.ones(4, np.int64), np.full(2, 2), np.array([4])
    return Hierarchy(name, levels, (("a", "b", "c", "d"), ("ab", "cd"), ("*",)), leaves, 4)


@naive.examples(200)
@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 2, *[st.integers(0, 2)] * 3, st.integers(1, 3)), min_size=1, max_size=14)
)
def test_groups_of_different_signatures_do_not_look_alike(groups):
    trees = [doubling("x"), doubling("y")]
    codes = [np.array([group[i] for group in groups], np.int32) for i in range(2)]
    before = np.array([group[2:4] for group in groups], np.int16)
    signature, sizes = (np.array([group[i] for group in groups], np.int64) for i in (4, 5))
    levels, apart = keep_signatures_apart(signature, sizes, before, codes, trees)

    def labels(group, at):
        each = zip(trees, at, codes, strict=True)
        return tuple(tree.labels[level][tree.levels[level][code[group]]] for tree, level, code in each)

    assert (levels >= before).all()
    shown = {}
    for group in np.flatnonzero(apart).tolist():
        assert shown.setdefault(labels(group, levels[group]), signature[group]) == signature[group]
    for group in np.flatnonzero(~apart).tolist():
        above = [(i, j) for i in range(before[group, 0], 3) for j in range(before[group, 1], 3)]
        assert all(shown.get(labels(group, at), signature[group]) != signature[group] for at in above)


def test_new_rows_take_few_signatures():
    """Eight values of different frequency give 12 groups of three, and as few signatures as Xiao and Tao's way."""
    value = np.repeat(np.arange(8, dtype=np.int32), [9, 7, 6, 5, 4, 2, 2, 1])
    none = np.full(len(value), -1, np.int32)
    found = form_groups(value, none, [], none, 3, 8, [np.zeros(len(value))])
    assert len(found.counterfeits[0]) == 0
    assert len(set(found.signature.tolist())) <= 8
