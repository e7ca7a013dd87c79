"""The best node so far."""

from math import inf

import pytest

from shoal.search.driver import Incumbent, is_better, slack
from shoal.search.oracle import Answer


def scored(node, score):
    return Answer(node, score < inf, 0, 1, score, None, -inf)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (scored((5, 5), 0.5), None),
        (scored((5, 5), 0.4), scored((0, 0), 0.5)),
        (scored((0, 1), 0.5), scored((2, 0), 0.5)),  # a tie: the lower node
        (scored((0, 2), 0.5), scored((1, 1), 0.5)),  # as high: by name
        (scored((0, 1), 0.5 + 1e-13), scored((2, 0), 0.5)),  # rounding makes no difference
        (scored((2, 0), 1e6), scored((0, 1), 1e6 + 1)),
        (scored((0, 1), 1e15 + 0.125), scored((2, 0), 1e15)),
    ],
)
def test_better(one, other):
    assert is_better(one, other)
    assert other is None or not is_better(other, one)


def test_nothing_is_better_than_itself():
    assert not is_better(scored((1, 1), 0.5), scored((1, 1), 0.5))


def test_the_slack_grows_with_the_score():
    assert slack(0.5) == slack(-1.0) == 1e-12
    assert slack(1e6) == pytest.approx(1e-6)


def test_only_complying_nodes_are_taken():
    found = Incumbent()
    found.consider(scored((0, 0), inf))
    assert found.best is None
    for node, score in [((1, 1), 0.9), ((0, 2), 0.95), ((0, 1), 0.5)]:
        found.consider(scored(node, score))
    assert found.best.node == (0, 1)


def test_the_bound_only_rises():
    found = Incumbent()
    for bound in (0.3, 0.1, 0.4):
        found.raise_bound(bound)
    assert found.bound == 0.4
