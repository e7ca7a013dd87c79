"""Released rows that are too many for the driver: sorted on the executors, and kept in order in a private file."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.codes import Codes
from shoal.engine import Shown
from shoal.engines.spark.carrying import streamed
from shoal.engines.spark.frames import SparkFrame
from shoal.engines.spark.session import told
from shoal.engines.streams import Stream
from shoal.recode import Released

_NUMBER = count()


def stream(frame: SparkFrame) -> Shown:
    """The rows of a frame in the order of their texts; the driver holds one batch of them at a time."""
    labels, places = {}, {}
    for name, seen in frame.columns.items():
        labels[name], places[name] = _ranked(seen.labels)
    path = frame.table.scratch.path / f"rows{next(_NUMBER)}.arrow"
    schema = pa.schema([(name, pa.int32()) for name in labels])
    tally = {name: np.zeros(len(each.texts), dtype=np.int64) for name, each in labels.items()}
    total = 0
    with told(frame.table.name), pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for batch in _in_order(frame, places):
            for name, numbers in zip(labels, batch.columns, strict=True):
                tally[name] += np.bincount(numbers.to_numpy(), minlength=len(tally[name]))
            total += batch.num_rows
            writer.write_batch(pa.record_batch(list(batch.columns), schema=schema))
    used = {name: replace(each, codes=np.flatnonzero(tally[name]).astype(np.int32)) for name, each in labels.items()}
    return Shown(used, stream=Stream(path, total, used, tally, (), 0), frame=frame)


def _in_order(frame: SparkFrame, places: Mapping[str, Codes]) -> Iterator[pa.RecordBatch]:
    """The places of the labels of each row, sorted by a range of them per executor."""
    numbered = frame.numbered(places)
    return streamed(numbered.orderBy(*numbered.columns))


def _ranked(given: Released) -> tuple[Released, Codes]:
    """The labels of a column in the order of their texts, null last, and the place of each of its codes."""
    order = pc.sort_indices(given.texts)
    place = np.empty(len(order), dtype=np.int32)
    place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    return Released(given.codes, given.values.take(order), given.texts.take(order)), place[given.codes]
