"""Random workloads."""

import pyarrow as pa
import pytest

import shoal as sh
from shoal.data.codes import Table, encode
from shoal.workload.answers import answer_queries
from shoal.workload.generalised_table import QueriedOriginal
from shoal.workload.queries import random_queries

TABLE = Table(
    {
        "age": encode("age", pa.array([i % 97 for i in range(2_000)])),
        "pay": encode("pay", pa.array([i * 7 % 2_000 / 4 for i in range(2_000)])),
        "day": encode("day", pa.array([f"2020-01-{i % 28 + 1:02}" for i in range(2_000)])),
        "kind": encode("kind", pa.array(["abcdefgh"[i % 8] if i % 50 else None for i in range(2_000)])),
        "none": encode("none", pa.array([None] * 2_000, pa.string())),
    },
    2_000,
)


def test_the_same_seed_gives_the_same_queries():
    one, other, third = (random_queries(TABLE, TABLE.columns, 30, seed=seed) for seed in (1, 1, 2))
    assert one == other != third


@pytest.mark.parametrize("attributes", [1, 2, 3])
@pytest.mark.parametrize("selectivity", [0.02, 0.1, 0.5])
def test_selectivity_and_attributes(attributes, selectivity):
    """Where attributes are independent, about that share of the rows satisfies; a day is taken whole."""
    queries = random_queries(TABLE, ["age", "pay", "day"], 200, attributes=attributes, selectivity=selectivity)
    assert {len(query.where) for query in queries} == {attributes}
    found = answer_queries(QueriedOriginal(TABLE).show_columns(TABLE.columns), queries).values / TABLE.rows
    assert found.mean() == pytest.approx(selectivity, rel=0.25, abs=0.02)


def test_texts_are_added_until_the_selectivity_is_reached():
    queries = random_queries(TABLE, ["kind"], 50, attributes=1, selectivity=0.3)
    assert {len(query.where[0][1].values) for query in queries} == {3}


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"count": 0}, "0 random queries cannot be drawn"),
        ({"selectivity": 0}, "selectivity = 0 is no share of the rows"),
        ({"attributes": 5}, r"queries on 5 attribute\(s\) cannot be drawn; there are 4"),
    ],
)
def test_impossible_random_queries_are_refused(how, says):
    with pytest.raises(sh.BadInput, match=says):
        random_queries(TABLE, TABLE.columns, **{"count": 1, **how})
