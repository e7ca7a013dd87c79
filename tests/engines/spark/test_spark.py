"""The engine on a real cluster: the bytes of the Arrow engine, what it lacks, and workers that are killed."""

import datetime as dt
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import tomli_w
from naive import THOROUGH
from pyarrow import parquet
from spark_cluster import kill_worker_during, slowed

import shoal
from shoal import api
from shoal.engine_port import Ability, ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.engines.choice import choose_engine
from shoal.engines.spark import executors
from shoal.engines.spark import groups as grouping
from shoal.engines.spark.engine import SparkEngine
from shoal.errors import BadData, BadInput
from shoal.pipeline import make_release
from shoal.runtime.tempdir import SPILL

CANARY = "CANARY-7f3"

pytestmark = [
    # sockets that pyspark leaves to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:distutils Version classes:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning"),
]


def qi(**hierarchy):
    return {"role": "quasi-identifier", "hierarchy": hierarchy}


def people(rows=3000):
    """Text, numbers, dates, missing cells, cells to be quoted, formulas; the same every time."""
    random = np.random.default_rng(7)
    lines = ["age,zip,born,sex,ill,note,id"]
    for i in range(rows):
        age = "" if random.random() < 0.02 else random.integers(18, 90)
        code = "?" if random.random() < 0.01 else f"0{random.integers(2100, 2140)}"
        day = f"19{random.integers(40, 90)}-{random.integers(1, 13):02d}-{random.integers(1, 29):02d}"
        ill = ("flu", "cold", "hiv", "gout")[random.integers(0, 4)]
        note = ('"a, b"', "=1+1", "", '"say ""hm"""', "x")[random.integers(0, 5)]
        lines.append(f"{age},{code},{day},{'fm'[i % 2]},{ill},{note},{i}")
    return "\n".join(lines) + "\n"


AGE, SEX = qi(intervals=[5, 10, 20]), qi(flat=True)
REST = {"ill": "sensitive", "note": "insensitive", "id": "identifier", "born": "identifier", "zip": "identifier"}
DATA = {"missing": ["", "?"]}
POLICIES = {
    "numbers, suppression": {
        "attributes": {"age": AGE, "sex": SEX, **REST},
        "require": [{"model": "k-anonymity", "k": 5}],
        "method": {"suppression": 0.05},
        "data": DATA,
    },
    "text and dates, a sensitive model": {
        "attributes": {
            **REST,
            "age": "identifier",
            "sex": SEX,
            "zip": qi(mask="right"),
            "born": qi(dates=["year", "decade"]),
        },
        "require": [{"model": "k-anonymity", "k": 4}, {"model": "distinct-l-diversity", "l": 2}],
        "method": {"suppression": 0.1},
        "data": DATA,
    },
    "suppressed rows are shown": {
        "attributes": {"age": AGE, "sex": SEX, **REST, "zip": qi(mask="right")},
        "require": [{"model": "k-anonymity", "k": 20}, {"model": "t-closeness", "t": 0.4}],
        "method": {"suppression": 0.3},
        "release": {"suppressed": "show"},
        "data": DATA,
    },
    "a rounded column": {
        "attributes": {
            **REST,
            "age": {"role": "sensitive", "round": 20, "bottom": 40, "top": 60},
            "sex": SEX,
            "zip": qi(mask="right"),
        },
        "require": [{"model": "k-anonymity", "k": 4}],
        "method": {"suppression": 0.1},
        "data": DATA,
    },
}


def published(source, policy, out, **how):
    manifest = api.publish(source, policy, out, reproducible=True, **how)
    (file,) = out.glob("data.*")
    return file.read_bytes(), manifest


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.csv"
    path.write_text(people(), "utf-8")
    return path


@pytest.mark.parametrize("name", list(POLICIES)[: None if THOROUGH else 1])
def test_it_writes_the_bytes_of_the_arrow_engine(spark, table, name, tmp_path):
    policy = POLICIES[name]
    ours, manifest = published(table, policy, tmp_path / "spark", engine=SparkEngine(spark))
    theirs, expected = published(table, policy, tmp_path / "arrow", engine="arrow")
    assert ours == theirs
    assert manifest.data.sha256 == expected.data.sha256


@pytest.mark.thorough
def test_a_csv_hierarchy_and_a_folder_of_files_with_line_ends_in_cells(spark, tmp_path):
    tree = tmp_path / "town.csv"
    tree.write_text("a;north;*\nb;north;*\nc;south;*\n", "utf-8")
    rows = [f'{"abc"[i % 3]},"{i % 4}\n{i % 2}",{"x" if i % 5 else ""}' for i in range(60)]
    whole = tmp_path / "whole.csv"
    whole.write_text("\n".join(["town,two lines,rest", *rows]) + "\n", "utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    for i, part in enumerate((rows[:25], rows[25:])):
        (folder / f"{i}.csv").write_text("\n".join(["town,two lines,rest", *part]) + "\n", "utf-8")
    policy = {
        "attributes": {"town": qi(csv=str(tree)), "two lines": qi(flat=True), "rest": "sensitive"},
        "require": [{"model": "k-anonymity", "k": 8}],
    }
    ours, _ = published(folder, policy, tmp_path / "spark", engine=SparkEngine(spark))
    theirs, _ = published(whole, policy, tmp_path / "arrow", engine="arrow")
    assert ours == theirs


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """A column of every type that Spark and Arrow share."""
    random = np.random.default_rng(3)
    rows = 400
    noon = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
    table = pa.table(
        {
            "age": pa.array([None if i % 50 == 0 else int(random.integers(20, 60)) for i in range(rows)], pa.uint8()),
            "day": pa.array([dt.date(1980 + i % 3, 1 + i % 12, 1) for i in range(rows)]),
            "sum": pa.array([float(random.integers(0, 3)) - 0.0 if i % 9 else float("nan") for i in range(rows)]),
            "when": pa.array([noon + dt.timedelta(hours=i % 4) for i in range(rows)], pa.timestamp("us", "UTC")),
            "here": pa.array([noon.replace(tzinfo=None)] * rows, pa.timestamp("us")),
            "yes": pa.array([i % 3 == 0 for i in range(rows)]),
            "price.in €": pa.array([i % 2 for i in range(rows)], pa.int64()).cast(pa.decimal128(21, 2)),
        }
    )
    path = tmp_path_factory.mktemp("typed") / "typed [1].parquet"
    parquet.write_table(table, path)
    return path


TYPED = {
    "attributes": {
        "age": qi(intervals=[10, 20]),
        "day": qi(dates=["year"]),
        "yes": qi(flat=True),
        "when": "sensitive",
        **dict.fromkeys(["sum", "here", "price.in €"], "insensitive"),
    },
    "require": [{"model": "k-anonymity", "k": 3}],
    "method": {"suppression": 0.1},
}


@pytest.mark.thorough
def test_every_type_of_a_parquet_file_is_written_alike(spark, typed, tmp_path):
    with pytest.raises(BadData, match="only the arrow engine reads"):  # times with a zone
        published(typed, TYPED, tmp_path / "refused", engine=SparkEngine(spark))
    file = tmp_path / "typed.parquet"
    parquet.write_table(parquet.read_table(typed).drop_columns(["when"]), file)
    policy = TYPED | {"attributes": {name: role for name, role in TYPED["attributes"].items() if name != "when"}}
    ours, _ = published(file, policy, tmp_path / "spark", engine=SparkEngine(spark))
    theirs, _ = published(file, policy, tmp_path / "arrow", engine="arrow")
    assert ours == theirs


@pytest.mark.thorough
def test_a_frame_comes_back_as_a_frame_that_was_verified(spark, typed):
    frame = spark.read.parquet(f"file:{str(typed).replace('[', chr(92) + '[').replace(']', chr(92) + ']')}")
    frame.createOrReplaceTempView("people")
    release = shoal.anonymize(spark.table("people"), TYPED)
    assert release.engine.name == "spark"
    assert type(release.data) is type(frame)
    assert release.data.columns == frame.columns
    kept = {f.name: f.dataType for f in frame.schema if f.name not in {"age", "day", "yes"}}
    assert {f.name: f.dataType for f in release.data.schema if f.name in kept} == kept
    assert all(verdict.holds for verdict in release.verdicts)
    arrow = shoal.anonymize(
        ArrowEngine().read(typed, ReadOptions()) and parquet.read_table(typed), TYPED, engine="arrow"
    )
    seen = [tuple(map(repr, row)) for row in release.data.drop("when").collect()]
    expected = [tuple(map(repr, row.values())) for row in arrow.data.drop_columns("when").to_pylist()]
    # what is missing is null, however the frame that came in wrote it
    assert sorted(seen) == sorted(tuple(cell.replace("nan", "None") for cell in row) for row in expected)


@pytest.mark.thorough
def test_the_executors_really_group(spark, spread_out, table):
    engine = SparkEngine(spark)
    read = engine.read(spread_out, ReadOptions(missing=("", "?")))
    columns = read.table.columns
    sizes = [columns["age"].size, columns["sex"].size]
    keys = grouping.keys_of(columns, ["age", "sex"], grouping.Layout.of(sizes), {})
    for counted in (grouping.count_keys(keys), columns.count_values("age")):
        plan = counted._jdf.queryExecution().executedPlan().toString()
        assert plan.count("HashAggregate") == 2, plan
        assert "Exchange hashpartitioning" in plan, plan
    assert "MapInArrow" in grouping.count_keys(keys)._jdf.queryExecution().executedPlan().toString()
    classes = engine.count(read.table, ["age", "sex"], ["ill"])
    other = ArrowEngine()
    them = other.read(table, ReadOptions(missing=("", "?"))).table
    expected = other.count(them, ["age", "sex"], ["ill"])
    mine, theirs = classes.sort_by_key()[0], expected.sort_by_key()[0]
    assert (mine.keys == theirs.keys).all()
    assert (mine.counts == theirs.counts).all()
    assert (mine.long["ill"].counts == theirs.long["ill"].counts).all()


@pytest.fixture
def spread_out(spark, table):
    """The people as a frame of eight partitions."""
    read = spark.read.option("header", "true").option("escape", '"').csv(f"file:{table}")
    return read.repartition(8).cache()


@pytest.mark.thorough
def test_a_worker_killed_while_it_groups(cluster, spark, spread_out, table, monkeypatch, tmp_path):
    policy = POLICIES["numbers, suppression"]
    expected, _ = published(table, policy, tmp_path / "arrow", engine="arrow")
    monkeypatch.setattr(executors, "keyed", slowed(executors.keyed, 0.7))
    out = tmp_path / "place" / "spark"
    out.parent.mkdir()
    found, _ = kill_worker_during(cluster, spark, lambda: published(spread_out, policy, out))
    assert found == expected
    assert {path.name for path in out.parent.iterdir()} == {"spark", "spark.private"}


@pytest.mark.thorough
def test_a_worker_killed_while_it_writes(cluster, spark, spread_out, monkeypatch, tmp_path):
    frame = make_release(spread_out, POLICIES["numbers, suppression"]).shown.frame
    expected = sorted(map(tuple, frame.data.collect()), key=repr)
    monkeypatch.setattr(executors, "labelled", slowed(executors.labelled, 0.7))
    again, out = replace(frame), tmp_path / "written"
    kill_worker_during(cluster, spark, lambda: again.data.write.parquet(f"file:{out}") or True)
    written = sorted((tuple(row.values()) for row in parquet.read_table(out).to_pylist()), key=repr)
    assert written == expected
    left = {path.name for path in out.rglob("*") if not path.name.startswith((".part", "part", "._SUCCESS"))}
    assert left == {"_SUCCESS"}


EACH = {
    **POLICIES["numbers, suppression"],
    "attributes": {"age": AGE, "sex": SEX, **REST, "id": {"role": "insensitive", "confirm": True}},
    "release": {"suppressed": "show"},
}
"""Every released row differs from all others."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_worker_killed_while_it_sorts_what_is_too_much_for_the_driver(
    cluster, spark, spread_out, table, monkeypatch, tmp_path, kind
):
    expected, _ = published(table, EACH, tmp_path / "arrow", engine="arrow", format=kind)
    monkeypatch.setattr(grouping, "MOST", 1000)
    monkeypatch.setattr(executors, "labelled", slowed(executors.labelled, 0.7))
    out = tmp_path / "place" / "spark"
    out.parent.mkdir()
    found, _ = kill_worker_during(cluster, spark, lambda: published(spread_out, EACH, out, format=kind))
    assert found == expected
    left = {path.name for path in out.parent.iterdir() if not path.name.startswith(SPILL)}
    assert left == {"spark", "spark.private"}


def test_missing_abilities_are_declared_and_refused_in_one_sentence(tmp_path):
    assert SparkEngine.abilities == {Ability.BOXES}
    relaxed = {**POLICIES["numbers, suppression"], "method": {"algorithm": "mondrian-relaxed"}}
    for policy in (relaxed, {**POLICIES["numbers, suppression"], "release": {"order": "keep"}}):
        with pytest.raises(BadInput, match="needs the table in memory: use the arrow engine"):
            shoal.anonymize(tmp_path / "nothing.csv", policy, engine="spark")
    with pytest.raises(BadInput, match="a master is for the spark engine only"):
        choose_engine("arrow", None, "x.csv", master="local")
    with pytest.raises(BadData, match="cannot read standard input"):
        SparkEngine().read("-", ReadOptions())
    with pytest.raises(BadData, match="not this kind of frame"):
        SparkEngine().read(pa.table({"a": [1]}), ReadOptions())


def test_a_bad_row_that_an_executor_meets_is_told_without_its_cells(spark, tmp_path):
    ragged = tmp_path / "ragged.csv"
    ragged.write_text(f"a,b\n1,2\n{CANARY},2,3\n", "utf-8")
    with pytest.raises(BadData, match="row 2") as said:
        SparkEngine(spark).read(ragged, ReadOptions())
    assert CANARY not in str(said.value)


def test_what_goes_wrong_on_an_executor_names_no_cell(spark):
    from pyspark.sql import functions as f

    failing = spark.range(5).select(f.raise_error(f.lit(CANARY)).alias("a"))
    with pytest.raises(BadData, match="Spark could not finish") as said:
        SparkEngine().read(failing, ReadOptions())
    assert CANARY not in str(said.value)


@pytest.mark.slow
def test_the_command_line_at_a_master(cluster, spark, table, process, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(tomli_w.dumps(POLICIES["numbers, suppression"]), "utf-8")
    out = tmp_path / "out"
    given = ["anonymize", table, "--policy", policy, "--out", out, "--engine", "spark", "--master", cluster.master]
    said, wrong = (running := process(*given, "--json")).communicate(timeout=300)
    assert (running.returncode, wrong) == (0, "")
    assert json.loads(said)["data"]["file"] == "data.csv"
    assert {path.name for path in tmp_path.iterdir()} == {"policy.toml", "out", "out.private"}
    theirs, _ = published(table, POLICIES["numbers, suppression"], tmp_path / "arrow", engine="arrow")
    assert (out / "data.csv").read_bytes() == theirs
