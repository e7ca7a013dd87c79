"""The searches by name: each keeps its conditions and returns its set, for every suppression limit."""

import naive
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.methods import ALGORITHMS, PAIRS, algorithms_for, algorithms_reading
from shoal.policy.method import OPTIONS
from shoal.search.driver import drive_walk
from shoal.search.walks import Setting


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
    assert {name for name, _ in RETURNS} == {name for name, algorithm in ALGORITHMS.items() if algorithm.lists}
    assert all(callable(algorithm.load()) for algorithm in ALGORITHMS.values())
    assert all(algorithm.sentence and algorithm.source for algorithm in ALGORITHMS.values())
    assert all(algorithms_for(pair) for pair in PAIRS)
    assert {option for algorithm in ALGORITHMS.values() for option in algorithm.options} == set(OPTIONS)
    assert all(algorithms_reading(option) for option in OPTIONS)


def test_algorithms_that_return_a_set_rely_on_closure():
    assert all(algorithm.closed == algorithm.lists for algorithm in ALGORITHMS.values())


@pytest.mark.parametrize("infer", [True, False])
@naive.examples(80)
@given(instance=st.sampled_from(naive.SHARES).flatmap(naive.closed_instances))
def test_sets_equal_brute_force_with_and_without_inference(infer, instance):
    for (name, only_minimal), expected in RETURNS.items():
        oracle = instance.oracle(infer=infer)
        setting = Setting(instance.lattice(), oracle.before, minimal=only_minimal)
        assert list(drive_walk(ALGORITHMS[name].load()(setting), oracle)) == expected(instance, None), name


@naive.examples(150)
@given(naive.instances(promises=naive.EVERY_CLOSURE, show=st.booleans()), st.sampled_from(["importance", "paper"]))
def test_what_a_walk_up_returns_complies(instance, weighting):
    """Datafly and greedy take any policy; where it is closed they find something whenever there is something."""
    for name in ("datafly", "greedy"):
        oracle = instance.oracle()
        nodes = drive_walk(ALGORITHMS[name].load()(Setting(instance.lattice(), oracle.before, weighting)), oracle)
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
