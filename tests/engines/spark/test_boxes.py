"""S4.7: boxes made on a cluster are those made in memory, byte for byte, whatever dies on the way."""

import datetime as dt
import tempfile
from pathlib import Path

import naive
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from spark_cluster import kill_worker_during, slowed

import shoal
from shoal import api
from shoal.engines.spark import boxes as boxing
from shoal.engines.spark import executor_cuts as cutting
from shoal.engines.spark import executors
from shoal.engines.spark.engine import SparkEngine
from shoal.errors import BadInput, Infeasible
from shoal.runtime.tempdir import SPILL

pytestmark = [
    # sockets that pyspark leaves to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:distutils Version classes:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning"),
]

TOWNS = [["a", "n", "*"], ["b", "n", "*"], ["c", "s", "*"], ["d", "s", "*"], ["e", "s", "*"]]
QUASI = "quasi-identifier"


def policy(k=3):
    return {
        "attributes": {
            "age": QUASI,
            "born": QUASI,
            "town": {"role": QUASI, "hierarchy": {"rows": TOWNS}},
            "job": QUASI,
            "ill": "sensitive",
            "paid": {"role": "insensitive", "confirm": True},
        },
        "require": [{"model": "k-anonymity", "k": k}],
        "method": {"algorithm": "mondrian"},
    }


def people(rows, seed=1, missing=0.0, ages=70):
    """Numbers, dates, texts with and without a hierarchy; nulls and equal rows."""
    draw = np.random.default_rng(seed)

    def some(values, of=None, missing=missing):
        at, gone = draw.integers(0, len(values), rows).tolist(), (draw.random(rows) < missing).tolist()
        return pa.array([None if out else values[i] for i, out in zip(at, gone, strict=True)], of)

    return pa.table(
        {
            "age": some(list(range(18, 18 + ages)), pa.int64()),
            "born": some([dt.date(1990, 1, day) for day in range(1, 29)], pa.date32()),
            "town": some([town for town, *_ in TOWNS]),
            "job": some([f"job {i}" for i in range(7)], missing=0.05),
            "ill": some(["flu", "hiv", "=1"], missing=0.05),
            "paid": some([1.5, 2.5]),
        }
    )


def written(folder, table):
    path = folder / "people.parquet"
    parquet.write_table(table, path)
    return path


def made(source, asked, out, **how):
    manifest = api.publish(source, asked, out, reproducible=True, **how)
    (file,) = out.glob("data.*")
    return file.read_bytes(), manifest


@pytest.fixture
def levels(monkeypatch):
    """How many parts each job counted."""
    told, split = [], boxing._ClusterItems.split
    monkeypatch.setattr(boxing._ClusterItems, "split", lambda self, tops: told.append(len(tops)) or split(self, tops))
    return told


@pytest.mark.thorough
def test_boxes_of_a_file_and_a_frame_have_the_bytes_of_other_engines(spark, tmp_path, monkeypatch, levels):
    """The bytes of all three engines, verified against the original by DuckDB and by Spark's own SQL."""
    monkeypatch.setattr(boxing, "_ROOM", 250)
    source = written(tmp_path, people(700))
    expected, told = made(source, policy(), tmp_path / "arrow", engine="arrow", format="csv")
    assert made(source, policy(), tmp_path / "duckdb", engine="duckdb", format="csv")[0] == expected
    found, manifest = made(source, policy(), tmp_path / "spark", engine=SparkEngine(spark), format="csv")
    assert found == expected
    assert manifest.classes == told.classes
    assert levels == [1, 1, 2], "all parts of a level are counted together"
    private = tmp_path / "spark.private"
    assert {"points.parquet", "boxes.parquet"} <= {path.name for path in private.iterdir()}
    assert all(verdict.holds for verdict in shoal.verify(tmp_path / "spark", original=source))
    release = shoal.anonymize(spark.read.parquet(f"file:{source}"), policy())
    assert all(verdict.holds for verdict in release.verdicts)
    assert release.data.count() == 700
    shown = {tuple(row) for row in release.data.select("age", "born", "town", "job").distinct().collect()}
    assert len(shown) == told.classes.count


@pytest.mark.thorough
def test_attributes_in_a_drawn_order(spark, tmp_path):
    """The map of points is in the order of the names, whatever order decides ties."""
    source, asked = written(tmp_path, people(300)), policy()
    asked["method"] = {**asked["method"], "ties": "random", "seed": 8}
    expected, _ = made(source, asked, tmp_path / "arrow", engine="arrow", format="csv")
    for name, engine in {"duckdb": "duckdb", "spark": SparkEngine(spark)}.items():
        assert made(source, asked, tmp_path / name, engine=engine, format="csv")[0] == expected
        assert all(verdict.holds for verdict in shoal.verify(tmp_path / name, original=source))


@pytest.mark.thorough
def test_executors_without_this_shoal_are_refused_before_any_work(spark, tmp_path, monkeypatch, levels):
    source = written(tmp_path, people(50))
    monkeypatch.setattr(boxing, "_VERSION", "another")
    with pytest.raises(BadInput, match="install the same version there"):
        shoal.anonymize(source, policy(), engine=SparkEngine(spark))
    assert not levels

    def run(batches):
        """What an executor says that has no Shoal and is sent something of it."""
        raise ModuleNotFoundError("No module named 'shoal'")

    monkeypatch.setattr(executors, "version", lambda: run)
    with pytest.raises(BadInput, match="install the same version there"):
        shoal.anonymize(source, policy(), engine=SparkEngine(spark))


@pytest.mark.slow
@naive.examples(4)
@given(
    seed=st.integers(0, 1000),
    rows=st.integers(2, 60),
    missing=st.sampled_from([0.0, 0.3]),
    k=st.sampled_from([2, 3, 5]),
    room=st.integers(0, 20),
    kind=st.sampled_from(["csv", "parquet"]),
)
def test_small_tables_have_the_bytes_of_the_arrow_engine(spark, seed, rows, missing, k, room, kind):
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patched:
        patched.setattr(boxing, "_ROOM", room)
        folder = Path(name)
        source = written(folder, people(rows, seed, missing, ages=6))
        try:
            expected, _ = made(source, policy(k), folder / "arrow", engine="arrow", format=kind)
        except Infeasible:
            with pytest.raises(Infeasible):
                made(source, policy(k), folder / "spark", engine=SparkEngine(spark), format=kind)
            return
        assert made(source, policy(k), folder / "spark", engine=SparkEngine(spark), format=kind)[0] == expected


@pytest.mark.slow
@pytest.mark.parametrize("at", ["counted", "finished"])
def test_a_worker_killed_in_the_middle(cluster, spark, tmp_path, monkeypatch, at):
    source = written(tmp_path, people(1600))
    expected, _ = made(source, policy(), tmp_path / "arrow", engine="arrow")
    monkeypatch.setattr(boxing, "_ROOM", 800)
    monkeypatch.setattr(boxing, "_PER_TASK", 200)
    monkeypatch.setattr(cutting, at, slowed(getattr(cutting, at), 0.7))
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "8")
    out = tmp_path / "place" / "spark"
    out.parent.mkdir()
    try:
        found, _ = kill_worker_during(cluster, spark, lambda: made(source, policy(), out, engine=SparkEngine(spark)))
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
    assert found == expected
    left = {path.name for path in out.parent.iterdir() if not path.name.startswith(SPILL)}
    assert left == {"spark", "spark.private"}


@pytest.mark.slow
def test_more_points_than_the_driver_takes_at_once(spark, tmp_path):
    """What one job may bring to the driver here is less than all distinct rows need, and more than one part."""
    rows = 300_000
    table = people(rows, ages=5000).set_column(5, "paid", pa.array(np.arange(rows) % 1000))
    source = written(tmp_path, table)
    expected, _ = made(source, policy(50), tmp_path / "arrow", engine="arrow")
    found, _ = made(source, policy(50), tmp_path / "spark", engine=SparkEngine(spark))
    assert found == expected
