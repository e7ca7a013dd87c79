"""Upper cuts of Mondrian for items that are not in memory: counts per axis decide where a part is cut (S4.7)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shoal.data.class_counts import Longs, sum_counts
from shoal.data.codes import Codes
from shoal.data.frequency_set import FrequencySet
from shoal.data.on_disk import StoredRows, Traffic
from shoal.models.k_anonymity import KAnonymity
from shoal.partition.axes import Axis
from shoal.partition.condition import Condition
from shoal.partition.mondrian import Cut, Marginals, PlanByExtents, Watch, ignore_progress, mondrian, plan_by_width


@dataclass(frozen=True)
class PartBoxes:
    """Parts numbered from left to right: the range of positions of each on every axis, and its number of rows."""

    low: Codes
    """low[part, axis]"""
    high: Codes
    rows: Longs

    @classmethod
    def from_several(cls, some: Sequence["PartBoxes"]) -> "PartBoxes":
        """Concatenate several sets of parts."""
        return cls(*(np.concatenate(each) for each in zip(*((b.low, b.high, b.rows) for b in some), strict=True)))


@dataclass(frozen=True)
class PartCounts:
    """What is counted of a part, and where its items are."""

    where: Any
    """A handle that only the owner of the items understands."""
    held: Marginals
    items: int
    """Number of distinct items."""


@dataclass(frozen=True)
class UpperPart:
    """A part whose items are not in memory: its region, what it holds, and its next cut."""

    where: Any
    low: Codes
    """low[axis]: the lower edge of the region."""
    high: Codes
    least: Codes
    """least[axis]: the least position that the part holds."""
    most: Codes
    rows: int
    small: bool
    """Whether it fits in memory, where it is then cut to the end."""
    cut: Cut | None
    """None where the part is small or no cut leaves k rows on every side."""
    level: int


Split = Callable[[Sequence[UpperPart]], Iterable[Sequence[PartCounts]]]
"""Makes the next cut of each part, and counts what each of its sides holds."""


@dataclass
class CutTree:
    """A tree of cuts that finds the part of any item; node 0 is the whole table.

    >>> tree = CutTree()
    >>> tree.cut(0, Cut(0, np.array([3])))
    range(1, 3)
    >>> tree.find_leaves([np.array([0, 3, 4])]).tolist()
    [1, 1, 2]
    """

    below: list[tuple[Cut, int] | None] = field(default_factory=lambda: [None])
    """For each node its cut and the number of its first side, the others follow; None where it is not cut."""

    def cut(self, node: int, cut: Cut) -> range:
        """Cut a node and return the numbers of its sides."""
        first = len(self.below)
        self.below[node] = cut, first
        self.below += [None] * cut.sides
        return range(first, len(self.below))

    def find_leaves(self, at: Sequence[Codes]) -> Codes:
        """Return the leaf of each item; `at[axis]` holds the positions of all items."""
        found = np.zeros(len(at[0]), dtype=np.int32)
        waiting = [(0, np.arange(len(found)))]
        while waiting:
            node, items = waiting.pop()
            below = self.below[node]
            if below is None:
                found[items] = node
                continue
            cut, first = below
            side = cut.side(at[cut.axis][items])
            waiting += [(first + s, items[side == s]) for s in range(cut.sides)]
        return found


@dataclass(frozen=True)
class Cutting:
    """Strict Mondrian for k-anonymity alone; a part of at most `room` items is small.

    >>> age = Axis("age", np.arange(3, dtype=np.int32), np.array([1.0, 2.0, 5.0]))
    >>> ages = FrequencySet.count({"age": (np.array([0, 0, 1, 2, 2], np.int32), 3)})
    >>> cutting = Cutting((age,), 2, room=2)
    >>> def split(tops):
    ...     side = tops[0].cut.side(ages.codes("age"))
    ...     parts = [(s, ages.select_classes(side == s)) for s in (0, 1)]
    ...     return [[PartCounts(s, Marginals.of(part, [age]), (side == s).sum()) for s, part in parts]]
    >>> counted = PartCounts("all", Marginals.of(ages, [age]), 3)
    >>> [(top.where, top.rows) for top in cutting.cut_upper_parts(counted, split)]
    [(0, 3), (1, 2)]
    """

    axes: tuple[Axis, ...]
    k: int
    room: int

    def cut_upper_parts(self, whole: PartCounts, split: Split, *, together: bool = False) -> Iterator[UpperPart]:
        """Yield the parts that are small or cannot be cut, from left to right.

        By default the leftmost part is cut first, so that results come early and the items were just touched. With
        `together`, all parts of a level are cut in one call of `split`, for stores where every call is costly.
        """
        last = np.array([axis.size - 1 for axis in self.axes], dtype=np.int32)
        waiting = [self._make_part(whole, np.zeros_like(last), last, 0)]
        while waiting:
            if waiting[0].cut is None:
                yield waiting.pop(0)
                continue
            taken = [top for top in waiting if top.cut is not None] if together else waiting[:1]
            sides = dict(zip(map(id, taken), map(self._sides, taken, split(taken)), strict=True))
            waiting = [side for top in waiting for side in sides.get(id(top), [top])]

    def _sides(self, top: UpperPart, counted: Sequence[PartCounts]) -> list[UpperPart]:
        """Return the sides of a part that was cut, each with its region, given what was counted of them."""
        assert top.cut is not None
        assert len(counted) == top.cut.sides
        sides = []
        for number, side in enumerate(counted):
            low, high = top.low.copy(), top.high.copy()
            if self.axes[top.cut.axis].hierarchy is None:
                if number:
                    low[top.cut.axis] = top.cut.ends[0] + 1
                else:
                    high[top.cut.axis] = top.cut.ends[0]
            sides.append(self._make_part(side, low, high, top.level + 1))
        return sides

    def _make_part(self, counted: PartCounts, low: Codes, high: Codes, level: int) -> UpperPart:
        """Return a part, with its next cut unless it is small."""
        held, small = counted.held, counted.items <= self.room
        cut = None if small else held.choose_cut(self.axes, self._plan, self.k)
        return UpperPart(counted.where, low, high, held.low[0], held.high[0], held.rows, small, cut, level)

    @cached_property
    def _plan(self) -> PlanByExtents:
        return plan_by_width(self.axes)

    def finish(self, items: FrequencySet, low: Codes, high: Codes) -> tuple[Codes, PartBoxes]:
        """Cut a small part of this region to the end; return the part of each item, from 0, and the boxes."""
        found = mondrian(Condition(items, [KAnonymity(self.k)]), self.axes)
        lows, highs = found.low.copy(), found.high.copy()
        for a, axis in enumerate(self.axes):
            if axis.hierarchy is None:
                lows[:, a], highs[:, a] = np.maximum(lows[:, a], low[a]), np.minimum(highs[:, a], high[a])
        rows = sum_counts(found.part, items.counts, found.count)
        return found.part, PartBoxes(lows, highs, rows)

    def box_of(self, top: UpperPart) -> PartBoxes:
        """Return the box of a part that does not fit in memory and cannot be cut."""
        low, high = top.low[None].copy(), top.high[None].copy()
        for a, axis in enumerate(self.axes):
            low[:, a], high[:, a] = axis.edges_to_show(low[:, a], high[:, a], top.least[a : a + 1], top.most[a : a + 1])
        return PartBoxes(low, high, np.array([top.rows]))


Give = Callable[[FrequencySet, Codes], None]
"""Receives items whose parts are final, with the part of each."""


def mondrian_on_disk(
    items: StoredRows,
    axes: Sequence[Axis],
    k: int,
    give: Give,
    *,
    watch: Watch = ignore_progress,
    room: int | None = None,
) -> tuple[PartBoxes, Traffic]:
    """Run `mondrian` for k alone on items in a file, which is removed (LeFevre et al. 2006, §2.3.1; S4.7).

    The counts per axis decide where a part is cut; those of its sides are taken while the sides are written, so each
    level reads every item once and writes it once. A part of at most `room` items is finished in memory.

    >>> import tempfile
    >>> from pathlib import Path
    >>> ages = FrequencySet.count({"age": (np.array([0, 0, 1, 2, 2], np.int32), 3)})
    >>> age = Axis("age", np.arange(3, dtype=np.int32), np.array([1.0, 2.0, 5.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = StoredRows(("age",), ages.layout, Path(folder) / "ages")
    ...     stored.add(ages)
    ...     boxes, traffic = mondrian_on_disk(stored, [age], 2, lambda items, part: None, room=1)
    >>> boxes.low.tolist(), boxes.high.tolist(), boxes.rows.tolist(), traffic.written[0]
    ([[0], [2]], [[1], [2]], [3, 2], 3)
    """
    cutting = Cutting(tuple(axes), k, items.room if room is None else room)
    disk = _Disk(cutting)
    whole = disk.count_items(items)
    made: list[PartBoxes] = []
    parts, rows = 0, 0
    for top in cutting.cut_upper_parts(whole, disk.split):
        made.append(_finish(cutting, top, parts, give) if top.small else _keep(cutting, top, parts, give))
        parts += len(made[-1].rows)
        rows += top.rows
        watch(rows / whole.held.rows)
    return PartBoxes.from_several(made), disk.traffic


@dataclass
class _Disk:
    """Cuts files of items into smaller files, and counts the traffic."""

    cutting: Cutting
    traffic: Traffic = field(default_factory=Traffic)
    files: int = 0

    def count_items(self, items: StoredRows) -> PartCounts:
        """Read all items once, and count them on every axis."""
        held = Marginals.without_rows(self.cutting.axes)
        for piece in items.pieces():
            self.traffic.read[0] += len(piece)
            for a, axis in enumerate(self.cutting.axes):
                held.add(a, axis.positions[piece.codes(axis.attribute)], piece.counts)
        return PartCounts(items, held, items.items)

    def split(self, tops: Sequence[UpperPart]) -> list[list[PartCounts]]:
        return [self._sides(top) for top in tops]

    def _sides(self, top: UpperPart) -> list[PartCounts]:
        """Write every side of a part to a file of its own, and count it on the way."""
        assert top.cut is not None
        axes, cut, given = self.cutting.axes, top.cut, top.where
        files, held = [], [Marginals.without_rows(axes) for _ in range(cut.sides)]
        for _ in held:
            self.files += 1
            files.append(given.empty_sibling(f"part{self.files}"))
        for piece in given.pieces():
            self.traffic.read[top.level] += len(piece)
            self.traffic.written[top.level] += len(piece)
            at = [axis.positions[piece.codes(axis.attribute)] for axis in axes]
            of = cut.side(at[cut.axis])
            for number, file in enumerate(files):
                here = of == number
                if not here.any():
                    continue
                chosen = piece.select_classes(here)
                file.add(chosen)
                for a, positions in enumerate(at):
                    held[number].add(a, positions[here], chosen.counts)
        given.remove()
        return [PartCounts(file, each, file.items) for file, each in zip(files, held, strict=True)]


def _finish(cutting: Cutting, top: UpperPart, first: int, give: Give) -> PartBoxes:
    """Cut a part that fits in memory to the end; its parts are numbered from `first`."""
    items = top.where.read_all()
    top.where.remove()
    part, boxes = cutting.finish(items, top.low, top.high)
    give(items, part + np.int32(first))
    return boxes


def _keep(cutting: Cutting, top: UpperPart, number: int, give: Give) -> PartBoxes:
    """Hand on the items of a part that cannot be cut, as one part, and return its box."""
    for piece in top.where.pieces():
        give(piece, np.full(len(piece), number, dtype=np.int32))
    top.where.remove()
    return cutting.box_of(top)
