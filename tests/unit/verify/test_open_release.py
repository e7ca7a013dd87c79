"""Every database that Shoal opens is shut in: it reads what was named and its own folder, and fetches nothing."""

import re

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from shoal_source import FOLDER

import shoal as sh
from shoal.engine_port import ReadOptions
from shoal.engines.duckdb.engine import DuckDBEngine
from shoal.verify import open_release
from shoal.verify.open_release import Room, connect

NAMES = ["plain", "it's", "a*b?c[1]", "x y/../z"]
OUTSIDE = [
    "SELECT * FROM read_csv('{0}/secret.csv')",
    "SELECT * FROM '{0}/secret.csv'",
    "SELECT * FROM read_text('{0}/*')",
    "SELECT * FROM read_text('{1}/../secret.csv')",
    "SELECT * FROM glob('{0}/*')",
    "COPY (SELECT 1) TO '{0}/written.csv'",
    "ATTACH '{0}/new.duckdb'",
    "SELECT * FROM read_csv('https://example.org/people.csv')",
    "SELECT * FROM read_parquet('s3://bucket/people.parquet')",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET allowed_directories = ['/']",
    "SET temp_directory = '/'",
]


@pytest.mark.parametrize("statement", OUTSIDE)
def test_statements_cannot_reach_files_outside(tmp_path, statement):
    (tmp_path / "own").mkdir()
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n", "utf-8")
    with connect(tmp_path / "own", []) as db, pytest.raises(duckdb.Error):
        db.execute(statement.format(tmp_path, tmp_path / "own")).fetchall()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own", "secret.csv"]


@pytest.mark.parametrize("name", NAMES)
def test_named_files_are_read_whatever_they_are_called(tmp_path, name):
    (tmp_path / "x y").mkdir()
    (tmp_path / "own").mkdir()
    file = tmp_path / f"{name}.parquet"
    pq.write_table(pa.table({"a": [7]}), file)
    with connect(tmp_path / "own", [file]) as db:
        found = db.execute(f"SELECT * FROM read_parquet('{open_release.escape_glob(file)}')").fetchall()
    assert found == [(7,)]


def test_rows_in_the_write_ahead_log_of_a_database_are_read(tmp_path):
    """Rows of a program that ended without a checkpoint lie in a file beside the database."""
    with duckdb.connect(tmp_path / "people.duckdb") as db:
        db.execute("CREATE TABLE people AS SELECT 1 AS age")
        db.execute("CHECKPOINT")
        db.execute("SET checkpoint_threshold = '1GB'")
        db.execute("INSERT INTO people VALUES (2)")
        for file in tmp_path.iterdir():
            (tmp_path / file.name.replace("people", "copy")).write_bytes(file.read_bytes())
    assert (tmp_path / "copy.duckdb.wal").exists()
    source = DuckDBEngine().read(tmp_path / "copy.duckdb", ReadOptions())
    assert sorted(source.table["age"].texts.to_pylist()) == ["1", "2"]


def test_only_one_function_opens_databases():
    """Whoever opens one elsewhere forgets to shut it in."""
    opening = re.compile(
        r"^(?!.*>>>).*(duckdb\.(?!Error|DuckDB|\w+Exception)[a-z_]+\(|from duckdb import)", re.MULTILINE
    )
    texts = {path.name: path.read_text("utf-8") for path in FOLDER.rglob("*.py")}
    found = [(name, match[1]) for name, text in texts.items() for match in opening.finditer(text)]
    assert found == [("open_release.py", "duckdb.connect(")]


@pytest.fixture
def opened(monkeypatch):
    """The files that every database may read, each of which must be shut in."""
    seen = []

    def watched(folder, files, **settings):
        db = connect(folder, files, **settings)
        ((reached,),) = db.execute("SELECT current_setting('enable_external_access')").fetchall()
        assert reached is False
        assert folder.stat().st_mode & 0o777 == 0o700
        seen.append(sorted(file.name for file in files))
        return db

    monkeypatch.setattr(open_release, "connect", watched)
    monkeypatch.setattr("shoal.engines.duckdb.session.connect", watched)
    return seen


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["people.csv", "people.parquet", "people.duckdb", "odd'[1]*.csv", "latin.csv"])
@pytest.mark.parametrize("algorithm", ["optimal", "mondrian"])
def test_every_database_of_a_release_reads_what_was_named_only(tmp_path, opened, kind, algorithm):
    table = pa.table({"age": [20 + i // 3 for i in range(12)], "ill": ["é", "b", "c"] * 4})
    file = tmp_path / kind
    if kind.endswith("duckdb"):
        with duckdb.connect(file) as db:
            db.register("given", table)
            db.execute("CREATE TABLE people AS FROM given")
    elif kind.endswith("parquet"):
        pq.write_table(table, file)
    else:
        pyarrow.csv.write_csv(table, file)
    if kind == "latin.csv":
        file.write_bytes(file.read_text("utf-8").encode("latin-1"))
    policy = {
        "attributes": {
            "age": {
                "role": "quasi-identifier",
                **({"hierarchy": {"intervals": [2]}} if algorithm == "optimal" else {}),
            },
            "ill": "sensitive",
        },
        "require": [{"model": "k-anonymity", "k": 3}],
        "method": {"algorithm": algorithm},
        **({"data": {"encoding": "latin-1"}} if kind == "latin.csv" else {}),
    }
    sh.anonymize(str(file), policy, engine="duckdb").save(tmp_path / "out", format="parquet")
    assert all(verdict.holds for verdict in sh.verify(tmp_path / "out", original=str(file), memory="1GB"))
    assert len(opened) >= 3
    copied = {file for files in opened for file in files if file.startswith("text") and kind == "latin.csv"}
    assert set().union(*opened) <= {kind, "data.parquet", "points.parquet", "boxes.parquet"} | copied


def test_a_room_spills_into_a_folder_for_its_owner_alone(tmp_path):
    with Room(64 << 20, tmp_path).database() as db:
        db.execute("CREATE TEMP TABLE big AS SELECT range, md5(range::VARCHAR) FROM range(1500000)")
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert [file for file in folder.iterdir() if file.suffix == ".tmp"], (
            "nothing was spilled: the test tests nothing"
        )
    assert list(tmp_path.iterdir()) == []
