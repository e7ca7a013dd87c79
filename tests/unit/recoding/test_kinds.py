"""What is released, row by row."""

import numpy as np
import pyarrow as pa
import pytest

from shoal.data.codes import Table, encode
from shoal.hierarchy.build import build
from shoal.hierarchy.intervals import Intervals
from shoal.hierarchy.top_bottom import ValueOnly
from shoal.recoding.kinds import NodeRecoding, recode

AGES = ["21", None, "35", "21"]
JOBS = pa.array([3, None, 1, 3], pa.int64())


@pytest.fixture
def table():
    columns = {"age": encode("age", pa.array(AGES)), "sex": encode("sex", pa.array(["f", "m", "m", "f"]))}
    columns["jobs"] = encode("jobs", JOBS)
    return Table(columns, 4)


@pytest.fixture
def hierarchies(table):
    return {"age": build(table["age"], Intervals([10])), "sex": build(table["sex"], ValueOnly())}


def cells(column):
    return [column.values[int(code)].as_py() for code in column.codes]


def recoded(table, hierarchies, levels, suppressed=(), *, show=False):
    out = np.zeros(4, dtype=bool)
    out[list(suppressed)] = True
    columns, rows = recode(table, NodeRecoding(levels, out), hierarchies, list(table.columns), hierarchies, show=show)
    return {name: cells(column) for name, column in columns.items()}, rows.tolist()


def test_labels_of_the_levels(table, hierarchies):
    """Null stays null below the top (design 7); other columns keep their type."""
    columns, rows = recoded(table, hierarchies, {"age": 1, "sex": 0})
    assert columns["age"] == ["[20, 30)", None, "[30, 40)", "[20, 30)"]
    assert columns["sex"] == ["f", "m", "m", "f"]
    assert columns["jobs"] == [3, None, 1, 3]
    assert rows == [0, 1, 2, 3]


def test_null_joins_the_top(table, hierarchies):
    columns, _ = recoded(table, hierarchies, {"age": 2, "sex": 1})
    assert columns["age"] == columns["sex"] == ["*"] * 4


def test_suppressed_rows_are_dropped(table, hierarchies):
    columns, rows = recoded(table, hierarchies, {"age": 0, "sex": 0}, [0, 2])
    assert rows == [1, 3]
    assert columns == {"age": [None, "21"], "sex": ["m", "f"], "jobs": [None, 3]}


@pytest.mark.parametrize("level", [0, 1, 2])
def test_shown_suppressed_rows_are_all_stars(table, hierarchies, level):
    """Design 2: they stay, sensitive and insensitive values with them."""
    columns, rows = recoded(table, hierarchies, {"age": level, "sex": 0}, [1, 3], show=True)
    assert rows == [0, 1, 2, 3]
    assert [columns["age"][row] for row in (1, 3)] == [columns["sex"][row] for row in (1, 3)] == ["*", "*"]
    assert columns["sex"][2] == "m"
    assert columns["jobs"] == [3, None, 1, 3]


def test_the_schema_does_not_depend_on_the_data(table, hierarchies):
    """A released quasi-identifier is text whatever node was found (design 9)."""
    for level in (0, 1, 2):
        recoding = NodeRecoding({"age": level, "sex": 0}, np.zeros(4, dtype=bool))
        columns, _ = recode(table, recoding, hierarchies, ["age"], hierarchies, show=False)
        assert columns["age"].values.type == pa.string()
