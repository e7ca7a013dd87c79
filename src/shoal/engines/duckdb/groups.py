"""The columns of a table that is not loaded into memory, and its distinct rows as packed keys, by one GROUP BY."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.data.class_counts import Longs, sum_counts
from shoal.data.codes import Codes, Column, Tallied, UncollectedColumn
from shoal.data.frequency_set import FrequencySet
from shoal.data.on_disk import Spilled, Spool
from shoal.data.packed_keys import Layout
from shoal.engine_port import ReadOptions
from shoal.engines.duckdb.session import Session, describe_damage, explain_read_error, to_int64, to_one_chunk
from shoal.engines.reading.assemble import find_thousands, refuse_beyond_calendar, warn_of_look_alikes
from shoal.engines.reading.csv_reader import encode_values
from shoal.engines.reading.sniff import Dialect
from shoal.errors import BadData
from shoal.verify.original_table import Lookup

SOURCE = "source_rows"
"""Name of the table or view of the rows in the database."""
MOST = 2_000_000
"""Maximum number of distinct values that are collected of a column."""


def describe_too_many_values(name: str, title: str) -> str:
    """Return the message for a column with too many values to be counted."""
    return (
        f"{name}: column {title!r} has more than {MOST:,} values, which are too many to be counted; it looks like an "
        "identifier: give it that role, or round it first (texts may be insensitive)"
    )


@dataclass(frozen=True)
class DuckColumns(Mapping[str, Column]):
    """Columns by name, each collected once, on first access."""

    session: Session
    name: str
    """Name of the table in error messages."""
    cells: Mapping[str, str]
    """Name of each column in the database."""
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
        return title in self.cells  # without collecting the column

    def __iter__(self) -> Iterator[str]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def __hash__(self) -> int:
        return id(self)

    def table(self, query: str) -> pa.Table:
        with explain_read_error(describe_damage(self.name)):
            return self.session.table(query)

    def batches(self, query: str, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the result of a query in batches of about `rows` rows."""
        with explain_read_error(describe_damage(self.name)):
            yield from self.session.batches(query, rows)

    def estimate_distinct(self, title: str) -> int:
        """Estimate the number of distinct values of a column."""
        return self._query_number(f"SELECT approx_count_distinct({self.cells[title]}) FROM {SOURCE}")

    def _collect(self, title: str) -> Column:
        cell = self.cells[title]
        found = self.table(f"SELECT {cell} AS raw, count(*) AS n FROM {SOURCE} GROUP BY ALL LIMIT {MOST + 1}")
        if found.num_rows > MOST:
            raws = to_one_chunk(found["raw"])
            apart = self.dialect is not None and find_thousands(raws.drop_null(), self.options) is not None
            as_they_are = not self.options.normalise and self.options.step(title) is None and not apart
            if not pa.types.is_string(found.schema.field("raw").type) or not as_they_are:
                raise BadData(describe_too_many_values(self.name, title))
            return UncollectedColumn.of(title, self.options.missing, lambda: self._count_unique_values(cell))
        raws = to_one_chunk(found["raw"])
        with explain_read_error(f"{self.name}: column {title!r} cannot be read; turn it into text"):
            column = self._encode(title, raws)
        warn_of_look_alikes(column)
        tallied = Tallied.of(column, raws, to_int64(found["n"]), lambda: self._first_rows(cell, raws))
        refuse_beyond_calendar(self.name, tallied)
        return tallied

    def _count_unique_values(self, cell: str) -> int:
        """Count the values that occur in one row only."""
        return self._query_number(
            f"SELECT count(*) FROM (SELECT {cell} FROM {SOURCE} GROUP BY {cell} HAVING count(*) = 1)"
        )

    def _query_number(self, query: str) -> int:
        with explain_read_error(describe_damage(self.name)):
            return self.session.number(query)

    def _encode(self, title: str, raws: pa.Array) -> Column:
        """Encode raw values, cast to the type in which Arrow would read them."""
        values = raws if pa.types.is_null(raws.type) else raws.cast(self.types[title])
        return encode_values(title, values, self.dialect, self.options)

    def _first_rows(self, cell: str, raws: pa.Array) -> NDArray[np.int64]:
        """Return the first row of each raw value, counted from 1; a separate pass, for error messages only."""
        numbered = f"(SELECT {cell}, row_number() OVER () AS place FROM {SOURCE})"
        self.session.db.execute("SET preserve_insertion_order = true")
        try:
            found = self.table(f"SELECT {cell} AS raw, min(place) AS place FROM {numbered} GROUP BY ALL")
        finally:
            self.session.db.execute("SET preserve_insertion_order = false")
        # where [raw value] its index in the result of the query; at [index] first row
        known, at = to_one_chunk(found["raw"]), to_int64(found["place"])
        where = pc.index_in(raws, value_set=known).to_numpy(zero_copy_only=False)
        rows: NDArray[np.int64] = at[where.astype(np.int64)]
        return rows


_BATCH = 1 << 20
_PER_CLASS = 16
"""Bytes of a class in addition to its key: its count, and its slot in a hash table."""
_NUMBER = count()


def group_rows(columns: DuckColumns, names: Sequence[str], lifted: Mapping[str, Codes] | None = None) -> FrequencySet:
    """Return the distinct rows of these columns as codes, some `lifted` to a level, in no particular order.

    They are spilled to disk if they do not fit into the memory that the session allows.
    """
    session, steps = columns.session, lifted or {}
    layout = Layout.of([columns[name].size for name in names])
    empty = FrequencySet(tuple(names), layout, np.zeros((0, layout.words), np.uint64), np.zeros(0, np.int64))
    most = listable(session, layout.words)
    pieces: list[FrequencySet] = []
    spool: Spool | None = None
    rows = held = 0
    for found in iter_distinct_rows(columns, names, steps):
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
        columns={name: _rollup_counts(known[name], steps.get(name)) for name in names},
        room=most or 1,
    )


def iter_distinct_rows(
    columns: DuckColumns, names: Sequence[str], steps: Mapping[str, Codes], *, ordered: bool = False
) -> Iterator[FrequencySet]:
    """Yield the distinct rows of these columns piece by piece; refuse a table that has changed since it was read.

    Their order is undefined, unless they are `ordered` by key.
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
    """Return the number of classes that may be in memory; None means no limit."""
    return None if session.room is None else max(session.room // (8 * words + _PER_CLASS), 1)


def _rollup_counts(counts: Longs, step: Codes | None) -> Longs:
    """Roll up the rows per code to a level; `step` maps codes to those of the level."""
    if step is None:
        return counts
    return sum_counts(step, counts, len(counts))


def _query(
    session: Session, columns: DuckColumns, names: Sequence[str], layout: Layout, steps: Mapping[str, Codes]
) -> str:
    """Return SQL that groups rows by packed key: codes are looked up first, as a key is smaller than the cells."""
    parts, lookup = [], Lookup(session.db, SOURCE)
    for i, name in enumerate(names):
        column, cell = columns[name], f"s.{columns.cells[name]}"
        assert isinstance(column, Tallied)
        # [raw value] its code, shifted to its field in the key; the code of null becomes a literal of the query
        codes = steps[name][column.codes] if name in steps else column.codes
        shifted = codes.astype(np.uint64) << np.uint64(layout.shift[i])
        present = column.raws.is_valid()
        null = shifted[~present.to_numpy(zero_copy_only=False)].tolist()
        session.create_table(f"m{i}", pa.table({"raw": column.raws, "part": shifted}).filter(present))
        # without nulls an inner join suffices: a row whose value is unknown is missing from the total, which is checked
        told = f"CASE WHEN {cell} IS NULL THEN {null[0]}::UBIGINT ELSE {{0}}.part END" if null else "{0}.part"
        parts.append(lookup.join(f"{'LEFT ' if null else ''}JOIN m{i} {{0}} ON {cell} = {{0}}.raw", told))
    # each word of the key is the bitwise OR of the codes that lie in it
    words = [
        " | ".join(part for part, word in zip(parts, layout.word, strict=True) if word == w) or "0::UBIGINT"
        for w in range(layout.words)
    ]
    keys = ", ".join(f"{word} AS k{w}" for w, word in enumerate(words))
    return f"SELECT *, count(*)::BIGINT AS n FROM (SELECT {keys} FROM {lookup.rows()} s) GROUP BY ALL"
