"""Homogeneous classes: expected by two rules and really there, and the rows in them."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.attacks.homogeneity import attacked_rows, expected, expected_uniform, flag_homogeneous
from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.explore.measure import measure_alphas, measure_homogeneity, measure_joint_homogeneity


def values(rows, labels):
    dense = np.array(rows, np.int64).reshape(-1, len(labels))
    classes, codes = np.nonzero(dense)
    return ValueCounts(classes, codes, dense[classes, codes], list(labels), len(dense))


def counts(rows, labels=("a", "b", None)):
    return ClassCounts(np.array(rows, np.int64).sum(axis=1), {"s": values(rows, labels)})


TABLE_2 = counts([[1, 2, 1], [0, 2, 2], [2, 1, 1]], ("Brain Cancer", "Malaria", "Heart Disease"))


def test_the_expected_number_of_the_paper():
    """S0.3: n=12, k=4, K=3: 1/9."""
    assert expected_uniform(12, 4, [3]) == pytest.approx(1 / 9)
    assert expected_uniform(12, 4, [3, 2]) == pytest.approx(1 / 72)


def test_expected_homogeneity_rises_with_rows_and_falls_with_k():
    """S0.5."""
    assert expected_uniform(20_000, 5, [10]) < expected_uniform(60_000, 5, [10])
    assert expected_uniform(60_000, 6, [10]) < expected_uniform(60_000, 5, [10])
    assert expected_uniform(60_000, 60_000, [10]) == 0.0


def test_expected_and_measured_homogeneity_side_by_side():
    """S0.4: shares 1/4, 5/12, 1/3 and three classes of four rows."""
    chance = 3 * sum(Fraction(y, 12) ** 4 for y in (3, 5, 4))
    assert measure_homogeneity(TABLE_2, ["s"]) == {
        "s": {
            "expected_uniform": pytest.approx(1 / 9),
            "expected": pytest.approx(float(chance)),
            "classes": 0,
            "rows": 0,
        }
    }


one_class = st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any)


@naive.examples(300)
@given(st.lists(one_class, min_size=1, max_size=6))
def test_as_defined(rows):
    known = [[row[0], row[1]] for row in rows]
    table, total = counts(rows), max(sum(map(sum, known)), 1)
    share = [Fraction(sum(row[v] for row in known), total) for v in (0, 1)]
    chance = sum(sum(p ** sum(row) for p in share) for row in known if any(row))
    assert expected(table, ["s"]) == pytest.approx(float(chance))
    same = [sum(map(bool, row)) == 1 for row in known]
    assert flag_homogeneous(table, ["s"]).tolist() == same
    assert attacked_rows(table, "s") == sum(sum(row) for row, one in zip(rows, same, strict=True) if one)
    held = [one and bool(row[0]) for row, one in zip(known, same, strict=True)]
    assert attacked_rows(table, "s", ["a"]) == sum(sum(row) for row, one in zip(rows, held, strict=True) if one)


def test_records_under_attack():
    """S3.7: rows of classes with one value, of all values and of the protected ones; null is none."""
    table = counts([[3, 0, 1], [0, 2, 0], [1, 1, 0], [0, 0, 2]])
    assert attacked_rows(table, "s") == 6
    assert attacked_rows(table, "s", {"a"}) == 4
    assert attacked_rows(table, "s", {"c"}) == 0


def test_several_attributes_are_homogeneous_together():
    table = ClassCounts(np.array([2, 2]), {"s": values([[2, 0], [2, 0]], "ab"), "t": values([[1, 1], [0, 2]], "cd")})
    assert flag_homogeneous(table, ["s", "t"]).tolist() == [False, True]
    assert expected(table, ["s", "t"]) == pytest.approx(2 * (1 / 16 + 9 / 16))


def test_any_and_all_stand_beside_their_own_expectations():
    """Equation (1) with m = 2: K = 2 and 2, n = 4, k = 2: 2 * 1/4 of all, 2 * 3/4 of any."""
    table = ClassCounts(np.array([2, 2]), {"s": values([[2, 0], [1, 1]], "ab"), "t": values([[1, 1], [0, 2]], "cd")})
    found = measure_joint_homogeneity(table, ["s", "t"])
    assert [(found[which]["classes"], found[which]["rows"]) for which in ("any", "all")] == [(2, 4), (0, 0)]
    assert found["all"]["expected_uniform"] == 4 / 2 * (2 * 2) / (2**2 * 2**2) == 0.5
    assert found["any"]["expected_uniform"] == pytest.approx(1.5)
    chance = Fraction(9, 16) + Fraction(1, 16)  # of either attribute, in a class of two
    assert found["all"]["expected"] == pytest.approx(float(2 * chance**2))
    assert found["any"]["expected"] == pytest.approx(float(2 * (1 - (1 - chance) ** 2)))
    assert measure_joint_homogeneity(table, ["s"]) is None


def test_columns_of_nulls_are_not_homogeneous():
    table = counts([[0, 0, 2], [0, 0, 1]])
    assert measure_homogeneity(table, ["s"])["s"] == {"expected_uniform": 0, "expected": 0, "classes": 0, "rows": 0}
    assert measure_alphas(table, ["s"]) == {"s": {"max": 0.0, "spread": 0.0, "values": {}}}


def test_alphas():
    """S0.1, S0.6."""
    assert measure_alphas(TABLE_2, ["s"]) == {
        "s": {"max": 0.5, "spread": 0.0, "values": {"Brain Cancer": 0.5, "Malaria": 0.5, "Heart Disease": 0.5}}
    }
    found = measure_alphas(counts([[3, 1, 0], [4, 0, 9]]), ["s"])["s"]
    assert found == {"max": 1.0, "spread": 0.75, "values": {"a": 1.0, "b": 0.25}}
