"""C4.5 beside Weka's J48 in the same run, and on a million rows.

python benchmarks/c45.py     writes c45.md (S1.1)
"""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from adult import NINE, adult_uci
from common import HERE, cpu, measured_on, missing

from shoal.data.codes import Column, encode
from shoal.mining.c45 import C45

sys.path.insert(0, str(HERE / "peers"))
from arff import write_arff
from environment import peer_python

WARM, COLD = 5, 3
"""How often J48 trains: so often it counts, after so often that it does not."""
Coded = tuple[dict[str, Column], Column]


def main() -> None:
    lines = ["# C4.5", "", measured_on("python benchmarks/c45.py"), "", *table(), ""]
    (HERE / "c45.md").write_text("\n".join(lines), "utf-8")


def table() -> Iterator[str]:
    yield f"CPU seconds (user + system), medians of {WARM}. Ours: `C45().fit_codes` on coded columns. J48: Weka's, with"
    yield f"its defaults, the thread that trains, in one JVM; {COLD} earlier runs warm it up and are not counted."
    yield "Predicting: `predict_proba` on the training rows."
    yield ""
    yield "| table | rows | features | nodes, ours | nodes, J48 | ours, s | J48, s | J48 / ours | predicting, s |"
    yield "|---|---|---|---|---|---|---|---|---|"
    if why := missing("adult_uci"):
        yield f"| Adult, salary | {why} |" + " |" * 7
    else:
        complete = adult_uci().drop_null()
        yield row("Adult, salary", coded(complete.select([*NINE, "salary"]), "salary"), beside=True)
    yield row("generated, mixed", coded(people(30_000), "class"), beside=True)
    yield row("generated, mixed, 2 % missing", coded(people(30_000, gaps=0.02), "class"), beside=True)
    yield row("generated, mixed", coded(people(1_000_000), "class"), beside=False)
    yield row("generated, mixed, 2 % missing", coded(people(1_000_000, gaps=0.02), "class"), beside=False)


def coded(table: pa.Table, target: str) -> Coded:
    columns = {name: encode(name, table[name]) for name in table.column_names}
    return columns, columns.pop(target)


def row(name: str, data: Coded, *, beside: bool) -> str:
    columns, target = data
    print(f"c45: {name}, {len(target.codes):,} rows …", file=sys.stderr)
    learner = C45()
    ours = cpu(lambda: learner.fit_codes(columns, target))
    asked = cpu(lambda: learner.predict_proba(columns))
    theirs = j48(data) if beside else None
    said = ["–", "–", "–"]
    if isinstance(theirs, str):
        said = [theirs, "", ""]
    elif theirs is not None:
        seconds = statistics.median(theirs["seconds"][COLD:])
        said = [f"{theirs['nodes']:,}", f"{seconds:.3f}", f"{seconds / ours:.1f}"]
    cells = [name, f"{len(target.codes):,}", str(len(columns)), f"{learner.n_nodes_:,}", said[0], f"{ours:.3f}"]
    return f"| {' | '.join([*cells, *said[1:], f'{asked:.3f}'])} |"


def j48(data: Coded) -> dict[str, Any] | str:
    if shutil.which("java") is None:
        return "skipped: no JDK"
    python = peer_python()
    if python is None:
        return "skipped: Weka cannot be installed"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.arff"
        write_arff(list(data[0].values()), data[1], file)
        command = [python, HERE / "peers" / "run_j48.py", str(COLD + WARM), file]
        said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    found: dict[str, Any] = json.loads(said.splitlines()[-1])[0]
    return found


def people(rows: int, gaps: float = 0.0) -> pa.Table:
    """Three numeric and four nominal attributes; a class of three values depends on all but the zip, with noise."""
    rng = np.random.default_rng(0)
    numbers = {
        "age": rng.integers(17, 91, rows),
        "income": np.round(rng.lognormal(10, 1, rows), 2),
        "score": rng.normal(size=rows),
    }
    words = {"job": 15, "education": 16, "zip": 900, "sex": 2}
    codes = {name: rng.integers(0, size, rows) for name, size in words.items()}
    usual = (numbers["age"] > 40) + np.log(numbers["income"]) / 3 + codes["job"] % 4 / 2
    usual = usual + (codes["education"] > 9) * codes["sex"] + 0.3 * numbers["score"] + rng.normal(size=rows)
    classes = np.array(["low", "middle", "high"])[np.searchsorted(np.quantile(usual, [0.5, 0.8]), usual)]
    columns: dict[str, Any] = dict(numbers)
    for name, size in words.items():
        columns[name] = np.array([f"{name} {code}" for code in range(size)])[codes[name]]
    for name in ("age", "job") if gaps else ():
        columns[name] = pa.array(columns[name], mask=rng.random(rows) < gaps)
    return pa.table({**columns, "class": classes})


if __name__ == "__main__":
    main()
