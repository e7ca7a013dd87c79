"""Changing one word of a drafted policy: the algorithm. It runs, or is refused for a reason of the field."""

import json
import tomllib
import warnings
from functools import cache

import pyarrow as pa
import pytest
import small_census

import shoal as sh
from shoal import api
from shoal.methods import ALGORITHMS
from shoal.policy.document import Policy

FIELD = {
    "anatomy": "k-anonymity is about who is in the table",
    "mondrian-workload": "needs a target",
    "microaggregation": "needs numbers, dates, or an order",
    "suppress": "may be suppressed",
    **dict.fromkeys(("samarati", "incognito", "hybrid"), "relies on it that whatever is more general"),
}
"""What a draft lacks, or asks, that an algorithm cannot do without."""
LEAVES_OUT = {"optimal", "datafly", "samarati", "incognito", "hybrid", "greedy", "suppress"}


@cache
def drafted_text():
    """The drafted policy of a table with numbers and texts, and the table; its method is written by hand."""
    rows = small_census.table(400, seed=2).to_pylist()
    table = {name: [row[at] for row in rows] for name, at in (("age", "age"), ("town", "$town"), ("disease", "ill"))}
    policy, found, _ = api.draft(pa.table(table)).text.partition("[method]")
    assert found
    return table, policy + '[method]\nalgorithm = "optimal"\nsuppression = 0.02\nmetric = "loss"\n'


@pytest.fixture
def drafted(desk):
    """A drafted policy of a table with numbers and texts."""
    table, text = drafted_text()
    lines = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    desk.table("\n".join([",".join(table), *lines]) + "\n")

    def changed(algorithm, *lines):
        path = desk.folder / f"{algorithm}.toml"
        word = text.replace('algorithm = "optimal"', f'algorithm = "{algorithm}"')
        path.write_text("\n".join([word, *lines]) + "\n", "utf-8")
        return path

    return changed


@pytest.mark.some(4)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_any_algorithm_in_a_drafted_policy_runs_or_is_refused_for_a_reason(desk, drafted, algorithm):
    where = ("anonymize", desk.data, "--policy", drafted(algorithm), "--out", desk.folder / "out", "--json")
    if algorithm in FIELD:
        ran = desk.run(*where)
        assert ran.code in {2, 3}
        assert FIELD[algorithm] in ran.err
        return
    document = json.loads(desk.run(*where).out)
    assert document["method"]["algorithm"] == algorithm
    assert all(model["holds"] for model in document["models"])
    noted = [note for note in document.get("warnings", []) if note.startswith("method.suppression is ignored")]
    assert bool(noted) == (algorithm not in LEAVES_OUT)
    assert desk.run("verify", desk.folder / "out", "--original", desk.data).code == 0


@pytest.mark.covering(1)
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name not in FIELD])
@pytest.mark.parametrize("line", ['metric = "discernibility"', "time-limit = 60", 'suppression = "k"'])
def test_an_option_that_does_not_apply_is_ignored_with_a_note(desk, drafted, algorithm, line):
    path = drafted(algorithm)
    key = line.split(" = ")[0]
    kept = [each for each in path.read_text().splitlines() if not each.startswith(f"{key} =")]
    path.write_text("\n".join([*kept, line]) + "\n")
    document = json.loads(desk.run("anonymize", desk.data, "--policy", path, "--dry-run", "--json").out)
    ignored = {"metric": document["method"].get("nodes") is None, "suppression": algorithm not in LEAVES_OUT}
    ignored["time-limit"] = ALGORITHMS[algorithm].shape not in {"one level per attribute", "cells"}
    assert any(note.startswith(f"method.{key} is ignored: ") for note in document.get("warnings", [])) == ignored[key]
    if ignored["metric"]:
        assert document["method"]["metric"] == "loss"


def test_the_command_prints_the_note(desk, drafted):
    ran = desk.run("anonymize", desk.data, "--policy", drafted("local"), "--out", desk.folder / "out")
    assert ran.code == 0
    assert "note: method.suppression is ignored: 'local' leaves no row out" in ran.err
    kept = tomllib.loads((desk.folder / "out.private" / "policy.toml").read_text())
    assert "suppression" not in kept["method"], "what was ignored is not what was done"


def test_a_saved_policy_is_the_same(tmp_path):
    policy = Policy(**small_census.policy(algorithm="local", suppression=0.02, metric="discernibility"))
    policy.save(tmp_path / "policy.toml")
    assert Policy.load(tmp_path / "policy.toml") == policy


def test_python_warns_once(tmp_path):
    policy = small_census.policy(algorithm="mondrian", suppression=0.02)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = sh.anonymize(small_census.table(60), policy)
    said = "method.suppression is ignored: 'mondrian' leaves no row out"
    assert [str(each.message) for each in caught].count(said) == 1
    assert said in release.notes


@pytest.mark.parametrize("level", ["min-level", "max-level"])
def test_a_level_of_a_column_is_refused_and_not_ignored(level):
    policy = small_census.policy(algorithm="local")
    ages = {**policy["attributes"]["age"], level: 1}
    with pytest.raises(sh.BadPolicy, match=rf"age: {level} is for .*; use algorithm = 'optimal' .* or leave"):
        sh.anonymize(pa.table({"age": [1, 2]}), {**policy, "attributes": {**policy["attributes"], "age": ages}})


def test_republish_notes_ignored_options(desk):
    """A note of the release, not a warning from somewhere inside."""
    method = {"algorithm": "optimal", "suppression": 0.05}
    policy = {**small_census.policy(2, **method), "republish": {"way": "monotone", "key": "id"}}
    people = small_census.table(80)
    people = people.append_column("id", pa.array([str(i) for i in range(80)]))
    policy["attributes"] = {**policy["attributes"], "id": "identifier"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sh.ShoalWarning)
        sh.anonymize(people, policy).save(desk.folder / "one")
    other = {**policy, "method": {**method, "algorithm": "local"}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = sh.republish(desk.folder / "one.private", people, other)
    said = "method.suppression is ignored: 'local' leaves no row out"
    assert [str(each.message) for each in caught].count(said) == 1
    assert said in release.notes
