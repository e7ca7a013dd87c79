"""What the README shows is run as it is written."""

import shlex
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from examples import blocks

from shoal.methods import ALGORITHMS, PAIRS, serving
from shoal.policy.document import Policy
from shoal.workload.query_files import load_queries

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
COMMANDS = [line.split("#")[0] for line in README.splitlines() if line.startswith("    shoal ")]
PEOPLE = pd.DataFrame(
    {
        "name": [f"person {i}" for i in range(60)],
        "age": [20 + i % 30 for i in range(60)],
        "sex": ["f", "m"] * 30,
        "disease": ["flu", "hiv", "asthma"] * 20,
    }
)


def block(language, which=0):
    return [each.text for each in blocks(README) if each.language == language][which]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_commands(folder, shoal):
    named = [shlex.split(command)[1] for command in COMMANDS]
    assert named == [
        *("init", "anonymize", "verify", "measure", "apply", "lattice", "compare", "sweep", "workload"),
        *("learn", "risk", "audit", "attack", "study", "metrics"),
    ]
    for command in COMMANDS:
        ran = shoal(*shlex.split(command)[1:])
        assert ran.code == 0, ran.err
    assert (folder / "out" / "data.csv").is_file()


def test_the_python(folder, shoal):
    assert shoal("init", "people.csv").code == 0
    exec(block("python"), {"frame": PEOPLE})
    assert (folder / "out" / "manifest.json").is_file()


def test_the_policy(folder):
    (folder / "education.csv").write_text("a;*\n")
    policy = Policy(**tomllib.loads(block("toml")))
    assert policy.quasi_identifiers == ["age", "zip", "education"]


def test_the_form():
    policy = Policy(**tomllib.loads(block("toml", 1)), require=[{"model": "k-anonymity", "k": 5}])
    assert policy.attributes["age"].form == ("bounds", "mean")


def test_the_blocking():
    document = tomllib.loads(block("toml", 3))
    attributes = {"age": "quasi-identifier", "disease": "sensitive"}
    policy = Policy(attributes=attributes, require=[{"model": "k-anonymity", "k": 5}], **document)
    assert (policy.blocking.by, policy.blocking.confidence) == ("absent", 0.8)


def test_every_pair_of_the_policy_is_in_the_table():
    for generalise, suppress in PAIRS:
        algorithms = serving((generalise, suppress))
        lines = [
            line
            for line in README.splitlines()
            if line.startswith(f"| {generalise} × ") and suppress in line.split("|")[1]
        ]
        assert any(all(f"`{name}`" in line for name in algorithms) for line in lines), (generalise, suppress)


def test_every_model_search_and_metric_is_in_the_table():
    from shoal.metrics.catalogue import catalogue
    from shoal.models import MODELS

    for name in (*MODELS, *(entry.name for entry in catalogue()), *ALGORITHMS):
        assert f"`{name}`" in README


def test_the_query(folder):
    (folder / "q.toml").write_text(block("toml", 2))
    (query,) = load_queries(folder / "q.toml")
    assert query.attributes == ("age", "sex", "zip")
