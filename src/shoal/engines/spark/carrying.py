"""Tables between the driver and the executors, as Arrow."""

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from shoal.engines.spark import executors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PIECE = 1 << 20


def by_value() -> None:
    """Let the functions of `executors` travel whole, so that executors need no Shoal."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(executors)  # type: ignore[no-untyped-call]


def collected(frame: "DataFrame", empty: pa.Schema | None = None) -> pa.Table:
    """A small table on the driver; `empty` is what it looks like without rows, if it may have none."""
    by_value()
    found = frame.mapInArrow(executors.packed(), "packed binary").collect()
    tables = [pa.ipc.open_stream(row[0]).read_all() for row in found]
    if not tables and empty is not None:
        return empty.empty_table()
    return pa.concat_tables(tables)


def spread(session: "SparkSession", table: pa.Table, schema: str) -> "DataFrame":
    """A table of the driver on the executors."""
    pieces = []
    for batch in table.combine_chunks().to_batches(_PIECE):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        pieces.append(sink.getvalue().to_pybytes())
    given = broadcast(session, pieces)
    return session.range(0, len(pieces), 1, max(len(pieces), 1)).mapInArrow(executors.unpacked(given), schema)


def broadcast(session: "SparkSession", value: Any) -> Any:
    """Something that every executor gets once."""
    by_value()
    return session.sparkContext.broadcast(value)
