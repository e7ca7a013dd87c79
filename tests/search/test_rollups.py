"""Frequency sets of nodes: from the smallest finer one, over stepping stones, in bounded memory."""

import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.frequency import FrequencySet
from shoal.release import Before
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


def test_what_hardly_shrinks_is_not_kept(before, sources, monkeypatch):
    monkeypatch.setattr(rollups, "_WORTH_REMEMBERING", 0.0)
    memory = Rollups(before)
    memory.at((1, 1))
    memory.at((1, 1))
    assert sources == [len(before.classes)] * 2


def test_memory_is_bounded(before, sources, monkeypatch):
    monkeypatch.setattr(rollups, "_REMEMBERED_CLASSES", 450)
    memory = Rollups(before)
    for node in [(1, 1), (1, 0), (0, 1)]:
        memory.at(node)
    del sources[:]
    memory.at((1, 0))
    assert sources == [len(before.classes)]  # only the 400 classes of (1, 1) found room
    assert memory.at((2, 1)).rows == before.rows
    assert sources[-1] == 400


def test_one_stone_serves_many_nodes(sources):
    rng = np.random.default_rng(0)
    columns = {name: (rng.integers(0, 20, 5000, dtype=np.int32), 20) for name in "abcd"}
    before = Before(FrequencySet.count(columns), tuple(naive.numbers(name, 20, [10, 20]) for name in "abcd"))
    memory = Rollups(before)
    for last in (1, 2):
        memory.at((2, 2, 2, last))
    bottom = len(before.classes)
    assert sources == [bottom, 20, 2]  # the stone (2, 2, 2, 0), then twice from what is small


@pytest.mark.parametrize("wide", [0, 1, 9])
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
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
