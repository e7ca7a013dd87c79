"""A finished release beside its original, the same for every kind of recoding: what measures read."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.codes import Codes, Column, Table
from shoal.counts import Flags, Longs
from shoal.frequency import FrequencySet, Long, joined
from shoal.hierarchy import TOP, Hierarchy
from shoal.metrics.base import Floats
from shoal.metrics.middles import filled, middles_of
from shoal.recode import GroupRecoding, NodeRecoding, PartRecoding, Recoding
from shoal.release import After, Before, Covers, Recoded

if TYPE_CHECKING:
    from shoal.frequency import Counted

_MOST_PAIRED = 16


@dataclass(frozen=True)
class Facet:
    """One quasi-identifier: its values before, its labels after."""

    name: str
    weight: float
    """Its importance, all together 1."""
    rows: Longs
    """Rows of the original per code."""
    null: bool
    """Whether the last code is null."""
    of: Codes
    """The label of each line."""
    covers: Covers
    """What each label stands for."""
    shown: Longs
    """Rows per label."""
    alike: Codes
    """Per label, a number that those with the same text share."""
    stars: Flags
    """Labels that are `*`."""
    numbers: tuple[Floats, Floats] | None = None
    """Of a numeric attribute: the number behind each code, and the one that each label stands for."""

    def mean(self, costs: Floats) -> float:
        """Of what each label costs, over all rows."""
        rows = self.shown.astype(np.float64)
        return float(rows @ costs / rows.sum())

    @property
    def values(self) -> int:
        """How many there may be, null among them."""
        return self.covers.size + self.null


@dataclass(frozen=True)
class Seen:
    """Rows by what they were (`points`) and what they are shown as (`lines`); suppressed ones are all `*`."""

    points: FrequencySet
    point: Codes
    """Of each item: a point and a line that some rows have in common."""
    line: Codes
    counts: Longs
    """Rows of each item."""
    out: Flags
    """Lines that are suppressed."""
    facets: tuple[Facet, ...]
    sizes: Longs
    """Rows of each class, the suppressed ones among them."""
    suppressed: Flags
    """Per class."""
    beside: Mapping[str, Long]
    """Each sensitive attribute's counts per item, where the release shows them row by row."""
    k: int
    """The largest that was asked for; 1 if none was."""

    @property
    def rows(self) -> int:
        return self.points.rows

    @property
    def lines(self) -> Longs:
        """Rows of each line."""
        return np.bincount(self.line, weights=self.counts, minlength=len(self.out)).astype(np.int64)

    @property
    def kept(self) -> Longs:
        """Sizes of the released classes."""
        return self.sizes[~self.suppressed]

    @property
    def foremost(self) -> tuple[Facet, ...]:
        """The attributes of which pairs are told: the most important ones, since pairs are many where these are."""
        return tuple(sorted(self.facets, key=lambda facet: -facet.weight)[:_MOST_PAIRED])


@dataclass(frozen=True)
class _Labels:
    """The labels of one attribute, before rows are counted."""

    of: Codes
    covers: Covers
    alike: Codes
    stars: Flags
    middles: Floats | None


def see(
    table: Table,
    before: Before,
    after: After | Recoded,
    recoding: Recoding,
    hierarchies: Mapping[str, Hierarchy],
    class_of_row: Codes,
    *,
    statistics: Mapping[str, tuple[str, str]],
    sensitive: Collection[str],
    k: int,
) -> Seen:
    """Put a release beside its original.

    `statistics` are the released columns that tell a number of a quasi-identifier: of which one, and which number.
    """
    points, own = before.classes, isinstance(recoding, GroupRecoding)
    told = () if own else tuple(sensitive)
    if isinstance(recoding, NodeRecoding) and _shown_alike(points, class_of_row):
        assert isinstance(after, After)
        points, after, line_of_point = _in_order(points, after, class_of_row)
        out = after.suppressed
        items = _items_of_points(table, points, line_of_point, len(out), told)
    else:
        assert points.classes is not None
        out = np.zeros(len(points), dtype=bool) if own else after.suppressed
        items = FrequencySet.count(
            {"point": (points.classes, len(points)), "line": (points.classes if own else class_of_row, len(out))},
            {name: (table[name].codes, table[name].size) for name in told},
        )
    point, line = items.codes("point"), items.codes("line")
    lines = np.bincount(line, weights=items.counts, minlength=len(out)).astype(np.int64)
    facets = []
    for i, name in enumerate(points.attributes):
        column, codes = table[name], points.codes(name)
        rows = np.bincount(codes, weights=points.counts, minlength=column.size).astype(np.int64)
        if isinstance(recoding, NodeRecoding):
            labels = _of_node(column, hierarchies[name], recoding.levels[name], after, rows)
        elif isinstance(recoding, PartRecoding):
            assert isinstance(after, Recoded)
            labels = _of_parts(column, after.covers[i], recoding, class_of_row, statistics)
        else:
            labels = _of_values(column, codes, rows)
        numbers = None
        if (middles := middles_of(column)) is not None and labels.middles is not None:
            originals = middles.originals
            numbers = originals, filled(labels.middles, labels.of[line], originals[codes[point]])
        shown = np.bincount(labels.of, weights=lines, minlength=len(labels.stars)).astype(np.int64)
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
    return Seen(points, point, line, items.counts, out, tuple(facets), sizes, suppressed, beside, k)


def _shown_alike(points: FrequencySet, class_of: Codes) -> bool:
    """Whether rows of one point are shown alike, as they are at a node unless some of them were left out for a rule."""
    if points.classes is None:
        return True
    of = np.empty(len(points), dtype=np.int32)
    of[points.classes] = class_of
    return bool(np.array_equal(of[points.classes], class_of))


def _in_order(points: FrequencySet, after: After, class_of: Codes) -> tuple[FrequencySet, After, Codes]:
    """The same however they were counted, since sums of floats depend on the order; and the line of each point."""
    of = class_of
    if points.classes is not None:  # of each row: at a node, rows of one point are shown alike
        of = np.empty(len(points), dtype=np.int32)
        of[points.classes] = class_of
    points, place = points.sorted()
    classes, new = after.classes.sorted()
    suppressed, line = np.empty_like(after.suppressed), np.empty_like(of)
    suppressed[new], line[place] = after.suppressed, new[of]
    return points, After(after.node, classes, suppressed), line


def _items_of_points(
    table: Table, points: FrequencySet, line: Codes, lines: int, told: Collection[str]
) -> FrequencySet:
    """Each point as an item that is shown as one line."""
    every = np.arange(len(points), dtype=np.int32)
    items = FrequencySet.listed({"point": (every, len(points)), "line": (line, lines)})
    long: dict[Counted, Long] = {name: points.long[name] for name in told if name in points.long}
    for name in told:
        if name not in long:
            assert points.classes is not None
            entries = Long.count(points.classes, table[name].codes, table[name].size)
            order = np.lexsort((entries.values, entries.classes))
            long[name] = replace(
                entries,
                classes=entries.classes[order],
                values=entries.values[order],
                counts=entries.counts[order],
            )
    return replace(items, counts=points.counts, long=long)


def _of_node(column: Column, hierarchy: Hierarchy, level: int, after: After | Recoded, rows: Longs) -> _Labels:
    """The labels of a level, and after them the `*` of suppressed rows."""
    groups = hierarchy.groups(level)
    member = np.zeros(groups, dtype=np.int32)
    member[hierarchy.levels[level]] = np.arange(len(rows), dtype=np.int32)
    covers = Covers.along(hierarchy, member, np.full(groups, level), rows)
    texts = [*hierarchy.labels[level], TOP]
    middles = middles_of(column)
    return _Labels(
        np.where(after.suppressed, np.int32(groups), after.classes.codes(column.name)),
        covers.starred(int(rows.sum()), null=column.has_null),
        np.arange(groups + 1, dtype=np.int32),
        np.array([text == TOP for text in texts]),
        None if middles is None else middles.of_texts(texts),
    )


def _of_parts(
    column: Column,
    covers: Covers,
    recoding: PartRecoding,
    class_of_row: Codes,
    statistics: Mapping[str, tuple[str, str]],
) -> _Labels:
    """The labels of every class; its parts show the same."""
    part = np.empty(int(class_of_row.max()) + 1, dtype=np.int32)
    part[class_of_row] = recoding.part
    columns = recoding.shown[column.name]
    alike, _, _ = joined([(each.codes[part], len(each.texts)) for each in columns.values()])
    first = next(iter(columns.values()))
    middles = middles_of(column)
    kinds = {name: kind for name, (_, kind) in statistics.items()}
    return _Labels(
        np.arange(len(part), dtype=np.int32),
        covers.at(part),
        alike,
        np.array([text == TOP for text in first.texts.to_pylist()])[first.codes[part]],
        None if middles is None else middles.of_columns(columns, kinds)[part],
    )


def _of_values(column: Column, codes: Codes, rows: Longs) -> _Labels:
    """Every value as it was."""
    none, every = np.zeros(len(rows), dtype=bool), np.arange(len(rows), dtype=np.int32)
    nothing = np.zeros(len(rows))
    covers = Covers(nothing, np.ones(len(rows), dtype=np.int64), rows, none, nothing, max(len(column.values), 1))
    middles = middles_of(column)
    return _Labels(codes, covers, every, none, None if middles is None else middles.originals)
