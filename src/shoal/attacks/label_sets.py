"""What the labels of a release stand for, as far as an attacker knows, and how common the values are."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import ceil, floor

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.attacks.release_under_attack import OWN_LEAVES, Published
from shoal.data.class_counts import Flags, Indices, Longs
from shoal.data.codes import Codes, Column, Table, encode
from shoal.errors import BadInput
from shoal.hierarchy.build import Builder, build
from shoal.hierarchy.intervals import Edges, Intervals
from shoal.hierarchy.taxonomy import TOP, Hierarchy
from shoal.hierarchy.top_bottom import TopBottom
from shoal.hierarchy.value_columns import Labels
from shoal.labels.grammar import Interval, Members, parse_label
from shoal.labels.scale import read_number

_MOST_MEMBERS = 50_000_000
_DEPTH = 16


@dataclass(frozen=True)
class CodeAxis:
    """Positions of one attribute's codes: each label covers a range of positions, or several ranges."""

    place: Codes
    """Position of each code of the register."""
    size: int
    """Number of positions; null lies at none of them, and its place is `size`."""
    low: Codes
    """First position of each label."""
    high: Codes
    """Last position of each label; less than the first where the label covers nothing."""
    sets: Codes
    """Number of the set of a label that covers several ranges; -1 for other labels."""
    begin: Longs
    """Where the ranges of each set begin in `run_low` and `run_high`, and where the last set ends."""
    run_low: Codes
    run_high: Codes

    def renumber_labels(self, number: Codes) -> "CodeAxis":
        """Return the axis with other label numbers: new label i is the old label `number[i]`."""
        return replace(self, low=self.low[number], high=self.high[number], sets=self.sets[number])

    def holds(self, labels: Indices, positions: Indices) -> Flags:
        """Flag the pairs in which the label covers the position; every label is compatible with null."""
        inside = (self.low[labels] <= positions) & (positions <= self.high[labels])
        number = self.sets[labels]
        several = np.flatnonzero(inside & (number >= 0))
        if len(several):
            # (set, last position) of each run as one ascending key, for the first run that ends at a position or later
            of_run = np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))
            keys = of_run * (self.size + 1) + self.run_high
            at = np.searchsorted(keys, number[several].astype(np.int64) * (self.size + 1) + positions[several])
            inside[several] = self.run_low[at] <= positions[several]  # there is such a run within the hull
        return np.asarray(inside | (positions == self.size))


@dataclass(frozen=True)
class LabelRuns:
    """The codes that each label covers, as runs `start <= code < stop`.

    >>> runs = LabelRuns.of(np.array([0, 1, 1]), np.array([0, 2, 0]), np.array([3, 3, 1]), 2, 3)
    >>> runs.members(0), runs.members(1)
    ([0, 1, 2], [0, 2])
    >>> axis = runs.axis()
    >>> axis.place.tolist(), axis.low.tolist(), axis.high.tolist(), axis.sets.tolist()
    ([0, 1, 0, 2], [0, 0], [1, 0], [-1, -1])
    """

    label: Longs
    """Label of each run, ascending."""
    start: Longs
    stop: Longs
    labels: int
    codes: int
    """Number of codes, null left out."""

    @classmethod
    def of(cls, label: Longs, start: Longs, stop: Longs, labels: int, codes: int) -> "LabelRuns":
        """Return the runs sorted, and those of one label merged where they touch or overlap."""
        filled = start < stop
        label, start, stop = label[filled], start[filled], stop[filled]
        order = np.lexsort((stop, start, label))
        label, start, stop = label[order], start[order], stop[order]
        if len(label):
            # [run] how far the runs of its label reach up to it: each label has its own stretch of numbers, so that one
            # running maximum serves all labels
            reach = np.maximum.accumulate(label * (codes + 1) + stop) - label * (codes + 1)
            # [run] whether it begins a merged run: another label, or a gap before it
            fresh = np.ones(len(label), dtype=bool)
            fresh[1:] = (label[1:] != label[:-1]) | (start[1:] > reach[:-1])
            first = np.flatnonzero(fresh)
            label, start, stop = label[first], start[first], reach[np.append(first[1:], len(reach)) - 1]
        return cls(label, start, stop, labels, codes)

    def members(self, label: int) -> list[int]:
        runs = zip(self.start[self.label == label].tolist(), self.stop[self.label == label].tolist(), strict=True)
        return [code for start, stop in runs for code in range(start, stop)]

    def axis(self) -> CodeAxis:
        """Build the shortest axis: codes that no label tells apart share a position."""
        position, runs = self._rearrange()
        # every place where a run begins or ends; the codes between two edges share a position
        edges = np.unique(np.concatenate([[0, self.codes], runs.start, runs.stop]))
        size = max(len(edges) - 1, 0)
        place = np.searchsorted(edges, position, side="right") - 1
        first, last = np.searchsorted(edges, runs.start), np.searchsorted(edges, runs.stop) - 1
        begin = np.searchsorted(runs.label, np.arange(self.labels + 1))
        many = np.diff(begin)
        low, high = np.zeros(self.labels, dtype=np.int32), np.full(self.labels, -1, dtype=np.int32)
        # the hull of each label: first position of its first run to last position of its last
        low[many > 0], high[many > 0] = first[begin[:-1][many > 0]], last[begin[1:][many > 0] - 1]
        # number the labels of several runs; only their runs are kept
        sets = np.where(many > 1, np.cumsum(many > 1) - 1, -1).astype(np.int32)
        kept = many[runs.label] > 1
        return CodeAxis(
            np.append(place, size).astype(np.int32),
            size,
            low,
            high,
            sets,
            np.concatenate([[0], np.cumsum(many[many > 1])]).astype(np.int64),
            first[kept].astype(np.int32),
            last[kept].astype(np.int32),
        )

    def _rearrange(self) -> tuple[Longs, "LabelRuns"]:
        """Return a position for each code, and the runs of positions, such that codes under one label are neighbours.

        Nested or disjoint sets, as those of any hierarchy are, become one run each when codes are sorted by the sets
        that hold them, the largest first. The natural order is kept where this does not save runs.
        """
        natural = np.arange(self.codes, dtype=np.int64)
        sizes = np.bincount(self.label, weights=self.stop - self.start, minlength=self.labels).astype(np.int64)
        if not (np.bincount(self.label, minlength=self.labels) > 1).any() or int(sizes.sum()) > _MOST_MEMBERS:
            return natural, self
        label, code = self._list_pairs()
        # [pair] labels of one code or of all codes are runs in any order
        inner = (sizes[label] > 1) & (sizes[label] < self.codes)
        # rank of each label by size, the largest first
        rank = np.empty(self.labels, dtype=np.int64)
        rank[np.argsort(-sizes, kind="stable")] = np.arange(self.labels)
        order = np.lexsort((rank[label[inner]], code[inner]))
        held, by = code[inner][order], rank[label[inner]][order]
        # [pair] how many larger labels hold the code
        depth = np.arange(len(held)) - np.searchsorted(held, held)
        # chain[code, depth]: the labels that hold a code, from the largest down; `labels` pads
        chain = np.full((self.codes, min(int(depth.max(initial=0)) + 1, _DEPTH)), self.labels, dtype=np.int64)
        near = depth < chain.shape[1]
        chain[held[near], depth[near]] = by[near]
        position = np.empty(self.codes, dtype=np.int64)
        # sort codes by their chains, so that codes of one label become neighbours
        position[np.lexsort((natural, *chain.T[::-1]))] = natural
        moved = LabelRuns.of(label, position[code], position[code] + 1, self.labels, self.codes)
        return (position, moved) if len(moved.label) < len(self.label) else (natural, self)

    def _list_pairs(self) -> tuple[Longs, Longs]:
        """Return every (label, code) pair such that the label covers the code, as two arrays."""
        lengths = self.stop - self.start
        # [pair] 0, 1, … within each run
        offset = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return np.repeat(self.label, lengths), np.repeat(self.start, lengths) + offset


Floats = NDArray[np.float64]
_MOST = 10_000
"""Most whole numbers of a range that are listed one by one."""
_LARGEST = 1e300
"""Greatest count for one stretch of whole numbers, so that it stays a finite float."""
_WHOLE = re.compile("(?!.{4001})-?(0|[1-9][0-9]*)")  # longer ones are texts, as everywhere
_OF_NUMBERS = (Edges, Intervals, TopBottom)


@dataclass(frozen=True)
class Meaning:
    """The values that one quasi-identifier may have, and which of them each of its labels covers."""

    labels: Sequence[str | None]
    column: Column
    """One row for each value, or for the first value of each stretch of whole numbers."""
    hierarchy: Hierarchy | None
    many: Floats
    """How many values each code stands for: 1 where all values are listed."""

    @cached_property
    def runs(self) -> LabelRuns:
        """Runs of codes that each label covers, null among them."""
        read = Labels(self.column, self.hierarchy)
        found = [(at, *run) for at, label in enumerate(self.labels) for run in read.runs(label)]
        of, start, stop = np.array(found, dtype=np.int64).reshape(-1, 3).T
        return LabelRuns.of(of, start, stop, len(self.labels), self.column.size)

    @cached_property
    def covered(self) -> Flags:
        """covered[label, value]: a dense matrix, for attacks that look at few labels and values."""
        flags = np.zeros((len(self.labels), self.column.size), dtype=bool)
        runs = np.stack([self.runs.label, self.runs.start, self.runs.stop], axis=1)
        for label, start, stop in runs.tolist():
            flags[label, start:stop] = True
        return flags

    def codes_of(self, column: Column) -> Codes:
        """Return, for each code of another column, the code of its value here; -1 where there is none."""
        place = {text: code for code, text in enumerate(self.column.texts.to_pylist())}
        codes = [place.get(text, -1) for text in column.texts.to_pylist()]
        if column.has_null:
            codes.append(-1 if self.column.null_code is None else self.column.null_code)
        return np.array(codes, dtype=np.int32)


def meaning_of(published: Published, name: str, *known: Column, listed: bool = True) -> Meaning:
    """Return what the labels of a quasi-identifier stand for; `known` are columns of values the attacker has seen.

    Without any, the values are those of its hierarchy, or the whole numbers between the ends of its ranges. If not
    `listed`, whole numbers that no label tells apart are one value.

    >>> from shoal.data.codes import Table
    >>> table = Table({"age": encode("age", pa.array(["[20, 22)", "23"]))}, 2)
    >>> published = Published.of("the frame", table, ["age"], [])
    >>> meaning = meaning_of(published, "age")
    >>> meaning.column.texts.to_pylist(), meaning.covered.tolist()
    (['20', '21', '23'], [[False, False, True], [True, True, False]])
    >>> meaning = meaning_of(published, "age", listed=False)
    >>> meaning.column.texts.to_pylist(), meaning.many.tolist()
    (['20', '23'], [2.0, 1.0])
    """
    shown = published.quasi_identifiers.get(name)
    if shown is None:
        raise BadInput(f"{published.name}: there is no quasi-identifier {name!r}")
    builder = published.builders.get(name)
    own = _leaves(name, builder)
    texts = [*own, *(text for column in known for text in column.texts.to_pylist())]
    stretches: dict[str, int] = {}
    if not texts or builder is None:
        named, ranges = _read(shown.labels)
        texts += named
        if listed:
            texts += (text for each in ranges for text in _list_numbers(each))
        else:
            stretches = _stretches(ranges, texts, _edges(shown.labels))
    elif isinstance(builder, _OF_NUMBERS):
        texts += [label for label in shown.labels if label is not None and _WHOLE.fullmatch(label)]
    null: list[str | None] = [None] if None in shown.labels or any(column.has_null for column in known) else []
    values: list[str | None] = [*dict.fromkeys([*texts, *stretches]), *null]
    decimal = next((column.decimal for column in known), ".")
    column = encode(name, pa.array(values, pa.string()), decimal=decimal)
    hierarchy = build(column, builder) if builder is not None and (own or known or _has_ranges(shown.labels)) else None
    many = np.ones(column.size)
    many[: len(column.texts)] = [min(stretches.get(text, 1), _LARGEST) for text in column.texts.to_pylist()]
    return Meaning(shown.labels, column, hierarchy, many)


def _leaves(name: str, builder: Builder | None) -> Sequence[str]:
    """Return the values that a hierarchy names itself; none where they depend on the column."""
    if not isinstance(builder, OWN_LEAVES):
        return ()
    return builder.taxonomy(encode(name, pa.array([], pa.string()))).leaves


def lists_all_numbers(label: str | None) -> bool:
    """Whether a label is a range of whole numbers of which every one is listed among the values.

    >>> lists_all_numbers("[20, 40)"), lists_all_numbers("*"), lists_all_numbers("[0, 1000000)")
    (True, False, False)
    """
    said = None if label is None else parse_label(label)
    whole = _whole_numbers(said) if isinstance(said, Interval) else None
    return whole is not None and len(whole) <= _MOST


def _has_ranges(labels: Sequence[str | None]) -> bool:
    """Whether some label is an interval."""
    return any(isinstance(parse_label(label), Interval) for label in labels if label is not None)


def _read(labels: Sequence[str | None]) -> tuple[list[str], list[range]]:
    """Return the values that labels name (values, members of sets, ends of ranges) and ranges of whole numbers."""
    named: list[str] = []
    ranges: list[range] = []
    for label in labels:
        if label is None or label == TOP:
            continue
        said = parse_label(label)
        if isinstance(said, Members):
            named += said.values
        elif not isinstance(said, Interval):
            named.append(label)
        elif (whole := _whole_numbers(said)) is not None:
            ranges.append(whole)
        else:
            named += _ends(said)
    return named, ranges


def _whole_numbers(interval: Interval) -> range | None:
    """Return the whole numbers in an interval whose ends are whole numbers; None for other intervals."""
    low, high = interval.low, interval.high
    if low is None or high is None or interval.quoted or not _WHOLE.fullmatch(low) or not _WHOLE.fullmatch(high):
        return None
    return range(int(low), int(high) + interval.closed)


def _ends(interval: Interval) -> Iterator[str]:
    """Yield the ends that an interval covers; for `<x`, which covers no end, the next whole number below x.

    >>> list(_ends(Interval(None, "20"))), list(_ends(Interval("20", None)))
    (['19'], ['20'])
    """
    if interval.low is None and interval.high is not None and not interval.closed and not interval.quoted:
        number = read_number(interval.high)
        if number is not None:
            yield str(ceil(number) - 1)
    for end, inside in ((interval.low, True), (interval.high, interval.closed)):
        if end is not None and inside:
            yield end


def _list_numbers(numbers: range) -> Iterable[str]:
    """Return the first whole numbers of a range as texts, as many as are listed at most."""
    return map(str, numbers[:_MOST])


def _edges(labels: Sequence[str | None]) -> Iterator[int]:
    """Yield the first whole number after each edge of an interval, half-open intervals included."""
    for label in labels:
        said = None if label is None else parse_label(label)
        if isinstance(said, Interval) and not said.quoted:
            low, high = (None if end is None else read_number(end) for end in (said.low, said.high))
            if low is not None:
                yield ceil(low)
            if high is not None:
                yield floor(high) + 1 if said.closed else ceil(high)


def _stretches(ranges: Sequence[range], named: Iterable[str], others: Iterable[int]) -> dict[str, int]:
    """Return the stretches of whole numbers that no label tells apart: the first number of each, and its length.

    >>> _stretches([range(0, 10), range(5, 20)], ["7"], [15])
    {'0': 5, '5': 2, '8': 2, '10': 5, '15': 5}
    """
    alone = {int(text) for text in named if _WHOLE.fullmatch(text)}
    steps: dict[int, int] = {}  # by how many the number of open ranges changes at each number
    for numbers in ranges:
        if numbers:
            steps[numbers.start] = steps.get(numbers.start, 0) + 1
            steps[numbers.stop] = steps.get(numbers.stop, 0) - 1
    edges = sorted({*steps, *others, *alone, *(number + 1 for number in alone)})
    found, inside = {}, 0
    for first, past in pairwise(edges):
        inside += steps.get(first, 0)
        if inside and first not in alone:
            found[str(first)] = past - first
    return found


def marginal(published: Published, name: str, meaning: Meaning, control: Table | None = None) -> Floats:
    """Return the share of each value among the people of a control table, by Laplace's rule.

    Without a control table, every released row is spread evenly over the values that its label covers.

    >>> import pyarrow as pa
    >>> from shoal.attacks.label_sets import meaning_of
    >>> from shoal.data.codes import encode
    >>> table = Table({"age": encode("age", pa.array(["[20, 22)", "20"]))}, 2)
    >>> published = Published.of("the frame", table, ["age"], [])
    >>> marginal(published, "age", meaning_of(published, "age")).tolist()
    [0.75, 0.25]
    """
    size, runs = meaning.column.size, meaning.runs
    if control is not None:
        codes = meaning.codes_of(control[name])[control[name].codes]
        seen = np.bincount(codes[codes >= 0], minlength=size) + meaning.many
        return np.asarray(seen / seen.sum())
    shown = published.quasi_identifiers[name]
    rows = np.bincount(shown.codes, minlength=len(shown.labels)).astype(np.float64)
    values = covered_by_labels(meaning, meaning.many)  # how many each label covers
    # [label] what each value under the label gets of the label's rows
    each = rows / np.where(values > 0, values, 1)
    mass = spread_over_runs(each[runs.label], runs.start, runs.stop, size) * meaning.many
    total = mass.sum()
    return np.asarray(mass / total) if total > 0 else np.full(size, 1 / max(size, 1))


def covered_by_labels(meaning: Meaning, amounts: Floats) -> Floats:
    """Return, for each label, the sum of the amounts of the values that it covers."""
    runs = meaning.runs
    found = np.zeros(len(meaning.labels))
    np.add.at(found, runs.label, sum_runs(amounts, runs.start, runs.stop))
    return found


def sum_runs(amounts: Floats, start: Longs, stop: Longs) -> Floats:
    """Return the sum of amounts over each run, in O(log n) steps per run, by a segment tree.

    Differences of running totals would be simpler, but lose small amounts beside large ones.

    >>> sum_runs(np.array([1.0, 2.0, 4.0]), np.array([0, 1, 2]), np.array([3, 3, 2])).tolist()
    [7.0, 6.0, 0.0]
    """
    leaves = _tree_leaves(len(amounts))
    tree = np.zeros(2 * leaves)
    tree[leaves : leaves + len(amounts)] = amounts
    first = leaves
    while first > 1:  # each level from the one below it
        tree[first // 2 : first] = tree[first : 2 * first : 2] + tree[first + 1 : 2 * first : 2]
        first //= 2
    found = np.zeros(len(start))
    for which, nodes in _nodes(start, stop, leaves):
        found[which] += tree[nodes]
    return found


def spread_over_runs(amounts: Floats, start: Longs, stop: Longs, size: int) -> Floats:
    """Return the total that each of `size` values receives when every value of a run receives the run's amount.

    >>> spread_over_runs(np.array([1.0, 2.0]), np.array([0, 1]), np.array([2, 3]), 3).tolist()
    [1.0, 3.0, 2.0]
    """
    leaves = _tree_leaves(size)
    tree = np.zeros(2 * leaves)
    for which, nodes in _nodes(start, stop, leaves):
        np.add.at(tree, nodes, amounts[which])
    first = 1
    while first < leaves:  # pass the amount of each node down to its two children
        tree[2 * first : 4 * first] += np.repeat(tree[first : 2 * first], 2)
        first *= 2
    return tree[leaves : leaves + size]


def _tree_leaves(size: int) -> int:
    """Return the least power of two that holds `size` leaves; the root is node 1, and leaf i is node leaves + i."""
    return 1 << max(size - 1, 0).bit_length()


def _nodes(start: Longs, stop: Longs, leaves: int) -> Iterator[tuple[Flags, Longs]]:
    """Yield, level by level, flags of the runs that use a node there, and these nodes; together they cover each run."""
    low, high = start + leaves, stop + leaves
    while (low < high).any():
        # an odd left end is a right child: take it, and go on with the node after it
        left = (low < high) & (low % 2 == 1)
        yield left, low[left]
        low = low + left
        # an odd right end is past a left child: take that child
        right = (low < high) & (high % 2 == 1)
        high = high - right
        yield right, high[right]
        low, high = low // 2, high // 2
