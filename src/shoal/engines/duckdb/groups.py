"""The columns of a table that stays where it is, and its distinct rows by one GROUP BY: packed keys, with counts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.data.class_counts import Longs
from shoal.data.codes import Codes, Column, Tallied, Uncollected, encode
from shoal.data.frequency_set import FrequencySet
from shoal.data.on_disk import Spilled, Spool
from shoal.data.packed_keys import Layout
from shoal.engine_port import ReadOptions
from shoal.engines.duckdb.session import Session, damaged, integers, readable, whole
from shoal.engines.reading.assemble import refuse_beyond_calendar, warn_of_look_alikes
from shoal.engines.reading.csv_reader import decimal_of
from shoal.engines.reading.sniff import Dialect
from shoal.errors import BadData
from shoal.verify.original_table import Lookup

SOURCE = "source_rows"
"""What the rows are called in the database."""
MOST = 2_000_000
"""Most distinct values that are collected of a column."""


def too_many(name: str, title: str) -> str:
    """Why a column cannot be counted."""
    return (
        f"{name}: column {title!r} has more than {MOST:,} values, which are too many to be counted; it looks like an "
        "identifier: give it that role, or round it first (texts may be insensitive)"
    )


@dataclass(frozen=True)
class DuckColumns(Mapping[str, Column]):
    """Columns by name, each collected once, when it is first asked for."""

    session: Session
    name: str
    """What errors call the table."""
    cells: Mapping[str, str]
    """What each column is called in the database."""
    types: Mapping[str, pa.DataType]
    options: ReadOptions
    dialect: Dialect | None = None
    grouped: dict[tuple[str, ...], FrequencySet] = field(default_factory=dict, repr=False)
    """Distinct rows of some columns that were counted before."""
    _known: dict[str, Column] = field(default_factory=dict, repr=False)

    def __getitem__(self, title: str) -> Column:
        if title not in self._known:
            self._known[title] = self._collect(title)
        return self._known[title]

    def __contains__(self, title: object) -> bool:
        return title in self.cells  # which collects nothing

    def __iter__(self) -> Iterator[str]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def __hash__(self) -> int:
        return id(self)

    def table(self, query: str) -> pa.Table:
        with readable(damaged(self.name)):
            return self.session.table(query)

    def batches(self, query: str, rows: int) -> Iterator[pa.RecordBatch]:
        """Result of a query, piece by piece."""
        with readable(damaged(self.name)):
            yield from self.session.batches(query, rows)

    def distinct(self, title: str) -> int:
        """About how many values a column has."""
        return self._number(f"SELECT approx_count_distinct({self.cells[title]}) FROM {SOURCE}")

    def _collect(self, title: str) -> Column:
        cell = self.cells[title]
        found = self.table(f"SELECT {cell} AS raw, count(*) AS n FROM {SOURCE} GROUP BY ALL LIMIT {MOST + 1}")
        if found.num_rows > MOST:
            as_they_are = not self.options.normalise and self.options.step(title) is None
            if not pa.types.is_string(found.schema.field("raw").type) or not as_they_are:
                raise BadData(too_many(self.name, title))
            return Uncollected.of(title, self.options.missing, lambda: self._lone(cell))
        raws = whole(found["raw"])
        with readable(f"{self.name}: column {title!r} cannot be read; turn it into text"):
            column = self._encoded(title, raws)
        warn_of_look_alikes(column)
        tallied = Tallied.of(column, raws, integers(found["n"]), lambda: self._first_rows(cell, raws))
        refuse_beyond_calendar(self.name, tallied)
        return tallied

    def _lone(self, cell: str) -> int:
        return self._number(f"SELECT count(*) FROM (SELECT {cell} FROM {SOURCE} GROUP BY {cell} HAVING count(*) = 1)")

    def _number(self, query: str) -> int:
        with readable(damaged(self.name)):
            return self.session.number(query)

    def _encoded(self, title: str, raws: pa.Array) -> Column:
        """Encode raw values, in the type that Arrow reads them in."""
        values = raws if pa.types.is_null(raws.type) else raws.cast(self.types[title])
        decimal = self.options.decimal or "."
        if self.dialect is not None:
            decimal = decimal_of(values.drop_null().dictionary_encode(), self.dialect, self.options)
        how = self.options
        return encode(
            title, values, missing=how.missing, decimal=decimal, normalise=how.normalise, step=how.step(title)
        )

    def _first_rows(self, cell: str, raws: pa.Array) -> NDArray[np.int64]:
        """[raw value] its first row: a pass of its own, for errors only."""
        numbered = f"(SELECT {cell}, row_number() OVER () AS place FROM {SOURCE})"
        self.session.db.execute("SET preserve_insertion_order = true")
        try:
            found = self.table(f"SELECT {cell} AS raw, min(place) AS place FROM {numbered} GROUP BY ALL")
        finally:
            self.session.db.execute("SET preserve_insertion_order = false")
        known, at = whole(found["raw"]), integers(found["place"])
        where = pc.index_in(raws, value_set=known).to_numpy(zero_copy_only=False)
        rows: NDArray[np.int64] = at[where.astype(np.int64)]
        return rows


_BATCH = 1 << 20
_PER_CLASS = 16
"""Bytes of a class beside its key: its count, and its place in a table of hashes."""
_NUMBER = count()


def group(columns: DuckColumns, names: Sequence[str], lifted: Mapping[str, Codes] | None = None) -> FrequencySet:
    """Distinct rows of these columns in codes, some `lifted` to a level; their order means nothing.

    They are spilled where they do not fit into the memory that the session allows.
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


def grouped(
    columns: DuckColumns, names: Sequence[str], steps: Mapping[str, Codes], *, ordered: bool = False
) -> Iterator[FrequencySet]:
    """Yield the distinct rows of these columns piece by piece; refused if the table changed meanwhile.

    They come in the order in which threads finish, unless they are to be ordered by key.
    """
    layout = Layout.of([columns[name].size for name in names])
    query = _query(columns.session, columns, names, layout, steps)
    if ordered:
        query += f" ORDER BY {', '.join(f'k{w}' for w in range(layout.words))}"
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
    """How many classes may be in memory; None means no limit."""
    return None if session.room is None else max(session.room // (8 * words + _PER_CLASS), 1)


def _lifted(counts: Longs, step: Codes | None) -> Longs:
    if step is None:
        return counts
    return np.bincount(step, weights=counts, minlength=len(counts)).astype(np.int64)


def _query(
    session: Session, columns: DuckColumns, names: Sequence[str], layout: Layout, steps: Mapping[str, Codes]
) -> str:
    """SQL that groups rows by packed key: codes are looked up first, as a key is smaller than the cells behind it."""
    parts, lookup = [], Lookup(session.db, SOURCE)
    for i, name in enumerate(names):
        column, cell = columns[name], f"s.{columns.cells[name]}"
        assert isinstance(column, Tallied)
        # [raw value] its code, shifted to its place in the key; that of null goes into the query itself
        codes = steps[name][column.codes] if name in steps else column.codes
        shifted = codes.astype(np.uint64) << np.uint64(layout.shift[i])
        present = column.raws.is_valid()
        null = shifted[~present.to_numpy(zero_copy_only=False)].tolist()
        session.keep(f"m{i}", pa.table({"raw": column.raws, "part": shifted}).filter(present))
        # where nothing is null, every row finds its value, or their number tells
        told = f"CASE WHEN {cell} IS NULL THEN {null[0]}::UBIGINT ELSE {{0}}.part END" if null else "{0}.part"
        parts.append(lookup.join(f"{'LEFT ' if null else ''}JOIN m{i} {{0}} ON {cell} = {{0}}.raw", told))
    # each word of a key is the union of the codes that lie in it
    words = [
        " | ".join(part for part, word in zip(parts, layout.word, strict=True) if word == w) or "0::UBIGINT"
        for w in range(layout.words)
    ]
    keys = ", ".join(f"{word} AS k{w}" for w, word in enumerate(words))
    return f"SELECT *, count(*)::BIGINT AS n FROM (SELECT {keys} FROM {lookup.rows()} s) GROUP BY ALL"
