"""Odd files: both engines read the same cells of them, write the same release, or say the same sentence."""

import datetime as dt
import gc
import gzip
import struct
import warnings
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.api.releases import publish, verify
from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.engines.duckdb.engine import DuckDBEngine
from shoal.errors import BadData

ENGINES = (ArrowEngine, DuckDBEngine)


def cells(engine, path, options):
    """Every value of every column, and how many rows hold it."""
    table = engine().read(path, options).table
    return {
        name: dict(zip(column.texts.to_pylist(), column.counts.tolist(), strict=False))
        for name, column in table.columns.items()
    }


def same_cells(path, **how):
    with warnings.catch_warnings(action="ignore"):
        first, second = (cells(engine, path, ReadOptions(**how)) for engine in ENGINES)
    assert first == second
    return first


def same_sentence(path, **how):
    said = []
    for engine in ENGINES:
        with warnings.catch_warnings(action="ignore"), pytest.raises(BadData) as refused:
            cells(engine, path, ReadOptions(**how))
        said.append(str(refused.value))
    assert said[0] == said[1]
    return said[0]


def test_a_mark_before_the_first_cell_is_part_of_it(tmp_path):
    for start in (b"", b"\xef\xbb\xbf"):
        (tmp_path / "a.csv").write_bytes(start + "a,b\n\ufeff1,2\n3,4\n".encode())
        assert same_cells(tmp_path / "a.csv") == {"a": {"\ufeff1": 1, "3": 1}, "b": {"2": 1, "4": 1}}


def test_a_blank_before_a_quote(tmp_path):
    (tmp_path / "a.csv").write_text('a, "b"\nx, "q"\n"y",z\nx,  "q"\n')
    assert same_cells(tmp_path / "a.csv") == {"a": {"x": 2, "y": 1}, ' "b"': {' "q"': 1, '  "q"': 1, "z": 1}}
    (tmp_path / "a.csv").write_text('a,b\nx,1\nx, "q,r"\n')
    assert same_sentence(tmp_path / "a.csv") == "a.csv: row 2 (line 3): expected 2 fields as in the header, got 3"


@pytest.mark.parametrize(
    ("encoding", "given"), [("cp1252", True), ("cp1252", False), ("utf-16", False), ("utf-16-le", True)]
)
def test_other_encodings(tmp_path, encoding, given):
    (tmp_path / "a.csv").write_bytes("größe;b\n1,5;5 €\n2,5;x\n".encode(encoding))
    how = {"encoding": encoding} if given else {"guess_encoding": True}
    assert same_cells(tmp_path / "a.csv", **how) == {"größe": {"1,5": 1, "2,5": 1}, "b": {"5 €": 1, "x": 1}}


def test_bytes_that_are_not_of_the_encoding(tmp_path):
    (tmp_path / "a.csv").write_bytes(
        b"a,b\n" + b"x,1\n" * 600_000 + b"\x81,2\n"
    )  # beyond the first step of the decoder
    said = same_sentence(tmp_path / "a.csv", encoding="cp1252")
    assert said.startswith(f"a.csv: byte offset {4 + 4 * 600_000} is not cp1252")


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_packed_files(tmp_path, packing):
    (tmp_path / "many").mkdir()
    for i, text in enumerate(("a,b\nä,1\n", "a,b\nä,2\n")):
        with pa.output_stream(tmp_path / "many" / f"{i}.csv.{packing}", compression=packing) as stream:
            stream.write(text.encode("latin-1"))
    assert same_cells(tmp_path / "many", encoding="latin-1") == {"a": {"ä": 2}, "b": {"1": 1, "2": 1}}
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 999)[:-9])
    assert same_sentence(tmp_path / "cut.csv.gz").startswith("cut.csv.gz: this is not a gzip file, or it is damaged")


@pytest.mark.parametrize("text", ["a,b\n1,2\r\n3,4\n", "a,b\r\n1,2\n3,4\r\n", "a,b\n1,2\r3,4\n"])
def test_line_ends_of_several_kinds(tmp_path, text):
    (tmp_path / "a.csv").write_bytes(text.encode())
    assert same_cells(tmp_path / "a.csv") == {"a": {"1": 1, "3": 1}, "b": {"2": 1, "4": 1}}


def test_files_with_other_line_ends(tmp_path):
    (tmp_path / "many").mkdir()
    for i, end in enumerate(("\n", "\r\n")):
        (tmp_path / "many" / f"{i}.csv").write_bytes(f"a,b{end}1,{i}{end}".encode())
    assert same_cells(tmp_path / "many") == {"a": {"1": 2}, "b": {"0": 1, "1": 1}}


def test_one_column_and_lines_before_the_header(tmp_path):
    (tmp_path / "one.csv").write_text("a\n1\n\n2\n\n")
    assert same_cells(tmp_path / "one.csv") == {"a": {"1": 1, "2": 1}}
    (tmp_path / "titled.csv").write_text('A "report\n\na,b\n1,2\n')
    assert same_cells(tmp_path / "titled.csv", header_row=3) == {"a": {"1": 1}, "b": {"2": 1}}


def test_a_cell_longer_than_a_block(tmp_path):
    (tmp_path / "a.csv").write_text(f'a,b\nx, "q"\ny,{"z" * (9 << 20)}\n')
    assert sorted(map(len, same_cells(tmp_path / "a.csv")["b"])) == [4, 9 << 20]


POLICY = {
    "attributes": {"a": {"role": "quasi-identifier", "confirm": True}, "b": {"role": "sensitive"}},
    "require": [{"model": "k-anonymity", "k": 2}],
}


def same_release(tmp_path, source, policy=POLICY, **how):
    """Publish with both engines; return the bytes of the table, which are the same."""
    found = []
    for engine in ("arrow", "duckdb"):
        with warnings.catch_warnings(action="ignore"):
            publish(source, policy, tmp_path / engine, engine=engine, **how)
            assert all(verdict.holds for verdict in verify(tmp_path / engine, original=source))
        (file,) = (tmp_path / engine).glob("data.*")
        found.append(file.read_bytes())
    assert found[0] == found[1]
    return found[0]


def test_releases_of_texts_that_are_copied_first(tmp_path):
    (tmp_path / "a.csv").write_bytes('a;b\n1;5 €\n1; "x"\n2;y\n2;z\n'.encode("cp1252"))
    policy = {**POLICY, "data": {"encoding": "cp1252"}}
    released = same_release(tmp_path, tmp_path / "a.csv", policy).decode()
    assert "5 €" in released
    gc.collect()
    assert not list(tmp_path.glob(".shoal*"))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_integers_beyond_2_to_the_63_in_a_folder(tmp_path, form):
    (tmp_path / "many").mkdir()
    numbers = [2**64 - 1, 2**64 - 1, 2**63, 2**63, 5, 5]
    for i in range(2):
        table = pa.table({"a": pa.array(numbers, pa.uint64()), "b": pa.array([*numbers[1:], 7 + i], pa.uint64())})
        parquet.write_table(table, tmp_path / "many" / f"{i}.parquet")
    assert same_cells(tmp_path / "many")["a"] == {"5": 4, str(2**63): 4, str(2**64 - 1): 4}
    same_release(tmp_path, tmp_path / "many", format=form)
    ranges = {**POLICY, "method": {"algorithm": "mondrian"}}
    (tmp_path / "boxes").mkdir()
    same_release(tmp_path / "boxes", tmp_path / "many", ranges)


def old(path, moments):
    """Write timestamps in the old form of 96 bits."""
    parquet.write_table(pa.table({"a": moments}), path, use_deprecated_int96_timestamps=True)
    return path


def test_old_timestamps_are_exact(tmp_path):
    moments = [dt.datetime(1500, 1, 1, 0, 0, 0, 7), dt.datetime(2500, 1, 1, 12), None, dt.datetime(2024, 2, 29)]  # noqa: DTZ001
    path = old(tmp_path / "a.parquet", pa.array(moments, pa.timestamp("us")))
    assert list(same_cells(path)["a"]) == [
        "1500-01-01 00:00:00.000007",
        "2024-02-29 00:00:00.000000",
        "2500-01-01 12:00:00.000000",
    ]


def test_old_timestamps_finer_than_a_microsecond(tmp_path):
    path = old(tmp_path / "a.parquet", pa.array([1_000, None, 10**9 + 1], pa.timestamp("ns")))
    assert same_sentence(path) == (
        "a.parquet: column 'a', row 3: a timestamp (INT96) is finer than a microsecond; write the column as timestamps "
        "of 64 bits, or as text"
    )


BEYOND = (
    "the year of a date or timestamp is beyond 32,767, after or before our era; correct it, or turn the column into "
    "text"
)


def test_old_timestamps_beyond_all_calendars(tmp_path):
    path = old(tmp_path / "a.parquet", pa.array([0, 86_400 * 10**9], pa.timestamp("ns")))
    raw = path.read_bytes()
    day = struct.pack("<qI", 0, 2_440_588 + 1)  # nanoseconds of the day, and the day from noon of 4713 before our era
    assert raw.count(day) >= 1
    path.write_bytes(raw.replace(day, struct.pack("<qI", 0, 2**32 - 1)))
    assert same_sentence(path) == f"a.parquet: column 'a', row 2: {BEYOND}"


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize(
    ("number", "of"),
    [
        (2**63 - 1, pa.timestamp("us")),
        (-(2**63) + 1, pa.timestamp("us")),
        (2**63 - 1, pa.timestamp("ms")),
        (2**40, pa.timestamp("s")),
        (2**31 - 1, pa.date32()),
        (-(2**31), pa.date32()),
    ],
)
def test_moments_beyond_all_calendars(tmp_path, number, of, statistics):
    for name in ("a.parquet", "many/0.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        table = pa.table({"b": [1, 2, 3], "a": pa.array([0, None, number], of)})
        parquet.write_table(table, tmp_path / name, write_statistics=statistics)
    assert same_sentence(tmp_path / "a.parquet") == f"a.parquet: column 'a', row 3: {BEYOND}"
    assert same_sentence(tmp_path / "many").endswith(f"column 'a', row 3: {BEYOND}")


def test_moments_at_the_ends_of_the_calendar(tmp_path):
    days = [int(np.datetime64(day, "D").astype(np.int64)) for day in ("-32767-01-01", "32767-12-31")]
    for of, unit in ((pa.date32(), 1), (pa.timestamp("us"), 86_400 * 10**6), (pa.timestamp("s"), 86_400)):
        parquet.write_table(pa.table({"a": pa.array([day * unit for day in days], of)}), tmp_path / "a.parquet")
        assert {text[:12].strip("- ") for text in same_cells(tmp_path / "a.parquet")["a"]} == {
            "32767-01-01",
            "32767-12-31",
        }


def test_infinite_timestamps_of_a_database_are_refused(tmp_path):
    with duckdb.connect(str(tmp_path / "a.duckdb")) as db:
        db.execute("CREATE TABLE t AS SELECT unnest([TIMESTAMP '2000-01-01', 'infinity'::TIMESTAMP]) AS a")
    assert same_sentence(tmp_path / "a.duckdb") == f"a.duckdb: column 'a', row 2: {BEYOND}"


def test_nan_is_null_in_files(tmp_path):
    table = pa.table({"a": pa.array([float("nan"), None, 1.5]), "b": pa.array([Decimal("1.5"), None, None])})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert same_cells(tmp_path / "a.parquet") == {"a": {"1.5": 1}, "b": {"1.5": 1}}
