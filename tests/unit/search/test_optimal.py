"""The optimum equals brute force, on many small tables; where a lattice is too large, the gap is true."""

import dataclasses
from math import inf, isclose

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.hierarchy.lattice import Lattice
from shoal.metrics.catalogue import METRICS
from shoal.search import optimal as searching
from shoal.search.driver import drive_search
from shoal.search.optimal import optimal
from shoal.search.oracle import Answer

every_metric = pytest.mark.parametrize("metric", sorted(METRICS))


def asked_for(lattice, oracle, **options):
    return optimal(lattice, oracle.scorer.floors, oracle.before.left_out, additive=oracle.scorer.additive, **options)


def searched(instance, metric, stop=lambda: False, **options):
    oracle = instance.oracle(metric)
    found = drive_search(asked_for(oracle.prune(instance.lattice()), oracle, **options), oracle, stop=stop)
    return found, oracle


def close(one, other):
    return isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)


def assert_same(instance, metric):
    found, oracle = searched(instance, metric)
    best = naive.best(metric, instance)
    assert found.proved
    assert found.best is None or found.bound == found.best.score
    if best is None:
        assert found.best is None
        return
    assert found.best is not None
    assert close(oracle.scorer.value(found.best.score), naive.value(metric, instance, best))
    assert found.best.node == best.node
    assert found.best.suppressed == len(best.suppressed)
    after = oracle.apply(found.best.node)
    coarse = oracle.before.classes.rollup(
        {h.attribute: h.levels[level] for h, level in zip(oracle.before.hierarchies, best.node, strict=True)},
        want_classes=True,
    )
    rows = oracle.failing(best.node, coarse)[coarse.classes[oracle.before.classes.classes]]
    assert {int(row) for row in rows.nonzero()[0]} == best.suppressed
    assert after.suppressed_rows == len(best.suppressed)


def assert_true(instance, metric, found, oracle):
    """What a search that did not end says: a complying node, its score, and a gap that the optimum is in."""
    best = naive.best(metric, instance)
    optimum = inf if best is None else naive.value(metric, instance, best)
    bound = oracle.scorer.value(found.bound)
    assert bound <= optimum + 1e-12 * max(1.0, abs(bound))
    if found.best is None:
        assert not instance.outcome(instance.lattice().top).ok
        return
    outcome = instance.outcomes[found.best.node]
    assert outcome.ok
    assert close(oracle.scorer.value(found.best.score), naive.value(metric, instance, outcome))
    assert oracle.scorer.value(found.best.score) >= optimum - 1e-12 * max(1.0, abs(optimum))
    if found.proved:  # of the score, perhaps not of the tie
        assert close(oracle.scorer.value(found.best.score), optimum)


@pytest.mark.parametrize("share", naive.SHARES)
def test_equals_brute_force(share):
    """Every metric, policies of every closure, suppressed rows dropped or shown as a class (design 2)."""

    @naive.examples(300)
    @given(naive.instances(share, naive.EVERY_CLOSURE, st.booleans()))
    def check(instance):
        for metric in METRICS:
            assert_same(instance, metric)

    check()


@naive.examples(100)
@given(instance=naive.instances())
def test_ties_go_to_the_lower_node_then_by_name(instance):
    """A table that is the same with its two columns exchanged: node (i, j) ties with node (j, i)."""
    *_, one = instance.attributes.values()
    other = next(iter(instance.attributes.values()))
    known = [value if value in one.leaves else one.leaves[0] for value in other.values]
    attributes = {
        "x": dataclasses.replace(one, values=[*one.values, *known]),
        "y": dataclasses.replace(one, values=[*known, *one.values]),
    }
    doubled = dataclasses.replace(instance, attributes=attributes, sensitive=instance.sensitive * 2)
    for metric in METRICS:
        assert_same(doubled, metric)


@pytest.fixture
def tiny(monkeypatch):
    """Every lattice of three nodes is too large, and annealing is short."""
    monkeypatch.setattr(searching, "LARGEST_EXHAUSTED", 2)
    monkeypatch.setattr(searching, "_FIRST_FACES", 2)
    monkeypatch.setattr(searching, "_STEPS", 10)


@pytest.mark.parametrize("share", naive.SHARES)
def test_a_too_large_lattice_gives_a_complying_node_and_a_true_gap(share, tiny):
    """Descent, faces and annealing, stopped at any moment or not at all: every metric, every closure."""

    @naive.examples(150)
    @given(
        naive.instances(share, naive.EVERY_CLOSURE, st.booleans(), fewest=2),
        st.none() | st.integers(0, 30),
        st.integers(0, 9),
    )
    def check(instance, calls, seed):
        stop = (lambda: False) if calls is None else naive.stop_after(calls)
        for metric in METRICS:
            found, oracle = searched(instance, metric, stop, seed=seed, endless=calls is not None)
            assert_true(instance, metric, found, oracle)

    check()


def test_a_too_large_lattice_where_nothing_complies(tiny):
    """What fails at the top of a closed policy fails everywhere: proved with one question, not left to time."""

    @naive.examples(100)
    @given(naive.closed_instances("0.5", fewest=2).filter(lambda instance: instance.lattice().size > 2))
    def check(instance):
        if not instance.complying:
            oracle, asked = instance.oracle(), []
            search = asked_for(instance.lattice(), oracle, endless=True)
            found = drive_search(search, oracle, lambda question, _: asked.append(question.node), naive.stop_after(50))
            assert found.best is None
            assert found.proved
            assert asked == [instance.lattice().top]

    check()


def test_in_a_too_large_lattice_the_same_seed_asks_the_same(tiny):
    @naive.examples(50)
    @given(naive.instances("0.5", naive.EVERY_CLOSURE, fewest=3), st.sampled_from(sorted(METRICS)))
    def check(instance, metric):
        def asked():
            oracle = instance.oracle(metric)
            return naive.run_search(asked_for(instance.lattice(), oracle, seed=1), oracle.ask)

        (one, first), (two, second) = asked(), asked()
        assert one == two
        assert first.bound == second.bound
        assert (first.best and first.best.node) == (second.best and second.best.node)
        assert all(0 <= question.settled <= 1 for question in one)

    check()


def test_in_a_too_large_lattice_another_seed_asks_something_else(tiny):
    levels = [dict.fromkeys("abcd", "x"), dict.fromkeys("abcd", "*")]
    values = [list("abcdabcdabcd"), list("aabbccddabab"), list("abababcdcdcd")]
    attributes = {n: naive.Attribute(list("abcd"), levels, v, 0, 2, None) for n, v in zip("pqr", values, strict=True)}
    instance = naive.Instance(attributes, ["u"] * 12, [naive.k_anonymity(2)], 0)
    oracle = instance.oracle("discernibility")
    asked = {
        seed: tuple(naive.run_search(asked_for(instance.lattice(), oracle, seed=seed), oracle.ask)[0])
        for seed in range(4)
    }
    assert len(set(asked.values())) > 1


@every_metric
@naive.examples(60)
@given(data=st.data())
def test_the_order_of_rows_and_columns_does_not_matter(metric, data):
    instance = data.draw(naive.instances())
    order = data.draw(st.permutations(range(instance.rows)))
    names = data.draw(st.permutations(list(instance.attributes)))
    attributes = {
        name: dataclasses.replace(
            instance.attributes[name], values=[instance.attributes[name].values[row] for row in order]
        )
        for name in names
    }
    other = dataclasses.replace(instance, attributes=attributes, sensitive=[instance.sensitive[row] for row in order])
    one, two = searched(instance, metric)[0].best, searched(other, metric)[0].best
    assert (one is None) == (two is None)
    if one is not None:
        assert (one.node, one.suppressed) == (two.node, two.suppressed)
        assert isclose(one.score, two.score, rel_tol=1e-12)


@naive.examples(150)
@given(instance=naive.instances(promises=naive.EVERY_CLOSURE, show=st.booleans()), calls=st.integers(0, 20))
def test_a_stopped_search_gives_a_complying_node_and_a_true_gap(instance, calls):
    for metric in METRICS:
        found, oracle = searched(instance, metric, stop=naive.stop_after(calls))
        assert_true(instance, metric, found, oracle)


@naive.examples(50)
@given(instance=naive.instances(), metric=st.sampled_from(sorted(METRICS)))
def test_the_same_questions_every_time(metric, instance):
    def asked():
        oracle = instance.oracle(metric)
        return naive.run_search(asked_for(instance.lattice(), oracle), oracle.ask)[0]

    first = asked()
    assert first == asked()
    assert len({question.node for question in first}) == len(first), "no node is asked twice"
    assert all(0 <= question.settled <= 1 for question in first)


def test_the_floors_of_a_scorer_stay_as_they_were():
    floors = (np.array([0.0, 0.5]),)

    def reply(node):
        return Answer(node, True, 0, 1, float(node[0]), (np.zeros(node[0] + 1),), 0.0)

    naive.run_search(optimal(Lattice(("age",), (0,), (1,)), floors, (2,)), reply)
    assert floors[0].tolist() == [0.0, 0.5]
