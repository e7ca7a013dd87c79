"""Boxes of a table that is not in memory: strict Mondrian for k alone, run by the engine (S4.7)."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol, runtime_checkable

import numpy as np

from shoal.data.class_counts import ClassCounts, Longs, sum_counts
from shoal.data.codes import Codes, Table
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import Layout
from shoal.errors import ShoalWarning
from shoal.metrics.catalogue import lost_in_cells
from shoal.partition.axes import Axis, Floats, sort_axes
from shoal.partition.box_labels import show_boxes
from shoal.partition.condition import progress_reporter_of
from shoal.partition.mondrian import Watch as Share
from shoal.partition.released_labels import Ranges, ShownParts, merge_ranges
from shoal.partition.solver import axes_of
from shoal.partition.upper_cuts import PartBoxes
from shoal.plan import Plan
from shoal.problem import Problem, find_failing_classes
from shoal.recoding.columns import ReleasedColumn
from shoal.recoding.kinds import StoredRecoding
from shoal.recoding.outcome import RecodedCells


@dataclass(frozen=True)
class StoredBoxes:
    """Boxes of rows that are not in memory; `lines` and `points` are those of `StoredRecoding`."""

    boxes: PartBoxes
    lines: Any
    points: Path


@runtime_checkable
class Boxing(Protocol):
    """An engine with `Ability.BOXES`: it runs Mondrian where its rows are."""

    def box(
        self,
        table: Table,
        quasi_identifiers: Sequence[str],
        others: Sequence[str],
        axes: Sequence[Axis],
        k: int,
        watch: Share,
    ) -> StoredBoxes:
        """Return the parts of `mondrian` for k alone, and the part of each distinct row of all these columns."""
        ...


def box_in_place(problem: Problem) -> Plan:
    """Make the boxes that `recode_cells` would make, in the engine.

    Items are distinct rows of all released columns, so that the part of an item is all it takes to release it.
    """
    engine, quasi, policy = problem.engine, problem.quasi, problem.policy
    assert isinstance(engine, Boxing)
    started = perf_counter()
    axes, hierarchies = axes_of(problem)
    ordered = sort_axes(axes.values())
    others = [name for name, role in problem.roles.items() if role.released and name not in quasi]
    boxed = engine.box(problem.table, quasi, others, ordered, policy.largest_k, progress_reporter_of(problem))
    boxes = boxed.boxes
    if problem.stop():
        warnings.warn(
            ShoalWarning("boxes that are made where the rows are cannot end early: all of them were made"), stacklevel=2
        )
    ranges = {axis.attribute: (boxes.low[:, a], boxes.high[:, a]) for a, axis in enumerate(ordered)}
    made = _show_merged_parts(problem, axes, {name: ranges[name] for name in quasi}, boxes.rows)
    after = RecodedCells(_classes(made.sizes), made.sizes, made.losses)
    metrics = lost_in_cells(problem.before, after)
    shown = {name: _expand_to_parts(columns, made.of_part) for name, columns in made.shown.items()}
    return Plan(
        roles=problem.roles,
        builders={name: problem.builders[name] for name in hierarchies},
        hierarchies=hierarchies,
        before=problem.before,
        after=after,
        recoding=StoredRecoding(boxed.lines, boxed.points, shown, boxes.rows, made.losses[made.of_part]),
        score=metrics["loss"],
        metrics=metrics,
        seconds=perf_counter() - started,
        failed=find_failing_classes(policy.models, ClassCounts(made.sizes)),
        class_of_row=np.zeros(0, dtype=np.int32),
        reading=problem.reading,
    )


@dataclass(frozen=True)
class _ShownClasses:
    """What classes show, their losses and sizes, and the class of each part."""

    shown: dict[str, dict[str, ReleasedColumn]]
    losses: Floats
    sizes: Longs
    of_part: Codes


def _show_merged_parts(
    problem: Problem, axes: Mapping[str, Axis], ranges: dict[str, Ranges], sizes: Longs
) -> _ShownClasses:
    """Return what the parts show, merging parts that show the same, as the solver in memory does."""
    of_part = np.arange(len(sizes), dtype=np.int32)
    while True:
        boxes = {name: show_boxes(axes[name], problem.table[name], *ends) for name, ends in ranges.items()}
        shown = {name: {name: box.released} for name, box in boxes.items()}
        alike, count = ShownParts(shown).group_identical()
        if count == len(alike):
            return _ShownClasses(shown, np.stack([box.losses for box in boxes.values()], axis=1), sizes, of_part)
        of_part = alike[of_part]
        sizes = sum_counts(alike, sizes, count)
        ranges = {name: merge_ranges(alike, count, *ends) for name, ends in ranges.items()}


def _expand_to_parts(columns: Mapping[str, ReleasedColumn], of_part: Codes) -> dict[str, ReleasedColumn]:
    """Return columns of classes as columns of parts."""
    return {name: ReleasedColumn(each.codes[of_part], each.values, each.texts) for name, each in columns.items()}


def _classes(sizes: Longs) -> FrequencySet:
    """Return a frequency set with one class per part."""
    return FrequencySet(("part",), Layout.of([len(sizes)]), np.arange(len(sizes), dtype=np.uint64)[:, None], sizes)
