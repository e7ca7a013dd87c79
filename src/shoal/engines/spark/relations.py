"""The rows as a Spark frame whose columns are c0, c1, …: from files, or from a frame of the caller."""

import weakref
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from shoal.data.codes import Relation
from shoal.engine_port import ReadOptions
from shoal.engines.duckdb.relations import FoundRelation, Place, explain, find_relation
from shoal.engines.duckdb.session import Session
from shoal.engines.reading.assemble import FRAME, check_names, check_type
from shoal.engines.reading.csv_reader import Header
from shoal.engines.spark import executors
from shoal.engines.spark.session import by_value, collected, let_go, streamed, told
from shoal.errors import BadData

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LEAST, _MOST = 4 << 20, 64 << 20
"""Least and most bytes of a CSV that a task reads."""
_TASKS_PER_CORE = 3
_SPECIAL = "\\*?[]{},"
_NANOSECONDS = "ns"


@dataclass(frozen=True)
class ClusterRows:
    """Rows that stay on the cluster, and what is known of them."""

    frame: "DataFrame"
    titles: Mapping[str, str]
    """What each column of the table is called in the frame."""
    types: Mapping[str, pa.DataType]
    """What Arrow calls the type of each column."""
    relation: Relation
    """How somebody else reads the same rows."""
    headers: tuple[Header, ...] = ()
    """Header of each file of a CSV; none for all else."""

    @property
    def header(self) -> Header | None:
        return self.headers[0] if self.headers else None


def of_place(session: "SparkSession", place: Place, options: ReadOptions) -> ClusterRows:
    """Read the rows of files, which every executor must see under the same path."""
    with closing(Session(None, None)) as own:
        found = find_relation(place, options, own)
    if found.header is not None and found.header.row_names:
        raise BadData(f"{place.name}: column 1 has no name; give it one")
    frame = _csv(session, place, found) if place.format == "csv" else _parquet(session, place, found)
    return ClusterRows(frame, found.relation.columns, found.types, found.relation, found.headers)


def of_frame(frame: "DataFrame") -> ClusterRows:
    """Take the rows of a Spark frame; a table of a catalogue is one too: `spark.table("people")`."""
    check_names(FRAME, frame.columns)
    titles = {title: f"c{i}" for i, title in enumerate(frame.columns)}
    cells = frame.toDF(*titles.values())
    with told(FRAME):
        schema = collected(cells.limit(1)).schema
    types = {}
    for title, name in titles.items():
        types[title] = schema.field(name).type
        check_type(FRAME, title, types[title])
    return ClusterRows(cells, titles, types, Relation("FROM given_rows", titles, counted=partial(_counted, cells)))


def _counted(cells: "DataFrame", names: Sequence[str]) -> pa.RecordBatchReader:
    """The distinct raw rows of some columns and how often each occurs (`times`), grouped by Spark's own SQL."""
    with told(FRAME):
        rows = streamed(cells.groupBy(*names).count().withColumnRenamed("count", "times"))
        first = next(rows)
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], rows))


def _csv(session: "SparkSession", place: Place, found: FoundRelation) -> "DataFrame":
    """Cut a CSV into cells once, and keep them on the executors: in memory, else on their disks."""
    from pyspark import StorageLevel

    assert found.header is not None
    by_value()
    pieces = _pieces(session, place, found.headers)
    end = b"\r" if found.header.line_end == "\r" else b"\n"
    dialect = found.header.dialect
    if dialect.quote:
        pieces = _mended(session, place, found.headers, pieces, end, dialect.quote.encode())
    width = len(found.relation.columns)
    how = {"delimiter": dialect.delimiter, "quote_char": dialect.quote or False}
    schema = ", ".join(f"c{i} string" for i in range(width))
    numbered = session.range(0, len(pieces), 1, len(pieces))
    cells = numbered.mapInArrow(executors.parsed(pieces, end, how, width), schema)
    kept = cells.persist(StorageLevel.MEMORY_AND_DISK)
    weakref.finalize(kept, let_go, kept._jdf)  # noqa: SLF001 - the frame itself would never end
    return kept


def _pieces(session: "SparkSession", place: Place, headers: Sequence[Header]) -> list[tuple[str, int, int, int]]:
    """Byte ranges of the files, each of which one task reads."""
    sizes = [file.stat().st_size for file in place.files]
    tasks = session.sparkContext.defaultParallelism * _TASKS_PER_CORE
    step = min(max(sum(sizes) // tasks, _LEAST), _MOST)
    pieces = []
    for file, size, header in zip(place.files, sizes, headers, strict=True):
        path, body = str(file.absolute()), header.body
        pieces += [(path, body, start, min(start + step, size)) for start in range(body, size, step)]
    return pieces


def _mended(
    session: "SparkSession",
    place: Place,
    headers: Sequence[Header],
    pieces: list[tuple[str, int, int, int]],
    end: bytes,
    quote: bytes,
) -> list[tuple[str, int, int, int]]:
    """The pieces, in which a file with a line end inside a cell is one piece, read by one task."""
    with told(place.name):
        numbered = session.range(0, len(pieces), 1, len(pieces))
        looked = collected(numbered.mapInArrow(executors.torn(pieces, end, quote), "piece long, torn boolean"))
    torn = {pieces[i][0] for i, odd in zip(looked["piece"].to_pylist(), looked["torn"].to_pylist(), strict=True) if odd}
    if not torn:
        return pieces
    explain(headers)  # a stray quote would look like a line end inside a cell
    whole = {path: (path, body, start, -1) for path, body, start, _ in reversed(pieces) if path in torn}
    return [piece for piece in pieces if piece[0] not in torn] + list(whole.values())


def _parquet(session: "SparkSession", place: Place, found: FoundRelation) -> "DataFrame":
    for title, of in found.types.items():
        if pa.types.is_timestamp(of) and of.unit == _NANOSECONDS:
            raise BadData(
                f"{place.name}: column {title!r} has nanoseconds, which Spark does not read; use another engine, or "
                "write it in microseconds"
            )
    with told(place.name):
        frame = session.read.parquet(*(_literal(file) for file in place.files))
        return frame.toDF(*found.relation.columns.values())


def _literal(file: Path) -> str:
    """A path that Spark takes for one file, not for a pattern."""
    return "file:" + "".join(f"\\{c}" if c in _SPECIAL else c for c in str(file.absolute()))
