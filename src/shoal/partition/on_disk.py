"""Mondrian for items that do not fit in memory: parts are cut on disk until they fit (S4.7)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.codes import Codes
from shoal.frequency import FrequencySet
from shoal.partition.axes import Axis
from shoal.partition.growth import Watch, unwatched
from shoal.partition.marginals import Marginals
from shoal.partition.tops import Boxes, Counted, Cutting, Top
from shoal.stored import Stored, Traffic

Give = Callable[[FrequencySet, Codes], None]
"""Takes items whose parts are final, with the part of each."""


def mondrian_on_disk(
    items: Stored, axes: Sequence[Axis], k: int, give: Give, *, watch: Watch = unwatched, room: int | None = None
) -> tuple[Boxes, Traffic]:
    """The parts of `mondrian` for k alone, of items in a file, which is used up (LeFevre et al. 2006, §2.3.1; S4.7).

    The frequency set of every axis tells where a part is cut; those of the sides are counted while these are written,
    so a level reads every item once and writes it once. A part of at most `room` items is finished in memory.

    >>> import tempfile
    >>> from pathlib import Path
    >>> ages = FrequencySet.count({"age": (np.array([0, 0, 1, 2, 2], np.int32), 3)})
    >>> age = Axis("age", np.arange(3, dtype=np.int32), np.array([1.0, 2.0, 5.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = Stored(("age",), ages.layout, Path(folder) / "ages")
    ...     stored.add(ages)
    ...     boxes, traffic = mondrian_on_disk(stored, [age], 2, lambda items, part: None, room=1)
    >>> boxes.low.tolist(), boxes.high.tolist(), boxes.rows.tolist(), traffic.written[0]
    ([[0], [2]], [[1], [2]], [3, 2], 3)
    """
    cutting = Cutting(tuple(axes), k, items.room if room is None else room)
    disk = _Disk(cutting)
    whole = disk.counted(items)
    made: list[Boxes] = []
    parts, rows = 0, 0
    for top in cutting.tops(whole, disk.split):
        made.append(_finish(cutting, top, parts, give) if top.small else _keep(cutting, top, parts, give))
        parts += len(made[-1].rows)
        rows += top.rows
        watch(rows / whole.held.rows)
    return Boxes.joined(made), disk.traffic


@dataclass
class _Disk:
    """Files of items, cut into files."""

    cutting: Cutting
    traffic: Traffic = field(default_factory=Traffic)
    files: int = 0

    def counted(self, items: Stored) -> Counted:
        held = Marginals.none(self.cutting.axes)
        for piece in items.pieces():
            self.traffic.read[0] += len(piece)
            for a, axis in enumerate(self.cutting.axes):
                held.add(a, axis.positions[piece.codes(axis.attribute)], piece.counts)
        return Counted(items, held, items.items)

    def split(self, tops: Sequence[Top]) -> list[list[Counted]]:
        return [self._sides(top) for top in tops]

    def _sides(self, top: Top) -> list[Counted]:
        """Write the items of a part side by side, and count each side on the way."""
        assert top.cut is not None
        axes, cut, given = self.cutting.axes, top.cut, top.where
        files, held = [], [Marginals.none(axes) for _ in range(cut.sides)]
        for _ in held:
            self.files += 1
            files.append(given.beside(f"part{self.files}"))
        for piece in given.pieces():
            self.traffic.read[top.level] += len(piece)
            self.traffic.written[top.level] += len(piece)
            at = [axis.positions[piece.codes(axis.attribute)] for axis in axes]
            of = cut.side(at[cut.axis])
            for number, file in enumerate(files):
                here = of == number
                if not here.any():
                    continue
                chosen = piece.kept(here)
                file.add(chosen)
                for a, positions in enumerate(at):
                    held[number].add(a, positions[here], chosen.counts)
        given.remove()
        return [Counted(file, each, file.items) for file, each in zip(files, held, strict=True)]


def _finish(cutting: Cutting, top: Top, first: int, give: Give) -> Boxes:
    """Cut a part that fits in memory to its end; `first` is the number of its first part."""
    items = top.where.whole()
    top.where.remove()
    part, boxes = cutting.finished(items, top.low, top.high)
    give(items, part + np.int32(first))
    return boxes


def _keep(cutting: Cutting, top: Top, number: int, give: Give) -> Boxes:
    for piece in top.where.pieces():
        give(piece, np.full(len(piece), number, dtype=np.int32))
    top.where.remove()
    return cutting.kept(top)
