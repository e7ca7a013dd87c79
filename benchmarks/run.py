"""Runs every benchmark and writes results.md: CPU seconds, beside a floor measured in the same run.

    make bench                        all of them
    python benchmarks/run.py search   the ones whose name holds "search"

CPU seconds (user + system), the median of several runs; wall clock means little on a shared machine.
"""

import importlib.metadata
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pandas as pd

from shoal.api import anonymize
from shoal.datasets import write_census
from shoal.engine import ReadOptions
from shoal.engines import ArrowEngine
from shoal.plan import make_plan
from shoal.policy import Policy

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[1] / "shared" / "data"
SHOAL = Path(sys.executable).with_name("shoal")
Row = tuple[str, str, str, str, str]
# a small process starts the measured one: the peak of a child begins at the size of what forked it
LAUNCH = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    rows: list[Row] = []
    for benchmark in (search_adult, command_adult, start_up, million_rows, peer_anjana):
        if wanted in benchmark.__name__:
            print(f"{benchmark.__name__} …", file=sys.stderr)
            rows += benchmark()
    text = render(rows)
    print(text)
    if not wanted:
        (HERE / "results.md").write_text(text, "utf-8")


def search_adult() -> Iterator[Row]:
    """The search for the optimum on Adult, nine quasi-identifiers; floor: grouping the rows once."""
    if not (SHARED / "adult").is_dir():
        yield ("search on Adult", "skipped: the Adult table is not on this machine", "", "", "")
        return
    engine = ArrowEngine()
    with tempfile.TemporaryDirectory() as folder:
        for share, arx in ((0.0, "181"), (0.02, "1,110"), (0.1, "1,487"), (1.0, "3,449")):
            policy = Policy.load(adult_policy(Path(folder), f"suppression = {share}"))
            source = engine.read(SHARED / "adult" / "adult.csv", ReadOptions())
            quasi = sorted(policy.quasi_identifiers)
            checked = make_plan(source, policy, engine).tally.checked
            floor = cpu(lambda: engine.count(source.table, quasi, []))  # noqa: B023
            whole = cpu(lambda: make_plan(source, policy, engine))  # noqa: B023
            yield (
                f"search: Adult 9 QIs, k=5, loss, {share:.0%} suppression",
                f"{whole:.3f}",
                f"{floor:.4f} (group the rows once)",
                f"{whole / floor:.0f}",
                f"{checked} of 12,960 nodes checked; ARX 3.9.2 checks {arx}",
            )


def command_adult() -> Iterator[Row]:
    """The command on the Adult CSV, verification included; floor: DuckDB copies the same CSV, import included."""
    if not (SHARED / "adult").is_dir():
        yield ("command on Adult", "skipped: the Adult table is not on this machine", "", "", "")
        return
    table = SHARED / "adult" / "adult.csv"
    with tempfile.TemporaryDirectory() as folder:
        policy = adult_policy(Path(folder), "suppression = 0.02")
        out = Path(folder) / "out"
        ours, memory = process([SHOAL, "anonymize", table, "--policy", policy, "--out", out, "--force"])
        floor, _ = process([sys.executable, "-c", copy_script(table, Path(folder) / "copy.csv")])
    yield (
        "command: Adult CSV to verified release, k=5, 2 %",
        f"{ours:.2f}",
        f"{floor:.2f} (DuckDB process copies the CSV)",
        f"{ours / floor:.1f}",
        f"peak {memory:.0f} MB; ARX 3.9.2: 8.5 s, 367 MB",
    )


def start_up() -> Iterator[Row]:
    """`shoal --help`; floor: Python itself."""
    ours, memory = process([SHOAL, "--help"], times=9)
    floor, _ = process([sys.executable, "-c", "import typer"], times=9)
    yield (
        "start-up: shoal --help",
        f"{ours:.3f}",
        f"{floor:.3f} (import typer)",
        f"{ours / floor:.1f}",
        f"peak {memory:.0f} MB",
    )


def million_rows() -> Iterator[Row]:
    """A million generated people, CSV to CSV; floor: DuckDB copies the same CSV, without its import."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows in (200, 1_000_000):
            write_census(folder / str(rows), rows=rows)
            policy = folder / str(rows) / "policy.toml"
            policy.write_text(policy.read_text().replace('"optimal"', '"datafly"'))

        def run(rows: int) -> tuple[float, float]:
            at = folder / str(rows)
            return process(
                [SHOAL, "anonymize", at / "census.csv", "--policy", at / "policy.toml", "--out", at / "out", "--force"]
            )

        started, _ = run(200)
        ours, memory = run(1_000_000)
        table = folder / "1000000" / "census.csv"
        floor = cpu(lambda: duckdb.connect().execute(copy_query(table, folder / "copy.csv")))
    spent = ours - started
    yield (
        "million: 1 M rows, 8 QIs, datafly, CSV to verified CSV",
        f"{spent:.2f} (start-up of {started:.2f} taken off)",
        f"{floor:.2f} (DuckDB copies the CSV)",
        f"{spent / floor:.1f}",
        f"peak {memory:.0f} MB",
    )


def peer_anjana() -> Iterator[Row]:
    """The same table, hierarchies and k for anjana's k-anonymity and for our datafly; reading is not counted."""
    python = HERE / ".cache" / "peers" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
    needed = HERE.parent / "requirements" / "peers.txt"
    install = [python, "-m", "pip", "install", "--quiet", "-r", needed]
    if subprocess.run(install, stderr=subprocess.DEVNULL, check=False).returncode:
        yield ("peer: anjana", "skipped: it could not be installed", "", "", "")
        return
    for rows in (30_000, 300_000):
        with tempfile.TemporaryDirectory() as name:
            folder = write_census(Path(name), rows=rows)
            policy = Policy.load(folder / "policy.toml")
            policy = policy.model_copy(
                update={"method": policy.method.model_copy(update={"algorithm": "datafly", "suppression": 0.05})}
            )
            frame = pd.read_csv(folder / "census.csv", dtype=str)
            ours = cpu(lambda: anonymize(frame, policy).data)  # noqa: B023
            command = [python, HERE / "peers" / "run_anjana.py", folder, "5", "5"]
            output = subprocess.run(command, capture_output=True, check=True)
        theirs, released = output.stdout.decode().split()
        yield (
            f"peer: anjana 1.2.3, {rows:,} rows, 8 QIs, k=5, 5 %, pandas frame to verified pandas frame",
            f"{ours:.3f}",
            f"{float(theirs):.2f} (anjana)",
            f"{ours / float(theirs):.4f}",
            f"anjana releases {int(released):,} rows",
        )


def adult_policy(folder: Path, method: str) -> Path:
    lines = ["[[require]]", 'model = "k-anonymity"', "k = 5", "[method]", method]
    for file in sorted((SHARED / "adult" / "hierarchies").iterdir()):
        name = file.stem.removeprefix("adult_hierarchy_")
        lines += [f"[attributes.{name}]", 'role = "quasi-identifier"', f'hierarchy = {{ csv = "{file}" }}']
    path = folder / "policy.toml"
    path.write_text("\n".join(lines))
    return path


def copy_query(source: Path, target: Path) -> str:
    return f"COPY (SELECT * FROM read_csv('{source}')) TO '{target}' (HEADER)"


def copy_script(source: Path, target: Path) -> str:
    return f"import duckdb; duckdb.connect().execute({copy_query(source, target)!r})"


def cpu(work: Callable[[], object], times: int = 5) -> float:
    """Median CPU seconds of a call in this process."""
    spent = []
    for _ in range(times):
        before = time.process_time()
        work()
        spent.append(time.process_time() - before)
    return statistics.median(spent)


def process(command: list[object], times: int = 5) -> tuple[float, float]:
    """Median CPU seconds and largest peak memory in MB of a process."""
    runs = []
    for _ in range(times):
        launched = [sys.executable, "-S", "-c", LAUNCH, *map(str, command)]
        said = subprocess.run(launched, stdout=subprocess.PIPE, check=True).stdout
        runs.append([float(number) for number in said.split()])
    spent, peaks = zip(*runs, strict=True)
    return statistics.median(spent), max(peaks) / (1024 if sys.platform != "darwin" else 1024**2)


def render(rows: list[Row]) -> str:
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("shoal", "numpy", "pyarrow", "duckdb")
    )
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    lines = [
        "# Benchmarks",
        "",
        f"Measured on {datetime.now(UTC):%Y-%m-%d} by `make bench` on {machine};",
        f"{versions}.",
        "CPU seconds (user + system), the median of five runs. The floor was measured in the same run.",
        "ARX's figures come from its own runs on a machine of the same kind, not from this run.",
        "",
        "| what | CPU s | floor, CPU s | ratio | beside |",
        "|---|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
