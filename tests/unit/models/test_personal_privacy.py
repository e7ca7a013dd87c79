"""Personalised privacy."""

from collections import Counter
from fractions import Fraction

import naive
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal as sh
from shoal.data.class_counts import ClassCounts, JointCounts, ValueCounts
from shoal.errors import BadPolicy
from shoal.models.model import Closure, Need
from shoal.models.personal_privacy import Personalised
from shoal.policy.document import Policy

TREE = {
    "flu": ("flu", "respiratory", "*"),
    "pneumonia": ("pneumonia", "respiratory", "*"),
    "gastritis": ("gastritis", "digestive", "*"),
    "HIV": ("HIV", "HIV", "*"),
}
"""The path of each value; a leaf may be a node of its own above."""
ILL = "ill"


def counts(classes):
    """Classes as lists of (value, guard)."""
    shown = sorted({v for rows in classes for v, _ in rows if v is not None})
    labels = [*shown, None]
    guards = [*sorted({g for rows in classes for _, g in rows if g is not None}), None]
    nodes = [sorted({TREE[v][h] for v in shown}) for h in range(3)]
    levels = [np.array([*(nodes[h].index(TREE[v][h]) for v in shown), len(nodes[h])]) for h in range(3)]
    levels[2] = np.zeros(len(labels), np.int64)  # null joins the others at the top (design 7)
    names = [*((*n, None) for n in nodes[:2]), ("*",)]
    entries = Counter((at, labels.index(v), guards.index(g)) for at, rows in enumerate(classes) for v, g in rows)
    at, values, guarded = np.array(list(entries), np.int64).reshape(-1, 3).T
    many = np.array(list(entries.values()), np.int64)
    joint = JointCounts(at, (values, guarded), many, (labels, guards))
    long = ValueCounts(at, values, many, labels, len(classes), levels=levels, level_labels=names)
    sizes = np.array([len(rows) for rows in classes], np.int64)
    return ClassCounts(sizes, {ILL: long}, {(ILL, "guard"): joint})


def model(most, **more):
    return Personalised("guard", most, ILL, **more)


E = ["flu", "HIV", "HIV", "gastritis"]


@pytest.mark.parametrize(("guard", "breach"), [("respiratory", 0.25), ("HIV", 0.5), (None, 0.0), ("*", 1.0)])
def test_the_example(guard, breach):
    """models.md 1.12: E = {flu, HIV, HIV, gastritis}; respiratory 1/4, HIV 2/4."""
    table = counts([[(v, guard if i == 0 else None) for i, v in enumerate(E)]])
    assert model(1).attained(table) == {"max": breach}
    if breach:
        assert model(breach).complies(table).all()
        assert model(breach * 0.99).complies(table).tolist() == [False]
        assert model(1).worst(table) == 0
    else:
        assert model(0.001).complies(table).all()
        assert model(1).worst(table) is None


def test_merging_may_break_it():
    """models.md 1.12: {HIV, HIV} unguarded and {flu, flu, flu, HIV} guarded comply at 1/4, the six together do not."""
    one = [("HIV", None)] * 2
    other = [(v, "HIV") for v in ("flu", "flu", "flu", "HIV")]
    assert model(0.25).complies(counts([one, other])).tolist() == [True, True]
    assert model(0.25).complies(counts([one + other])).tolist() == [False]
    assert model(0.25).attained(counts([one + other])) == {"max": 0.5}
    assert Personalised.closure is Closure.NOT


def test_null_protects_nobody():
    """Design 7: all that is known of {HIV, null, null} is HIV."""
    table = counts([[("HIV", "HIV"), (None, None), (None, "HIV")]])
    assert model(0.9).complies(table).tolist() == [False]
    assert model(0.4, null_is_value=True).complies(table).tolist() == [True]
    nothing = counts([[(None, "HIV"), (None, "*")], [("flu", "HIV"), ("flu", None)]])
    assert model(0.1).complies(nothing).all()


def test_a_guard_that_the_table_does_not_hold():
    assert model(0.1).complies(counts([[("flu", "cancer")]])).all()


ROWS = st.tuples(
    st.sampled_from([*TREE, None]), st.sampled_from([None, "flu", "respiratory", "digestive", "HIV", "*", "cancer"])
)


@naive.examples(300)
@given(
    st.lists(st.lists(ROWS, min_size=1, max_size=6), min_size=1, max_size=4),
    st.sampled_from([0.1, 0.25, 0.3333333333333333, 0.5, 1]),
    st.booleans(),
)
def test_as_defined(classes, most, null):
    def breach(rows, guard):
        below = sum(v is not None and guard in TREE[v] for v, _ in rows)
        return Fraction(below, max(sum(null or v is not None for v, _ in rows), 1))

    worst = [max((breach(rows, g) for _, g in rows if g is not None), default=0) for rows in classes]
    table, asked = counts(classes), model(most, null_is_value=null)
    assert asked.complies(table).tolist() == [w <= Fraction(str(most)) for w in worst]
    assert asked.attained(table)["max"] == pytest.approx(float(max(worst)))
    if any(g is not None and g != "cancer" for rows in classes for _, g in rows) and max(worst):
        assert worst[asked.worst(table)] == max(worst)


@pytest.mark.parametrize(
    ("rows", "suppressible", "impossible"),
    [
        ([("flu", "*"), ("HIV", None)], 0, True),
        ([("flu", "*"), ("HIV", None)], 1, False),
        ([(None, "*"), ("HIV", None)], 0, False),  # whose value is not known may be in a class of such
        ([("flu", "respiratory"), ("pneumonia", None)], 0, True),
        ([("flu", "respiratory"), ("HIV", None)], 0, False),
    ],
)
def test_impossible(rows, suppressible, impossible):
    why = model(0.9).impossible(counts([rows]), suppressible)
    assert why == (
        f"1 row(s) guard every value of {ILL!r} that the table holds, and no class hides that" if impossible else None
    )
    assert model(1).impossible(counts([rows]), suppressible) is None


@pytest.mark.parametrize("most", [0, -0.1, 1.01, float("nan"), "x", None, True])
def test_max_is_a_share(most):
    with pytest.raises(ValueError, match="max"):
        Personalised("guard", most)


@pytest.mark.parametrize("guard", ["", 5, None, "ill"])
def test_guard_is_another_column(guard):
    with pytest.raises(ValueError, match="guard must be"):
        Personalised(guard, 0.5, "ill")


def test_columns():
    assert model(0.5).columns == (ILL, "guard")
    assert Personalised("guard", 0.5).columns == ()


def test_guards_are_judged_with_the_original():
    """They are not released, so neither are figures about them."""
    model = Personalised("guard", 0.5, ILL)
    assert Need.ORIGINAL in model.needs
    assert model.public is None


def test_a_guard_among_the_sensitive_columns_is_refused():
    """Without `attribute` the model is about every sensitive column, its guard too."""
    attributes = {"age": "quasi-identifier", "ill": "sensitive", "secret": "sensitive"}
    require = [{"model": "personalised", "guard": "secret", "max": 0.5}]
    with pytest.raises(BadPolicy, match="guard must be another column than the attribute, not 'secret'"):
        Policy(attributes=attributes, require=require)


PEOPLE = {"age": [1, 1, 2, 2], "ill": ["flu", "HIV", "flu", "HIV"], "secret": ["HIV", None, None, "respiratory"]}


def release(people, secret="identifier"):
    ill = {"role": "sensitive", "hierarchy": {"tree": {"ill": {"respiratory": ["flu"], "viral": ["HIV"]}}}}
    attributes = {"age": "quasi-identifier", "ill": ill, "secret": {"role": secret, "confirm": True}}
    require = [{"model": "personalised", "guard": "secret", "max": 0.5, "attribute": "ill"}]
    return sh.anonymize(pa.table(people), sh.Policy(attributes=attributes, require=require))


def test_guards_that_are_nodes_are_kept():
    assert release(PEOPLE).data.num_rows == 4


def test_a_guard_that_would_be_released_is_refused():
    with pytest.raises(BadPolicy, match=r"attributes\.secret: it tells what each person wants hidden"):
        release(PEOPLE, "insensitive")


def test_a_guard_that_is_no_node_is_refused():
    with pytest.raises(sh.BadData, match=r"column 'secret': 2 row\(s\) name no label of the hierarchy of 'ill'"):
        release({**PEOPLE, "secret": ["HIV", "cold", "cold", None]})


def test_the_worst_class_betrays_most():
    """Two of three rows below the guarded node, and none of one; without a guard there is none."""
    table = counts([[("flu", "HIV")], [("flu", "respiratory"), ("pneumonia", None), ("HIV", None)]])
    assert model(1).worst(table) == 1
    assert model(1).worst(counts([[("flu", None)]])) is None


def test_a_guard_of_a_class_without_values():
    """Nobody's value is known, so nothing is betrayed."""
    assert model(0.1).attained(counts([[(None, "HIV")]])) == {"max": 0.0}
    assert model(0.1).complies(counts([[(None, "HIV")]])).all()
