"""Datafly first, then Samarati below its node: the same result (S2.8)."""

import naive
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.hierarchy.lattice import Lattice
from shoal.search.driver import drive_walk
from shoal.search.greedy import datafly
from shoal.search.samarati import hybrid, samarati
from shoal.search.walks import Setting


def distinct(oracle, lattice):
    return Setting(lattice, oracle.before).distinct


@naive.examples(500)
@given(st.sampled_from(naive.SHARES).flatmap(naive.closed_instances), st.booleans())
def test_returns_what_samarati_returns(instance, infer):
    """S2.8: on 500 tables, with and without inference."""
    lattice, oracle = instance.lattice(), instance.oracle(infer=infer)
    assert drive_walk(hybrid(lattice, distinct(oracle, lattice)), oracle) == drive_walk(
        samarati(lattice), instance.oracle()
    )


@naive.examples(500)
@given(st.sampled_from(naive.SHARES).flatmap(naive.closed_instances), st.booleans())
def test_the_lower_limit_loses_no_node(instance, infer):
    """S2.8: columns alone bound the levels from below, and the nodes found are Samarati's."""
    lattice, oracle = instance.lattice(), instance.oracle(infer=infer)
    found = drive_walk(hybrid(lattice, distinct(oracle, lattice), oracle.before.left_out), oracle)
    assert found == drive_walk(samarati(lattice), instance.oracle())


def test_no_level_is_asked_below_the_least_that_complies_alone():
    """The first column alone complies from level 2 on, the second from level 0: nodes below (2, 0) are not asked."""
    left_out = (4, 4)

    def complies(node):
        return node[0] >= 2 if node[1] == 4 else True if node[0] == 4 else node[0] >= 2 and sum(node) >= 4

    lattice = Lattice(("age", "zip"), (0, 0), (3, 3))
    asked, nodes = naive.run_search(hybrid(lattice, [[9, 8, 7, 6], [5, 4, 3, 2]], left_out), complies)
    assert nodes == ((2, 2), (3, 1))
    climbed = [question.node for question in asked].index((0, 4))  # Datafly ends where faces begin
    below = [question.node for question in asked[climbed:] if 4 not in question.node]
    assert all(node[0] >= 2 for node in below)


@pytest.mark.parametrize("share", naive.SHARES)
def test_equals_brute_force(share):
    """S2.8, S2.5."""

    @naive.examples(300)
    @given(naive.closed_instances(share))
    def check(instance):
        lattice, oracle = instance.lattice(), instance.oracle()
        lowest = min(map(sum, instance.complying), default=None)
        expected = tuple(node for node in instance.complying if sum(node) == lowest)
        assert drive_walk(hybrid(lattice, distinct(oracle, lattice)), oracle) == expected

    check()


@naive.examples(100)
@given(naive.closed_instances("0.5", fewest=3))
def test_nothing_is_asked_above_the_height_where_datafly_ends(instance):
    lattice, oracle = instance.lattice(), instance.oracle()
    asked, nodes = naive.run_search(hybrid(lattice, distinct(oracle, lattice)), oracle.complies)
    reached = drive_walk(datafly(lattice, distinct(oracle, lattice)), instance.oracle())
    if reached:
        assert max(sum(question.node) for question in asked) == sum(reached[0])
    else:
        assert nodes == ()


def test_when_datafly_finds_nothing_nothing_else_is_asked():
    asked, nodes = naive.run_search(hybrid(Lattice(("age",), (0,), (2,)), [[9, 3, 1]]), lambda _: False)
    assert [question.node for question in asked] == [(0,), (1,), (2,)]
    assert nodes == ()
