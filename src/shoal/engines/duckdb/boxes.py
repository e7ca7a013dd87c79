"""Cut the distinct rows of a file into boxes on disk, and release them in sorted order."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from shoal.data.class_counts import Longs, sum_counts
from shoal.data.codes import Codes, UncollectedColumn
from shoal.data.frequency_set import FrequencySet
from shoal.data.on_disk import StoredRows, distinct_of
from shoal.data.packed_keys import Layout
from shoal.engine_port import ReleasedRows
from shoal.engines.duckdb.groups import DuckColumns, describe_too_many_values, iter_distinct_rows
from shoal.engines.row_stream import Stream
from shoal.engines.table_writer import Order
from shoal.errors import BadData
from shoal.partition.axes import Axis
from shoal.partition.mondrian import Watch
from shoal.partition.out_of_core import StoredBoxes
from shoal.partition.upper_cuts import mondrian_on_disk
from shoal.recoding.columns import ReleasedColumn, unchanged_column
from shoal.recoding.kinds import StoredRecoding

_PER_ITEM = 96
"""Bytes of an item that is being cut, beside its key."""
_ROOM = 1 << 24
_BATCH = 1 << 17
_WORD_BITS = 63
_NUMBER = count()


def store_distinct_rows(columns: DuckColumns, names: Sequence[str]) -> StoredRows:
    """Write the distinct rows of these columns to a file, sorted by key so that releases are reproducible."""
    for name in names:
        if isinstance(columns[name], UncollectedColumn):
            raise BadData(describe_too_many_values(columns.name, name))
    layout, session = Layout.of([columns[name].size for name in names]), columns.session
    room = _ROOM if session.room is None else max(session.room // (16 * layout.words + _PER_ITEM), 1)
    folder = session.scratch.path / f"boxes{next(_NUMBER)}"
    folder.mkdir()
    stored = StoredRows(tuple(names), layout, folder / "rows", room)
    for piece in iter_distinct_rows(columns, names, {}, ordered=True):
        stored.add(piece)
    return stored


@dataclass(frozen=True)
class _PackedLabels:
    """Labels of a column in the order of their texts, null last, and their field in the packed words of a row."""

    labels: ReleasedColumn
    """Labels in that order; its codes are still those before sorting."""
    place: Longs
    """Index of each code among the sorted labels."""
    word: int
    shift: int

    @property
    def mask(self) -> int:
        return (1 << _bits(self.labels)) - 1


def _bits(labels: ReleasedColumn) -> int:
    """Return the number of bits that the index of a label needs."""
    return max((len(labels.texts) - 1).bit_length(), 1)


def _pack_labels(columns: Mapping[str, ReleasedColumn]) -> dict[str, _PackedLabels]:
    """Pack columns into words that sort as the texts of all columns do, the first column first."""
    # fields are allotted from the highest bit of a word down, so that earlier columns weigh more
    word, room, out = -1, 0, {}
    for name, labels in columns.items():
        if _bits(labels) > room:
            word, room = word + 1, _WORD_BITS
        room -= _bits(labels)
        order = pc.sort_indices(labels.texts)
        # [code] index of its label in sorted order
        place = np.empty(len(order), dtype=np.int64)
        place[order.to_numpy()] = np.arange(len(order))
        ordered = ReleasedColumn(labels.codes, labels.values.take(order), labels.texts.take(order))
        out[name] = _PackedLabels(ordered, place, word, room)
    return out


def stream_boxes(
    columns: DuckColumns, recoding: StoredRecoding, names: Sequence[str], quasi: Collection[str]
) -> ReleasedRows:
    """Return the released rows as a sorted stream: quasi-identifiers as shown by their part, others unchanged."""
    made: dict[str, ReleasedColumn] = {}
    for name in names:
        made |= recoding.shown[name] if name in quasi else {name: unchanged_column(columns[name])}
    every = _pack_labels(made)
    own = {name for name in names if name not in quasi}
    path = recoding.lines.path.with_name(f"rows{next(_NUMBER)}.arrow")
    # {column: [label] number of released rows that show it}
    tally = {name: np.zeros(len(each.labels.texts), dtype=np.int64) for name, each in every.items()}
    schema = pa.schema([(name, pa.int32()) for name in every])
    total = 0
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for places, times in _iter_sorted_rows(columns, recoding.lines, every, own):
            for name, place in places.items():
                tally[name] += sum_counts(place, times, len(tally[name]))
            total += int(times.sum())
            # [distinct row] written `times` times each, some rows per batch
            each = np.arange(len(times))
            for rows, repeat in Order(each, each, times).blocks(_BATCH):
                writer.write_batch(
                    pa.record_batch([np.repeat(place[rows], repeat) for place in places.values()], schema=schema)
                )
    shown = {
        name: ReleasedColumn(np.flatnonzero(tally[name]).astype(np.int32), one.labels.values, one.labels.texts)
        for name, one in every.items()
    }
    return ReleasedRows(shown, stream=Stream(path, total, shown, tally, (), 0))


def _iter_sorted_rows(
    columns: DuckColumns, lines: StoredRows, every: Mapping[str, _PackedLabels], own: Collection[str]
) -> Iterator[tuple[dict[str, Codes], Longs]]:
    """Yield distinct rows in sorted order, as {column: [row] index of its label}, and how often each occurs.

    DuckDB sorts them, spilling to disk if needed.
    """
    session, words = columns.session, max(one.word for one in every.values()) + 1
    names = [f"w{w}" for w in range(words)]

    def packed() -> Iterator[pa.RecordBatch]:
        for piece, part in lines.pieces_with_parts():
            # [word][row] indices of all labels packed side by side, the first column in the highest bits
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
) -> StoredBoxes:
    """Group the rows into a file and cut it into boxes: rows move between files until their part fits in memory."""
    items = store_distinct_rows(columns, [*quasi, *others])
    lines = items.empty_sibling("lines", parted=True)
    points = _PointWriter(items.path.with_name("points.parquet"), tuple(sorted(quasi)))

    def keep(piece: FrequencySet, part: Codes) -> None:
        lines.add(piece, part)
        points.add(piece, part)

    boxes, _ = mondrian_on_disk(items, axes, k, keep, watch=watch)
    points.close()
    return StoredBoxes(boxes, lines, points.path)


@dataclass
class _PointWriter:
    """Writes the file of distinct points, each with its part, that the verifier reads."""

    path: Path
    quasi: tuple[str, ...]
    _writer: parquet.ParquetWriter = None
    _known: tuple[int, FrequencySet] | None = field(default=None, repr=False)
    """The last part, whose rows may come in several pieces, and its points so far."""

    def add(self, piece: FrequencySet, part: Codes) -> None:
        """Write the points of a piece that were not written before."""
        points, parts = distinct_of(piece, self.quasi, part)
        first = int(parts[0])
        alone = bool((parts == first).all())
        if self._known is not None and self._known[0] == first:
            fresh = ~points.is_in(self._known[1])
            points, parts = points.select_classes(fresh), parts[fresh]
        if alone:
            before = self._known[1] if self._known is not None and self._known[0] == first else None
            self._known = first, points if before is None else before.concat(points)
        codes = {f"q{i}": points.codes(name) for i, name in enumerate(self.quasi)}
        told = pa.table({**codes, "part": parts})
        self._writer = self._writer or parquet.ParquetWriter(self.path, told.schema, compression="zstd")
        self._writer.write_table(told)

    def close(self) -> None:
        self._writer.close()
