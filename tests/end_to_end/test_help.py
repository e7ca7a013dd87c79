"""Help lists the commands by task and gives an example of each; shells complete them."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from shoal.cli.commands import TASKS, app
from shoal.cli.main import main  # noqa: F401 - all commands are known then

ROOT = typer.main.get_command(app)


def commands():
    """Every command that does something, by the words that name it."""
    context = typer.Context(ROOT, info_name="shoal")
    for name in ROOT.list_commands(context):
        command = ROOT.get_command(context, name)
        yield (name,), command
        for inner in getattr(command, "list_commands", lambda _: [])(context):
            yield (name, inner), command.get_command(context, inner)


def sections(text):
    """The names under each heading of a help page."""
    found = {}
    for line in text.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            names = found.setdefault(line[:-1], [])
        elif line.startswith("  ") and line[2:3].strip() and found:
            names.append(line.split()[0])
    return found


def test_commands_are_listed_by_task(shoal):
    told = sections(shoal("--help").out)
    assert [heading for heading in told if heading != "Options"] == list(TASKS)
    listed = [name for task in TASKS for name in told[task]]
    assert sorted(listed) == sorted(ROOT.list_commands(typer.Context(ROOT)))
    assert ("init" in told["Start"], "anonymize" in told["Publish"], "attack" in told["Attack"]) == (True, True, True)


COMMANDS = dict(commands())


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_each_command_has_an_example_that_is_right(shoal, words):
    command = COMMANDS[words]
    helped = " ".join(shoal(*words, "--help").out.split())
    _, found, example = helped.rpartition("Example: ")
    assert found
    called = shlex.split(example)
    assert called[: 1 + len(words)] == ["shoal", *words]
    given = called[1 + len(words) :]
    inner = getattr(command, "get_command", None)
    if inner is not None:
        command, given = inner(typer.Context(command), given[0]), given[1:]
    assert command.make_context(words[-1], given).params


def test_attack_without_a_name_lists_the_attacks(shoal):
    ran = shoal("attack")
    assert (ran.code, ran.err) == (0, "")
    assert "homogeneity" in sections(ran.out)["Commands"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["anon"], {"anonymize"}),
        (["attack", "homo"], {"homogeneity"}),
        (["verify", "--orig"], {"--original"}),
    ],
)
def test_bash_completes(typed, offered):
    shoal = Path(sys.executable).with_name("shoal")
    script = """
        eval "$("$0" --show-completion)"
        COMP_WORDS=(shoal "$@"); COMP_CWORD=$#
        _shoal_completion "$0"
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    ran = subprocess.run(["bash", "-c", script, shoal, *typed], capture_output=True, text=True, check=True)
    assert offered == {*ran.stdout.split()}, ran
