"""The columns of a table on a cluster, and its distinct rows as packed keys, by one GROUP BY."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.data.codes import Codes, Column, Tallied
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import Layout
from shoal.engine_port import ReadOptions
from shoal.engines.reading.assemble import warn_of_look_alikes
from shoal.engines.reading.csv_reader import encode_values
from shoal.engines.spark import executors
from shoal.engines.spark.relations import ClusterRows
from shoal.engines.spark.session import CHANGED, broadcast, collect_table, explain_spark_error
from shoal.errors import BadData
from shoal.runtime.tempdir import SPILL, Scratch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_VALUES = 5_000_000
"""Maximum number of distinct values that are collected of a column."""
_ROWS_OF_PARTITION = 1 << 33
"""Spark's monotonically_increasing_id is the partition times this number, plus the row within the partition."""


@dataclass(frozen=True)
class SparkColumns(Mapping[str, Column]):
    """Columns by name, each collected once, on first access."""

    cells: ClusterRows
    name: str
    """Name of the table in error messages."""
    options: ReadOptions
    spill: Path | None = None
    _known: dict[str, Column] = field(default_factory=dict, repr=False)

    def __getitem__(self, title: str) -> Column:
        if title not in self._known:
            self._known[title] = self._collect(title)
        return self._known[title]

    def __iter__(self) -> Iterator[str]:
        return iter(self.cells.titles)

    def __len__(self) -> int:
        return len(self.cells.titles)

    def __hash__(self) -> int:
        return id(self)

    @cached_property
    def scratch(self) -> Scratch:
        """A private folder of the driver, which is removed together with the table."""
        return Scratch(self.spill or Path(tempfile.gettempdir()), SPILL)

    def count_values(self, title: str) -> "DataFrame":
        """Return a frame with each raw value of a column and its number of rows, computed on the executors."""
        return self.cells.frame.groupBy(self.cells.titles[title]).count()

    def _collect(self, title: str) -> Tallied:
        with explain_spark_error(self.name):
            found = collect_table(self.count_values(title).limit(MOST_VALUES + 1))
        if found.num_rows > MOST_VALUES:
            raise BadData(
                f"{self.name}: column {title!r} has more than {MOST_VALUES:,} values, too many to be counted; it "
                "looks like an identifier: give it that role, or round it first"
            )
        raws = found[0].combine_chunks()
        dialect = self.cells.header.dialect if self.cells.header is not None else None
        column = encode_values(title, self._cast(title, raws), dialect, self.options)
        warn_of_look_alikes(column)
        tally = np.asarray(found[1].combine_chunks().to_numpy(zero_copy_only=False), dtype=np.int64)
        return Tallied.of(column, raws, tally, lambda: self._first_rows(title, raws))

    def _cast(self, title: str, raws: pa.Array) -> pa.Array:
        """Return raw values, cast to the type in which Arrow would read them."""
        of = self.cells.types[title]
        if raws.type == of or pa.types.is_null(raws.type):
            return raws
        try:
            return raws.cast(of)
        except pa.ArrowInvalid:  # its message may contain cells
            raise BadData(f"{self.name}: column {title!r} cannot be read; turn it into text") from None

    def _first_rows(self, title: str, raws: pa.Array) -> NDArray[np.int64]:
        """Return the first row of each raw value, in the order in which Spark reads; two passes, for errors only."""
        from pyspark.sql import functions as f

        with explain_spark_error(self.name):
            numbered = self.cells.frame.select(self.cells.titles[title], f.monotonically_increasing_id().alias("at"))
            first = collect_table(numbered.groupBy(self.cells.titles[title]).agg(f.min("at")))
            part = (f.col("at") / _ROWS_OF_PARTITION).cast("long")
            sizes = collect_table(numbered.groupBy(part.alias("part")).count())
        # [partition + 1] number of rows; summed up, [partition] number of rows in all partitions before it
        before = np.zeros(int(pc.max(sizes[0]).as_py()) + 2, dtype=np.int64)
        before[np.asarray(sizes[0]) + 1] = np.asarray(sizes[1])
        # [distinct value] its lowest id, and from it its first row, counted from 1
        at = np.asarray(first[1])
        rows = np.cumsum(before)[at // _ROWS_OF_PARTITION] + at % _ROWS_OF_PARTITION + 1
        where = pc.index_in(raws, value_set=first[0].combine_chunks()).to_numpy(zero_copy_only=False)
        found: NDArray[np.int64] = rows[where.astype(np.int64)]
        return found


MOST = 40_000_000
"""Maximum number of distinct rows that are collected on the driver as codes: about a gigabyte."""


def keys_of(columns: SparkColumns, names: Sequence[str], layout: Layout, lifted: Mapping[str, Codes]) -> "DataFrame":
    """Return a frame with the key of every row (k0, k1, …), some columns `lifted` to a level; made on the executors."""
    # for each column its raw values, their codes shifted to the field in the key, and the word of that field
    given = []
    for i, name in enumerate(names):
        column = columns[name]
        assert isinstance(column, Tallied)
        codes = lifted[name][column.codes] if name in lifted else column.codes
        given.append((column.raws, codes.astype(np.uint64) << np.uint64(layout.shift[i]), int(layout.word[i])))
    frame = columns.cells.frame
    sent = broadcast(frame.sparkSession, given)
    schema = ", ".join(f"k{w} long" for w in range(layout.words))
    chosen = frame.select(*(columns.cells.titles[name] for name in names))
    return chosen.mapInArrow(executors.keyed(sent, layout.words, CHANGED), schema)


def count_keys(keys: "DataFrame") -> "DataFrame":
    """Return a frame of the distinct keys and their counts, computed on the executors."""
    return keys.groupBy(*keys.columns).count()


def group_rows(
    columns: SparkColumns, names: Sequence[str], lifted: Mapping[str, Codes], sizes: Sequence[int], rows: int
) -> FrequencySet | None:
    """Return the distinct rows of these columns as codes below `sizes`; None if they are too many.

    `rows` is the number of rows of the table.
    """
    from pyspark import StorageLevel

    layout = Layout.of(sizes)
    with explain_spark_error(columns.name):
        counted = count_keys(keys_of(columns, names, layout, lifted))
        many = min(rows, prod(sizes)) > MOST  # otherwise there cannot be so many, and they are not counted first
        counted = counted.persist(StorageLevel.DISK_ONLY) if many else counted
        try:
            if many and counted.count() > MOST:
                return None
            found = collect_table(counted)
        finally:
            if many:
                counted.unpersist()
    keys = np.stack([np.asarray(found[w]).view(np.uint64) for w in range(layout.words)], axis=1)
    return FrequencySet(tuple(names), layout, keys, np.asarray(found[layout.words], dtype=np.int64))
