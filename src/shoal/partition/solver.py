"""Solve a problem by recoding cells: boxes, labels of a hierarchy, clusters, groups."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from time import perf_counter

import numpy as np

from shoal.data.codes import Codes, Column, Kind
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import LongCounts
from shoal.errors import BadPolicy, Infeasible, ShoalWarning
from shoal.hierarchy.build import Builder
from shoal.hierarchy.draft import draft
from shoal.hierarchy.intervals import Intervals
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.hierarchy.top_bottom import TopBottom, ValueOnly
from shoal.methods import ALGORITHMS, Shape
from shoal.metrics.catalogue import lost_in_cells
from shoal.models.model import Closure, Model
from shoal.partition.axes import Axis, Regions, hierarchy_axis, ordered_axis, sort_axes
from shoal.partition.box_labels import LONGEST_SET
from shoal.partition.condition import Condition, condition_of, progress_reporter_of, rows_as_items
from shoal.partition.local_recoding import recode_locally, require_one_top, suppress_cells_of_a_node
from shoal.partition.mdav import mdav, merge_until_complying, standardise
from shoal.partition.mondrian import mondrian
from shoal.partition.released_labels import Partitioning, Ranges, ShownParts, merge_ranges, observed_ranges, show_parts
from shoal.partition.single_dimensional import single_dimensional
from shoal.partition.target_aware import Target, target_aware
from shoal.partition.workload_aware import demand_of, workload_aware
from shoal.plan import Plan
from shoal.policy.method import Method
from shoal.problem import Problem, find_failing_classes
from shoal.recoding.kinds import PartRecoding
from shoal.recoding.outcome import RecodedCells


def axes_of(problem: Problem) -> tuple[dict[str, Axis], dict[str, Hierarchy]]:
    """Return the axis of each quasi-identifier, and the hierarchies of those that follow one.

    Text follows its hierarchy where it has one; all else is ordered. Numbers whose hierarchy is flat are names.
    """
    axes, hierarchies = {}, {}
    for name in problem.quasi:
        column, attribute = problem.table[name], problem.policy.attributes[name]
        if attribute.hierarchy is not None and column.kind is Kind.TEXT:
            hierarchies[name] = require_one_top(problem.hierarchies[name])
            axes[name] = hierarchy_axis(hierarchies[name], problem.importance(name))
        else:
            order = column.texts.to_pylist() if _are_names(problem, name) else attribute.order
            axes[name] = _reorder_axis(ordered_axis(column, problem.importance(name)), column, order)
    _warn_of_unused(problem, [name for name in axes if name not in hierarchies])
    return axes, hierarchies


def _are_names(problem: Problem, name: str) -> bool:
    """Return whether numbers are names of categories, of which boxes show sets: few, with a flat hierarchy."""
    column, attribute = problem.table[name], problem.policy.attributes[name]
    shown_as_number = attribute.form is not None or ALGORITHMS[problem.policy.method.algorithm].shape is not Shape.BOXES
    flat = column.kind is Kind.NUMBER and isinstance(attribute.hierarchy, ValueOnly)
    return flat and not shown_as_number and len(column.values) <= LONGEST_SET


def _warn_of_unused(problem: Problem, ordered: Sequence[str]) -> None:
    """Warn that hierarchies of ordered columns are not followed, except those that are just as drafted."""
    policy = problem.policy
    given = {name: policy.attributes[name].hierarchy for name in ordered}
    chosen = [
        repr(name)
        for name, hierarchy in given.items()
        if hierarchy is not None
        and not _are_names(problem, name)
        and not _is_as_drafted(hierarchy, draft(problem.table[name], policy.largest_k))
    ]
    if chosen:
        named = f"the {'hierarchy' if len(chosen) == 1 else 'hierarchies'} of {', '.join(chosen)}"
        said = f"{policy.method.algorithm} orders numbers and dates by themselves and does not follow {named}"
        warnings.warn(ShoalWarning(f"{said}; use algorithm = 'optimal' or 'local', which do"), stacklevel=2)


def _is_as_drafted(given: Builder, drafted: Builder) -> bool:
    """Return whether a hierarchy is as drafted; tails of intervals are ignored, as they depend on the rows and on k."""
    if isinstance(given, Intervals) and isinstance(drafted, Intervals):
        return given.widths == drafted.widths
    both_tails = isinstance(given, TopBottom) and isinstance(drafted, TopBottom)
    return both_tails or given == drafted


def _reorder_axis(axis: Axis, column: Column, order: Sequence[str] | None) -> Axis:
    """Return the axis in the order that the policy gives."""
    if order is None:
        return axis
    place = {value: at for at, value in enumerate(order)}
    texts = column.texts.to_pylist()
    unknown = [text for text in texts if text not in place]
    if unknown:
        raise BadPolicy(f"attributes.{column.name}: order does not name {len(unknown)} value(s) of the column")
    # [code] its rank in the given order
    ranks = np.argsort(np.argsort([place[text] for text in texts])).astype(np.int32)
    positions = np.append(ranks, np.int32(len(texts))) if column.has_null else ranks
    return replace(
        axis,
        positions=positions.astype(np.int32),
        values=np.arange(len(texts), dtype=float),
        null=len(texts) if column.has_null else None,  # numbers spelt in two ways no longer share a position
        categorical=True,
    )


def _cut_into_boxes(
    problem: Problem, cut: Callable[[Condition, list[Axis]], Regions], *, by_row: bool = False
) -> Partitioning:
    """Cut the classes, or with `by_row` single rows, into boxes and label them."""
    axes, hierarchies = axes_of(problem)
    builders = {name: problem.builders[name] for name in hierarchies}
    items, of_row = rows_as_items(problem) if by_row else (problem.classes, problem.classes.classes)
    assert of_row is not None
    ordered = sort_axes(axes.values())
    regions = cut(condition_of(problem, items), ordered)
    ranges = {axis.attribute: (regions.low[:, i], regions.high[:, i]) for i, axis in enumerate(ordered)}
    part, showing = _show_merged_parts(problem, items, regions.part, axes, ranges)
    return Partitioning("boxes", items, part, of_row, showing, builders, hierarchies)


def _show_merged_parts(
    problem: Problem, items: FrequencySet, part: Codes, axes: dict[str, Axis], ranges: dict[str, Ranges]
) -> tuple[Codes, ShownParts]:
    """Return the part of each item and what parts show; those that show the same are merged, then shown anew."""
    while True:
        showing = show_parts(items, part, axes, ranges, problem.table, problem.policy)
        alike, count = showing.group_identical()
        if count == len(alike):
            return part, showing
        part = alike[part]
        ranges = {name: merge_ranges(alike, count, *ends) for name, ends in ranges.items()}


def strict_boxes(problem: Problem) -> Partitioning:
    """Strict Mondrian: rows of one point stay together."""
    return _cut_into_boxes(
        problem, lambda condition, axes: mondrian(condition, axes, watch=progress_reporter_of(problem))
    )


def relaxed_boxes(problem: Problem) -> Partitioning:
    """Relaxed Mondrian: rows at the median may go to either side."""
    return _cut_into_boxes(
        problem,
        lambda condition, axes: mondrian(condition, axes, relaxed=True, watch=progress_reporter_of(problem)),
        by_row=True,
    )


def single_boxes(problem: Problem) -> Partitioning:
    """Single-dimensional cuts: one set of intervals per attribute."""
    both = problem.policy.method.empty_sides
    return _cut_into_boxes(problem, lambda condition, axes: single_dimensional(condition, axes, empty_sides=both))


def workload_boxes(problem: Problem) -> Partitioning:
    """Mondrian for a workload of queries, or for target columns."""
    if problem.policy.method.workload is not None:
        demand = demand_of(problem)
        return _cut_into_boxes(
            problem,
            lambda condition, axes: workload_aware(condition, axes, demand, watch=progress_reporter_of(problem)),
        )
    target = _target(problem)
    return _cut_into_boxes(
        problem, lambda condition, axes: target_aware(condition, axes, target, watch=progress_reporter_of(problem))
    )


def _target(problem: Problem) -> Target:
    """Return the target to predict; several columns are joined, each as classes."""
    names = problem.policy.method.target
    for name in names:
        if name not in problem.table.columns:
            raise BadPolicy(f"method.target: the table has no column {name!r}")
        if name in problem.quasi:
            raise BadPolicy(f"method.target: {name!r} is a quasi-identifier; name a column that is to be predicted")
    assert problem.classes.classes is not None
    targets = []
    for name in names:
        column = problem.table[name]
        numeric = column.kind is Kind.NUMBER and not column.has_null and len(names) == 1
        numbers = column.floats if numeric else None
        targets.append(Target(LongCounts.count(problem.classes.classes, column.codes, column.size), numbers))
    return reduce(Target.combine, targets)


def clusters(problem: Problem) -> Partitioning:
    """Microaggregate by MDAV: every row shows the means of its cluster."""
    axes, _ = axes_of(problem)
    for name in problem.quasi:
        column = problem.table[name]
        if column.kind is Kind.TEXT and problem.policy.attributes[name].order is None:
            raise BadPolicy(
                f"attributes.{name}: microaggregation needs numbers, dates, or an order of the values; give it an order"
            )
        if column.has_null:
            missing = int(column.counts[-1])
            raise BadPolicy(
                f"attributes.{name}: {missing} row(s) miss it, and nothing lies between a value and none; leave them "
                "out, or use algorithm = 'mondrian'"
            )
    items, of_row = rows_as_items(problem)
    lines = [axes[name].values[axes[name].positions[items.codes(name)]] for name in problem.quasi]
    points = standardise(lines, [problem.importance(name) for name in problem.quasi])
    condition = condition_of(problem, items)
    part = merge_until_complying(
        condition, mdav(points, problem.policy.largest_k, progress_reporter_of(problem)), points
    )
    parts = int(part.max()) + 1
    ranges = {name: observed_ranges(axes[name], part, items.codes(name), parts) for name in problem.quasi}
    part, showing = _show_merged_parts(problem, items, part, axes, ranges)
    return Partitioning("clusters", items, part, of_row, showing, {}, {})


def recode_cells(problem: Problem) -> Plan:
    """Make the recoding of the policy's algorithm, or say why there is none."""
    started = perf_counter()
    problem, stop = problem.within_time(), problem.stop
    _refuse_failing_table(condition_of(problem, problem.classes), problem.policy.method)
    algorithm = ALGORITHMS[problem.policy.method.algorithm]
    if algorithm.shape is Shape.GROUPS:
        plan: Plan = algorithm.load()(problem)
        return plan
    if algorithm.shape is not Shape.SEARCH:
        made = algorithm.load()(problem)
    elif problem.policy.method.generalise == "attribute":
        made = suppress_cells_of_a_node(problem)
    else:
        made = recode_locally(problem)
    if stop():
        warnings.warn(ShoalWarning("the work was interrupted, and what was found so far was taken"), stacklevel=2)
    return _plan_of(problem, made, perf_counter() - started)


def _plan_of(problem: Problem, made: Partitioning, seconds: float) -> Plan:
    """Turn parts and what they show into a plan."""
    showing = made.showing
    alike, classes = showing.group_identical()
    of_item = alike[made.part]
    condition = condition_of(problem, made.items)
    _refuse_failing_merges(condition, of_item, classes)
    released = made.items.merge_into_parts(of_item, classes)
    after = RecodedCells(released, made.sizes, showing.losses, tuple(showing.covers.values()))
    metrics = lost_in_cells(problem.before, after)
    return Plan(
        roles=problem.roles,
        builders=made.builders,
        hierarchies=made.hierarchies,
        before=problem.before,
        after=after,
        recoding=PartRecoding(made.kind, made.part[made.of_row], showing.shown),
        score=metrics["loss"],
        metrics=metrics,
        seconds=seconds,
        failed=find_failing_classes(problem.policy.models, condition.counts(of_item, classes)),
        class_of_row=of_item[made.of_row],
        reading=problem.reading,
        statistics=showing.statistics,
        observed=frozenset(showing.observed),
        by_label=problem.policy.method.algorithm == "mondrian-single",
        bound=made.bound,
    )


def _refuse_failing_merges(condition: Condition, classes: Codes, count: int) -> None:
    """Refuse a class of parts that are shown alike if it fails although each part complies."""
    if condition.complies(classes, count).all() and condition.holds(classes, count):
        return
    named = ", ".join(model.name for model in condition.models)
    raise Infeasible(
        f"parts that keep {named} are shown alike, and together they do not keep it; use algorithm = 'mondrian' or "
        "'local', which do not make such parts"
    )


_SMALLER = {"local", "mondrian", "mondrian-relaxed", "mondrian-single", "mondrian-workload", "suppress"}
"""Algorithms that find classes where the table as one class fails."""


def _refuse_failing_table(condition: Condition, method: Method) -> None:
    """Refuse a table that does not keep the policy even as one class.

    Models that smaller classes may keep all the same are left to the algorithms that look for such classes.
    """
    whole = np.zeros(len(condition.items), dtype=np.int32)
    counts = condition.counts(whole, 1)
    tried = method.algorithm in _SMALLER

    def fails(part: Model) -> bool:
        return not (tried and part.merging is Closure.NOT and not part.table_wide) and not part.holds(counts)

    failing = [model for model in condition.models if any(map(fails, model.parts()))]
    if failing:
        of = "" if failing[0].about is None else f" on {failing[0].about}"
        raise Infeasible(
            f"the table as one class does not keep {failing[0].name}{of}, and no row may be left out; weaken it, or "
            "use algorithm = 'optimal' with suppression"
        )
