"""Partitioned Parquet, addresses and events: what pipelines need."""

import io
import json
import logging
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal as sh
from shoal.api.releases import publish
from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.engines.duckdb.engine import DuckDBEngine
from shoal.errors import BadData
from shoal.runtime import events

CANARY = "CANARY-7f3"
ENGINES = [ArrowEngine, DuckDBEngine]


def part(folder, path, ages):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"age": ages, "sex": ["f" if age % 2 else "m" for age in ages]}), file)


@pytest.fixture
def people(tmp_path):
    folder = tmp_path / "peo'ple [1]"
    part(folder, "year=2024/town=Bad%20Ems/a.parquet", [31, 32, 33])
    part(folder, "year=2024/town=it's%2Fodd/a.parquet", [34])
    part(folder, "year=2025/town=__HIVE_DEFAULT_PARTITION__/b [x].parquet", [35, 36])
    part(folder, "_temporary/0/c.parquet", [99])
    (folder / "_SUCCESS").touch()
    return folder


def rows(source, engine):
    """How many rows each combination of texts has."""
    table = engine().read(source, ReadOptions()).table
    if table.relation is None:
        cells = [
            [None if code == column.null_code else column.texts[int(code)].as_py() for code in column.codes]
            for column in table.columns.values()
        ]
        return list(table.columns), sorted(zip(*cells, strict=True), key=str)
    names = ", ".join(f"{name}::VARCHAR" for name in table.relation.columns.values())
    found = table.columns.session.db.execute(f"SELECT {names} FROM ({table.relation.sql})").fetchall()
    assert {name: table[name].size for name in table.columns}
    return list(table.columns), sorted(found, key=str)


@pytest.mark.parametrize("engine", ENGINES)
def test_folders_become_columns(people, engine):
    names, found = rows(people, engine)
    assert names == ["age", "sex", "year", "town"]
    assert found == sorted(
        [
            *((str(age), "f" if age % 2 else "m", "2024", "Bad Ems") for age in (31, 32, 33)),
            ("34", "m", "2024", "it's/odd"),
            ("35", "f", "2025", None),
            ("36", "m", "2025", None),
        ],
        key=str,
    )
    table = engine().read(people, ReadOptions()).table
    assert pa.types.is_integer(table["year"].values.type)
    assert pa.types.is_string(table["town"].values.type)


@pytest.mark.parametrize("engine", ENGINES)
def test_patterns_and_one_file_in_a_folder(tmp_path, engine):
    part(tmp_path, "p/year=2024/a.parquet", [31])
    part(tmp_path, "p/year=2025/a.parquet", [32])
    assert rows(f"{tmp_path}/p/year=*/*.parquet", engine)[1] == [("31", "f", "2024"), ("32", "m", "2025")]
    assert rows(f"{tmp_path}/p/**/a.parquet", engine)[1] == [("31", "f", "2024"), ("32", "m", "2025")]
    (tmp_path / "p/year=2025/a.parquet").unlink()
    assert rows(tmp_path / "p", engine)[1] == [("31", "f", "2024")]


@pytest.mark.parametrize("engine", ENGINES)
def test_folders_that_are_no_table(tmp_path, engine):
    def says(source, words):
        with pytest.raises(BadData, match=words):
            engine().read(source, ReadOptions())

    (tmp_path / "empty").mkdir()
    says(tmp_path / "empty", "no files in the folder")
    says(tmp_path / "*.parquet", "no file fits")
    part(tmp_path, "keys/year=2024/a.parquet", [31])
    part(tmp_path, "keys/b.parquet", [31])
    says(tmp_path / "keys", "same columns")
    part(tmp_path, "both/age=2024/a.parquet", [31])
    says(tmp_path / "both", "'age' is a column of the files and of their folders")
    part(tmp_path, "types/a.parquet", [31])
    pq.write_table(pa.table({"age": ["x"], "sex": ["f"]}), tmp_path / "types" / "b.parquet")
    says(tmp_path / "types", "b.parquet: its columns or their types differ")


POLICY = {
    "attributes": {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}, "sex": "sensitive"},
    "data": {"others": "drop"},
    "require": [{"model": "k-anonymity", "k": 2}],
}


def test_a_partitioned_table_is_released_alike_by_both_engines(people, tmp_path):
    policy = {**POLICY, "attributes": {**POLICY["attributes"], "year": "quasi-identifier", "town": "identifier"}}
    for engine in ("arrow", "duckdb"):
        sh.anonymize(people, policy, engine=engine).save(tmp_path / engine, reproducible=True)
    one, other = (tmp_path / engine / "data.parquet" for engine in ("arrow", "duckdb"))
    assert one.read_bytes() == other.read_bytes()
    assert all(v.holds for v in sh.verify(tmp_path / "arrow", original=people))


def test_addresses(tmp_path):
    import fsspec

    store = fsspec.filesystem("memory")
    part(tmp_path, "p/year=2024/a.parquet", [31, 32])
    part(tmp_path, "p/year=2025/b.parquet", [33])
    store.put(str(tmp_path / "p"), "/shoal-test/p", recursive=True)
    store.pipe("/shoal-test/people.csv", b"age,sex\n31,f\n32,m\n")
    try:
        assert rows("memory://shoal-test/people.csv", ArrowEngine)[1] == [("31", "f"), ("32", "m")]
        expected = [("31", "f", "2024"), ("32", "m", "2024"), ("33", "f", "2025")]
        assert rows("memory://shoal-test/p", ArrowEngine)[1] == expected
        assert rows("memory://shoal-test/p/year=*/*.parquet", ArrowEngine)[1] == expected
        assert rows((tmp_path / "p").as_uri(), ArrowEngine)[1] == expected
        assert rows((tmp_path / "p").as_uri(), DuckDBEngine)[1] == expected
        release = sh.anonymize("memory://shoal-test/people.csv", POLICY)
        assert release.summary.rows.released == 2
        with pytest.raises(BadData, match="no such file"):
            ArrowEngine().read("memory://shoal-test/nix.csv", ReadOptions())
        with pytest.raises(BadData, match="use the arrow engine"):
            DuckDBEngine().read("memory://shoal-test/people.csv", ReadOptions())
    finally:
        store.rm("/shoal-test", recursive=True)


def test_addresses_never_show_keys(monkeypatch):
    for address in (f"nosuch://user:{CANARY}@host/people.csv?key={CANARY}", f"memory://{CANARY}/people.csv"):
        with pytest.raises(BadData) as wrong:
            ArrowEngine().read(address, ReadOptions())
        assert CANARY not in str(wrong.value)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(BadData, match="install fsspec"):
        ArrowEngine().read("s3://bucket/people.csv", ReadOptions())


def test_an_input_by_its_address_is_not_written_over(tmp_path):
    part(tmp_path, "out/a.parquet", [31, 32])
    with pytest.raises(sh.BadOutput, match="its own input"):
        publish((tmp_path / "out" / "a.parquet").as_uri(), POLICY, tmp_path / "out", force=True)


def told(text):
    return [json.loads(line) for line in text.splitlines()]


def test_events_of_every_command(desk):
    log = desk.folder / "log.json"
    canaries = "name,age,sex,disease\n" + "".join(f"{CANARY},{30 + i % 7},f,{CANARY}-{i % 3}\n" for i in range(40))
    desk.table(canaries)
    desk.policy()
    assert desk.anonymize("--log-json", log).code == 0
    assert desk.verify("--original", desk.data, "--log-json", log).code == 0
    applied = ("apply", desk.private, desk.data, "--out", desk.folder / "more", "--log-json", log)
    assert desk.run(*applied).code == 0
    ran = desk.anonymize("--log-json", "-", "--force", "--json")
    assert [line["event"] for line in told(ran.err)][-1] == "done"
    assert json.loads(ran.out)["shoal"] == sh.__version__
    lines = told(log.read_text())
    names = [line["event"] for line in lines]
    made = ["start", "read", "counted", "searched", "recoded", "written", "verified", "done"]
    assert names == [*made, "start", "verified", "done", *made]
    assert [line["doing"] for line in lines if line["event"] == "start"] == ["anonymize", "verify", "apply"]
    for line in [*lines, *told(ran.err)]:
        assert line.keys() - {"time", "event", "seconds"} <= events.FIELDS[line["event"]]
    read = lines[1]
    assert (read["name"], read["rows"], read["columns"], read["engine"]) == ("people.csv", 40, 4, "arrow")
    assert lines[2]["classes"] == 7
    assert CANARY not in log.read_text() + ran.err
    assert str(desk.folder) not in log.read_text() + ran.err


def test_the_log_tells_a_failure_by_its_kind_only(desk):
    log = desk.folder / "log.json"
    desk.table(f"name,age,sex,disease\n{CANARY},1,f,{CANARY}\nb,9,m,x\n")
    desk.policy(require=[{"model": "k-anonymity", "k": 50}])
    assert desk.anonymize("--log-json", log).code == 3
    last = told(log.read_text())[-1]
    assert (last["event"], last["error"]) == ("failed", "Infeasible")
    assert CANARY not in log.read_text()
    desk.refused(
        2, "verify", desk.folder / "nix", "--log-json", desk.folder / "nix" / "log", says="log cannot be written"
    )


def test_events_reach_the_logger_of_a_program(caplog):
    table = pa.table({"age": [31, 32, 33, 34], "sex": ["f", "m", "f", "m"]})
    with caplog.at_level(logging.INFO, logger="shoal"):
        sh.anonymize(table, POLICY)
    assert [record.told["event"] for record in caplog.records] == [
        *("start", "read", "counted", "searched", "recoded", "verified", "done")
    ]


def test_events_refuse_undeclared_fields_and_types():
    with events.write_json_log(io.StringIO()), events.run("verify"):
        with pytest.raises(AssertionError):
            events.log_event("counted", value="x")
        with pytest.raises(AssertionError):
            events.log_event("counted", classes="x")
