"""The oracle: memory, rollup, what an answer says, and what may be inferred from it (design 4 and 6)."""

from itertools import product

import naive
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.codes import encode
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation, LongCounts
from shoal.hierarchy.build import build
from shoal.hierarchy.intervals import Intervals
from shoal.methods import ALGORITHMS
from shoal.metrics.catalogue import METRICS
from shoal.models.k_anonymity import KAnonymity
from shoal.models.l_diversity import DistinctLDiversity
from shoal.models.model import Closure
from shoal.recoding.outcome import Before
from shoal.search import oracle as asking
from shoal.search.driver import drive_walk
from shoal.search.oracle import Oracle, Tally
from shoal.search.walks import Setting

any_policy = naive.instances(promises=naive.EVERY_CLOSURE, show=st.booleans())


@pytest.fixture
def ask(before):
    return Oracle(before, [KAnonymity(5)], 300, METRICS["loss"].on(before))


def below(one, other):
    return all(a <= b for a, b in zip(one, other, strict=True))


# answers


def test_answers_are_remembered(ask, sources):
    first = ask.ask((1, 1))
    assert ask.ask((1, 1)) is first
    assert sources == [len(ask.before.classes)]
    assert ask.complies((1, 1)) == first.ok
    assert ask.tally == Tally(checked=1, remembered=2, grouped=1)
    assert ask.tally.asked == 3


def test_the_older_half_of_the_answers_is_forgotten(ask, monkeypatch):
    monkeypatch.setattr(asking, "_REMEMBERED_ANSWERS", 4)
    nodes = [(3, 3), (3, 2), (2, 3), (2, 2), (1, 3)]
    said = [ask.ask(node) for node in nodes]
    assert len(ask._answers) == 3
    assert all(ask.ask(node) is answer for node, answer in zip(nodes[2:], said[2:], strict=True))
    assert ask.ask((3, 3)).score == said[0].score
    assert (ask.tally.checked, ask.tally.remembered) == (6, 3)


@naive.examples(100)
@given(any_policy, st.randoms(use_true_random=False), st.sampled_from([2, 20_000]))
def test_answers_do_not_depend_on_what_was_asked_before(instance, random, remembered):
    ask = instance.oracle()
    nodes = list(instance.nodes()) * 2
    random.shuffle(nodes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "_REMEMBERED_ANSWERS", remembered)
        for node in nodes:
            outcome, said = instance.outcomes[node], ask.ask(node)
            assert said.ok == outcome.ok
            assert said.suppressed <= len(outcome.suppressed)
            assert np.isinf(said.score) != said.ok
            assert sorted(ask.apply(node).classes.counts.tolist()) == sorted(len(rows) for rows in outcome.classes)
            if said.ok:
                assert said.suppressed == len(outcome.suppressed)
                assert said.classes == len(outcome.kept)


def test_what_else_small_classes_hold_is_not_asked(monkeypatch):
    columns = {"age": (np.arange(4, dtype=np.int32), 4)}
    classes = FrequencySet.count(columns, {"ill": (np.zeros(4, np.int32), 2)})
    ages = build(encode("age", pa.array([1, 2, 3, 4])), Intervals([2]))
    before = Before(classes, (ages,))
    merged, counted = LongCounts.merge_classes, []
    monkeypatch.setattr(LongCounts, "merge_classes", lambda long, into: counted.append(into) or merged(long, into))
    reading = CountInterpretation({"ill": ["flu", "hiv"]})
    asked = Oracle(before, [KAnonymity(3), DistinctLDiversity(1, "ill")], 0, METRICS["loss"].on(before), reading)
    assert asked.ask((1,)).below is None
    assert not counted
    assert asked.ask((2,)).ok
    assert counted


def test_everything_suppressed_is_no_release(before):
    """Suppression 1.0 must not be kept by an empty table."""
    ask = Oracle(before, [KAnonymity(3001)], 3000, METRICS["loss"].on(before))
    said = ask.ask((3, 3))
    assert not said.ok
    assert said.below is None


def test_a_node_that_fails_or_leaves_out_an_attribute_bounds_no_coarser_one(ask, before):
    few, face = ask.ask((0, 0)), ask.ask((before.left_out[0], 2))
    assert (few.ok, few.score, few.below, few.above) == (False, np.inf, None, -np.inf)
    assert (face.ok, face.above) == (True, -np.inf)
    assert face.score == sum(floor[-1] for floor in face.below)


# inference


@naive.examples(200)
@given(any_policy, st.randoms(use_true_random=False), st.booleans())
def test_whether_a_node_complies_is_inferred_rightly(instance, random, infer):
    """Asked in any order, mixed with full answers; nothing is inferred where the policy is not closed."""
    oracle = instance.oracle(infer=infer)
    nodes = list(instance.nodes()) * 2
    random.shuffle(nodes)
    for node in nodes:
        if random.random() < 0.2:
            oracle.ask(node)
        assert oracle.complies(node) == instance.outcomes[node].ok
    if not (infer and oracle.closed):
        assert oracle.tally.inferred == 0


@naive.examples(150)
@given(st.sampled_from(naive.SHARES).flatmap(naive.closed_instances))
def test_the_tally_adds_up_and_inference_never_costs_a_check(instance):
    """S2.8: nodes visited with and without inference."""
    for name in ("samarati", "hybrid", "incognito", "datafly"):
        tallies = []
        for infer in (True, False):
            oracle, asked = instance.oracle(infer=infer), []
            walk = ALGORITHMS[name].load()(Setting(instance.lattice(), oracle.before))
            drive_walk(walk, oracle, lambda question, tally, asked=asked: asked.append(question))
            tally = oracle.tally
            assert tally.checked + tally.remembered + tally.inferred == tally.asked == len(asked)
            tallies.append(tally)
        with_inference, without = tallies
        assert with_inference.checked <= without.checked, name
        assert with_inference.asked == without.asked, "the walk is the same"


@naive.examples(150)
@given(st.sampled_from(naive.SHARES).flatmap(naive.closed_instances))
def test_after_pruning_inference_never_costs_a_check(instance):
    """Incognito's first round is what `pruned` asked: it need not be looked at again."""
    checked = []
    for infer in (True, False):
        oracle = instance.oracle(infer=infer)
        setting = Setting(oracle.prune(instance.lattice()), oracle.before)
        drive_walk(ALGORITHMS["incognito"].load()(setting), oracle)
        checked.append(oracle.tally.checked)
    assert checked[0] <= checked[1]


@naive.examples(200)
@given(any_policy)
def test_closed_means_that_what_is_above_a_complying_node_complies(instance):
    """M1 and M2 of the models, as a law of the lattice."""
    if instance.oracle().closed:
        for node in instance.complying:
            assert all(other.ok for above, other in instance.outcomes.items() if below(node, above))


@pytest.mark.parametrize(
    ("promise", "limit", "show", "closed"),
    [
        (naive.k_anonymity(2), 0, True, True),
        (naive.k_anonymity(2), 1, False, True),
        (naive.k_anonymity(2), 1, True, False),
        (naive.alpha_k(0.5, 2), 0, False, True),
        (naive.alpha_k(0.5, 2), 1, False, False),
        (naive.maximum_size(2), 0, False, False),
    ],
)
def test_what_is_closed(promise, limit, show, closed):
    flat = naive.Attribute(["a"], [], ["a"] * 4, 0, 0, None)
    oracle = naive.Instance({"p": flat}, list("uvuv"), [promise], limit, show).oracle()
    assert oracle.closed == closed
    assert oracle.needed is (Closure.SUPERSET if limit else Closure.UNION)
    assert [part.closure for part in oracle.open_parts] == ([] if closed or show else [promise.model.closure])


# faces


@naive.examples(150)
@given(naive.instances(promises=naive.EVERY_CLOSURE, show=st.booleans(), fewest=2))
def test_nothing_below_a_face_that_fails_complies(instance):
    """Design 6: attributes left out are at a virtual top; every face, every closure."""
    oracle = instance.oracle()
    left_out = oracle.before.left_out
    for shown in product([True, False], repeat=len(left_out)):
        for node in instance.nodes():
            face = tuple(level if show else out for level, show, out in zip(node, shown, left_out, strict=True))
            if oracle.ask(face).below is None:
                assert not any(other.ok for finer, other in instance.outcomes.items() if below(finer, face))


def test_a_face_is_not_asked_for_what_finer_nodes_may_keep():
    """Two of each are too many for a class of at most one, until the attribute that is left out tells them apart."""
    apart = naive.Attribute(list("abcd"), [dict.fromkeys("abcd", "*")], list("abcd"), 0, 1, None)
    alike = naive.Attribute(list("ab"), [dict.fromkeys("ab", "*")], list("aabb"), 0, 1, None)
    oracle = naive.Instance({"p": apart, "q": alike}, ["u"] * 4, [naive.maximum_size(1)], 0).oracle()
    face = (oracle.before.left_out[0], 0)
    assert oracle.complies(face) is oracle.ask(face).ok is True
    assert [oracle.ask(node).ok for node in ((0, 0), (1, 0))] == [True, False]


@naive.examples(150)
@given(naive.instances(promises=naive.SUPERSET, fewest=2), st.data())
def test_a_face_is_the_table_without_the_attributes(instance, data):
    gone = data.draw(st.sets(st.sampled_from(instance.names), max_size=len(instance.names) - 1))
    oracle, less = instance.oracle(), instance.without(gone)
    for node in less.nodes():
        levels = dict(zip(less.names, node, strict=True))
        face = tuple(levels.get(n, out) for n, out in zip(instance.names, oracle.before.left_out, strict=True))
        outcome = less.outcomes[node]
        assert oracle.complies(face) == outcome.ok
        assert oracle.apply(face).suppressed_rows == len(outcome.suppressed)


@pytest.mark.parametrize("share", naive.SHARES)
def test_pruning_removes_no_complying_node(share):
    """All closures; the answers stay the same afterwards, from the set that was settled on."""

    @naive.examples(100)
    @given(naive.instances(share, naive.EVERY_CLOSURE, st.booleans()))
    def check(instance):
        oracle, lattice = instance.oracle(), instance.lattice()
        pruned = oracle.prune(lattice)
        assert set(instance.complying) <= set(pruned.nodes()) <= set(lattice.nodes())
        assert pruned.top == lattice.top
        for node, outcome in instance.outcomes.items():
            assert oracle.ask(node).ok == outcome.ok
            assert sorted(oracle.apply(node).classes.counts.tolist()) == sorted(map(len, outcome.classes))

    check()


def test_pruning_lifts_what_fails_alone():
    """Four different values, k = 2: the attribute cannot stay at level 0, whatever the other does."""
    apart = naive.Attribute(list("abcd"), [dict.fromkeys("abcd", "*")], list("abcd"), 0, 1, None)
    alike = naive.Attribute(list("ab"), [dict.fromkeys("ab", "*")], list("aabb"), 0, 1, None)
    instance = naive.Instance({"p": apart, "q": alike}, ["u"] * 4, [naive.k_anonymity(2)], 0)
    assert instance.oracle().prune(instance.lattice()).bottom == (1, 0)


def test_pruning_ends_at_the_top_where_nothing_complies():
    alike = naive.Attribute(list("ab"), [dict.fromkeys("ab", "*")], list("aabb"), 0, 1, None)
    instance = naive.Instance({"p": alike}, ["u"] * 4, [naive.k_anonymity(5)], 0)
    assert instance.oracle().prune(instance.lattice()).bottom == (1,)
