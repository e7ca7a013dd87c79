"""Originals that come as a stream: counted as they are, and in a sentence that holds no cell where the stream ends."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from shoal.data.codes import Relation, Table, Tallied, encode
from shoal.errors import NotVerified
from shoal.publish.verification import original_table
from shoal.verify.original_table import count_originals

CANARY = "CANARY-7f3"


def streamed(rows, *, broken=False):
    """A table whose distinct rows somebody else counts."""
    batch = pa.record_batch({"c0": ["a", "b"], "times": [2, 1]})

    def batches():
        yield batch
        if broken:
            raise RuntimeError(CANARY)

    raws = pa.array(["a", "b"])
    column = Tallied.of(encode("town", raws), raws, np.array([2, 1]), lambda: np.array([1, 2]))
    relation = Relation(
        "FROM given_rows",
        {"town": "c0"},
        counted=lambda names: pa.RecordBatchReader.from_batches(batch.schema, batches()),
    )
    return original_table(Table({"town": column}, rows, relation))


WANTED = {"q0": ("town", np.arange(2, dtype=np.int32))}


def test_rows_of_a_stream_are_counted():
    with duckdb.connect() as db:
        count_originals(db, streamed(3), WANTED, "source")
        assert db.sql("SELECT q0, n FROM source ORDER BY q0").fetchall() == [(0, 2), (1, 1)]


def test_a_stream_with_a_row_too_many_is_not_verified():
    with duckdb.connect() as db, pytest.raises(NotVerified, match="changed"):
        count_originals(db, streamed(4), WANTED, "source")


def test_a_stream_that_breaks_off_is_not_verified():
    with duckdb.connect() as db, pytest.raises(NotVerified, match="could not be read again") as said:
        count_originals(db, streamed(3, broken=True), WANTED, "source")
    assert CANARY not in str(said.value)
