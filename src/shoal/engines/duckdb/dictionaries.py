"""The columns of a table that stays where it is: values and how many rows hold each, collected when asked for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.codes import Column, Tallied, Uncollected, encode
from shoal.engine import ReadOptions
from shoal.engines.duckdb.session import Session, damaged, integers, readable, whole
from shoal.engines.reading.assemble import warn_of_look_alikes
from shoal.engines.reading.csv_file import decimal_of
from shoal.engines.reading.sniff import Dialect
from shoal.errors import BadData
from shoal.frequency import FrequencySet

SOURCE = "source_rows"
"""What the rows are called in the database."""
MOST = 2_000_000
"""Distinct values that are collected of a column."""


def too_many(name: str, title: str) -> str:
    """Why a column cannot be counted."""
    return (
        f"{name}: column {title!r} has more than {MOST:,} values, which are too many to be counted; it looks like an "
        "identifier: give it that role, or round it first (texts may be insensitive)"
    )


@dataclass(frozen=True)
class Collected(Mapping[str, Column]):
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
        """The result piece by piece."""
        with readable(damaged(self.name)):
            yield from self.session.batches(query, rows)

    def distinct(self, title: str) -> int:
        """About how many values a column has."""
        return self._number(f"SELECT approx_count_distinct({self.cells[title]}) FROM {SOURCE}")

    def _collect(self, title: str) -> Column:
        cell = self.cells[title]
        found = self.table(f"SELECT {cell} AS raw, count(*) AS n FROM {SOURCE} GROUP BY ALL LIMIT {MOST + 1}")
        if found.num_rows > MOST:
            if not pa.types.is_string(found.schema.field("raw").type) or self.options.normalise:
                raise BadData(too_many(self.name, title))
            return Uncollected.of(title, self.options.missing, lambda: self._lone(cell))
        raws = whole(found["raw"])
        with readable(f"{self.name}: column {title!r} cannot be read; turn it into text"):
            column = self._encoded(title, raws)
        warn_of_look_alikes(column)
        return Tallied.of(column, raws, integers(found["n"]), lambda: self._first_rows(cell, raws))

    def _lone(self, cell: str) -> int:
        return self._number(f"SELECT count(*) FROM (SELECT {cell} FROM {SOURCE} GROUP BY {cell} HAVING count(*) = 1)")

    def _number(self, query: str) -> int:
        with readable(damaged(self.name)):
            return self.session.number(query)

    def _encoded(self, title: str, raws: pa.Array) -> Column:
        """Values in the type that Arrow reads them in, encoded."""
        values = raws if pa.types.is_null(raws.type) else raws.cast(self.types[title])
        decimal = self.options.decimal or "."
        if self.dialect is not None:
            decimal = decimal_of(values.drop_null().dictionary_encode(), self.dialect, self.options)
        return encode(title, values, missing=self.options.missing, decimal=decimal, normalise=self.options.normalise)

    def _first_rows(self, cell: str, raws: pa.Array) -> NDArray[np.int64]:
        """The first row of each raw value: a pass of its own, for errors only."""
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
