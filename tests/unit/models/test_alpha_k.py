"""(α,k)-anonymity."""

from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import shoal as sh
from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.errors import ShoalWarning
from shoal.models.alpha_k import AlphaK
from shoal.models.k_anonymity import KAnonymity


def counts(rows, labels):
    dense = np.array(rows, np.int64).reshape(-1, len(labels))
    classes, values = np.nonzero(dense)
    long = ValueCounts(classes, values, dense[classes, values], labels, len(dense))
    return ClassCounts(dense.sum(axis=1), {"disease": long})


TABLE_2 = counts([[1, 2, 1], [0, 2, 2], [2, 1, 1]], ["Brain Cancer", "Malaria", "Heart Disease"])


def test_table_2_of_the_seed_paper():
    """S0.1: α = 0.5 for each of the three diseases."""
    assert AlphaK(1.0, 1, "disease").attained(TABLE_2) == {
        "alpha": 0.5,
        "values": {"Brain Cancer": 0.5, "Malaria": 0.5, "Heart Disease": 0.5},
    }
    assert AlphaK(0.5, 4, "disease").complies(TABLE_2).all()
    assert not AlphaK(0.499, 4, "disease").complies(TABLE_2).any()
    assert not AlphaK(0.5, 5, "disease").complies(TABLE_2).any()


@pytest.mark.parametrize(
    ("alpha", "rows", "complies"),
    [
        (0.5, [2, 2], True),
        (0.1, [1, *[1] * 9], True),
        (0.1, [2, *[1] * 8], False),
        (0.3, [3, 3, 3, 1], True),  # 0.3 as a float lies below 3/10
        (0.7, [7, 3], True),
        (0.3333333333333333, [1000, 1000, 1000], False),  # a number below 1/3; its denominator is 10^16
        (0.33333333333333337, [1000, 1000, 1000], True),
        (0.3333333333333333, [10**12] * 3, False),
        (1, [5], True),
    ],
)
def test_exact_at_the_threshold(alpha, rows, complies):
    """Design 15: shares are compared as fractions."""
    table = counts([rows], [f"v{i}" for i in range(len(rows))])
    assert AlphaK(alpha, 1, "disease").complies(table).tolist() == [complies]


def test_a_limit_for_some_values_only():
    model = AlphaK({"HIV": 0.25}, 2, "disease")
    table = counts([[3, 1], [1, 3], [1, 0]], ["flu", "HIV"])
    assert model.complies(table).tolist() == [True, False, False]


def test_null_protects_nobody():
    """Bad input 6: HIV is all that is known of {HIV, HIV, null}."""
    table = counts([[2, 1], [0, 3]], ["HIV", None])
    assert AlphaK(0.7, 1, "disease").complies(table).tolist() == [False, True]
    assert AlphaK(1.0, 1, "disease").attained(table) == {"alpha": 1.0, "values": {"HIV": 1.0}}


def test_null_may_be_a_value():
    """Design 7: two thirds of {HIV, HIV, null} have HIV; a class of nulls is uniform."""
    table = counts([[2, 1], [0, 3]], ["HIV", None])
    assert AlphaK(0.7, 1, "disease", null_is_value=True).complies(table).tolist() == [True, False]
    assert AlphaK({"HIV": 0.6}, 1, "disease", null_is_value=True).complies(table).tolist() == [False, True]
    attained = AlphaK(1.0, 1, "disease", null_is_value=True).attained(table)
    assert attained == {"alpha": 1.0, "values": {"HIV": pytest.approx(2 / 3), "null": 1.0}}


def test_null_is_never_the_text_null():
    attained = AlphaK(1.0, 1, "disease", null_is_value=True).attained(counts([[1, 3]], ["null", None]))
    assert attained["values"] == {"null": 0.25, "(null)": 0.75}


def test_null_makes_a_table_impossible_only_as_a_value():
    table = counts([[1, 1, 8]], ["flu", "hiv", None])
    assert AlphaK(0.5, 1, "disease").impossible(table, 0) is None
    why = AlphaK(0.5, 1, "disease", null_is_value=True).impossible(table, 0)
    assert why == "a value of 'disease' needs alpha >= 0.8000 in the whole table"


@pytest.mark.parametrize("flag", [1, 0, "yes", None])
def test_null_is_value_is_a_flag(flag):
    with pytest.raises(ValueError, match="null-is-value must be true or false"):
        AlphaK(0.5, 1, "disease", flag)


def test_an_empty_table_attains_nothing():
    assert AlphaK(1.0, 1, "disease").attained(counts([], ["flu"])) == {"alpha": 0.0, "values": {"flu": 0.0}}


def test_attained_may_be_asked_for():
    """A third is no float: what is reported is rounded up, so a policy that asks for it can be met."""
    table = counts([[1, 1, 1]], ["a", "b", "c"])
    attained = AlphaK(1.0, 1, "disease").attained(table)["alpha"]
    assert attained == pytest.approx(1 / 3)
    assert AlphaK(attained, 1, "disease").complies(table).all()


def test_parts():
    assert list(AlphaK(0.5, 3, "disease").parts()) == [KAnonymity(3), AlphaK(0.5, 1, "disease")]
    flagged = AlphaK(0.5, 3, "disease", null_is_value=True)
    assert list(flagged.parts()) == [KAnonymity(3), AlphaK(0.5, 1, "disease", null_is_value=True)]
    assert list(AlphaK(0.5, 1, "disease").parts()) == [AlphaK(0.5, 1, "disease")]


@pytest.mark.parametrize(
    ("model", "suppressible", "why"),
    [
        (AlphaK(0.5, 1, "disease"), 0, "a value of 'disease' needs alpha >= 0.6000 in the whole table"),
        (AlphaK(0.5, 1, "disease"), 2, None),  # (6 - 2) / (10 - 2)
        (AlphaK(0.5, 1, "disease"), 1, "a value of 'disease' needs alpha >= 0.5556 in the whole table"),
        (AlphaK({"hiv": 0.1}, 1, "disease"), 0, "a value of 'disease' needs alpha >= 0.4000 in the whole table"),
        (AlphaK(1.0, 11, "disease"), 0, "10 records < k=11"),
    ],
)
def test_impossible(model, suppressible, why):
    assert model.impossible(counts([[6, 4]], ["flu", "hiv"]), suppressible) == why


@pytest.mark.parametrize("alpha", [0, -0.1, 1.01, float("nan"), float("inf"), "x", None, True, {"hiv": 0}, {}])
def test_alpha_is_a_share(alpha):
    with pytest.raises(ValueError, match="alpha"):
        AlphaK(alpha, 2)


@pytest.mark.parametrize("k", [0, -1, 1.5, "abc"])
def test_k_is_a_whole_number(k):
    with pytest.raises(ValueError, match="k must be a whole number"):
        AlphaK(0.5, k)


@pytest.mark.parametrize("model", [{"model": "alpha-k", "k": 1, "alpha": 0.5}, {"model": "alp-dif", "alp": 0.75}])
def test_a_person_who_loses_one_of_two_rows_is_still_counted(model):
    """Three of four persons have a; after one of their rows is left out, two of four: nothing is impossible before."""
    rows = {"id": list("12343"), "sex": list("mmmmf"), "ill": list("aabca")}
    sex = {"role": "quasi-identifier", "hierarchy": {"flat": True}, "max-level": 0}
    policy = {
        "attributes": {"id": "unit", "sex": sex, "ill": "sensitive"},
        "require": [{**model, "attribute": "ill"}, {"model": "k-anonymity", "k": 2}],
        "method": {"suppression": 0.2},
    }
    with pytest.warns(ShoalWarning, match="several classes"):
        assert sh.anonymize(pa.table(rows), policy).data.num_rows == 4


def test_the_worst_class_has_the_greatest_share():
    """2 of 4 against 3 of 4; a class of nulls alone has none."""
    model = AlphaK(0.5, 1, "disease")
    assert model.worst(counts([[2, 2], [1, 3]], ["flu", "HIV"])) == 1
    assert model.worst(counts([[3, 1], [2, 2]], ["flu", "HIV"])) == 0
    assert model.worst(counts([[4]], [None])) is None


def test_what_is_attained_without_values():
    """Nothing is shared by nobody."""
    assert AlphaK(0.5, 1, "disease").attained(counts([[4]], [None])) == {"alpha": 0.0, "values": {}}


def test_a_value_is_too_frequent_whatever_is_suppressed():
    """8 of 10 rows; without 2 of them 6 of 8, without all that may go 0 of 1."""
    table = counts([[8, 2]], ["HIV", "flu"])
    assert "needs alpha >= 0.8000 in the whole table" in AlphaK(0.7, 1, "disease").impossible(table, 0)
    assert "needs alpha >= 0.7500 in the whole table" in AlphaK(0.7, 1, "disease").impossible(table, 2)
    assert AlphaK(0.75, 1, "disease").impossible(table, 2) is None
    lone = counts([[1, 1]], ["HIV", "flu"])
    assert AlphaK(0.9, 1, "disease").impossible(lone, 1) is None
    alike = counts([[3]], ["HIV"])  # all but one row may go: that one is 1 of 1
    assert "needs alpha >= 1.0000" in AlphaK(0.9, 1, "disease").impossible(alike, 2)


def test_what_is_measured_asks_nothing():
    """`measure` asks for the weakest promise of each sensitive attribute."""
    assert AlphaK.probes("disease") == (AlphaK(1.0, 1, "disease"),)
    assert AlphaK.probes(None) == ()


def test_a_value_without_a_limit_may_be_alone():
    model = AlphaK({"HIV": 0.25}, 1, "disease")
    assert model.limits(["flu", "HIV", None]) == [1, Fraction(1, 4), 1]


@pytest.mark.parametrize(
    ("cells", "named"),
    [
        ([-9007199254740991.0, 1.0], "-9007199254740991"),
        (["5.0", "7"], "5"),
        (["5", "7"], "5.00"),
        ([datetime(2026, 1, 31, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)], "2026-01-31"),
    ],
)
def test_thresholds_name_numbers_as_the_table_has_them(cells, named):
    people = pa.table({"age": [1, 2], "pay": cells})
    require = [{"model": "alpha-k", "alpha": {named: 0.9}, "k": 1, "attribute": "pay"}]
    policy = sh.Policy(attributes={"age": "quasi-identifier", "pay": "sensitive"}, require=require)
    with pytest.raises(sh.BadPolicy, match=rf"alpha-k: the table writes the number or date '{named}' in another form"):
        sh.anonymize(people, policy)
