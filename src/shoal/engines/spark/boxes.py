"""Cut boxes on a cluster: the driver cuts large parts by counts of the executors, which finish the small parts."""

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from shoal import __version__
from shoal.data.class_counts import Longs
from shoal.data.packed_keys import Layout
from shoal.engines.spark import executor_cuts as cutting
from shoal.engines.spark import executors
from shoal.engines.spark.groups import SparkColumns, count_keys, keys_of
from shoal.engines.spark.session import (
    LACKING,
    broadcast,
    collect_table,
    explain_spark_error,
    stream_batches,
    unpersist_frame,
)
from shoal.engines.spark.streams import KeyColumn, SparkFrame, place_of, unchanged_key_column
from shoal.errors import BadInput
from shoal.partition.axes import Axis
from shoal.partition.mondrian import Marginals, Watch
from shoal.partition.out_of_core import StoredBoxes
from shoal.partition.upper_cuts import Cutting, CutTree, PartBoxes, PartCounts, UpperPart
from shoal.recoding.kinds import StoredRecoding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROOM = 1 << 20
"""Maximum number of items of a part that one executor finishes in its memory."""
_PER_TASK = 1 << 18
"""Rows of the table per task that stores items."""
_VERSION = __version__
_WORD = (1 << 64) - 1
_NUMBER = count()


@dataclass(frozen=True)
class Lines:
    """Distinct rows of all released columns on the executors, each with its key, count, top (large part) and part."""

    frame: "DataFrame"
    """The rows, which the executors store as long as this object lives."""
    begin: Longs
    """Number of the first part of each top; in the frame, the parts of each top are numbered from 0."""
    attributes: tuple[str, ...]
    layout: Layout


def box(
    columns: SparkColumns,
    rows: int,
    quasi: Sequence[str],
    others: Sequence[str],
    axes: Sequence[Axis],
    k: int,
    watch: Watch,
) -> StoredBoxes:
    """Cut parts as `mondrian` does; the driver holds counts per axis of large parts, boxes, and one batch of points."""
    names = (*quasi, *others)
    layout = Layout.of([columns[name].size for name in names])
    session = columns.cells.frame.sparkSession
    tasks = max(session.sparkContext.defaultParallelism, rows // _PER_TASK)
    with explain_spark_error(columns.name):
        _refuse_without_shoal(session)
        counted = count_keys(keys_of(columns, names, layout, {})).withColumnRenamed("count", "n")
        items = _persist(counted.coalesce(tasks))  # otherwise Spark keeps all partitions of the shuffle, however small
        ground = _ClusterItems(items, Cutting(tuple(axes), k, _ROOM), names, layout, tasks)
        tops = list(ground.cutting.cut_upper_parts(ground.count_whole(), ground.split, together=True))
        frame = ground.finish(tops)
        boxes = _collect_boxes(frame, ground.cutting, tops)
        begin = np.cumsum([0, *(len(each.rows) for each in boxes[:-1])])
        lines = Lines(frame, begin, names, layout)
        folder = columns.scratch.path / f"boxes{next(_NUMBER)}"
        folder.mkdir()
        _write_points(folder / "points.parquet", lines, quasi)
    watch(1.0)
    return StoredBoxes(PartBoxes.from_several(boxes), lines, folder / "points.parquet")


def _refuse_without_shoal(session: "SparkSession") -> None:
    """Refuse executors without this version of Shoal at once, as they would fail only at the end."""
    tasks = session.sparkContext.defaultParallelism
    found = collect_table(session.range(0, tasks, 1, tasks).mapInArrow(executors.version(), "version string"))
    if found["version"].unique().to_pylist() != [_VERSION]:
        raise BadInput(LACKING)


def _persist(frame: "DataFrame") -> "DataFrame":
    """Persist a frame on the disks of the executors until it is garbage-collected."""
    from pyspark import StorageLevel

    kept = frame.persist(StorageLevel.DISK_ONLY)
    weakref.finalize(kept, unpersist_frame, kept._jdf)  # noqa: SLF001 - holding the frame itself would keep it alive
    return kept


@dataclass
class _ClusterItems:
    """Items on the executors, which are assigned to parts by a tree of cuts."""

    items: "DataFrame"
    cutting: Cutting
    names: tuple[str, ...]
    layout: Layout
    tasks: int
    tree: CutTree = field(default_factory=CutTree)

    def __post_init__(self) -> None:
        self.given = self._broadcast((self.cutting, self.names, self.layout))

    def _broadcast(self, value: Any) -> Any:
        return broadcast(self.items.sparkSession, value)

    def count_whole(self) -> PartCounts:
        """Count all items as one part."""
        ((whole,),) = self._count_parts([range(1)])
        return whole

    def split(self, tops: Sequence[UpperPart]) -> Iterator[list[PartCounts]]:
        """Count both sides of every cut of a level in one Spark job."""
        return self._count_parts([self.tree.cut(top.where, top.cut) for top in tops if top.cut is not None])

    def _count_parts(self, nodes: Sequence[range]) -> Iterator[list[PartCounts]]:
        """Yield the counts of both sides of each cut, the last nodes of the tree, one cut at a time to save memory."""
        first = nodes[0].start
        run = cutting.counted(self.given, self._broadcast(self.tree), first)
        parts = self.items.mapInArrow(run, "part int, axis int, position int, n long")
        found = collect_table(parts.groupBy("part", "axis", "position").sum("n"))
        # [count] sorted by part and axis, so that the counts of a part, and of each axis within it, are contiguous
        found = found.take(pc.sort_indices(found, [("part", "ascending"), ("axis", "ascending")]))
        part, axis, position, n = (np.asarray(column) for column in found.columns)
        for sides in nodes:
            made = []
            for node in sides:
                begin, end = np.searchsorted(part, [node, node + 1])
                # [axis + 1] offsets of the counts of each axis; the number of items, axis -1, comes first
                edges = begin + np.searchsorted(axis[begin:end], np.arange(len(self.cutting.axes) + 1))
                held = Marginals.without_rows(self.cutting.axes)
                for a, (low, high) in enumerate(pairwise(edges.tolist())):
                    held.add(a, position[low:high], n[low:high])
                made.append(PartCounts(node, held, int(n[begin])))
            yield made

    def finish(self, tops: Sequence[UpperPart]) -> "DataFrame":
        """Return the items with their top and their part within it; one item of each small top carries its boxes."""
        # number [node of the tree] its top; small [top] whether an executor finishes it; regions [top, axis] its ends
        number = np.zeros(len(self.tree.below), dtype=np.int32)
        number[[top.where for top in tops]] = np.arange(len(tops), dtype=np.int32)
        small = np.array([top.small for top in tops])
        regions = np.stack([top.low for top in tops]), np.stack([top.high for top in tops])
        keys = ", ".join(f"{name} long" for name in self.items.columns)
        seated = self.items.mapInArrow(
            cutting.assign_seats(self.given, self._broadcast(self.tree), self._broadcast((number, small))),
            f"{keys}, top int, seat int",
        )
        run = cutting.finished(self.given, self._broadcast(regions))
        together = seated.repartition(self.tasks, "seat").sortWithinPartitions("seat")
        made = _persist(together.mapInArrow(run, f"{keys}, top int, part int, boxes binary"))
        made.count()  # compute all partitions in one job, before they are read one by one
        return made


def _collect_boxes(frame: "DataFrame", how: Cutting, tops: Sequence[UpperPart]) -> list[PartBoxes]:
    """Return the boxes of each top: its own if it is not cut further, else those that an executor found."""
    axes = range(len(how.axes))
    found: dict[int, PartBoxes] = {i: how.box_of(top) for i, top in enumerate(tops) if not top.small}
    for batch in stream_batches(frame.where("boxes is not null").select("top", "boxes")):
        for top, packed in zip(batch["top"].to_pylist(), batch["boxes"], strict=True):
            told_of = pa.ipc.open_stream(packed.as_buffer()).read_all()
            low, high = (np.stack([np.asarray(told_of[f"{end}{a}"]) for a in axes], axis=1) for end in ("low", "high"))
            found[top] = PartBoxes(low, high, np.asarray(told_of["rows"]))
    made = [found[i] for i in range(len(tops))]
    assert [int(each.rows.sum()) for each in made] == [top.rows for top in tops]
    return made


def _write_points(path: Path, lines: Lines, quasi: Sequence[str]) -> None:
    """Write the codes of each distinct point, as columns q0, q1, … in the order of the names, and its part."""
    from pyspark.sql import functions as f

    codes = []
    for i, name in enumerate(sorted(quasi)):
        word, shift, mask = place_of(lines.layout, quasi.index(name))
        codes.append(f.shiftrightunsigned(f"k{word}", shift).bitwiseAND(f.lit(mask)).cast("int").alias(f"q{i}"))
    told_of = pa.schema([*((f"q{i}", pa.int32()) for i in range(len(quasi))), ("part", pa.int32())])
    with parquet.ParquetWriter(path, told_of, compression="zstd") as writer:
        for batch in stream_batches(lines.frame.select(*codes, "top", "part").distinct()):
            *points, top, part = batch.columns
            numbers = (lines.begin[top.to_numpy()] + part.to_numpy()).astype(np.int32)
            writer.write_batch(pa.record_batch([*points, numbers], schema=told_of))


def box_frame(table: SparkColumns, recoding: StoredRecoding, columns: Sequence[str]) -> SparkFrame:
    """Return a frame of the rows as their boxes show them."""
    from pyspark.sql import types

    lines = recoding.lines
    assert isinstance(lines, Lines)
    seen: dict[str, KeyColumn] = {}
    for name in columns:
        if name not in recoding.shown:
            seen[name] = unchanged_key_column(table, name, place_of(lines.layout, lines.attributes.index(name)))
            continue
        for shown, labels in recoding.shown[name].items():
            cells = pa.DictionaryArray.from_arrays(pa.array(labels.codes), labels.values)
            seen[shown] = KeyColumn((lines.layout.words, 0, _WORD), cells, labels, types.StringType())
    return SparkFrame(table, lambda: _repeat_keys(lines), seen)


def _repeat_keys(lines: Lines) -> "DataFrame":
    """Return a frame with the key of every row, and its part as one more word."""
    sent = broadcast(lines.frame.sparkSession, lines.begin)
    schema = ", ".join(f"k{w} long" for w in range(lines.layout.words + 1))
    return lines.frame.drop("boxes").mapInArrow(executors.repeat_keys(sent), schema)
