"""S4.7: boxes made on disk are those made in memory, byte for byte, and verified without a row map."""

import csv
import hashlib
import json
import tempfile
import warnings
from datetime import date
from pathlib import Path

import naive
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from shoal.api.analysis import workload
from shoal.api.releases import anonymize, dry_run, publish, verify
from shoal.engines.duckdb import boxes as storing
from shoal.errors import BadInput, Infeasible, NotVerified
from shoal.policy.document import Policy
from shoal.runtime.tempdir import SPILL

TOWNS = {"town": ["a", "b", "c", "d", "e"], "area": ["n", "n", "s", "s", "s"]}
QUASI = "quasi-identifier"


def policy(k=2, **more):
    towns = [[town, area, "*"] for town, area in zip(*TOWNS.values(), strict=True)]
    attributes = {
        "age": QUASI,
        "born": QUASI,
        "town": {"role": QUASI, "hierarchy": {"rows": towns}},
        "job": QUASI,
        "ill": "sensitive",
        "paid": {"role": "insensitive", "confirm": True},
    }
    given = {
        "attributes": attributes,
        "require": [{"model": "k-anonymity", "k": k}],
        "method": {"algorithm": "mondrian"},
    }
    return Policy.model_validate(given | more)


@st.composite
def people(draw, least=2, most=40):
    """Numbers, dates, texts with and without a hierarchy; nulls and equal rows."""
    rows = draw(st.integers(least, most))
    null = draw(st.sampled_from([0, 0, 3]))

    def column(values):
        given = st.sampled_from([*values, *[None] * null])
        return draw(st.lists(given, min_size=rows, max_size=rows))

    return pa.table(
        {
            "age": pa.array(column([20, 21, 30, 45, 46, 47, 90]), pa.int64()),
            "born": pa.array(column([date(1990, 1, day) for day in (1, 2, 9, 20)]), pa.date32()),
            "town": pa.array(column(TOWNS["town"]), pa.string()),
            "job": pa.array(column([f"job {i}" for i in range(4)]), pa.string()),
            "ill": pa.array(column(["flu", "hiv", "=1"]), pa.string()),
            "paid": pa.array(column([1.5, 2.5]), pa.float64()),
        }
    )


def made(table, folder, asked, engine, kind):
    out = folder / engine
    with warnings.catch_warnings(action="ignore"):
        manifest = publish(table, asked, out, engine=engine, format=kind)
    return (out / f"data.{kind}").read_bytes(), manifest


@pytest.mark.thorough
@naive.examples(40)
@given(people(), st.sampled_from([2, 3, 5]), st.integers(0, 9), st.sampled_from(["csv", "parquet"]))
def test_boxes_on_disk_have_the_bytes_of_boxes_in_memory(table, k, room, kind):
    """S4.7: whatever fits in memory; both releases are true by the verifier of each engine."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patched:
        patched.setattr(storing, "_ROOM", room)
        folder = Path(name)
        (folder / "people").mkdir()
        source = folder / "people" / "people.parquet"
        parquet.write_table(table, source)
        try:
            expected, told = made(source, folder, policy(k), "arrow", kind)
        except Infeasible:
            with pytest.raises(Infeasible):
                made(source, folder, policy(k), "duckdb", kind)
            return
        found, other = made(source, folder, policy(k), "duckdb", kind)
        assert found == expected
        assert other.classes == told.classes
        assert other.metrics.items() <= told.metrics.items()
        assert {"loss", "discernibility"} <= set(other.metrics)
        for original in (source, source.parent):  # a folder is read by DuckDB
            assert all(verdict.holds for verdict in verify(folder / "duckdb", original=original))
        with warnings.catch_warnings(action="ignore"):
            release = anonymize(source, policy(k), engine="duckdb")
        assert release.data.read_all().num_rows == table.num_rows


ROWS = 60


@pytest.fixture
def release(tmp_path):
    """A release on disk as (folder, original)."""
    columns = {
        "age": [20 + i % 30 for i in range(ROWS)],
        "born": [date(1990, 1, 1 + i % 20) for i in range(ROWS)],
        "town": [TOWNS["town"][i % 5] for i in range(ROWS)],
        "job": [None if i % 7 == 0 else f"job {i % 3}" for i in range(ROWS)],
        "ill": [("flu", "hiv", "cold")[i % 3] for i in range(ROWS)],
        "paid": [float(i % 4) for i in range(ROWS)],
    }
    source = tmp_path / "people.parquet"
    parquet.write_table(pa.table(columns), source)
    with warnings.catch_warnings(action="ignore"):
        publish(source, policy(4), tmp_path / "out", engine="duckdb", format="csv")
    return tmp_path / "out", source


def changed(folder, change):
    """Change the rows of a release, and its hash with them."""
    file = folder / "data.csv"
    with file.open(newline="", encoding="utf-8") as lines:
        header, *rows = csv.reader(lines)
    change(rows, header)
    with file.open("w", newline="", encoding="utf-8") as lines:
        csv.writer(lines, lineterminator="\n").writerows([header, *rows])
    for path in (folder, folder.with_name("out.private")):
        manifest = json.loads((path / "manifest.json").read_text("utf-8"))
        manifest["data"]["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
        (path / "manifest.json").write_text(json.dumps(manifest), "utf-8")


def truthful(folder, source):
    return next(verdict for verdict in verify(folder, original=source) if verdict.promise == "truthful")


def test_an_untouched_release_is_truthful(release):
    assert truthful(*release).holds


def move(rows, header):
    """A row shows the box of another."""
    other = next(row for row in rows if row[:4] != rows[0][:4])
    rows[0][:4] = other[:4]


def widen(rows, header):
    """A box shows more than it did: it covers all its rows, but it is no box of the map."""
    box = rows[0][:4]
    for row in rows:
        if row[:4] == box:
            row[:4] = ["*"] * 4


def exchange(rows, header):
    """Two rows of different boxes exchange what is sensitive."""
    at = header.index("ill")
    other = next(row for row in rows if row[:4] != rows[0][:4] and row[at] != rows[0][at])
    rows[0][at], other[at] = other[at], rows[0][at]


def narrow(rows, header):
    """A box shows less than it holds."""
    at = header.index("age")
    box = next(row[:4] for row in rows if row[at].startswith(("[", "<", "≥")))
    for row in rows:
        if row[:4] == box:
            row[at] = "20"


def copy(rows, header):
    rows.append(list(rows[0]))


def drop(rows, header):
    del rows[0]


@pytest.mark.some(2)
@pytest.mark.parametrize("change", [move, widen, exchange, narrow, copy, drop])
def test_tampered_rows(release, change):
    folder, source = release
    changed(folder, change)
    assert not truthful(folder, source).holds


def remapped(folder, change):
    path = folder.with_name("out.private") / "points.parquet"
    table = parquet.read_table(path)
    path.unlink()
    parquet.write_table(change(table), path)
    manifest = path.with_name("manifest.json")
    document = json.loads(manifest.read_text())
    document["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(document))


def test_point_in_two_boxes(release):
    folder, source = release
    remapped(folder, lambda table: pa.concat_tables([table, table.slice(0, 1)]))
    with pytest.raises(NotVerified):
        verify(folder, original=source)


def test_point_left_out(release):
    folder, source = release
    remapped(folder, lambda table: table.slice(1))
    assert "no box" in truthful(folder, source).why


def test_points_in_other_boxes(release):
    folder, source = release
    remapped(folder, lambda table: table.set_column(4, "part", table["part"].take(list(range(len(table)))[::-1])))
    verdict = truthful(folder, source)
    assert not verdict.holds
    assert "not covered" in verdict.why


@pytest.mark.parametrize("name", ["points.parquet", "boxes.parquet"])
def test_map_is_missing(release, name):
    folder, source = release
    (folder.with_name("out.private") / name).unlink()
    with pytest.raises(BadInput, match="there is no such file"):
        verify(folder, original=source)


def test_other_original(release):
    """The original has one more row than was released."""
    folder, source = release
    table = parquet.read_table(source)
    parquet.write_table(pa.concat_tables([table, table.slice(3, 1)]), source)
    assert not truthful(folder, source).holds


def test_a_replaced_release_leaves_no_map_of_points(release):
    """A folder with a map of points is a release that may be replaced, and nothing is left of the old one."""
    folder, source = release
    with warnings.catch_warnings(action="ignore"):
        publish(source, policy(3), folder, engine="arrow", format="csv", force=True)
    assert not (folder.with_name("out.private") / "points.parquet").exists()
    assert truthful(folder, source).holds


def test_dry_run_writes_nothing(release, tmp_path):
    _, source = release
    before = {path for path in tmp_path.iterdir() if not path.name.startswith(SPILL)}
    with warnings.catch_warnings(action="ignore"):
        manifest = dry_run(source, policy(4), engine="duckdb")
    assert manifest.rows.released == ROWS
    assert {path for path in tmp_path.iterdir() if not path.name.startswith(SPILL)} == before


def test_calls_that_need_rows_in_memory_are_refused(release):
    """Who needs rows in memory is told so, and is not given labels for rows."""
    _, source = release
    with warnings.catch_warnings(action="ignore"):
        made_here = anonymize(source, policy(4), engine="duckdb")
    with pytest.raises(BadInput, match="stayed where they are"):
        workload(source, made_here, queries=[{"count": True}])
    with pytest.raises(BadInput, match="no row map"):
        _ = made_here.rows


LACKING = {
    "algorithm 'mondrian-relaxed'": {"method": {"algorithm": "mondrian-relaxed"}},
    "distinct-l-diversity with algorithm 'mondrian'": {
        "require": [
            {"model": "k-anonymity", "k": 2},
            {"model": "distinct-l-diversity", "l": 2, "attribute": "ill"},
        ]
    },
    "ranges = 'observed'": {"release": {"ranges": "observed"}},
    "order = 'keep'": {"release": {"order": "keep"}},
}


@pytest.mark.parametrize("what", list(LACKING))
def test_policies_that_need_rows_in_memory_are_refused(release, tmp_path, what):
    """What needs every row in memory is refused before any work."""
    _, source = release
    with pytest.raises(BadInput, match=what):
        publish(source, policy(**LACKING[what]), tmp_path / "other", engine="duckdb")


def test_forms_with_statistics_are_refused(release, tmp_path):
    _, source = release
    asked = policy()
    age = asked.attributes["age"].model_copy(update={"form": ("range", "mean")})
    asked = asked.model_copy(update={"attributes": {**asked.attributes, "age": age}})
    with pytest.raises(BadInput, match="the form of attribute 'age'"):
        publish(source, asked, tmp_path / "other", engine="duckdb")


def test_row_map_needs_memory(release, tmp_path, monkeypatch):
    """A release with a row map is not verified against rows that stay where they are."""
    _, source = release
    with warnings.catch_warnings(action="ignore"):
        publish(source, policy(4), tmp_path / "mapped", engine="arrow")
    (tmp_path / "many").mkdir()
    parquet.write_table(parquet.read_table(source), tmp_path / "many" / "people.parquet")
    assert all(verdict.holds for verdict in verify(tmp_path / "mapped", original=tmp_path / "many"))
    monkeypatch.setattr("shoal.engines.choice._PER_CELL", 1 << 40)
    with pytest.raises(BadInput, match="row map"):
        verify(tmp_path / "mapped", original=tmp_path / "many")


def test_too_little_memory_is_said_in_a_sentence(tmp_path):
    """DuckDB cannot group so many distinct rows in half of 64 MiB: nothing is written."""
    drawn = np.random.default_rng(0)
    rows = 300_000
    numbers = {f"a{i}": drawn.integers(0, 1000, rows) for i in range(6)}
    texts = [f"{each:030d}" for each in drawn.integers(0, 10**9, rows)]
    parquet.write_table(pa.table(numbers | {"s": texts}), tmp_path / "people.parquet")
    policy = {
        "attributes": dict.fromkeys(numbers, "quasi-identifier") | {"s": "sensitive"},
        "require": [{"model": "k-anonymity", "k": 50}],
        "method": {"algorithm": "mondrian"},
    }
    with pytest.raises(BadInput, match="memory that may be used is not enough"):
        publish(tmp_path / "people.parquet", policy, tmp_path / "out", engine="duckdb", memory="64MiB")
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(SPILL)] == ["people.parquet"]


def test_the_order_of_the_input_leaves_no_trace_in_the_private_folder(tmp_path):
    """Nor does the order in which the threads of a database end: files of the release are in the order of keys."""
    draw = np.random.default_rng(2)
    rows = pa.table({"age": draw.integers(0, 90, 3_000), "zip": draw.integers(0, 500, 3_000)})
    asked = Policy(
        attributes={"age": QUASI, "zip": QUASI},
        require=[{"model": "k-anonymity", "k": 2}],
        method={"algorithm": "mondrian"},
    )
    made = []
    for name, order in (("one", np.arange(3_000)), ("other", draw.permutation(3_000))):
        parquet.write_table(rows.take(pa.array(order)), tmp_path / f"{name}.parquet")
        with warnings.catch_warnings(action="ignore"):
            publish(tmp_path / f"{name}.parquet", asked, tmp_path / name, engine="duckdb", reproducible=True)
        folder = tmp_path / f"{name}.private"
        made.append([(folder / file).read_bytes() for file in ("points.parquet", "boxes.parquet", "classes.parquet")])
    assert made[0] == made[1]
