"""`make demo`: its commands as they are written, on the table that it makes."""

import html
import re
import shlex
from pathlib import Path

import pyarrow.compute as pc
import pytest
from pyarrow import csv

from shoal.datasets import write_census

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
WRITTEN = re.findall(r"^\t\$\(BIN\)/shoal (.*demo/census.csv.*)$", MAKEFILE, re.MULTILINE)
COMMANDS = [shlex.split(line) for line in WRITTEN]
PICTURE = (ROOT / "docs" / "demo.svg").read_text("utf-8")


def test_the_demo_runs_compare_anonymize_and_verify():
    assert [command[0] for command in COMMANDS] == ["compare", "anonymize", "verify"]


@pytest.mark.thorough
def test_the_demo_ends_with_a_release_to_publish(tmp_path, monkeypatch, shoal):
    write_census(tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    compared, released, verified = [shoal(*command) for command in COMMANDS]
    assert [ran.code for ran in (compared, released, verified)] == [0, 0, 0]
    assert "The same rows as each would release them" in compared.out
    for algorithm in ("optimal", "mondrian", "local"):
        assert len(re.findall(rf"^ .*\b{algorithm} ", compared.out, re.MULTILINE)) == 4
    assert released.out.splitlines()[-1] == (
        "Verdict: both promises hold; 0 of 4 kinds of attack succeed. Advice: publish."
    )
    assert "demo/out (publish this)" in released.out
    assert released.err == ""
    assert "FAILS" not in verified.out
    told = re.findall(r"^ (?:rows|classes|release) .*|^Verdict: .*", released.out, re.MULTILINE)
    told += re.findall(r"^ (?:local|mondrian|optimal) .* (?=\S+ *$)", compared.out, re.MULTILINE)  # all but the seconds
    assert len(told) == 7
    shown = " ".join(html.unescape(re.sub(r"<[^>]+>", "", PICTURE)).split())
    for line in told:
        assert " ".join(line.split()).replace("demo/out", "out") in shown
    ages = csv.read_csv("demo/out/data.csv")["age"]
    assert pc.sum(pc.equal(ages, "*")).as_py() < len(ages) / 1_000
    assert max(map(len, (*compared.out.splitlines(), *released.out.splitlines()))) <= 80
