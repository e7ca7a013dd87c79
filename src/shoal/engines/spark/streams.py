"""The released rows on the executors: as a Spark frame, or sorted there and written to a private file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.data.codes import Codes, Tallied
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import Layout
from shoal.engine_port import ReleasedRows
from shoal.engines.row_stream import Stream
from shoal.engines.spark import executors
from shoal.engines.spark.groups import SparkColumns, keys_of
from shoal.engines.spark.session import broadcast, collect_table, explain_spark_error, send_table, stream_batches
from shoal.hierarchy.taxonomy import TOP, Hierarchy
from shoal.recoding.columns import ReleasedColumn, unchanged_column
from shoal.recoding.kinds import NodeRecoding

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

Place = tuple[int, int, int]
"""The field of a code in a key: word, shift, mask."""


@dataclass(frozen=True)
class KeyColumn:
    """A released column: the field of its code in the key of a row, and what each code shows."""

    place: Place
    values: pa.Array
    """What each code shows in a frame; a dictionary if there are many codes and few labels."""
    labels: ReleasedColumn
    """Label of each code in a file."""
    type: Any
    """Type of the column in Spark."""


def unchanged_key_column(columns: SparkColumns, name: str, place: Place) -> KeyColumn:
    """Return a column that is released unchanged."""
    column = columns[name]
    assert isinstance(column, Tallied)
    known = column.values.cast(column.raws.type)
    shown = unchanged_column(column)
    every = ReleasedColumn(np.arange(len(shown.texts), dtype=np.int32), shown.values, shown.texts)
    of = columns.cells.frame.schema[columns.cells.titles[name]].dataType
    return KeyColumn(place, pa.concat_arrays([known, pa.nulls(1, known.type)]), every, of)


def place_of(layout: Layout, i: int) -> Place:
    """Return the field of attribute i in a key."""
    return int(layout.word[i]), int(layout.shift[i]), int(layout.mask[i])


@dataclass(frozen=True)
class SparkFrame:
    """The released rows as a frame."""

    table: SparkColumns
    """The table that the rows came from."""
    keys: "Callable[[], DataFrame]"
    """Makes a frame of the keys of the released rows, k0, k1, …"""
    columns: Mapping[str, KeyColumn]

    @property
    def data(self) -> Any:
        """The frame, which is lazy: nothing runs before its rows are read."""
        return self._frame

    @cached_property
    def _frame(self) -> "DataFrame":
        from pyspark.sql import types

        fields = [types.StructField(name, seen.type, True) for name, seen in self.columns.items()]
        return self._look_up({name: seen.values for name, seen in self.columns.items()}, types.StructType(fields))

    def counted(self) -> tuple[pa.Table, NDArray[np.int64]]:
        """Return the distinct rows of the frame as the caller gets it, grouped anew, and how often each occurs."""
        names = [f"r{i}" for i in range(len(self.columns))]
        empty = pa.schema([*((name, pa.string()) for name in names), ("count", pa.int64())])
        with explain_spark_error(self.table.name):
            found = collect_table(self._frame.toDF(*names).groupBy(*names).count(), empty)
        times = np.asarray(found["count"], dtype=np.int64)
        return found.select(names).rename_columns(list(self.columns)), times

    def as_numbers(self, numbers: Mapping[str, Codes]) -> "DataFrame":
        """Return a frame of the same rows as numbers, c0, c1, …, given the number of each code of a column."""
        schema = ", ".join(f"c{i} int" for i in range(len(self.columns)))
        return self._look_up({name: pa.array(numbers[name], pa.int32()) for name in self.columns}, schema)

    def _look_up(self, cells: Mapping[str, pa.Array], schema: Any) -> "DataFrame":
        """Return a frame in which each code of a column is replaced by its cell."""
        keys = self.keys()
        sent = broadcast(keys.sparkSession, [(cells[name], *seen.place) for name, seen in self.columns.items()])
        titles = [f"c{i}" for i in range(len(cells))] if isinstance(schema, str) else list(cells)
        return keys.mapInArrow(executors.labelled(sent, titles), schema)


_TO_EVERYBODY = 2_000_000
"""Maximum number of classes that are broadcast to every executor; more are joined with the rows by a shuffle."""


def node_frame(
    table: SparkColumns,
    recoding: NodeRecoding,
    hierarchies: Mapping[str, Hierarchy],
    columns: Sequence[str],
    *,
    show: bool,
) -> SparkFrame:
    """Return a frame of the rows as a node shows them; suppressed rows are left out, or shown as all `*`."""
    quasi = list(recoding.levels)
    others = [name for name in columns if name not in recoding.levels]
    labels = {name: hierarchies[name].labels[level] for name, level in recoding.levels.items()}
    # quasi-identifiers have one more code, for the `*` of suppressed rows that are shown
    sizes = [*(len(labels[name]) + 1 for name in quasi), *(table[name].size for name in others)]
    layout = Layout.of(sizes)
    steps = {name: hierarchies[name].levels[level] for name, level in recoding.levels.items()}
    keys = _KeyMaker(table, [*quasi, *others], steps, sizes, layout, recoding.kept, show)
    seen = {}
    for name in columns:
        place = place_of(layout, keys.names.index(name))
        seen[name] = (
            _labelled_column(labels[name], place, show=show)
            if name in labels
            else unchanged_key_column(table, name, place)
        )
    return SparkFrame(table, keys.make_keys, seen)


def _labelled_column(labels: Sequence[str | None], place: Place, *, show: bool) -> KeyColumn:
    """Return a quasi-identifier with these labels; the code after the last label shows `*`."""
    from pyspark.sql import types

    known = list(labels)
    texts = known if TOP in known or not show else [*known, TOP]
    star = texts.index(TOP) if show else 0
    codes = np.append(np.arange(len(known), dtype=np.int32), np.int32(star))
    return KeyColumn(place, pa.array([*known, TOP], pa.string()), ReleasedColumn.of(codes, texts), types.StringType())


@dataclass(frozen=True)
class _KeyMaker:
    """Makes the keys of the released rows; the names of quasi-identifiers come first."""

    table: SparkColumns
    names: Sequence[str]
    steps: Mapping[str, Codes]
    sizes: Sequence[int]
    layout: Layout
    kept: FrequencySet | None
    show: bool

    def make_keys(self) -> "DataFrame":
        """Return the keys of rows whose class is released; with `show` also of the others, with the code of `*`."""
        from pyspark.sql import functions as f

        keys, layout, kept = keys_of(self.table, self.names, self.layout, self.steps), self.layout, self.kept
        assert kept is not None
        # [word] the bits of quasi-identifiers, which determine the class of a row
        masks = [0] * layout.words
        for i in range(len(self.steps)):
            masks[layout.word[i]] |= int(layout.mask[i]) << int(layout.shift[i])
        words = [w for w in range(layout.words) if masks[w]]
        schema = ", ".join(f"q{w} long" for w in words)
        classes = send_table(keys.sparkSession, _pack_classes(kept, list(self.steps), layout, words), schema)
        if len(kept) <= _TO_EVERYBODY:
            classes = f.broadcast(classes)
        marked = keys.select("*", *(f.col(f"k{w}").bitwiseAND(f.lit(_signed(masks[w]))).alias(f"q{w}") for w in words))
        joined_by = [f"q{w}" for w in words]
        names = [f"k{w}" for w in range(layout.words)]
        if not self.show:
            return marked.join(classes, joined_by, "left_semi").select(*names)
        # [word] the same bits with the code of `*` in every quasi-identifier
        stars = [0] * layout.words
        for i in range(len(self.steps)):
            stars[layout.word[i]] |= (self.sizes[i] - 1) << int(layout.shift[i])
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


_ALL = (1 << 64) - 1


def _signed(word: int) -> int:
    """Return a word of 64 bits as the signed long of Spark with the same bits."""
    return word - (1 << 64) if word >> 63 else word


def _pack_classes(kept: FrequencySet, quasi: Sequence[str], layout: Layout, words: Sequence[int]) -> pa.Table:
    """Return classes as keys of this layout, only those words that have quasi-identifiers."""
    keys = np.zeros((layout.words, len(kept)), dtype=np.uint64)
    for i, name in enumerate(quasi):
        keys[layout.word[i]] |= kept.codes(name).astype(np.uint64) << np.uint64(layout.shift[i])
    return pa.table({f"q{w}": keys[w].view(np.int64) for w in words})


_NUMBER = count()


def stream(frame: SparkFrame) -> ReleasedRows:
    """Write the rows of a frame to a file, sorted by their texts; the driver holds a few partitions at a time."""
    labels, places = {}, {}
    for name, seen in frame.columns.items():
        labels[name], places[name] = _rank_labels(seen.labels)
    path = frame.table.scratch.path / f"rows{next(_NUMBER)}.arrow"
    schema = pa.schema([(name, pa.int32()) for name in labels])
    tally = {name: np.zeros(len(each.texts), dtype=np.int64) for name, each in labels.items()}
    total = 0
    with (
        explain_spark_error(frame.table.name),
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_stream(file, schema) as writer,
    ):
        for batch in _iter_sorted_rows(frame, places):
            for name, numbers in zip(labels, batch.columns, strict=True):
                tally[name] += np.bincount(numbers.to_numpy(), minlength=len(tally[name]))
            total += batch.num_rows
            writer.write_batch(pa.record_batch(list(batch.columns), schema=schema))
    used = {name: replace(each, codes=np.flatnonzero(tally[name]).astype(np.int32)) for name, each in labels.items()}
    return ReleasedRows(used, stream=Stream(path, total, used, tally, (), 0), frame=frame)


def _iter_sorted_rows(frame: SparkFrame, places: Mapping[str, Codes]) -> Iterator[pa.RecordBatch]:
    """Yield the rows as indices of their labels, sorted: every executor sorts a range of them."""
    numbered = frame.as_numbers(places)
    return stream_batches(numbered.orderBy(*numbered.columns))


def _rank_labels(given: ReleasedColumn) -> tuple[ReleasedColumn, Codes]:
    """Return the labels of a column sorted by text, null last, and the index of each code among them."""
    order = pc.sort_indices(given.texts)
    # [label] its index in sorted order
    place = np.empty(len(order), dtype=np.int32)
    place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    return ReleasedColumn(given.codes, given.values.take(order), given.texts.take(order)), place[given.codes]
