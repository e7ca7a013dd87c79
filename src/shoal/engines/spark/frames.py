"""The release on the executors: a Spark frame that is made when somebody asks for its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.codes import Codes, Table, Tallied
from shoal.engines.spark import executors
from shoal.engines.spark.carrying import broadcast, collected, spread
from shoal.engines.spark.dictionaries import Collected
from shoal.engines.spark.grouping import keys_of
from shoal.engines.spark.session import told
from shoal.frequency import FrequencySet, Layout
from shoal.hierarchy import TOP, Hierarchy
from shoal.recode import NodeRecoding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TO_EVERYBODY = 2_000_000
"""Classes that every executor is sent; of more, rows and classes meet by their hash."""


@dataclass(frozen=True)
class SparkFrame:
    """The released rows as a frame, suppressed ones left out or shown as all `*`."""

    table: Table
    recoding: NodeRecoding
    hierarchies: Mapping[str, Hierarchy]
    columns: Sequence[str]
    show: bool

    @property
    def data(self) -> Any:
        """The frame: nothing runs before its rows are asked for."""
        return self._frame

    def counted(self) -> tuple[pa.Table, NDArray[np.int64]]:
        """The distinct rows of the frame as it is handed out, grouped afresh, and how often each occurs."""
        names = [f"r{i}" for i in range(len(self.columns))]
        empty = pa.schema([*((name, pa.string()) for name in names), ("count", pa.int64())])
        with told(self._collected.name):
            found = collected(self._frame.toDF(*names).groupBy(*names).count(), empty)
        times = np.asarray(found["count"], dtype=np.int64)
        return found.select(names).rename_columns(list(self.columns)), times

    @property
    def _collected(self) -> Collected:
        assert isinstance(self.table.columns, Collected)
        return self.table.columns

    @cached_property
    def _frame(self) -> "DataFrame":
        keys, names, layout = self._keys
        cells = [self._shown(name) for name in self.columns]
        return self._looked_up(keys, names, layout, cells, self._schema)

    def numbered(self, numbers: Mapping[str, Codes]) -> "DataFrame":
        """The same rows as numbers, c0, c1, …: of each code of a column the one that is given."""
        keys, names, layout = self._keys
        cells = [pa.array(numbers[name], pa.int32()) for name in self.columns]
        schema = ", ".join(f"c{i} int" for i in range(len(cells)))
        return self._looked_up(keys, names, layout, cells, schema)

    def _looked_up(
        self, keys: "DataFrame", names: Sequence[str], layout: Layout, cells: Sequence[pa.Array], schema: Any
    ) -> "DataFrame":
        at = [names.index(name) for name in self.columns]
        where = [(int(layout.word[i]), int(layout.shift[i]), int(layout.mask[i])) for i in at]
        sent = broadcast(keys.sparkSession, [(array, *place) for array, place in zip(cells, where, strict=True)])
        titles = list(self.columns) if not isinstance(schema, str) else [f"c{i}" for i in range(len(cells))]
        return keys.mapInArrow(executors.labelled(sent, titles), schema)

    @cached_property
    def _keys(self) -> "tuple[DataFrame, list[str], Layout]":
        """The keys of the rows that are released, what is in them, and where."""
        quasi = list(self.recoding.levels)
        others = [name for name in self.columns if name not in self.recoding.levels]
        names = [*quasi, *others]
        layout = Layout.of([*self._sizes(quasi), *(self.table[name].size for name in others)])
        keys = keys_of(self._collected, names, layout, self._steps)
        return self._without_suppressed(keys, quasi, layout), names, layout

    @property
    def _steps(self) -> dict[str, Codes]:
        return {name: self.hierarchies[name].levels[level] for name, level in self.recoding.levels.items()}

    def _sizes(self, quasi: Sequence[str]) -> list[int]:
        """How many labels there are, and one more for `*` where a suppressed row is shown."""
        return [len(self.hierarchies[name].labels[self.recoding.levels[name]]) + 1 for name in quasi]

    def _without_suppressed(self, keys: "DataFrame", quasi: Sequence[str], layout: Layout) -> "DataFrame":
        """Rows whose class is released; with `show`, the others with the code after the last label everywhere."""
        from pyspark.sql import functions as f

        kept = self.recoding.kept
        assert kept is not None
        masks = [0] * layout.words
        for i in range(len(quasi)):
            masks[layout.word[i]] |= int(layout.mask[i]) << int(layout.shift[i])
        words = [w for w in range(layout.words) if masks[w]]
        schema = ", ".join(f"q{w} long" for w in words)
        classes = spread(keys.sparkSession, _packed(kept, quasi, layout, words), schema)
        if len(kept) <= _TO_EVERYBODY:
            classes = f.broadcast(classes)
        marked = keys.select("*", *(f.col(f"k{w}").bitwiseAND(f.lit(_signed(masks[w]))).alias(f"q{w}") for w in words))
        joined_by = [f"q{w}" for w in words]
        names = [f"k{w}" for w in range(layout.words)]
        if not self.show:
            return marked.join(classes, joined_by, "left_semi").select(*names)
        stars = [0] * layout.words
        for i, size in enumerate(self._sizes(quasi)):
            stars[layout.word[i]] |= (size - 1) << int(layout.shift[i])
        found = marked.join(classes.withColumn("inside", f.lit(1)), joined_by, "left")
        return found.select(
            *(
                f.when(f.col("inside").isNotNull(), f.col(f"k{w}"))
                .otherwise(
                    f.col(f"k{w}").bitwiseAND(f.lit(_signed(~masks[w] & _ALL))).bitwiseOR(f.lit(_signed(stars[w])))
                )
                .alias(f"k{w}")
                for w in range(layout.words)
            )
        )

    def _shown(self, name: str) -> pa.Array:
        """The cell behind each code of a column."""
        if name in self.recoding.levels:
            labels = self.hierarchies[name].labels[self.recoding.levels[name]]
            return pa.array([*labels, TOP], pa.string())
        column = self.table[name]
        assert isinstance(column, Tallied)
        known = column.values.cast(column.raws.type)
        return pa.concat_arrays([known, pa.nulls(1, known.type)])

    @property
    def _schema(self) -> Any:
        from pyspark.sql import types

        cells = self._collected.cells
        fields = []
        for name in self.columns:
            of = cells.frame.schema[cells.titles[name]].dataType
            fields.append(types.StructField(name, types.StringType() if name in self.recoding.levels else of, True))
        return types.StructType(fields)


_ALL = (1 << 64) - 1


def _signed(word: int) -> int:
    """A word as Spark's long has it."""
    return word - (1 << 64) if word >> 63 else word


def _packed(kept: FrequencySet, quasi: Sequence[str], layout: Layout, words: Sequence[int]) -> pa.Table:
    """The classes as keys of this layout."""
    keys = np.zeros((layout.words, len(kept)), dtype=np.uint64)
    for i, name in enumerate(quasi):
        keys[layout.word[i]] |= kept.codes(name).astype(np.uint64) << np.uint64(layout.shift[i])
    return pa.table({f"q{w}": keys[w].view(np.int64) for w in words})
