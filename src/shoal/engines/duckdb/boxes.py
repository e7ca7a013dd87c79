"""Cuts the distinct rows of a file into boxes on disk, and releases them in order."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from shoal.data.class_counts import Longs
from shoal.data.codes import Codes, Uncollected
from shoal.data.frequency_set import FrequencySet
from shoal.data.on_disk import StoredRows, distinct_of
from shoal.data.packed_keys import Layout
from shoal.engine_port import ReleasedRows
from shoal.engines.duckdb.groups import DuckColumns, grouped, too_many
from shoal.engines.row_stream import Stream
from shoal.engines.table_writer import Order
from shoal.errors import BadData
from shoal.partition.axes import Axis
from shoal.partition.mondrian import Watch
from shoal.partition.out_of_core import Boxed
from shoal.partition.upper_cuts import mondrian_on_disk
from shoal.recoding.columns import Released, shown_values
from shoal.recoding.kinds import StoredRecoding

_PER_ITEM = 96
"""Bytes of an item that is being cut, beside its key."""
_ROOM = 1 << 24
_BATCH = 1 << 17
_WORD_BITS = 63
_NUMBER = count()


def store(columns: DuckColumns, names: Sequence[str]) -> StoredRows:
    """Group the rows of these columns into a file in the scratch folder, in one order: files of a release follow it."""
    for name in names:
        if isinstance(columns[name], Uncollected):
            raise BadData(too_many(columns.name, name))
    layout, session = Layout.of([columns[name].size for name in names]), columns.session
    room = _ROOM if session.room is None else max(session.room // (16 * layout.words + _PER_ITEM), 1)
    folder = session.scratch.path / f"boxes{next(_NUMBER)}"
    folder.mkdir()
    stored = StoredRows(tuple(names), layout, folder / "rows", room)
    for piece in grouped(columns, names, {}, ordered=True):
        stored.add(piece)
    return stored


@dataclass(frozen=True)
class _Sorted:
    """Labels of a column in the order of their texts, null last, and where they lie in the words of a row."""

    labels: Released
    """Labels in that order; its codes are those of the rows of the file, or of the parts."""
    place: Longs
    """Place of each code among the labels."""
    word: int
    shift: int

    @property
    def mask(self) -> int:
        return (1 << _bits(self.labels)) - 1


def _bits(labels: Released) -> int:
    return max((len(labels.texts) - 1).bit_length(), 1)


def _sorted(columns: Mapping[str, Released]) -> dict[str, _Sorted]:
    """Lay out columns in words that sort as the texts of all columns do, the first column first."""
    word, room, out = -1, 0, {}
    for name, labels in columns.items():
        if _bits(labels) > room:
            word, room = word + 1, _WORD_BITS
        room -= _bits(labels)
        order = pc.sort_indices(labels.texts)
        place = np.empty(len(order), dtype=np.int64)
        place[order.to_numpy()] = np.arange(len(order))
        ordered = Released(labels.codes, labels.values.take(order), labels.texts.take(order))
        out[name] = _Sorted(ordered, place, word, room)
    return out


def stream_boxes(
    columns: DuckColumns, recoding: StoredRecoding, names: Sequence[str], quasi: Collection[str]
) -> ReleasedRows:
    """Make the released rows of boxes: what each part shows, and the other columns as they were."""
    made: dict[str, Released] = {}
    for name in names:
        made |= recoding.shown[name] if name in quasi else {name: shown_values(columns[name])}
    every = _sorted(made)
    own = {name for name in names if name not in quasi}
    path = recoding.lines.path.with_name(f"rows{next(_NUMBER)}.arrow")
    # {column: [label] released rows that show it}
    tally = {name: np.zeros(len(each.labels.texts), dtype=np.int64) for name, each in every.items()}
    schema = pa.schema([(name, pa.int32()) for name in every])
    total = 0
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for places, times in _in_order(columns, recoding.lines, every, own):
            for name, place in places.items():
                tally[name] += np.bincount(place, weights=times, minlength=len(tally[name])).astype(np.int64)
            total += int(times.sum())
            each = np.arange(len(times))
            for rows, repeat in Order(each, each, times).blocks(_BATCH):
                writer.write_batch(
                    pa.record_batch([np.repeat(place[rows], repeat) for place in places.values()], schema=schema)
                )
    shown = {
        name: Released(np.flatnonzero(tally[name]).astype(np.int32), one.labels.values, one.labels.texts)
        for name, one in every.items()
    }
    return ReleasedRows(shown, stream=Stream(path, total, shown, tally, (), 0))


def _in_order(
    columns: DuckColumns, lines: StoredRows, every: Mapping[str, _Sorted], own: Collection[str]
) -> Iterator[tuple[dict[str, Codes], Longs]]:
    """Yield places of labels of distinct rows, and how often each row occurs; the database sorts them, and spills."""
    session, words = columns.session, max(one.word for one in every.values()) + 1
    names = [f"w{w}" for w in range(words)]

    def packed() -> Iterator[pa.RecordBatch]:
        for piece, part in lines.with_parts():
            # [word][row] the places of all its labels side by side, the first column in the highest bits
            made = [np.zeros(len(piece), dtype=np.int64) for _ in names]
            for name, one in every.items():
                codes = piece.codes(name) if name in own else one.labels.codes[part]
                made[one.word] |= one.place[codes] << one.shift
            yield pa.record_batch([*made, piece.counts], names=[*names, "n"])

    schema = pa.schema([(name, pa.int64()) for name in (*names, "n")])
    session.db.register("packed_lines", pa.RecordBatchReader.from_batches(schema, packed()))
    listed = ", ".join(names)
    query = f"SELECT {listed}, sum(n)::BIGINT AS n FROM packed_lines GROUP BY ALL ORDER BY {listed}"
    try:
        for batch in session.batches(query, _BATCH):
            *found, times = (column.to_numpy() for column in batch.columns)
            places = {name: ((found[one.word] >> one.shift) & one.mask).astype(np.int32) for name, one in every.items()}
            yield places, times
    finally:
        session.db.unregister("packed_lines")


def box(
    columns: DuckColumns, quasi: Sequence[str], others: Sequence[str], axes: Sequence[Axis], k: int, watch: Watch
) -> Boxed:
    """Group the rows into a file, and cut it: rows go from file to file until their part fits in memory."""
    items = store(columns, [*quasi, *others])
    lines = items.beside("lines", parted=True)
    points = _Points(items.path.with_name("points.parquet"), tuple(sorted(quasi)))

    def keep(piece: FrequencySet, part: Codes) -> None:
        lines.add(piece, part)
        points.add(piece, part)

    boxes, _ = mondrian_on_disk(items, axes, k, keep, watch=watch)
    points.close()
    return Boxed(boxes, lines, points.path)


@dataclass
class _Points:
    """Writes the file of distinct points, each with its part, that a verifier reads."""

    path: Path
    quasi: tuple[str, ...]
    _writer: parquet.ParquetWriter = None
    _known: tuple[int, FrequencySet] | None = field(default=None, repr=False)
    """The last part where it came in pieces, and its points so far."""

    def add(self, piece: FrequencySet, part: Codes) -> None:
        points, parts = distinct_of(piece, self.quasi, part)
        first = int(parts[0])
        alone = bool((parts == first).all())
        if self._known is not None and self._known[0] == first:
            fresh = ~points.among(self._known[1])
            points, parts = points.kept(fresh), parts[fresh]
        if alone:
            before = self._known[1] if self._known is not None and self._known[0] == first else None
            self._known = first, points if before is None else before.beside(points)
        codes = {f"q{i}": points.codes(name) for i, name in enumerate(self.quasi)}
        told = pa.table({**codes, "part": parts})
        self._writer = self._writer or parquet.ParquetWriter(self.path, told.schema, compression="zstd")
        self._writer.write_table(told)

    def close(self) -> None:
        self._writer.close()
