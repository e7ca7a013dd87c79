"""The searches by name: each keeps its conditions and returns its set, for every suppression limit."""

from typing import get_args

import naive
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.policy.method import ALGORITHM_OPTIONS, SEARCHES
from shoal.policy.method import Algorithm as Name
from shoal.search import decide
from shoal.search.algorithms import WALKS, Setting


def all_complying(instance, _):
    return instance.complying


def minimal(instance, _):
    """Complying nodes with no complying node below them."""
    nodes = instance.complying
    return [n for n in nodes if not any(o != n and all(a <= b for a, b in zip(o, n, strict=True)) for o in nodes)]


def of_least_height(instance, _):
    lowest = min(map(sum, instance.complying), default=None)
    return [node for node in instance.complying if sum(node) == lowest]


RETURNS = {
    ("samarati", False): of_least_height,  # S2.5
    ("hybrid", False): of_least_height,  # S2.8
    ("incognito", False): all_complying,  # S2.4
    ("incognito", True): minimal,  # S2.5
}
"""What the algorithms that return a set return, by brute force."""


def test_every_algorithm_of_a_policy_is_here():
    assert set(WALKS) == set(SEARCHES) - {"optimal"}
    assert {name for name, _ in RETURNS} == {name for name, algorithm in WALKS.items() if algorithm.lists}
    assert all(set(names) <= set(get_args(Name)) for names in ALGORITHM_OPTIONS.values())


def test_who_returns_a_set_relies_on_closure():
    assert all(algorithm.closed == algorithm.lists for algorithm in WALKS.values())


@pytest.mark.parametrize("infer", [True, False])
@naive.examples(80)
@given(instance=st.sampled_from(naive.SHARES).flatmap(naive.closed_instances))
def test_sets_equal_brute_force_with_and_without_inference(infer, instance):
    for (name, only_minimal), expected in RETURNS.items():
        oracle = instance.oracle(infer=infer)
        setting = Setting(instance.lattice(), oracle.before, minimal=only_minimal)
        assert list(decide(WALKS[name].walk(setting), oracle)) == expected(instance, None), name


@naive.examples(150)
@given(naive.instances(promises=naive.EVERY_CLOSURE, show=st.booleans()), st.sampled_from(["importance", "paper"]))
def test_what_a_walk_up_returns_complies(instance, weighting):
    """Datafly and greedy take any policy; where it is closed they find something whenever there is something."""
    for name in ("datafly", "greedy"):
        oracle = instance.oracle()
        nodes = decide(WALKS[name].walk(Setting(instance.lattice(), oracle.before, weighting)), oracle)
        assert set(nodes) <= set(instance.complying)
        if oracle.closed:
            assert bool(nodes) == bool(instance.complying)


@naive.examples(50)
@given(naive.instances())
def test_distinct_is_the_number_of_labels_shown(instance):
    """S2.6."""
    shown = [
        [len({a.label(value, level) for value in a.values}) for level in range(a.height + 1)]
        for a in (instance.attributes[name] for name in instance.names)
    ]
    assert Setting(instance.lattice(), instance.before()).distinct == shown
