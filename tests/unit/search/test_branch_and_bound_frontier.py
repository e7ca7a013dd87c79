"""A lower bound for every node, raised by every answer."""

from math import inf

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.hierarchy.lattice import Lattice
from shoal.metrics.catalogue import METRICS
from shoal.search.branch_and_bound import Frontier
from shoal.search.driver import Incumbent
from shoal.search.oracle import Answer

FLOORS = (np.array([0.0, 0.1, 0.4, 0.0]), np.array([0.0, 0.5, 0.0]))
LATTICE = Lattice(("age", "sex"), (0, 0), (2, 1))


def at(frontier, node):
    return float(frontier.bounds[frontier._where(node)])


@naive.examples(200)
@given(
    naive.instances(promises=naive.EVERY_CLOSURE, show=st.booleans(), fewest=2),
    st.sampled_from(sorted(METRICS)),
    st.data(),
)
def test_no_bound_is_above_the_score(instance, metric, data):
    """After any answers; a node that was answered has no bound left to beat."""
    oracle = instance.oracle(metric)
    frontier, found = Frontier(instance.lattice(), oracle.scorer.floors), Incumbent()
    asked = data.draw(st.lists(st.sampled_from(list(instance.outcomes)), unique=True))
    for node in asked:
        said = oracle.ask(node)
        frontier.learn(said)
        found.consider(said)
    for node, outcome in instance.outcomes.items():
        if node in asked:
            assert at(frontier, node) == inf
        elif outcome.ok:
            score = oracle.ask(node).score
            assert at(frontier, node) <= score + 1e-12 * max(1, abs(score))
    scores = [oracle.ask(node).score for node in instance.complying]
    assert frontier.lower_bound(found.best) <= min(scores, default=inf) * (1 + 1e-12) + 1e-12


def test_the_widest_open_node_comes_first():
    """Every node once, those with more nodes below them first, in the order of the names at a tie."""
    frontier, order = Frontier(LATTICE, FLOORS), []
    while (node := frontier.next_open_node(None)) is not None:
        order.append(node)
        frontier.learn(Answer(node, False, 0, 1, inf, tuple(np.zeros(level + 1) for level in node), -inf))
    assert order == [(2, 1), (1, 1), (2, 0), (0, 1), (1, 0), (0, 0)]
    assert frontier.settled == 1


def test_what_fails_closes_everything_below():
    frontier = Frontier(LATTICE, FLOORS)
    frontier.learn(Answer((1, 1), False, 9, 0, inf, None, -inf))
    assert [at(frontier, node) for node in LATTICE.nodes()] == [inf, inf, inf, inf, 0.4, 0.9]


def test_only_what_can_win_is_open():
    """By score; at a tie the lower node, then the first by name."""
    best = Answer((1, 1), True, 0, 1, 0.5, tuple(np.zeros(2) for _ in range(2)), -inf)
    frontier = Frontier(LATTICE, FLOORS)
    frontier.learn(best)
    still = []
    while (node := frontier.next_open_node(best)) is not None:
        still.append(node)
        frontier.learn(Answer(node, False, 0, 1, inf, tuple(np.zeros(level + 1) for level in node), -inf))
    assert still == [(2, 0), (0, 1), (1, 0), (0, 0)]  # not (2, 1), whose bound is 0.9; (0, 1) ties and is lower
    assert frontier.lower_bound(best) == 0.5


def test_a_question_that_waits_is_open():
    """What `widest` returned is open until it is answered."""
    frontier = Frontier(Lattice(("age",), (0,), (0,)), (np.array([0.25, 0.0]),))
    assert frontier.next_open_node(None) == (0,)
    assert frontier.lower_bound(None) == 0.25
    frontier.learn(Answer((0,), False, 0, 0, inf, None, -inf))
    assert frontier.next_open_node(None) is None
    assert frontier.lower_bound(None) == inf


@pytest.mark.parametrize("attributes", [1, 70])
def test_attributes_without_a_choice_are_no_axis(attributes):
    """NumPy knows 64 axes at most."""
    names = tuple(str(i) for i in range(attributes))
    frontier = Frontier(Lattice(names, (1,) * attributes, (1,) * attributes), (np.array([0.0, 0.25]),) * attributes)
    assert frontier.bounds.shape == ()
    assert frontier.lower_bound(None) == 0.25 * attributes
    assert frontier.next_open_node(None) == (1,) * attributes


def test_the_widest_successor_has_most_open_nodes_of_its_own_below_it():
    """Below (1, 1) and not below (0, 1) lie two nodes; nothing is above the top, nor where all is settled."""
    frontier = Frontier(LATTICE, FLOORS)
    frontier.learn(Answer((0, 1), ok=False, suppressed=9, classes=0, score=inf, below=None, above=-inf))
    assert frontier.widest_successor((0, 1), None) == (1, 1)
    assert frontier.widest_successor((0, 0), None) == (1, 0), "(0, 1) was asked"
    assert frontier.widest_successor((2, 1), None) is None
    best = Answer((2, 0), ok=True, suppressed=0, classes=1, score=0.05, below=None, above=-inf)
    assert frontier.widest_successor((0, 1), best) is None, "no node below can beat it"
