"""(X,Y)-privacy."""

from collections import Counter, defaultdict
from fractions import Fraction

import naive
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts, JointCounts
from shoal.data.codes import Table, encode
from shoal.errors import BadPolicy
from shoal.models.model import Closure, Need
from shoal.models.xy_privacy import XYPrivacy
from shoal.roles import Role


def counts(rows):
    """Rows of (age, job, person, ill) as classes of age and job; what is counted together: persons, and both."""
    classes = sorted({row[:2] for row in rows})
    known = [list(dict.fromkeys(row[i] for row in rows)) for i in range(4)]
    joint = {}
    for names, columns in ((("person",), [2]), (("person", "ill"), [2, 3]), (("ill",), [3])):
        entries = Counter((classes.index(r[:2]), *(known[c].index(r[c]) for c in columns)) for r in rows)
        at, *codes = np.array(list(entries), np.int64).reshape(-1, len(columns) + 1).T
        many = np.array(list(entries.values()), np.int64)
        joint[names] = JointCounts(at, tuple(codes), many, tuple(known[c] for c in columns))
    released = {
        name: np.array([known[i].index(c[i]) for c in classes], np.int32) for i, name in enumerate(("age", "job"))
    }
    sizes = np.array([sum(row[:2] == c for row in rows) for c in classes], np.int64)
    return ClassCounts(sizes, joint=joint, released=released)


VISITS = [
    ("3*", "a", "ann", "flu"),
    ("3*", "a", "ann", "flu"),
    ("3*", "b", "bob", "hiv"),
    ("4*", "a", "cid", "flu"),
    ("4*", "a", "dot", "hiv"),
    ("4*", "b", "dot", "flu"),
]


def test_persons_are_counted_not_rows():
    """models.md 1.13: (X,Y)-anonymity with Y = person; two visits of one person are one."""
    table = counts(VISITS)
    assert XYPrivacy("person", k=2).complies(table).tolist() == [False, False, True, False]
    assert XYPrivacy("person").attained(table) == {"k": 1, "h": 1.0}


def test_some_quasi_identifiers():
    """X = {age}: rows that agree in age, whatever their job is."""
    table = counts(VISITS)
    by_age = XYPrivacy("person", ["age"], k=2)
    assert by_age.holds(table)
    assert by_age.complies(table).all()
    assert by_age.table_wide
    assert by_age.attained(table) == {"k": 2, "h": pytest.approx(2 / 3)}
    assert not XYPrivacy("person", ["age"], k=3).holds(table)
    # without the class of bob, ann is alone among those in their thirties
    assert not by_age.holds(table.select_classes(np.array([True, False, True, True])))
    assert XYPrivacy("ill", "age", h=0.5).holds(table) is False
    assert XYPrivacy("ill", "job", h=0.75).holds(table)


def test_linkability_is_a_share_of_rows():
    """models.md 1.13: max a(x,y)/a(x) <= h."""
    table = counts(VISITS)
    assert XYPrivacy("ill", h=0.5).complies(table).tolist() == [False, False, True, False]
    assert XYPrivacy(("person", "ill"), h=0.5).complies(table).tolist() == [False, False, True, False]


def test_null_counts_for_nothing():
    rows = [("3*", "a", None, "flu"), ("3*", "a", "bob", "flu"), ("3*", "a", "bob", None)]
    assert XYPrivacy("person", k=2).attained(counts(rows)) == {"k": 1, "h": 1.0}
    assert XYPrivacy("person", null_is_value=True).attained(counts(rows)) == {"k": 2, "h": pytest.approx(2 / 3)}
    assert XYPrivacy("person").attained(counts([("3*", "a", None, "flu")])) == {"k": 0, "h": 0.0}


ROW = st.tuples(
    st.sampled_from(["3*", "4*"]),
    st.sampled_from("ab"),
    st.sampled_from(["ann", "bob", "cid", None]),
    st.sampled_from(["flu", "hiv", None]),
)


@naive.examples(300)
@given(
    st.lists(ROW, min_size=1, max_size=12),
    st.sampled_from([("person",), ("person", "ill"), ("ill",)]),
    st.sampled_from([None, ("age",), ("job",), ("age", "job")]),
    st.integers(1, 3),
    st.sampled_from([0.3, 0.3333333333333333, 0.5, 0.75, 1]),
    st.booleans(),
)
def test_as_defined(rows, y, x, k, h, null):
    place = {"age": 0, "job": 1, "person": 2, "ill": 3}
    groups = defaultdict(Counter)
    for row in rows:
        key = tuple(row[place[name]] for name in x or ("age", "job"))
        value = tuple(row[place[name]] for name in y)
        groups[key][value] += 1 if null or None not in value else 0
    groups = {key: +values for key, values in groups.items()}  # without what was counted zero times
    fine = {
        key: len(values) >= k and all(Fraction(n, values.total()) <= Fraction(str(h)) for n in values.values())
        for key, values in groups.items()
    }
    model, table = XYPrivacy(y, x, k, h, null), counts(rows)
    assert model.holds(table) == all(fine.values())
    assert all(part.holds(table) for part in model.parts()) == model.holds(table)
    if x is None:
        assert model.complies(table).tolist() == [fine[key] for key in sorted(fine)]
    attained = model.attained(table)
    assert attained["k"] == min(len(values) for values in groups.values())
    shares = [n / values.total() for values in groups.values() for n in values.values()]
    assert attained["h"] == pytest.approx(max(shares, default=0))


@naive.examples(300)
@given(
    st.lists(ROW, min_size=1, max_size=10),
    st.sampled_from([None, ("age",), ("job",)]),
    st.integers(1, 3),
    st.sampled_from([0.4, 0.5, 0.75, 1]),
    st.sampled_from([0, 1]),
)
def test_it_survives_generalisation(rows, x, k, h, which):
    """UNION: what holds before age or job becomes * holds after; X as it is released."""
    coarse = [tuple("*" if i == which else cell for i, cell in enumerate(row)) for row in rows]
    model = XYPrivacy("person", x, k, h)
    for part in model.parts():
        assert part.merging >= Closure.UNION
        if part.holds(counts(rows)):
            assert part.holds(counts(coarse))


def test_closures():
    assert XYPrivacy("person", k=2).merging is Closure.SUPERSET
    assert XYPrivacy("person", k=2, h=0.5).merging is Closure.UNION
    assert XYPrivacy("person", "age", k=2).merging is Closure.UNION
    parts = list(XYPrivacy("person", k=2, h=0.5).parts())
    assert parts == [XYPrivacy("person", k=2), XYPrivacy("person", h=0.5)]


@pytest.mark.parametrize(
    ("model", "suppressible", "why"),
    [
        (XYPrivacy("person", k=5), 0, "y has 4 different values in the whole table < k=5"),
        (XYPrivacy("ill", h=0.6), 0, "a value of y needs h >= 0.6667"),
        (XYPrivacy("ill", h=0.6), 1, None),  # 3 / 5
        (XYPrivacy("person", k=4, h=0.5), 0, None),
    ],
)
def test_impossible(model, suppressible, why):
    whole = [("*", "*", *row[2:]) for row in VISITS]
    assert model.impossible(counts(whole), suppressible) == why


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({"y": []}, "y must name columns"),
        ({"y": ""}, "y must name columns"),
        ({"y": [5]}, "y must name columns"),
        ({"y": ["a", "a"]}, "y names a column twice"),
        ({"y": "a", "x": []}, "x must name columns"),
        ({"y": "a", "x": ["b", "a"]}, "x and y must be different columns, not both 'a'"),
        ({"y": "a", "k": 0}, "k must be a whole number"),
        ({"y": "a", "h": 0}, "h must lie above 0 and at most at 1, not 0"),
        ({"y": "a", "h": 1.5}, "not 1.5"),
        ({"y": "a", "null_is_value": 1}, "null-is-value must be true or false"),
    ],
)
def test_parameters(given_, says):
    with pytest.raises(ValueError, match=says):
        XYPrivacy(**given_)


def test_the_worst_class_is_of_the_group_with_the_fewest_values():
    """ann alone makes two visits in the first class; the third class holds two persons."""
    table = counts(VISITS)
    assert XYPrivacy("person", k=2).worst(table) == 0
    three = [("3*", "a", "ann", "flu"), ("3*", "a", "bob", "flu"), ("4*", "a", "cid", "flu")]
    assert XYPrivacy("person", k=2).worst(counts(three)) == 1
    assert XYPrivacy("person", k=2).worst(counts([])) is None


def test_a_value_is_too_frequent_whatever_is_suppressed():
    """4 of 5 rows; 3 of 4 without one of them; what is left is at least one row."""
    table = counts([("3*", "a", "ann", ill) for ill in ["flu"] * 4 + ["hiv"]])
    assert "h >= 0.8000" in XYPrivacy("ill", h=0.5).impossible(table, 0)
    assert "h >= 0.7500" in XYPrivacy("ill", h=0.5).impossible(table, 1)
    assert XYPrivacy("ill", h=0.75).impossible(table, 1) is None
    alike = counts([("3*", "a", "ann", "flu")] * 3)
    assert "h >= 1.0000" in XYPrivacy("ill", h=0.9).impossible(alike, 2)
    assert XYPrivacy("ill", h=0.9).impossible(alike, 3) is None


def test_persons_are_told_apart_by_the_original():
    assert XYPrivacy("person").needs == {Need.ORIGINAL}
    assert XYPrivacy("person").public is None


@pytest.mark.parametrize("names", [["person", 3], ["person", ""], [], 3, [""]])
def test_names_that_are_none(names):
    with pytest.raises(ValueError, match="y must name columns"):
        XYPrivacy(names)


def test_x_must_be_quasi_identifiers():
    table = Table({name: encode(name, pa.array(["1", "2"])) for name in ("age", "job", "person")}, 2)
    roles = {"age": Role.QUASI_IDENTIFIER, "job": Role.INSENSITIVE, "person": Role.IDENTIFIER}
    XYPrivacy("person", ["age"]).refuse_misfit(table, roles, {})
    with pytest.raises(BadPolicy, match="x names 'job', which has not the role 'quasi-identifier'"):
        XYPrivacy("person", ["age", "job"]).refuse_misfit(table, roles, {})
