"""Boxes of rows in a file: what the plan asks of an engine that cuts on disk."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from shoal.codes import Codes
from shoal.engines.duckdb.dictionaries import Collected
from shoal.engines.duckdb.storing import store
from shoal.frequency import FrequencySet
from shoal.partition.axes import Axis
from shoal.partition.growth import Watch
from shoal.partition.on_disk import mondrian_on_disk
from shoal.plan.in_place import Boxed
from shoal.stored import distinct_of


def box(
    columns: Collected, quasi: Sequence[str], others: Sequence[str], axes: Sequence[Axis], k: int, watch: Watch
) -> Boxed:
    """Group the rows into a file, and cut it: rows go from file to file until their part fits in memory."""
    items = store(columns, [*quasi, *others])
    lines = items.beside("lines", parted=True)
    points = _Points(items.path.with_name("points.parquet"), tuple(quasi))

    def keep(piece: FrequencySet, part: Codes) -> None:
        lines.add(piece, part)
        points.add(piece, part)

    boxes, _ = mondrian_on_disk(items, axes, k, keep, watch=watch)
    points.close()
    return Boxed(boxes, lines, points.path)


@dataclass
class _Points:
    """A file of distinct points, each with its part: what a verifier is told."""

    path: Path
    quasi: tuple[str, ...]
    _writer: parquet.ParquetWriter = None
    _known: tuple[int, FrequencySet] | None = field(default=None, repr=False)
    """The last part where it came in pieces, and its points so far."""

    def add(self, piece: FrequencySet, part: Codes) -> None:
        points, parts = distinct_of(piece, self.quasi, part)
        first = int(parts[0])
        alone = bool((parts == first).all())
        if self._known is not None and self._known[0] == first:
            fresh = ~points.among(self._known[1])
            points, parts = points.kept(fresh), parts[fresh]
        if alone:
            before = self._known[1] if self._known is not None and self._known[0] == first else None
            self._known = first, points if before is None else before.beside(points)
        codes = {f"q{i}": points.codes(name) for i, name in enumerate(self.quasi)}
        told = pa.table({**codes, "part": parts})
        self._writer = self._writer or parquet.ParquetWriter(self.path, told.schema, compression="zstd")
        self._writer.write_table(told)

    def close(self) -> None:
        self._writer.close()
