"""What the README and the page of everything at a glance show is run as it is written."""

import re
import shlex
import tomllib
from pathlib import Path

import hooks
import pandas as pd
import pytest
from examples import blocks
from naive import THOROUGH

from shoal.methods import ALGORITHMS, PAIRS, algorithms_for
from shoal.policy.document import Policy
from shoal.workload.queries import load_queries

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
OVERVIEW = (ROOT / "docs" / "overview.md").read_text("utf-8")
MOST_WORDS = 900
PEOPLE = pd.DataFrame(
    {
        "name": [f"person {i}" for i in range(60)],
        "age": [20 + i % 30 for i in range(60)],
        "sex": ["f", "m"] * 30,
        "disease": ["flu", "hiv", "asthma"] * 20,
    }
)


def block(page, language, which=0):
    return [each.text for each in blocks(page) if each.language == language][which]


def commands_of(page):
    return [shlex.split(line.split("#")[0])[1:] for line in page.splitlines() if line.startswith("    shoal ")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# the README


def test_the_readme_is_short_and_begins_with_the_essentials():
    assert len(README.split()) <= MOST_WORDS
    wanted = [
        "quasi-identifiers",
        "](docs/papers.md)",
        "](docs/tutorial.md)",
        "![",
        "pip install shoal\x20",
        "uvx shoal",
        "export PATH",
        "make demo",
    ]
    wanted += ["shoal init people.csv", "shoal anonymize people.csv"]
    places = [README.index(each) for each in wanted]
    assert places == sorted(places)
    (first, *_) = re.findall(r"(?<!!)\[[^]]+\]\(([^)]+)\)", README)
    assert first == "docs/papers.md"


def test_the_links_of_the_readme_exist():
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", README):
        assert (ROOT / target).exists(), target


def test_the_extras_of_the_readme_exist():
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {*re.findall(r"shoal\[(\w+)\]", README)} <= {*known}


def test_the_commands_of_the_readme(folder, shoal):
    named = [command[0] for command in commands_of(README)]
    assert named == ["init", "anonymize", "verify", "audit", "risk"]
    for command in commands_of(README):
        ran = shoal(*command)
        assert ran.code == 0, ran.err
    assert (folder / "out" / "data.csv").is_file()


def test_the_python_of_the_readme(folder, shoal):
    assert shoal("init", "people.csv").code == 0
    exec(block(README, "python"), {"frame": PEOPLE})
    assert (folder / "out" / "manifest.json").is_file()


# everything at a glance


def test_the_commands_of_the_overview(folder, shoal):
    assert [command[0] for command in commands_of(OVERVIEW)] == [
        *("init", "anonymize", "verify", "measure", "lattice", "compare", "sweep", "workload", "learn"),
        *("risk", "audit", "attack", "study", "metrics"),
    ]
    for command in commands_of(OVERVIEW):
        if command[0] in {"compare", "learn", "study"} and not THOROUGH:  # seconds each; their own tests run them
            continue
        ran = shoal(*command)
        assert ran.code == 0, ran.err
    assert (folder / "out" / "data.csv").is_file()


def test_the_policy_of_the_overview(folder):
    (folder / "education.csv").write_text("a;*\n")
    policy = Policy(**tomllib.loads(block(OVERVIEW, "toml")))
    assert policy.quasi_identifiers == ["age", "zip", "education"]


def test_the_form_of_the_overview():
    policy = Policy(**tomllib.loads(block(OVERVIEW, "toml", 1)), require=[{"model": "k-anonymity", "k": 5}])
    assert policy.attributes["age"].form == ("bounds", "mean")


def test_the_query_of_the_overview(folder):
    (folder / "q.toml").write_text(block(OVERVIEW, "toml", 2))
    (query,) = load_queries(folder / "q.toml")
    assert query.attributes == ("age", "sex", "zip")


def test_the_blocking_of_the_overview():
    document = tomllib.loads(block(OVERVIEW, "toml", 3))
    attributes = {"age": "quasi-identifier", "disease": "sensitive"}
    policy = Policy(attributes=attributes, require=[{"model": "k-anonymity", "k": 5}], **document)
    assert (policy.blocking.by, policy.blocking.confidence) == ("absent", 0.8)


def test_every_pair_of_the_policy_is_in_the_table():
    for generalise, suppress in PAIRS:
        algorithms = algorithms_for((generalise, suppress))
        lines = [
            line
            for line in OVERVIEW.splitlines()
            if line.startswith(f"| {generalise} × ") and suppress in line.split("|")[1]
        ]
        assert any(all(f"`{name}`" in line for name in algorithms) for line in lines), (generalise, suppress)


def test_every_model_search_and_metric_is_in_the_table():
    from shoal.metrics.catalogue import catalogue
    from shoal.models import MODELS

    assert "<!-- list: implemented -->" in OVERVIEW
    shown = OVERVIEW + hooks.listing("implemented", Path())
    for name in (*MODELS, *(entry.name for entry in catalogue()), *ALGORITHMS):
        assert f"`{name}`" in shown
