"""Whatever goes wrong while a release is made: the old one or the new one is there, whole, and nothing is left over."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path

import duckdb
import pytest

import shoal
from shoal import api
from shoal.engines.reading.content import open_content
from shoal.errors import NotVerified, ShoalError


@pytest.mark.thorough
def test_sigterm_cleans_up(desk, process):
    started = process(
        "anonymize", "-", "--policy", desk.folder / "policy.toml", "--out", desk.out, stdin=subprocess.PIPE
    )
    started.stdin.write("x" * (1 << 20))  # returns when the process is reading
    started.stdin.flush()
    assert any(".out.shoal-" in path.name for path in desk.folder.iterdir())
    second = process("anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.out)
    _, said = second.communicate()
    assert second.returncode == 2
    assert re.fullmatch(
        r"shoal: out: another run is writing this release \(\.out\.shoal-.{8} is its folder\); "
        r"wait until it has ended, or choose another folder\n",
        said,
    )
    started.send_signal(signal.SIGTERM)
    out, err = started.communicate()
    assert (started.returncode, out, err) == (143, "", "shoal: terminated; nothing was written\n")
    assert sorted(path.name for path in desk.folder.iterdir()) == ["people.csv", "policy.toml"]


@pytest.mark.parametrize(("sent", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interruption_of_which_a_library_makes_an_error_of_its_own(desk, sent, code):
    """As the driver of PostgreSQL does while it asks for the next rows to send."""
    script = (
        "import signal, sys, shoal.pipeline; from shoal.errors import BadOutput; from shoal.cli import script\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # who runs the tests may have ignored it
        "def solve(*_):\n"
        f"    try: signal.raise_signal(signal.{sent})\n"
        "    except KeyboardInterrupt: raise BadOutput('the driver failed') from None\n"
        "shoal.pipeline.solve = solve; script()"
    )
    how = ["anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.out]
    ran = subprocess.run([sys.executable, "-c", script, *how], capture_output=True, text=True, check=False)
    said = f"shoal: {'terminated' if code == 143 else 'interrupted'}; nothing was written\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (code, "", said)


@pytest.mark.parametrize("more", [[], ["--json"]])
@pytest.mark.parametrize(("sent", "code", "kind"), [("SIGINT", 130, "Interrupted"), ("SIGTERM", 143, "Terminated")])
def test_an_interruption_while_the_program_is_imported(sent, code, kind, more):
    script = (
        "import signal, sys; from importlib.abc import MetaPathFinder; from shoal.cli import script\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # who runs the tests may have ignored it
        "class Interrupting(MetaPathFinder):\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == 'typer': signal.raise_signal(signal.{sent})\n"
        "sys.meta_path.insert(0, Interrupting()); script()"
    )
    ran = subprocess.run([sys.executable, "-c", script, "metrics", *more], capture_output=True, text=True, check=False)
    said = f"{kind.lower()}; nothing was written"
    assert (ran.returncode, ran.stdout) == (code, "")
    assert ran.stderr == (
        json.dumps({"error": {"kind": kind, "message": said, "exit_code": code}}) + "\n" if more else f"shoal: {said}\n"
    )


NO_VERDICT = (
    "but there is no verdict yet: do not hand it out before shoal audit out --original … (in Python shoal.audit)"
)


@pytest.mark.parametrize(
    ("where", "verdict"),
    [
        ("inspect_public_release", NO_VERDICT),
        ("audit_with_original", NO_VERDICT),
        ("write_recommendation", NO_VERDICT),
        ("write_reports", "verdict: publish"),
    ],
)
def test_an_interruption_after_the_release_is_published_tells_its_verdict(desk, monkeypatch, where, verdict):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"shoal.pipeline.{where}", interrupted)
    ran = desk.run("anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.out)
    said = f"shoal: interrupted; out was verified and published, {verdict}; its report may be missing or unfinished\n"
    assert (ran.code, ran.out, ran.err) == (130, "", said)
    assert desk.verify("--original", desk.data).code == 0
    manifest = json.loads((desk.private / "manifest.json").read_text("utf-8"))
    assert ("recommendation" in manifest) == (verdict != NO_VERDICT)


@pytest.mark.advice
def test_an_interruption_while_changes_are_tried_tells_the_verdict(desk, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    desk.table("age,disease\n" + "".join(f"{age},{ill}\n" for age in (31, 52) for ill in ("hiv", "hiv", "hiv")))
    desk.policy({"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}, "disease": "sensitive"})
    monkeypatch.setattr("shoal.explore.advice.RemedySearch.try_changes", interrupted)
    ran = desk.run("anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.out)
    assert (ran.code, ran.out) == (130, "")
    assert "out was verified and published, verdict: do not publish (" in ran.err
    manifest = json.loads((desk.private / "manifest.json").read_text("utf-8"))
    assert manifest["recommendation"]["advice"] == "do not publish"
    assert manifest["recommendation"]["remedies"] == []
    assert all((place / "report.html").is_file() for place in (desk.out, desk.private))
    assert desk.verify("--original", desk.data).code == 0


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EMFILE])
def test_an_error_of_the_system_that_nobody_expects(desk, monkeypatch, code):
    """Wherever it comes, it is no fault of the program, and its path is not told."""

    def fail(*_):
        raise OSError(code, "as the system says", "/home/ann/secret")

    monkeypatch.setattr("shoal.pipeline.solve", fail)
    desk.refused(2, says=f"the system could not do what was asked of it ({os.strerror(code)}); nothing was written")


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_full_disk_behind_stdout(desk, process, more):
    with Path("/dev/full").open("w") as full:
        started = process(
            "anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.out, *more, stdout=full
        )
        _, err = started.communicate()
    said = "the result could not be printed (No space left on device); out was verified and published, verdict: publish"
    assert started.returncode == 2
    assert err == (
        json.dumps({"error": {"kind": "BadOutput", "message": said, "exit_code": 2}}) + "\n"
        if more
        else f"shoal: {said}\n"
    )
    assert desk.verify().code == 0


def test_a_full_disk_behind_the_help(process):
    with Path("/dev/full").open("w") as full:
        started = process("metrics", "--help", stdout=full)
        _, err = started.communicate()
    assert (started.returncode, err) == (2, "shoal: the help could not be printed (No space left on device)\n")


def test_a_full_disk_behind_stdout_and_stderr(desk, process):
    with Path("/dev/full").open("w") as full:
        started = process("metrics", stdout=full, stderr=full)
        started.communicate()
    assert started.returncode == 2


@pytest.mark.parametrize("last", [False, True])
def test_a_full_disk_behind_the_log(desk, process, last, tmp_path):
    """The first event cannot be logged: nothing is done; nor can the last: the release is there."""
    log = tmp_path / "log"
    lines = 7 if last else 0
    script = (
        "import sys, shoal.runtime.events as events; from shoal.cli.main import script\n"
        "real = events.JsonLines.format; done = []\n"
        "def format(self, record):\n"
        f"    if len(done) == {lines}: raise OSError(28, 'No space left on device')\n"
        "    done.append(1); return real(self, record)\n"
        "events.JsonLines.format = format; sys.argv[0] = 'shoal'; script()"
    )
    how = ["--policy", desk.folder / "policy.toml", "--out", desk.out, "--log-json", log]
    ran = subprocess.run(
        [sys.executable, "-c", script, "anonymize", desk.data, *how],
        capture_output=True,
        text=True,
        check=False,
    )
    state = "out was verified and published, verdict: publish" if last else "nothing was written"
    assert (ran.returncode, ran.stderr) == (
        2,
        f"shoal: log: the log could not be written (No space left on device); {state}\n",
    )
    assert desk.out.exists() == last


def test_a_log_on_a_full_disk(desk, process):
    started = process(
        "anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.out, "--log-json", "/dev/full"
    )
    _, err = started.communicate()
    said = "shoal: full: the log could not be written (No space left on device); nothing was written\n"
    assert (started.returncode, err) == (2, said)
    assert not desk.out.exists()


# what no user should be able to break


def test_a_policy_nested_deeply(desk):
    policy = desk.folder / "policy.toml"
    policy.write_text("a = " + "[" * 5000 + "]" * 5000 + "\n")
    desk.refused(2, says="policy.toml: lists or tables are nested too deeply for a policy")


def test_thousands_of_models(desk):
    desk.policy(require=[{"model": "k-anonymity", "k": 3}] * 1001)
    desk.refused(2, says="policy.toml: require: there are 1,001 models; a policy may ask for 1,000 at most")


@pytest.mark.parametrize(
    "arguments",
    [
        "init {}",
        "init people.csv --out {}",
        "verify out --original {}",
        "audit {}",
        "apply {} people.csv --out o",
        "risk {} --qi age",
        "anonymize people.csv --policy policy.toml --out {}",
        "anonymize people.csv --policy policy.toml --out o --private {}",
    ],
)
def test_a_name_of_300_characters(desk, monkeypatch, arguments):
    monkeypatch.chdir(desk.folder)
    assert desk.anonymize().code == 0
    ran = desk.run(*arguments.format("x" * 300).split())
    assert ran.code == 2
    assert re.fullmatch(r"shoal: x{20}(x*: |…: ).*(too long|there is no such).*\n", ran.err)


@pytest.mark.parametrize("algorithm", ["optimal", "mondrian", "datafly"])
def test_numbers_beyond_all_floats(desk, algorithm):
    """Figures that no float can tell are left out, without a word of NumPy's."""
    rows = "".join(f"p{i},{10**399 + i if i % 3 == 0 else i},f,flu\n" for i in range(12))
    desk.table(f"name,age,sex,disease\n{rows}")
    desk.policy(method={"algorithm": algorithm, "suppression": 0.3})
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert desk.anonymize().code == 0
    assert desk.verify("--original", desk.data).code == 0


def test_a_view_that_reads_other_files(desk):
    (desk.folder / "secret.csv").write_text("name,age,sex,disease\nann,31,f,flu\n")
    with duckdb.connect(desk.folder / "given.duckdb") as db:
        db.execute(f"CREATE TABLE people AS FROM read_csv('{desk.data}')")
        db.execute("CREATE VIEW inside AS FROM people")
        db.execute(f"CREATE VIEW outside AS FROM read_csv('{desk.folder}/secret.csv')")
        db.execute(f"CREATE VIEW listing AS FROM glob('{desk.folder}/*')")
    for engine in ("duckdb", "arrow"):
        for view in ("outside", "listing"):
            said = desk.refused(2, "anonymize", f"{desk.folder}/given.duckdb::{view}", "--policy",
                                desk.folder / "policy.toml", "--out", desk.out, "--engine", engine)  # fmt: skip
            assert said == (
                "shoal: given.duckdb: this view reads files outside the database, which is not allowed; "
                "make a table of it\n"
            )
    assert desk.anonymize(data=f"{desk.folder}/given.duckdb::inside").code == 0


def test_an_input_that_is_cut_short_while_it_is_read(desk, monkeypatch):
    """A mapped file would end the process with SIGBUS."""
    rows = "".join(f"p{i},{i % 90},f,flu\n" for i in range(50_000))
    desk.table(f"name,age,sex,disease\n{rows}")
    content = open_content(desk.data)
    desk.data.write_text("")
    assert content.data.count(b"\n") == 50_001


@pytest.mark.parametrize("doing", ["anonymize", "save", "verify"])
def test_a_refusal_leaves_no_folder_behind_while_somebody_holds_it(desk, doing, monkeypatch, tmp_path):
    (tmp_path / "spill").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spill"))
    policy = shoal.Policy.load(desk.folder / "policy.toml")
    if doing == "save":
        monkeypatch.setattr("shoal.pipeline.judge_files", fail)
    if doing == "verify":
        assert desk.anonymize().code == 0
        monkeypatch.setattr("shoal.api.releases.judge", fail)
    if doing == "anonymize":
        policy = shoal.Policy(**{**dict(policy), "require": [{"model": "k-anonymity", "k": 100}]})
    checking = partial(shoal.verify, desk.out, str(desk.data), memory="64MB")
    publishing = partial(api.publish, str(desk.data), policy, tmp_path / "other", engine="duckdb")
    with pytest.raises(ShoalError) as held:
        (checking if doing == "verify" else publishing)()
    assert held.tb is not None  # which holds every local variable
    left = [path.name for folder in (desk.folder, tmp_path, tmp_path / "spill") for path in folder.iterdir()]
    assert not [name for name in left if "shoal" in name]


def fail(*_, **__):
    raise NotVerified("it does not hold")
