"""A run that is killed leaves no release or a whole one, and the next run clears what it left."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w

import shoal
from shoal.publish.folder import Places
from shoal.runtime.tempdir import settle

KILLS = 30


def shoal_command(folder, *more):
    script = Path(sys.executable).with_name("shoal")
    data, policy = folder / "people.parquet", folder / "policy.toml"
    how = ["--out", folder / "out", "--engine", "duckdb", "--memory", "256MB", "--json", *more]
    return [str(part) for part in (script, "anonymize", data, "--policy", policy, *how)]


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    rows = 60_000
    people = {name: rng.integers(0, size, rows) for name, size in {"age": 60, "zip": 90, "sex": 2, "ill": 9}.items()}
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    quasi = {"role": "quasi-identifier"}
    policy = {
        "attributes": {
            "age": quasi | {"hierarchy": {"intervals": [5, 20]}},
            "zip": quasi | {"hierarchy": {"intervals": [10, 30]}},
            "sex": quasi | {"hierarchy": {"flat": True}},
            "ill": {"role": "sensitive"},
        },
        "require": [{"model": "k-anonymity", "k": 5}, {"model": "distinct-l-diversity", "l": 3}],
        "method": {"algorithm": "datafly", "suppression": 0.05},
    }
    (tmp_path / "policy.toml").write_text(tomli_w.dumps(policy))
    return tmp_path


def held(folder):
    """What is in the folder beside the input; a release that is there must be whole."""
    found = {path.name for path in folder.iterdir()} - {"people.parquet", "policy.toml"}
    if "out" in found:
        verdicts = shoal.verify(folder / "out", original=str(folder / "people.parquet"))
        assert all(verdict.holds for verdict in verdicts)
        assert "out.private" in found
    return found


@pytest.mark.slow
@pytest.mark.parametrize("older", [False, True])
def test_killed_at_any_moment(folder, older):
    force = ["--force"] if older else []
    if older:
        subprocess.run(shoal_command(folder), check=True, capture_output=True)
    started = time.perf_counter()
    subprocess.run(shoal_command(folder, "--force"), check=True, capture_output=True)
    whole = time.perf_counter() - started
    draw = random.Random(7)
    ended = 0
    for at in range(KILLS // 2):
        if not older:
            for name in ("out", "out.private"):
                subprocess.run(["rm", "-rf", folder / name], check=True)
        process = subprocess.Popen(shoal_command(folder, *force), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        # spread over the run, and denser at its end, where files are moved
        share = (at + draw.random()) / (KILLS // 2)
        time.sleep(whole * (share if at % 2 else 1 - (1 - share) ** 3))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        ended += process.returncode == 0
        found = held(folder)
        assert not older or "out" in found or any(".shoal-" in name for name in found)
        again = subprocess.run(shoal_command(folder, "--force"), capture_output=True, text=True, check=False)
        assert again.returncode == 0, again.stderr
        assert held(folder) == {"out", "out.private"}
    assert ended < KILLS // 2


@pytest.mark.some(8)
@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("moment", range(5))
@pytest.mark.parametrize("reader", ["next run", "out", "out.private"])
def test_killed_between_two_moves(tmp_path, moment, older, reader):
    """Every state that a kill can leave while both folders are moved into place, met by whoever comes next."""
    if older:
        fill(tmp_path, "old")
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    script += f"from test_killed import *; die_after({moment}); fill(Path({str(tmp_path)!r}), 'new')"
    killed = subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    assert killed == (moment < (4 if older else 2))  # each new folder is moved in, each old one away
    if reader != "next run":
        settle(tmp_path / reader)  # as whoever reads it does first
        assert (tmp_path / "out").exists() == (tmp_path / "out.private").exists() == (older or not killed)
    Places.choose(tmp_path / "out", None, None, force=True)  # as the next run does first
    names = {path.name for path in tmp_path.iterdir()}
    if not killed:
        assert names == {"out", "out.private"}
        assert (tmp_path / "out" / "data.csv").read_text() == "new"
    elif older:
        assert names == {"out", "out.private"}
        assert (
            (tmp_path / "out" / "data.csv").read_text()
            == (tmp_path / "out.private" / "rows.arrow").read_text()
            == "old"
        )
    else:
        assert not names
    fill(tmp_path, "newest", force=True)
    assert {path.name for path in tmp_path.iterdir()} == {"out", "out.private"}


@pytest.mark.parametrize("call", ["rename", "last"])
@pytest.mark.parametrize("older", [False, True])
def test_killed_before_or_during_the_last_step(tmp_path, call, older):
    """Both folders are moved, and a table of a database is not committed yet: the folders go back with it."""
    if older:
        fill(tmp_path, "old")
    at_the_end = "real = os.rename\nos.rename = lambda of, to: (die if Path(of).name == 'waiting' else real)(of, to)\n"
    fill_and_die(tmp_path, "", before=at_the_end if call == "rename" else "")
    settle(tmp_path / "out")
    Places.choose(tmp_path / "out", None, None, force=True)
    there = [path / file for path, file in ((tmp_path / "out", "data.csv"), (tmp_path / "out.private", "rows.arrow"))]
    expected = "new" if call == "last" else "old"
    if call == "last" or older:
        assert [path.read_text() for path in there] == [expected, expected]
    assert {path.name for path in tmp_path.iterdir()} == ({"out", "out.private"} if call == "last" or older else set())


@pytest.mark.parametrize("happened", [False, True])
@pytest.mark.parametrize("older", [False, True])
def test_killed_in_a_last_step_that_can_be_asked_about(tmp_path, older, happened):
    """Whoever reads cannot ask and leaves all as it is; the next run asks, and puts back what did not happen."""
    if older:
        fill(tmp_path, "old")
    fill_and_die(tmp_path, "of the table")
    for _ in range(2):
        settle(tmp_path / "out")
        assert (tmp_path / "out" / "data.csv").read_text() == "new"
    asked = []
    Places.choose(tmp_path / "out", None, None, force=True, ask=lambda mark: (asked.append(mark), happened)[1])
    assert asked == ["of the table"]
    names = {path.name for path in tmp_path.iterdir()}
    if happened or older:
        there = [tmp_path / "out" / "data.csv", tmp_path / "out.private" / "rows.arrow"]
        assert {path.read_text() for path in there} == {"new" if happened else "old"}
    assert names == ({"out", "out.private"} if happened or older else set())


def fill_and_die(folder, mark, *, before=""):
    """Replace the release in a process of its own, which kills itself in the last step."""
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    script += f"from test_killed import *\ndef die(*_): os.kill(os.getpid(), signal.SIGKILL)\n{before}"
    script += f"fill(Path({str(folder)!r}), 'new', last=die, mark={mark!r})"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL


def fill(folder, text, *, force=True, last=None, mark=""):
    places = Places.choose(folder / "out", None, None, force=force)
    with places.staging_folders(last, lambda: mark) as (public, private):
        for path, file in ((public, "data.csv"), (private, "rows.arrow")):
            (path / file).write_text(text)
            (path / "manifest.json").write_text(json.dumps({"shoal": "0"}))


def die_after(moves):
    """End this process with SIGKILL before the move of this number."""
    real, done = os.rename, 0

    def rename(source, target):
        nonlocal done
        if done == moves:
            os.kill(os.getpid(), signal.SIGKILL)
        done += 1
        return real(source, target)

    os.rename = rename
