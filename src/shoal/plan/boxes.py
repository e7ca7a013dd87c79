"""Boxes and clusters: quasi-identifiers as axes of a space."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from shoal.codes import Codes, Column, Kind
from shoal.errors import BadPolicy
from shoal.frequency import FrequencySet, Long
from shoal.hierarchy import Builder, Hierarchy, build
from shoal.partition.axes import Axis, Regions, hierarchy_axis, in_order, ordered_axis
from shoal.partition.condition import Condition
from shoal.partition.mdav import mdav, standardised
from shoal.partition.merging import merged_until
from shoal.partition.mondrian import mondrian
from shoal.partition.single import single
from shoal.partition.steered import steered
from shoal.partition.target import Target, target_aware
from shoal.plan.along import with_one_top
from shoal.plan.ground import Ground, Made
from shoal.plan.showing import Ranges, Showing, held_ends, merged_ranges, show_parts
from shoal.plan.steering import demand_of


def axes_of(ground: Ground) -> tuple[dict[str, Axis], dict[str, Builder], dict[str, Hierarchy]]:
    """Numbers and dates in their order, other attributes along their hierarchy or, without one, in an order too."""
    axes, builders, hierarchies = {}, {}, {}
    for name in ground.quasi:
        column, attribute = ground.table[name], ground.policy.attributes[name]
        if attribute.hierarchy is not None and column.kind is Kind.TEXT:
            builders[name] = attribute.hierarchy
            hierarchies[name] = with_one_top(build(column, attribute.hierarchy))
            axes[name] = hierarchy_axis(hierarchies[name], ground.importance(name))
        else:
            axes[name] = _reordered(ordered_axis(column, ground.importance(name)), column, attribute.order)
    return axes, builders, hierarchies


def _reordered(axis: Axis, column: Column, order: Sequence[str] | None) -> Axis:
    """The axis in the order that the policy gives."""
    if order is None:
        return axis
    place = {value: at for at, value in enumerate(order)}
    texts = column.texts.to_pylist()
    unknown = [text for text in texts if text not in place]
    if unknown:
        raise BadPolicy(f"attributes.{column.name}: order does not name {len(unknown)} value(s) of the column")
    ranks = np.argsort(np.argsort([place[text] for text in texts])).astype(np.int32)
    positions = np.append(ranks, np.int32(len(texts))) if column.has_null else ranks
    return replace(
        axis, positions=positions.astype(np.int32), categorical=True, values=np.arange(len(texts), dtype=float)
    )


def _boxes(ground: Ground, cut: Callable[[Condition, list[Axis]], Regions], *, by_row: bool = False) -> Made:
    axes, builders, hierarchies = axes_of(ground)
    items, of_row = ground.rows if by_row else (ground.classes, ground.classes.classes)
    assert of_row is not None
    ordered = in_order(axes.values())
    regions = cut(ground.condition(items), ordered)
    ranges = {axis.attribute: (regions.low[:, i], regions.high[:, i]) for i, axis in enumerate(ordered)}
    part, showing = _shown(ground, items, regions.part, axes, ranges)
    return Made("boxes", items, part, of_row, showing, builders, hierarchies)


def _shown(
    ground: Ground, items: FrequencySet, part: Codes, axes: dict[str, Axis], ranges: dict[str, Ranges]
) -> tuple[Codes, Showing]:
    """What parts show; parts that show the same are one, since a median is that of all who show it."""
    while True:
        showing = show_parts(items, part, axes, ranges, ground.table, ground.policy)
        alike, count = showing.alike()
        if count == len(alike):
            return part, showing
        part = alike[part]
        ranges = {name: merged_ranges(alike, count, *ends) for name, ends in ranges.items()}


def strict_boxes(ground: Ground) -> Made:
    return _boxes(ground, lambda condition, axes: mondrian(condition, axes, watch=ground.watch))


def relaxed_boxes(ground: Ground) -> Made:
    return _boxes(
        ground, lambda condition, axes: mondrian(condition, axes, relaxed=True, watch=ground.watch), by_row=True
    )


def single_boxes(ground: Ground) -> Made:
    return _boxes(ground, single)


def workload_boxes(ground: Ground) -> Made:
    if ground.policy.method.workload is not None:
        demand = demand_of(ground)
        return _boxes(ground, lambda condition, axes: steered(condition, axes, demand, watch=ground.watch))
    target = _target(ground)
    return _boxes(ground, lambda condition, axes: target_aware(condition, axes, target, watch=ground.watch))


def _target(ground: Ground) -> Target:
    """What is to be predicted; of several columns, all of them as classes."""
    names = ground.policy.method.target
    for name in names:
        if name not in ground.table.columns:
            raise BadPolicy(f"method.target: the table has no column {name!r}")
        if name in ground.quasi:
            raise BadPolicy(f"method.target: {name!r} is a quasi-identifier; name a column that is to be predicted")
    assert ground.classes.classes is not None
    targets = []
    for name in names:
        column = ground.table[name]
        numeric = column.kind is Kind.NUMBER and not column.has_null and len(names) == 1
        numbers = column.floats if numeric else None
        targets.append(Target(Long.count(ground.classes.classes, column.codes, column.size), numbers))
    return reduce(Target.together, targets)


def clusters(ground: Ground) -> Made:
    """Microaggregation by MDAV: every row shows the means of its cluster."""
    axes, _, _ = axes_of(ground)
    for name in ground.quasi:
        column = ground.table[name]
        if column.kind is Kind.TEXT and ground.policy.attributes[name].order is None:
            raise BadPolicy(
                f"attributes.{name}: microaggregation needs numbers, dates, or an order of the values; give it an order"
            )
        if column.has_null:
            missing = int(column.counts[-1])
            raise BadPolicy(
                f"attributes.{name}: {missing} row(s) miss it, and nothing lies between a value and none; leave them "
                "out, or use algorithm = 'mondrian'"
            )
    items, of_row = ground.rows
    lines = [axes[name].values[axes[name].positions[items.codes(name)]] for name in ground.quasi]
    points = standardised(lines, [ground.importance(name) for name in ground.quasi])
    condition = ground.condition(items)
    part = merged_until(condition, mdav(points, ground.policy.largest_k), points)
    parts = int(part.max()) + 1
    ranges = {name: held_ends(axes[name], part, items.codes(name), parts) for name in ground.quasi}
    part, showing = _shown(ground, items, part, axes, ranges)
    return Made("clusters", items, part, of_row, showing, {}, {})
