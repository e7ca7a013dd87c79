"""From a policy to boxes where the rows stay where they are: strict Mondrian for k alone (S4.7)."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol, runtime_checkable

import numpy as np

from shoal.codes import Codes, Table
from shoal.counts import ClassCounts, Longs
from shoal.engine import Engine, Source
from shoal.errors import ShoalWarning
from shoal.frequency import FrequencySet, Layout
from shoal.metrics import lost_in_cells
from shoal.partition.axes import Axis, Floats, in_order
from shoal.partition.boxes import show_boxes
from shoal.partition.growth import Watch as Share
from shoal.partition.tops import Boxes
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


@dataclass(frozen=True)
class Boxed:
    """The boxes of rows that stay where they are, and what `StoredRecoding` says of its lines and points."""

    boxes: Boxes
    lines: Any
    points: Path


@runtime_checkable
class Boxing(Protocol):
    """What an engine does that has `Ability.BOXES`: Mondrian where its rows are."""

    def box(
        self,
        table: Table,
        quasi_identifiers: Sequence[str],
        others: Sequence[str],
        axes: Sequence[Axis],
        k: int,
        watch: Share,
    ) -> Boxed:
        """The parts of `mondrian` for k alone, and the part of each distinct row of all these columns."""
        ...


def plan_in_place(source: Source, policy: Policy, engine: Engine, watch: Watch, stop: Stop) -> Plan:
    """The boxes that `plan_cells` would make, made by the engine.

    Items are distinct rows of all released columns, so that the part of an item is all that its release needs.
    """
    assert isinstance(engine, Boxing)
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
    others = [name for name, role in roles.items() if role.released and name not in quasi]
    boxed = engine.box(table, quasi, others, ordered, policy.largest_k, ground.watch)
    boxes = boxed.boxes
    if stop():
        warnings.warn(
            ShoalWarning("boxes that are made where the rows are cannot end early: all of them were made"), stacklevel=2
        )
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
        recoding=StoredRecoding(boxed.lines, boxed.points, shown, boxes.rows),
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
