"""The joining attack: a million released rows against a register of a million people (S2.1).

python benchmarks/join.py     writes join.md

Half of the register are people of the release. The floor is a process that only reads both files.
"""

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common import HERE, SHOAL, measured_on, process
from generated import EIGHT, SURVEY, Column, Columns, people
from pyarrow import csv

from shoal.pipeline import make_release
from shoal.policy.document import Policy

ROWS, K, L = 1_000_000, 10, 2
DISEASE = Column(20, spread=1.5)
RELEASES: Mapping[str, tuple[Columns, Mapping[str, Any]]] = {
    "full-domain (Datafly)": (SURVEY, {"algorithm": "datafly", "suppression": 0.02}),
    "boxes (strict Mondrian)": (EIGHT, {"algorithm": "mondrian"}),
    "exact (Anatomy)": (EIGHT, {"algorithm": "anatomy"}),
}


def main() -> None:
    if len(sys.argv) > 1:
        read(sys.argv[1:])
        return
    rows = [measure(kind, *how) for kind, how in RELEASES.items()]
    heads = ["release", "classes", "attack, s", "reading, s", "peak, MB", "matched", "one candidate", "certain value"]
    lines = [
        "# Joining",
        "",
        measured_on("python benchmarks/join.py"),
        f"`shoal attack join RELEASE --register PEOPLE`: {ROWS:,} released rows of generated people, k = {K} (Anatomy:",
        f"l = {L}), {len(SURVEY)} (full-domain) or {len(EIGHT)} quasi-identifiers and a sensitive attribute with",
        f"{DISEASE.values} values, against a register of {ROWS:,} people, half of whom are in the release.",
        "CPU seconds (user + system) and peak memory of the whole command, the median of three runs. Reading is the",
        "floor: a process that only reads both files and encodes their columns.",
        "",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]
    (HERE / "join.md").write_text("\n".join(lines), "utf-8")


def measure(kind: str, columns: Columns, method: Mapping[str, Any]) -> list[str]:
    print(f"join: {kind} …", file=sys.stderr)
    everybody = people({**columns, "disease": DISEASE}, ROWS + ROWS // 2)
    with tempfile.TemporaryDirectory() as folder:
        out, register = Path(folder) / "out", Path(folder) / "people.csv"
        release = make_release(everybody.slice(0, ROWS), policy(columns, method))
        release.save(out)
        csv.write_csv(everybody.slice(ROWS // 2).drop_columns(["disease"]), register)
        said: list[str] = []
        attack = [SHOAL, "attack", "join", out, "--register", register, "--json"]
        spent, peak = process(attack, times=3, heard=said.append)
        floor, _ = process([sys.executable, __file__, out / "data.csv", register], times=3)
    figures = json.loads(said[0])["figures"]
    told = [figures["matched_people"], figures["unique_matches"], figures["learned"]["disease"]["certain"]]
    classes = len(release.plan.after.classes)
    print(f"join: {spent:.1f} s, reading {floor:.1f} s, {peak:.0f} MB", file=sys.stderr)
    return [kind, f"{classes:,}", f"{spent:.1f}", f"{floor:.1f}", f"{peak:.0f}", *(f"{number:,}" for number in told)]


def policy(columns: Columns, method: Mapping[str, Any]) -> Policy:
    """k-anonymity, along hierarchies where they are searched for a node; of Anatomy, diversity."""
    along = method["algorithm"] == "datafly"
    quasi = {name: {"role": "quasi-identifier"} for name in columns}
    attributes = {
        name: given | ({"hierarchy": columns[name].hierarchy} if along else {}) for name, given in quasi.items()
    }
    diverse = {"model": "distinct-l-diversity", "l": L, "attribute": "disease"}
    require = [diverse] if method["algorithm"] == "anatomy" else [{"model": "k-anonymity", "k": K}]
    return Policy.model_validate(
        {"attributes": {**attributes, "disease": "sensitive"}, "require": require, "method": dict(method)}
    )


def read(files: list[str]) -> None:
    from shoal.engine_port import ReadOptions
    from shoal.engines.arrow import ArrowEngine

    for file in files:
        ArrowEngine().read(file, ReadOptions())


if __name__ == "__main__":
    main()
