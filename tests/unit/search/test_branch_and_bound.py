"""Branch and bound: the optimum, or a bound that is true at every moment."""

from math import inf

import naive
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.hierarchy.lattice import Lattice
from shoal.metrics.catalogue import METRICS
from shoal.search.branch_and_bound import exhaust
from shoal.search.driver import Incumbent, SearchResult, Stopped, drive_search
from shoal.search.oracle import Answer


def not_above(bound, score):
    return bound <= score + 1e-12 * max(1.0, abs(score))


def run(instance, oracle, stop=lambda: False):
    """What it found, and whether it came to its end."""
    found = Incumbent()

    def search():
        try:
            yield from exhaust(instance.lattice(), oracle.scorer.floors, found)
        except Stopped:
            return False
        return True

    return found, drive_search(search(), oracle, stop=stop)


@naive.examples(200)
@given(naive.instances(promises=naive.EVERY_CLOSURE, show=st.booleans(), fewest=2), st.integers(0, 12))
def test_stopped_at_any_moment_the_bound_is_true(instance, calls):
    """Every metric and closure: the optimum is never below the bound, and what was proved is the optimum."""
    for metric in METRICS:
        oracle = instance.oracle(metric)
        found, ended = run(instance, oracle, naive.stop_after(calls))
        best = naive.best(metric, instance)
        optimum = inf if best is None else naive.value(metric, instance, best)
        assert not_above(oracle.scorer.value(found.bound), optimum), metric
        if found.best is not None:
            assert instance.outcomes[found.best.node].ok
        if ended:
            assert SearchResult(found.best, found.bound).proved
            assert (found.best and found.best.node) == (best and best.node)


def test_a_question_without_an_answer_is_still_open():
    """Stopped while the last node that could win is asked: that it has not won is not proved."""
    floors = (np.array([0.0, 0.4, 0.0]), np.array([0.0, 0.5, 0.0]))
    found, asked = Incumbent(), []
    search = exhaust(Lattice(("age", "sex"), (0, 0), (1, 1)), floors, found)
    question = next(search)
    while question.node != (0, 1):
        asked.append(question.node)
        ok = question.node == (1, 1)
        below = tuple(floor[: level + 1] for floor, level in zip(floors, question.node, strict=True)) if ok else None
        question = search.send(Answer(question.node, ok, 0, 1, 0.9 if ok else inf, below, -inf))
    assert asked == [(1, 1), (0, 0), (1, 0)], "all but one node"
    try:
        search.throw(Stopped())
    except Stopped:
        assert found.best.node == (1, 1)
        assert found.bound == 0.5


@naive.examples(100)
@given(naive.instances(fewest=2), st.sampled_from(sorted(METRICS)))
def test_no_node_is_asked_twice(instance, metric):
    oracle = instance.oracle(metric)
    asked, _ = naive.run_search(exhaust(instance.lattice(), oracle.scorer.floors, Incumbent()), oracle.ask)
    assert asked[0].node == instance.lattice().top
    assert len({question.node for question in asked}) == len(asked)
    assert all(0 <= question.settled <= 1 for question in asked)
