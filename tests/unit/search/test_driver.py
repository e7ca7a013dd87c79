"""Questions and answers: watching, stopping, and what a search ends with."""

from contextlib import suppress
from math import inf

import naive
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.metrics.catalogue import METRICS
from shoal.models.k_anonymity import KAnonymity
from shoal.search.driver import Ask, SearchResult, Stopped, drive_search, drive_walk
from shoal.search.oracle import Answer, Oracle

NODES = [(0, 0), (1, 1), (3, 3)]


@pytest.fixture
def oracle(before):
    return Oracle(before, [KAnonymity(5)], 300, METRICS["loss"].on(before))


def every(nodes, then=tuple):
    """A search that asks for each node and returns what it was told."""
    told = []
    for done, node in enumerate(nodes):
        told.append((yield Ask(node, done / len(nodes))))
    return then(told)


def test_answers_are_sent_and_the_return_value_comes_back(oracle):
    told = drive_search(every(NODES), oracle)
    assert [said.node for said in told] == NODES
    assert told[1] is oracle.ask((1, 1))
    assert drive_walk(every(NODES), oracle) == tuple(said.ok for said in told) == (False, True, True)


@pytest.mark.parametrize("drive", [drive_search, drive_walk])
def test_a_watch_sees_every_question(oracle, drive):
    seen = []
    drive(every(NODES), oracle, lambda question, tally: seen.append((question, tally.asked)))
    assert [question.node for question, _ in seen] == NODES
    assert [question.settled for question, _ in seen] == [0, 1 / 3, 2 / 3]
    assert [asked for _, asked in seen] == [1, 2, 3], "after it was answered"


@pytest.mark.parametrize("drive", [drive_search, drive_walk])
@pytest.mark.parametrize("calls", [0, 1])
def test_stopped_is_thrown_into_the_search(oracle, drive, calls):
    """One that is not anytime lets it pass; no further question is answered."""
    with pytest.raises(Stopped):
        drive(every(NODES), oracle, stop=naive.stop_after(calls))
    assert oracle.tally.asked == calls + 1, "the first question is always answered"


def test_an_anytime_search_ends_with_what_it_has(oracle):
    def anytime():
        best = yield Ask((3, 3), 0.0)
        with suppress(Stopped):
            best = yield Ask((2, 2), 0.5)
        return SearchResult(best)

    assert drive_search(anytime(), oracle, stop=naive.stop_after(0)).best.node == (3, 3)
    assert drive_search(anytime(), oracle, stop=naive.stop_after(1)).best.node == (2, 2)


def test_a_search_that_asks_nothing(oracle):
    assert drive_search(every([]), oracle) == ()
    assert oracle.tally.asked == 0


some_score = st.floats(0, 1) | st.just(inf)


@naive.examples(50)
@given(st.none() | st.floats(0, 1), some_score | st.just(-inf))
def test_proved(score, bound):
    best = None if score is None else Answer((0,), True, 0, 1, score, None, -inf)
    assert SearchResult(best, bound).proved == (bound == inf if score is None else bound >= score)
    assert not SearchResult(best).proved
