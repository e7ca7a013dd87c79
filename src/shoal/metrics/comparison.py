"""A finished release beside its original, the same for every kind of recoding, and the result of a measure."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.data.class_counts import Flags, Longs, sum_counts
from shoal.data.codes import Codes, Column, Kind, Table
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import LongCounts, join_columns
from shoal.hierarchy.taxonomy import TOP, Hierarchy
from shoal.labels.grammar import ends_of, middle
from shoal.metrics.metric import Floats
from shoal.recoding.columns import ReleasedColumn
from shoal.recoding.kinds import GroupRecoding, NodeRecoding, PartRecoding, Recoding, fail_for_kind
from shoal.recoding.outcome import After, Before, Covers, RecodedCells

if TYPE_CHECKING:
    from shoal.data.packed_keys import Counted

_LARGEST = 1e140
"""Largest number whose distances are measured: the sum of their squares would be no float."""


@dataclass(frozen=True)
class Middles:
    """Midpoints of the labels of a numeric column; open ends are its least and greatest number.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> ages = Middles(encode("age", pa.array([18, 25, 40])))
    >>> ages.of_texts(["25", "[20, 30)", "[20, 30]", "<20", "≥30", "*", None]).tolist()
    [25.0, 24.5, 25.0, 18.5, 35.0, 29.0, nan]
    """

    column: Column

    @cached_property
    def originals(self) -> Floats:
        """Number behind each code; nan for null."""
        numbers = self.column.floats
        return np.append(numbers, np.nan) if self.column.has_null else numbers

    @cached_property
    def step(self) -> float:
        """Distance of a range's last number from an excluded upper end: 1 for whole numbers, else 0."""
        return float(all(number.denominator == 1 for number in self.column.numbers))

    def of_texts(self, texts: Sequence[str | None]) -> Floats:
        """Return the midpoint of each label's range; nan for null and for labels that give no range."""
        values = dict(zip(self.column.texts.to_pylist(), self.originals.tolist(), strict=False))
        return np.array([np.nan if text is None else values.get(text, self._middle(text)) for text in texts])

    def of_columns(self, columns: Mapping[str, ReleasedColumn], kinds: Mapping[str, str], top: str = TOP) -> Floats:
        """Return the number shown for each part: the mean if there is one, else another statistic, else a midpoint.

        `top` is the label that covers every value.
        """
        by_kind = {kinds.get(name, "range"): column for name, column in columns.items()}
        for kind in ("mean", "median", "mode"):
            if kind in by_kind:
                return self._numbers(by_kind[kind])
        if "range" in by_kind:
            column = by_kind["range"]
            return self.of_texts([TOP if text == top else text for text in column.texts.to_pylist()])[column.codes]
        low = self._numbers(by_kind.get("min", by_kind.get("lo")))
        high = self._numbers(by_kind["max"]) if "max" in by_kind else self._numbers(by_kind["hi"]) - self.step
        return self._between(low, high)

    def _numbers(self, column: ReleasedColumn | None) -> Floats:
        """Return the number of each part, nan for none; values in an order given by hand are released as texts."""
        assert column is not None
        values = column.values
        if pa.types.is_string(values.type):
            values = pc.replace_substring(values, self.column.decimal, ".").cast(pa.float64())
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)[column.codes]

    def _middle(self, text: str) -> float:
        """Return the midpoint of the range of a label; nan if it gives none."""
        ends = ends_of(text, whole=bool(self.step))
        return nan if ends is None else middle(ends, *self._range)

    @cached_property
    def _range(self) -> tuple[float, float]:
        return float(np.nanmin(self.originals)), float(np.nanmax(self.originals))

    def _between(self, low: Floats, high: Floats) -> Floats:
        """Return the midpoints of ranges; an end that is nan is the least or greatest number of the column."""
        least, greatest = self._range
        ends = np.where(np.isnan(low), least, low), np.where(np.isnan(high), greatest, high)
        return np.asarray((ends[0] + ends[1]) / 2)


def middles_of(column: Column) -> Middles | None:
    """Return the midpoints of a numeric column; None for other columns."""
    return Middles(column) if column.kind is Kind.NUMBER and len(column.values) else None


def fill_missing_numbers(numbers: Floats, labels: Codes, originals: Floats) -> Floats:
    """Fill in labels without a number by the middle of the least and greatest original number that they show.

    >>> fill_missing_numbers(np.array([np.nan, 7.0]), np.array([0, 0, 1], np.int32), np.array([1.0, 2.0, 6.0])).tolist()
    [1.5, 7.0]
    """
    # per label, the least and the greatest original number that it shows
    least, greatest = np.full(len(numbers), np.inf), np.full(len(numbers), -np.inf)
    np.fmin.at(least, labels, originals)
    np.fmax.at(greatest, labels, originals)
    told = np.isnan(numbers) & (least <= greatest)
    return np.where(told, np.where(told, least, 0) / 2 + np.where(told, greatest, 0) / 2, numbers)


_MOST_PAIRED = 16


@dataclass(frozen=True)
class Facet:
    """One quasi-identifier: its values before, its labels after."""

    name: str
    weight: float
    """Importance; the weights of all attributes sum to 1."""
    rows: Longs
    """Rows of the original per code."""
    null: bool
    """Whether the last code is null."""
    of: Codes
    """Label of each line."""
    covers: Covers
    """What each label stands for."""
    shown: Longs
    """Rows per label."""
    alike: Codes
    """Number of each label; labels with the same text share a number."""
    stars: Flags
    """Labels that are `*`."""
    numbers: tuple[Floats, Floats] | None = None
    """For a numeric attribute: the number behind each code, and the number that each label stands for."""

    def mean(self, costs: Floats) -> float:
        """Return the mean cost of a row, given the cost of each label."""
        rows = self.shown.astype(np.float64)
        return float(rows @ costs / rows.sum())

    @property
    def values(self) -> int:
        """Number of possible values, null among them."""
        return self.covers.size + self.null


@dataclass(frozen=True)
class Comparison:
    """Rows by what they were (`points`) and what they are shown as (`lines`); suppressed ones are all `*`."""

    points: FrequencySet
    point: Codes
    """Point of each item; an item is a point and a line that some rows have in common."""
    line: Codes
    counts: Longs
    """Rows of each item."""
    out: Flags
    """Flags the lines that are suppressed."""
    facets: tuple[Facet, ...]
    sizes: Longs
    """Rows of each class, suppressed classes included."""
    suppressed: Flags
    """Flags the classes that are suppressed."""
    beside: Mapping[str, LongCounts]
    """Counts of each sensitive attribute per item, where the release shows them row by row."""
    k: int
    """The largest k that was asked for; 1 if none was."""

    @property
    def rows(self) -> int:
        return self.points.rows

    @property
    def lines(self) -> Longs:
        """Rows of each line."""
        return sum_counts(self.line, self.counts, len(self.out))

    @property
    def kept(self) -> Longs:
        """Sizes of the released classes."""
        return self.sizes[~self.suppressed]

    @property
    def most_important(self) -> tuple[Facet, ...]:
        """The most important attributes, whose pairs are measured; the number of pairs is limited that way."""
        return tuple(sorted(self.facets, key=lambda facet: -facet.weight)[:_MOST_PAIRED])


@dataclass(frozen=True)
class _AttributeLabels:
    """The labels of one attribute, before rows are counted."""

    of: Codes
    covers: Covers
    alike: Codes
    stars: Flags
    middles: Floats | None


def see(
    table: Table,
    before: Before,
    after: After | RecodedCells,
    recoding: Recoding,
    hierarchies: Mapping[str, Hierarchy],
    class_of_row: Codes,
    *,
    statistics: Mapping[str, tuple[str, str]],
    sensitive: Collection[str],
    k: int,
) -> Comparison:
    """Return the comparison of a release with its original.

    `statistics` gives, for each released column that shows a statistic, its quasi-identifier and the kind of statistic.
    """
    points, own = before.classes, recoding.keeps_values
    told = () if own else tuple(sensitive)
    if recoding.levels is not None and _is_shown_alike(points, class_of_row):
        assert isinstance(after, After)
        points, after, line_of_point = _sort_points_and_classes(points, after, class_of_row)
        out = after.suppressed
        items = _items_of_points(table, points, line_of_point, len(out), told)
    else:
        assert points.classes is not None
        out = np.zeros(len(points), dtype=bool) if own else after.suppressed
        items = FrequencySet.count(
            {"point": (points.classes, len(points)), "line": (points.classes if own else class_of_row, len(out))},
            {name: (table[name].codes, table[name].size) for name in told},
        )
    # an item is a (point, line) pair that rows have in common
    point, line = items.codes("point"), items.codes("line")
    # rows of each line
    lines = sum_counts(line, items.counts, len(out))
    tops = {name: hierarchy.top for name, hierarchy in hierarchies.items()}
    facets = []
    for i, name in enumerate(points.attributes):
        column, codes = table[name], points.codes(name)
        rows = sum_counts(codes, points.counts, column.size)
        labels = recoding.by_kind(
            node=partial(_labels_of_node, column, hierarchies, after, rows),
            parts=partial(_labels_of_parts, column, i, tops.get(name, TOP), after, class_of_row, statistics),
            stored=fail_for_kind,
            groups=partial(_labels_of_values, column, codes, rows),
        )
        numbers = None
        if (middles := middles_of(column)) is not None and labels.middles is not None:
            originals = middles.originals
            numbers = originals, fill_missing_numbers(labels.middles, labels.of[line], originals[codes[point]])
            if max(np.nanmax(np.abs(each), initial=0.0) for each in numbers) > _LARGEST:
                numbers = None
        # rows of each label
        shown = sum_counts(labels.of, lines, len(labels.stars))
        facets.append(
            Facet(
                name,
                float(before.weights[i]),
                rows,
                column.has_null,
                labels.of,
                labels.covers,
                shown,
                labels.alike,
                labels.stars,
                numbers,
            )
        )
    sizes, suppressed = after.classes.counts, after.suppressed
    beside = {name: items.long[name] for name in told}
    return Comparison(points, point, line, items.counts, out, tuple(facets), sizes, suppressed, beside, k)


def _is_shown_alike(points: FrequencySet, class_of: Codes) -> bool:
    """Return whether all rows of a point are shown alike: so at a node, unless a rule left out some rows."""
    if points.classes is None:
        return True
    of = np.empty(len(points), dtype=np.int32)
    of[points.classes] = class_of
    return bool(np.array_equal(of[points.classes], class_of))


def _sort_points_and_classes(points: FrequencySet, after: After, class_of: Codes) -> tuple[FrequencySet, After, Codes]:
    """Sort points and classes, since sums of floats depend on the order; return also the line of each point."""
    of = class_of
    if points.classes is not None:  # of each row: at a node, rows of one point are shown alike
        of = np.empty(len(points), dtype=np.int32)
        of[points.classes] = class_of
    points, place = points.sort_by_key()
    classes, new = after.classes.sort_by_key()
    # `place` and `new` are the new numbers of points and classes
    suppressed, line = np.empty_like(after.suppressed), np.empty_like(of)
    suppressed[new], line[place] = after.suppressed, new[of]
    return points, After(after.node, classes, suppressed), line


def _items_of_points(
    table: Table, points: FrequencySet, line: Codes, lines: int, told: Collection[str]
) -> FrequencySet:
    """Return items of one point each, given the line that shows it; `told` are the columns counted per item."""
    every = np.arange(len(points), dtype=np.int32)
    items = FrequencySet.from_rows({"point": (every, len(points)), "line": (line, lines)})
    long: dict[Counted, LongCounts] = {name: points.long[name] for name in told if name in points.long}
    for name in told:
        if name not in long:
            assert points.classes is not None
            entries = LongCounts.count(points.classes, table[name].codes, table[name].size)
            order = np.lexsort((entries.values, entries.classes))
            long[name] = replace(
                entries,
                classes=entries.classes[order],
                values=entries.values[order],
                counts=entries.counts[order],
            )
    return replace(items, counts=points.counts, long=long)


def _labels_of_node(
    column: Column,
    hierarchies: Mapping[str, Hierarchy],
    after: After | RecodedCells,
    rows: Longs,
    recoding: NodeRecoding,
) -> _AttributeLabels:
    """Return the labels of the attribute's level and, last, the `*` of suppressed rows."""
    hierarchy, level = hierarchies[column.name], recoding.levels[column.name]
    groups = hierarchy.groups(level)
    # some code of each group of the level, from which its label is found
    member = np.zeros(groups, dtype=np.int32)
    member[hierarchy.levels[level]] = np.arange(len(rows), dtype=np.int32)
    covers = Covers.along(hierarchy, member, np.full(groups, level), rows)
    texts = [*hierarchy.labels[level], TOP]
    middles = middles_of(column)
    return _AttributeLabels(
        np.where(after.suppressed, np.int32(groups), after.classes.codes(column.name)),
        covers.with_suppressed(int(rows.sum()), null=column.has_null),
        np.arange(groups + 1, dtype=np.int32),
        np.array([text == TOP for text in texts]),
        None if middles is None else middles.of_texts([TOP if text == hierarchy.top else text for text in texts]),
    )


def _labels_of_parts(
    column: Column,
    attribute: int,
    top: str,
    after: After | RecodedCells,
    class_of_row: Codes,
    statistics: Mapping[str, tuple[str, str]],
    recoding: PartRecoding,
) -> _AttributeLabels:
    """Return the label of every class; all parts of a class show the same."""
    assert isinstance(after, RecodedCells)
    # a part of each class: all its parts show the same
    part = np.empty(int(class_of_row.max()) + 1, dtype=np.int32)
    part[class_of_row] = recoding.part
    columns = recoding.shown[column.name]
    alike, _, _ = join_columns([(each.codes[part], len(each.texts)) for each in columns.values()])
    first = next(iter(columns.values()))
    middles = middles_of(column)
    kinds = {name: kind for name, (_, kind) in statistics.items()}
    return _AttributeLabels(
        np.arange(len(part), dtype=np.int32),
        after.covers[attribute].take(part),
        alike,
        np.array([text == TOP for text in first.texts.to_pylist()])[first.codes[part]],
        None if middles is None else middles.of_columns(columns, kinds, top)[part],
    )


def _labels_of_values(column: Column, codes: Codes, rows: Longs, _: GroupRecoding) -> _AttributeLabels:
    """Return the labels of a column whose values are shown as they are."""
    none, every = np.zeros(len(rows), dtype=bool), np.arange(len(rows), dtype=np.int32)
    nothing = np.zeros(len(rows))
    covers = Covers(nothing, np.ones(len(rows), dtype=np.int64), rows, none, nothing, max(len(column.values), 1))
    middles = middles_of(column)
    return _AttributeLabels(codes, covers, every, none, None if middles is None else middles.originals)


@dataclass(frozen=True)
class MeasuredPair:
    """Association of two attributes before and after."""

    one: str
    other: str
    before: float
    after: float


@dataclass(frozen=True)
class Bucket:
    """Classes of `least` to `most` rows, and the rows in them."""

    least: int
    most: int
    classes: int
    rows: int


@dataclass(frozen=True)
class Measurement:
    """One number for the release, and what it is made of."""

    total: float | None
    """The figure; None where this kind of recoding does not have it."""
    attributes: Mapping[str, float] = field(default_factory=dict)
    pairs: tuple[MeasuredPair, ...] = ()
    buckets: tuple[Bucket, ...] = ()

    def details(self) -> dict[str, Any]:
        """Return everything beside the total.

        >>> Measurement(0.5, {"age": 0.5}).details()
        {'attributes': {'age': 0.5}}
        """
        lists = {"pairs": self.pairs, "buckets": self.buckets}
        told = {name: [vars(each) for each in some] for name, some in lists.items() if some}
        return {"attributes": dict(self.attributes), **told} if self.attributes else told


Measure = Callable[[Comparison], Measurement]
"""Signature of every measure."""
