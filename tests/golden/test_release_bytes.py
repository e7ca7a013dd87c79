"""The bytes of releases of the invented census: a change of the code's shape must not change them.

`SHOAL_GOLDEN=write pytest tests/golden/test_release_bytes.py` writes the hashes anew, where a change of bytes is meant.
"""

import hashlib
import json
import os
from pathlib import Path

import pytest

import shoal as sh
from shoal.api.releases import publish
from shoal.datasets import write_census

HASHES = Path(__file__).with_name("release_bytes.json")
ROWS = 3_000
METHODS = {
    "optimal": {"suppression": 0.02},
    "datafly": {"algorithm": "datafly", "suppression": 0.02},
    "greedy": {"algorithm": "greedy", "suppression": 0.02},
    "mondrian": {"algorithm": "mondrian"},
    "mondrian-relaxed": {"algorithm": "mondrian-relaxed"},
    "mondrian-single": {"algorithm": "mondrian-single"},
    "local": {"algorithm": "local"},
    "suppress": {"algorithm": "suppress", "suppress": "cell"},
    "anatomy": {"algorithm": "anatomy"},
}


def policy(folder, method):
    asked = sh.Policy.load(folder / "policy.toml").document()
    asked["method"] = METHODS[method]
    if method == "anatomy":
        asked["require"] = [{"model": "distinct-l-diversity", "l": 2}]
    if method in {"local", "suppress", "mondrian", "mondrian-relaxed", "mondrian-single", "anatomy"}:
        few = {"age", "sex", "race", "education"}
        for name, attribute in asked["attributes"].items():
            if attribute["role"] == "quasi-identifier" and name not in few:
                asked["attributes"][name] = {"role": "identifier"}
    return sh.Policy(**asked)


def bytes_of(out):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.iterdir())
        if path.stem in {"data", "sensitive"}
    }


def hold(name, found):
    known = json.loads(HASHES.read_text("utf-8")) if HASHES.exists() else {}
    if os.environ.get("SHOAL_GOLDEN") == "write":
        HASHES.write_text(json.dumps(dict(sorted({**known, name: found}.items())), indent=2) + "\n", "utf-8")
        return
    assert known[name] == found


@pytest.fixture(scope="module")
def census(tmp_path_factory):
    return write_census(tmp_path_factory.mktemp("census"), rows=ROWS, k=5)


@pytest.mark.parametrize("method", METHODS)
def test_bytes_of_a_release(census, tmp_path, monkeypatch, method):
    monkeypatch.chdir(census)
    sh.anonymize("census.csv", policy(census, method)).save(tmp_path / "out", format="csv")
    hold(method, bytes_of(tmp_path / "out"))


@pytest.mark.parametrize("method", ["optimal", "mondrian"])
def test_bytes_of_a_release_by_duckdb(census, tmp_path, monkeypatch, method):
    monkeypatch.chdir(census)
    sh.anonymize("census.csv", policy(census, method), engine="duckdb").save(tmp_path / "out", format="csv")
    hold(method, bytes_of(tmp_path / "out"))


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:distutils Version classes:DeprecationWarning")
@pytest.mark.thorough
@pytest.mark.parametrize("method", ["optimal", "mondrian"])
def test_bytes_of_a_release_by_spark(census, tmp_path, monkeypatch, spark, method):
    from shoal.engines.spark.engine import SparkEngine

    monkeypatch.chdir(census)
    publish("census.csv", policy(census, method), tmp_path / "out", format="csv", engine=SparkEngine(spark))
    hold(method, bytes_of(tmp_path / "out"))


@pytest.mark.thorough
def test_bytes_of_the_demo(tmp_path, monkeypatch):
    folder = write_census(tmp_path / "demo", rows=30_000)
    monkeypatch.chdir(folder)
    sh.anonymize("census.csv", sh.Policy.load("policy.toml")).save("out")
    hold("make demo", bytes_of(folder / "out"))
