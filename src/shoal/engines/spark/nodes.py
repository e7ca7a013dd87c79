"""The released rows of a node: keys of labels, without the classes that are suppressed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal.codes import Codes
from shoal.engines.spark.carrying import spread
from shoal.engines.spark.dictionaries import Collected
from shoal.engines.spark.frames import Place, Seen, SparkFrame, as_it_was, place_of
from shoal.engines.spark.grouping import keys_of
from shoal.frequency import FrequencySet, Layout
from shoal.hierarchy import TOP, Hierarchy
from shoal.recode import NodeRecoding, Released

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TO_EVERYBODY = 2_000_000
"""Classes that every executor is sent; of more, rows and classes meet by their hash."""


def node_frame(
    table: Collected,
    recoding: NodeRecoding,
    hierarchies: Mapping[str, Hierarchy],
    columns: Sequence[str],
    *,
    show: bool,
) -> SparkFrame:
    """The rows as a node shows them, suppressed ones left out or shown as all `*`."""
    quasi = list(recoding.levels)
    others = [name for name in columns if name not in recoding.levels]
    labels = {name: hierarchies[name].labels[level] for name, level in recoding.levels.items()}
    # one code more for `*` where a suppressed row is shown
    sizes = [*(len(labels[name]) + 1 for name in quasi), *(table[name].size for name in others)]
    layout = Layout.of(sizes)
    steps = {name: hierarchies[name].levels[level] for name, level in recoding.levels.items()}
    keys = _Keys(table, [*quasi, *others], steps, sizes, layout, recoding.kept, show)
    seen = {}
    for name in columns:
        place = place_of(layout, keys.names.index(name))
        seen[name] = _labelled(labels[name], place, show=show) if name in labels else as_it_was(table, name, place)
    return SparkFrame(table, keys.made, seen)


def _labelled(labels: Sequence[str | None], place: Place, *, show: bool) -> Seen:
    from pyspark.sql import types

    known = list(labels)
    texts = known if TOP in known or not show else [*known, TOP]
    star = texts.index(TOP) if show else 0
    codes = np.append(np.arange(len(known), dtype=np.int32), np.int32(star))
    return Seen(place, pa.array([*known, TOP], pa.string()), Released.of(codes, texts), types.StringType())


@dataclass(frozen=True)
class _Keys:
    """The keys of the rows that are released; the quasi-identifiers are the first of the names."""

    table: Collected
    names: Sequence[str]
    steps: Mapping[str, Codes]
    sizes: Sequence[int]
    layout: Layout
    kept: FrequencySet | None
    show: bool

    def made(self) -> "DataFrame":
        """Rows whose class is released; with `show`, the others with the code after the last label everywhere."""
        from pyspark.sql import functions as f

        keys, layout, kept = keys_of(self.table, self.names, self.layout, self.steps), self.layout, self.kept
        assert kept is not None
        masks = [0] * layout.words
        for i in range(len(self.steps)):
            masks[layout.word[i]] |= int(layout.mask[i]) << int(layout.shift[i])
        words = [w for w in range(layout.words) if masks[w]]
        schema = ", ".join(f"q{w} long" for w in words)
        classes = spread(keys.sparkSession, _packed(kept, list(self.steps), layout, words), schema)
        if len(kept) <= _TO_EVERYBODY:
            classes = f.broadcast(classes)
        marked = keys.select("*", *(f.col(f"k{w}").bitwiseAND(f.lit(_signed(masks[w]))).alias(f"q{w}") for w in words))
        joined_by = [f"q{w}" for w in words]
        names = [f"k{w}" for w in range(layout.words)]
        if not self.show:
            return marked.join(classes, joined_by, "left_semi").select(*names)
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
    """A word as Spark's long has it."""
    return word - (1 << 64) if word >> 63 else word


def _packed(kept: FrequencySet, quasi: Sequence[str], layout: Layout, words: Sequence[int]) -> pa.Table:
    """The classes as keys of this layout."""
    keys = np.zeros((layout.words, len(kept)), dtype=np.uint64)
    for i, name in enumerate(quasi):
        keys[layout.word[i]] |= kept.codes(name).astype(np.uint64) << np.uint64(layout.shift[i])
    return pa.table({f"q{w}": keys[w].view(np.int64) for w in words})
