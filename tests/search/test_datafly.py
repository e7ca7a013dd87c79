"""Datafly by the book (S2.6)."""

from dataclasses import replace

import naive
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.lattice import Lattice
from shoal.metrics import METRICS
from shoal.search import Oracle, decide
from shoal.search.datafly import datafly

hard = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def by_the_book(instance):
    """While too many rows violate, lift the attribute that shows most different values; ties by name."""
    node = tuple(instance.attributes[name].low for name in instance.names)
    while True:
        outcome = instance.outcome(node)
        if outcome.ok:
            return outcome
        best, most = None, 0
        for i, name in enumerate(instance.names):
            attribute = instance.attributes[name]
            shown = len({attribute.label(value, node[i]) for value in attribute.values})
            if node[i] < attribute.high and shown > most:
                best, most = i, shown
        if best is None:
            return None
        node = tuple(level + (i == best) for i, level in enumerate(node))


def walked(instance):
    before = instance.before()
    scorer = METRICS["loss"].on(before)
    oracle = Oracle(before, instance.models, instance.limit, scorer, instance.labels, instance.show)
    distinct = [[h.groups(level) for level in range(h.height + 1)] for h in before.hierarchies]
    return oracle, decide(datafly(instance.lattice(), distinct), oracle)


def assert_same(instance):
    (oracle, nodes), expected = walked(instance), by_the_book(instance)
    if expected is None:
        assert nodes == ()
    else:
        assert nodes == (expected.node,)
        assert oracle.ask(expected.node).suppressed == len(expected.suppressed)


@hard
@given(naive.instances(show=st.booleans()))
def test_equals_the_book(instance):
    """S2.6."""
    assert_same(instance)


@hard
@given(naive.instances(promises=st.builds(lambda k: [naive.k_anonymity(k)], st.integers(1, 5))))
def test_the_papers_own_rule(instance):
    """S2.6: suppression = "k", at most k rows."""
    assert_same(replace(instance, limit=instance.models[0].k))


def test_ties_go_by_name():
    """A test answers from a dict: no table is needed."""
    lattice = Lattice(("age", "sex", "zip"), (0, 0, 1), (1, 1, 2))
    complying = {(1, 1, 1): True}
    asked = []
    walk = datafly(lattice, [[3, 2], [3, 1], [9, 2, 1]])
    question = next(walk)
    try:
        while True:
            asked.append(question.node)
            question = walk.send(complying.get(question.node, False))
    except StopIteration as end:
        found = end.value
    assert asked == [(0, 0, 1), (1, 0, 1), (1, 1, 1)]
    assert found == ((1, 1, 1),)


def test_nothing_complies():
    walk = datafly(Lattice(("age",), (0,), (1,)), [[2, 1]])
    next(walk)
    assert walk.send(False).node == (1,)
    with pytest.raises(StopIteration) as end:
        walk.send(False)
    assert end.value.value == ()
