"""The recipes of CONTRIBUTING, followed to the letter: one file and one registration each, no other file touched."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import shoal as sh
from shoal.attacks import ATTACKS
from shoal.errors import BadInput
from shoal.hierarchy.build import BUILDERS
from shoal.methods import ALGORITHMS
from shoal.metrics.catalogue import METRICS
from shoal.models import MODELS
from shoal.models.k_anonymity import KAnonymity

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text("utf-8")
POLICY = """
[attributes.age]
role = "quasi-identifier"
hierarchy = { intervals = [10, 20] }
[attributes.town]
role = "quasi-identifier"
hierarchy = { first-letters = [2, 1] }
[attributes.ill]
role = "sensitive"
[[require]]
model = "k-anonymity"
k = 2
[[require]]
model = "maximum-size"
most = 9
[method]
algorithm = "lowest-first"
metric = "largest-class"
suppression = 0.3
"""
PEOPLE = "age,town,ill\n" + "".join(
    f"{20 + 3 * i},{town},{'flu' if i % 3 else 'hiv'}\n" for i, town in enumerate(["Ulm", "Unna", "Bonn", "Bad"] * 4)
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs the command line beside a package that was made of the page."""
    folder = tmp_path_factory.mktemp("recipes")
    package = folder / "sharks"
    package.mkdir()
    (package / "__init__.py").touch()
    for code in re.findall(r"^```python\n(# (\w+\.py)\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        (package / code[1]).write_text(code[0], "utf-8")
    (table,) = re.findall(r"^```toml\n(.*?entry-points.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    groups = tomllib.loads(table)["project"]["entry-points"]
    about = folder / "sharks-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: sharks\nVersion: 1.0\n")
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in groups.items()]
    (about / "entry_points.txt").write_text("\n".join(lines))
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "policy.toml").write_text(POLICY)

    def shoal(*arguments, code="from shoal.cli.main import script; script()"):
        ran = subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr + ran.stdout
        return ran.stdout

    shoal("anonymize", "people.csv", "--policy", "policy.toml", "--out", "out")
    shoal.folder = folder
    return shoal


def test_five_recipes_are_on_the_page(run):
    assert len(list((run.folder / "sharks").glob("*.py"))) == 6


def test_anonymize_and_verify(run):
    manifest = json.loads((run.folder / "out.private" / "manifest.json").read_text())
    assert manifest["method"]["algorithm"] == "lowest-first"
    assert manifest["metrics"]["largest-class"] == manifest["method"]["score"]
    assert [model["model"] for model in manifest["models"]] == ["k-anonymity", "maximum-size"]
    told = json.loads(run("verify", "out", "--original", "people.csv", "--json"))
    assert {each["status"] for each in told["verdicts"]} == {"holds"}


def test_measure(run):
    told = json.loads(run("measure", "people.csv", "--qi", "age,town", "--json"))
    assert {"model": "maximum-size", "attained": {"most": 1}} in [
        {key: each[key] for key in ("model", "attained")} for each in told["models"]
    ]


def test_audit_attack_and_help(run):
    told = json.loads(run("audit", "out", "--json"))
    assert "small-classes" in [each["attack"] for each in told["attacks"]]
    assert "no class is too small" in json.dumps(told["verdict"])
    assert json.loads(run("attack", "small-classes", "out", "--below", "99", "--json"))["exposed"] > 0
    assert "small-classes" in run("attack", "--help")
    shown = run("attack", "small-classes", "--help")
    assert "--below" in shown
    assert "The fewest rows of a class that is large enough." in shown


def test_compare_and_lattice(run):
    run_ = json.loads(run("compare", "people.csv", "--policy", "policy.toml", "--json"))
    assert {"lowest-first", "optimal"} <= {each["algorithm"] for each in run_["algorithms"]}
    nodes = json.loads(run("lattice", "people.csv", "--policy", "policy.toml", "--json"))["nodes"]
    assert all("largest-class" in json.dumps(node) for node in nodes)


def test_metrics_and_reports(run):
    names = [each["name"] for each in json.loads(run("metrics", "--json"))["metrics"]]
    assert names[-1] == "largest-class"
    public, private = ((run.folder / place / "report.html").read_text("utf-8") for place in ("out", "out.private"))
    assert "No class has more than `most` rows." in public
    assert "small-classes" in public
    assert "asks from the lowest levels upwards and takes the first that fit" in private
    assert "the first 2 and 1 letters" in private


def test_the_json_schema(run):
    code = "import json; from shoal.policy import Policy; print(json.dumps(Policy.json_schema()))"
    schema = json.loads(run(code=code))
    method = schema["$defs"]["Method"]["properties"]
    assert "lowest-first" in method["algorithm"]["enum"]
    assert "largest-class" in method["metric"]["enum"]
    assert "maximum-size" in [each["title"] for each in schema["properties"]["require"]["items"]["anyOf"]]
    assert "first-letters" in json.dumps(schema["$defs"]["Attribute"])


def test_a_call_registers_too_and_a_name_that_is_taken_is_refused():
    class Other(KAnonymity):
        __slots__ = ()
        name = "other"

    assert sh.register_model(Other) is Other
    try:
        assert MODELS["other"] is Other
        assert sh.register_model(Other) is Other
    finally:
        MODELS.unregister("other")
    for registry in (MODELS, METRICS, ALGORITHMS, ATTACKS, BUILDERS):
        taken = type("Taken", (), {"name": next(iter(registry))})
        with pytest.raises(BadInput, match="there is another"):
            registry.register(taken)
