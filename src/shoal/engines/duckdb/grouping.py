"""One GROUP BY: the distinct rows of some columns as packed keys, and how often each occurs."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from shoal.codes import Column, Tallied
from shoal.engines.duckdb.dictionaries import SOURCE, Collected
from shoal.engines.duckdb.session import Session
from shoal.errors import BadData
from shoal.frequency import FrequencySet, Layout

_BATCH = 1 << 20


def group(session: Session, columns: Collected, names: Sequence[str]) -> FrequencySet:
    """The distinct rows of these columns, coded as the columns are; their order means nothing."""
    sizes = [columns[name].size for name in names]
    layout = Layout.of(sizes)
    parts, joins = [], []
    for i, name in enumerate(names):
        column, cell = columns[name], f"s.{columns.cells[name]}"
        null = keep_map(session, f"m{i}", column, int(layout.shift[i]))
        joins.append(f"LEFT JOIN m{i} ON {cell} = m{i}.raw")
        parts.append(
            f"m{i}.part" if null is None else f"CASE WHEN {cell} IS NULL THEN {null}::UBIGINT ELSE m{i}.part END"
        )
    words = [
        " | ".join(part for part, word in zip(parts, layout.word, strict=True) if word == w) or "0::UBIGINT"
        for w in range(layout.words)
    ]
    keys = ", ".join(f"{word} AS k{w}" for w, word in enumerate(words))
    rows = f"SELECT {keys} FROM {SOURCE} s {' '.join(joins)}"
    query = f"SELECT *, count(*)::BIGINT AS n FROM ({rows}) GROUP BY ALL"
    key_parts, counts = [], []
    for batch in session.batches(query, _BATCH):
        if any(column.null_count for column in batch.columns):
            raise BadData(f"{columns.name}: the table changed while it was read; make a copy and use that")
        key_parts.append(np.stack([batch.column(w).to_numpy() for w in range(layout.words)], axis=1))
        counts.append(batch.column(layout.words).to_numpy())
    found = np.concatenate(key_parts) if key_parts else np.zeros((0, layout.words), np.uint64)
    return FrequencySet(tuple(names), layout, np.ascontiguousarray(found), np.concatenate(counts))


def keep_map(session: Session, name: str, column: Column, shift: int) -> int | None:
    """Make a table of each raw value's part of the key; what null's part is, where there is null."""
    assert isinstance(column, Tallied)
    parts = column.codes.astype(np.uint64) << np.uint64(shift)
    present = column.raws.is_valid()
    null = [int(part) for part in parts[~present.to_numpy(zero_copy_only=False)]]
    session.keep(name, pa.table({"raw": column.raws, "part": parts}).filter(present))
    return null[0] if null else None
