"""(a,d)-diversity."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.models.a_d import ADDiversity
from shoal.models.model import Closure
from shoal.models.p_sensitive import PPlusSensitive

LABELS = ["HIV", "cancer", "hepatitis", "flu", "gout", None]
CATEGORIES = (("HIV", "cancer"), ("hepatitis",), ("flu",))
"""gout has none."""


def counted(rows, **more):
    dense = np.array([[row.count(value) for value in LABELS] for row in rows], np.int64).reshape(-1, len(LABELS))
    classes, values = np.nonzero(dense)
    long = ValueCounts(classes, values, dense[classes, values], LABELS, len(dense), **more)
    return ClassCounts(dense.sum(axis=1), {"disease": long})


def of(a, d):
    return ADDiversity(a, d, CATEGORIES, "disease", experimental=True)


def test_the_worked_example():
    """models.md 1.7: HIV and cancer are one group, and two thirds of the class."""
    table = counted([["HIV", "cancer", "flu"]])
    assert of(0.5, 2).complies(table).tolist() == [False]
    assert of(0.67, 2).complies(table).tolist() == [True]
    assert of(0.67, 3).complies(table).tolist() == [False]
    attained = of(1, 1).attained(table)
    assert attained == {"a": pytest.approx(2 / 3), "d": 2}
    assert of(attained["a"], 2).complies(table).all()


def share(row):
    known = [value for value in row if value is not None]
    stray = sum(value == "gout" for value in known)
    held = [sum(value in category for value in known) for category in CATEGORIES]
    return max((Fraction(many + stray, len(known)) for many in held if many), default=Fraction(0)), sum(map(bool, held))


@naive.examples(300)
@given(
    st.lists(st.lists(st.sampled_from(LABELS), min_size=1, max_size=8), min_size=1, max_size=5),
    st.sampled_from([0.25, 0.5, 0.6, 0.75, 1]),
    st.integers(1, 3),
)
def test_a_d_diversity_follows_its_definition(rows, a, d):
    table = counted(rows)
    expected = [share(row)[0] <= Fraction(str(a)) and share(row)[1] >= d for row in rows]
    assert of(a, d).complies(table).tolist() == expected
    attained = of(a, d).attained(table)
    assert attained == {
        "a": pytest.approx(float(max(share(row)[0] for row in rows))),
        "d": min(share(row)[1] for row in rows),
    }
    worst = of(a, d).worst(table)
    assert worst is None or share(rows[worst])[0] == max(share(row)[0] for row in rows)


def test_parts_are_pruned_by_their_own_closure():
    """models.md 1.7: the share is UNION, the count SUPERSET."""
    count, rest = of(0.5, 2).parts()
    assert count == PPlusSensitive(2, CATEGORIES, "disease")
    assert rest == of(0.5, 1)
    assert (count.merging, rest.merging) == (Closure.SUPERSET, Closure.UNION)
    assert list(of(0.5, 1).parts()) == [of(0.5, 1)]


def test_impossible():
    table = counted([["HIV"] * 3 + ["cancer"] * 3 + ["flu"] * 3 + ["gout"]])
    assert of(0.7, 2).impossible(table, 0) is None
    assert of(0.6, 2).impossible(table, 0) == "a category of 'disease' needs a >= 0.7000 in the whole table"
    assert of(0.6, 2).impossible(table, 3) is None  # (7 - 3) / (10 - 3)
    said = "'disease' has 2 categories in the whole table (1 of its values are in no category) < d=3"
    assert of(0.6, 3).impossible(table, 3) == said


def test_impossible_with_persons():
    """Who has two diseases of a category and loses one row is still counted among all."""
    persons = np.array([8])
    table = counted([["HIV"] * 3 + ["cancer"] * 3 + ["flu"] * 4], holders=persons, everyone=persons)
    assert of(0.5, 1).impossible(table, 2) is None  # 4 of 8 may be left
    assert of(0.5, 1).impossible(table, 1) == "a category of 'disease' needs a >= 0.6250 in the whole table"


def test_an_empty_table_attains_nothing():
    assert of(1, 1).attained(counted([])) == {"a": 0.0, "d": 0}
    assert of(1, 1).worst(counted([])) is None
    assert list(ADDiversity.probes("disease")) == []


@pytest.mark.parametrize("a", [0, -0.1, 1.01, "abc", None, True, float("nan")])
def test_a_is_a_share(a):
    with pytest.raises(ValueError, match="a must"):
        of(a, 2)


@pytest.mark.parametrize("d", [0, 1.5, "abc"])
def test_d_is_a_whole_number(d):
    with pytest.raises(ValueError, match="d must be a whole number of at least 1"):
        of(0.5, d)


def test_the_worst_class_has_the_largest_category():
    """2 of 3 are of one category in the second class, 1 of 3 in the first; gout belongs to each category."""
    assert of(1, 1).worst(counted([["HIV", "hepatitis", "flu"], ["HIV", "cancer", "flu"]])) == 1
    assert of(1, 1).worst(counted([["flu", "gout"], ["HIV", "hepatitis", "flu"]])) == 0
    assert of(1, 1).worst(counted([[None, None]])) is None


def test_shares_that_are_alike_as_floats_are_told_apart():
    """(10¹³ + 1)/(2·10¹³ + 1) lies above 10¹³/(2·10¹³) by a part in 10¹³."""
    many = 10**13
    long = ValueCounts(
        np.array([0, 0, 1, 1]), np.array([0, 3, 0, 3]), np.array([many, many, many + 1, many]), LABELS, 2
    )
    table = ClassCounts(np.array([2 * many, 2 * many + 1]), {"disease": long})
    assert of(1, 1).attained(table)["a"] == pytest.approx((many + 1) / (2 * many + 1), rel=1e-15)
    assert of(1, 1).attained(table)["a"] > 0.5


def test_a_category_is_too_large_whatever_is_suppressed():
    """Of 10 rows 8 are of one category: 6 of 8 without two of them."""
    table = counted([["HIV"] * 5 + ["cancer"] * 3 + ["flu"] * 2])
    assert "needs a >= 0.8000" in of(0.7, 1).impossible(table, 0)
    assert "needs a >= 0.7500" in of(0.7, 1).impossible(table, 2)
    assert of(0.75, 1).impossible(table, 2) is None
    assert "needs a >= 1.0000" in of(0.9, 1).impossible(counted([["HIV"] * 3]), 2)
    assert of(0.9, 1).impossible(counted([["HIV"] * 3]), 3) is None
