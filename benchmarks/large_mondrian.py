"""Mondrian on a table bigger than the memory it may use: generated people in Parquet, beside bare DuckDB.

    python benchmarks/large_mondrian.py [--rows 50000000] [--memory 2GB] [-k 100] [--write]

The floor is what DuckDB alone needs, under the same limit and in the same run, to group the file by its
quasi-identifiers and to copy it to another Parquet file. Shoal reads, cuts, writes, reads again and verifies. Peak
memory is the greatest of the process that ran the command.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from common import SHOAL, measured_on, process
from generated import EIGHT, people
from pyarrow import parquet

from shoal.policy.document import Policy

_BLOCK = 1_000_000
_REGIONS = [f"region {i}" for i in range(4)]
_ANCESTRIES = [f"ancestry {i:02}" for i in range(16)]
_ILLNESSES = [f"illness {i}" for i in range(10)]
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


def block(rows: int, seed: int) -> pa.Table:
    """Six quasi-identifiers that are numbers, two that are texts with a hierarchy, and an illness."""
    found = people(EIGHT, rows, seed)
    for name, texts in {"region": _REGIONS, "ancestry": _ANCESTRIES}.items():
        at = found.column_names.index(name)
        found = found.set_column(at, name, pa.array(texts).take(found[name]))
    ill = np.random.default_rng(seed).integers(0, len(_ILLNESSES), rows)
    return found.append_column("illness", pa.array(_ILLNESSES).take(pa.array(ill)))


def write_table(rows: int, path: Path) -> None:
    """Block by block, so that the table is never in memory."""
    with parquet.ParquetWriter(path, block(1, 0).schema) as writer:
        for at, start in enumerate(range(0, rows, _BLOCK)):
            writer.write_table(block(min(_BLOCK, rows - start), at))


def write_policy(k: int, path: Path) -> None:
    attributes: dict[str, object] = dict.fromkeys(EIGHT, "quasi-identifier")
    pairs = [[text, f"{text[:-2]}{int(text[-2:]) // 4 * 4:02}ff", "*"] for text in _ANCESTRIES]
    attributes["ancestry"] = {"role": "quasi-identifier", "hierarchy": {"rows": pairs}}
    attributes["region"] = {"role": "quasi-identifier", "hierarchy": {"rows": [[text, "*"] for text in _REGIONS]}}
    attributes["illness"] = "sensitive"
    given = {
        "attributes": attributes,
        "require": [{"model": "k-anonymity", "k": k}],
        "method": {"algorithm": "mondrian"},
    }
    Policy.model_validate(given).save(path)


def measured(rows: int, memory: str, k: int, folder: Path) -> Iterator[tuple[str, float, float, float, str]]:
    """What, seconds, CPU seconds, peak memory in MB, and what was found."""
    table, policy = folder / "people.parquet", folder / "policy.toml"
    write_table(rows, table)
    write_policy(k, policy)
    print(f"{rows:,} rows, {table.stat().st_size / 1e9:.2f} GB", flush=True)
    for what in ("group", "copy"):
        said: list[str] = []
        started = time.perf_counter()
        command: list[object] = [sys.executable, "-c", _BARE, what, table, folder, memory, ", ".join(EIGHT)]
        spent, peak = process(command, 1, said.append)
        seconds = time.perf_counter() - started
        (folder / "copy.parquet").unlink(missing_ok=True)
        yield f"DuckDB alone: {what}", seconds, spent, peak, f"{int(said[0]):,} points" if said[0].strip() else ""
    said = []
    started = time.perf_counter()
    command = [SHOAL, "anonymize", table, "--policy", policy, "--out", folder / "out"]
    command += ["--engine", "duckdb", "--memory", memory, "--json"]
    spent, peak = process(command, 1, said.append)
    seconds = time.perf_counter() - started
    found = json.loads(said[0])
    classes, cutting = found["classes"]["count"], found["method"]["seconds"]
    told = (
        f"{classes:,} classes of {found['classes']['min']} to {found['classes']['max']} rows; cut after {cutting:.0f} s"
    )
    yield f"shoal, mondrian, k = {k}", seconds, spent, peak, told


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=50_000_000)
    options.add_argument("--memory", default="2GB")
    options.add_argument("-k", type=int, default=100)
    options.add_argument("--write", action="store_true", help="write large_mondrian.md beside this file")
    given = options.parse_args()
    lines, bare = [], 0.0
    with tempfile.TemporaryDirectory(prefix="large-") as folder:
        for what, seconds, spent, peak, told in measured(given.rows, given.memory, given.k, Path(folder)):
            ours = what.startswith("shoal")
            bare += 0 if ours else seconds
            ratio = f"{seconds / bare:.1f}" if ours else ""
            lines.append(f"| {what} | {seconds:.0f} | {spent:.0f} | {peak / 1000:.2f} | {ratio} | {told} |")
            print(lines[-1], flush=True)
    if given.write:
        _write(given.rows, given.memory, lines)


def _write(rows: int, memory: str, lines: list[str]) -> None:
    said = (__doc__ or "").split("\n\n")
    page = [
        "# Mondrian, bigger than memory",
        "",
        measured_on("python benchmarks/large_mondrian.py --write"),
        "",
        said[-1].strip(),
        "",
        f"{rows:,} rows × 8 quasi-identifiers (six numbers, two texts with hierarchies), `--memory {memory}`:",
        "",
        "| what | seconds | CPU seconds | peak GB | times both floors | found |",
        "|---|---|---|---|---|---|",
        *lines,
        "",
    ]
    Path(__file__).with_suffix(".md").write_text("\n".join(page), "utf-8")


if __name__ == "__main__":
    main()
