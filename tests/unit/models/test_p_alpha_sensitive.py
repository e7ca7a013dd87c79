"""(p,α)-, (p⁺,α)-sensitive and (l,α)-diversity."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.models.p_alpha_sensitive import LAlphaDiversity, PAlphaSensitive, PPlusAlphaSensitive

LABELS = ["HIV", "cancer", "hepatitis", "flu", "gout", None]
CATEGORIES = [["HIV", "cancer"], ["hepatitis"], ["flu"]]
"""gout has none."""
EVERY = [PAlphaSensitive, PPlusAlphaSensitive, LAlphaDiversity]
every = pytest.mark.parametrize("made", EVERY)


def counted(rows):
    dense = np.array([[row.count(value) for value in LABELS] for row in rows], np.int64).reshape(-1, len(LABELS))
    classes, values = np.nonzero(dense)
    long = ValueCounts(classes, values, dense[classes, values], LABELS, len(dense))
    return ClassCounts(dense.sum(axis=1), {"disease": long})


def of(made, least, alpha, over="tuples", categories=CATEGORIES):
    return made(least, alpha, categories, over, "disease")


@every
def test_the_worked_example(made):
    """models.md 1.4: {HIV, hepatitis, flu, flu} weighs 2.5 over tuples and 1.5 over values."""
    table = counted([["HIV", "hepatitis", "flu", "flu"]])
    assert of(made, 1, 1).attained(table) == {made.least: 3, "alpha": 2.5}
    assert of(made, 1, 1, "values").attained(table) == {made.least: 3, "alpha": 1.5}
    assert of(made, 3, 2.5).complies(table).all()
    assert not of(made, 3, 2.5000001).complies(table).any()
    assert not of(made, 4, 2.5).complies(table).any()
    assert of(made, 3, 1.5, "values").complies(table).all()
    assert not of(made, 3, 2.5, "values").complies(table).any()


def test_the_papers_sum_over_tuples_is_the_default():
    assert PAlphaSensitive(2, 1, CATEGORIES).over == "tuples"


def variety(made, row):
    known = {value for value in row if value is not None}
    if made is PPlusAlphaSensitive:
        return sum(any(value in known for value in category) for category in CATEGORIES)
    return len(known)


def weight(row, over):
    weights = {"hepatitis": Fraction(1, 2), "flu": Fraction(1)}
    return sum((weights.get(value, Fraction(0)) for value in (set(row) if over == "values" else row)), Fraction(0))


@every
@pytest.mark.parametrize("over", ["tuples", "values"])
def test_both_models_follow_their_definitions(made, over):
    @naive.examples(300)
    @given(
        st.lists(st.lists(st.sampled_from(LABELS), min_size=1, max_size=7), min_size=1, max_size=5),
        st.integers(1, 4),
        st.sampled_from([0.1, 0.5, 0.9, 1, 1.5, 2, 3.0]),
    )
    def check(rows, least, alpha):
        table = counted(rows)
        expected = [variety(made, row) >= least and weight(row, over) >= Fraction(str(alpha)) for row in rows]
        model = of(made, least, alpha, over)
        assert model.complies(table).tolist() == expected
        lightest = min(weight(row, over) for row in rows)
        assert model.attained(table) == {made.least: min(variety(made, row) for row in rows), "alpha": float(lightest)}
        assert variety(made, rows[model.worst(table)]) == min(variety(made, row) for row in rows)

    check()


def test_thirds_are_exact():
    """Design 15: four categories weigh 0, 1/3, 2/3 and 1; what is attained is rounded down, and may be asked for."""
    model = PAlphaSensitive(1, 0.6666666666666666, [["HIV"], ["cancer"], ["hepatitis"], ["flu"]], attribute="disease")
    table = counted([["cancer", "cancer"]])
    assert model.complies(table).all()
    assert model.attained(table)["alpha"] == 0.6666666666666666
    above = PAlphaSensitive(1, 0.6666666666666667, model.categories, attribute="disease")
    assert not above.complies(table).any()
    assert not PAlphaSensitive(1, 1e300, model.categories, attribute="disease").complies(table).any()


@every
def test_impossible(made):
    table = counted([["HIV", "hepatitis", "flu", "gout", None]])
    assert of(made, 3, 1.5).impossible(table, 4) is None
    said = "'disease' weighs 1.5000 in the whole table (1 of its values are in no category) < alpha=1.51"
    assert of(made, 3, 1.51).impossible(table, 4) == said
    kind = "categories" if made is PPlusAlphaSensitive else "different values"
    many = 3 if made is PPlusAlphaSensitive else 4
    said = f"'disease' has {many} {kind} in the whole table (1 of its values are in no category) < {made.least}=5"
    assert of(made, 5, 1.5).impossible(table, 4) == said


@every
def test_an_empty_table_attains_nothing(made):
    assert of(made, 1, 1).attained(counted([])) == {made.least: 0, "alpha": 0.0}
    assert of(made, 1, 1).worst(counted([])) is None
    assert list(made.probes("disease")) == []


@every
@pytest.mark.parametrize("alpha", [0, -1, "abc", None, True, float("nan"), 1e400, {"HIV": 0.5}])
def test_alpha_is_a_number_above_0(made, alpha):
    with pytest.raises(ValueError, match="alpha must"):
        made(2, alpha, CATEGORIES)


@every
def test_the_rest_is_refused(made):
    with pytest.raises(ValueError, match=f"{made.least} must be a whole number of at least 1"):
        made(0, 1, CATEGORIES)
    with pytest.raises(ValueError, match="over must be 'tuples' or 'values', not 'rows'"):
        made(2, 1, CATEGORIES, "rows")


@every
def test_a_weight_is_stated_so_that_it_is_kept(made):
    """With four categories hepatitis and flu weigh 2/3 + 1 = 5/3, whose nearest float lies above."""
    four = [["HIV"], ["cancer"], ["hepatitis"], ["flu"]]
    table = counted([["hepatitis", "flu"]])
    attained = of(made, 1, 1, categories=four).attained(table)
    assert attained["alpha"] == 1.6666666666666665
    assert of(made, 1, attained["alpha"], categories=four).complies(table).all()
    assert not of(made, 1, 1.6666666666666667, categories=four).complies(table).any()


@every
def test_a_table_of_nulls_has_no_value(made):
    assert "has 0 " in of(made, 1, 1).impossible(counted([[None, None]]), 0)
