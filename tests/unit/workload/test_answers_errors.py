"""Errors of answers, one by one and together."""

import numpy as np
import pyarrow as pa
import pytest

import shoal as sh
from shoal.data.codes import Table, encode
from shoal.workload.answers import compare_answers
from shoal.workload.generalised_table import QueriedOriginal, read_release
from shoal.workload.queries import queries_of

AGES = [20, 20, 20, 22, 24, 29, 35, 39]
LABELS = ["[20, 30)", "[30, 40)"]
TABLE = Table({"age": encode("age", pa.array(AGES)), "sex": encode("sex", pa.array(["f", "m"] * 4))}, 8)
ORIGINAL = QueriedOriginal(TABLE)
RELEASE = read_release({"age": (np.array([0] * 6 + [1] * 2, np.int32), LABELS)}, {}, ["age"], ORIGINAL)


def report(*queries, **how):
    return compare_answers(RELEASE, ORIGINAL, queries_of(queries), **how)


def count(weight=1, **age):
    return {"count": True, "where": {"age": age}, "weight": weight}


def test_errors_by_hand():
    found = report(
        count(to=20),  # 6 / 10 for 3
        count(**{"from": 30}),  # 2 for 2
        count(**{"from": 40}),  # 0 for 0
        {"sum": "age"},  # 6 · 24.5 + 2 · 34.5 = 216 for 209
        {"avg": "age"},  # 27 for 26.125, of a range of 19
        {"max": "age", "where": {"age": {"to": 27}}},  # 27 for 24
        {"min": "age", "where": {"age": 50}},  # none for none
        sanity=0.01,
    )
    estimates = [one.estimate for one in found.answered]
    assert estimates == [pytest.approx(0.6), 2, 0, 216, 27, 27, None]
    assert [one.actual for one in found.answered] == [3, 2, 0, 209, 26.125, 24, None]
    errors = [one.error for one in found.answered]
    assert errors == [pytest.approx(0.8), 0, 0, pytest.approx(7 / 209), pytest.approx(0.875 / 19), 3 / 19, None]
    assert found.matching == (2, 3, 4, 5, 7)
    assert [one.number for one in found.worst] == [1, 6, 5, 4, 2, 3]
    assert found.mean == pytest.approx(sum(errors[:-1]) / 6)
    document = found.document()
    assert document["compared"] == 6
    assert document["answers"][0]["query"] == {"count": True, "where": {"age": {"to": 20}}}


def test_weights_and_percentiles():
    """Half of the weight, or 95 % of it, lies at or below."""
    found = report(count(to=20), count(weight=2, **{"from": 30}))
    assert found.mean == pytest.approx(0.8 / 3)
    assert found.median == 0
    assert found.percentile_95 == pytest.approx(0.8)


def test_the_sanity_bound():
    """3 of 8 rows are less than half of them."""
    assert report(count(to=20), sanity=0.5).mean == pytest.approx(2.4 / 4)


def test_nothing_to_compare():
    assert report({"avg": "age", "where": {"age": 99}}).mean == 0


BAD = [
    ({"count": True, "where": {"aeg": 1}}, {}, "query 1: the table has no column 'aeg' (did you mean 'age'?)"),
    ({"count": True, "where": {"sex": "f"}}, {}, "query 1: the release shows nothing of the column 'sex'"),
    ({"count": True, "where": {"age": "old"}}, {}, "query 1: where.age: the column has no such values"),
    ({"count": True}, {"sanity": 0}, "sanity = 0 is no share of the rows"),
]


@pytest.mark.parametrize(("query", "how", "says"), BAD)
def test_bad_queries(query, how, says):
    with pytest.raises(sh.BadInput) as wrong:
        report(query, **how)
    assert str(wrong.value).startswith(says)


def test_only_numbers_are_added_up():
    shown = ORIGINAL.show_columns({"sex"})
    with pytest.raises(sh.BadInput, match="query 1: sum needs numbers, and the column 'sex' has others"):
        compare_answers(shown, ORIGINAL, queries_of([{"sum": "sex"}]))
