"""The oracle: memory, rollup, and what an answer says."""

import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.counts import ClassCounts, ValueCounts
from shoal.metrics import METRICS
from shoal.models import KAnonymity
from shoal.search import Oracle, Tally
from shoal.search.oracle import together


@pytest.fixture
def ask(before):
    return Oracle(before, [KAnonymity(5)], 300, METRICS["loss"].on(before))


def test_answers_are_remembered(ask, sources):
    first = ask.ask((1, 1))
    assert ask.ask((1, 1)) is first
    assert sources == [len(ask.before.classes)]
    assert ask.tally == Tally(checked=1, remembered=1, grouped=1)
    assert ask.tally.asked == 2


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
        assert sorted(ask.apply(node).classes.counts.tolist()) == sorted(len(rows) for rows in outcome.classes)


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
