"""PostgreSQL from Debian's packages, started here: what comes in, what goes out, and what a failure leaves behind."""

import gc
import hashlib
import json
import shutil
import signal
import subprocess
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from postgres_server import SECRET, running_server
from typer.testing import CliRunner

import shoal as sh
from shoal.api.releases import publish
from shoal.cli.main import app
from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.engines.choice import choose_engine
from shoal.engines.duckdb.engine import DuckDBEngine
from shoal.engines.postgres.connection import open_connection, run
from shoal.engines.postgres.tables import storage_transaction
from shoal.errors import BadData, BadInput, BadOutput, NotVerified, ShoalWarning

CANARY = "CANARY-7f3"
POLICY = {
    "attributes": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
        "disease": {"role": "sensitive"},
    },
    "require": [{"model": "k-anonymity", "k": 3}],
}


@pytest.fixture(scope="module")
def server():
    with running_server() as connection:
        yield connection


@pytest.fixture
def db(server, monkeypatch):
    """Run statements as somebody else; everything in the database is gone before the next test."""
    from adbc_driver_postgresql import dbapi

    monkeypatch.setenv("SHOAL_POSTGRES", server)
    with dbapi.connect(server, autocommit=True) as connection:

        def run(*statements):
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
                return cursor.fetchall() if cursor.description else []

        run.connection = connection
        run("SET statement_timeout = '20s'", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
        yield run
        run("DROP EVENT TRIGGER IF EXISTS meddle")


def people(db, rows=12):
    """A table of people whose names and diseases nobody may see in a message."""
    db(
        "CREATE TABLE people (name text, age integer, disease text)",
        f"INSERT INTO people SELECT '{CANARY}-' || i, 30 + i % 6 + 20 * (i % 2), "
        "(ARRAY['flu', 'hiv', 'cold'])[i % 3 + 1] "
        f"FROM generate_series(1, {rows}) i",
    )


def tables(db):
    """Every table with a hash of its rows, its comment, and the object it is."""
    found = db(
        "SELECT oid::bigint, relname, obj_description(oid) FROM pg_class WHERE relkind = 'r' "
        "AND relnamespace = 'public'::regnamespace ORDER BY relname"
    )
    return [
        (*row, db(f'SELECT md5(string_agg(t::text, chr(10) ORDER BY t::text)) FROM public."{row[1]}" t'))
        for row in found
    ]


def read(name, engine=None):
    return (engine or ArrowEngine()).read(f"postgres:{name}", ReadOptions())


TYPED = """
CREATE TABLE typed (i2 smallint, i4 int, i8 bigint, f4 real, f8 double precision, n numeric, n2 numeric(10,2), d date,
  ts timestamp, tz timestamptz, tx text, vc varchar(9), bp char(5), b boolean, u uuid, j jsonb, t time, m mood)
"""
FIRST = {
    "i2": 1, "i4": -2, "i8": 1 << 40, "f4": 1.5, "f8": 0.1, "n": Decimal("1.500"), "n2": Decimal("3.10"),
    "d": date(2024, 2, 29), "ts": datetime.fromisoformat("2024-01-02T03:04:05.000060"),
    "tz": datetime(2024, 1, 2, 2, 4, 5, tzinfo=UTC),
    "tx": "ü'\n", "vc": "y", "bp": "z", "b": True, "u": "00000000-0000-0000-0000-000000000001", "j": '{"a": 1}',
    "t": time(12, 30), "m": "sad",
}  # fmt: skip


@pytest.fixture
def typed(db):
    db("DROP TYPE IF EXISTS mood", "CREATE TYPE mood AS ENUM ('sad', 'glad')", TYPED)
    db(
        "INSERT INTO typed VALUES (1, -2, 1::bigint << 40, 1.5, 0.1, 1.5, 3.1, '2024-02-29', "
        "'2024-01-02 03:04:05.00006', "
        "'2024-01-02 03:04:05+01', E'ü''\\n', 'y', 'z', true, '00000000-0000-0000-0000-000000000001', '{\"a\": 1}', "
        "'12:30', 'sad')",
        "INSERT INTO typed (n) VALUES (2.125)",
    )
    return db


@pytest.mark.parametrize("engine", [ArrowEngine, DuckDBEngine])
def test_names_that_differ_only_in_case(db, engine):
    db('CREATE TABLE people (a text, n numeric, "A" text, "N" numeric)', "INSERT INTO people VALUES ('x', 1, 'y', 2.5)")
    table = engine().read("postgres:people", ReadOptions()).table
    found = {name: list(map(str, table[name].values)) for name in table.columns}
    assert found == {"a": ["x"], "n": ["1"], "A": ["y"], "N": ["2.5"]}


def test_types_and_nulls_are_kept(typed):
    table = read("public.typed").table
    for name, value in FIRST.items():
        column = table[name]
        at = column.codes[0]
        assert column.values[int(at)].as_py() == value, name
        if name != "n":
            assert column.null_code == column.codes[1], name


@pytest.mark.parametrize("engine", [ArrowEngine, DuckDBEngine])
def test_unsupported_numbers_dates_and_types_are_refused(db, engine):
    for value, kind in (
        ("'NaN'", "numeric"),
        ("'NaN'", "float4"),
        ("'NaN'", "float8"),
        ("'-infinity'", "float8"),
        ("'200000-01-01'", "timestamp"),
        ("'200000-01-01'", "date"),
        ("1e40", "numeric"),
        ("'infinity'", "date"),
        ("'-infinity'", "timestamp"),
    ):
        db("DROP TABLE IF EXISTS odd", f"CREATE TABLE odd AS SELECT {value}::{kind} AS c")
        with pytest.raises(BadData, match="column 'c'"):
            read("odd", engine()).table["c"]
    db("CREATE TABLE bytes AS SELECT '\\x00'::bytea AS c", "CREATE TABLE lists AS SELECT ARRAY[1] AS c")
    for name in ("bytes", "lists"):
        with pytest.raises(BadData, match="column 'c' holds"):
            read(name)


def test_queries_in_files_only_read(db, tmp_path):
    people(db)
    file = tmp_path / "old.sql"
    file.write_text('SELECT age, disease AS "what\'s up" FROM people WHERE age > 50;\n')
    table = read(f"@{file}").table
    assert list(table.columns) == ["age", "what's up"]
    assert table.rows == db("SELECT count(*) FROM people WHERE age > 50")[0][0]
    before = tables(db)
    for bad in ("DELETE FROM people RETURNING *", "SELECT 1 AS a) x; DROP TABLE people; --", "nonsense"):
        file.write_text(bad)
        with pytest.raises(BadData):
            read(f"@{file}")
    db("CREATE FUNCTION clear() RETURNS int LANGUAGE sql AS 'DELETE FROM people RETURNING 1'")
    file.write_text("SELECT clear() AS a")
    with pytest.raises(BadData):
        read(f"@{file}")
    assert tables(db) == before


def test_both_engines_give_the_same_release(db, tmp_path, monkeypatch):
    people(db, 500)
    for engine in ("arrow", "duckdb"):
        publish("postgres:people", POLICY, tmp_path / engine, engine=engine, memory="200MB", reproducible=True)
    assert (tmp_path / "arrow" / "data.csv").read_bytes() == (tmp_path / "duckdb" / "data.csv").read_bytes()
    gc.collect()
    assert not list(tmp_path.glob(".shoal*"))
    monkeypatch.setattr("shoal.engines.postgres.tables._PER_BYTE", 1 << 20)
    assert isinstance(choose_engine("auto", "64MiB", "postgres:people"), DuckDBEngine)
    monkeypatch.setattr("shoal.engines.postgres.tables._PER_BYTE", 3)
    assert isinstance(choose_engine("auto", "64MiB", sh.Postgres("people")), ArrowEngine)
    assert all(v.holds for v in sh.verify(tmp_path / "arrow", original="postgres:people"))


def released(path):
    return sorted(map(str, pc.read_csv(path, convert_options=pc.ConvertOptions(strings_can_be_null=True)).to_pylist()))


def test_a_release_in_a_folder_and_in_a_table(db, tmp_path):
    people(db)
    publish(sh.Postgres("public.people"), POLICY, tmp_path / "out", to="postgres:public.released")
    with db.connection.cursor() as cursor:
        cursor.execute("SELECT * FROM released")
        stored = cursor.fetch_arrow_table()
    assert sorted(map(str, stored.to_pylist())) == released(tmp_path / "out" / "data.csv")
    hashed = hashlib.sha256((tmp_path / "out" / "data.csv").read_bytes()).hexdigest()
    assert db("SELECT obj_description('released'::regclass)") == [(f"Shoal release, sha256 {hashed}",)]
    assert all(v.holds for v in sh.verify(tmp_path / "out", original="postgres:people"))


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_released_columns_keep_their_types(typed, tmp_path, form, engine):
    names = [name for name in FIRST if engine == "arrow" or name not in {"t", "tz"}]  # which duckdb declares to lack
    typed(f"CREATE TABLE given AS SELECT {', '.join(names)} FROM typed")
    policy = {
        "attributes": {"i4": "quasi-identifier"}
        | {n: {"role": "insensitive", "confirm": True} for n in names if n != "i4"},
        "require": [{"model": "k-anonymity", "k": 2}],
    }
    how = {"engine": engine, "format": form, "to": "postgres:released"}
    publish("postgres:given", policy, tmp_path / "out", **how)
    kept = {name: kind for name, kind in typed(KINDS.format("typed")) if name not in {"u", "j", "m", "bp", "vc"}}
    found = dict(typed(KINDS.format("released")))
    compared = [name for name in names if name in kept and name != "i4"]
    assert {name: found[name] for name in compared} == {name: kept[name] for name in compared}
    cells = ", ".join(f"{n}::numeric(38, 3)::text" if n == "n" else f"{n}::text" for n in names if n != "i4")
    given, stored = (typed(f"SELECT {cells} FROM {table} ORDER BY n") for table in ("given", "released"))
    assert stored == given


KINDS = "SELECT column_name::text, data_type::text FROM information_schema.columns WHERE table_name = '{}'"


def test_odd_names_are_only_names(db, tmp_path):
    odd = 'a "b"; DROP TABLE people; --.c'
    column = 'it\'s a "column"; --'
    people(db)
    quoted = '"' + odd.replace('"', '""') + '"'
    cell = '"' + column.replace('"', '""') + '"'
    db(f"CREATE SCHEMA {quoted}", f"CREATE TABLE {quoted}.{quoted} AS SELECT age AS {cell} FROM people")
    policy = {"attributes": {column: "quasi-identifier"}, "require": [{"model": "k-anonymity", "k": 3}]}
    name = f'{quoted}."new ""table"""'
    publish(f"postgres:{quoted}.{quoted}", policy, tmp_path / "out", to=f"postgres:{name}")
    publish(f"postgres:{quoted}.{quoted}", policy, tmp_path / "out", to=f"postgres:{name}", force=True)
    assert db(f"SELECT count(*) FROM {name}") == [(12,)]
    assert db("SELECT count(*) FROM people") == [(12,)]
    db(f"DROP SCHEMA {quoted} CASCADE")


def test_tables_that_are_not_replaced(db, tmp_path):
    people(db)
    db("CREATE TABLE theirs AS SELECT 1 AS a", "CREATE VIEW seen AS SELECT 1 AS a")
    before = tables(db)
    for to, force, says in (
        ("postgres:people", True, "its own input"),
        ("postgres:theirs", True, "not a release"),
        ("postgres:seen", True, "not a release"),
        ("postgres:nowhere.released", False, "no such schema"),
        ("postgres:@query.sql", False, "name it"),
        ("postgres:" + "x" * 64, False, "63 bytes"),
        ("out.csv", False, "postgres:schema.table"),
    ):
        with pytest.raises(BadInput, match=says):
            publish("postgres:people", POLICY, tmp_path / "out", to=to, force=force)
        assert tables(db) == before
        assert not list(tmp_path.iterdir())


@pytest.fixture
def replaced(db, tmp_path):
    """A release that is to be replaced by another, and what there is before."""
    people(db)
    publish("postgres:people", POLICY, tmp_path / "out", to="postgres:released")
    db("INSERT INTO people SELECT * FROM people")
    return tables(db), files(tmp_path)


def files(folder):
    return {p.relative_to(folder): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


def again(folder, **how):
    return publish("postgres:people", POLICY, folder / "out", to="postgres:released", **{"force": True} | how)


def test_a_release_is_replaced_only_with_force(db, tmp_path, replaced):
    with pytest.raises(BadOutput, match="release already"):
        again(tmp_path, force=False)
    shutil.move(tmp_path / "out", tmp_path / "kept")
    with pytest.raises(BadOutput, match="postgres:released: there is a release already"):
        publish("postgres:people", POLICY, tmp_path / "new", to="postgres:released")
    shutil.move(tmp_path / "kept", tmp_path / "out")
    assert (tables(db), files(tmp_path)) == replaced
    again(tmp_path)
    assert db("SELECT count(*) FROM released") == [(24,)]
    assert len(tables(db)) == 2


def meddle(db, body):
    """Run something whenever a table is made."""
    db(
        f"CREATE OR REPLACE FUNCTION meddle() RETURNS event_trigger LANGUAGE plpgsql AS $f$ BEGIN {body} END $f$",
        "CREATE EVENT TRIGGER meddle ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION meddle()",
    )


EACH_ROW = """
FOR t IN SELECT object_identity FROM pg_event_trigger_ddl_commands() WHERE object_type = 'table' LOOP
  EXECUTE format('CREATE TRIGGER each BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION each()', t);
END LOOP;
"""
LIES = {
    "raises": f"RAISE EXCEPTION '{CANARY} %', NEW",
    "dropped": "IF NEW.disease = 'hiv' THEN RETURN NULL; END IF; RETURN NEW",
    "changed": "NEW.disease := 'flu'; RETURN NEW",
    "swapped": "NEW.disease := CASE NEW.disease WHEN 'flu' THEN 'hiv' WHEN 'hiv' THEN 'flu' ELSE 'cold' END; "
    "RETURN NEW",
}


@pytest.mark.parametrize("lie", LIES)
def test_a_database_that_does_not_keep_the_rows(db, tmp_path, replaced, lie):
    db(f"CREATE OR REPLACE FUNCTION each() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN {LIES[lie]}; END $f$")
    meddle(db, EACH_ROW.replace("FOR t", "DECLARE t text; BEGIN FOR t", 1) + " END;")
    with pytest.raises((BadOutput, NotVerified), match="the table is as it was") as wrong:
        again(tmp_path)
    assert CANARY not in str(wrong.value)
    db("DROP EVENT TRIGGER meddle")
    assert (tables(db), files(tmp_path)) == replaced


def test_a_connection_that_is_lost_in_the_middle(db, tmp_path, replaced, monkeypatch):
    from shoal.publish import data_files as release

    real = release.sorted_batches

    def killing(shown):
        reader = real(shown)
        table = reader.read_all()

        def batches():
            yield from table.to_batches()
            ended = db(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND query LIKE 'COPY%'"
            )
            assert ended == [(True,)], "the copy was not running"
            for _ in range(2000):
                yield from table.to_batches()

        return pa.RecordBatchReader.from_batches(table.schema, batches())

    monkeypatch.setattr(release, "sorted_batches", killing)
    with pytest.raises(BadOutput):
        again(tmp_path)
    assert (tables(db), files(tmp_path)) == replaced


def test_ctrl_c_while_the_server_is_at_work(db):
    def press(*_):
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGALRM, press)
    try:
        with open_connection(sh.Postgres("people")) as connection:
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            with pytest.raises(KeyboardInterrupt):
                run(connection, "SELECT pg_sleep(600)")
            connection.rollback()
            assert run(connection, "SELECT 1") == [(1,)]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def test_a_table_that_others_depend_on(db, tmp_path, replaced):
    db("CREATE VIEW of_it AS SELECT * FROM released")
    with pytest.raises(BadOutput, match="depend on"):
        again(tmp_path)
    assert (tables(db), files(tmp_path)) == replaced


@pytest.mark.parametrize("committed", [False, True])
def test_folders_follow_a_commit_whose_answer_is_lost(db, tmp_path, replaced, monkeypatch, committed):
    """Whether it happened is asked of the server; the folders follow it."""
    from adbc_driver_manager import AdbcStatusCode, OperationalError

    from shoal.engines.postgres.tables import StoredTable

    real = StoredTable.commit

    def lost(stored):
        assert (tmp_path / "out").exists()
        actual = stored.db

        class Broken:
            def commit(self):
                if committed:
                    actual.commit()
                else:
                    actual.rollback()
                raise OperationalError(CANARY, status_code=AdbcStatusCode.IO)

        stored.db = Broken()
        real(stored)

    monkeypatch.setattr(StoredTable, "commit", lost)
    if committed:
        again(tmp_path)
        assert db("SELECT count(*) FROM released") == [(24,)]
        assert len(released(tmp_path / "out" / "data.csv")) == 24
    else:
        with pytest.raises(BadOutput, match="as it was"):
            again(tmp_path)
        assert (tables(db), files(tmp_path)) == replaced


KILLED = """
import json, os, sys
from shoal.api import publish
from shoal.engines.postgres.tables import StoredTable
StoredTable.commit = lambda stored: os._exit(9)
publish("postgres:people", json.loads(sys.argv[2]), sys.argv[1] + "/out", to="postgres:released", force=True)
"""


@pytest.mark.thorough
def test_a_run_that_is_killed_before_the_commit(db, tmp_path, replaced):
    """New folders and the old table; the next run makes both anew."""
    ended = subprocess.run([sys.executable, "-c", KILLED, tmp_path, json.dumps(POLICY)], check=False)
    assert ended.returncode == 9
    assert tables(db) == replaced[0]
    assert len(released(tmp_path / "out" / "data.csv")) == 24
    again(tmp_path)
    assert db("SELECT count(*) FROM released") == [(24,)]
    assert {path.name for path in tmp_path.iterdir()} == {"out", "out.private"}


def test_folders_that_cannot_be_moved_change_nothing(db, tmp_path, replaced, monkeypatch):
    from shoal.publish import folder

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "move_together", full)
    with pytest.raises(BadOutput, match="nothing was changed"):
        again(tmp_path)
    assert (tables(db), files(tmp_path)) == replaced


@pytest.mark.thorough
def test_a_million_rows_come_and_go(db, tmp_path):
    """Written by binary COPY, read back: the same rows."""
    rows = 1_000_000
    draw = np.random.default_rng(7)
    table = pa.table({
        "id": pa.array(np.arange(rows)),
        "age": pa.array(draw.integers(0, 90, rows), mask=draw.random(rows) < 0.01),
        "zip": pa.array(draw.integers(10000, 10100, rows)).cast(pa.string()),
        "born": pa.array(draw.integers(0, 20000, rows).astype("datetime64[D]")),
        "income": pa.array(draw.integers(0, 10**6, rows)).cast(pa.decimal128(38, 0)).cast(pa.decimal128(38, 2)),
    })  # fmt: skip
    with storage_transaction(sh.Postgres("many"), force=False) as stored:
        stored.fill(table.to_reader(1 << 16))
        stored.replace("")
        stored.commit()
    back = read("many").table
    assert back.rows == rows
    at = np.argsort(np.array(back["id"].values.to_numpy())[back["id"].codes])
    for name in table.column_names:
        column = back[name]
        null = None if column.null_code is None else column.codes == column.null_code
        cells = pa.DictionaryArray.from_arrays(pa.array(column.codes, mask=null), column.values)
        assert (
            cells.cast(column.values.type)
            .take(pa.array(at))
            .cast(table[name].type)
            .equals(table[name].combine_chunks())
        ), name


@pytest.mark.thorough
def test_a_million_rows_are_released(db, tmp_path):
    people(db, 1_000_000)
    publish("postgres:people", POLICY, tmp_path / "out", to="postgres:released", memory="500MB", engine="duckdb")
    assert db("SELECT count(*) FROM released") == [(1_000_000,)]


def said(desk, capfd, *arguments):
    ran = desk.run(*arguments)
    return ran, ran.out + ran.err


def test_no_connection_string_is_ever_said(db, desk, server, monkeypatch, capfd, tmp_path):
    """A password in every place where one may stand, and in some where it may not; every path that fails."""
    people(db)
    attributes = POLICY["attributes"]
    desk.policy(attributes)
    wrong = server.replace("shoal:", "nobody:")
    elsewhere = f"postgresql://shoal:{SECRET}@127.0.0.1:1/postgres"
    log = desk.folder / "log.json"
    seen = []

    def fails(code, *arguments):
        policy = desk.folder / "policy.toml"
        ran = desk.run("anonymize", *arguments, "--policy", policy, "--out", desk.out, "--log-json", log)
        assert ran.code == code, ran
        seen.append(ran.out + ran.err)
        assert not desk.out.exists()

    for where in (wrong, elsewhere, f"garbage {SECRET}", f"host={SECRET} password={SECRET}", f"postgres://{SECRET}"):
        monkeypatch.setenv("SHOAL_POSTGRES", where)
        fails(2, "postgres:people")
        fails(2, desk.data, "--to", "postgres:released")
    monkeypatch.setenv("SHOAL_POSTGRES", server)
    for data in ("postgres:nix", "postgres:pg_catalog.nix", f"postgres://shoal:{SECRET}@/x", f"postgresql://{SECRET}"):
        fails(2, data)
    fails(2, f"postgres:password={SECRET}")
    fails(2, f"postgresql:host={SECRET}", "--to", "postgres:x")
    db(
        "CREATE TABLE zero AS SELECT * FROM people LIMIT 0",
        "CREATE VIEW bad AS SELECT 1 / (age - age) AS age FROM people",
    )
    fails(2, "postgres:zero")
    fails(2, "postgres:bad")
    meddle(db, f"RAISE EXCEPTION '{CANARY}';")
    fails(2, "postgres:people", "--to", "postgres:released")
    db("DROP EVENT TRIGGER meddle")
    monkeypatch.delenv("SHOAL_POSTGRES")
    fails(2, "postgres:people")
    file = desk.folder / "connection"
    fails(2, "postgres:people", "--connection-file", file)
    file.write_text(elsewhere)
    file.chmod(0o600)
    fails(2, "postgres:people", "--connection-file", file)
    file.write_text(server + "\n")
    ran = desk.run(
        "anonymize", "postgres:people", "--policy", desk.folder / "policy.toml", "--out", desk.out, "--to",
        "postgres:released", "--connection-file", file, "--log-json", log,
    )  # fmt: skip
    assert ran.code == 0, ran
    seen += [ran.out + ran.err, log.read_text()]
    file.unlink()
    everything = [path.read_text("utf-8", "replace") for path in desk.folder.rglob("*") if path.is_file()]
    for text in [*seen, *everything]:
        assert SECRET not in text
        assert CANARY not in text
        assert "Traceback" not in text
        assert "internal error" not in text


def test_a_connection_file_that_others_may_read(db, server, tmp_path, monkeypatch):
    people(db)
    monkeypatch.delenv("SHOAL_POSTGRES")
    file = tmp_path / "connection"
    file.write_text(server)
    file.chmod(0o644)
    with pytest.warns(ShoalWarning, match="chmod 600"):
        ArrowEngine().read(sh.Postgres("people", file), ReadOptions())
    file.chmod(0o600)
    assert ArrowEngine().read(sh.Postgres("people", file), ReadOptions()).table.rows == 12
    assert SECRET not in repr(sh.Postgres("people", file))


@pytest.mark.thorough
def test_every_command_reads_a_table(db, server, tmp_path, monkeypatch):
    """From a draft to an attack, the connection in the environment or in a file."""
    people(db, 60)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "connection"
    file.write_text(server)
    file.chmod(0o600)
    monkeypatch.delenv("SHOAL_POSTGRES")

    def shoal(*arguments):
        done = CliRunner().invoke(app, [*arguments, "--connection-file", "connection"])
        assert done.exit_code == 0, (arguments, done.exception)
        assert CANARY not in done.stdout + done.stderr
        assert SECRET not in done.stdout + done.stderr
        return done

    said = shoal("init", "postgres:people")
    assert "shoal anonymize postgres:people --policy policy.toml" in said.stderr
    measured = shoal("measure", "postgres:people", "--qi", "age", "--sensitive", "disease", "--json")
    assert json.loads(measured.stdout)["rows"] == 60
    assessed = shoal("risk", "postgres:people", "--qi", "age", "--population", "postgres:people", "--json")
    assert json.loads(assessed.stdout)["reidentification"]["rows"] == 60
    shoal("anonymize", "postgres:people", "--policy", "policy.toml", "--accept-guesses", "--out", "out")
    shoal("verify", "out", "--original", "postgres:people")
    shoal("audit", "out", "--original", "postgres:people", "--register", "postgres:people")
    shoal("workload", "postgres:people", "out", "--random", "5", "--attributes", "1")
    shoal("attack", "join", "out", "--register", "postgres:people", "--original", "postgres:people")
    shoal("attack", "homogeneity", "postgres:people", "--qi", "age", "--sensitive", "disease")
    monkeypatch.setenv("SHOAL_POSTGRES", server)
    for command in (("init", "--force"), ("measure", "--qi", "age"), ("risk",), ("lattice", "--policy", "policy.toml")):
        done = CliRunner().invoke(app, [command[0], "postgres:people", *command[1:]])
        assert done.exit_code == 0, (command, done.exception)


@pytest.mark.parametrize("command", [("init",), ("measure", "--qi", "age"), ("risk", "--qi", "age")])
def test_a_table_that_is_not_there_is_one_sentence(db, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [command[0], "postgres:people", *command[1:]])
    assert isinstance(done.exception, BadData)
    assert str(done.exception) == "postgres:people: there is no such table"


def test_a_table_that_does_not_fit_is_one_sentence(db, monkeypatch):
    people(db)
    monkeypatch.setattr("shoal.engines.choice._free", lambda: 10)
    for source in ("postgres:people", sh.Postgres("people")):
        with pytest.raises(BadData, match=r"postgres:people: the table seems to need 0\.0 GB of memory"):
            sh.measure(source, "age")


@pytest.mark.parametrize("committed", [False, True])
def test_killed_while_it_commits(replaced, db, tmp_path, committed):
    """The next run asks the database: folders and table are both of the older release, or both of the new one."""
    before, old = replaced
    script = "import os, signal\nfrom shoal.engines.postgres.tables import StoredTable\n"
    script += f"from shoal.api.releases import publish\nreal, committed = StoredTable.commit, {committed}\n"
    script += "def die(self):\n    committed and real(self)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    script += f"StoredTable.commit = die\nout, policy = {str(tmp_path / 'out')!r}, {POLICY!r}\n"
    script += "publish('postgres:people', policy, out, to='postgres:released', force=True)"
    ran = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    sh.verify(tmp_path / "out")  # whoever reads the folders cannot ask, and sees whole ones
    many = {**POLICY, "require": [{"model": "k-anonymity", "k": 1000}]}
    with pytest.raises(sh.Infeasible):
        publish("postgres:people", many, tmp_path / "out", to="postgres:released", force=True)
    made = hashlib.sha256((tmp_path / "out" / "data.csv").read_bytes()).hexdigest()
    ((comment,),) = db("SELECT obj_description('released'::regclass)")
    assert comment.endswith(made)
    assert (files(tmp_path) == old, tables(db) == before) == (not committed, not committed)
