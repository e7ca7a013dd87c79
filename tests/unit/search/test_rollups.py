"""Frequency sets of nodes: from the smallest finer one, over stepping stones, in bounded memory."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.frequency_set import FrequencySet
from shoal.recoding.outcome import Before
from shoal.search import rollups
from shoal.search.rollups import Rollups


def test_rolls_up_from_the_smallest_finer_set(before, sources):
    memory = Rollups(before)
    sizes = {node: len(memory.at(node)) for node in [(1, 0), (1, 1), (0, 2)]}
    assert sizes[1, 1] == 400
    del sources[:]
    memory.at((2, 1))  # finer: (0,0), (1,0), (1,1)
    memory.at((1, 3))  # finer: also (0,2), which is larger than (1,1)
    assert sources == [400, 400]
    assert memory.rolled_up >= 2


def test_a_remembered_node_is_not_rolled_up_again(before, sources):
    memory = Rollups(before)
    classes = memory.at((1, 1))
    del sources[:]
    assert memory.at((1, 1)) is classes
    assert sources == []


def test_sets_that_hardly_shrink_are_not_kept(before, sources, monkeypatch):
    monkeypatch.setattr(rollups, "_WORTH_REMEMBERING", 0.0)
    memory = Rollups(before)
    memory.at((1, 1))
    memory.at((1, 1))
    assert sources == [len(before.classes)] * 2


@pytest.fixture
def room(monkeypatch):
    """For 1000 classes, however large the table is."""
    monkeypatch.setattr(rollups, "_REMEMBERED_CLASSES", 1000)
    monkeypatch.setattr(rollups, "_REMEMBERED_TABLES", 0)


def test_the_older_half_of_the_sets_is_forgotten(before, sources, room):
    memory = Rollups(before)
    for node in [(1, 1), (2, 1), (1, 2)]:  # 400, 100 and 100 classes
        memory.at(node)
    assert memory._classes == 600
    memory.at((0, 3))  # 100 more
    memory.at((0, 2))  # 500 would be too many: (1, 1), (2, 1) and (1, 2) go
    assert list(memory._remembered) == [(0, 3), (0, 2)]
    del sources[:]
    memory.at((2, 2))
    assert sources == [500], "from what is left"


def test_a_large_table_has_room_for_sets_of_its_own_size(before, monkeypatch):
    monkeypatch.setattr(rollups, "_REMEMBERED_CLASSES", 0)
    monkeypatch.setattr(rollups, "_REMEMBERED_TABLES", 1)
    memory = Rollups(before)
    for node in [(1, 1), (0, 2), (2, 0), (1, 2)]:  # 400, 500, 500 and 100 classes
        memory.at(node)
    assert memory._classes == 1500 < len(before.classes)


def test_small_old_sets_do_not_shelter_large_ones(before, room):
    """Half of the sets may be a small part of the memory: then more of them go."""
    memory = Rollups(before)
    for node in [(3, 3), (2, 3), (3, 2), (1, 1), (0, 2), (2, 0)]:  # 1, 5, 5, 400, 500 and 500 classes
        memory.at(node)
        assert memory._classes <= 1000


@naive.examples(60, fixtures=True)
@given(naive.instances(fewest=2), st.integers(1, 12), st.randoms(use_true_random=False))
def test_forgetting_keeps_the_answers_and_the_memory_is_bounded(instance, room, random):
    """Sets that hardly shrink are kept here, so that the memory is soon full; faces are asked, too."""
    before = instance.before()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollups, "_REMEMBERED_CLASSES", room)
        patch.setattr(rollups, "_REMEMBERED_TABLES", 0)
        patch.setattr(rollups, "_WORTH_REMEMBERING", 1.0)
        memory = Rollups(before)
        for node in random.choices(list(instance.nodes()), k=40):
            shown = [random.random() < 0.8 for _ in node]
            face = tuple(a if show else out for a, show, out in zip(node, shown, before.left_out, strict=True))
            gone = [name for name, show in zip(instance.names, shown, strict=True) if not show]
            less = instance.without(gone)
            kept = tuple(level for level, show in zip(node, shown, strict=True) if show)
            assert sorted(memory.at(face).counts.tolist()) == sorted(map(len, less.outcome(kept).classes))
            sizes = [len(classes) for classes in memory._remembered.values()]
            assert sum(sizes) == memory._classes
            assert sum(sizes) <= max(room, *sizes, 0)


@naive.examples(100, fixtures=True)
@given(naive.instances(), st.data())
def test_settled_sets_are_equal(instance, data):
    """The set that is settled on, what is rolled up from it, and what lies below it."""
    before, nodes = instance.before(), list(instance.nodes())
    low = data.draw(st.sampled_from(nodes))
    plain, memory = Rollups(before), Rollups(before)
    for node in data.draw(st.lists(st.sampled_from(nodes), max_size=3)):
        memory.at(node)  # what was remembered before stays right
    memory.settle(low)
    for node in data.draw(st.permutations(nodes)):
        one, other = plain.at(node), memory.at(node)
        assert contents(one) == contents(other)


def contents(classes):
    """{codes of a class: (size, {value: count})}, whatever the order and the width of the keys."""
    keys = list(zip(*(classes.codes(name).tolist() for name in classes.attributes), strict=True))
    values = {key: {} for key in keys}
    for long in classes.long.values():
        for at, value, count in zip(long.classes.tolist(), long.values.tolist(), long.counts.tolist(), strict=True):
            values[keys[at]][value] = count
    return {key: (size, values[key]) for key, size in zip(keys, classes.counts.tolist(), strict=True)}


def test_an_intermediate_set_serves_many_nodes(sources):
    rng = np.random.default_rng(0)
    columns = {name: (rng.integers(0, 20, 5000, dtype=np.int32), 20) for name in "abcd"}
    before = Before(FrequencySet.count(columns), tuple(naive.numbers(name, 20, [10, 20]) for name in "abcd"))
    memory = Rollups(before)
    for last in (1, 2):
        memory.at((2, 2, 2, last))
    bottom = len(before.classes)
    assert sources == [bottom, 20, 2]  # the stone (2, 2, 2, 0), then twice from what is small


@pytest.mark.parametrize("wide", [0, 1, 9])
@naive.examples(60, fixtures=True)
@given(instance=naive.instances(), random=st.randoms(use_true_random=False))
def test_equals_counting_afresh(wide, instance, random):
    before = instance.before()
    nodes = list(instance.nodes())
    random.shuffle(nodes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollups, "_WIDE", wide)
        memory = Rollups(before)
        for node in nodes:
            expected = sorted(len(rows) for rows in instance.outcome(node).classes)
            assert sorted(memory.at(node).counts.tolist()) == expected
