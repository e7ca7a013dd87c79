"""A growing list of nodes that is compared with a node all at once."""

import naive
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import Nodes

node = st.tuples(*[st.integers(0, 3)] * 3)
step = st.one_of(node, st.integers(0, 5))


@naive.examples(200)
@given(st.lists(step, max_size=40), node)
def test_nodes_behave_like_a_list(steps, other):
    """A node is added, a number forgets that many of the oldest."""
    nodes, plain = Nodes(3), []
    for given_step in steps:
        if isinstance(given_step, tuple):
            nodes.add(given_step, sum(given_step))
            plain.append(given_step)
        else:
            oldest = min(given_step, len(plain))
            nodes.forget(oldest)
            del plain[:oldest]
    assert len(nodes) == len(plain)
    assert [nodes[at] for at in range(len(nodes))] == plain
    finer = [n for n in plain if all(a <= b for a, b in zip(n, other, strict=True))]
    assert nodes.any_below(other) == bool(finer)
    assert nodes.any_above(other) == any(all(a >= b for a, b in zip(n, other, strict=True)) for n in plain)
    assert nodes.lightest_below(other) == (plain.index(min(finer, key=sum)) if finer else -1)
