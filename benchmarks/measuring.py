"""What measuring costs: every model on Adult beside pycanon, and the models of distributions on many rows and values.

    python benchmarks/measuring.py            prints a table
    python benchmarks/measuring.py adult      the ones whose name holds "adult"

CPU seconds (user + system), the median of several runs; pycanon runs once, in an environment of its own.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from peers.environment import HERE, peer_python
from run import SHARED, Row, cpu, process

from shoal.data.class_counts import ClassCounts
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation
from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.explore.measure import measure_table
from shoal.models import MODELS

ADULT = SHARED / "adult" / "adult.csv"
QUASI = ["age", "race", "sex", "education", "marital-status"]
ROWS, VALUES, CLASSES = 1_000_000, 1_000, 200_000
MANY = [
    {"model": "t-closeness", "t": 0.2, "distance": "equal"},
    {"model": "t-closeness", "t": 0.2, "distance": "ordered"},
    {"model": "t-closeness", "t": 0.2, "distance": "hierarchical"},
    {"model": "entropy-l-diversity", "l": 3},
    {"model": "recursive-cl-diversity", "l": 3, "c": 4},
    {"model": "beta-likeness", "beta": 1.0},
    {"model": "delta-disclosure", "delta": 1.0},
    {"model": "epsilon-m", "epsilon": 10, "m": 2},
]


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    if wanted.startswith("many:"):
        spend(json.loads(wanted.removeprefix("many:")))
        return
    print("| what | CPU s | beside |\n|---|---|---|")
    for benchmark in (adult, many_values):
        if wanted in benchmark.__name__:
            for what, ours, beside, *_ in benchmark():
                print(f"| {what} | {ours} | {beside} |", flush=True)


def adult() -> Iterator[Row]:
    """Every model of `measure` on Adult, reading not counted; beside pycanon's nine measures."""
    if not ADULT.exists():
        yield ("measure Adult", "skipped: the Adult table is not on this machine", "", "", "")
        return
    read = ArrowEngine().read(ADULT, ReadOptions())
    ours = cpu(lambda: measure_table(read, QUASI, ["occupation"], ignore_suppressed=False))
    whole = cpu(lambda: ArrowEngine().read(ADULT, ReadOptions()))
    python = peer_python()
    theirs = "pycanon could not be installed"
    if python is not None:
        command = [python, HERE / "run_pycanon.py", ADULT, ";", ",".join(QUASI), "occupation", "text"]
        said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        theirs = f"pycanon 1.3.5, nine measures: {sum(one['seconds'] for one in said.values()):.1f}"
    yield (
        f"measure: Adult, {len(QUASI)} QIs, occupation, every model",
        f"{ours:.3f} (reading: {whole:.3f})",
        theirs,
        "",
        "",
    )


def many_values() -> Iterator[Row]:
    """Each model alone in a process, on generated counts."""
    base, floor = process([sys.executable, __file__, "many:null"], times=1)
    yield (
        f"count {ROWS:,} rows, {VALUES:,} values, up to {CLASSES:,} classes",
        f"{base:.2f}",
        f"peak {floor:.0f} MB",
        "",
        "",
    )
    for spec in MANY:
        spent, peak = process([sys.executable, __file__, f"many:{json.dumps(spec)}"], times=1)
        named = " ".join(str(part) for part in spec.values())
        yield (f"{named}: judged and attained", f"{spent - base:.2f}", f"peak {peak:.0f} MB", "", "")


def spend(spec: dict[str, object] | None) -> None:
    """Count a table of many values, and judge one model."""
    counts = generated()
    if spec is not None:
        name = str(spec["model"])
        model = MODELS[name](**{key: value for key, value in spec.items() if key != "model"}, attribute="value")
        model.complies(counts)
        model.attained(counts)


def generated() -> ClassCounts:
    """Classes and values of uneven frequency, the values numbers with a hierarchy of three levels."""
    random = np.random.default_rng(0)
    classes = (CLASSES * random.random(ROWS) ** 2).astype(np.int32)
    values = (VALUES * random.random(ROWS) ** 2).astype(np.int32)
    found = FrequencySet.count({"class": (classes, CLASSES)}, {"value": (values, VALUES)})
    counts = found.class_counts(CountInterpretation({"value": [str(value) for value in range(VALUES)]}))
    levels = [np.arange(VALUES) // width for width in (1, 10, 100, VALUES)]
    return replace(counts, sensitive={"value": replace(counts.sensitive["value"], levels=levels)})


if __name__ == "__main__":
    main()
