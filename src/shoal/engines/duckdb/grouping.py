"""One GROUP BY: the distinct rows of some columns as packed keys, and how often each occurs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

import numpy as np
import pyarrow as pa

from shoal.codes import Codes, Tallied
from shoal.counts import Longs
from shoal.engines.duckdb.dictionaries import SOURCE, Collected
from shoal.engines.duckdb.session import Session
from shoal.errors import BadData
from shoal.frequency import FrequencySet, Layout
from shoal.spilled import Spilled, Spool

_BATCH = 1 << 20
_PER_CLASS = 16
"""Bytes of a class beside its key: its count, and its place in a table of hashes."""
_NUMBER = count()


def group(columns: Collected, names: Sequence[str], lifted: Mapping[str, Codes] | None = None) -> FrequencySet:
    """The distinct rows of these columns in their codes, some of them lifted; their order means nothing.

    They are spilled where they do not fit in what the session allows.
    """
    session, steps = columns.session, lifted or {}
    layout = Layout.of([columns[name].size for name in names])
    empty = FrequencySet(tuple(names), layout, np.zeros((0, layout.words), np.uint64), np.zeros(0, np.int64))
    most = listable(session, layout.words)
    pieces: list[FrequencySet] = []
    spool: Spool | None = None
    rows = held = 0
    for found in grouped(columns, names, steps):
        pieces.append(found)
        rows, held = rows + found.rows, held + len(found)
        if most is not None and held > most:
            spool = spool or Spool(session.scratch.path / f"classes{next(_NUMBER)}")
            for piece in pieces:
                spool.add(piece.keys, piece.counts)
            pieces = []
    if spool is None:
        keys = np.concatenate([piece.keys for piece in pieces])
        return replace(empty, keys=keys, counts=np.concatenate([piece.counts for piece in pieces]))
    for piece in pieces:
        spool.add(piece.keys, piece.counts)
    spool.close()
    known = {name: columns[name].counts for name in names}
    return Spilled(
        empty.attributes,
        layout,
        empty.keys,
        empty.counts,
        full=empty,
        path=spool.path,
        items=spool.rows,
        total=rows,
        columns={name: _lifted(known[name], steps.get(name)) for name in names},
        room=most or 1,
    )


def grouped(columns: Collected, names: Sequence[str], steps: Mapping[str, Codes]) -> Iterator[FrequencySet]:
    """The same piece by piece."""
    layout = Layout.of([columns[name].size for name in names])
    query = _query(columns.session, columns, names, layout, steps)
    rows, strange = 0, False
    for batch in columns.batches(query, _BATCH):
        strange = any(column.null_count for column in batch.columns)
        if strange:
            break
        keys = np.stack([batch.column(w).to_numpy() for w in range(layout.words)], axis=1)
        found = FrequencySet(tuple(names), layout, keys, batch.column(layout.words).to_numpy())
        rows += found.rows
        yield found
    if strange or rows != int(columns[names[0]].counts.sum()):
        raise BadData(f"{columns.name}: the table changed while it was read; make a copy and use that")


def listable(session: Session, words: int) -> int | None:
    """How many classes may be in memory; None: as many as there are."""
    return None if session.room is None else max(session.room // (8 * words + _PER_CLASS), 1)


def _lifted(counts: Longs, step: Codes | None) -> Longs:
    if step is None:
        return counts
    return np.bincount(step, weights=counts, minlength=len(counts)).astype(np.int64)


def _query(
    session: Session, columns: Collected, names: Sequence[str], layout: Layout, steps: Mapping[str, Codes]
) -> str:
    """Codes are looked up first, each at its place in the key: a key is smaller than the cells it is made of."""
    parts, joins = [], []
    for i, name in enumerate(names):
        column, cell = columns[name], f"s.{columns.cells[name]}"
        assert isinstance(column, Tallied)
        codes = steps[name][column.codes] if name in steps else column.codes
        shifted = codes.astype(np.uint64) << np.uint64(layout.shift[i])
        present = column.raws.is_valid()
        null = shifted[~present.to_numpy(zero_copy_only=False)].tolist()
        session.keep(f"m{i}", pa.table({"raw": column.raws, "part": shifted}).filter(present))
        # where nothing is null, every row finds its value, or their number tells
        joins.append(f"{'LEFT ' if null else ''}JOIN m{i} ON {cell} = m{i}.raw")
        part = f"m{i}.part"
        parts.append(f"CASE WHEN {cell} IS NULL THEN {null[0]}::UBIGINT ELSE {part} END" if null else part)
    words = [
        " | ".join(part for part, word in zip(parts, layout.word, strict=True) if word == w) or "0::UBIGINT"
        for w in range(layout.words)
    ]
    keys = ", ".join(f"{word} AS k{w}" for w, word in enumerate(words))
    return f"SELECT *, count(*)::BIGINT AS n FROM (SELECT {keys} FROM {SOURCE} s {' '.join(joins)}) GROUP BY ALL"
