"""Incognito: every complying node, subset by subset (S2.4)."""

from itertools import product

import naive
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.hierarchy.lattice import Lattice
from shoal.search.driver import drive_walk
from shoal.search.incognito import incognito, minimal


def antichain(nodes):
    """Those with no other of the set at most as general."""
    return [node for node in nodes if not any(other != node and below(other, node) for other in nodes)]


def below(one, other):
    return all(a <= b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("share", naive.SHARES)
def test_equals_brute_force(share):
    """S2.4: all complying nodes, the lower first; `minimal` leaves the antichain of §3.3.3 (S2.5)."""

    @naive.examples(300)
    @given(naive.closed_instances(share, fewest=3))
    def check(instance):
        oracle = instance.oracle()
        nodes = drive_walk(incognito(instance.lattice(), oracle.before.left_out), oracle)
        assert list(nodes) == instance.complying
        assert list(minimal(nodes)) == antichain(instance.complying)

    check()


@naive.examples(100)
@given(naive.closed_instances("0.5", fewest=2))
def test_a_node_is_asked_only_if_it_complies_with_any_attribute_left_out(instance):
    """S2.4: a-priori. Every subset's own complying nodes are found by brute force on the table without the others."""
    oracle = instance.oracle()
    left_out = oracle.before.left_out
    asked, _ = naive.run_search(incognito(instance.lattice(), left_out), oracle.complies)

    def complies(node):
        kept = [i for i, level in enumerate(node) if level != left_out[i]]
        gone = [name for i, name in enumerate(instance.names) if i not in kept]
        return not kept or instance.without(gone).outcome(tuple(node[i] for i in kept)).ok

    for node in (question.node for question in asked):
        assert oracle.complies(node) == complies(node)
        for i, level in enumerate(node):
            if level != left_out[i]:
                assert complies((*node[:i], left_out[i], *node[i + 1 :]))
    assert len({question.node for question in asked}) == len(asked), "no node is asked twice"
    assert all(0 <= question.settled <= 1 for question in asked)


def test_what_fails_alone_is_never_combined():
    """The subsets of two attributes: sex complies from level 1 on, so nothing with sex at 0 is asked again."""
    lattice = Lattice(("age", "sex"), (0, 0), (1, 1))
    asked, nodes = naive.run_search(incognito(lattice, (2, 2)), lambda node: node[1] >= 1)
    assert [question.node for question in asked] == [(0, 2), (1, 2), (2, 0), (2, 1), (0, 1), (1, 1)]
    assert nodes == ((0, 1), (1, 1))


def test_once_failing_candidates_are_rare_again_only_complete_nodes_are_asked():
    """Pairs of fine levels fail and no candidate of three attributes does, so those of four are not looked at."""
    lattice = Lattice(tuple("abcde"), (0,) * 5, (1,) * 5)
    asked, nodes = naive.run_search(incognito(lattice, (2,) * 5), lambda node: node.count(0) < 2)
    assert {sum(level != 2 for level in question.node) for question in asked} == {1, 2, 3, 5}
    assert set(nodes) == {node for node in product(range(2), repeat=5) if node.count(0) < 2}


def test_a_rare_failure_that_was_not_looked_at_is_found_in_the_complete_nodes():
    """Four attributes fail together although any three of them comply."""
    lattice = Lattice(tuple("abcde"), (0,) * 5, (1,) * 5)

    def complies(node):
        return node[0] + node[1] != 0 and node[1:] != (0, 0, 1, 1)

    asked, nodes = naive.run_search(incognito(lattice, (2,) * 5), complies)
    assert not any(sum(level != 2 for level in question.node) == 4 for question in asked)
    assert set(nodes) == {node for node in product(range(2), repeat=5) if complies(node)}


def test_nothing_complies():
    asked, nodes = naive.run_search(incognito(Lattice(("age", "sex"), (0, 0), (1, 1)), (2, 2)), lambda _: False)
    assert nodes == ()
    assert len(asked) == 4, "every attribute alone, and no pair"


@naive.examples(100)
@given(st.sets(st.sampled_from(list(product(range(3), repeat=3))), max_size=4))
def test_minimal_of_what_lies_above_some_nodes_is_their_antichain(lowest):
    above = [node for node in product(range(3), repeat=3) if any(below(low, node) for low in lowest)]
    assert list(minimal(above)) == antichain(above) == antichain(sorted(lowest))
