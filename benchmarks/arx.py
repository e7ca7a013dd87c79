"""The search for the optimum beside ARX 3.9.2: CPU seconds of both, and whether Shoal became slower.

    python benchmarks/arx.py             measures all of them and writes arx.md
    python benchmarks/arx.py presence    prints the ones whose name holds "presence"
    python benchmarks/arx.py --check     says what is slower than arx.md has it by more than 20 %, or finds other scores

ARX's figures are quoted: it ran interleaved with Shoal on one machine, warmed up, medians of the CPU seconds of its
search. A loop transfers them to the machine as it is now: each is multiplied by the loop's seconds beside the search
over the loop's seconds with ARX. Those were found by running the Shoal of that day again: its twelve searches took
0.94 of the time that they took beside ARX (geometric mean), while the loop took 0.130 s.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import HERE, SHARED, measured_on

from shoal.engines.arrow import ArrowEngine
from shoal.engines.choice import read_with_population
from shoal.policy.document import Policy
from shoal.problem import Problem
from shoal.search.full_domain import LatticeSearch
from shoal.search.walks import find
from shoal.solve import make_plan

FIGURES = HERE / "arx.md"
LOOP_WITH_ARX = 0.138
"""CPU seconds of `loop` on the machine and day of the quoted figures."""
SLOWER = 1.2
LEAST = 0.1
"""CPU seconds that are measured: a shorter search is repeated, since a machine may count in steps of 4 ms."""
ROUNDS = 5
NINE = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
NINE += ("salary-class",)
EIGHT = tuple(name for name in NINE if name != "occupation")
K5 = {"model": "k-anonymity", "k": 5}
MACH = ("age", "familysize", "gender", "married", "race", "religion", "Q1A", "Q2A", "Q3A", "Q4A", "Q5A")
CUP = ("ZIP", "AGE", "GENDER", "INCOME", "STATE", "RAMNTALL", "NGIFTALL", "MINRAMNT")
SUBSET = "subset"
"""Every tenth row of Adult, which is the population."""


@dataclass(frozen=True)
class Case:
    """A search, and what ARX needed for it."""

    name: str
    arx: float
    """CPU seconds of ARX 3.9.2, warmed up, the median of its runs."""
    suppression: float
    require: tuple[dict[str, Any], ...]
    metric: str = "loss-geometric"
    quasi: tuple[str, ...] = EIGHT
    sensitive: str | None = None
    table: str = "adult"
    algorithm: str = "optimal"

    def policy(self, subset: Path) -> Policy:
        """The policy; `subset` has the table of its own where the case is about a part of Adult."""
        table = "adult" if self.table == SUBSET else self.table
        folder = SHARED / table / "hierarchies"
        names = dict.fromkeys(self.quasi, "quasi-identifier")
        if self.sensitive is not None:
            names[self.sensitive] = "sensitive"
        given = {
            name: {"role": role, "hierarchy": {"csv": str(folder / f"{table}_hierarchy_{name}.csv")}}
            for name, role in names.items()
        }
        everybody = str(subset.parent / "adult.csv")
        require = [model | ({"population": everybody} if self.table == SUBSET else {}) for model in self.require]
        method = {"suppression": self.suppression, "metric": self.metric, "algorithm": self.algorithm}
        return Policy(attributes=given, require=require, method=method, data={"others": "drop"})


def cases() -> Iterator[Case]:
    """The searches whose figures of ARX are quoted."""
    k5 = (K5,)
    for share, arx in ((0.02, 1.34), (0.1, 1.89), (1.0, 4.67)):
        yield Case(f"Adult 9 QIs, k=5, loss, {share:.0%}", arx, share, k5, "loss", NINE)
    yield Case("Adult 9 QIs, k=5, loss-geometric, 2%", 1.38, 0.02, k5, quasi=NINE)
    yield Case("Adult 9 QIs, k=5, loss, 0%", 0.08, 0.0, k5, "loss", NINE)
    yield Case("Adult 9 QIs, k=5, loss-geometric, 0%", 0.12, 0.0, k5, quasi=NINE)
    beta = {"model": "beta-likeness", "beta": 1.0}
    models: list[tuple[str, dict[str, Any], tuple[tuple[float, float], ...]]] = [
        ("distinct-3", {"model": "distinct-l-diversity", "l": 3}, ((0.02, 0.91),)),
        ("entropy-3", {"model": "entropy-l-diversity", "l": 3.0}, ((0.02, 0.68),)),
        ("recursive (4,3)", {"model": "recursive-cl-diversity", "l": 3, "c": 4.0}, ((0.02, 0.70),)),
        ("t 0.2", {"model": "t-closeness", "t": 0.2, "distance": "equal"}, ((0.02, 0.87), (0.05, 1.63))),
        (
            "δ-disclosure 1",
            {"model": "delta-disclosure", "delta": 1.0, "absent": "skip", "log": 2},
            ((0.02, 1.10), (0.05, 1.77)),
        ),
        ("basic β 1", beta | {"form": "basic"}, ((0.02, 0.97), (0.05, 2.07))),
        ("enhanced β 1", beta | {"form": "enhanced"}, ((0.02, 0.98), (0.05, 1.41))),
    ]
    for name, model, figures in models:
        for share, arx in figures:
            require = (K5, model | {"attribute": "occupation"})
            what = f"Adult 8 QIs, k=5 + {name} on occupation, {share:.0%}"
            yield Case(what, arx, share, require, sensitive="occupation")
    k_map = ({"model": "k-map", "k": 5},)
    yield Case("Adult subset 8 QIs, k-map 5, 2%", 0.42, 0.02, k_map, table=SUBSET)
    for low, high, figures in ((0.0, 0.2, ((0.0, 0.03), (0.05, 0.77))), (0.05, 0.15, ((0.0, 0.02), (0.05, 1.03)))):
        for share, arx in figures:
            require = ({"model": "delta-presence", "min": low, "max": high},)
            name = f"Adult subset 8 QIs, δ-presence {low:g}–{high:g}, {share:.0%}"
            yield Case(name, arx, share, require, table=SUBSET)
    yield Case("CUP 8 QIs, k=5, 2%", 9.0, 0.02, k5, quasi=CUP, table="cup")
    for many, arx in ((10, 23.7), (11, 60.2)):
        yield Case(f"mach2019 {many} QIs, k=5, 2%", arx, 0.02, k5, quasi=MACH[:many], table="mach2019_int")
    yield Case("Adult 9 QIs, local recoding, k=5", 4.6, 0.0, k5, "loss", NINE, algorithm="local")


def loop() -> float:
    """CPU seconds of a fixed piece of work, half of it Python's and half NumPy's."""
    before = time.process_time()
    total, seen = 0, {}
    for i in range(300_000):
        total = (total * 31 + i) & 0xFFFF
        seen[total] = i
    random = np.random.default_rng(0)
    keys = random.integers(0, 5_000, 200_000)
    for _ in range(20):
        np.add.at(np.zeros(5_000, np.int64), keys, 1)
        np.sort(keys)
    return time.process_time() - before


def measure(case: Case, subset: Path) -> tuple[float, str]:
    """CPU seconds of one search from its counted classes, and what it found."""
    engine, policy = ArrowEngine(), case.policy(subset)
    table = subset if case.table == SUBSET else SHARED / case.table / f"{case.table}.csv"
    source = read_with_population(table, policy, engine)
    if case.algorithm != "optimal":
        before = time.process_time()
        plan = make_plan(source, policy, engine)
        return time.process_time() - before, f"loss {plan.score:.6f}"
    problem = Problem.of(source, policy, engine)
    before, times, spent = time.process_time(), 0, 0.0
    while spent < LEAST:
        search = LatticeSearch.of(problem)
        found = find(policy.method, search.lattice, search.oracle)
        times, spent = times + 1, time.process_time() - before
    spent /= times
    best = "nothing complies" if found.best is None else f"score {search.oracle.scorer.value(found.best.score):.6f}"
    gap = "" if found.proved else ", not proved"
    return spent, f"{search.oracle.tally.checked:,} checked of {search.lattice.size:,}; {best}{gap}"


def write_subset(folder: Path) -> Path:
    """Write every tenth row of Adult beside a copy of the whole; return the path of the part."""
    whole = (SHARED / "adult" / "adult.csv").read_text("utf-8").splitlines(keepends=True)
    (folder / "adult.csv").write_text("".join(whole), "utf-8")
    part = folder / "subset.csv"
    part.write_text("".join([whole[0], *whole[10::10]]), "utf-8")
    return part


@dataclass(frozen=True)
class Figure:
    """What was measured of a case."""

    case: Case
    ours: float
    """Median CPU seconds."""
    arx: float
    """ARX's CPU seconds, transferred to this machine."""
    ratio: float
    """Median of ARX's CPU seconds over ours, each pair beside a loop of its own."""
    said: str

    @property
    def row(self) -> str:
        cells = [self.case.name, f"{self.arx:.2f}", f"{self.ours:.3f}", f"{self.ratio:.1f}", self.said]
        return f"| {' | '.join(cells)} |"


def measure_all(chosen: Sequence[Case], rounds: int = ROUNDS) -> list[Figure]:
    """Measure cases in turn, several rounds of all of them, after one that warms up."""
    spent: dict[str, list[tuple[float, float]]] = {case.name: [] for case in chosen}
    said: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        subset = write_subset(Path(folder))
        for turn in range(rounds + 1):
            for case in chosen:
                print(f"\r{turn}/{rounds} {case.name:70}", end="", file=sys.stderr, flush=True)
                beside = loop() / LOOP_WITH_ARX
                seconds, said[case.name] = measure(case, subset)
                if turn:
                    spent[case.name].append((seconds, case.arx * beside))
    print(file=sys.stderr)
    return [
        Figure(
            case,
            statistics.median(ours for ours, _ in spent[case.name]),
            statistics.median(arx for _, arx in spent[case.name]),
            statistics.median(arx / ours for ours, arx in spent[case.name]),
            said[case.name],
        )
        for case in chosen
    ]


def check(chosen: Sequence[Case]) -> int:
    """Say which cases became slower than recorded, or find something else; what seems slower is measured again."""
    recorded = [[cell.strip() for cell in line.split("|")[1:-1]] for line in FIGURES.read_text("utf-8").splitlines()]
    rows = [cells for cells in recorded if len(cells) == 5 and is_number(cells[3])]
    then = {cells[0]: (float(cells[3]), cells[4].split("; ")[-1]) for cells in rows}
    known = [case for case in chosen if case.name in then]
    now = measure_all(known, 3)
    slow = [f for f in now if f.ratio * SLOWER < then[f.case.name][0]]
    slow = [f for f in measure_all([f.case for f in slow]) if f.ratio * SLOWER < then[f.case.name][0]] if slow else []
    for figure in slow:
        was = then[figure.case.name][0]
        print(f"slower: {figure.case.name}: {figure.ratio:.1f} times as fast as ARX, and was {was:.1f} times as fast")
    other = [f.case.name for f in now if f.said.split("; ")[-1] != then[f.case.name][1]]
    for name in other:
        print(f"another result: {name}")
    if not slow and not other:
        print(f"none of {len(known)} searches became slower by more than {SLOWER - 1:.0%}")
    return 1 if slow or other else 0


def is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def render(figures: Sequence[Figure]) -> str:
    lines = [
        "# Beside ARX",
        "",
        measured_on("python benchmarks/arx.py"),
        f"CPU seconds (user + system) of the search, the median of {ROUNDS} rounds of all cases. ARX's figures are",
        "quoted from a run on another day, not measured here: a loop timed beside each search transfers them, as",
        "`benchmarks/arx.py` says. The subset is every tenth row of Adult, with Adult as the population; local",
        "recoding is compared with the fastest of three settings of ARX. `make bench-check` compares with this table.",
        "",
        "| search | ARX 3.9.2, CPU s (quoted) | Shoal, CPU s | ARX / Shoal | found |",
        "|---|---|---|---|---|",
        *(figure.row for figure in figures),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    here = [case for case in cases() if (SHARED / case.table.replace(SUBSET, "adult")).is_dir()]
    if wanted == "--check":
        sys.exit(check(here))
    text = render(measure_all([case for case in here if wanted in case.name]))
    print(text)
    if not wanted:
        FIGURES.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
