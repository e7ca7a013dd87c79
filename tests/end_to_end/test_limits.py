"""Inputs at the limits end in a release or in one sentence; `benchmarks/limits.py` measures them at full size."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import limits

SMALL = {
    "many distinct numbers": (limits.distinct, {"rows": 3000, "hierarchy": "{intervals = [10, 1000]}"}, 0, ""),
    "many distinct texts": (limits.distinct, {"rows": 3000, "hierarchy": '{mask = "right"}', "texts": True}, 0, ""),
    "many distinct numbers, Mondrian": (
        limits.distinct,
        {"rows": 3000, "hierarchy": "", "algorithm": "mondrian"},
        0,
        "",
    ),
    "many columns": (limits.columns, {"many": 60}, 0, ""),
    "many columns, left out": (limits.columns, {"many": 60, "kept": False}, 0, ""),
    "a large cell": (limits.cell, {"size": 65 << 20}, 2, "row 3 (line 4) has a cell of more than 64 MB"),
    "a large cell, Parquet": (limits.cell, {"size": 1 << 20, "kind": "parquet"}, 0, ""),
    "a deep hierarchy": (limits.depth, {"levels": 100}, 0, ""),
    "a long policy": (limits.policy_lines, {"lines": 1000}, 0, ""),
    "many requirements": (limits.requires, {"many": 100}, 0, ""),
    "an inflating Parquet file": (limits.inflating_parquet, {"rows": 10**5}, 0, ""),
    "an inflating XLSX file": (limits.inflating_xlsx, {"rows": 400}, 0, ""),
    "an inflating gzip file": (limits.gzipped, {"rows": 4000}, 0, ""),
}


@pytest.mark.some(3)
@pytest.mark.parametrize("what", SMALL)
def test_a_limit_in_small(desk, what):
    make, how, code, says = SMALL[what]
    data, policy, more = make(desk.folder, **how)
    (desk.folder / "policy.toml").write_text(policy, "utf-8")
    ran = desk.anonymize(*more, data=data)
    assert (ran.code, says in ran.err, "internal error" in ran.err) == (code, True, False), ran.err[-300:]
    assert desk.out.exists() == (code == 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", limits.CASES)
def test_a_limit_at_full_size(name):
    """A release, or one sentence; never a crash, nor more than the address space that is allowed."""
    how, _, _ = limits.measure(limits.CASES[name][1])
    assert how == "released" or how.startswith(("exit 2: ", "exit 3: ")), how
