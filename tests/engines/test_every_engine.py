"""One suite over all engines: for every policy the same bytes, the same manifests; what one lacks it declares."""

import datetime as dt
import json
import warnings
from decimal import Decimal

import naive
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.data import on_disk as spilled
from shoal.data.on_disk import Spilled
from shoal.engine_port import Ability, ReadOptions
from shoal.engines import row_stream as streams
from shoal.engines import table_writer as writing
from shoal.engines.arrow import ArrowEngine
from shoal.engines.duckdb import groups as dictionaries
from shoal.engines.duckdb import groups as grouping
from shoal.engines.duckdb.engine import DuckDBEngine
from shoal.engines.spark.engine import SparkEngine
from shoal.errors import BadInput, ShoalError
from shoal.pipeline import make_release
from shoal.publish.data_files import NO_ROW_MAP

ENGINES = {"arrow": ArrowEngine, "duckdb": lambda: DuckDBEngine("256MB"), "spark": SparkEngine}
"""Every engine there is; another one joins here."""
ON_A_CLUSTER = [
    pytest.mark.slow,
    # sockets that pyspark leaves to the garbage collector, and what it takes from Python's attic
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:distutils Version classes:DeprecationWarning"),
]
OTHERS = ["duckdb", pytest.param("spark", marks=ON_A_CLUSTER)]
K = [{"model": "k-anonymity", "k": 3}]


@pytest.fixture(params=OTHERS)
def engine(request):
    if request.param == "spark":
        request.getfixturevalue("spark")  # the session that is used then
    return ENGINES[request.param]()


def table(rows=400, seed=0):
    """Columns of every sort, nulls among them."""
    rng = np.random.default_rng(seed)

    def some(values, missing=0.0):
        drawn = rng.integers(0, len(values), rows)
        gone = rng.random(rows) < missing
        return [None if out else values[at] for at, out in zip(drawn.tolist(), gone.tolist(), strict=True)]

    days = [dt.date(1950, 1, 1) + dt.timedelta(days=37 * i) for i in range(60)]
    return pa.table(
        {
            "id": pa.array([f"p{i}" for i in range(rows)]),
            "age": pa.array(some(list(range(18, 60)), 0.05), pa.int64()),
            "zip": pa.array(some(["02138", "02139", "02141", "10001", "10002"], 0.03)),
            "born": pa.array(some(days), pa.date32()),
            "sex": pa.array(some(["f", "m"])),
            "job": pa.array(some(["nurse", "clerk", "baker", "=cook", 'a "quoted" one', "with, comma"], 0.1)),
            "pay": pa.array(some([Decimal("10.50"), Decimal("20.00"), Decimal("-3.25")], 0.1)),
            "ill": pa.array(some(["flu", "cold", "hiv", "tbc"], 0.05)),
            "seen": pa.array(some([dt.datetime(2020, 1, 1, 12), dt.datetime(2021, 5, 5)])),  # noqa: DTZ001
            "rate": pa.array(some([0.5, 1.25, float("nan"), -0.0, 0.0, 1e-7])),
            "yes": pa.array(some([True, False])),
        }
    )


TREE = {"person": {"paid": ["nurse", "clerk", "baker"], "odd": ["=cook", 'a "quoted" one', "with, comma"]}}
ROLES = {
    "id": "identifier",
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 20]}},
    "zip": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}},
    "sex": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
    "ill": "sensitive",
}
OTHER_ROLES = {
    "age": {"role": "quasi-identifier"},
    "born": {"role": "quasi-identifier", "hierarchy": {"dates": ["year", "decade"]}},
    "job": {"role": "quasi-identifier", "hierarchy": {"tree": TREE}},
    "ill": "sensitive",
    "pay": "insensitive",
    "seen": "insensitive",
    "rate": "insensitive",
    "yes": "insensitive",
}
SENSITIVE = [
    {"model": "distinct-l-diversity", "l": 2},
    {"model": "t-closeness", "t": 0.4},
    {"model": "entropy-l-diversity", "l": 1.5},
    {"model": "recursive-cl-diversity", "l": 2, "c": 3.0},
    {"model": "alpha-k", "alpha": 0.8, "k": 2},
    {"model": "p-sensitive", "p": 2},
    {"model": "beta-likeness", "beta": 3.0},
    {"model": "delta-disclosure", "delta": 3.0},
    {"model": "average-risk", "max": 0.3},
]


def released(folder, name, data, policy, engine, **how):
    """Both manifests and the bytes of a release."""
    out = folder / name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        manifest = make_release(data, policy, engine=engine).save(out, reproducible=True, force=True, **how).document()
        manifest.pop("recommendation")  # attacks that need every row are left to `audit` where rows are not in memory
        manifest.pop("files")  # nor is there a row map, then
    manifest["warnings"] = [note for note in manifest["warnings"] if note != NO_ROW_MAP]
    public = json.loads((out / "manifest.json").read_text())
    (file,) = out.glob("data.*")
    return file.read_bytes(), manifest, public


def told(folder, name, data, policy, engine):
    """What a release is, or the sentence for why there is none."""
    try:
        return released(folder, name, data, policy, engine)
    except ShoalError as wrong:
        return type(wrong), str(wrong)


def same(folder, data, policy, engine, **how):
    first = released(folder, "arrow", data, policy, ArrowEngine(), **how)
    second = released(folder, engine.name, data, policy, engine, **how)
    assert first[0] == second[0]
    assert first[1] == second[1]
    assert first[2] == second[2]
    return second


def written(folder, rows, kind):
    path = folder / f"people.{kind}"
    if kind == "csv":
        pc.write_csv(rows, path)
    else:
        pq.write_table(rows, path, row_group_size=97)
    return str(path)


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("algorithm", ["datafly", "samarati", "incognito", "hybrid", "greedy", "optimal"])
def test_every_search_writes_the_same_bytes(tmp_path, engine, kind, algorithm):
    policy = {
        "attributes": ROLES,
        "data": {"others": "drop"},
        "require": K,
        "method": {"algorithm": algorithm, "suppression": 0.05},
    }
    same(tmp_path, written(tmp_path, table(), kind), policy, engine)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_columns_of_every_sort(tmp_path, engine, kind, to):
    policy = {
        "attributes": OTHER_ROLES,
        "data": {"others": "drop", "missing": ["", "tbc"]},
        "require": K,
        "method": {"suppression": 0.3},
    }
    same(tmp_path, written(tmp_path, table(), kind), policy, engine, format=to)


@pytest.mark.covering(1)
@pytest.mark.parametrize("model", SENSITIVE, ids=lambda model: model["model"])
@pytest.mark.parametrize("suppressed", ["drop", "show"])
def test_models_of_sensitive_values(tmp_path, engine, model, suppressed):
    policy = {
        "attributes": ROLES,
        "data": {"others": "drop"},
        "require": [*K, model],
        "method": {"suppression": 0.4},
        "release": {"suppressed": suppressed},
    }
    data = written(tmp_path, table(), "parquet")
    assert told(tmp_path, engine.name, data, policy, engine) == told(tmp_path, "arrow", data, policy, ArrowEngine())


@pytest.mark.parametrize("suppress", ["tuple", "attribute"])
def test_suppression_alone(tmp_path, engine, suppress):
    roles = {name: ROLES[name] for name in ("id", "sex", "ill")} | {"zip": "quasi-identifier"}
    policy = {
        "attributes": roles,
        "data": {"others": "drop"},
        "require": K,
        "method": {"generalise": "none", "suppress": suppress} | ({"suppression": 0.5} if suppress == "tuple" else {}),
    }
    same(tmp_path, written(tmp_path, table(), "csv"), policy, engine)


def test_metrics_over_sensitive_values_and_hierarchies_in_files(tmp_path, engine):
    lines = ["age;ten;*", *(f"{age};{age // 10}x;*" for age in range(10, 70))]
    (tmp_path / "age.csv").write_text("\n".join(lines[1:]) + "\n")
    attributes = ROLES | {"age": {"role": "quasi-identifier", "hierarchy": {"csv": str(tmp_path / "age.csv")}}}
    policy = {
        "attributes": attributes,
        "data": {"others": "drop"},
        "require": [*K, {"model": "distinct-l-diversity", "l": 2}],
        "method": {"metric": "alpha-max", "suppression": 0.1},
    }
    same(tmp_path, written(tmp_path, table(), "csv"), policy, engine)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_of_many_dialects(tmp_path, engine, end, delimiter):
    head, *rows = ["zip,note", '02138,"a ""b"" c"', "02138,'x", "02139,", "?, y", '02139,"two\nlines"', '"?",#z']
    text = end.join(line.replace(",", delimiter) for line in (head, *rows * 5)) + end
    (tmp_path / "people.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    policy = {
        "attributes": {"zip": "quasi-identifier", "note": "sensitive"},
        "data": {"missing": ["?"]},
        "require": [{"model": "k-anonymity", "k": 2}],
    }
    same(tmp_path, str(tmp_path / "people.csv"), policy, engine)


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_boxes_of_an_engine_are_those_of_memory(tmp_path, engine, to):
    """Manifests differ: measures of every point are left out, and there is no row map."""
    assert Ability.BOXES in engine.abilities
    policy = {
        "attributes": OTHER_ROLES | {"zip": "quasi-identifier", "sex": "quasi-identifier"},
        "data": {"others": "drop"},
        "require": K,
        "method": {"algorithm": "mondrian"},
    }
    data = written(tmp_path, table(), "csv")
    first, _, public = released(tmp_path, "arrow", data, policy, ArrowEngine(), format=to)
    second, _, other = released(tmp_path, engine.name, data, policy, engine, format=to)
    assert first == second
    assert other["classes"] == public["classes"]
    assert all(verdict.holds for verdict in shoal.verify(tmp_path / engine.name, original=data))


CELLS = st.sampled_from(["", "1", "2", "10", "02", "-1", "1.5", "a", "b c", "*", "=a", "?", "1,5", "é", '"', "a;b"])


@pytest.mark.thorough
@naive.examples(25, fixtures=True)
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), min_size=4, max_size=30),
    kind=st.sampled_from(["csv", "parquet"]),
)
@pytest.mark.parametrize("name", OTHERS)
def test_small_tables_give_the_same_release(request, tmp_path_factory, name, rows, kind):
    if name == "spark":
        request.getfixturevalue("spark")
    tmp_path = tmp_path_factory.mktemp("engines")
    columns = {title: pa.array([row[i] for row in rows]) for i, title in enumerate(("a", "b", "s", "o"))}
    data = written(tmp_path, pa.table(columns), kind)
    policy = {
        "attributes": {
            "a": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
            "b": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}},
            "s": "sensitive",
            "o": {"role": "insensitive", "confirm": True},
        },
        "data": {"missing": ["", "?"]},
        "require": [{"model": "k-anonymity", "k": 2}, {"model": "distinct-l-diversity", "l": 2}],
        "method": {"suppression": 0.5},
    }
    assert told(tmp_path, name, data, policy, ENGINES[name]()) == told(tmp_path, "arrow", data, policy, ArrowEngine())


LACKING = {
    "algorithm 'mondrian-relaxed'": {"method": {"algorithm": "mondrian-relaxed"}},
    "algorithm 'local'": {"method": {"generalise": "cell"}},
    "'unit'": {"attributes": ROLES | {"id": "unit"}},
    "order = 'keep'": {"release": {"order": "keep"}},
    "population": {"require": [{"model": "k-map", "k": 2, "population": "everybody.csv"}]},
}
NEEDS = {
    "algorithm 'mondrian-relaxed'": Ability.CELLS,
    "algorithm 'local'": Ability.CELLS,
    "'unit'": Ability.PERSONS,
    "order = 'keep'": Ability.ORDER,
    "population": Ability.POPULATION,
}


@pytest.mark.parametrize("what", list(LACKING))
def test_what_an_engine_lacks_is_said_before_any_work(tmp_path, engine, what):
    policy = {"attributes": ROLES, "data": {"others": "drop"}, "require": K} | LACKING[what]
    missing = str(tmp_path / "there is no such file.csv")
    if NEEDS[what] in engine.abilities:
        pytest.fail("an ability that is tested nowhere: add it to the suite")
    with pytest.raises(BadInput, match=rf"{what}.* needs the table in memory: use the arrow engine"):
        make_release(missing, policy, engine=engine)


@pytest.mark.covering(1)
@pytest.mark.parametrize("suppressed", ["drop", "show"])
@pytest.mark.parametrize("algorithm", ["datafly", "optimal"])
def test_classes_that_do_not_fit_are_spilled(tmp_path, monkeypatch, algorithm, suppressed):
    policy = {
        "attributes": ROLES | {"born": OTHER_ROLES["born"]},
        "data": {"others": "drop"},
        "require": [*K, {"model": "distinct-l-diversity", "l": 2}],
        "method": {"algorithm": algorithm, "suppression": 0.3},
        "release": {"suppressed": suppressed},
    }
    data = written(tmp_path, table(600), "parquet")
    whole = released(tmp_path, "whole", data, policy, DuckDBEngine("256MB"))
    monkeypatch.setattr(grouping, "listable", lambda *_: 150)
    monkeypatch.setattr(spilled, "_CHUNK", 40)
    release = make_release(data, policy, engine=DuckDBEngine("256MB"))
    assert isinstance(release.plan.before.classes, Spilled)
    content, manifest, _ = released(tmp_path, "spilled", data, policy, DuckDBEngine("256MB"))
    assert content == whole[0]
    assert manifest["recoding"] == whole[1]["recoding"]
    assert manifest["rows"] == whole[1]["rows"]
    assert manifest["method"]["score"] == whole[1]["method"]["score"]
    assert not manifest["measures"]
    assert any("measures" in note for note in manifest["warnings"])


NOTES = ["=run", "'=run", "-5", "+a", "a,b", 'say "so"', "two\nlines", "", "?", "é", "a;b", "plain", "'"]


@pytest.mark.parametrize("to", ["csv", "parquet"])
@pytest.mark.parametrize("suppressed", ["drop", "show"])
def test_texts_that_are_too_many_to_be_collected(tmp_path, monkeypatch, suppressed, to):
    monkeypatch.setattr(dictionaries, "MOST", 60)
    monkeypatch.setattr(writing, "ROW_GROUP", 64)
    monkeypatch.setattr(streams, "ROW_GROUP", 64)
    rows = table()
    notes = [NOTES[at % len(NOTES)] if at % 3 else f"note {at}" for at in range(rows.num_rows)]
    rows = rows.append_column("note", pa.array(notes))
    policy = {
        "attributes": ROLES
        | {"note": {"role": "insensitive", "confirm": True}, "yes": "insensitive", "job": "insensitive"},
        "data": {"others": "drop", "missing": ["NA", "?"]},
        "require": [*K, {"model": "distinct-l-diversity", "l": 2}],
        "method": {"suppression": 0.05},
        "release": {"suppressed": suppressed},
    }
    data = written(tmp_path, rows, "parquet")
    same(tmp_path, data, policy, DuckDBEngine("256MB"), format=to)
    release = make_release(data, policy, engine=DuckDBEngine("256MB"))
    assert release.shown.stream is not None
    assert all(verdict.holds for verdict in release.verdicts)
    assert release.data.read_all().num_rows == release.summary.rows.released + release.summary.rows.shown


def test_a_quasi_identifier_of_too_many_values_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(dictionaries, "MOST", 3)
    policy = {"attributes": {"zip": "quasi-identifier"}, "data": {"others": "drop"}, "require": K}
    with pytest.raises(BadInput, match="column 'zip' has more than 3 values"):
        make_release(written(tmp_path, table(), "csv"), policy, engine=DuckDBEngine("256MB"))


def test_thousands_are_read_alike_or_refused(tmp_path, monkeypatch):
    """A mark between thousands is removed from every value, which needs the distinct values."""
    pays = [f"{at % 9 + 1}.{at % 7}00,50" if at % 5 else "1100,50" for at in range(90)]
    data = tmp_path / "pay.csv"
    data.write_text("zip;pay\n" + "".join(f"{at % 3};{pay}\n" for at, pay in enumerate(pays)), "utf-8")
    pay = {"role": "insensitive", "confirm": True}
    policy = {"attributes": {"zip": "quasi-identifier", "pay": pay}, "require": K}
    same(tmp_path, data, policy, DuckDBEngine("256MB"), format="csv")
    release = make_release(data, policy, engine=DuckDBEngine("256MB"))
    assert {*release.data.read_all()["pay"].to_pylist()} == {pay.replace(".", "") for pay in pays}
    monkeypatch.setattr(dictionaries, "MOST", 20)
    with pytest.raises(BadInput, match="column 'pay' has more than 20 values"):
        make_release(data, policy, engine=DuckDBEngine("256MB"))


def test_folders_patterns_and_databases(tmp_path):
    import duckdb

    rows = table()
    whole = written(tmp_path, rows, "parquet")
    (tmp_path / "parts").mkdir()
    for at in range(4):
        pq.write_table(rows.slice(at * 100, 100), tmp_path / "parts" / f"part{at}.parquet")
    with duckdb.connect(str(tmp_path / "db.duckdb")) as db:
        db.register("rows", rows)
        db.execute("CREATE TABLE people AS FROM rows")
    policy = {"attributes": ROLES, "data": {"others": "drop"}, "require": K, "method": {"suppression": 0.05}}
    first = released(tmp_path, "one", whole, policy, ArrowEngine(), format="csv")
    given = [tmp_path / "parts", f"{tmp_path}/parts/*.parquet", f"{tmp_path}/db.duckdb::people"]
    for at, each in enumerate(given):
        content, _, _ = released(tmp_path, f"out{at}", str(each), policy, "auto", format="csv")
        assert content == first[0]


def test_the_rows_of_a_duckdb_release_are_read_in_batches(tmp_path):
    data = written(tmp_path, table(), "parquet")
    policy = {"attributes": ROLES, "data": {"others": "drop"}, "require": K, "method": {"suppression": 0.05}}
    release = shoal.anonymize(data, shoal.Policy(**policy), engine="duckdb", memory="256MB")
    manifest = release.save(tmp_path / "out", format="parquet")
    assert release.data.read_all().equals(pq.read_table(tmp_path / "out" / "data.parquet"))
    assert manifest.rows.released == release.data.read_all().num_rows
    verdicts = shoal.verify(tmp_path / "out", original=str(tmp_path / "people.parquet"), memory="256MB")
    assert all(verdict.holds for verdict in verdicts)


WRONG = {
    "ragged": ("a,b\n1,2\n3\n", "row 2"),
    "twice": ("a,a\n1,2\n", "both named"),
    "unclosed": ('a,b\n1,"2\n', "quote"),
    "nul": ("a,b\n1,\0\n", "NUL"),
    "latin": ("a,b\n1,\xe9\n".encode("latin-1"), "UTF-8"),
    "empty": ("a,b\n", "no records"),
}


@pytest.mark.parametrize("what", list(WRONG))
def test_an_unreadable_table_is_refused_in_a_sentence(tmp_path, what):
    content, said = WRONG[what]
    path = tmp_path / "people.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BadInput, match=said):
        DuckDBEngine("256MB").read(str(path), ReadOptions())
