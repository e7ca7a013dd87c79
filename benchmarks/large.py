"""Tables bigger than the memory they may use: datafly and optimal on generated people in Parquet, beside bare DuckDB.

    python benchmarks/large.py [--rows 100000000] [--memory 2GB] [--columns survey|eight] [--write]

The yardstick is what DuckDB alone needs, under the same limit and in the same run, to group the file by its
quasi-identifiers and to copy it to another Parquet file. Peak memory is ru_maxrss of the process that ran the command.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from generated import EIGHT, SURVEY, Column, Columns, more_people, policy_of
from pyarrow import parquet

_BLOCK = 2_000_000
_WIDTHS = {"year": (2, 6), "ancestry": (4,), "household": (6,), "education": (4, 12), "age": (5, 10, 20)}
_WIDTHS |= {"income": (50, 250), "region": (2,)}

TABLES: dict[str, Columns] = {
    "survey": {name: column for name, column in SURVEY.items() if name != "quarter"},
    "eight": {name: Column(column.values, _WIDTHS.get(name, ()), column.spread) for name, column in EIGHT.items()},
}
"""Eight columns with hierarchies: `survey` has many rows alike, of `eight` nearly all rows are distinct."""

_BARE = """
import sys, duckdb
what, file, folder, memory, names = sys.argv[1:]
db = duckdb.connect(config={"memory_limit": memory, "temp_directory": folder, "preserve_insertion_order": False})
db.execute("SET enable_progress_bar = false")
if what == "group":
    db.execute(f"CREATE TEMP TABLE g AS SELECT {names}, count(*) AS n FROM '{file}' GROUP BY ALL").fetchall()
    print(db.execute("SELECT count(*) FROM g").fetchall()[0][0])
else:
    db.execute(f"COPY (FROM '{file}') TO '{folder}/copy.parquet' (FORMAT parquet)").fetchall()
"""


def write(columns: Columns, rows: int, path: Path) -> None:
    """People block by block, so that the table is never in memory; each block has a seed of its own."""
    with parquet.ParquetWriter(path, more_people(columns, 1, 0).schema) as writer:
        for at, start in enumerate(range(0, rows, _BLOCK)):
            writer.write_table(more_people(columns, min(_BLOCK, rows - start), at))


def run(command: list[str]) -> tuple[float, float, str]:
    """Seconds, peak memory in GB and output of a process."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[:4]} ended with {process.returncode}")
    return time.perf_counter() - started, usage.ru_maxrss * 1024 / 1e9, output


def measured(
    columns: Columns, rows: int, memory: str, folder: Path, table: Path
) -> Iterator[tuple[str, float, float, str]]:
    if not table.exists():
        write(columns, rows, table)
    print(f"{rows:,} rows, {table.stat().st_size / 1e9:.2f} GB", flush=True)
    names = ", ".join(columns)
    for what in ("group", "copy"):
        seconds, peak, said = run([sys.executable, "-c", _BARE, what, str(table), str(folder), memory, names])
        (folder / "copy.parquet").unlink(missing_ok=True)
        yield f"DuckDB alone: {what}", seconds, peak, f"{int(said):,} distinct rows" if said.strip() else ""
    for algorithm in ("datafly", "optimal"):
        policy = folder / f"{algorithm}.toml"
        policy_of(columns, 5, {"algorithm": algorithm, "suppression": 0.02}).save(policy)
        command = [str(Path(sys.executable).with_name("shoal")), "anonymize", str(table), "--policy", str(policy)]
        command += ["--out", str(folder / algorithm), "--engine", "duckdb", "--memory", memory, "--json"]
        seconds, peak, said = run(command)
        found = json.loads(said)
        levels = "".join(map(str, found["recoding"]["levels"].values()))
        told = (
            f"levels {levels}, {found['classes']['count']:,} classes, {found['rows']['suppressed']:,} rows suppressed"
        )
        yield f"shoal, {algorithm}", seconds, peak, f"{told}, {found['method']['checked']:,} nodes checked"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=100_000_000)
    options.add_argument("--memory", default="2GB")
    options.add_argument("--columns", choices=list(TABLES), default="survey")
    options.add_argument("--table", type=Path, help="the table, where it was made before; else made and kept there")
    options.add_argument("--write", action="store_true", help="write large.md beside this file")
    given = options.parse_args()
    columns, lines, bare = TABLES[given.columns], [], 0.0
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="large-") as folder:
        for what, seconds, peak, told in measured(
            columns, given.rows, given.memory, Path(folder), given.table or Path(folder) / "people.parquet"
        ):
            ours = what.startswith("shoal")
            bare += 0 if ours else seconds
            ratio = f"{seconds / bare:.2f}" if ours else ""
            lines.append(f"| {what} | {seconds:.1f} | {peak:.2f} | {ratio} | {told} |")
            print(lines[-1], flush=True)
    if given.write:
        _write(given.columns, given.rows, given.memory, lines, (load, os.getloadavg()[0]))


def _write(name: str, rows: int, memory: str, lines: list[str], load: tuple[float, float]) -> None:
    page = Path(__file__).with_suffix(".md")
    section = [
        f"## {name}: {rows:,} rows × {len(TABLES[name])} quasi-identifiers, `--memory {memory}`",
        "",
        "| what | seconds | peak GB | times DuckDB alone | found |",
        "|---|---|---|---|---|",
        *lines,
        "",
        f"Load average of the machine's {os.cpu_count()} cores at the start {load[0]:.1f}, at the end {load[1]:.1f}.",
        "",
    ]
    title = "# Bigger than memory\n"
    old = page.read_text("utf-8").split("\n## ")[1:] if page.exists() else []
    kept = [f"## {part}".rstrip("\n") + "\n" for part in old if not f"## {part}".startswith(section[0] + "\n")]
    said = (__doc__ or "").replace("    python", "    python", 1)
    page.write_text("\n".join([title, said, *kept, "\n".join(section)]), "utf-8")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
