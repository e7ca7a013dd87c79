"""What Datafly and the greedy search share: up by the cheapest step."""

from itertools import pairwise

import naive
from hypothesis import given
from hypothesis import strategies as st

from shoal.hierarchy.lattice import Lattice
from shoal.search.greedy import climb

LATTICE = Lattice(("age", "sex", "zip"), (0, 0, 1), (2, 1, 3))
costs = st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=3, max_size=3)


@naive.examples(100)
@given(costs, st.integers(0, 6))
def test_steps_of_one_level_each_the_cheapest_ties_by_name(costs, stays):
    """Until a node complies, here the one that is asked after so many steps."""
    asked, nodes = naive.run_search(
        climb(LATTICE, lambda i, level: costs[i][level]), lambda node: sum(node) - 1 >= stays
    )
    path = [question.node for question in asked]
    assert path[0] == LATTICE.bottom
    for here, above in pairwise(path):
        (i,) = [i for i in range(3) if above[i] != here[i]]
        assert above[i] == here[i] + 1
        open_to = [j for j in range(3) if here[j] < LATTICE.top[j]]
        assert (costs[i][here[i]], i) == min((costs[j][here[j]], j) for j in open_to)
    reached = stays <= 5
    assert nodes == ((path[-1],) if reached else ())
    assert len(path) == min(stays, 5) + 1
    assert [question.settled for question in asked] == [step / 5 for step in range(len(path))]


def test_a_lattice_of_one_node():
    one = Lattice(("age",), (2,), (2,))
    for complies in (True, False):
        asked, nodes = naive.run_search(climb(one, lambda *_: 0), lambda _: complies)  # noqa: B023
        assert [question.node for question in asked] == [(2,)]
        assert nodes == (((2,),) if complies else ())
