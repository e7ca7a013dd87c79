"""Laws that every model in MODELS keeps; adding a model enrols it.

A model with a new parameter needs one line in `PARAMETERS`, and one in `STRICTER` if it attains it.
"""

import json
from dataclasses import fields, replace
from functools import partial
from itertools import product
from math import isclose

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts, JointCounts, ValueCounts
from shoal.data.packed_keys import CountInterpretation
from shoal.metrics.catalogue import METRICS
from shoal.models import MODELS, spec
from shoal.models.alpha_k import AlphaK
from shoal.models.closeness import TCloseness
from shoal.models.disclosure import DeltaDisclosure
from shoal.models.l_diversity import EntropyLDiversity
from shoal.models.likeness import BetaLikeness
from shoal.models.model import Closure, Model, asked
from shoal.models.presence import DeltaPresence
from shoal.models.recursive_cl import RecursiveCLDiversity
from shoal.search.driver import drive_search
from shoal.search.optimal import optimal
from shoal.search.oracle import Oracle

LABELS = ("flu", "hiv", "tbc", None)
ORDER = ("tbc", "flu", "hiv")
TREE = (
    {"flu": 0, "hiv": 1, "tbc": 2, None: 3},
    {"flu": 0, "hiv": 1, "tbc": 0, None: 2},
    {"flu": 0, "hiv": 0, "tbc": 0, None: 0},
)
"""(flu, tbc), (hiv), and null; then all."""
ATTRIBUTE = "disease"
DOSE = "dose"
"""The same values as numbers."""
NUMBERS = {"flu": "1", "hiv": "1.5", "tbc": "2.5", None: None}
NODES = (("flu", "hiv", "tbc", None), ("lung", "blood", None), ("*",))
"""What the groups of TREE are called."""
BESIDE = {
    "guard": {"flu": "blood", "hiv": "lung", "tbc": "*", None: None},
    "age": {"flu": "20", "hiv": "30", "tbc": "20", None: "60"},
}
"""Other columns of a row, each told by its disease, and the one quasi-identifier as it was."""
ABOUT = {"epsilon-m": DOSE}
"""The attribute of models that are about numbers."""

PARAMETERS = {
    "k": st.integers(1, 5),
    "l": st.integers(1, 4),
    "alpha": st.sampled_from([0.1, 0.3333333333333333, 0.5, 0.6, 1.0, {"hiv": 0.5}, {"flu": 0.7, "hiv": 0.25}]),
    "attribute": st.just(ATTRIBUTE),
    "t": st.sampled_from([0, 0.05, 0.2, 0.25, 0.3333333333333333, 0.5, 1.0]),
    "beta": st.sampled_from([0, 0.3, 0.5, 1.0, 2, 5.0]),
    "delta": st.sampled_from([0.1, 0.4, 1.0, 2, 3.5]),
    "epsilon": st.sampled_from([0, 0.4, 0.5, 1]),
    "m": st.integers(1, 4),
    "relative": st.booleans(),
    "alp": st.sampled_from([0.4, {"hiv": 0.5}, {"flu": 0.3333333333333333, "hiv": 0.25}, {"tbc": 1.0}]),
    "dif": st.sampled_from([None, 0.2, {"hiv": 0.1}, {"flu": 0.0, "hiv": 0.3}]),
    "population_size": st.sampled_from([3, 50, 1000]),
    "estimator": st.sampled_from(["dankar", "zayatz", "pitman", "snb"]),
    "max": st.sampled_from([0.05, 0.2, 0.3333333333333333, 0.5, 1.0]),
    "null_is_value": st.booleans(),
    "suppressed_counts": st.booleans(),
    "c": st.sampled_from([0.5, 1, 1.5, 2.0, 4]),
    "p": st.integers(1, 4),
    "a": st.sampled_from([0.25, 0.3333333333333333, 0.5, 0.75, 1]),
    "d": st.integers(1, 3),
    "others": st.none(),  # of one attribute there are none; tests/models/test_l_diversity.py has several
    "categories": st.sampled_from([[["hiv"], ["flu"]], [["hiv", "tbc"], ["flu"]], [["hiv"], ["tbc"], ["flu"]]]),
    "over": st.sampled_from(["tuples", "values"]),
    "experimental": st.just(True),
    "p-alpha-sensitive.alpha": st.sampled_from([0.1, 0.5, 1, 1.5, 3.0]),
    "p-plus-alpha-sensitive.alpha": st.sampled_from([0.1, 0.5, 1, 1.5, 3.0]),
    "l-alpha-diversity.alpha": st.sampled_from([0.1, 0.5, 1, 1.5, 3.0]),
    "population": st.just("register.csv"),
    "min": st.sampled_from([0, 0.2, 0.4]),
    "delta-presence.max": st.sampled_from([0.4, 0.5, 1.0]),
    "guard": st.just("guard"),
    "x": st.none(),  # the rows of a class with other quasi-identifiers: tests/models/test_linkability.py
    "y": st.sampled_from([("guard",), ("age", "guard")]),
    "h": st.sampled_from([0.25, 0.3333333333333333, 0.5, 0.75, 1.0]),
    "b": st.sampled_from([0.1, 0.3, 1.0, 2]),
    "alpha-beta-k.alpha": st.integers(1, 3),
    "alpha-beta-k.beta": st.integers(1, 4),
}
"""A strategy for every parameter of every model, by name; where a name means two things, by `model.name`."""

SETTINGS = {
    "absent": ["violates", "skip"],
    "distance": ["equal", "ordered", "hierarchical"],
    "form": ["basic", "enhanced"],
    "log": ["e", 2],
    "reference": ["original", "release"],
}
"""Parameters that say how a table is read, beside flags."""
PARAMETERS |= {name: st.sampled_from(known) for name, known in SETTINGS.items()}

STRICTER = {
    "k": lambda k: k + 1,
    "l": lambda l: l + 1,
    "p": lambda p: p + 1,
    "max": lambda most: most * 0.999,
    "alp": lambda alp: {value: share * 0.999 for value, share in alp.items()},
    "dif": lambda dif: {value: share * 0.999 for value, share in dif.items()} if any(dif.values()) else None,
    "alpha": lambda alpha: alpha * 0.999,
    "t": lambda t: t * 0.999,
    "c": lambda c: c * 0.999,
    "beta": lambda beta: beta * 0.999,
    "delta": lambda delta: delta * 0.999,
}
"""A little more than what was attained, by name; None where there is nothing stricter."""

every_model = pytest.mark.parametrize("name", sorted(MODELS))
every_closed_model = pytest.mark.parametrize(
    "name",
    sorted(n for n, m in MODELS.items() if m.closure is not Closure.NOT and m.impossible is not Model.impossible),
)


def model_of(name):
    """Instances of a model; fails where a parameter has no strategy."""
    made = MODELS[name]
    strategies = {f.name: PARAMETERS.get(f"{name}.{f.name}", PARAMETERS.get(f.name)) for f in fields(made)}
    missing = [parameter for parameter, strategy in strategies.items() if strategy is None]
    if missing:
        pytest.fail(f"{name} has the parameters {missing}: give each a strategy in PARAMETERS of {__file__}")
    about = {"attribute": st.just(ABOUT[name])} if name in ABOUT else {}
    return st.builds(made, **strategies | about)


def flags(model):
    """What says how a table is read, not how much is asked."""
    given = {f.name: getattr(model, f.name) for f in fields(model)}
    return {key: value for key, value in given.items() if isinstance(value, bool) or key in SETTINGS}


def probes(name):
    """The weakest instances, with each setting of their flags."""
    for probe in MODELS[name].probes(ATTRIBUTE if MODELS[name].per_attribute else None):
        for setting in product(*(SETTINGS.get(flag, [False, True]) for flag in flags(probe))):
            yield replace(probe, **dict(zip(flags(probe), setting, strict=True)))


one_class = st.lists(st.integers(0, 4), min_size=len(LABELS), max_size=len(LABELS)).filter(any)
tables = st.lists(one_class, min_size=1, max_size=5)


def counts(rows, labels=LABELS, reference=None):
    """Class counts of a list of rows of counts per label, compared with a table of so many of each, or with themselves.

    The values have a hierarchy of three levels, an order, and a population in which every class is twice as large.
    """
    dense = np.array(rows, np.int64).reshape(-1, len(labels))
    classes, values = np.nonzero(dense)
    overall = None if reference is None else np.array(reference, np.int64)
    levels = [np.array([level[label] for label in labels]) for level in TREE]
    order = [label for label in ORDER if label in labels]
    long = ValueCounts(classes, values, dense[classes, values], list(labels), len(dense), overall, levels, order)
    long = replace(long, level_labels=NODES)
    sizes = dense.sum(axis=1)
    dose = replace(long, labels=[NUMBERS[label] for label in labels])
    released = {"age": np.zeros(len(dense), np.int32)}
    joint = {
        names: together(names, long)
        for names in [(ATTRIBUTE, "guard"), ("guard",), ("age", "guard"), ("age", ATTRIBUTE)]
    }
    return ClassCounts(sizes, {ATTRIBUTE: long, DOSE: dose}, joint, 2 * sizes, released=released, quasi=("age",))


def together(names, long):
    """Columns of BESIDE and the disease counted together, in the classes and in the table they are compared with."""
    known = {name: list(dict.fromkeys(BESIDE[name].values())) for name in names if name in BESIDE}
    columns = {name: [labels.index(BESIDE[name][label]) for label in long.labels] for name, labels in known.items()}
    columns[ATTRIBUTE] = range(len(long.labels))
    known[ATTRIBUTE] = long.labels

    def grouped(classes, values, many):
        rows = np.stack([classes, *(np.array(columns[name])[values] for name in names)])
        found, which = np.unique(rows, axis=1, return_inverse=True)
        total = np.bincount(which.reshape(-1), weights=many, minlength=found.shape[1]).astype(np.int64)
        return JointCounts(found[0], tuple(found[1:]), total, tuple(known[name] for name in names))

    every = np.arange(len(long.labels))
    held = every[long.overall > 0]
    whole = grouped(np.zeros_like(held), held, long.overall[held])
    return replace(grouped(long.classes, long.values, long.counts), whole=whole)


def complies(model, rows, reference=None):
    return model.complies(counts(rows, reference=reference)).tolist()


def holds(model, rows, reference=None):
    return model.holds(counts(rows, reference=reference))


def merged(*rows):
    return [sum(column) for column in zip(*rows, strict=True)]


def alike(one, other):
    """Equal up to rounding; of tables, what the first says."""
    if isinstance(one, dict):
        return all(alike(value, other[key]) for key, value in one.items())
    return one == other or isclose(one, other, rel_tol=1e-12)


def run(check, *strategies, most=200, fewest=naive.QUICK):
    naive.examples(most, fewest=fewest)(given(*strategies)(check))()


@every_model
def test_every_registered_class_is_a_model(name):
    assert MODELS[name].name == name
    has_attribute = "attribute" in [field.name for field in fields(MODELS[name])]
    assert has_attribute == MODELS[name].per_attribute

    def check(model):
        assert isinstance(model, Model)
        assert model.complies(counts([])).tolist() == []

    run(check, model_of(name))


@every_model
def test_no_class_with_fewer_rows_than_the_least_complies(name):
    """Searches pass such classes by without a look at what they hold."""

    def check(whole, rows):
        for model in (whole, *whole.parts()):
            small = [row for row in rows if sum(row) < model.least_rows]
            assert not any(complies(model, small, merged(*rows)))

    run(check, model_of(name), st.lists(one_class, min_size=1, max_size=6))


@every_model
def test_closure_is_as_declared(name):
    """M1 and M2, for the model and for each of its parts."""

    def check(whole, one, other, rest):
        reference = merged(one, other, *rest)
        for model in (whole, *whole.parts()):
            fine = complies(model, [one, other], reference)
            coarse = complies(model, [merged(one, other)], reference)[0]
            if model.merging >= Closure.UNION and all(fine):
                assert coarse
            if model.merging >= Closure.SUPERSET and any(fine):
                assert coarse
            if model.merging >= Closure.UNION and holds(model, [one, other, *rest], reference):
                assert holds(model, [merged(one, other), *rest], reference)

    run(check, model_of(name), one_class, one_class, st.lists(one_class, max_size=3))


@every_model
def test_table_wide_models_suppress_no_class(name):
    def check(model, rows):
        if model.table_wide:
            assert all(complies(model, rows))
        else:
            assert holds(model, rows) == all(complies(model, rows))

    run(check, model_of(name), tables)


@every_model
def test_what_is_attained_is_json(name):
    def check(model, rows):
        attained = model.attained(counts(rows))
        assert json.loads(json.dumps(attained)) == attained

    run(check, model_of(name), tables)


@every_model
def test_a_model_survives_the_policy_file(name):
    def check(model):
        assert spec.model_of(spec.table_of(model)) == model
        assert type(model)(**asked(model)) == model

    run(check, model_of(name))


@every_model
def test_a_model_is_the_conjunction_of_its_parts(name):
    def check(model, rows):
        together = [all(flags) for flags in zip(*(complies(part, rows) for part in model.parts()), strict=True)]
        assert together == complies(model, rows)
        assert all(holds(part, rows) for part in model.parts()) == holds(model, rows)

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
                assert holds(type(probe)(**{**weakest, key: value}), rows)
                stricter = STRICTER[key](value)
                assert stricter is None or not holds(type(probe)(**{**weakest, key: stricter}), rows)

    run(check, tables)


@every_model
def test_probes_are_the_weakest_promises(name):
    unmeasured = MODELS[name].probes.__func__ is Model.probes.__func__  # `measure` does not ask it

    def check(model, rows):
        weak = [probe for probe in probes(name) if flags(probe) == flags(model)]
        assert len(weak) == (0 if unmeasured else 1)
        for probe in weak:
            for strong, weakest in zip(complies(model, rows), complies(probe, rows), strict=True):
                assert weakest or not strong
            assert holds(probe, rows) or not holds(model, rows)

    run(check, model_of(name), tables)
    assert list(MODELS[name].probes(None if MODELS[name].per_attribute else ATTRIBUTE)) == []


@every_model
def test_the_order_of_classes_and_the_codes_of_values_do_not_matter(name):
    def check(model, rows, classes, values):
        order = [i for i in classes if i < len(rows)]
        moved = counts([[rows[i][v] for v in values] for i in order], [LABELS[v] for v in values])
        back = slice(None, None, -1)  # entries in any order, too
        sensitive = {
            name: replace(long, classes=long.classes[back], values=long.values[back], counts=long.counts[back])
            for name, long in moved.sensitive.items()
        }
        moved = replace(moved, sensitive=sensitive)
        assert model.complies(moved).tolist() == [complies(model, rows)[i] for i in order]
        assert model.holds(moved) == holds(model, rows)
        assert alike(model.attained(moved), model.attained(counts(rows)))

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
def test_the_worst_class_is_one_that_attains_least(name):
    """Without the worst class, a table attains no less."""

    def check(rows):
        for probe in probes(name):
            worst = probe.worst(counts(rows))
            if worst is None or probe.table_wide:
                continue
            assert 0 <= worst < len(rows)
            whole = [sum(column) for column in zip(*rows, strict=True)]
            alone = probe.attained(counts([rows[worst]], reference=whole))
            attained = probe.attained(counts(rows, reference=whole))
            parameters = [field.name for field in fields(probe)]  # what else is said may be of another class
            assert alike({k: v for k, v in alone.items() if k in parameters}, attained)

    run(check, tables)


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
                    whole = merged(*rows)
                    assert not holds(model, [merged(*part) for part in parts], whole), (stays, parts)

    small = st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4).filter(any), min_size=1, max_size=4)
    run(check, model_of(name), small, st.integers(0, 5), most=400, fewest=80)  # few are impossible
    silent = MODELS[name].impossible is Model.impossible  # it never says so before the search
    assert said or silent, "the law was never put to the test"


@every_closed_model
def test_impossible_knows_the_whole_table(name):
    """Without suppression a closed model is possible exactly when the whole table as one class complies."""

    def check(model, rows):
        whole = merged(*rows)
        assert (model.impossible(counts([whole]), 0) is None) == holds(model, [whole])

    run(check, model_of(name), tables)


@pytest.mark.parametrize("suppressible", [False, True])
@every_closed_model
def test_what_is_above_a_complying_node_complies(name, suppressible):
    """M1 and M2 as a law of the lattice: by brute force over the nodes of small tables, for each closed part.

    UNION is enough where nothing may be suppressed; where rows may be, the parts that are SUPERSET keep it.
    """
    needed = Closure.SUPERSET if suppressible else Closure.UNION

    def promised(model):
        return [naive.Promise(p, partial(holds, p)) for p in model.parts() if p.merging >= needed]

    def holds(part, values):
        return all(part.complies(counts([[values.count(label) for label in ("u", "v", "w", None)]])))

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


# how many rows of a class must go


QUICK_LAW = 12
PRUNING = sorted(
    name
    for name, model in MODELS.items()
    if model.closure is Closure.UNION and model.least_removed is not Model.least_removed
)
"""Models that say more than that one row must go."""
WITHOUT_A_POPULATION = [name for name in PRUNING if not issubclass(MODELS[name], DeltaPresence)]


def fewest_removed(model, row, whole):
    """The fewest rows of a class without which the rest complies, by trying every rest; all of them if none does."""
    rests = [rest for rest in product(*(range(n + 1) for n in row)) if any(rest)]
    table = counts(rests, reference=whole)
    if not isinstance(model, DeltaPresence):
        complying = model.complies(table)
        return min([sum(row), *(sum(row) - sum(rest) for rest, ok in zip(rests, complying, strict=True) if ok)])
    # whoever goes takes persons of the population along: as many, or more
    size = sum(row)
    pairs = [(kept, everybody) for kept in range(1, size + 1) for everybody in range(kept, size + kept + 1)]
    kept, everybody = np.array(pairs).T
    complying = model.complies(ClassCounts(kept, population=everybody))
    return min([size, *(size - kept[complying]).tolist()])


@every_model
def test_no_fewer_rows_can_go(name):
    """For a model and each of its parts; and at least one row of a class that fails goes, where nothing is rounded."""

    def check(whole, row, others):
        table = merged(row, *others)
        for model in (whole, *whole.parts()):
            if model.table_wide:
                continue
            (said,) = model.least_removed(counts([row], reference=table)).tolist()
            assert 0 <= said <= fewest_removed(model, row, table)
            assert said == 0 or not model.complies(counts([row], reference=table))[0]

    says_more = MODELS[name].least_removed is not Model.least_removed  # than that one row goes
    run(check, model_of(name), one_class, st.lists(one_class, max_size=3), most=300 if says_more else QUICK_LAW)


@pytest.mark.parametrize(
    ("model", "row", "whole", "least"),
    [
        # 6 of 8 have flu, and at most half may: 2 others can stay with 2 of them
        (AlphaK(0.5, 1, ATTRIBUTE), [6, 1, 1, 0], [9, 9, 9, 0], 4),
        # M/3 of each may stay: 2 + 1 + M/3 >= (1 - t) M up to M = 6, of 9
        (TCloseness(1 / 6, "equal", ATTRIBUTE), [6, 2, 1, 0], [5, 5, 5, 0], 3),
        # a share of at most 2/3 each: 6 of the 8 are flu, and with 2 others 4 of them can stay
        (BetaLikeness(1, "basic", ATTRIBUTE), [6, 1, 1, 0], [5, 5, 5, 0], 2),
        # a third of each value, and at least a sixth of the rest must be tbc: at most 6 rows
        (DeltaDisclosure(1, "violates", 2, ATTRIBUTE), [6, 4, 1, 0], [5, 5, 5, 0], 5),
        # 2 values as even as 2: as many of each
        (EntropyLDiversity(2, ATTRIBUTE), [6, 2, 0, 0], [5, 5, 5, 0], 4),
        # fewer than 2 (1 + 1) rows of a value
        (RecursiveCLDiversity(2, 2, ATTRIBUTE), [6, 1, 1, 0], [9, 9, 9, 0], 3),
        # one value where two are needed: everything
        (RecursiveCLDiversity(2, 2, ATTRIBUTE), [6, 0, 0, 0], [9, 9, 9, 0], 6),
    ],
)
def test_worked_numbers(model, row, whole, least):
    assert model.least_removed(counts([row], reference=whole)).tolist() == [least]
    assert fewest_removed(model, row, whole) >= least


def test_presence():
    """8 of 16 are in the table, and at most a quarter may: (8 - 4)/(1 - 1/4) is more than 5."""
    model = DeltaPresence("register.csv", max=0.25)
    assert model.least_removed(counts([[8, 0, 0, 0]])).tolist() == [6]
    assert fewest_removed(model, [8, 0, 0, 0], None) == 6


@pytest.mark.parametrize("share", ["0.1", "0.5", "1"])
@pytest.mark.parametrize("name", WITHOUT_A_POPULATION)
def test_the_optimum_with_suppression_equals_brute_force(name, share):
    """By loss and by another metric; the sensitive column has an order and a hierarchy, rows are dropped or shown."""
    named = {"u": "flu", "v": "hiv", "w": "tbc", None: None}

    def check(instance, model, other):
        whole = [[named[value] for value in instance.sensitive].count(label) for label in LABELS]

        def holds(values):
            row = [[named[value] for value in values].count(label) for label in LABELS]
            return bool(model.complies(counts([row], reference=whole))[0])

        known = replace(instance, promises=[naive.Promise(model, holds), naive.k_anonymity(2)])
        labels = [named[label] for label in known.labels[naive.SENSITIVE]]
        inside = [LABELS.index(label) for label in labels]
        levels = [np.array(level)[inside] for level in ([0, 1, 2, 3], [0, 1, 0, 2], [0, 0, 0, 0])]
        reading = CountInterpretation(
            {naive.SENSITIVE: labels},
            reference={naive.SENSITIVE: np.array(whole)[inside]},
            levels={naive.SENSITIVE: levels},
            order={naive.SENSITIVE: [label for label in ORDER if label in labels]},
        )
        asked = [replace(model, attribute=naive.SENSITIVE), naive.k_anonymity(2).model]
        before = replace(known.before(), sensitive=reading)
        for metric in {"loss", other}:
            oracle = Oracle(before, asked, known.limit, METRICS[metric].on(before), reading, known.show)
            lattice = oracle.prune(known.lattice())
            search = optimal(lattice, oracle.scorer.floors, before.left_out, additive=oracle.scorer.additive)
            found, best = drive_search(search, oracle), naive.best(metric, known)
            assert found.proved
            assert (found.best and found.best.node) == (best and best.node)
            if best is not None:
                assert found.best.suppressed == len(best.suppressed)

    models = model_of(name).filter(lambda model: getattr(model, "reference", "original") == "original")
    instances = naive.instances(share, st.just([]), st.booleans())
    naive.examples(100)(given(instances, models, st.sampled_from(sorted(METRICS)))(check))()
