"""Released rows that are too many for the driver: sorted on the executors, and kept in order in a private file."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.codes import Codes, Table
from shoal.engine import Shown
from shoal.engines.spark import executors
from shoal.engines.spark.dictionaries import Collected
from shoal.engines.spark.frames import SparkFrame
from shoal.engines.spark.session import told
from shoal.engines.streams import Stream
from shoal.hierarchy import TOP
from shoal.recode import Released, shown_values

_NUMBER = count()


def stream(columns: Collected, table: Table, frame: SparkFrame) -> Shown:
    """The rows of a frame in the order of their texts; the driver holds one batch of them at a time."""
    labels, places = {}, {}
    for name in frame.columns:
        labels[name], places[name] = _ranked(name, table, frame)
    path = columns.scratch.path / f"rows{next(_NUMBER)}.arrow"
    schema = pa.schema([(name, pa.int32()) for name in frame.columns])
    tally = {name: np.zeros(len(each.texts), dtype=np.int64) for name, each in labels.items()}
    total = 0
    with told(columns.name), pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for batch in _in_order(frame, places):
            for name, numbers in zip(frame.columns, batch.columns, strict=True):
                tally[name] += np.bincount(numbers.to_numpy(), minlength=len(tally[name]))
            total += batch.num_rows
            writer.write_batch(pa.record_batch(list(batch.columns), schema=schema))
    used = {name: replace(each, codes=np.flatnonzero(tally[name]).astype(np.int32)) for name, each in labels.items()}
    return Shown(used, stream=Stream(path, total, used, tally, (), 0), frame=frame)


def _in_order(frame: SparkFrame, places: Mapping[str, Codes]) -> Iterator[pa.RecordBatch]:
    """The places of the labels of each row, sorted by a range of them per executor."""
    numbered = frame.numbered(places)
    rows = numbered.orderBy(*numbered.columns).mapInArrow(executors.packed(), "packed binary")
    for row in rows.toLocalIterator(prefetchPartitions=True):
        yield from pa.ipc.open_stream(row[0])


def _ranked(name: str, table: Table, frame: SparkFrame) -> tuple[Released, Codes]:
    """The labels of a column in the order of their texts, null last, and the place of each of its codes."""
    if name not in frame.recoding.levels:
        given = shown_values(table[name])
        codes = np.arange(len(given.texts), dtype=np.int32)
    else:
        known = list(frame.hierarchies[name].labels[frame.recoding.levels[name]])
        texts = known if TOP in known or not frame.show else [*known, TOP]
        star = texts.index(TOP) if frame.show else 0
        # the code after the last label is that of a suppressed row
        codes = np.append(np.arange(len(known), dtype=np.int32), np.int32(star))
        given = Released.of(codes, texts)
    order = pc.sort_indices(given.texts)
    place = np.empty(len(order), dtype=np.int32)
    place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    return Released(given.codes, given.values.take(order), given.texts.take(order)), place[codes]
