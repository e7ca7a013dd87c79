"""Tables of hundreds of columns are released and verified: no query grows faster than they do."""

import random
from collections import Counter

import pyarrow as pa
import pyarrow.csv
import pytest
import tomli_w

import shoal
from shoal.data.codes import Table, encode
from shoal.problem import repeated_together
from shoal.risk import vocabulary


def wide(columns, quasi=2, others="insensitive", rows=20):
    draw = random.Random(1)
    table = pa.table({f"c{i}": [draw.choice("abc") for _ in range(rows)] for i in range(columns)})
    flat = {"role": "quasi-identifier", "hierarchy": {"flat": True}}
    roles = {name: flat if i < quasi else others for i, name in enumerate(table.column_names)}
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


MANY = pytest.mark.parametrize("columns", [200, pytest.param(10_000, marks=pytest.mark.slow)])


@MANY
@pytest.mark.parametrize("others", ["identifier", "insensitive"])
def test_from_draft_to_verdict(desk, columns, others):
    """A few quasi-identifiers among many columns, which are left out or kept: init, anonymize and verify."""
    table, policy = wide(columns, 3, others, rows=50)
    pa.csv.write_csv(table, desk.folder / "wide.csv")
    drafted = desk.run("init", desk.folder / "wide.csv", "--out", desk.folder / "draft.toml")
    assert drafted.code == 0
    assert (desk.folder / "draft.toml").read_text("utf-8").count("[attributes.") == columns
    (desk.folder / "policy.toml").write_text(tomli_w.dumps(policy), "utf-8")
    ran = desk.anonymize(data=desk.folder / "wide.csv")
    assert ran.code == 0, ran.err[-300:]
    kept = 3 if others == "identifier" else columns
    assert len((desk.out / "data.csv").read_text("utf-8").partition("\n")[0].split(",")) == kept
    assert desk.run("verify", desk.out, "--original", desk.folder / "wide.csv").code == 0


def test_columns_that_repeat_are_warned_of_in_few_words():
    """Of 30 columns that are left out and may name persons, five are named and the others counted."""
    table, policy = wide(33, 3, "identifier")
    with pytest.warns(shoal.ShoalWarning) as said:
        shoal.anonymize(table, policy)
    told = [str(each.message) for each in said if "repeat" in str(each.message) or "several rows" in str(each.message)]
    assert len(told) == 6
    assert told[-1].startswith("25 more columns that may name persons have values that repeat")


def test_birth_and_sex_are_looked_for_once(monkeypatch):
    """Columns that may name persons are compared with them, not with every other column."""
    asked = Counter()
    real = vocabulary.meaning_of
    monkeypatch.setattr(vocabulary, "meaning_of", lambda header: (asked.update([header]), real(header))[1])
    table, policy = wide(60, 3, "identifier")
    with pytest.warns(shoal.ShoalWarning):
        shoal.anonymize(table, policy)
    assert max(asked.values()) <= 12  # of each header, whatever the number of columns


@pytest.mark.parametrize("columns", [1001, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_quasi_identifiers_are_refused(desk, columns):
    table, policy = wide(columns, columns)
    pa.csv.write_csv(table, desk.folder / "wide.csv")
    (desk.folder / "policy.toml").write_text(tomli_w.dumps(policy), "utf-8")
    ran = desk.anonymize(data=desk.folder / "wide.csv")
    assert ran.code == 2
    assert f"there are {columns:,} quasi-identifiers, and 1,000 are the most" in ran.err
    assert not desk.out.exists()


def test_hundreds_of_names_and_births_are_not_those_of_one_person():
    """Their combinations were counted with keys of all columns, and a key has 2,048 bits at most."""
    names = {f"name_{i}": encode(f"name_{i}", pa.array([f"Anna {n}" for n in range(50)])) for i in range(400)}
    birth = encode("birth", pa.array([f"19{n:02}-01-01" for n in range(50)]))
    assert repeated_together(Table({**names, "birth": birth}, 50), names) == {}
