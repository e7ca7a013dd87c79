"""From a policy to boxes where the rows stay where they are: strict Mondrian for k alone (S4.7)."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from shoal.codes import Codes
from shoal.counts import ClassCounts, Longs
from shoal.engine import Engine, Source, Storing
from shoal.errors import ShoalWarning
from shoal.frequency import FrequencySet, Layout
from shoal.metrics import lost_in_cells
from shoal.partition.axes import Axis, Floats, in_order
from shoal.partition.boxes import show_boxes
from shoal.partition.on_disk import mondrian_on_disk
from shoal.plan.boxes import axes_of
from shoal.plan.counting import read_columns
from shoal.plan.feasible import as_one_class, failed_by, refuse_impossible
from shoal.plan.ground import Ground
from shoal.plan.roles import assign_roles
from shoal.plan.showing import Ranges, Showing, merged_ranges
from shoal.plan.values import Plan
from shoal.policy import Policy
from shoal.policy.fitting import refuse_misfits
from shoal.recode import Released, StoredRecoding
from shoal.release import Recoded
from shoal.schema import Role
from shoal.search import Ask, Stop, Tally, Watch
from shoal.stored import distinct_of


def plan_on_disk(source: Source, policy: Policy, engine: Engine, watch: Watch, stop: Stop) -> Plan:
    """The boxes that `plan_cells` would make; rows go from file to file until their part fits in memory.

    Items are distinct rows of all released columns, so that the part of an item is all that its release needs.
    """
    assert isinstance(engine, Storing)
    table = source.table
    roles = assign_roles(table, policy, source.index)
    quasi = sorted(name for name, role in roles.items() if role is Role.QUASI_IDENTIFIER)
    refuse_misfits(policy, table, roles)
    whole = _as_one(quasi, table.rows)
    reading = read_columns(table, policy, whole, quasi)
    refuse_impossible(policy.models, as_one_class(whole, reading, None), 0, split=False)
    started = perf_counter()
    ground = Ground(table, policy, roles, whole, reading, lambda share: watch(Ask((), share), Tally()), stop)
    axes, builders, hierarchies = axes_of(ground)
    ordered = in_order(axes.values())
    items = engine.store(table, [*quasi, *(n for n, role in roles.items() if role.released and n not in quasi)])
    lines = items.beside("lines", parted=True)
    points = _Points(items.path.with_name("points.parquet"), tuple(quasi))

    def keep(piece: FrequencySet, part: Codes) -> None:
        lines.add(piece, part)
        points.add(piece, part)

    boxes = mondrian_on_disk(items, ordered, policy.largest_k, keep, watch=ground.watch)
    points.close()
    if stop():
        warnings.warn(ShoalWarning("boxes that are made on disk cannot end early: all of them were made"), stacklevel=2)
    ranges = {axis.attribute: (boxes.low[:, a], boxes.high[:, a]) for a, axis in enumerate(ordered)}
    made = _shown(ground, axes, {name: ranges[name] for name in quasi}, boxes.rows)
    after = Recoded(_classes(made.sizes), made.sizes, made.losses)
    metrics = lost_in_cells(ground.before, after)
    shown = {name: _of_parts(columns, made.of_part) for name, columns in made.shown.items()}
    return Plan(
        roles=roles,
        builders=builders,
        hierarchies=hierarchies,
        before=ground.before,
        after=after,
        recoding=StoredRecoding(lines, points.path, shown, boxes.rows),
        score=metrics["loss"],
        metrics=metrics,
        seconds=perf_counter() - started,
        failed=failed_by(policy.models, ClassCounts(made.sizes)),
        class_of_row=np.zeros(0, dtype=np.int32),
        reading=reading,
    )


@dataclass(frozen=True)
class _Made:
    """What classes show, and the class of each part."""

    shown: dict[str, dict[str, Released]]
    losses: Floats
    sizes: Longs
    of_part: Codes


def _shown(ground: Ground, axes: Mapping[str, Axis], ranges: dict[str, Ranges], sizes: Longs) -> _Made:
    """Parts that show the same are one class, as they are in memory."""
    of_part = np.arange(len(sizes), dtype=np.int32)
    while True:
        boxes = {name: show_boxes(axes[name], ground.table[name], *ends) for name, ends in ranges.items()}
        shown = {name: {name: box.released} for name, box in boxes.items()}
        alike, count = Showing(shown).alike()
        if count == len(alike):
            return _Made(shown, np.stack([box.losses for box in boxes.values()], axis=1), sizes, of_part)
        of_part = alike[of_part]
        sizes = np.bincount(alike, weights=sizes, minlength=count).astype(np.int64)
        ranges = {name: merged_ranges(alike, count, *ends) for name, ends in ranges.items()}


def _of_parts(columns: Mapping[str, Released], of_part: Codes) -> dict[str, Released]:
    return {name: Released(each.codes[of_part], each.values, each.texts) for name, each in columns.items()}


def _as_one(quasi: list[str], rows: int) -> FrequencySet:
    """The table as one class: its own classes are too many."""
    layout = Layout.of([1] * len(quasi))
    return FrequencySet(tuple(quasi), layout, np.zeros((1, layout.words), dtype=np.uint64), np.array([rows]))


def _classes(sizes: Longs) -> FrequencySet:
    return FrequencySet(("part",), Layout.of([len(sizes)]), np.arange(len(sizes), dtype=np.uint64)[:, None], sizes)


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
