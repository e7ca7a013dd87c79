"""One GROUP BY on the executors: the distinct rows of some columns as packed keys, and how often each occurs."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from shoal.codes import Codes, Tallied
from shoal.engines.spark import executors
from shoal.engines.spark.carrying import broadcast, collected
from shoal.engines.spark.dictionaries import Collected
from shoal.engines.spark.session import CHANGED, told
from shoal.frequency import FrequencySet, Layout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST = 40_000_000
"""Distinct rows that the driver takes, as codes: about a gigabyte."""


def keys_of(columns: Collected, names: Sequence[str], layout: Layout, lifted: Mapping[str, Codes]) -> "DataFrame":
    """The key of every row (k0, k1, …), some columns lifted to a level: made on the executors."""
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
    columns: Collected, names: Sequence[str], lifted: Mapping[str, Codes], sizes: Sequence[int], rows: int
) -> FrequencySet | None:
    """The distinct rows of these columns, of a table of so many rows, in codes below `sizes`; None: too many."""
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
