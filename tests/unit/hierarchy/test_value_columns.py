"""Rows that errors point at, and the limit of what a hierarchy may cost."""

import pyarrow as pa
import pytest

from shoal.data.codes import encode
from shoal.errors import BadHierarchy
from shoal.hierarchy import value_columns as columns
from shoal.hierarchy.value_columns import built, first_row, refuse_explosion


def test_first_row_is_the_first_in_the_table_not_in_the_order_of_values():
    ages = encode("age", pa.array(["z", None, "b", "a", "b"]))
    assert first_row(ages, [True, True, False]) == 3
    assert first_row(ages, [False, False, False]) is None


def test_a_built_taxonomy_names_the_row_of_a_value():
    ages = encode("age", pa.array(["z", "a"]))
    assert built(ages, []).where(0) == "the value in row 2"


def test_explosions_are_refused(monkeypatch):  # bad input 16
    monkeypatch.setattr(columns, "MAX_LABELS", 5)
    ids = encode("id", pa.array(["a", "b", "c"]))
    refuse_explosion(ids, 1)
    with pytest.raises(BadHierarchy, match=r"column 'id': 3 distinct values on 2 level.* identifier"):
        refuse_explosion(ids, 2)
