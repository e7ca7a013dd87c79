"""Columns are what the input calls them, whatever else DuckDB takes a name for; and what it cannot read, it refuses."""

import signal
import time
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import shoal as sh
from shoal.api.releases import publish
from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.engines.duckdb.engine import DuckDBEngine
from shoal.engines.duckdb.session import explain_read_error
from shoal.errors import BadData

CANARY = "CANARY-7f3"
AGE = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}
OPEN = {"role": "insensitive", "confirm": True}
K = [{"model": "k-anonymity", "k": 2}]
ENGINES = ["arrow", "duckdb"]


def policy(**attributes):
    return {"attributes": {"age": AGE, **attributes}, "require": K}


def refused(desk, data, engine="duckdb"):
    """The exit code and what is said; the folder that was spilled into is gone when the process is."""
    ran = desk.anonymize("--engine", engine, data=data)
    assert not desk.out.exists()
    return ran.code, ran.out + ran.err


def columns_of(source, engine):
    """Every column as an engine reads it, each sorted: what is in it, not in which order."""
    table = {"arrow": ArrowEngine, "duckdb": DuckDBEngine}[engine]().read(source, ReadOptions()).table
    return {name: sorted(map(str, table[name].values)) for name in table.columns}


# names that differ only in case


@pytest.fixture
def people():
    rows = range(40)
    return pa.table(
        {
            "ssn": [f"{CANARY}-{i}" for i in rows],
            "age": [20 + i % 20 for i in rows],
            "SSN": [f"x{i % 3}" for i in rows],
            "Ssn_1": [f"y{i % 2}" for i in rows],
        }
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("several", [False, True])
def test_names_that_differ_only_in_case(desk, people, engine, several):
    data = desk.folder / ("data" if several else "data.parquet")
    if several:
        for part in range(2):
            (data / f"SsN={part}").mkdir(parents=True)
            pq.write_table(people.slice(20 * part, 20), data / f"SsN={part}" / "rows.parquet")
    else:
        pq.write_table(people, data)
    desk.policy({"ssn": "identifier", "age": AGE, "SSN": OPEN, "Ssn_1": OPEN} | ({"SsN": OPEN} if several else {}), K)
    ran = desk.anonymize("--engine", engine, "--format", "csv", data=data)
    assert ran.code == 0, ran.err
    released = pc.read_csv(desk.out / "data.csv")
    for name in ("SSN", "Ssn_1"):
        assert sorted(released[name].to_pylist()) == sorted(people[name].to_pylist())
    if several:
        assert sorted(released["SsN"].to_pylist()) == [0] * 20 + [1] * 20
    assert not any(CANARY.encode() in path.read_bytes() for path in desk.out.rglob("*") if path.is_file())
    assert desk.verify("--original", data).code == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_in_folders_with_names_that_differ_only_in_case(people, tmp_path, engine):
    pq.write_table(people, tmp_path / "data.parquet")
    roles = policy(ssn="identifier", SSN=OPEN, Ssn_1=OPEN)
    publish(tmp_path / "data.parquet", roles, tmp_path / "out", engine=engine, partition_by=["SSN"])
    found = columns_of(tmp_path / "out" / "data", engine)
    assert set(found["SSN"]) == {"x0", "x1", "x2"}
    assert set(found["Ssn_1"]) == {"y0", "y1"}


def test_a_view_whose_names_differ_only_in_case(tmp_path):
    with duckdb.connect(tmp_path / "some.duckdb") as db:
        db.execute('CREATE VIEW people AS SELECT range AS a, range + 10 AS "A", range + 20 AS a_1 FROM range(3)')
    found = columns_of(tmp_path / "some.duckdb", "duckdb")
    assert list(found.values()) == [["0", "1", "2"], ["10", "11", "12"], ["20", "21", "22"]]


# names that the queries use themselves

OURS = ["file", "v0", "the file of a row", "p", "r", "c0", "c1", "filename", "fffffffffffffffff", 'odd "x"']


def test_columns_and_folders_named_like_our_internal_columns(tmp_path):
    for year in (2024, 2025):
        (tmp_path / "data" / f"v1={year}").mkdir(parents=True)
        cells = {name: [f"{name} {year}"] * 3 for name in OURS}
        pq.write_table(pa.table(cells), tmp_path / "data" / f"v1={year}" / "rows.parquet")
    one, other = (columns_of(tmp_path / "data", engine) for engine in ENGINES)
    assert one == other
    assert list(one) == [*OURS, "v1"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_in_folders_named_like_our_internal_columns(tmp_path, engine):
    rows = range(40)
    cells = {name: [f"{name} {i % 2}" for i in rows] for name in OURS}
    pq.write_table(pa.table({"age": [20 + i % 20 for i in rows], **cells}), tmp_path / "data.parquet")
    roles = policy(**dict.fromkeys(OURS, OPEN))
    publish(tmp_path / "data.parquet", roles, tmp_path / "out", engine=engine, partition_by=["file"])
    assert all(verdict.holds for verdict in sh.verify(tmp_path / "out", original=tmp_path / "data.parquet"))


# what cannot be read


def damaged(path, compression):
    """A file whose end is whole and whose pages are not."""
    rng = np.random.default_rng(0)
    towns = [f"{CANARY}-{i}" for i in rng.integers(0, 1000, 20_000)]
    pq.write_table(pa.table({"age": rng.integers(0, 90, 20_000), "town": towns}), path, compression=compression)
    content = bytearray(path.read_bytes())
    for at in range(len(content) // 8, len(content) // 2, 500):
        content[at : at + 200] = rng.integers(0, 256, 200, dtype=np.uint8).tobytes()
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("compression", ["snappy", "zstd", "none"])
def test_damaged_pages(desk, compression):
    data = damaged(desk.folder / "data.parquet", compression)
    desk.policy({"age": AGE, "town": OPEN}, K)
    assert refused(desk, data) == (2, "shoal: data.parquet: the table cannot be read; is it damaged?\n")


FAILING = f"SELECT 1 AS age, CASE WHEN range < 9 THEN 'x' ELSE error('{CANARY}') END AS town FROM range(10)"


@pytest.mark.parametrize("view", [FAILING, "FROM gone"])
def test_a_view_that_fails(desk, view):
    with duckdb.connect(desk.folder / "some.duckdb") as db:
        db.execute("CREATE TABLE gone AS SELECT 1 AS age, 'x' AS town")
        db.execute(f"CREATE VIEW people AS {view}")
        db.execute("DROP TABLE gone")
    desk.policy({"age": AGE, "town": OPEN}, K)
    data = f"{desk.folder}/some.duckdb::people"
    assert refused(desk, data) == (2, "shoal: some.duckdb: the table cannot be read; is it damaged?\n")


def test_an_error_between_two_batches_names_no_cell(tmp_path):
    pq.write_table(pa.table({"age": range(9)}), tmp_path / "data.parquet")
    columns = DuckDBEngine().read(tmp_path / "data.parquet", ReadOptions()).table.columns
    failing = f"SELECT CASE WHEN range < 500_000 THEN range ELSE error('{CANARY}') END FROM range(3_000_000)"
    with pytest.raises(BadData, match=r"^data\.parquet: the table cannot be read; is it damaged\?$"):
        list(columns.batches(failing, 1000))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("of", [pa.decimal32(5, 2), pa.decimal64(12, 2)])
def test_short_decimals(desk, engine, of):
    fees = pa.array([Decimal(1), Decimal(2)], of)
    pq.write_table(pa.table({"age": [20, 21], "fee": fees}), desk.folder / "data.parquet")
    desk.policy({"age": AGE, "fee": OPEN}, K)
    said = "shoal: data.parquet: column 'fee' cannot be read; turn it into text\n"
    assert refused(desk, desk.folder / "data.parquet", engine) == (2, said)


def test_lack_of_memory_or_disk_is_not_called_damage():
    with duckdb.connect(config={"memory_limit": "64MB", "temp_directory": ""}) as db:
        many = "SELECT range AS a, count(*) FROM range(20_000_000) GROUP BY ALL"
        with pytest.raises(duckdb.OutOfMemoryException), explain_read_error("damaged"):
            db.execute(many).fetchall()
    with pytest.raises(MemoryError), explain_read_error("damaged"):
        raise OSError("Out of Memory Error: could not allocate block")
    with pytest.raises(OSError, match="No space left"), explain_read_error("damaged"):
        raise OSError("IO Error: No space left on device")
    with pytest.raises(BadData, match=r"^damaged$"), explain_read_error("damaged"):
        raise OSError(f"Invalid Input Error: {CANARY}")


# an interruption in the middle of a query


@pytest.mark.thorough
def test_an_interruption_of_a_query(desk, process):
    with duckdb.connect(desk.folder / "slow.duckdb") as db:
        rows = "FROM range(100_000) a, range(100_000) b"
        db.execute(f"CREATE VIEW people AS SELECT hash(a.range * b.range) % 100 AS age {rows}")
    desk.policy({"age": AGE}, K)
    data = desk.folder / "slow.duckdb"
    before = sorted(desk.folder.iterdir())
    started = process("anonymize", data, "--policy", desk.folder / "policy.toml", "--out", desk.out)
    while sorted(desk.folder.iterdir()) == before and started.poll() is None:
        time.sleep(0.1)  # until there is a folder to spill into
    time.sleep(1)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert (started.returncode, out, err) == (130, "", "shoal: interrupted; nothing was written\n")
    assert sorted(desk.folder.iterdir()) == before


@pytest.mark.parametrize("wrong", [RuntimeError("Query interrupted"), duckdb.InterruptException("Interrupted!")])
def test_any_error_of_an_interrupted_query_is_reported_as_an_interruption(desk, monkeypatch, wrong):
    def interrupted(*_):
        raise wrong

    monkeypatch.setattr("shoal.engines.duckdb.session.Session.table", interrupted)
    assert refused(desk, desk.data) == (130, "shoal: interrupted; nothing was written\n")


# cells that two readers would cut in two ways


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("x,q,1\nx,q,1,,,,\n", "expected 3 fields as in the header, got 7"),
        ('x,q,1,""\n', "got 4"),
        ('x,"q,r",1\nx,q,1,\n', "got 4"),
        ('x,"q" ,1\n', "closing quote"),
        ('x,"q"z,1\n', "closing quote"),
    ],
)
def test_too_many_cells_and_text_after_a_closing_quote_are_refused(desk, engine, rows, says):
    desk.policy({"a": AGE | {"hierarchy": {"flat": True}}, "b": OPEN, "s": "sensitive"}, K)
    code, said = refused(desk, desk.table(f"a,b,s\n{rows}"), engine)
    assert code == 2
    assert says in said


@pytest.mark.parametrize("engine", ENGINES)
def test_a_blank_before_a_quote_belongs_to_the_cell(desk, engine):
    desk.policy({"a": AGE | {"hierarchy": {"flat": True}}, "b": OPEN, "s": "sensitive"}, K)
    ran = desk.anonymize("--engine", engine, data=desk.table('a,b,s\nx, "q",1\nx,r,2\n'))
    assert ran.code == 0, ran.err
    assert sorted(pc.read_csv(desk.out / "data.csv")["b"].to_pylist()) == [' "q"', "r"]


@pytest.mark.parametrize("engine", ENGINES)
def test_delimiters_and_quotes_inside_of_cells(desk, engine):
    desk.policy({"a": AGE | {"hierarchy": {"flat": True}}, "b": OPEN, "s": "sensitive"}, K)
    ran = desk.anonymize("--engine", engine, data=desk.table('a,b,s\nx,"q,r",1\nx,"a""b,",2\nx,5" pipe,"3,,,"\n'))
    assert ran.code == 0, ran.err
    released = pc.read_csv(desk.out / "data.csv")
    assert sorted(released["b"].to_pylist()) == ['5" pipe', 'a"b,', "q,r"]


@pytest.mark.parametrize("engine", ["auto", *ENGINES])
def test_an_empty_table_name_is_refused(desk, engine):
    desk.policy()
    assert refused(desk, "", engine) == (2, "shoal: the name of the table is empty; name a file\n")
