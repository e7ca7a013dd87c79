"""What the labels of a release stand for, as far as an attacker knows: a set of values behind each label."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil, floor

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.attacks.published import Published
from shoal.attacks.runs import Runs
from shoal.codes import Codes, Column, encode
from shoal.counts import Flags
from shoal.errors import BadInput
from shoal.hierarchy import TOP, Builder, Csv, Edges, Hierarchy, Intervals, Rows, TopBottom, Tree, build
from shoal.hierarchy.labels import Labels
from shoal.labels import Interval, Members, parse_label, read_number

Floats = NDArray[np.float64]
_MOST = 10_000
"""Whole numbers between two ends that are listed one by one."""
_LARGEST = 1e300
"""More values than these in one stretch of whole numbers are not told apart: their number must stay a float."""
_WHOLE = re.compile("-?(0|[1-9][0-9]*)")
_OWN_LEAVES = (Csv, Rows, Tree)
"""Hierarchies that name their values themselves, whatever the column holds."""
_OF_NUMBERS = (Edges, Intervals, TopBottom)


@dataclass(frozen=True)
class Meaning:
    """The values that one quasi-identifier may have, and which of them each of its labels covers."""

    labels: Sequence[str | None]
    column: Column
    """One row for each value, or for each stretch of whole numbers: the first of them."""
    hierarchy: Hierarchy | None
    many: Floats
    """How many values each code stands for: 1 where all are listed."""

    @cached_property
    def runs(self) -> Runs:
        """What each label covers, as runs of codes, null among them."""
        read = Labels(self.column, self.hierarchy)
        found = [(at, *run) for at, label in enumerate(self.labels) for run in read.runs(label)]
        of, start, stop = np.array(found, dtype=np.int64).reshape(-1, 3).T
        return Runs.of(of, start, stop, len(self.labels), self.column.size)

    @cached_property
    def covered(self) -> Flags:
        """covered[label, value]: as large as both together, for attacks that look at few of either."""
        flags = np.zeros((len(self.labels), self.column.size), dtype=bool)
        runs = np.stack([self.runs.label, self.runs.start, self.runs.stop], axis=1)
        for label, start, stop in runs.tolist():
            flags[label, start:stop] = True
        return flags

    def codes_of(self, column: Column) -> Codes:
        """The value behind each code of another column; -1 where it is none of these."""
        place = {text: code for code, text in enumerate(self.column.texts.to_pylist())}
        codes = [place.get(text, -1) for text in column.texts.to_pylist()]
        if column.has_null:
            codes.append(-1 if self.column.null_code is None else self.column.null_code)
        return np.array(codes, dtype=np.int32)


def meaning_of(published: Published, name: str, *known: Column, listed: bool = True) -> Meaning:
    """What the labels of a quasi-identifier stand for; `known` are columns of values that the attacker has seen.

    Without any, the values are those of its hierarchy, or the whole numbers between the ends of its ranges: each by
    itself or, not `listed`, those that no label tells apart together.

    >>> from shoal.codes import Table
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
            texts += (text for each in ranges for text in _listed(each))
        else:
            stretches = _stretches(ranges, texts, _edges(shown.labels))
    elif isinstance(builder, _OF_NUMBERS):
        texts += [label for label in shown.labels if label is not None and _WHOLE.fullmatch(label)]
    null: list[str | None] = [None] if None in shown.labels or any(column.has_null for column in known) else []
    values: list[str | None] = [*dict.fromkeys([*texts, *stretches]), *null]
    column = encode(name, pa.array(values, pa.string()))
    hierarchy = build(column, builder) if builder is not None and (own or known or _ranges(shown.labels)) else None
    many = np.ones(column.size)
    many[: len(column.texts)] = [min(stretches.get(text, 1), _LARGEST) for text in column.texts.to_pylist()]
    return Meaning(shown.labels, column, hierarchy, many)


def _leaves(name: str, builder: Builder | None) -> Sequence[str]:
    if not isinstance(builder, _OWN_LEAVES):
        return ()
    return builder.taxonomy(encode(name, pa.array([], pa.string()))).leaves


def _ranges(labels: Sequence[str | None]) -> bool:
    return any(isinstance(parse_label(label), Interval) for label in labels if label is not None)


def _read(labels: Sequence[str | None]) -> tuple[list[str], list[range]]:
    """The values that labels name: themselves, the members of sets, ends of ranges; and ranges of whole numbers."""
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
    """The whole numbers of an interval between two of them."""
    low, high = interval.low, interval.high
    if low is None or high is None or interval.quoted or not _WHOLE.fullmatch(low) or not _WHOLE.fullmatch(high):
        return None
    return range(int(low), int(high) + interval.closed)


def _ends(interval: Interval) -> Iterator[str]:
    for end, inside in ((interval.low, True), (interval.high, interval.closed)):
        if end is not None and inside:
            yield end


def _listed(numbers: range) -> Iterable[str]:
    return map(str, numbers[:_MOST])


def _edges(labels: Sequence[str | None]) -> Iterator[int]:
    """The first whole number behind each end of an interval, open ones too."""
    for label in labels:
        said = None if label is None else parse_label(label)
        if isinstance(said, Interval) and not said.quoted:
            low, high = (None if end is None else read_number(end) for end in (said.low, said.high))
            if low is not None:
                yield ceil(low)
            if high is not None:
                yield floor(high) + 1 if said.closed else ceil(high)


def _stretches(ranges: Sequence[range], named: Iterable[str], others: Iterable[int]) -> dict[str, int]:
    """Whole numbers that no label tells apart: the first of each stretch, and how many they are.

    >>> _stretches([range(0, 10), range(5, 20)], ["7"], [15])
    {'0': 5, '5': 2, '8': 2, '10': 5, '15': 5}
    """
    alone = {int(text) for text in named if _WHOLE.fullmatch(text)}
    steps: dict[int, int] = {}  # by how much more ranges there are from each number on
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
