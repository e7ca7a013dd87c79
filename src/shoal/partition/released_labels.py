"""What parts show of each quasi-identifier: ranges, labels, bounds, statistics (S4.6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import Longs, sum_counts
from shoal.data.codes import Codes, Column, Kind, Table, renumber
from shoal.data.frequency_set import FrequencySet
from shoal.errors import BadPolicy, Infeasible
from shoal.hierarchy.build import Builder
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.partition.axes import Axis, Floats
from shoal.partition.box_labels import show_boxes
from shoal.partition.statistics import FEWEST, Ends, PositionCounts, is_determined, show_labels, show_numbers, step_of
from shoal.policy.document import Policy
from shoal.policy.method import STATISTICS
from shoal.policy.sections import Form
from shoal.recoding.columns import ReleasedColumn
from shoal.recoding.outcome import Covers

Ranges = tuple[Codes, Codes]
"""First and last position of every part on one axis."""


@dataclass
class ShownParts:
    """Everything that parts show, attribute by attribute."""

    shown: dict[str, dict[str, ReleasedColumn]] = field(default_factory=dict)
    """Released columns of each attribute; a code per part."""
    covers: dict[str, Covers] = field(default_factory=dict)
    """What the label of each part stands for, per attribute."""
    statistics: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Attribute and kind of statistic of each column that shows one."""
    observed: set[str] = field(default_factory=set)
    """Attributes whose ranges end at values that the part holds."""

    def group_identical(self) -> tuple[Codes, int]:
        """Return the class of each part, parts that show the same being one class, and the number of classes."""
        columns = [column for shown in self.shown.values() for column in shown.values()]
        codes = {str(i): (column.codes, len(column.texts)) for i, column in enumerate(columns)}
        classes = FrequencySet.count(codes, want_classes=True)
        assert classes.classes is not None
        return classes.classes, len(classes)

    @property
    def losses(self) -> Floats:
        """losses[part, attribute]: the share of the values that the label cannot tell apart."""
        return np.stack([covers.losses for covers in self.covers.values()], axis=1)

    def add(self, name: str, columns: dict[str, ReleasedColumn], covers: Covers) -> None:
        self.shown[name] = columns
        self.covers[name] = covers


def names_of(name: str, form: Form, forms: Sequence[Form]) -> tuple[str, ...]:
    """Return the names of the columns of a form: the attribute's own for its range or its only form.

    >>> names_of("age", "mean", ["range", "mean"]), names_of("age", "mean", ["mean"])
    (('age_mean',), ('age',))
    >>> names_of("age", "bounds", ["bounds"])
    ('age_lo', 'age_hi')
    """
    if form == "bounds":
        return f"{name}_lo", f"{name}_hi"
    return (name,) if form == "range" or len(forms) == 1 else (f"{name}_{form}",)


def show_parts(
    items: FrequencySet,
    part: Codes,
    axes: Mapping[str, Axis],
    ranges: Mapping[str, Ranges],
    table: Table,
    policy: Policy,
) -> ShownParts:
    """Return the ranges, bounds and statistics of every part, as the policy asks; `ranges` are its regions."""
    out = ShownParts()
    parts = int(part.max()) + 1
    part_numbers = np.arange(parts, dtype=np.int32)
    for name in items.attributes:
        axis, column, codes = axes[name], table[name], items.codes(name)
        forms = policy.attributes[name].form or _default_forms(policy, column, axis)
        _refuse_numeric_forms(column, axis, forms)
        low, high = ranges[name]
        observed = policy.release.ranges == "observed" and axis.hierarchy is None
        held_by = None
        if observed:
            # single-dimensional: all parts with the same range count together, whatever their other attributes
            alone = policy.method.algorithm == "mondrian-single"
            who, of = _number_ranges(low, high) if alone else (part_numbers, parts)
            low, high = (end[who] for end in observed_ranges(axis, who[part], codes, of))
            every = _codes_of_parts(axis, who[part], codes, of)
            held_by = [every[at] for at in who.tolist()]
        boxes = show_boxes(axis, column, low, high, held_by)
        columns: dict[str, ReleasedColumn] = {}
        if set(forms) & set(STATISTICS):
            held = PositionCounts.of(axis, column, part, codes, items.counts, parts)
            if policy.release.means == "safe":
                _refuse_revealing(name, forms, held, (low, high), observed=observed)
        for form in forms:
            names = names_of(name, form, forms)
            if form == "range":
                columns[name] = boxes.released
                out.observed |= {name} if observed else set()
            elif form == "bounds":
                columns |= dict(zip(names, _bounds(axis, column, (low, high), observed=observed), strict=True))
                kinds = ("min", "max") if observed else ("lo", "hi")
                out.statistics |= {bound: (name, kind) for bound, kind in zip(names, kinds, strict=True)}
            else:
                columns[names[0]] = _statistic(form, held)
                out.statistics[names[0]] = (name, form)
        out.add(name, columns, _covers(axis, (low, high), boxes.losses, _marginal(items, name, column.size)))
    _refuse_duplicate_columns(out, table)
    return out


def show_levels(
    items: FrequencySet, part: Codes, levels: NDArray[np.integer], hierarchies: Sequence[Hierarchy]
) -> ShownParts:
    """Return what every part shows at its levels: levels[part, attribute]."""
    out = ShownParts()
    # [part] its first item: written last, since the items are assigned in reverse
    first = np.zeros(len(levels), dtype=np.int64)
    first[part[::-1]] = np.arange(len(part))[::-1]
    for i, hierarchy in enumerate(hierarchies):
        codes = items.codes(hierarchy.attribute)[first]
        rows = _marginal(items, hierarchy.attribute, hierarchy.groups(0))
        covers = Covers.along(hierarchy, codes, levels[:, i], rows)
        out.add(hierarchy.attribute, {hierarchy.attribute: labels_at(hierarchy, codes, levels[:, i])}, covers)
    return out


def labels_at(hierarchy: Hierarchy, codes: Codes, levels: NDArray[np.integer]) -> ReleasedColumn:
    """Return the label of each code at its level."""
    # [part] a number for each pair of level and group, so that every label is made once
    place = np.zeros(len(levels), dtype=np.int32)
    for level in range(hierarchy.height + 1):
        at = levels == level
        place[at] = level * hierarchy.groups(0) + hierarchy.levels[level][codes[at]]
    used, which = renumber(place)
    texts = [hierarchy.labels[each // hierarchy.groups(0)][each % hierarchy.groups(0)] for each in used.tolist()]
    labels = show_labels(texts)
    return replace(labels, codes=labels.codes[which])


def _covers(axis: Axis, ranges: Ranges, losses: Floats, rows: Longs) -> Covers:
    """Return what ranges of positions stand for; `rows` is the number of rows per code."""
    low, high = ranges
    if axis.hierarchy is not None:
        return Covers.along(axis.hierarchy, axis.codes[low], axis.level(low, high), rows)
    at_each = sum_counts(axis.positions, rows, axis.size)
    return Covers.from_ranges(low, high, at_each, axis.null, losses)


def _marginal(items: FrequencySet, name: str, size: int) -> Longs:
    """Count the rows per code."""
    return sum_counts(items.codes(name), items.counts, size)


def _default_forms(policy: Policy, column: Column, axis: Axis) -> tuple[Form, ...]:
    """Return the default forms: ranges of boxes; of clusters the mean of numbers, else the median."""
    if policy.method.algorithm != "microaggregation":
        return ("range",)
    return ("mean",) if column.kind is Kind.NUMBER and not axis.categorical else ("median",)


def observed_ranges(axis: Axis, part: Codes, codes: Codes, parts: int) -> Ranges:
    """Return the least and the greatest position that each part holds."""
    position = axis.positions[codes]
    return merge_ranges(part, parts, position, position)


def _number_ranges(low: Codes, high: Codes) -> tuple[Codes, int]:
    """Number the distinct ranges; return the number of each part and how many there are."""
    ranges, which = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
    return which.ravel().astype(np.int32), len(ranges)


def merge_ranges(part: Codes, parts: int, low: Codes, high: Codes) -> Ranges:
    """Return the ranges of merged parts: `part` says which new part each old one is in."""
    lower, higher = np.full(parts, np.iinfo(np.int32).max, dtype=np.int32), np.full(parts, -1, dtype=np.int32)
    np.minimum.at(lower, part, low)
    np.maximum.at(higher, part, high)
    return lower, higher


def _codes_of_parts(axis: Axis, part: Codes, codes: Codes, parts: int) -> list[Codes]:
    """Return the codes that each part holds, in the order of the axis."""
    # sorted distinct pairs of part and position, cut where the next part begins
    pairs = np.unique(part.astype(np.int64) * axis.size + axis.positions[codes])
    begins = np.searchsorted(pairs, np.arange(1, parts, dtype=np.int64) * axis.size)
    return [axis.codes[positions % axis.size] for positions in np.split(pairs, begins)]


def _bounds(axis: Axis, column: Column, ranges: Ranges, *, observed: bool) -> tuple[ReleasedColumn, ReleasedColumn]:
    """Return the ends of ranges as numbers; None for open ends, null and `*`."""
    last = len(axis.values) - 1
    numbers = [column.numbers[code] for code in axis.codes[: last + 1].tolist()]
    # a range that holds null has no ends: both lie outside the values
    known = [(a, b) if b <= last else (-1, last + 1) for a, b in zip(*(end.tolist() for end in ranges), strict=True)]
    low = [numbers[a] if a > (-1 if observed else 0) else None for a, _ in known]
    high = [numbers[b] if b < last + observed else None for _, b in known]
    return show_numbers(low), show_numbers(high)


def _statistic(form: Form, held: PositionCounts) -> ReleasedColumn:
    """Return the mean, the median or the mode of every part."""
    made: ReleasedColumn = {"mean": held.mean, "median": held.median, "mode": held.mode}[form]()
    return made


def _refuse_numeric_forms(column: Column, axis: Axis, forms: Sequence[Form]) -> None:
    """Refuse a mean or bounds of values that are not numbers in their natural order."""
    if column.kind is Kind.NUMBER and axis.hierarchy is None and not axis.categorical:
        return
    who = "only numbers" if column.kind is not Kind.NUMBER else "no values with an order of their own"
    if "mean" in forms:
        raise BadPolicy(f"attributes.{column.name}: {who} have a mean; use 'median' or 'mode'")
    if "bounds" in forms:
        raise BadPolicy(f"attributes.{column.name}: {who} have bounds; leave 'bounds' out of its form")


def _refuse_revealing(
    name: str, forms: Sequence[Form], held: PositionCounts, ranges: Ranges, *, observed: bool
) -> None:
    """Refuse statistics of few rows, and means from which every value of a class follows."""
    few = held.sizes < FEWEST
    told = np.zeros(held.parts, dtype=bool)
    if "mean" in forms:
        units = [int(unit) for unit in held.units[0]]
        step = step_of(units)
        shown = {"range", "bounds"} & set(forms) and held.axis.hierarchy is None
        rows, totals, (low, high) = held.sizes.tolist(), held.totals, (end.tolist() for end in ranges)
        for at in np.flatnonzero(~few).tolist():
            ends = _ends(units, low[at], high[at], step, observed=observed) if shown else Ends(None, None, met=False)
            told[at] = is_determined(rows[at], totals[at], ends, step)
    if few.any() or told.any():
        said = [f"{int(few.sum())} have fewer than {FEWEST} rows to take a statistic of"] if few.any() else []
        said += [f"of {int(told.sum())} the mean tells every value"] if told.any() else []
        raise Infeasible(
            f"attributes.{name}: of {held.parts} classes {', and '.join(said)}; ask for larger classes, leave the "
            "statistic out of its form, or set means = 'any' under [release]"
        )


def _ends(units: Sequence[int], low: int, high: int, step: int, *, observed: bool) -> Ends:
    """Return the ends that a published range reveals, in units."""
    last = len(units) - 1
    if high > last:
        return Ends(None, None, met=False)
    if observed:
        return Ends(units[low], units[high], met=True)
    return Ends(units[low] if low else None, units[high + 1] - step if high < last else None, met=False)


def _refuse_duplicate_columns(showing: ShownParts, table: Table) -> None:
    """Refuse a column made from a quasi-identifier whose name another column has."""
    made = [column for columns in showing.shown.values() for column in columns]
    taken = [column for column in made if column in table.columns and column not in showing.shown]
    if taken or len(set(made)) < len(made):
        raise BadPolicy(f"attributes: a column {(taken or made)[0]!r} is made, and the table has one; rename that one")


@dataclass(frozen=True)
class Partitioning:
    """A partition of items, and what its parts show."""

    kind: Literal["boxes", "cells", "clusters", "groups"]
    items: FrequencySet
    part: Codes
    """Part of each item."""
    of_row: Codes
    """Item of each row."""
    showing: ShownParts
    builders: dict[str, Builder]
    hierarchies: dict[str, Hierarchy]
    bound: float | None = None
    """What rows lose on average at least, whatever the partition, where that is known."""

    @property
    def sizes(self) -> Longs:
        """Rows of each part."""
        return sum_counts(self.part, self.items.counts)

    def loss(self, weights: Floats) -> float:
        """Return the mean loss of a row, given the weight of each attribute."""
        return float(self.sizes @ self.showing.losses @ weights / self.items.rows)
