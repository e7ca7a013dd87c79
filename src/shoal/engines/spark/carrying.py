"""Tables between the driver and the executors, as Arrow."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from shoal.engines.spark import cutting, executors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PIECE = 1 << 20


def by_value() -> None:
    """Let these functions travel whole, so that executors need no Shoal, or not this part of it."""
    from pyspark import cloudpickle

    for module in (executors, cutting):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def collected(frame: "DataFrame", empty: pa.Schema | None = None) -> pa.Table:
    """A small table on the driver; `empty` is what it looks like without rows, if it may have none."""
    by_value()
    found = frame.mapInArrow(executors.packed(), "packed binary").collect()
    tables = [pa.ipc.open_stream(row[0]).read_all() for row in found]
    if not tables and empty is not None:
        return empty.empty_table()
    return pa.concat_tables(tables)


def streamed(frame: "DataFrame") -> Iterator[pa.RecordBatch]:
    """A large table, partition by partition: the driver holds no more than two of these."""
    by_value()
    rows = frame.mapInArrow(executors.packed(), "packed binary")
    for row in rows.toLocalIterator(prefetchPartitions=True):
        yield from pa.ipc.open_stream(row[0])


def spread(session: "SparkSession", table: pa.Table, schema: str) -> "DataFrame":
    """A table of the driver on the executors."""
    pieces = [executors.as_bytes(batch) for batch in table.combine_chunks().to_batches(_PIECE)]
    given = broadcast(session, pieces)
    return session.range(0, len(pieces), 1, max(len(pieces), 1)).mapInArrow(executors.unpacked(given), schema)


def broadcast(session: "SparkSession", value: Any) -> Any:
    """Something that every executor gets once."""
    by_value()
    return session.sparkContext.broadcast(value)


def let_go(frame: Any) -> None:
    """Nobody asks for a frame any more; a cluster that is gone has none."""
    from py4j.protocol import Py4JError

    try:
        frame.unpersist()
    except (Py4JError, OSError, AttributeError):
        return
