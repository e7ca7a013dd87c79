"""Every metric against its definition by rows, and the bounds that make the optimum an optimum."""

from dataclasses import replace
from math import isclose

import naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.metrics.catalogue import METRICS
from shoal.models.model import Closure
from shoal.recoding.outcome import After
from shoal.search.oracle import Oracle

hard = naive.examples(100)
every_metric = pytest.mark.parametrize("metric", sorted(METRICS))


def test_every_metric_has_a_definition_by_rows():
    assert set(naive.EXACT) == set(METRICS), "write the new metric's definition in tests/naive.py"


def lifted(before, node):
    maps = {h.attribute: h.levels[level] for h, level in zip(before.hierarchies, node, strict=True)}
    return before.classes.rollup(maps, want_classes=True)


@every_metric
@naive.examples(300)
@given(instance=naive.instances(), data=st.data())
def test_the_score_is_the_definition(metric, instance, data):
    """At any node with any classes suppressed, whether a model asks for it or not."""
    before = instance.before()
    node = data.draw(st.sampled_from(list(instance.nodes())))
    classes = lifted(before, node)
    out = np.array(data.draw(st.lists(st.booleans(), min_size=len(classes), max_size=len(classes))))
    assume(not out.all() or metric != "average-class")
    of_row = classes.classes[before.classes.classes]
    suppressed = frozenset(np.flatnonzero(out[of_row]).tolist())
    outcome = naive.Outcome(node, instance.outcome(node).classes, suppressed, ok=True)
    scorer = METRICS[metric].on(before)
    score = scorer.value(scorer.judge(After(node, classes, out), classes.counts * out).score)
    assert isclose(score, naive.value(metric, instance, outcome), rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("metric", ["loss", "loss-geometric", "precision-loss", "height"])
@hard
@given(instance=naive.instances())
def test_the_table_itself_loses_nothing(metric, instance):
    before = instance.before()
    bottom = (0,) * len(instance.attributes)
    nothing = np.zeros(len(before.classes), dtype=bool)
    scorer = METRICS[metric].on(before)
    assert (
        scorer.value(scorer.judge(After(bottom, before.classes, nothing), before.classes.counts * nothing).score) == 0
    )


@pytest.mark.parametrize("metric", ["loss", "loss-geometric", "precision-loss"])
@hard
@given(instance=naive.instances())
def test_all_stars_lose_everything(metric, instance):
    starred = {}
    for name, attribute in instance.attributes.items():
        leaves = [*attribute.leaves, "z"]
        starred[name] = replace(attribute, leaves=leaves, levels=[dict.fromkeys(leaves, "*")], low=0, high=1)
    instance = replace(instance, attributes=starred)
    before = instance.before()
    top = tuple(instance.attributes[name].height for name in instance.names)
    classes = lifted(before, top)
    assert len(classes) == 1
    nothing = np.zeros(1, dtype=bool)
    scorer = METRICS[metric].on(before)
    assert scorer.value(scorer.judge(After(top, classes, nothing), classes.counts * nothing).score) == pytest.approx(1)


@pytest.mark.parametrize(("metric", "worst"), [("loss", 1), ("loss-geometric", 1), ("precision-loss", 1)])
@hard
@given(instance=naive.instances())
def test_all_suppressed_lose_everything(metric, worst, instance):
    before = instance.before()
    everything = np.ones(len(before.classes), dtype=bool)
    bottom = (0,) * len(instance.attributes)
    scorer = METRICS[metric].on(before)
    score = scorer.judge(After(bottom, before.classes, everything), everything).score
    assert scorer.value(score) == pytest.approx(worst)


def not_above(bound, score):
    return bound <= score + 1e-12 * max(1.0, abs(score))


@every_metric
@hard
@given(instance=naive.instances())
def test_floors_are_below_every_score(metric, instance):
    scorer = METRICS[metric].on(instance.before())
    for node in instance.nodes():
        floor = sum(floors[level] for floors, level in zip(scorer.floors, node, strict=True))
        outcome = instance.outcome(node)
        if outcome.kept:
            assert not_above(scorer.value(floor), naive.value(metric, instance, outcome))


@every_metric
@hard
@given(instance=naive.instances(), show=st.booleans())
def test_answers_bound_finer_and_coarser_nodes(metric, instance, show):
    """What `optimal` rests on: `below` for all finer nodes, `above` for all coarser ones, None: none complies.

    A SUPERSET model (k, distinct l) dooms its failing classes at every finer node; of (α,k), a UNION model, only the
    part k does unless nothing may be suppressed.
    """
    before = instance.before()
    scorer = METRICS[metric].on(before)
    oracle = Oracle(before, instance.models, instance.limit, scorer, instance.reading, show)
    outcomes = [outcome for outcome in map(instance.outcome, instance.nodes()) if outcome.kept]
    values = {outcome.node: naive.value(metric, instance, outcome) for outcome in outcomes}
    complying = {outcome.node for outcome in outcomes if outcome.ok}
    for node in instance.nodes():
        said = oracle.ask(node)
        for other, score in values.items():
            if said.below is None:
                finer = all(a <= b for a, b in zip(other, node, strict=True))
                assert not (finer and other in complying)
            elif all(a <= b for a, b in zip(other, node, strict=True)):
                bound = sum(floors[level] for floors, level in zip(said.below, other, strict=True))
                assert not_above(scorer.value(bound), score), (node, other)
            if all(a >= b for a, b in zip(other, node, strict=True)):
                assert not_above(said.above, score), (node, other)


@every_metric
@hard
@given(instance=naive.instances(share="1"))
def test_the_bound_at_the_node_itself_is_its_score(metric, instance):
    """Where all failures are closed, an additive metric's bound is exact at its own node."""
    assume(all(part.closure is Closure.SUPERSET for model in instance.models for part in model.parts()))
    before = instance.before()
    scorer = METRICS[metric].on(before)
    oracle = Oracle(before, instance.models, instance.limit, scorer, instance.reading)
    for node in instance.nodes():
        said = oracle.ask(node)
        if said.ok and scorer.additive:
            bound = sum(floors[level] for floors, level in zip(said.below, node, strict=True))
            assert isclose(bound, said.score, rel_tol=1e-12, abs_tol=1e-12)
