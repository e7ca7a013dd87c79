"""Queries as tables (S4.8)."""

from datetime import date

import pytest

from shoal.workload.queries import Among, Query, Within, attributes_of, query_of


def test_every_form_of_a_predicate():
    where = {
        "age": {"from": 20, "to": 40.5},
        "sex": "Male",
        "zip": {"in": [1, "b", 1]},
        "born": {"from": date(2001, 2, 3)},
        "smoker": True,
    }
    query = query_of({"max": "age", "where": where, "weight": 3})
    assert query == Query(
        "max",
        "age",
        (
            ("age", Within(20, 40.5)),
            ("born", Within("2001-02-03")),
            ("sex", Among(("Male",))),
            ("smoker", Among(("true",))),
            ("zip", Among((1, "b"))),
        ),
        3.0,
    )
    assert query_of(query.document()) == query
    assert attributes_of([query, Query("sum", "pay")]) == {"age", "born", "sex", "smoker", "zip", "pay"}


def test_a_ready_query_is_taken_as_it_is():
    assert query_of(Query()) == Query() == query_of({"count": True})


BAD = [
    (7, "a query is a table like"),
    ({"cuont": True}, "unknown key 'cuont' (did you mean 'count'?)"),
    ({"where": {}}, "it names no aggregate; a query has exactly one of count, sum, avg, min, max"),
    ({"count": True, "sum": "age"}, "it names count and sum; a query has exactly one"),
    ({"count": "age"}, "count counts rows; write count = true, not 'age'"),
    ({"sum": True}, "sum needs the name of a column, not True"),
    ({"count": True, "where": "age"}, "where is a table like"),
    ({"count": True, "where": {"age": {}}}, "where.age: a range needs from, to or both"),
    ({"count": True, "where": {"age": {"form": 1}}}, "where.age: unknown key 'form' (did you mean 'from'?)"),
    ({"count": True, "where": {"age": {"in": []}}}, "where.age: in takes a list of values"),
    ({"count": True, "where": {"age": {"in": [1], "to": 3}}}, "where.age: in takes a list of values, and nothing"),
    ({"count": True, "where": {"age": [1]}}, "where.age: a value is a text, a finite number or a date, not [1]"),
    ({"count": True, "where": {"age": float("nan")}}, "where.age: a value is"),
    ({"count": True, "weight": 0}, "weight must be a number above 0, not 0"),
    ({"count": True, "weight": "much"}, "weight must be a number above 0, not 'much'"),
    ({"count": True, "weight": True}, "weight must be a number above 0, not True"),
]


@pytest.mark.parametrize(("given", "says"), BAD)
def test_bad_queries(given, says):
    with pytest.raises(ValueError) as wrong:  # noqa: PT011 - what it says is compared
        query_of(given)
    assert says in str(wrong.value)
