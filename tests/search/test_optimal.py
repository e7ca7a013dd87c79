"""The optimum equals brute force, on many small tables."""

import dataclasses
from math import isclose

import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.lattice import Lattice
from shoal.metrics import METRICS
from shoal.search import Answer, Oracle, answer
from shoal.search.optimal import optimal

hard = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def asked_for(lattice, oracle):
    return optimal(lattice, oracle.scorer.floors, oracle.before.left_out, additive=oracle.scorer.additive)


def searched(instance, metric, stop=lambda: False):
    before = instance.before()
    scorer = METRICS[metric].on(before)
    oracle = Oracle(before, instance.models, instance.limit, scorer, instance.labels, instance.show)
    found = answer(asked_for(oracle.pruned(instance.lattice()), oracle), oracle, stop=stop)
    return found, oracle


def assert_same(instance, metric):
    found, oracle = searched(instance, metric)
    best = naive.best(metric, instance)
    assert found.proved
    assert found.best is None or found.bound == found.best.score
    if best is None:
        assert found.best is None
        return found
    assert found.best is not None
    expected = naive.value(metric, instance, best)
    assert isclose(oracle.scorer.value(found.best.score), expected, rel_tol=1e-12, abs_tol=1e-12)
    assert found.best.node == best.node
    assert found.best.suppressed == len(best.suppressed)
    after = oracle.apply(found.best.node)
    coarse = oracle.before.classes.rollup(
        {h.attribute: h.levels[level] for h, level in zip(oracle.before.hierarchies, best.node, strict=True)},
        want_classes=True,
    )
    rows = oracle.failing(coarse)[coarse.classes[oracle.before.classes.classes]]
    assert {int(row) for row in rows.nonzero()[0]} == best.suppressed
    assert after.suppressed_rows == len(best.suppressed)
    return found


@pytest.mark.parametrize("share", ["0", "0.1", "0.5", "1"])
@pytest.mark.parametrize("metric", sorted(METRICS))
def test_equals_brute_force(metric, share):
    @hard
    @given(naive.instances(share))
    def check(instance):
        assert_same(instance, metric)

    check()


@pytest.mark.parametrize("metric", sorted(METRICS))
@settings(hard, max_examples=100)
@given(instance=naive.instances())
def test_ties_go_to_the_lower_node_then_by_name(metric, instance):
    """A table that is the same with its two columns exchanged: node (i, j) ties with node (j, i)."""
    *_, one = instance.attributes.values()
    other = next(iter(instance.attributes.values()))
    known = [value if value in one.leaves else one.leaves[0] for value in other.values]
    attributes = {
        "x": dataclasses.replace(one, values=[*one.values, *known]),
        "y": dataclasses.replace(one, values=[*known, *one.values]),
    }
    assert_same(dataclasses.replace(instance, attributes=attributes, sensitive=instance.sensitive * 2), metric)


@pytest.mark.parametrize("metric", sorted(METRICS))
@hard
@given(instance=naive.instances(show=st.just(True)))
def test_shown_suppressed_rows_are_a_class(metric, instance):
    """Design 2: with suppressed = "show" the rows stay as one class that must comply."""
    assert_same(instance, metric)


@pytest.mark.parametrize("metric", sorted(METRICS))
@settings(hard, max_examples=60)
@given(data=st.data())
def test_the_order_of_rows_and_columns_is_nothing(metric, data):
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


@pytest.mark.parametrize("metric", sorted(METRICS))
@settings(hard, max_examples=150)
@given(instance=naive.instances())
def test_stopped_at_once_a_complying_node_and_a_true_gap(metric, instance):
    found, oracle = searched(instance, metric, stop=lambda: True)
    best = naive.best(metric, instance)
    if found.best is None:
        assert not instance.outcome(instance.lattice().top).ok
        assert best is None or not found.proved
        return
    assert instance.outcome(found.best.node).ok
    assert found.bound <= found.best.score
    least = oracle.scorer.value(found.bound)
    assert naive.value(metric, instance, best) >= least - 1e-12 * max(1, abs(least))
    if found.proved:  # of the score, perhaps not yet of the tie
        assert isclose(
            oracle.scorer.value(found.best.score), naive.value(metric, instance, best), rel_tol=1e-12, abs_tol=1e-12
        )


@settings(hard, max_examples=50)
@given(instance=naive.instances(), metric=st.sampled_from(sorted(METRICS)))
def test_the_same_questions_every_time(metric, instance):
    def asked():
        questions = []
        before = instance.before()
        scorer = METRICS[metric].on(before)
        oracle = Oracle(before, instance.models, instance.limit, scorer, instance.labels)
        search = asked_for(instance.lattice(), oracle)
        answer(search, oracle, lambda question, _: questions.append(question))
        return questions

    first = asked()
    assert first == asked()
    assert len({question.node for question in first}) == len(first), "no node is asked twice"
    assert all(0 <= question.settled <= 1 for question in first)


def test_the_floors_of_a_scorer_stay_as_they_were():
    floors = (np.array([0.0, 0.5]),)
    search = optimal(Lattice(("age",), (0,), (1,)), floors, (2,))
    question = next(search)
    with pytest.raises(StopIteration):
        while True:
            zeros = (np.zeros(question.node[0] + 1),)
            question = search.send(Answer(question.node, True, 0, 1, float(question.node[0]), zeros, 0.0))
    assert floors[0].tolist() == [0.0, 0.5]
