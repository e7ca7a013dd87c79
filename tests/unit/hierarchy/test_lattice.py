"""The lattice of levels (S2.2)."""

from hypothesis import given
from hypothesis import strategies as st

from shoal.hierarchy.lattice import Lattice


def test_sex_and_pin():
    """S2.2: heights 0 to 3, and the two ways up from the bottom."""
    lattice = Lattice(("pin", "sex"), (0, 0), (2, 1))
    assert sorted({lattice.height(node) for node in lattice.nodes()}) == [0, 1, 2, 3]
    assert list(lattice.successors(lattice.bottom)) == [(1, 0), (0, 1)]
    assert list(lattice.successors(lattice.top)) == []


bounds = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=4)


@given(bounds)
def test_nodes_lie_between_bottom_and_top(levels):
    low, high = tuple(low for low, _ in levels), tuple(low + more for low, more in levels)
    lattice = Lattice(tuple("abcd"[: len(levels)]), low, high)
    nodes = list(lattice.nodes())
    assert len(nodes) == len(set(nodes)) == lattice.size
    assert nodes[0] == low
    assert nodes[-1] == high
    assert lattice.shape == tuple(more + 1 for _, more in levels)
    assert nodes == sorted(nodes)  # the tie rule among nodes of one height


@given(bounds)
def test_every_node_is_reached_by_steps_of_one_level(levels):
    low, high = tuple(low for low, _ in levels), tuple(low + more for low, more in levels)
    lattice = Lattice(tuple("abcd"[: len(levels)]), low, high)
    reached, edge = {low}, [low]
    while edge:
        node = edge.pop()
        for above in lattice.successors(node):
            assert lattice.height(above) == lattice.height(node) + 1
            assert all(a >= b for a, b in zip(above, node, strict=True))
            if above not in reached:
                reached.add(above)
                edge.append(above)
    assert reached == set(lattice.nodes())


@given(bounds)
def test_the_nodes_of_a_height(levels):
    """S2.2: all of them, in the order of the names, and none of another height."""
    low, high = tuple(low for low, _ in levels), tuple(low + more for low, more in levels)
    lattice = Lattice(tuple("abcd"[: len(levels)]), low, high)
    for height in range(-1, lattice.height(high) + 2):
        assert list(lattice.at(height)) == [node for node in lattice.nodes() if sum(node) == height]


def test_a_height_of_a_large_lattice():
    """No node of another height is made: of 10^20 nodes, the 20 just above the bottom."""
    lattice = Lattice(tuple("abcdefghijklmnopqrst"), (0,) * 20, (9,) * 20)
    assert len(list(lattice.at(1))) == 20
    assert list(lattice.at(180)) == [lattice.top]
