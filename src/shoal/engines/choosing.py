"""Which engine reads a table: Arrow for what fits in memory, DuckDB for what does not, Spark for its own frames."""

import os
from pathlib import Path
from typing import Any

from shoal.engine import Engine
from shoal.engines.arrow import ArrowEngine
from shoal.engines.postgres import named, seems_to_need
from shoal.errors import BadInput
from shoal.memory import bytes_of

NAMES = ("auto", "arrow", "duckdb", "spark")
_OF_FREE = 0.6
_PER_BYTE = 3
"""What a byte of a CSV becomes, roughly, in memory: its codes, its texts, and what is made of them."""
_PER_CELL = 16
"""The same of a cell of a Parquet file."""


def choose_engine(
    name: str, memory: str | int | None, source: Any, spill: Path | None = None, master: str | None = None
) -> Engine:
    """The engine of this name; `auto` takes DuckDB for folders, patterns, databases and what seems too large.

    `master` is where the spark engine works.

    >>> choose_engine("auto", "1GB", "people.csv").name
    'arrow'
    """
    if name not in NAMES:
        raise BadInput(f"engine {name!r} is not known; choose auto, arrow, duckdb or spark")
    if master is not None and name != "spark":
        raise BadInput("a master is for the spark engine only: give --engine spark too")
    if name == "spark" or (name == "auto" and type(source).__module__.startswith("pyspark.sql.")):
        from shoal.engines.spark import SparkEngine

        return SparkEngine(master=master, spill=spill)
    limit = None if memory is None else bytes_of(memory)
    if name == "arrow" or (name == "auto" and _fits(source, limit)):
        return ArrowEngine()
    from shoal.engines.duckdb import DuckDBEngine

    return DuckDBEngine(limit, spill)


def _fits(source: Any, limit: int | None) -> bool:
    """Whether a source is one table that seems to fit in what may be used."""
    from shoal.engines.duckdb.places import many_or_database

    most = limit if limit is not None else _free() * _OF_FREE
    table = named(source)
    if table is not None:
        return seems_to_need(table) <= most
    if many_or_database(source):
        return False
    if not isinstance(source, str | os.PathLike) or not Path(source).is_file():
        return True  # a frame is in memory already; standard input can be read only once
    path = Path(source)
    return _needed(path) <= most


def _needed(path: Path) -> int:
    if path.suffix.lower() != ".parquet":
        return path.stat().st_size * _PER_BYTE
    import pyarrow as pa
    from pyarrow import parquet

    try:
        found = parquet.read_metadata(path)
    except (pa.ArrowException, OSError, ValueError):
        return 0  # whoever reads it says what is wrong
    return int(found.num_rows * found.num_columns * _PER_CELL)


def _free() -> int:
    """Bytes of memory that nobody uses, or that caches would give back."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
