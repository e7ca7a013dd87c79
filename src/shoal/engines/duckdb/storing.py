"""Distinct rows in a file, and released rows out of one: sorted where they do not fit in memory."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.codes import Codes, Table
from shoal.counts import Longs
from shoal.engine import Block, Streamed
from shoal.engines.duckdb.dictionaries import Collected
from shoal.engines.duckdb.grouping import grouped
from shoal.engines.duckdb.session import Session
from shoal.frequency import Layout
from shoal.recode import Released, StoredRecoding, as_released
from shoal.stored import Stored

_PER_ITEM = 96
"""Bytes of an item that is being cut, beside its key."""
_ROOM = 1 << 24
_BATCH = 1 << 18
_WORD_BITS = 63
_NUMBER = count()


def store(columns: Collected, names: Sequence[str]) -> Stored:
    """Group the rows of these columns into a file in the scratch folder."""
    layout, session = Layout.of([columns[name].size for name in names]), columns.session
    room = _ROOM if session.room is None else max(session.room // (16 * layout.words + _PER_ITEM), 1)
    folder = session.scratch.path / f"boxes{next(_NUMBER)}"
    folder.mkdir()
    stored = Stored(tuple(names), layout, folder / "rows", room)
    for piece in grouped(columns, names, {}):
        stored.add(piece)
    return stored


def streamed(
    session: Session, table: Table, recoding: StoredRecoding, columns: Sequence[str], quasi: Collection[str]
) -> Streamed:
    """The released rows of boxes: what each part shows, and the other columns as they were."""
    made: dict[str, Released] = {}
    weights: dict[str, Longs] = {}
    own: dict[str, str] = {}
    for name in columns:
        if name in quasi:
            made |= recoding.shown[name]
            weights |= dict.fromkeys(recoding.shown[name], recoding.sizes)
        else:
            made[name] = as_released(table[name], np.arange(table[name].size, dtype=np.int32))
            weights[name], own[name] = table[name].counts, name
    return Streamed(
        made,
        weights=weights,
        total=table.rows,
        blocks=lambda: _blocks(session, recoding.lines, made, own),
    )


class _Sorting:
    """How the columns are packed into words that sort as their texts do, the first column first."""

    def __init__(self, columns: Mapping[str, Released]) -> None:
        self.order: list[Codes] = []
        """Of each column the codes in the order of their texts, null last."""
        self.ranks: list[Longs] = []
        self.word: list[int] = []
        self.bits: list[int] = []
        words, room = -1, 0
        for column in columns.values():
            order = pc.sort_indices(column.texts).to_numpy().astype(np.int32)
            ranks = np.empty(len(order), dtype=np.int64)
            ranks[order] = np.arange(len(order))
            bits = max((len(order) - 1).bit_length(), 1)
            if bits > room:
                words, room = words + 1, _WORD_BITS
            room -= bits
            self.order.append(order)
            self.ranks.append(ranks)
            self.word.append(words)
            self.bits.append(bits)
        self.words = words + 1

    def pack(self, codes: Sequence[Codes]) -> list[Longs]:
        """The words of each row."""
        out: list[Longs] = []
        for code, ranks, word, bits in zip(codes, self.ranks, self.word, self.bits, strict=True):
            if word == len(out):
                out.append(ranks[code])
            else:
                out[word] = (out[word] << bits) | ranks[code]
        return out

    def unpack(self, words: Sequence[Longs]) -> list[Codes]:
        """The codes of each row."""
        left, out = list(words), []
        for order, word, bits in reversed(list(zip(self.order, self.word, self.bits, strict=True))):
            out.append(order[left[word] & ((1 << bits) - 1)])
            left[word] = left[word] >> bits
        return out[::-1]


def _blocks(
    session: Session, lines: Stored, columns: Mapping[str, Released], own: Mapping[str, str]
) -> Iterator[Block]:
    """Sorted in the database, which spills; equal rows of different parts or points are one."""
    sorting = _Sorting(columns)
    names = [f"w{w}" for w in range(sorting.words)]

    def packed() -> Iterator[pa.RecordBatch]:
        for piece, part in lines.with_parts():
            codes = [piece.codes(own[name]) if name in own else column.codes[part] for name, column in columns.items()]
            yield pa.record_batch([*sorting.pack(codes), piece.counts], names=[*names, "n"])

    schema = pa.schema([(name, pa.int64()) for name in (*names, "n")])
    session.db.register("packed_lines", pa.RecordBatchReader.from_batches(schema, packed()))
    listed = ", ".join(names)
    query = f"SELECT {listed}, sum(n)::BIGINT AS n FROM packed_lines GROUP BY ALL ORDER BY {listed}"
    try:
        for batch in session.batches(query, _BATCH):
            *words, times = (column.to_numpy() for column in batch.columns)
            yield sorting.unpack(words), times
    finally:
        session.db.unregister("packed_lines")
