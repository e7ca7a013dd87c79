"""Sets of codes as runs, and an axis of positions on which as many sets as possible are a single run."""

from dataclasses import dataclass, replace

import numpy as np

from shoal.data.class_counts import Flags, Indices, Longs
from shoal.data.codes import Codes

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
