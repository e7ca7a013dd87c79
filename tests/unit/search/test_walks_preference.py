"""Which of several nodes to release: Samarati's preferences (S2.5)."""

from fractions import Fraction
from typing import get_args

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.metrics.catalogue import METRICS
from shoal.policy.method import Preference
from shoal.search.driver import drive_search
from shoal.search.oracle import Answer
from shoal.search.walks import KEYS, choose_preferred


def absolute(instance, outcome):
    return sum(outcome.node)


def relative(instance, outcome):
    heights = [instance.attributes[name].height for name in instance.names]
    return sum(Fraction(level, height) for level, height in zip(outcome.node, heights, strict=True) if height)


BOOK = {
    "metric": lambda *_: 0,
    "minimum-absolute-distance": absolute,
    "minimum-relative-distance": relative,
    "maximum-distribution": lambda _, outcome: -len(outcome.kept),
    "minimum-suppression": lambda _, outcome: len(outcome.suppressed),
}
"""Less is better: the fewest steps, the fewest steps as shares of the hierarchies, the most distinct tuples, the fewest
suppressed ones."""


def chosen(instance, preference, metric, nodes):
    """Of the nodes: by preference, then by the metric, then the lower one, then in the order of the names."""
    outcomes = [instance.outcomes[node] for node in nodes]
    key = BOOK[preference]
    return min(outcomes, key=lambda o: (key(instance, o), naive.EXACT[metric](instance, o), sum(o.node), o.node)).node


def test_every_preference_of_a_policy_is_here():
    assert set(BOOK) == set(KEYS) == set(get_args(Preference))


@naive.examples(150)
@given(naive.instances(fewest=2).filter(lambda instance: instance.complying), st.data())
def test_equals_brute_force(instance, data):
    """S2.5: every preference and every metric, over any set of complying nodes."""
    nodes = tuple(data.draw(st.lists(st.sampled_from(instance.complying), min_size=1, unique=True)))
    metric = data.draw(st.sampled_from(sorted(METRICS)))
    oracle = instance.oracle(metric)
    heights = [hierarchy.height for hierarchy in oracle.before.hierarchies]
    for preference in BOOK:
        found = drive_search(choose_preferred(nodes, preference, heights, oracle.scorer.floors), oracle)
        assert found.best.node == chosen(instance, preference, metric, nodes), preference
        assert found.nodes == nodes


FLOORS = (np.array([0.0, 0.1, 0.2, 0.3]), np.array([0.0, 0.5]))


def scores(**of):
    """Answers from a dict of the classes, the suppressed rows and the score of each node."""

    def reply(node):
        classes, suppressed, score = of["".join("abcd"[level] for level in node)]
        return Answer(node, True, suppressed, classes, score, None, 0.0)

    return reply


@pytest.mark.parametrize(
    ("preference", "expected"),
    [
        ("metric", (0, 1)),
        ("minimum-absolute-distance", (0, 1)),  # one step against two
        ("minimum-relative-distance", (2, 0)),  # 2/3 of a hierarchy against a whole one
        ("maximum-distribution", (3, 0)),
        ("minimum-suppression", (2, 0)),
    ],
)
def test_the_preferences_disagree(preference, expected):
    """S2.5."""
    reply = scores(ab=(3, 9, 0.5), ca=(4, 1, 0.7), da=(9, 2, 0.8))
    asked, found = naive.run_search(choose_preferred(((0, 1), (2, 0), (3, 0)), preference, (3, 1), FLOORS), reply)
    assert found.best.node == expected
    assert all(0 <= question.settled <= 1 for question in asked)


def test_a_tie_goes_by_the_metric_then_to_the_lower_node_then_by_name():
    def best(**of):
        nodes = tuple(tuple("abcd".index(level) for level in node) for node in of)
        return naive.run_search(choose_preferred(nodes, "minimum-suppression", (3, 1), FLOORS), scores(**of))[
            1
        ].best.node

    assert best(ab=(1, 5, 0.6), da=(1, 5, 0.5)) == (3, 0)
    assert best(ab=(1, 5, 0.5), da=(1, 5, 0.5)) == (0, 1)
    assert best(ba=(1, 5, 0.5), ab=(1, 5, 0.5)) == (0, 1)


def test_by_metric_only_nodes_that_can_win_are_asked():
    """In the order of their bounds."""
    asked, found = naive.run_search(
        choose_preferred(((0, 1), (3, 0), (2, 0)), "metric", (3, 1), FLOORS), scores(ca=(1, 0, 0.25))
    )
    assert [question.node for question in asked] == [(2, 0)]
    assert found.best.node == (2, 0)
