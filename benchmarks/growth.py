"""How far it goes: time and memory against rows, quasi-identifiers, classes, cores and workers, out of core.

    python benchmarks/growth.py [--largest 100000000]     writes docs/growth.md and docs/growth.svg

Every run is the whole command, `shoal anonymize --engine duckdb --memory 2GB`, from Parquet to a verified release.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from common import HERE, measured_on
from generated import Columns, policy_of
from large import TABLES, write

from shoal.report.plots.charts import Chart, Series

DOCS = HERE.parent / "docs"
MEMORY = "2GB"
ROWS = (1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000)
DISTINCT = (1_000_000, 3_000_000, 10_000_000)
"""Rows of tables in which nearly every row is distinct."""
MIDDLE = 3_000_000
WIDTHS = (2, 4, 6, 8)
KS = (2, 20, 200)


@dataclass(frozen=True)
class Run:
    """One command and what it took."""

    what: str
    table: str
    rows: int
    columns: int
    k: int
    cores: int
    seconds: float
    peak: float
    """GB."""
    classes: int
    nodes: int
    checked: int

    def line(self) -> str:
        figures = f"{self.seconds:.1f} | {self.peak:.2f} | {self.nodes:,} | {self.checked:,} | {self.classes:,}"
        return f"| {self.what} | {self.table} | {self.rows:,} | {self.columns} | {self.k} | {self.cores} | {figures} |"


def run(table: Path, name: str, algorithm: str, *, rows: int, width: int = 8, k: int = 5, cores: int = 2) -> Run:
    """The command, on so many cores, for the first columns of a table of so many rows."""
    folder, columns = table.parent, first(name, width)
    policy = folder / "policy.toml"
    policy_of(columns, k, {"algorithm": algorithm, "suppression": 0.02}).save(policy)
    out = folder / "out"
    command = [str(Path(sys.executable).with_name("shoal")), "anonymize", str(table), "--policy", str(policy)]
    command += ["--out", str(out), "--force", "--engine", "duckdb", "--memory", MEMORY, "--json"]
    started = time.perf_counter()
    available = sorted(os.sched_getaffinity(0))[:cores]
    bound = ["taskset", "--cpu-list", ",".join(map(str, available))]
    process = subprocess.Popen([*bound, *command], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    method = said["method"]
    done = Run(
        algorithm, name, rows, len(columns), k, cores, seconds, usage.ru_maxrss * 1024 / 1e9, said["classes"]["count"],
        method["nodes"], method["checked"],
    )  # fmt: skip
    print(done.line(), flush=True)
    return done


def first(name: str, width: int) -> Columns:
    return dict(list(TABLES[name].items())[:width])


def all_runs(largest: int) -> Iterator[Run]:
    with tempfile.TemporaryDirectory(prefix="growth-") as name:
        table = Path(name) / "people.parquet"
        for rows in (rows for rows in ROWS if rows <= largest):
            write(TABLES["survey"], rows, table)
            for algorithm in ("datafly", "optimal"):
                yield run(table, "survey", algorithm, rows=rows)
            if rows == MIDDLE:
                yield run(table, "survey", "datafly", rows=rows, cores=1)
                for k in KS:
                    yield run(table, "survey", "datafly", rows=rows, k=k)
        for width in WIDTHS:
            write(first("survey", width), MIDDLE, table)
            yield run(table, "survey", "optimal", rows=MIDDLE, width=width)
        for rows in (rows for rows in DISTINCT if rows <= largest):
            write(TABLES["eight"], rows, table)
            for algorithm in ("datafly", "optimal"):
                yield run(table, "eight", algorithm, rows=rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--largest", type=int, default=ROWS[-1])
    runs = list(all_runs(options.parse_args().largest))
    (DOCS / "growth.md").write_text(page(runs), "utf-8")
    series = tuple(
        Series(f"{algorithm}, {table}", [each.rows / 1e6 for each in found], [each.seconds for each in found])
        for table in ("survey", "eight")
        for algorithm in ("datafly", "optimal")
        if (found := plain(runs, algorithm, table))
    )
    chart = Chart("Time against rows, from Parquet to a verified release", "million rows", "seconds", series, least=0.0)
    (DOCS / "growth.svg").write_bytes(chart.render("svg"))


def plain(runs: list[Run], algorithm: str, table: str) -> list[Run]:
    """One run of each size, with all columns, both cores and the usual k."""
    usual = [
        each
        for each in runs
        if (each.what, each.table, each.k, each.columns, each.cores) == (algorithm, table, 5, 8, 2)
    ]
    return [next(each for each in usual if each.rows == rows) for rows in sorted({each.rows for each in usual})]


def rate(runs: list[Run]) -> tuple[float, float]:
    """Seconds at the start, and seconds per million rows: a straight line through the smallest and the largest run."""
    first, last = min(runs, key=lambda each: each.rows), max(runs, key=lambda each: each.rows)
    slope = (last.seconds - first.seconds) / max(last.rows - first.rows, 1)
    return first.seconds - slope * first.rows, slope * 1e6


PAGE = """# How far it goes

{measured}

Generated people in Parquet, the `duckdb` engine under `--memory {memory}`; every run is the whole command, from the
file to a verified release. Of `survey` many rows are alike, of `eight` nearly all rows are distinct.

| algorithm | table | rows | QIs | k | cores | seconds | peak GB | nodes | checked | classes |
|---|---|---|---|---|---|---|---|---|---|---|
{lines}

![Time against rows](growth.svg)

## What grows with what

- **Rows**: linear. {start:.1f} s to begin with, then {slope:.2f} s for each million rows where many are alike: the
  file is read for the dictionaries, grouped once, written once, and read once more by `verify`. The search does not
  see rows.
- **Distinct combinations** decide what a search costs, not rows: {distinct:.2f} s for each million rows where
  nearly all are distinct. While they fit into a fifth of `--memory` (16 million in 2 GB), a node costs what rolling
  them up costs; beyond that they lie on disk and are rolled up piece by piece.
- **Quasi-identifiers** make combinations and nodes: the table above has the same rows with 2, 4, 6 and 8 of them.
- **Nodes**: `optimal` checks few of them (the table says how many); datafly as many as its path is long.
- **Classes**: the more classes a release has, the longer its table of distinct rows; sorting it is hardly noticed.
- **Cores**: two are {gain} times as fast as one.

## Workers

Spark, one core for each worker, driver beside them on the same two cores (from `benchmarks/spark.py`, which tells
more):

{workers}

A second worker hardly helps on one machine: driver, Java and Python of one worker keep both of its cores busy already.

## What that predicts

On one machine like this: {billion} for 10⁹ rows, {more} for 10¹⁰, if the distinct combinations stop growing, as
they do where quasi-identifiers have few values, and if the disk holds the file, the spill of one GROUP BY and the
release. Where nearly all rows are distinct: {worse} for 10⁹, as long as datafly or a small lattice is searched.
None of that was run: it is the straight line above, drawn further. On a cluster, reading, grouping and recoding are
divided by its cores; the search and the writing of one sorted file are not (parts in folders are:
`release.data.write.parquet`).

What breaks first, in this order:

1. **Distinct combinations.** A quasi-identifier like a birth date or a postcode makes nearly every row distinct.
   The spilled frequency set then grows with the rows, and every node that is checked reads it: `optimal` feels it
   first. Datafly, which checks few nodes, goes furthest; a coarser lowest level (`min-level`) brings the set back
   into memory. On Spark the driver takes at most 40 million combinations.
2. **The release is written by one process**: it must be sorted, so that every engine writes the same bytes. At some
   10¹⁰ rows writing takes longer than counting.
3. **`verify` reads everything again** on one machine, also where Spark made the release: it shares nothing with
   what made it. It needs the disk to spill a GROUP BY of the release and one of the original.
4. **Dictionaries** of quasi-identifiers live in memory: some 10⁷ distinct values in one column are the end.
"""


def page(runs: list[Run]) -> str:
    many, distinct = plain(runs, "datafly", "survey"), plain(runs, "datafly", "eight")
    start, slope = rate(many)
    begun, steeper = rate(distinct)
    one = next((each for each in runs if each.cores == 1), None)
    both = next((each for each in many if one is not None and each.rows == one.rows), None)
    return PAGE.format(
        measured=measured_on("python benchmarks/growth.py"),
        memory=MEMORY,
        lines="\n".join(each.line() for each in runs),
        start=start,
        slope=slope,
        distinct=steeper,
        gain=f"{one.seconds / both.seconds:.2f}" if one is not None and both is not None else "(not measured)",
        workers="\n".join(line for line in (HERE / "spark.md").read_text("utf-8").splitlines() if line.startswith("|")),
        billion=_clock(start + slope * 1e3),
        more=_clock(start + slope * 1e4),
        worse=_clock(begun + steeper * 1e3),
    )


def _clock(seconds: float) -> str:
    return f"about {seconds / 3600:.1f} hours" if seconds >= 5400 else f"about {seconds / 60:.0f} minutes"


if __name__ == "__main__":
    main()
