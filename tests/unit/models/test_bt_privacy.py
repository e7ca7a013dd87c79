"""Skyline (B,t)-privacy."""

from collections import Counter
from dataclasses import replace
from math import log2

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts, JointCounts
from shoal.errors import BadPolicy
from shoal.models import bt_privacy as skyline
from shoal.models.bt_privacy import BTPrivacy
from shoal.models.model import QUASI
from shoal.models.spec import model_of, table_of

ILL = "ill"


def counts(classes, whole=None):
    """Classes as lists of rows (age, sex, ill), and the table that they come from."""
    everything = whole or [row for rows in classes for row in rows]
    known = [sorted({row[i] for row in everything}, key=str) for i in range(3)]

    def joint(tables, **more):
        entries = Counter(
            (at, *(known[i].index(r[i]) for i in range(3))) for at, rows in enumerate(tables) for r in rows
        )
        at, *codes = np.array(list(entries), np.int64).reshape(-1, 4).T
        return JointCounts(at, tuple(codes), np.array(list(entries.values()), np.int64), tuple(known), **more)

    together = joint(classes, whole=joint([everything]))
    nothing = {name: np.zeros(len(classes), np.int32) for name in ("age", "sex")}
    sizes = np.array([len(rows) for rows in classes], np.int64)
    return ClassCounts(sizes, joint={("age", "sex", ILL): together}, released=nothing, quasi=("age", "sex"))


# the definition, row by row


def distance(one, other, column):
    if one is None or other is None:
        return float(one is not other)
    if all(cell is None or cell.isdigit() for cell in column):
        numbers = [int(cell) for cell in column if cell is not None]
        return abs(int(one) - int(other)) / ((max(numbers) - min(numbers)) or 1)
    return float(one != other)


def kernel(x, b):
    return max(1 - (x / b) ** 2, 0)


def prior(row, table, b, values):
    weights = Counter()
    columns = [[r[i] for r in table] for i in range(2)]
    for other in table:
        weight = 1.0
        for i in range(2):
            weight *= kernel(distance(row[i], other[i], columns[i]), b)
        weights[other[2]] += weight
    return [weights[v] / weights.total() for v in values]


def smooth(belief, values, b):
    if not all(v is None or v.isdigit() for v in values) or all(v is None for v in values):
        return belief
    mixed = []
    for one in values:
        weights = [kernel(distance(one, other, values), b) for other in values]
        mixed.append(sum(w * p for w, p in zip(weights, belief, strict=True)) / sum(weights))
    return [m / sum(mixed) for m in mixed]


def divergence(p, q):
    mean = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return sum(sum(a * log2(a / m) for a, m in zip(one, mean, strict=True) if a > 0) / 2 for one in (p, q))


def moved(rows, table, b):
    """models.md 1.9: the Ω-estimate against the prior, the worst member of a class."""
    values = sorted({row[2] for row in table}, key=str)
    priors = [prior(row, table, b, values) for row in rows]
    has = Counter(row[2] for row in rows)
    most = 0.0
    for mine in priors:
        after = [has[v] * mine[s] / sum(p[s] for p in priors) if has[v] else 0.0 for s, v in enumerate(values)]
        after = [a / sum(after) for a in after]
        most = max(most, divergence(smooth(mine, values, b), smooth(after, values, b)))
    return most


ROW = st.tuples(
    st.sampled_from(["20", "25", "40", None]), st.sampled_from("fm"), st.sampled_from(["flu", "hiv", "cold"])
)
PAID = st.tuples(st.sampled_from(["20", "25", "40"]), st.sampled_from("fm"), st.sampled_from(["1", "2", "9"]))


@naive.examples(300)
@given(
    st.one_of(*(st.lists(st.lists(row, min_size=1, max_size=5), min_size=1, max_size=4) for row in (ROW, PAID))),
    st.sampled_from([0.2, 0.5, 1, 1.5]),
)
def test_as_defined(classes, b):
    table = [row for rows in classes for row in rows]
    expected = [moved(rows, table, b) for rows in classes]
    model = BTPrivacy(b, 0.1, ILL)
    found = model._measure_moves(counts(classes), b)
    assert found == pytest.approx(expected, abs=1e-9)
    assert model.attained(counts(classes))["t"] == pytest.approx(max(expected), abs=2e-9)
    assert BTPrivacy(b, min(model.attained(counts(classes))["t"], 1), ILL).complies(counts(classes)).all()


def test_a_release_of_one_class_tells_what_the_table_tells():
    """Who sees everybody as one before (b is large) learns nothing from the table as one class."""
    rows = [("20", "f", "flu"), ("40", "m", "hiv"), ("25", "m", "flu")]
    assert BTPrivacy(1000, 0.0, ILL).attained(counts([rows]))["t"] < 1e-6


def test_a_homogeneous_class_tells_most():
    """Before 1/2, after 1: H(3/4) - H(1/2)/2 of the base 2."""
    classes = [[("20", "f", "flu")] * 2, [("20", "f", "hiv")] * 2]
    found = BTPrivacy(0.5, 1, ILL).attained(counts(classes))["t"]
    assert found == pytest.approx(-(0.75 * log2(0.75) + 0.25 * log2(0.25)) - 0.5, abs=1e-9)


def test_a_skyline_is_a_conjunction():
    classes = [[("20", "f", "flu"), ("40", "m", "hiv")], [("25", "m", "flu"), ("25", "f", "cold")]]
    table = counts(classes)
    both = BTPrivacy([0.3, 1], [0.2, 0.1], ILL)
    one, other = BTPrivacy(0.3, 0.2, ILL), BTPrivacy(1, 0.1, ILL)
    assert both.complies(table).tolist() == (one.complies(table) & other.complies(table)).tolist()
    found = {"0.3": one.attained(table)["t"], "1": other.attained(table)["t"]}
    assert both.attained(table) == {"t": max(found.values()), "values": found}
    assert both.worst(table) in {0, 1}
    assert both.skyline == [(0.3, 0.2), (1, 0.1)]
    # whoever is alone in a class is told, and the other two classes tell as much as the whole table
    mixed = [("20", "f", "flu"), ("20", "f", "hiv")]
    assert both.worst(counts([mixed, mixed, [("20", "f", "hiv")]])) == 2
    assert model_of(table_of(both)) == both


def test_the_block_size_changes_nothing(monkeypatch):
    classes = [
        [(str(20 + i + 7 * j), "fm"[i % 2], ["flu", "hiv", "cold"][(i * j) % 3]) for i in range(7)] for j in range(4)
    ]
    whole = BTPrivacy(0.4, 1, ILL)._measure_moves(counts(classes), 0.4)
    monkeypatch.setattr(skyline, "_BLOCK", 5)
    assert BTPrivacy(0.4, 1, ILL)._measure_moves(counts(classes), 0.4) == pytest.approx(whole, abs=1e-12)


def test_rows_without_a_value_are_left_out():
    rows = [("20", "f", "flu"), ("20", "f", None), ("40", "m", "hiv")]
    table = counts([rows[:2], rows[2:]])
    without = counts([[rows[0]], [rows[2]]])
    assert (
        BTPrivacy(1, 1, ILL)._measure_moves(table, 1).tolist()
        == BTPrivacy(1, 1, ILL)._measure_moves(without, 1).tolist()
    )
    assert BTPrivacy(1, 0, ILL).complies(counts([[("20", "f", None)]])).all()
    apart = counts([[row] for row in rows])
    assert BTPrivacy(1, 1, ILL)._measure_moves(apart, 1).tolist() == [0, 0, 0]
    assert (BTPrivacy(1, 1, ILL, null_is_value=True)._measure_moves(apart, 1) > 0).tolist() == [True, True, False]


def test_what_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(skyline, "_MOST_COMBINATIONS", 2)
    rows = [("20", "f", "flu"), ("21", "f", "flu"), ("22", "f", "CANARY-7f3")]
    with pytest.raises(BadPolicy, match="every two of the 3 different combinations") as caught:
        BTPrivacy(1, 1, ILL).complies(counts([rows]))
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize(
    ("b", "t", "says"),
    [
        (0, 0.1, "b must lie above 0, not 0"),
        (-1, 0.1, "b must lie above 0"),
        ("x", 0.1, "b must be a number"),
        (float("nan"), 0.1, "b must be a number"),
        (0.5, 1.5, "t must lie between 0 and 1, not 1.5"),
        (0.5, -0.1, "t must lie between 0 and 1"),
        (0.5, True, "t must be a number"),
        ([0.5, 1], 0.1, "two lists of one length"),
        ([], [], "two lists of one length"),
        ([0.5], [0.1, 0.2], "two lists of one length"),
    ],
)
def test_parameters(b, t, says):
    with pytest.raises(ValueError, match=says):
        BTPrivacy(b, t)


def test_columns():
    assert BTPrivacy(1, 0.1, ILL).columns == (QUASI, ILL)
    assert BTPrivacy(1, 0.1).columns == ()


def test_columns_that_are_not_released_still_tell():
    """The prior is about the quasi-identifiers as they were, whichever of them a class shows."""
    table = counts([[("1", "f", "flu"), ("2", "m", "hiv")], [("1", "f", "hiv"), ("2", "f", "flu")]])
    fewer = replace(table, released={"age": table.released["age"]})
    model = BTPrivacy(1, 0.1, ILL)
    assert model.attained(fewer) == model.attained(table)
