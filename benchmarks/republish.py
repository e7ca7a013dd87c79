"""Publishing again: a million rows of which one in a hundred is new (S3.10).

python benchmarks/republish.py     writes republish.md

The cost of an increment is what a table with new rows takes longer to be planned than the same without; beside it
stand the plan of all rows afresh, and the reading of the table, which nobody is spared.
"""

import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import HERE, SHOAL, cpu, measured_on, process
from generated import SURVEY, Column, people
from pyarrow import csv

from shoal.api.next_releases import prepare_next_release
from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.pipeline import make_release
from shoal.policy.document import Policy

ROWS, SHARE, LEFT = 1_000_000, 100, 1000
"""One row in SHARE is new, one in LEFT of the others is gone."""
WAYS: Mapping[str, Mapping[str, Any]] = {
    "monotone": {"require": [{"model": "k-anonymity", "k": 10}, {"model": "distinct-l-diversity", "l": 2}]},
    "alp-dif": {"require": [{"model": "k-anonymity", "k": 10}, {"model": "alp-dif", "alp": 0.6, "dif": 0.5}]},
    "m-invariance": {"require": [{"model": "distinct-l-diversity", "l": 2}]},
}
HEADS = [
    *("way", "rows", "reading, s", "afresh, s", "nothing changed, s", "1 % new, s", "1 % new, 0.1 % gone, s"),
    *("left out", "counterfeits", "then nothing changed, s", "then 1 % new, s"),
    *("`anonymize`, s", "`republish`, s", "`--increment`, s"),
]


def main() -> None:
    rows = [measure(way) for way in WAYS]
    lines = [
        "# Publishing again",
        "",
        measured_on("python benchmarks/republish.py"),
        f"{ROWS:,} generated people with {len(SURVEY)} quasi-identifiers and a sensitive attribute of 20 values. The",
        f"table is published, and again with {ROWS // SHARE:,} people more, or with these and without {ROWS // LEFT:,}",
        "others. CPU seconds, one run each; the search is `optimal`, for alp-dif the paper's `greedy`. Reading: the",
        "file to columns. Afresh, nothing changed, …: from columns to a release in memory, not verified; left out and",
        "counterfeits are of the last of them. In the second release those are planned whom the first left out, and",
        "in the third, `then`, hardly anybody waits. The last three are the whole commands, from file to verified",
        "folders: `anonymize` of the table as it is now, `republish` of it with 1 % new and 0.1 % gone, and of the new",
        "rows alone.",
        "",
        f"| {' | '.join(HEADS)} |",
        "|---" * len(HEADS) + "|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]
    (HERE / "republish.md").write_text("\n".join(lines), "utf-8")


def policy(way: str) -> dict[str, Any]:
    quasi = {name: {"role": "quasi-identifier", "hierarchy": column.hierarchy} for name, column in SURVEY.items()}
    more = {"m": 2} if way == "m-invariance" else {}
    return {
        "attributes": {"id": "identifier", **quasi, "disease": "sensitive"},
        **WAYS[way],
        "method": {"algorithm": "greedy" if way == "alp-dif" else "optimal", "suppression": 0.05},
        "republish": {"key": "id", "way": way, **more},
    }


def measure(way: str) -> list[str]:
    print(f"republish: {way} …", file=sys.stderr)
    everybody = people({**SURVEY, "disease": Column(20, spread=1.5)}, ROWS + 2 * ROWS // SHARE)
    everybody = everybody.append_column("id", pa.array([f"p{i:08}" for i in range(everybody.num_rows)]))
    stay = np.flatnonzero(np.random.default_rng(0).random(ROWS) * LEFT >= 1)
    then = ROWS + ROWS // SHARE
    tables = {
        "first": everybody.slice(0, ROWS),
        "more": everybody.slice(0, then),
        "changed": everybody.take(np.append(stay, np.arange(ROWS, then))),
        "later": everybody.take(np.append(stay, np.arange(ROWS, everybody.num_rows))),
        "new": everybody.slice(ROWS, then - ROWS),
    }
    with tempfile.TemporaryDirectory() as folder:
        place, rules = Path(folder), Policy(**policy(way))
        rules.save(place / "policy.toml")
        read = {}
        for name, table in tables.items():
            csv.write_csv(table, place / f"{name}.csv")
            read[name] = ArrowEngine().read(place / f"{name}.csv", ReadOptions())
        make_release(read["first"], rules).save(place / "out")
        following = prepare_next_release(place / "out.private")
        reading = cpu(lambda: ArrowEngine().read(place / "changed.csv", ReadOptions()), times=1)
        afresh = cpu(lambda: make_release(read["changed"], rules), times=1)
        planned = [cpu(partial(make_release, read[name], following), times=1) for name in ("first", "more", "changed")]
        release = make_release(read["changed"], following)
        release.save(place / "second")
        third = prepare_next_release(place / "second.private")
        later = [cpu(partial(make_release, read[name], third), times=1) for name in ("changed", "later")]
        command = ["--policy", place / "policy.toml", "--force"]
        whole, _ = process([SHOAL, "anonymize", place / "changed.csv", *command, "--out", place / "new"], times=1)
        republish = [SHOAL, "republish", place / "out.private"]
        again_, _ = process([*republish, place / "changed.csv", *command, "--out", place / "out2"], times=1)
        new = [*republish, place / "new.csv", *command, "--increment", "--out", place / "out3"]
        alone = "" if way == "m-invariance" else f"{process(new, times=1)[0]:.1f}"
    told = [f"{release.plan.after.suppressed_rows:,}", f"{release.shown.added:,}"]
    seconds = [f"{each:.1f}" for each in (reading, afresh, *planned)]
    more = [f"{each:.1f}" for each in (*later, whole, again_)]
    print(f"republish: {way} {' '.join([*seconds, *more])} {alone}", file=sys.stderr)
    return [way, f"{tables['changed'].num_rows:,}", *seconds, *told, *more, alone]


if __name__ == "__main__":
    main()
