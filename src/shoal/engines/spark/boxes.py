"""Makes boxes on a cluster: the driver cuts large parts by counts of the executors, which finish the small ones."""

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
from shoal.engines.spark.groups import SparkColumns, grouped, keys_of
from shoal.engines.spark.session import LACKING, broadcast, collected, let_go, streamed, told
from shoal.engines.spark.streams import KeyColumn, SparkFrame, as_it_was, place_of
from shoal.errors import BadInput
from shoal.partition.axes import Axis
from shoal.partition.mondrian import Marginals, Watch
from shoal.partition.out_of_core import Boxed
from shoal.partition.upper_cuts import Cutting, CutTree, PartBoxes, PartCounts, Top
from shoal.recoding.kinds import StoredRecoding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROOM = 1 << 20
"""Items of a part that one executor finishes in its memory."""
_PER_TASK = 1 << 18
"""Rows of the table for each task that keeps some of its items."""
_VERSION = __version__
_WORD = (1 << 64) - 1
_NUMBER = count()


@dataclass(frozen=True)
class Lines:
    """Distinct rows of all released columns on the executors: key, number of occurrences, top and part of each."""

    frame: "DataFrame"
    """The rows, which the executors keep as long as this object lives."""
    begin: Longs
    """Number of the first part of each top; in the frame, parts are numbered from there."""
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
) -> Boxed:
    """Cut parts as `mondrian` does; the driver sees counts per axis of large parts, boxes, and a batch of points."""
    names = (*quasi, *others)
    layout = Layout.of([columns[name].size for name in names])
    session = columns.cells.frame.sparkSession
    tasks = max(session.sparkContext.defaultParallelism, rows // _PER_TASK)
    with told(columns.name):
        _refuse_without_shoal(session)
        counted = grouped(keys_of(columns, names, layout, {})).withColumnRenamed("count", "n")
        items = _kept(counted.coalesce(tasks))  # Spark keeps as many pieces as it has, however small
        ground = _ClusterItems(items, Cutting(tuple(axes), k, _ROOM), names, layout, tasks)
        tops = list(ground.cutting.tops(ground.whole(), ground.split, together=True))
        frame = ground.finished(tops)
        boxes = _boxes(frame, ground.cutting, tops)
        begin = np.cumsum([0, *(len(each.rows) for each in boxes[:-1])])
        lines = Lines(frame, begin, names, layout)
        folder = columns.scratch.path / f"boxes{next(_NUMBER)}"
        folder.mkdir()
        _write_points(folder / "points.parquet", lines, quasi)
    watch(1.0)
    return Boxed(PartBoxes.joined(boxes), lines, folder / "points.parquet")


def _refuse_without_shoal(session: "SparkSession") -> None:
    """Refuse at once executors without this version of Shoal, which would fail at the end."""
    tasks = session.sparkContext.defaultParallelism
    found = collected(session.range(0, tasks, 1, tasks).mapInArrow(executors.version(), "version string"))
    if found["version"].unique().to_pylist() != [_VERSION]:
        raise BadInput(LACKING)


def _kept(frame: "DataFrame") -> "DataFrame":
    """Keep a frame on the disks of the executors as long as somebody uses it."""
    from pyspark import StorageLevel

    kept = frame.persist(StorageLevel.DISK_ONLY)
    weakref.finalize(kept, let_go, kept._jdf)  # noqa: SLF001 - the frame itself would never end
    return kept


@dataclass
class _ClusterItems:
    """Items on the executors, which find their part by a tree of cuts."""

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

    def whole(self) -> PartCounts:
        ((whole,),) = self._counted([range(1)])
        return whole

    def split(self, tops: Sequence[Top]) -> Iterator[list[PartCounts]]:
        """Count both sides of every cut of a level, in one job."""
        return self._counted([self.tree.cut(top.where, top.cut) for top in tops if top.cut is not None])

    def _counted(self, nodes: Sequence[range]) -> Iterator[list[PartCounts]]:
        """Yield counts of both sides of each cut, the last nodes of the tree; one by one, as they are wide."""
        first = nodes[0].start
        run = cutting.counted(self.given, self._broadcast(self.tree), first)
        parts = self.items.mapInArrow(run, "part int, axis int, position int, n long")
        found = collected(parts.groupBy("part", "axis", "position").sum("n"))
        # [count] sorted by part and axis, so that those of a part, and of an axis in it, lie together
        found = found.take(pc.sort_indices(found, [("part", "ascending"), ("axis", "ascending")]))
        part, axis, position, n = (np.asarray(column) for column in found.columns)
        for sides in nodes:
            made = []
            for node in sides:
                begin, end = np.searchsorted(part, [node, node + 1])
                # items come before all axes
                edges = begin + np.searchsorted(axis[begin:end], np.arange(len(self.cutting.axes) + 1))
                held = Marginals.none(self.cutting.axes)
                for a, (low, high) in enumerate(pairwise(edges.tolist())):
                    held.add(a, position[low:high], n[low:high])
                made.append(PartCounts(node, held, int(n[begin])))
            yield made

    def finished(self, tops: Sequence[Top]) -> "DataFrame":
        """Items with their top and, numbered within it, their part; one item of each small top has its boxes."""
        # [node of the tree] number of its top; [top] whether an executor finishes it
        number = np.zeros(len(self.tree.below), dtype=np.int32)
        number[[top.where for top in tops]] = np.arange(len(tops), dtype=np.int32)
        small = np.array([top.small for top in tops])
        regions = np.stack([top.low for top in tops]), np.stack([top.high for top in tops])
        keys = ", ".join(f"{name} long" for name in self.items.columns)
        seated = self.items.mapInArrow(
            cutting.seated(self.given, self._broadcast(self.tree), self._broadcast((number, small))),
            f"{keys}, top int, seat int",
        )
        run = cutting.finished(self.given, self._broadcast(regions))
        together = seated.repartition(self.tasks, "seat").sortWithinPartitions("seat")
        made = _kept(together.mapInArrow(run, f"{keys}, top int, part int, boxes binary"))
        made.count()  # all at once, before anything is read partition by partition
        return made


def _boxes(frame: "DataFrame", how: Cutting, tops: Sequence[Top]) -> list[PartBoxes]:
    """Boxes of each top: its own where it is not cut further, else those that an executor found."""
    axes = range(len(how.axes))
    found: dict[int, PartBoxes] = {i: how.kept(top) for i, top in enumerate(tops) if not top.small}
    for batch in streamed(frame.where("boxes is not null").select("top", "boxes")):
        for top, packed in zip(batch["top"].to_pylist(), batch["boxes"], strict=True):
            told_of = pa.ipc.open_stream(packed.as_buffer()).read_all()
            low, high = (np.stack([np.asarray(told_of[f"{end}{a}"]) for a in axes], axis=1) for end in ("low", "high"))
            found[top] = PartBoxes(low, high, np.asarray(told_of["rows"]))
    made = [found[i] for i in range(len(tops))]
    assert [int(each.rows.sum()) for each in made] == [top.rows for top in tops]
    return made


def _write_points(path: Path, lines: Lines, quasi: Sequence[str]) -> None:
    """Write the codes of each distinct point, q0, q1, … in the order of their names, and its part."""
    from pyspark.sql import functions as f

    codes = []
    for i, name in enumerate(sorted(quasi)):
        word, shift, mask = place_of(lines.layout, quasi.index(name))
        codes.append(f.shiftrightunsigned(f"k{word}", shift).bitwiseAND(f.lit(mask)).cast("int").alias(f"q{i}"))
    told_of = pa.schema([*((f"q{i}", pa.int32()) for i in range(len(quasi))), ("part", pa.int32())])
    with parquet.ParquetWriter(path, told_of, compression="zstd") as writer:
        for batch in streamed(lines.frame.select(*codes, "top", "part").distinct()):
            *points, top, part = batch.columns
            numbers = (lines.begin[top.to_numpy()] + part.to_numpy()).astype(np.int32)
            writer.write_batch(pa.record_batch([*points, numbers], schema=told_of))


def box_frame(table: SparkColumns, recoding: StoredRecoding, columns: Sequence[str]) -> SparkFrame:
    """Make a frame of the rows as their boxes show them."""
    from pyspark.sql import types

    lines = recoding.lines
    assert isinstance(lines, Lines)
    seen: dict[str, KeyColumn] = {}
    for name in columns:
        if name not in recoding.shown:
            seen[name] = as_it_was(table, name, place_of(lines.layout, lines.attributes.index(name)))
            continue
        for shown, labels in recoding.shown[name].items():
            cells = pa.DictionaryArray.from_arrays(pa.array(labels.codes), labels.values)
            seen[shown] = KeyColumn((lines.layout.words, 0, _WORD), cells, labels, types.StringType())
    return SparkFrame(table, lambda: _repeated(lines), seen)


def _repeated(lines: Lines) -> "DataFrame":
    """Frame with the key of every row, and its part as one word more."""
    sent = broadcast(lines.frame.sparkSession, lines.begin)
    schema = ", ".join(f"k{w} long" for w in range(lines.layout.words + 1))
    return lines.frame.drop("boxes").mapInArrow(executors.repeated(sent), schema)
