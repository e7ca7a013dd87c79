"""Tables of hundreds of columns are released and verified: no query grows faster than they do."""

import random

import pyarrow as pa
import pyarrow.csv
import pytest

import shoal


def wide(columns, quasi=2):
    draw = random.Random(1)
    table = pa.table({f"c{i}": [draw.choice("abc") for _ in range(20)] for i in range(columns)})
    flat = {"role": "quasi-identifier", "hierarchy": {"flat": True}}
    roles = {name: flat if i < quasi else "insensitive" for i, name in enumerate(table.column_names)}
    return table, {"attributes": roles, "require": [{"model": "k-anonymity", "k": 2}]}


def test_a_thousand_columns():
    table, policy = wide(1000)
    release = shoal.anonymize(table, policy)
    assert release.data.num_columns == 1000
    assert sorted(release.data["c999"].to_pylist()) == sorted(table["c999"].to_pylist())


@pytest.mark.parametrize("algorithm", ["datafly", "mondrian"])
def test_hundreds_of_quasi_identifiers(algorithm):
    table, policy = wide(200, 200)
    release = shoal.anonymize(table, {**policy, "method": {"algorithm": algorithm}})
    assert all(verdict.holds for verdict in release.verdicts)


@pytest.mark.thorough
def test_a_table_on_disk(tmp_path):
    """More columns than are joined in one query: the same bytes as in memory, and a lie is found."""
    table, policy = wide(45)
    pa.csv.write_csv(table, tmp_path / "wide.csv")
    for engine in ("arrow", "duckdb"):
        shoal.anonymize(str(tmp_path / "wide.csv"), policy, engine=engine).save(tmp_path / engine)
    assert (tmp_path / "arrow" / "data.csv").read_bytes() == (tmp_path / "duckdb" / "data.csv").read_bytes()
    other = table.set_column(44, "c44", pa.array(["a"] * 20))
    held = {v.promise: v.holds for v in shoal.verify(tmp_path / "duckdb", original=other)}
    assert (held["k-anonymity"], held["truthful"]) == (True, False)
