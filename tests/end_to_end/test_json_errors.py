"""With --json, every command that fails prints one JSON object on stderr and nothing on stdout."""

import json
import signal
import subprocess
from pathlib import Path

import jsonschema
import pytest
import typer

from shoal.cli.commands import app
from shoal.cli.main import main
from shoal.errors import KINDS, ShoalError

SCHEMA = json.loads((Path(main.__code__.co_filename).parents[1] / "schemas" / "error.schema.json").read_text("utf-8"))
ABSENT = "absent.csv"
NEEDED = {
    "init": [ABSENT],
    "measure": [ABSENT, "--qi", "age"],
    "anonymize": [ABSENT, "--policy", "policy.toml", "--out", "out"],
    "apply": ["absent.private", "people.csv", "--out", "out"],
    "verify": ["absent"],
    "republish": ["absent.private", "people.csv", "--out", "out"],
    "remove": ["ann", "absent.private", "--out", "out"],
    "block": [ABSENT, "--sensitive", "ill"],
    "explain": ["no such term at all"],
    "lattice": [ABSENT, "--policy", "policy.toml"],
    "compare": [ABSENT, "--policy", "policy.toml"],
    "sweep": [ABSENT, "--policy", "policy.toml", "--k", "2..3"],
    "metrics": None,  # needs nothing, so nothing can be missing
    "workload": [ABSENT, "absent", "--random", "5"],
    "learn": [ABSENT, "--policy", "policy.toml", "--target", "disease"],
    "study": ["nonsense"],
    "risk": [ABSENT, "--qi", "age"],
    "audit": ["absent"],
    "attack join": ["absent", "--register", "absent.csv"],
    "attack compose": ["absent", "absent.csv"],
}
"""What each command is given: something that is not there; attacks that are not named take a release."""


def commands():
    """Every command, with those of a group after the name of the group."""
    root = typer.main.get_command(app)
    context = typer.Context(root)
    for name in root.list_commands(context):
        inner = getattr(root.get_command(context, name), "list_commands", None)
        yield from [name] if inner is None else (f"{name} {each}" for each in inner(context))


COMMANDS = list(commands())


def error(ran):
    """The error that a command printed, held to the schema."""
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    document = json.loads(ran.err)
    jsonschema.validate(document, SCHEMA)
    assert document["error"]["exit_code"] == ran.code == KINDS[document["error"]["kind"]]
    return document["error"]


@pytest.fixture
def here(desk, monkeypatch):
    monkeypatch.chdir(desk.folder)
    return desk


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_option_of_each_command(here, command):
    found = error(here.run(*command.split(), "--nonsense", "--json"))
    assert (found["kind"], found["exit_code"]) == ("BadUsage", 2)
    assert "--nonsense" in found["message"]


@pytest.mark.parametrize("command", [name for name in COMMANDS if NEEDED.get(name, [""]) is not None])
def test_a_missing_file_for_each_command(here, command):
    found = error(here.run(*command.split(), *NEEDED.get(command, ["absent"]), "--json"))
    assert (found["kind"].startswith("Bad"), found["kind"] == "BadUsage", found["exit_code"]) == (True, False, 2)


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [(KeyboardInterrupt(), "Interrupted"), (typer.Abort(), "Interrupted"), (ValueError("ann"), "InternalError")],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_an_internal_error_in_each_command(here, monkeypatch, command, wrong, kind):
    def broken(*_, **__):
        raise wrong

    monkeypatch.setattr("typer.core.TyperCommand.invoke", broken)
    given = NEEDED.get(command, ["absent"]) or []
    found = error(here.run(*command.split(), *given, "--json"))
    assert found["kind"] == kind
    assert "ann" not in found["message"]


def test_a_wrong_command(here):
    assert error(here.run("anonymise", "--json"))["kind"] == "BadUsage"


def test_a_policy_that_cannot_be_met(here):
    here.policy(require=[{"model": "k-anonymity", "k": 13}])
    found = error(here.anonymize("--json"))
    assert (found["kind"], found["exit_code"]) == ("Infeasible", 3)
    assert found["message"].startswith("impossible: k-anonymity")


def test_a_release_that_fails(here):
    assert here.anonymize().code == 0
    (here.out / "data.csv").write_text("age,sex,disease\n")
    ran = here.verify("--json")
    found = json.loads(ran.err)["error"]
    assert (ran.code, found["kind"], found["exit_code"]) == (4, "NotVerified", 4)
    assert json.loads(ran.out)["verified"] is False


def test_an_interruption_from_outside(here, process):
    command = ["anonymize", "-", "--policy", "policy.toml", "--out", "out", "--json"]
    started = process(*command, cwd=here.folder, stdin=subprocess.PIPE)
    started.stdin.write("x" * (1 << 20))  # returns when the process is reading
    started.stdin.flush()
    started.send_signal(signal.SIGINT)
    out, err = started.communicate()
    assert (out, json.loads(err)["error"]["kind"], started.returncode) == ("", "Interrupted", 130)


def test_after_two_hyphens_nothing_is_an_option(here):
    assert here.run("measure", "--qi", "age", "--", "absent.csv", "--json").err.startswith("shoal: ")


def test_every_error_has_a_kind_of_its_own():
    def below(kind):
        return {kind, *(each for inner in kind.__subclasses__() for each in below(inner))}

    known = {kind.__name__ for kind in below(ShoalError) if kind.__module__.startswith("shoal.")}
    assert known == {*KINDS, "ShoalError"} - {"BadUsage", "Interrupted", "Terminated", "InternalError"}


def test_every_kind_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "commands.md").read_text("utf-8")
    assert all(f"| `{kind}` | {code} |" in page for kind, code in KINDS.items())


@pytest.mark.parametrize(
    "command",
    [
        "anonymize people.csv --policy policy.toml --out out",
        "anonymize people.csv --policy policy.toml --dry-run",
        "anonymize people.csv --policy policy.toml --out out --strict",
        "lattice people.csv --policy policy.toml",
        "compare people.csv --policy policy.toml --algorithms optimal,mondrian",
        "sweep people.csv --policy policy.toml --k 13..14",
        "learn people.csv --policy policy.toml --target disease",
        "apply old.private few.csv --out out",
    ],
)
def test_a_policy_that_cannot_be_met_by_each_command(here, command):
    assert here.anonymize("--advise", "0", out=here.folder / "old").code == 0
    here.table("name,age,sex,disease\nann,31,f,flu\n", "few.csv")
    here.policy(require=[{"model": "k-anonymity", "k": 13}])
    found = error(here.run(*command.split(), "--json"))
    assert (found["kind"], found["exit_code"]) == ("Infeasible", 3)
