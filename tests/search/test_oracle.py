"""The oracle: memory, rollup, and what an answer says."""

import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.counts import ClassCounts, ValueCounts
from shoal.frequency import FrequencySet
from shoal.hierarchy import Hierarchy
from shoal.metrics import METRICS
from shoal.models import KAnonymity
from shoal.release import Before
from shoal.search import Oracle, Tally, oracle
from shoal.search.oracle import together


def numbers(name, size, widths):
    """Numbers 0 … size-1 in intervals of growing widths."""
    levels = [np.arange(size, dtype=np.int32), *((np.arange(size) // w).astype(np.int32) for w in widths)]
    labels = tuple(tuple(str(g) for g in range(int(level.max()) + 1)) for level in levels)
    return Hierarchy(name, tuple(levels), labels, tuple(np.bincount(level) for level in levels), size)


@pytest.fixture
def before():
    rng = np.random.default_rng(0)
    columns = {name: (rng.integers(0, 100, 3000, dtype=np.int32), 100) for name in "ab"}
    return Before(FrequencySet.count(columns), tuple(numbers(name, 100, [5, 20, 100]) for name in "ab"))


@pytest.fixture
def ask(before):
    return Oracle(before, [KAnonymity(5)], 300, METRICS["loss"].on(before))


@pytest.fixture
def sources(monkeypatch):
    """Sizes of the sets that were rolled up."""
    seen = []
    real = FrequencySet.rollup

    def spy(self, *given, **options):
        seen.append(len(self))
        return real(self, *given, **options)

    monkeypatch.setattr(FrequencySet, "rollup", spy)
    return seen


def test_answers_are_remembered(ask, sources):
    first = ask.ask((1, 1))
    assert ask.ask((1, 1)) is first
    assert sources == [len(ask.before.classes)]
    assert ask.tally == Tally(checked=1, remembered=1, rolled_up=0)


def test_rolls_up_from_the_smallest_finer_set(ask, sources):
    sizes = {node: len(ask.classes(node)) for node in [(1, 0), (1, 1), (0, 2)]}
    assert sizes[1, 1] == 400
    del sources[:]
    ask.classes((2, 1))  # finer: (0,0), (1,0), (1,1)
    ask.classes((1, 3))  # finer: also (0,2), which is larger than (1,1)
    assert sources == [400, 400]
    assert ask.tally.rolled_up >= 2


def test_a_remembered_node_is_not_rolled_up_again(ask, sources):
    classes = ask.classes((1, 1))
    del sources[:]
    assert ask.classes((1, 1)) is classes
    assert sources == []


def test_what_hardly_shrinks_is_not_kept(before):
    ask = Oracle(before, [KAnonymity(2)], 0, METRICS["loss"].on(before))
    fine = Hierarchy("a", before.hierarchies[0].levels, before.hierarchies[0].labels, before.hierarchies[0].leaves, 100)
    ask.before = Before(before.classes, (fine, before.hierarchies[1]))
    ask._remember((1, 0), before.classes, len(before.classes))
    assert list(ask._sets) == [(0, 0)]


def test_memory_is_bounded(before, monkeypatch):
    monkeypatch.setattr(oracle, "_REMEMBERED_CLASSES", 450)
    small = Oracle(before, [KAnonymity(5)], 300, METRICS["loss"].on(before))
    monkeypatch.setattr(oracle, "_REMEMBERED_CLASSES", 10**9)
    large = Oracle(before, [KAnonymity(5)], 300, METRICS["loss"].on(before))
    for node in [(a, b) for a in range(4) for b in range(4)]:
        monkeypatch.setattr(oracle, "_REMEMBERED_CLASSES", 450)
        one = small.ask(node)
        monkeypatch.setattr(oracle, "_REMEMBERED_CLASSES", 10**9)
        two = large.ask(node)
        assert (one.ok, one.suppressed, one.score) == (two.ok, two.suppressed, two.score)
    kept = sum(len(classes) for node, classes in small._sets.items() if node != (0, 0))
    assert kept <= 450
    assert sum(len(classes) for classes in large._sets.values()) > kept


@settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(naive.instances(show=st.booleans()), st.randoms(use_true_random=False))
def test_answers_do_not_depend_on_what_was_asked_before(instance, random):
    before = instance.before()
    scorer = METRICS["loss"].on(before)
    ask = Oracle(before, instance.models, instance.limit, scorer, instance.labels, instance.show)
    nodes = list(instance.nodes())
    random.shuffle(nodes)
    for node in nodes:
        outcome, said = instance.outcome(node), ask.ask(node)
        assert said.ok == outcome.ok
        assert said.suppressed == len(outcome.suppressed)
        assert np.isinf(said.score) != said.ok
        assert sorted(ask.classes(node).counts.tolist()) == sorted(len(rows) for rows in outcome.classes)


def test_everything_suppressed_is_no_release(before):
    """Suppression 1.0 must not be kept by an empty table."""
    ask = Oracle(before, [KAnonymity(3001)], 3000, METRICS["loss"].on(before))
    said = ask.ask((3, 3))
    assert not said.ok
    assert said.below is None


def test_together_adds_what_is_chosen():
    long = ValueCounts(np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([2, 1, 3]), ["flu", None], 2)
    one = together(ClassCounts(np.array([2, 4]), {"d": long}), np.array([True, True]))
    assert one.sizes.tolist() == [6]
    assert one.sensitive["d"].dense().tolist() == [[3, 3]]
