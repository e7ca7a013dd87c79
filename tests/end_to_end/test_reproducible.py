"""With --reproducible, the same input gives the same bytes: whatever the hash seed, the cores and the load."""

import hashlib
import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import hashlib, json, os, sys, threading, warnings
from pathlib import Path

folder, cores, loaded = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "loaded"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from shoal import Policy
from shoal.api import publish

pa.set_cpu_count(2 * cores)
if loaded:
    numbers = np.random.default_rng(0).random(200_000)
    for _ in range(3):
        threading.Thread(target=lambda: [np.sort(numbers) for _ in range(100_000)], daemon=True).start()

draw = np.random.default_rng(1)
rows = 1_500
ills = [f"ill {i}" for i in range(30)]
people = {
    "age": draw.integers(18, 90, rows),
    "zip": [f"{code:05}" for code in draw.integers(0, 300, rows)],
    "job": draw.choice(list("abcdefgh"), rows),
    "ill": draw.choice(ills, rows),
}
parquet.write_table(pa.table(people), folder / "people.parquet", row_group_size=100)
quasi = {"age": {"intervals": [5, 20]}, "zip": {"mask": "right"}, "job": {"flat": True}}
levels = {name: {"role": "quasi-identifier", "hierarchy": form} for name, form in quasi.items()}
boxes = dict.fromkeys(quasi, "quasi-identifier")
k = {"model": "k-anonymity", "k": 3}
values = [
    {"model": "alpha-k", "alpha": dict.fromkeys(ills[:9], 0.9), "k": 2},
    {"model": "alp-dif", "alp": 0.9},
    {"model": "entropy-l-diversity", "l": 1.2},
    {"model": "beta-likeness", "beta": 60, "reference": "release"},
]
of_values = [{"model": "distinct-l-diversity", "l": 2}]
cases = {
    "optimal": ("arrow", levels, [k, *values], {"suppression": 0.5}),
    "on disk": ("duckdb", levels, [k, *values], {"suppression": 0.5}),
    "boxes": ("arrow", boxes, [k], {"algorithm": "mondrian-relaxed", "seed": 7, "ties": "random"}),
    "boxes on disk": ("duckdb", boxes, [k], {"algorithm": "mondrian"}),
    "groups": ("arrow", boxes, of_values, {"algorithm": "anatomy"}),
    "cells": ("arrow", levels, [k], {"algorithm": "local"}),
}
for name, (engine, attributes, require, method) in cases.items():
    policy = Policy(attributes={**attributes, "ill": "sensitive"}, require=require, method=method)
    with warnings.catch_warnings(action="ignore"):
        publish(folder / "people.parquet", policy, folder / name, engine=engine, reproducible=True)
"""
SURROUNDINGS = [("0", 1, "idle"), ("1", 8, "idle"), ("2", 8, "loaded")]
"""Hash seed, number of cores at most, load."""


@pytest.mark.slow
def test_the_same_bytes_for_any_hash_seed_number_of_cores_and_load(tmp_path):
    found = []
    for seed, cores, load in SURROUNDINGS:
        folder = tmp_path / "work"  # the same one: a policy tells where its files are
        folder.mkdir()
        how = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", SCRIPT, folder, str(cores), load], env=how, check=True)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        found.append({str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files})
        folder.rename(tmp_path / f"{seed} {load}")
    first, *others = found
    assert json.loads((tmp_path / "0 idle" / "optimal" / "manifest.json").read_text("utf-8"))["rows"]["released"] > 0
    assert {"boxes on disk.private/points.parquet", "optimal/report.html", "groups/sensitive.parquet"} <= first.keys()
    for other in others:
        assert [file for file in first if first[file] != other.get(file)] == []
