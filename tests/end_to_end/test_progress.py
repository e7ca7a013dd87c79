"""On a terminal every command shows the phase that it is in; nothing of it remains, and nowhere else is it shown."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from naive import THOROUGH

from shoal.datasets import write_census

COLOUR, MOVE = re.compile(r"\x1b\[[0-9;]*m"), re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")


@pytest.fixture
def census(tmp_path):
    write_census(tmp_path, rows=1000, k=5)
    return tmp_path


def in_terminal(folder, *arguments):
    """Run a command whose stderr is a terminal; return the words that begin its lines there, in order."""
    parent, child = pty.openpty()
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm-256color"}
    command = [Path(sys.executable).with_name("shoal"), *arguments]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=child, env=environment)
    os.close(child)
    chunks = []
    while True:
        try:
            chunks.append(os.read(parent, 1 << 16))
        except OSError:  # the terminal closed
            break
        if not chunks[-1]:
            break
    os.close(parent)
    out = process.communicate()[0].decode()
    assert process.returncode == 0, (out, chunks)
    lines = MOVE.sub("\n", COLOUR.sub("", b"".join(chunks).decode())).splitlines()
    said = [line.split()[0] for line in lines if "━" in line]
    return list(dict.fromkeys(said)), out


ANONYMIZE = ("anonymize", "census.csv", "--policy", "policy.toml", "--out", "out")


def test_every_phase_of_a_release(census):
    phases, out = in_terminal(census, *ANONYMIZE)
    wanted = ["reading", "counting", "searching", "recoding", "writing", "verifying", "auditing"]
    assert [phase for phase in phases if phase in wanted] == wanted
    assert "reading" not in out
    phases, _ = in_terminal(census, "verify", "out", "--original", "census.csv")
    assert {"verifying", "reading"} <= {*phases}
    phases, _ = in_terminal(census, "attack", "homogeneity", "out")
    assert {"reading", "attacking"} <= {*phases}
    if THOROUGH:
        phases, _ = in_terminal(census, "audit", "out")
        assert {"reading", "auditing"} <= {*phases}


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("command", "last"),
    [
        (("init", "census.csv", "--out", "drafted.toml"), "drafting"),
        (("measure", "census.csv", "--qi", "age,sex"), "counting"),
        (("risk", "census.csv", "--qi", "age,sex"), "counting"),
    ],
)
def test_every_phase_of_a_look_at_a_table(census, command, last):
    phases, _ = in_terminal(census, *command)
    assert {"reading", last} <= {*phases}


@pytest.mark.thorough
def test_nothing_is_shown_with_json(census):
    phases, out = in_terminal(census, *ANONYMIZE, "--json")
    assert phases == []
    assert out.startswith("{")


@pytest.mark.thorough
def test_nothing_is_shown_where_there_is_no_terminal(census, process):
    started = process(*ANONYMIZE, cwd=census)
    assert started.communicate()[1] == ""
