"""Mondrian for items that do not fit in memory: parts are cut on disk until they fit (S4.7)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.codes import Codes
from shoal.counts import Longs
from shoal.frequency import FrequencySet
from shoal.models import KAnonymity
from shoal.partition.axes import Axis
from shoal.partition.condition import Condition
from shoal.partition.growth import Watch, unwatched
from shoal.partition.marginals import Cut, Marginals
from shoal.partition.mondrian import by_width, mondrian
from shoal.stored import Stored, Traffic

Give = Callable[[FrequencySet, Codes], None]
"""Takes items whose parts are final, with the part of each."""


@dataclass(frozen=True)
class Boxes:
    """The parts, numbered from left to right: the range of positions of each on each axis, and its rows."""

    low: Codes
    high: Codes
    rows: Longs
    traffic: Traffic


@dataclass(frozen=True)
class _Part:
    """A part that lies on disk."""

    items: Stored
    held: Marginals
    low: Codes
    """Its region."""
    high: Codes
    level: int


@dataclass
class _Work:
    """What is being cut, and the parts that are final."""

    axes: Sequence[Axis]
    k: int
    give: Give
    watch: Watch
    total: int
    traffic: Traffic = field(default_factory=Traffic)
    files: int = 0
    parts: int = 0
    done: int = 0
    low: list[Codes] = field(default_factory=list)
    high: list[Codes] = field(default_factory=list)
    rows: list[Longs] = field(default_factory=list)

    def settle(self, low: Codes, high: Codes, rows: Longs) -> None:
        self.low.append(low)
        self.high.append(high)
        self.rows.append(rows)
        self.parts += len(rows)
        self.done += int(rows.sum())
        self.watch(self.done / self.total)


def mondrian_on_disk(
    items: Stored, axes: Sequence[Axis], k: int, give: Give, *, watch: Watch = unwatched, room: int | None = None
) -> Boxes:
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
    ...     boxes = mondrian_on_disk(stored, [age], 2, lambda items, part: None, room=1)
    >>> boxes.low.tolist(), boxes.high.tolist(), boxes.rows.tolist()
    ([[0], [2]], [[1], [2]], [3, 2])
    """
    held = Marginals.none(axes)
    traffic = Traffic()
    for piece in items.pieces():
        traffic.read[0] += len(piece)
        for a, axis in enumerate(axes):
            held.add(a, axis.positions[piece.codes(axis.attribute)], piece.counts)
    work = _Work(axes, k, give, watch, held.rows, traffic)
    low = np.zeros(len(axes), dtype=np.int32)
    high = np.array([axis.size - 1 for axis in axes], dtype=np.int32)
    waiting = [_Part(items, held, low, high, 0)]
    most = items.room if room is None else room
    while waiting:
        part = waiting.pop()  # the leftmost one: parts are numbered as they are finished
        if part.items.items <= most:
            _finish(work, part)
            continue
        cut = part.held.chosen(axes, by_width(axes), k)
        if cut is None:
            _keep(work, part)
        else:
            waiting += reversed(_sides(work, part, cut))
    return Boxes(np.concatenate(work.low), np.concatenate(work.high), np.concatenate(work.rows), traffic)


def _sides(work: _Work, part: _Part, cut: Cut) -> list[_Part]:
    """Write the items of a part side by side, and count each side on the way."""
    sides = []
    for side in range(cut.sides):
        low, high = part.low.copy(), part.high.copy()
        if work.axes[cut.axis].hierarchy is None:
            high[cut.axis] = high[cut.axis] if side else cut.last
            low[cut.axis] = cut.first if side else low[cut.axis]
        work.files += 1
        items = part.items.beside(f"part{work.files}")
        sides.append(_Part(items, Marginals.none(work.axes), low, high, part.level + 1))
    for piece in part.items.pieces():
        work.traffic.read[part.level] += len(piece)
        work.traffic.written[part.level] += len(piece)
        at = [axis.positions[piece.codes(axis.attribute)] for axis in work.axes]
        of = cut.side[at[cut.axis]]
        for number, made in enumerate(sides):
            here = of == number
            if not here.any():
                continue
            chosen = piece.kept(here)
            made.items.add(chosen)
            for a, positions in enumerate(at):
                made.held.add(a, positions[here], chosen.counts)
    part.items.remove()
    return sides


def _finish(work: _Work, part: _Part) -> None:
    """Cut a part that fits in memory to its end, from its own region on."""
    items = part.items.whole()
    part.items.remove()
    found = mondrian(Condition(items, [KAnonymity(work.k)]), work.axes)
    low, high = found.low.copy(), found.high.copy()
    for a, axis in enumerate(work.axes):
        if axis.hierarchy is None:
            low[:, a], high[:, a] = np.maximum(low[:, a], part.low[a]), np.minimum(high[:, a], part.high[a])
    work.give(items, found.part + np.int32(work.parts))
    rows = np.bincount(found.part, weights=items.counts, minlength=found.count).astype(np.int64)
    work.settle(low, high, rows)


def _keep(work: _Work, part: _Part) -> None:
    """Take a part as it is: it does not fit, and nothing can cut it."""
    low, high = part.low[None].copy(), part.high[None].copy()
    for a, axis in enumerate(work.axes):
        low[:, a], high[:, a] = axis.shown(low[:, a], high[:, a], part.held.low[:, a], part.held.high[:, a])
    for piece in part.items.pieces():
        work.give(piece, np.full(len(piece), work.parts, dtype=np.int32))
    part.items.remove()
    work.settle(low, high, np.array([part.held.rows]))
