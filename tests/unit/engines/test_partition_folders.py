"""Releases in folders, `region=north/part-0.parquet`: read by others, judged afresh, alike in every engine. # S4.7"""

import hashlib
import shutil
import subprocess

import duckdb
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal as sh
from shoal.api.releases import publish
from shoal.engines import partition_folders as partitioned
from shoal.errors import NotVerified
from shoal.verify.release_files import table_in

POLICY = {
    "attributes": {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
        "town": {"role": "quasi-identifier", "max-level": 0},
        "year": {"role": "insensitive"},
        "ill": "sensitive",
    },
    "require": [{"model": "k-anonymity", "k": 2}],
    "method": {"suppression": 0.2},
}
TOWNS = ["Bad Ems", "it's/odd=%2F*[x]", None, "ñ .."]


@pytest.fixture
def people():
    rows = range(240)
    return pa.table(
        {
            "age": [20 + i * 7 % 60 for i in rows],
            "town": [TOWNS[i % 4] for i in rows],
            "year": [2020 + i % 3 if i % 11 else None for i in rows],
            "ill": ["flu" if i % 5 else "hiv" for i in rows],
        }
    )


def listed(table: pa.Table) -> list[tuple[object, ...]]:
    names = ["age", "town", "year", "ill"]
    return sorted(zip(*(table[name].to_pylist() for name in names), strict=True), key=str)


def test_others_read_the_same_rows(people, tmp_path):
    release = sh.anonymize(people, POLICY)
    manifest = release.save(tmp_path / "out", partition_by=["town", "year"])
    folder = tmp_path / "out" / "data"
    assert dict(manifest.data.partitions) == {"town": "text", "year": "integer"}
    assert (folder / "town=Bad%20Ems" / "year=2020" / "part-0.parquet").is_file()
    assert (folder / "town=__HIVE_DEFAULT_PARTITION__").is_dir()
    expected = listed(release.table)
    types = pa.schema([("town", pa.string()), ("year", pa.int64())])
    told = pyarrow.dataset.partitioning(types, flavor="hive")
    assert listed(pyarrow.dataset.dataset(folder, partitioning=told).to_table()) == expected
    sql = f"SELECT * FROM read_parquet('{folder}/**/*.parquet', hive_partitioning=true, hive_types={{'year': BIGINT}})"
    assert listed(duckdb.sql(sql).to_arrow_table()) == expected
    frequencies = sh.measure(folder, quasi_identifiers=["age", "town"])
    assert frequencies.rows == len(expected)


@pytest.mark.parametrize("algorithm", ["optimal", "mondrian"])
def test_every_engine_writes_the_same_folders(people, tmp_path, algorithm):
    policy = {**POLICY, "attributes": {**POLICY["attributes"], "town": "quasi-identifier"}}
    policy["method"] = {"algorithm": algorithm, "suppression": 0.2 if algorithm == "optimal" else 0}
    pa.parquet.write_table(people, tmp_path / "people.parquet")
    for engine in ("arrow", "duckdb"):
        out = tmp_path / engine
        publish(tmp_path / "people.parquet", policy, out, partition_by=["year"], engine=engine, reproducible=True)
        assert all(v.holds for v in sh.verify(out, original=tmp_path / "people.parquet"))
    one, other = (
        {path.relative_to(tmp_path / engine / "data"): path.read_bytes() for path in files}
        for engine in ("arrow", "duckdb")
        for files in [[path for path in (tmp_path / engine / "data").rglob("*") if path.is_file()]]
    )
    assert one == other
    assert len(one) == 4


def test_the_hash_is_that_of_the_list_of_hashes(people, tmp_path):
    manifest = sh.anonymize(people, POLICY).save(tmp_path / "out", partition_by=["town"])
    command = "find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"
    said = subprocess.run(command, shell=True, cwd=tmp_path / "out" / "data", capture_output=True, check=True)
    assert said.stdout.decode().split()[0] == manifest.data.sha256


@given(shown=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, 1, 22])), min_size=1, max_size=40))
def test_rows_are_dealt_out_as_they_came(tmp_path_factory, shown):
    """The order tells which row each became: files sorted by path, in each as before."""
    folder = tmp_path_factory.mktemp("dealt")
    at = list(range(len(shown)))
    table = pa.table({"s": [s for s, _ in shown], "n": pa.array([n for _, n in shown], pa.int64()), "at": at})
    pa.parquet.write_table(table, folder / "data.parquet", row_group_size=7)
    dealt = partitioned.partition_file(folder / "data.parquet", folder / "data", ["n", "s"])
    assert not (folder / "data.parquet").exists()
    files = sorted((folder / "data").rglob("*.parquet"), key=lambda path: path.relative_to(folder / "data").as_posix())
    found = [value for file in files for value in pa.parquet.ParquetFile(file).read()["at"].to_pylist()]
    assert found == dealt.order.tolist()
    for file in files:
        rows = [shown[i] for i in pa.parquet.ParquetFile(file).read()["at"].to_pylist()]
        named = [part.partition("=")[2] for part in file.relative_to(folder / "data").parent.parts]
        assert {("__HIVE_DEFAULT_PARTITION__" if n is None else str(n), s) for s, n in rows} == {tuple(named)}


def test_changed_files_are_detected(people, tmp_path):
    sh.anonymize(people, POLICY).save(tmp_path / "out", partition_by=["town"])
    folder = tmp_path / "out" / "data"
    assert all(v.holds for v in sh.verify(tmp_path / "out", original=people))

    def fails(promise: str) -> bool:
        return any(v.promise == promise and v.status == "fails" for v in sh.verify(tmp_path / "out", original=people))

    moved = folder / "town=Bad%20Ems"
    other = folder / "town=%C3%B1%20.."
    for one, two in ((moved, folder / "x"), (other, moved), (folder / "x", other)):
        one.rename(two)
    assert fails("sha256")
    assert fails("truthful")
    (folder / "notes.txt").write_text("x")
    with pytest.raises(NotVerified, match="other files or folders"):
        sh.verify(tmp_path / "out")
    shutil.rmtree(folder)
    with pytest.raises(sh.BadInput, match="out/data: the released table is missing"):
        sh.verify(tmp_path / "out")


def test_risk_and_audit_read_partition_folders(people, tmp_path):
    release = sh.anonymize(people, POLICY)
    release.save(tmp_path / "out", partition_by=["town"])
    release.save(tmp_path / "file", format="parquet")
    one, other = (sh.risk(tmp_path / name).reidentification.document() for name in ("out", "file"))
    assert one == other
    assert sh.audit(tmp_path / "out").lines == sh.audit(tmp_path / "file").lines


def test_a_replaced_release_leaves_nothing(people, tmp_path):
    release = sh.anonymize(people, POLICY)
    release.save(tmp_path / "out", partition_by=["town"])
    release.save(tmp_path / "out", format="csv", force=True)
    assert not (tmp_path / "out" / "data").exists()
    release.save(tmp_path / "out", partition_by=["year"], force=True)
    assert not (tmp_path / "out" / "data.csv").exists()


def test_what_cannot_be_in_folders_is_refused(people, tmp_path, monkeypatch):
    release = sh.anonymize(people, POLICY)

    def refused(by: list[str], match: str, **how: str) -> None:
        with pytest.raises(sh.BadInput, match=match):
            release.save(tmp_path / "out", partition_by=by, **how)
        assert list(tmp_path.iterdir()) == []

    refused(["nix"], "no released column is called that")
    refused(["town", "town"], "named twice")
    refused(["age", "town", "year", "ill"], "no column left")
    refused(["town"], "only Parquet", format="csv")
    monkeypatch.setattr(partitioned, "MOST", 3)
    refused(["town"], "more than 3 folders")
    monkeypatch.undo()
    odd = people.set_column(2, "year", pa.array([0.5] * 240))
    release = sh.anonymize(odd, POLICY)
    refused(["year"], "neither")
    release = sh.anonymize(people.set_column(2, "year", pa.array(["__HIVE_DEFAULT_PARTITION__"] * 240)), POLICY)
    refused(["year"], "means null")


def test_folders_that_others_would_skip_are_refused(people, tmp_path):
    names = ["_town" if name == "town" else name for name in people.column_names]
    attributes = {"_town" if name == "town" else name: of for name, of in POLICY["attributes"].items()}
    release = sh.anonymize(people.rename_columns(names), {**POLICY, "attributes": attributes})
    with pytest.raises(sh.BadInput, match=r"partition by '_town': Arrow, Spark and others skip folders"):
        release.save(tmp_path / "out", partition_by=["_town"])


def test_whole_numbers_of_all_64_bits_name_folders(people, tmp_path):
    years = pa.array([2**64 - 1, 2**63, 7] * 80, pa.uint64())
    release = sh.anonymize(people.set_column(people.column_names.index("year"), "year", years), POLICY)
    release.save(tmp_path / "out", partition_by=["year"])
    assert {folder.name for folder in (tmp_path / "out" / "data").iterdir()} == {
        f"year={year}" for year in (2**64 - 1, 2**63, 7)
    }
    assert "fails" not in {verdict.status for verdict in sh.verify(tmp_path / "out")}


def test_the_digest_of_a_partitioned_table_is_that_of_its_list(tmp_path):
    (tmp_path / "d" / "a=1").mkdir(parents=True)
    (tmp_path / "d" / "a=1" / "part-0.parquet").write_bytes(b"x")
    line = f"{hashlib.sha256(b'x').hexdigest()}  ./a=1/part-0.parquet\n"
    assert partitioned._hash_files(tmp_path / "d") == hashlib.sha256(line.encode()).hexdigest()
    assert table_in(tmp_path, "d") == tmp_path / "d"
