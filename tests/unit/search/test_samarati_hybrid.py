"""Datafly first, then Samarati below its node: the same result (S2.8)."""

import naive
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.hierarchy.lattice import Lattice
from shoal.search.driver import decide
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
    assert decide(hybrid(lattice, distinct(oracle, lattice)), oracle) == decide(samarati(lattice), instance.oracle())


@pytest.mark.parametrize("share", naive.SHARES)
def test_equals_brute_force(share):
    """S2.8, S2.5."""

    @naive.examples(300)
    @given(naive.closed_instances(share))
    def check(instance):
        lattice, oracle = instance.lattice(), instance.oracle()
        lowest = min(map(sum, instance.complying), default=None)
        expected = tuple(node for node in instance.complying if sum(node) == lowest)
        assert decide(hybrid(lattice, distinct(oracle, lattice)), oracle) == expected

    check()


@naive.examples(100)
@given(naive.closed_instances("0.5", fewest=3))
def test_nothing_is_asked_above_the_height_where_datafly_ends(instance):
    lattice, oracle = instance.lattice(), instance.oracle()
    asked, nodes = naive.told(hybrid(lattice, distinct(oracle, lattice)), oracle.complies)
    reached = decide(datafly(lattice, distinct(oracle, lattice)), instance.oracle())
    if reached:
        assert max(sum(question.node) for question in asked) == sum(reached[0])
    else:
        assert nodes == ()


def test_when_datafly_finds_nothing_nothing_else_is_asked():
    asked, nodes = naive.told(hybrid(Lattice(("age",), (0,), (2,)), [[9, 3, 1]]), lambda _: False)
    assert [question.node for question in asked] == [(0,), (1,), (2,)]
    assert nodes == ()
