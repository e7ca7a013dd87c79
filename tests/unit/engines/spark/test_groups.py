"""Distinct rows on a cluster, with a frame that only remembers what is done to it."""

import numpy as np
import pyarrow as pa
import pytest

from shoal.engines.spark import groups


class Frame:
    """A frame of counted keys."""

    def __init__(self, rows):
        self.rows, self.kept = rows, False

    def persist(self, level):
        self.kept = True
        return self

    def unpersist(self):
        self.kept = False

    def count(self):
        return self.rows


@pytest.mark.parametrize(("rows", "listed"), [(2, True), (3, False)])
def test_what_was_kept_to_be_counted_is_given_back(monkeypatch, rows, listed):
    frame = Frame(rows)
    monkeypatch.setattr(groups, "MOST", 2)
    monkeypatch.setattr(groups, "keys_of", lambda *_: None)
    monkeypatch.setattr(groups, "count_keys", lambda _: frame)
    monkeypatch.setattr(groups, "collect_table", lambda _: pa.table({"k0": [0, 1], "count": [4, 5]}))
    columns = groups.SparkColumns(None, "people", None)
    found = groups.group_rows(columns, ["a"], {}, [4], 9)
    assert not frame.kept
    assert (found is not None) == listed
    if found is not None:
        assert np.array_equal(found.counts, [4, 5])
