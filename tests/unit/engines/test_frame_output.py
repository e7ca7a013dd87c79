"""The same kind of frame comes back, without what was left out."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.api.releases import anonymize
from shoal.engine_port import ReadOptions
from shoal.engines.frame_output import to_native
from shoal.engines.reading import read
from shoal.errors import ShoalWarning
from shoal.policy.document import Policy

DATA = {"q": [1, 2, 3, 4], "s": ["a", "b", "c", "d"], "id": [7, 8, 9, 10]}
ROWS = np.array([0, 2])
RELEASED = pa.table({"q": ["*", "*"], "s": ["a", "c"]})


def back(frame):
    return to_native(read(frame, ReadOptions()), RELEASED, ROWS, {"q"})


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, pa.RecordBatch.from_pydict])
def test_generalised_columns_are_new_and_others_as_they_were(make):
    frame = back(make(DATA))
    assert type(frame) is type(make(DATA))
    assert pa.table(frame).to_pydict() == {"q": ["*", "*"], "s": ["a", "c"]}


def test_a_narwhals_frame_comes_back_native():
    assert isinstance(back(nw.from_native(pl.DataFrame(DATA))), pl.DataFrame)
    assert isinstance(back(nw.from_native(pd.DataFrame(DATA))), pd.DataFrame)


def test_null_labels_are_null():
    released = pa.table({"q": pa.array(["x", None]), "s": ["a", "c"]})
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        frame = to_native(read(make(DATA), ReadOptions()), released, ROWS, {"q"})
        assert pa.table(frame)["q"].to_pylist() == ["x", None]


def test_the_gaps_of_a_default_index_are_closed():
    assert list(back(pd.DataFrame(DATA)).index) == [0, 1]


def test_unused_categories_are_forgotten_and_the_order_of_the_rest_kept():
    kinds = pd.Categorical(DATA["s"], categories=["d", "c", "b", "a"], ordered=True)
    frame = back(pd.DataFrame(DATA).assign(s=kinds))
    assert list(frame["s"].cat.categories) == ["c", "a"]
    assert frame["s"].cat.ordered
    enum = back(pl.DataFrame(DATA).with_columns(pl.col("s").cast(pl.Enum(["d", "c", "b", "a"]))))
    assert enum["s"].dtype == pl.Enum(["c", "a"])


def test_a_categorical_index_forgets_unused_categories():
    frame = pd.DataFrame({"q": DATA["q"]}, pd.CategoricalIndex(DATA["s"], name="s"))
    index = back(frame).index
    assert list(index.categories) == ["a", "c"]


def test_what_else_a_frame_carries_is_left_out():
    table = pa.table(DATA).replace_schema_metadata({"origin": "secret"})
    assert back(table).schema.metadata is None
    frame = pd.DataFrame(DATA)
    frame.attrs["origin"] = "secret"
    assert back(frame).attrs == {}
    assert frame.attrs == {"origin": "secret"}


def test_a_column_of_several_sorts_comes_back_as_the_text_it_was_read_as():
    mixed = pd.Series([6.0, 2.5, 1e20, 0.1, 5, 7, "text"], dtype=object)
    frame = pd.DataFrame({"age": ["1"] * 6 + ["2"], "s": mixed})
    policy = Policy(
        attributes={"age": {"role": "quasi-identifier", "max-level": 0}, "s": "sensitive"},
        require=[{"model": "k-anonymity", "k": 2}],
        method={"suppression": 0.2},
    )
    with pytest.warns(ShoalWarning, match="mixes number and text values and is read as text"):
        released = anonymize(frame, policy).data
    assert released["s"].tolist() == ["6.0", "2.5", "1e+20", "0.1", "5", "7"]
