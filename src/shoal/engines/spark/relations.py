"""The rows of a table as a Spark frame with columns c0, c1, …: from files, or from a frame of the caller."""

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
from shoal.engines.duckdb.relations import FoundRelation, TableLocation, diagnose_files, find_relation
from shoal.engines.duckdb.session import Session
from shoal.engines.reading.assemble import FRAME, check_names, check_type
from shoal.engines.reading.csv_reader import Header
from shoal.engines.spark import executors
from shoal.engines.spark.session import (
    collect_table,
    explain_spark_error,
    pickle_by_value,
    stream_batches,
    unpersist_frame,
)
from shoal.errors import BadData

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LEAST, _MOST = 4 << 20, 64 << 20
"""Minimum and maximum number of bytes of a CSV that a task reads."""
_TASKS_PER_CORE = 3
_SPECIAL = "\\*?[]{},"
_NANOSECONDS = "ns"


@dataclass(frozen=True)
class ClusterRows:
    """Rows that stay on the cluster, with their columns, types and headers."""

    frame: "DataFrame"
    titles: Mapping[str, str]
    """Name of each column of the table in the frame."""
    types: Mapping[str, pa.DataType]
    """The Arrow type of each column."""
    relation: Relation
    """How other code, such as the verifier, reads the same rows."""
    headers: tuple[Header, ...] = ()
    """Header of each CSV file; empty for other formats."""

    @property
    def header(self) -> Header | None:
        return self.headers[0] if self.headers else None


def read_location(session: "SparkSession", place: TableLocation, options: ReadOptions) -> ClusterRows:
    """Return the rows of files, which must have the same path on every executor."""
    with closing(Session(None, None)) as own:
        found = find_relation(place, options, own)
    if found.header is not None and found.header.row_names:
        raise BadData(f"{place.name}: column 1 has no name; give it one")
    frame = _read_csv(session, place, found) if place.format == "csv" else _read_parquet(session, place, found)
    return ClusterRows(frame, found.relation.columns, found.types, found.relation, found.headers)


def take_frame(frame: "DataFrame") -> ClusterRows:
    """Return the rows of a Spark frame, which may be a table of a catalogue: `spark.table("people")`."""
    check_names(FRAME, frame.columns)
    titles = {title: f"c{i}" for i, title in enumerate(frame.columns)}
    cells = frame.toDF(*titles.values())
    with explain_spark_error(FRAME):
        schema = collect_table(cells.limit(1)).schema
    types = {}
    for title, name in titles.items():
        types[title] = schema.field(name).type
        check_type(FRAME, title, types[title])
    return ClusterRows(
        cells, titles, types, Relation("FROM given_rows", titles, counted=partial(_count_distinct_rows, cells))
    )


def _count_distinct_rows(cells: "DataFrame", names: Sequence[str]) -> pa.RecordBatchReader:
    """Return the distinct raw rows of some columns and how often each occurs (`times`), grouped by Spark itself."""
    with explain_spark_error(FRAME):
        rows = stream_batches(cells.groupBy(*names).count().withColumnRenamed("count", "times"))
        first = next(rows)
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], rows))


def _read_csv(session: "SparkSession", place: TableLocation, found: FoundRelation) -> "DataFrame":
    """Parse a CSV once, and persist its cells on the executors, in memory or else on disk."""
    from pyspark import StorageLevel

    assert found.header is not None
    pickle_by_value()
    pieces = _pieces(session, place, found.headers)
    end = b"\r" if found.header.line_end == "\r" else b"\n"
    dialect = found.header.dialect
    if dialect.quote:
        pieces = _join_torn_pieces(session, place, found.headers, pieces, end, dialect.quote.encode())
    width = len(found.relation.columns)
    how = {"delimiter": dialect.delimiter, "quote_char": dialect.quote or False}
    schema = ", ".join(f"c{i} string" for i in range(width))
    numbered = session.range(0, len(pieces), 1, len(pieces))
    cells = numbered.mapInArrow(executors.parse_csv(pieces, end, how, width), schema)
    kept = cells.persist(StorageLevel.MEMORY_AND_DISK)
    weakref.finalize(kept, unpersist_frame, kept._jdf)  # noqa: SLF001 - holding the frame itself would keep it alive
    return kept


def _pieces(
    session: "SparkSession", place: TableLocation, headers: Sequence[Header]
) -> list[tuple[str, int, int, int]]:
    """Return byte ranges of the files, each to be read by one task: (path, offset of the first record, start, end)."""
    sizes = [file.stat().st_size for file in place.files]
    tasks = session.sparkContext.defaultParallelism * _TASKS_PER_CORE
    step = min(max(sum(sizes) // tasks, _LEAST), _MOST)
    pieces = []
    for file, size, header in zip(place.files, sizes, headers, strict=True):
        path, body = str(file.absolute()), header.body
        pieces += [(path, body, start, min(start + step, size)) for start in range(body, size, step)]
    return pieces


def _join_torn_pieces(
    session: "SparkSession",
    place: TableLocation,
    headers: Sequence[Header],
    pieces: list[tuple[str, int, int, int]],
    end: bytes,
    quote: bytes,
) -> list[tuple[str, int, int, int]]:
    """Return the pieces, with a file that has line ends inside of cells as a single piece, to be read by one task."""
    with explain_spark_error(place.name):
        numbered = session.range(0, len(pieces), 1, len(pieces))
        looked = collect_table(
            numbered.mapInArrow(executors.find_torn_pieces(pieces, end, quote), "piece long, torn boolean")
        )
    torn = {pieces[i][0] for i, odd in zip(looked["piece"].to_pylist(), looked["torn"].to_pylist(), strict=True) if odd}
    if not torn:
        return pieces
    diagnose_files(headers)  # refuses stray quotes, which look like line ends inside of cells
    whole = {path: (path, body, start, -1) for path, body, start, _ in reversed(pieces) if path in torn}
    return [piece for piece in pieces if piece[0] not in torn] + list(whole.values())


def _read_parquet(session: "SparkSession", place: TableLocation, found: FoundRelation) -> "DataFrame":
    for title, of in found.types.items():
        if pa.types.is_timestamp(of) and of.unit == _NANOSECONDS:
            raise BadData(
                f"{place.name}: column {title!r} has nanoseconds, which Spark does not read; use another engine, or "
                "write it in microseconds"
            )
    with explain_spark_error(place.name):
        frame = session.read.parquet(*(_literal(file) for file in place.files))
        return frame.toDF(*found.relation.columns.values())


def _literal(file: Path) -> str:
    """Return the path of a file, escaped so that Spark does not take it for a pattern."""
    return "file:" + "".join(f"\\{c}" if c in _SPECIAL else c for c in str(file.absolute()))
