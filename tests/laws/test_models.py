"""Laws that every model in MODELS keeps; adding a model enrols it.

A model with a new parameter needs one line in `PARAMETERS`, and one in `STRICTER` if it attains it.
"""

import json
from dataclasses import fields, replace
from functools import partial
from itertools import product

import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.counts import ClassCounts, ValueCounts
from shoal.models import MODELS, AlphaK, Closure, Model, asked, spec

LABELS = ("flu", "hiv", "tbc", None)
ATTRIBUTE = "disease"

PARAMETERS = {
    "k": st.integers(1, 5),
    "l": st.integers(1, 4),
    "alpha": st.sampled_from([0.1, 0.3333333333333333, 0.5, 0.6, 1.0, {"hiv": 0.5}, {"flu": 0.7, "hiv": 0.25}]),
    "attribute": st.just(ATTRIBUTE),
    "null_is_value": st.booleans(),
}
"""A strategy for every parameter of every model, by name."""

STRICTER = {"k": lambda k: k + 1, "l": lambda l: l + 1, "alpha": lambda alpha: alpha * 0.999}
"""A little more than what was attained, by name; None where there is nothing stricter."""

laws = settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
every_model = pytest.mark.parametrize("name", sorted(MODELS))
every_closed_model = pytest.mark.parametrize(
    "name", sorted(n for n, m in MODELS.items() if m.closure is not Closure.NOT)
)


def model_of(name):
    """Instances of a model; fails where a parameter has no strategy."""
    made = MODELS[name]
    missing = [field.name for field in fields(made) if field.name not in PARAMETERS]
    if missing:
        pytest.fail(f"{name} has the parameters {missing}: give each a strategy in PARAMETERS of {__file__}")
    return st.builds(made, **{field.name: PARAMETERS[field.name] for field in fields(made)})


def flags(model):
    """What says how a table is read, not how much is asked."""
    return {f.name: getattr(model, f.name) for f in fields(model) if isinstance(getattr(model, f.name), bool)}


def probes(name):
    """The weakest instances, with each setting of their flags."""
    for probe in MODELS[name].probes(ATTRIBUTE if MODELS[name].per_attribute else None):
        for setting in product([False, True], repeat=len(flags(probe))):
            yield replace(probe, **dict(zip(flags(probe), setting, strict=True)))


one_class = st.lists(st.integers(0, 4), min_size=len(LABELS), max_size=len(LABELS)).filter(any)
tables = st.lists(one_class, min_size=1, max_size=5)


def counts(rows, labels=LABELS):
    """Class counts of a list of rows of counts per label."""
    dense = np.array(rows, np.int64).reshape(-1, len(labels))
    classes, values = np.nonzero(dense)
    long = ValueCounts(classes, values, dense[classes, values], list(labels), len(dense))
    return ClassCounts(dense.sum(axis=1), {ATTRIBUTE: long})


def complies(model, rows):
    return model.complies(counts(rows)).tolist()


def merged(*rows):
    return [sum(column) for column in zip(*rows, strict=True)]


def run(check, *strategies):
    laws(given(*strategies)(check))()


@every_model
def test_is_a_model(name):
    assert MODELS[name].name == name
    has_attribute = "attribute" in [field.name for field in fields(MODELS[name])]
    assert has_attribute == MODELS[name].per_attribute

    def check(model):
        assert isinstance(model, Model)
        assert model.complies(counts([])).tolist() == []

    run(check, model_of(name))


@every_model
def test_closure_is_as_declared(name):
    """M1 and M2, for the model and for each of its parts."""

    def check(whole, one, other):
        for model in (whole, *whole.parts()):
            fine, coarse = complies(model, [one, other]), complies(model, [merged(one, other)])[0]
            if model.closure >= Closure.UNION and all(fine):
                assert coarse
            if model.closure >= Closure.SUPERSET and any(fine):
                assert coarse

    run(check, model_of(name), one_class, one_class)


@every_model
def test_what_is_attained_is_json(name):
    def check(model, rows):
        attained = model.attained(counts(rows))
        assert json.loads(json.dumps(attained)) == attained

    run(check, model_of(name), tables)


@every_model
def test_a_policy_can_say_it(name):
    def check(model):
        assert spec.model_of(spec.table_of(model)) == model
        assert type(model)(**asked(model)) == model

    run(check, model_of(name))


@every_model
def test_parts_are_a_conjunction(name):
    def check(model, rows):
        together = [all(flags) for flags in zip(*(complies(part, rows) for part in model.parts()), strict=True)]
        assert together == complies(model, rows)

    run(check, model_of(name), tables)


@every_model
def test_what_is_attained_complies_and_more_does_not(name):
    def check(rows):
        table = counts(rows)
        for probe in probes(name):
            attained = probe.attained(table)
            given_names = [field.name for field in fields(probe)]
            reached = {key: value for key, value in attained.items() if key in given_names}
            assert reached, "a model attains at least one of its parameters"
            weakest = {key: getattr(probe, key) for key in given_names}
            for key, value in reached.items():
                if key not in STRICTER:
                    pytest.fail(f"{name} attains {key}: say in STRICTER of {__file__} what is stricter")
                if not value:
                    continue  # nothing attained: no value of this parameter is allowed
                assert all(complies(type(probe)(**{**weakest, key: value}), rows))
                assert not all(complies(type(probe)(**{**weakest, key: STRICTER[key](value)}), rows))

    run(check, tables)


@every_model
def test_probes_are_the_weakest(name):
    unmeasured = MODELS[name].probes.__func__ is Model.probes.__func__  # `measure` does not ask it

    def check(model, rows):
        weak = [probe for probe in probes(name) if flags(probe) == flags(model)]
        assert len(weak) == (0 if unmeasured else 1)
        for probe in weak:
            for strong, weakest in zip(complies(model, rows), complies(probe, rows), strict=True):
                assert weakest or not strong

    run(check, model_of(name), tables)
    assert list(MODELS[name].probes(None if MODELS[name].per_attribute else ATTRIBUTE)) == []


@every_model
def test_order_of_classes_and_codes_of_values_are_nothing(name):
    def check(model, rows, classes, values):
        order = [i for i in classes if i < len(rows)]
        moved = counts([[rows[i][v] for v in values] for i in order], [LABELS[v] for v in values])
        long = moved.sensitive[ATTRIBUTE]
        back = slice(None, None, -1)  # entries in any order, too
        long = ValueCounts(long.classes[back], long.values[back], long.counts[back], long.labels, long.class_count)
        moved = ClassCounts(moved.sizes, {ATTRIBUTE: long})
        assert model.complies(moved).tolist() == [complies(model, rows)[i] for i in order]
        assert model.attained(moved) == model.attained(counts(rows))

    run(check, model_of(name), tables, st.permutations(range(5)), st.permutations(range(len(LABELS))))


def set_partitions(items):
    """Every way to merge items into classes."""
    if not items:
        yield []
        return
    first, *others = items
    for parts in set_partitions(others):
        yield [[first], *parts]
        for i, part in enumerate(parts):
            yield [*parts[:i], [first, *part], *parts[i + 1 :]]


@every_model
def test_impossible_is_sound(name):
    """If it says impossible, no merging complies, whichever classes of at most `suppressible` rows go first."""
    said = []

    def check(model, rows, suppressible):
        why = model.impossible(counts([merged(*rows)]), suppressible)
        if why is None:
            return
        said.append(why)
        for kept in product([True, False], repeat=len(rows)):
            stays = [row for row, keep in zip(rows, kept, strict=True) if keep]
            gone = sum(sum(row) for row, keep in zip(rows, kept, strict=True) if not keep)
            if stays and gone <= suppressible:
                for parts in set_partitions(stays):
                    assert not all(complies(model, [merged(*part) for part in parts])), (stays, parts)

    small = st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4).filter(any), min_size=1, max_size=4)
    run(check, model_of(name), small, st.integers(0, 5))
    silent = MODELS[name].impossible is Model.impossible  # it never says so before the search
    assert said or silent, "the law was never put to the test"


@every_closed_model
def test_impossible_knows_the_whole_table(name):
    """Without suppression a closed model is possible exactly when the whole table as one class complies."""

    def check(model, rows):
        whole = merged(*rows)
        assert (model.impossible(counts([whole]), 0) is None) == all(complies(model, [whole]))

    run(check, model_of(name), tables)


@pytest.mark.parametrize("suppressible", [False, True])
@every_closed_model
def test_what_is_above_a_complying_node_complies(name, suppressible):
    """M1 and M2 as a law of the lattice: by brute force over the nodes of small tables, for each closed part.

    UNION is enough where nothing may be suppressed; where rows may be, the parts that are SUPERSET keep it.
    """
    needed = Closure.SUPERSET if suppressible else Closure.UNION

    def promised(model):
        return [naive.Promise(p, partial(holds, p)) for p in model.parts() if p.closure >= needed]

    def holds(part, values):
        labels = ["u", "v", "w", None]
        return all(part.complies(counts([[values.count(label) for label in labels]], labels)))

    def check(instance):
        for node in instance.complying:
            for above, outcome in instance.outcomes.items():
                assert outcome.ok or not all(a <= b for a, b in zip(node, above, strict=True)), (node, above)

    shares = st.sampled_from(["0.1", "0.5", "1"] if suppressible else ["0"])
    tables = shares.flatmap(lambda share: naive.instances(share, model_of(name).map(promised), fewest=2))
    naive.examples(100)(given(tables)(check))()


def test_alpha_k_is_not_superset():
    """M2 for alpha = 1/2: (3,2,3) complies, (0,0,3) does not, (3,2,6) does not."""
    model = AlphaK(0.5, 1, ATTRIBUTE)
    rows = [[3, 2, 3, 0], [0, 0, 3, 0]]
    assert complies(model, rows) == [True, False]
    assert complies(model, [merged(*rows)]) == [False]
    assert AlphaK.closure is Closure.UNION
