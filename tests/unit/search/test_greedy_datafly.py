"""Datafly by the book (S2.6)."""

from dataclasses import replace

import naive
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.hierarchy.lattice import Lattice
from shoal.search.driver import drive_walk
from shoal.search.greedy import datafly


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


def assert_same(instance):
    oracle, expected = instance.oracle(), by_the_book(instance)
    distinct = [[h.groups(level) for level in range(h.height + 1)] for h in oracle.before.hierarchies]
    nodes = drive_walk(datafly(instance.lattice(), distinct), oracle)
    if expected is None:
        assert nodes == ()
    else:
        assert nodes == (expected.node,)
        assert oracle.ask(expected.node).suppressed == len(expected.suppressed)


@pytest.mark.parametrize("share", naive.SHARES)
def test_equals_the_book(share):
    """S2.6: policies of every closure."""
    naive.examples(300)(given(naive.instances(share, naive.EVERY_CLOSURE, st.booleans()))(assert_same))()


@naive.examples(100)
@given(naive.instances(promises=st.builds(lambda k: [naive.k_anonymity(k)], st.integers(1, 5))))
def test_datafly_with_the_suppression_of_the_paper(instance):
    """S2.6: suppression = "k", at most k rows."""
    assert_same(replace(instance, limit=instance.models[0].k))


def test_ties_go_by_name():
    """A test answers from a dict: no table is needed."""
    lattice = Lattice(("age", "sex", "zip"), (0, 0, 1), (1, 1, 2))
    asked, nodes = naive.run_search(datafly(lattice, [[3, 2], [3, 1], [9, 2, 1]]), lambda node: node == (1, 1, 1))
    assert [question.node for question in asked] == [(0, 0, 1), (1, 0, 1), (1, 1, 1)]
    assert nodes == ((1, 1, 1),)


def test_nothing_complies():
    asked, nodes = naive.run_search(datafly(Lattice(("age",), (0,), (1,)), [[2, 1]]), lambda _: False)
    assert [question.node for question in asked] == [(0,), (1,)]
    assert nodes == ()
