"""Runs every benchmark and writes results.md: CPU seconds, beside a floor measured in the same run.

    make bench                        all of them
    python benchmarks/run.py search   the ones whose name holds "search"

CPU seconds (user + system), the median of several runs; wall clock means little on a shared machine.
survey.py and hybrid.py compare the searches of the papers with each other; mondrian.py measures partitioning.
"""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
from common import HERE, SHARED, SHOAL, Row, cpu, measured_on, missing, process, skipped, written_policy
from searches import lattice_generated, lattice_large, search_adult, search_cup, search_incognito, search_million

from shoal.api.releases import anonymize
from shoal.datasets import write_census
from shoal.policy.document import Policy


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    rows: list[Row] = []
    for benchmark in BENCHMARKS:
        if wanted in benchmark.__name__:
            print(f"{benchmark.__name__} …", file=sys.stderr)
            rows += benchmark()
    text = render(rows)
    print(text)
    if not wanted:
        (HERE / "results.md").write_text(text, "utf-8")


def command_adult() -> Iterator[Row]:
    """The command on the Adult CSV, verification included; floor: DuckDB copies the same CSV, import included."""
    why = missing("adult")
    if why is not None:
        yield skipped("command on Adult", why)
        return
    table = SHARED / "adult" / "adult.csv"
    with tempfile.TemporaryDirectory() as folder:
        policy = written_policy(Path(folder), "adult", "suppression = 0.02")
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
            write_census(folder / str(rows), rows=rows, k=5)
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
        yield skipped("peer: anjana", "skipped: it could not be installed")
        return
    for rows in (30_000, 300_000):
        with tempfile.TemporaryDirectory() as name:
            folder = write_census(Path(name), rows=rows, k=5)
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


def copy_query(source: Path, target: Path) -> str:
    return f"COPY (SELECT * FROM read_csv('{source}')) TO '{target}' (HEADER)"


def copy_script(source: Path, target: Path) -> str:
    return f"import duckdb; duckdb.connect().execute({copy_query(source, target)!r})"


BENCHMARKS = (
    search_adult,
    search_incognito,
    search_cup,
    search_million,
    lattice_large,
    lattice_generated,
    command_adult,
    start_up,
    million_rows,
    peer_anjana,
)


def render(rows: list[Row]) -> str:
    lines = [
        "# Benchmarks",
        "",
        measured_on("make bench"),
        "CPU seconds (user + system), the median of five runs; of three, or one, where a run is long. The floor was",
        "measured in the same run. ARX's figures are quoted from its own runs on a machine of the same kind.",
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
