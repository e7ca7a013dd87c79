"""p-sensitive and p⁺-sensitive."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.models.p_sensitive import PPlusSensitive, PSensitive

LABELS = ["HIV", "cancer", "hepatitis", "flu", None]
CATEGORIES = [["HIV", "cancer"], ["hepatitis"], ["flu"]]


def counted(rows, labels=LABELS):
    dense = np.array([[row.count(value) for value in labels] for row in rows], np.int64).reshape(-1, len(labels))
    classes, values = np.nonzero(dense)
    long = ValueCounts(classes, values, dense[classes, values], labels, len(dense))
    return ClassCounts(dense.sum(axis=1), {"disease": long})


def test_the_worked_example():
    """models.md 1.4: {HIV, hepatitis, flu, flu} has 3 values of 3 categories."""
    table = counted([["HIV", "hepatitis", "flu", "flu"]])
    assert PSensitive(1, "disease").attained(table) == {"p": 3}
    assert PPlusSensitive(1, CATEGORIES, "disease").attained(table) == {"p": 3}


def test_two_values_of_one_category():
    """What p⁺ sees and p does not: all of the class are very ill."""
    table = counted([["HIV", "cancer", "HIV"], ["HIV", "flu", "flu"]])
    assert PSensitive(2, "disease").complies(table).tolist() == [True, True]
    assert PPlusSensitive(2, CATEGORIES, "disease").complies(table).tolist() == [False, True]
    assert PPlusSensitive(2, CATEGORIES, "disease").worst(table) == 0


@naive.examples(300)
@given(st.lists(st.lists(st.sampled_from([*LABELS, "gout"]), min_size=1, max_size=7), max_size=5), st.integers(1, 4))
def test_both_models_follow_their_definitions(rows, p):
    table = counted(rows, [*LABELS, "gout"])
    known = [{value for value in row if value is not None} for row in rows]
    assert PSensitive(p, "disease").complies(table).tolist() == [len(values) >= p for values in known]
    with_null = PSensitive(p, "disease", null_is_value=True)
    assert with_null.complies(table).tolist() == [len(set(row)) >= p for row in rows]
    held = [sum(any(v in values for v in category) for category in CATEGORIES) for values in known]
    assert PPlusSensitive(p, CATEGORIES, "disease").complies(table).tolist() == [many >= p for many in held]
    assert PPlusSensitive(p, CATEGORIES, "disease").attained(table) == {"p": min(held, default=0)}


def test_a_value_of_no_category_adds_none():
    """Fail closed: whatever it means, the class is not safer than it looks."""
    table = counted([["HIV", "gout", "gout"]], [*LABELS, "gout"])
    assert PPlusSensitive(2, CATEGORIES, "disease").complies(table).tolist() == [False]


def test_impossible():
    table = counted([["HIV", "HIV", "flu", "gout", None]], [*LABELS, "gout"])
    assert PSensitive(3, "disease").impossible(table, 5) is None
    assert PSensitive(4, "disease").impossible(table, 5) == "'disease' has 3 different values in the whole table < p=4"
    said = "'disease' has 2 categories in the whole table (1 of its values are in no category) < p=3"
    assert PPlusSensitive(2, CATEGORIES, "disease").impossible(table, 5) is None
    assert PPlusSensitive(3, CATEGORIES, "disease").impossible(table, 5) == said


def test_the_second_condition_of_truta_never_forbids_one_class():
    """floor((n - cf_{p-i}) / i) >= 1 for i < p wherever the table holds p values."""

    @naive.examples(300)
    @given(st.lists(st.integers(1, 9), min_size=2, max_size=6), st.data())
    def check(frequencies, data):
        p = data.draw(st.integers(2, len(frequencies)))
        falling = np.cumsum(sorted(frequencies, reverse=True))
        assert min((sum(frequencies) - falling[p - i - 1]) // i for i in range(1, p)) >= 1

    check()


def test_an_empty_table_attains_nothing():
    for model in (PSensitive(1, "disease"), PPlusSensitive(1, CATEGORIES, "disease")):
        assert model.attained(counted([])) == {"p": 0}
        assert model.worst(counted([])) is None


def test_measure_asks_p_only():
    assert list(PSensitive.probes("disease")) == [PSensitive(1, "disease")]
    assert list(PPlusSensitive.probes("disease")) == []


@pytest.mark.parametrize("p", [0, -1, 1.5, "abc", None])
def test_p_is_a_whole_number(p):
    for wrong in (lambda: PSensitive(p), lambda: PPlusSensitive(p, CATEGORIES)):
        with pytest.raises(ValueError, match="p must be a whole number of at least 1"):
            wrong()


def test_null_is_value_is_a_flag():
    with pytest.raises(ValueError, match="null-is-value must be true or false"):
        PSensitive(2, "disease", "yes")


def test_no_rows_have_no_values():
    assert "has 0 different values in the whole table < p=1" in PSensitive(1, "disease").impossible(counted([]), 0)
    assert "has 0 categories in the whole table" in PPlusSensitive(1, CATEGORIES, "disease").impossible(counted([]), 0)


def test_p_values_take_p_rows():
    assert PSensitive(3, "disease").least_rows == 3
