"""The release on the executors: a Spark frame that is made when somebody asks for its rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.codes import Codes, Tallied
from shoal.engines.spark import executors
from shoal.engines.spark.carrying import broadcast, collected
from shoal.engines.spark.dictionaries import Collected
from shoal.engines.spark.session import told
from shoal.frequency import Layout
from shoal.recode import Released, shown_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

Place = tuple[int, int, int]
"""Where a code lies in a key: word, shift, mask."""


@dataclass(frozen=True)
class Seen:
    """A released column: where in the key of a row its code lies, and what each code shows."""

    place: Place
    values: pa.Array
    """In a frame; where codes are many and labels few, a dictionary of these."""
    labels: Released
    """In a file: the label of each code."""
    type: Any
    """What Spark calls the type."""


def as_it_was(columns: Collected, name: str, place: Place) -> Seen:
    """A column that is released as it is."""
    column = columns[name]
    assert isinstance(column, Tallied)
    known = column.values.cast(column.raws.type)
    shown = shown_values(column)
    every = Released(np.arange(len(shown.texts), dtype=np.int32), shown.values, shown.texts)
    of = columns.cells.frame.schema[columns.cells.titles[name]].dataType
    return Seen(place, pa.concat_arrays([known, pa.nulls(1, known.type)]), every, of)


def place_of(layout: Layout, i: int) -> Place:
    return int(layout.word[i]), int(layout.shift[i]), int(layout.mask[i])


@dataclass(frozen=True)
class SparkFrame:
    """The released rows as a frame."""

    table: Collected
    """Where they came from."""
    keys: "Callable[[], DataFrame]"
    """The keys of the rows that are released, k0, k1, …"""
    columns: Mapping[str, Seen]

    @property
    def data(self) -> Any:
        """The frame: nothing runs before its rows are asked for."""
        return self._frame

    @cached_property
    def _frame(self) -> "DataFrame":
        from pyspark.sql import types

        fields = [types.StructField(name, seen.type, True) for name, seen in self.columns.items()]
        return self._looked_up({name: seen.values for name, seen in self.columns.items()}, types.StructType(fields))

    def counted(self) -> tuple[pa.Table, NDArray[np.int64]]:
        """The distinct rows of the frame as it is handed out, grouped afresh, and how often each occurs."""
        names = [f"r{i}" for i in range(len(self.columns))]
        empty = pa.schema([*((name, pa.string()) for name in names), ("count", pa.int64())])
        with told(self.table.name):
            found = collected(self._frame.toDF(*names).groupBy(*names).count(), empty)
        times = np.asarray(found["count"], dtype=np.int64)
        return found.select(names).rename_columns(list(self.columns)), times

    def numbered(self, numbers: Mapping[str, Codes]) -> "DataFrame":
        """The same rows as numbers, c0, c1, …: of each code of a column the one that is given."""
        schema = ", ".join(f"c{i} int" for i in range(len(self.columns)))
        return self._looked_up({name: pa.array(numbers[name], pa.int32()) for name in self.columns}, schema)

    def _looked_up(self, cells: Mapping[str, pa.Array], schema: Any) -> "DataFrame":
        keys = self.keys()
        sent = broadcast(keys.sparkSession, [(cells[name], *seen.place) for name, seen in self.columns.items()])
        titles = [f"c{i}" for i in range(len(cells))] if isinstance(schema, str) else list(cells)
        return keys.mapInArrow(executors.labelled(sent, titles), schema)
