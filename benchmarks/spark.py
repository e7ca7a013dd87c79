"""A survey table on one and on two workers of a real standalone Spark on this machine, and how time grows with rows.

python benchmarks/spark.py [ROWS …]     writes spark.md

Wall seconds of a driver: a worker has one core. Reading, grouping and recoding are told apart; the search is the
driver's in every engine, and so is left out.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from common import HERE, measured_on
from generated import SURVEY, people
from pyarrow import parquet

from shoal.engine_port import ReadOptions
from shoal.hierarchy.build import build, parse
from shoal.recoding.kinds import NodeRecoding

sys.path.append(str(HERE.parent / "tests"))

ROWS = (1_000_000, 10_000_000)
WORKERS = (1, 2)
LEVELS = {"age": 2, "education": 2, "year": 2, "household": 1, "ancestry": 1}
"""The node that is recoded to: the same for every size."""
K = 5


@dataclass
class Times:
    """Wall seconds by what was done."""

    spent: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def of(self, what: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.spent[what] = time.perf_counter() - begun


def main() -> None:
    sizes = [int(rows) for rows in sys.argv[1:]] or list(ROWS)
    lines = [
        "| rows | workers | read and count values | group | recode, write Parquet parts | classes |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    for workers in WORKERS:
        with tempfile.TemporaryDirectory() as folder:
            for rows, times, classes in measure(Path(folder), workers, sizes):
                told = " | ".join(f"{seconds:.1f}" for seconds in times.spent.values())
                lines.append(f"| {rows:,} | {workers} | {told} | {classes:,} |")
                print(lines[-1], flush=True)
    text = [
        "# Spark",
        "",
        "The nine columns of the survey, a Parquet file, on workers of one core each beside the driver; wall seconds,",
        "one run after a smaller one that warms the workers up.",
        "",
        *lines,
        "",
        measured_on("python benchmarks/spark.py"),
    ]
    (HERE / "spark.md").write_text("\n".join(text) + "\n", "utf-8")


def measure(folder: Path, workers: int, sizes: list[int]) -> Iterator[tuple[int, Times, int]]:
    """Each size on a cluster of its own, in the order given."""
    from spark_cluster import running

    from shoal.engines.spark.engine import SparkEngine
    from shoal.engines.spark.session import open_session

    with running(folder, workers, memory=1024, most="1g") as cluster:
        session = open_session(cluster.master)
        try:
            once(SparkEngine(session), folder, 100_000)
            for rows in sizes:
                times, classes = once(SparkEngine(session), folder, rows)
                yield rows, times, classes
        finally:
            session.stop()


def once(engine: Any, folder: Path, rows: int) -> tuple[Times, int]:
    from shoal.engines.spark.streams import node_frame

    path = folder / f"{rows}.parquet"
    parquet.write_table(people(SURVEY, rows), path, row_group_size=250_000)
    times = Times()
    with times.of("read"):
        table = engine.read(path, ReadOptions()).table
        for name in SURVEY:
            _ = table[name].size
    with times.of("group"):
        classes = engine.count(table, list(SURVEY), [])
    hierarchies = {name: build(table[name], parse(column.hierarchy)) for name, column in SURVEY.items()}
    levels = {name: LEVELS.get(name, 0) for name in SURVEY}
    coarse = classes.rollup({name: hierarchies[name].levels[level] for name, level in levels.items()})
    recoding = NodeRecoding(levels, np.zeros(0, dtype=bool), coarse.kept(coarse.counts >= K))
    with times.of("write"):
        frame = node_frame(table.columns, recoding, hierarchies, list(SURVEY), show=False).data
        frame.write.parquet(f"file:{folder}/{rows}.released")
    return times, len(classes)


if __name__ == "__main__":
    main()
