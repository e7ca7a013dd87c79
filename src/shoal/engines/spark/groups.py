"""The columns of a table on a cluster, and one GROUP BY over them: distinct rows as packed keys, with counts."""

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

from shoal.data.codes import Codes, Column, Tallied, encode
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import Layout
from shoal.engine_port import ReadOptions
from shoal.engines.reading.assemble import warn_of_look_alikes
from shoal.engines.reading.csv_reader import decimal_of
from shoal.engines.spark import executors
from shoal.engines.spark.relations import ClusterRows
from shoal.engines.spark.session import CHANGED, broadcast, collected, told
from shoal.errors import BadData
from shoal.runtime.tempdir import SPILL, Scratch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_VALUES = 5_000_000
"""Most distinct values that are collected of a column."""
_ROWS_OF_PARTITION = 1 << 33
"""Spark's monotonically_increasing_id is the partition times this number, plus the row within the partition."""


@dataclass(frozen=True)
class SparkColumns(Mapping[str, Column]):
    """Columns by name, each collected once, when it is first asked for."""

    cells: ClusterRows
    name: str
    """What errors call the table."""
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
        """A private folder of the driver, which ends with the table."""
        return Scratch(self.spill or Path(tempfile.gettempdir()), SPILL)

    def counted(self, title: str) -> "DataFrame":
        """Each raw value of a column and how many rows hold it, on the executors."""
        return self.cells.frame.groupBy(self.cells.titles[title]).count()

    def _collect(self, title: str) -> Tallied:
        with told(self.name):
            found = collected(self.counted(title).limit(MOST_VALUES + 1))
        if found.num_rows > MOST_VALUES:
            raise BadData(
                f"{self.name}: column {title!r} has more than {MOST_VALUES:,} values, too many to be counted; it "
                "looks like an identifier: give it that role, or round it first"
            )
        raws = found[0].combine_chunks()
        values = self._typed(title, raws)
        decimal = self.options.decimal or "."
        if self.cells.header is not None:
            decimal = decimal_of(values.drop_null().dictionary_encode(), self.cells.header.dialect, self.options)
        how = self.options
        column = encode(
            title, values, missing=how.missing, decimal=decimal, normalise=how.normalise, step=how.step(title)
        )
        warn_of_look_alikes(column)
        tally = np.asarray(found[1].combine_chunks().to_numpy(zero_copy_only=False), dtype=np.int64)
        return Tallied.of(column, raws, tally, lambda: self._first_rows(title, raws))

    def _typed(self, title: str, raws: pa.Array) -> pa.Array:
        """Raw values in the type that Arrow reads them in."""
        of = self.cells.types[title]
        if raws.type == of or pa.types.is_null(raws.type):
            return raws
        try:
            return raws.cast(of)
        except pa.ArrowInvalid:  # what it says may hold cells
            raise BadData(f"{self.name}: column {title!r} cannot be read; turn it into text") from None

    def _first_rows(self, title: str, raws: pa.Array) -> NDArray[np.int64]:
        """[raw value] its first row in the order in which Spark reads: two passes of their own, for errors only."""
        from pyspark.sql import functions as f

        with told(self.name):
            numbered = self.cells.frame.select(self.cells.titles[title], f.monotonically_increasing_id().alias("at"))
            first = collected(numbered.groupBy(self.cells.titles[title]).agg(f.min("at")))
            part = (f.col("at") / _ROWS_OF_PARTITION).cast("long")
            sizes = collected(numbered.groupBy(part.alias("part")).count())
        # [partition] rows in all partitions before it, once summed up
        before = np.zeros(int(pc.max(sizes[0]).as_py()) + 2, dtype=np.int64)
        before[np.asarray(sizes[0]) + 1] = np.asarray(sizes[1])
        at = np.asarray(first[1])
        rows = np.cumsum(before)[at // _ROWS_OF_PARTITION] + at % _ROWS_OF_PARTITION + 1
        where = pc.index_in(raws, value_set=first[0].combine_chunks()).to_numpy(zero_copy_only=False)
        found: NDArray[np.int64] = rows[where.astype(np.int64)]
        return found


MOST = 40_000_000
"""Most distinct rows that the driver takes, as codes: about a gigabyte."""


def keys_of(columns: SparkColumns, names: Sequence[str], layout: Layout, lifted: Mapping[str, Codes]) -> "DataFrame":
    """Frame with the key of every row (k0, k1, …), some columns `lifted` to a level; made on the executors."""
    # for each column its raw values, the code of each at its place in the key, and the word of that place
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


def grouped(keys: "DataFrame") -> "DataFrame":
    """Distinct keys and their counts, on the executors."""
    return keys.groupBy(*keys.columns).count()


def group(
    columns: SparkColumns, names: Sequence[str], lifted: Mapping[str, Codes], sizes: Sequence[int], rows: int
) -> FrequencySet | None:
    """Distinct rows of these columns, in codes below `sizes`; None where they are too many. The table has `rows`."""
    from pyspark import StorageLevel

    layout = Layout.of(sizes)
    with told(columns.name):
        counted = grouped(keys_of(columns, names, layout, lifted))
        if min(rows, prod(sizes)) > MOST:  # else there cannot be so many
            counted = counted.persist(StorageLevel.DISK_ONLY)
            if counted.count() > MOST:
                counted.unpersist()
                return None
        found = collected(counted)
    keys = np.stack([np.asarray(found[w]).view(np.uint64) for w in range(layout.words)], axis=1)
    return FrequencySet(tuple(names), layout, keys, np.asarray(found[layout.words], dtype=np.int64))
