"""Which columns together point at people: minimal combinations that tell many rows apart."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, Literal

import numpy as np

from shoal.data.class_counts import Longs
from shoal.data.codes import Codes
from shoal.errors import BadInput
from shoal.models.model import exact_share
from shoal.risk.suda import Coded, DistinctRecords, Told, group_rows

Measure = Literal["distinction", "separation"]
MEASURES: tuple[Measure, ...] = ("distinction", "separation")
DISTINCTION = 0.5
"""Usual threshold: half as many distinct combinations as rows."""
SIZE = 3
_EVERY_SIZE = 10


def usual_size(columns: int) -> int:
    """Return the size of the largest combination to look at: any among few columns, three among many."""
    return columns if columns <= _EVERY_SIZE else SIZE


@dataclass(frozen=True, slots=True)
class Combination:
    """Some columns, their number of distinct rows, and the pairs of rows that they do not tell apart."""

    columns: tuple[str, ...]
    distinct: int
    equal_pairs: int
    rows: int

    @property
    def distinction(self) -> Fraction:
        """Distinct combinations as a share of the rows (Motwani, Xu 2007)."""
        return Fraction(self.distinct, self.rows)

    @property
    def separation(self) -> Fraction:
        """Share of pairs of rows that are told apart (Motwani, Xu 2007); 1 for a single row."""
        pairs = comb(self.rows, 2)
        return Fraction(pairs - self.equal_pairs, pairs) if pairs else Fraction(1)

    def document(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "distinct": self.distinct,
            "distinction": float(self.distinction),
            "separation": float(self.separation),
        }


@dataclass(frozen=True)
class Discovery:
    """The minimal combinations that reach a threshold, every column alone, and the most telling of each size."""

    measure: Measure
    threshold: Fraction
    max_size: int
    rows: int
    minimal: tuple[Combination, ...] = ()
    alone: tuple[Combination, ...] = ()
    best: tuple[Combination, ...] = ()
    counted: int = field(default=0, compare=False)
    """Number of combinations that had to be counted; the others follow from these."""

    def document(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "threshold": float(self.threshold),
            "max_size": self.max_size,
            "counted": self.counted,
            "minimal": [found.document() for found in self.minimal],
            "columns": [found.document() for found in self.alone],
            "best": [found.document() for found in self.best],
        }


def discover(
    columns: Mapping[str, Coded],
    *,
    threshold: object = DISTINCTION,
    measure: str = "distinction",
    max_size: int | None = None,
    told: Told = lambda _: None,
) -> Discovery:
    """Find every minimal combination of at most `max_size` columns whose measure reaches the threshold.

    Both measures only grow with more columns, so combinations that contain one that reaches it are not looked at.
    All rows are counted.

    >>> a, b = np.array([0, 0, 1, 1], np.int32), np.array([0, 1, 0, 1], np.int32)
    >>> [found.columns for found in discover({"a": (a, 2), "b": (b, 2)}, threshold=1).minimal]
    [('a', 'b')]
    """
    share, kind = _parse_threshold(threshold, measure)
    most = usual_size(len(columns)) if max_size is None else max_size
    if most < 1:
        raise BadInput(f"the size of a combination must be a whole number of at least 1, not {max_size!r}")
    look = _CombinationSearch(DistinctRecords.of(columns), kind, share, min(most, len(columns)), told)
    look.run()
    rank = sorted(look.minimal, key=lambda found: (len(found.columns), -getattr(found, kind)))
    best = tuple(look.best[size] for size in sorted(look.best))
    return Discovery(kind, share, look.most, look.rows, tuple(rank), tuple(look.alone), best, look.counted)


def _parse_threshold(threshold: object, measure: str) -> tuple[Fraction, Measure]:
    """Return the threshold as an exact number, and the measure; refuse what is neither."""
    kind = next((known for known in MEASURES if known == measure), None)
    if kind is None:
        raise BadInput(f"{measure!r} is no measure of combinations; write {' or '.join(MEASURES)}")
    try:
        share = exact_share(kind, threshold)
    except ValueError as wrong:
        raise BadInput(str(wrong)) from None
    if not 0 < share <= 1:
        raise BadInput(f"{kind} must lie above 0 and at most at 1, not {threshold!r}")
    return share, kind


@dataclass
class _Stripped:
    """Classes of several distinct rows; the others are left out, since no further column can split them."""

    rows: Codes
    ids: Codes
    classes: int
    left_out: int
    left_out_pairs: int


@dataclass
class _CombinationSearch:
    """The search, size by size; a combination is counted from the classes of all its columns but the last."""

    distinct: DistinctRecords
    measure: Measure
    threshold: Fraction
    most: int
    told: Told
    minimal: list[Combination] = field(default_factory=list)
    alone: list[Combination] = field(default_factory=list)
    best: dict[int, Combination] = field(default_factory=dict)
    counted: int = 0

    @property
    def rows(self) -> int:
        return self.distinct.rows

    def run(self) -> None:
        """Look at all combinations, size by size."""
        many = len(self.distinct.columns)
        steps, done = sum(comb(many, size) for size in range(1, self.most + 1)), 0
        below: dict[tuple[int, ...], int] = {(): 1}  # for each combination, the most distinct rows it can have
        for size in range(1, self.most + 1):
            fresh: dict[tuple[int, ...], int] = {}
            for prefix in below:
                self._extend(prefix, below, fresh)
                first = prefix[-1] + 1 if prefix else 0
                done += many - first
                self.told(min(done / steps, 1.0))
            below, done = fresh, sum(comb(many, i) for i in range(1, size + 1))

    def _extend(
        self, prefix: tuple[int, ...], below: Mapping[tuple[int, ...], int], fresh: dict[tuple[int, ...], int]
    ) -> None:
        """Add one column after another to a prefix; count a result whose parts all miss the threshold, unless hopeless.

        Results that miss the threshold go into `fresh`, with the most distinct rows they can have.
        """
        stripped: _Stripped | None = None
        for last in range(prefix[-1] + 1 if prefix else 0, len(self.distinct.columns)):
            which = (*prefix, last)
            if not all(part in below for part in combinations(which, len(prefix))):
                continue
            at_most = below[prefix] * self.alone[last].distinct if prefix else self.rows
            if self._is_hopeless(at_most, len(which)):
                fresh[which] = at_most
                continue
            stripped = stripped or self._strip(prefix)
            found = self._count(which, stripped)
            if not self._record_if_reached(found):
                fresh[which] = found.distinct

    def _is_hopeless(self, at_most: int, size: int) -> bool:
        """Whether so many distinct rows at most can neither reach the threshold nor beat the best of this size."""
        if self.measure != "distinction" or size not in self.best:
            return False
        return at_most < self.threshold * self.rows and at_most <= self.best[size].distinct

    def _strip(self, prefix: tuple[int, ...]) -> _Stripped:
        """Return the classes of a prefix that hold several distinct rows, and what was left out."""
        weights = self.distinct.weights
        every = np.arange(len(weights), dtype=np.int32)
        if not prefix:
            return _Stripped(every, np.zeros(len(weights), np.int32), 1, 0, 0)
        ids, _ = group_rows(self.distinct.select(prefix, every), weights)
        # [class] number of distinct rows; only classes of several can be split further
        often = np.bincount(ids)
        several = often[ids] > 1
        # [class] new number, for the classes of several rows
        number = (np.cumsum(often > 1) - 1).astype(np.int32)
        alone = weights[~several]
        return _Stripped(every[several], number[ids[several]], int((often > 1).sum()), len(alone), _pairs(alone))

    def _count(self, which: tuple[int, ...], stripped: _Stripped) -> Combination:
        """Count a combination, by splitting the classes of its prefix by its last column."""
        self.counted += 1
        codes, size = self.distinct.columns[which[-1]]
        names = tuple(self.distinct.names[i] for i in which)
        if not len(stripped.rows):
            return Combination(names, stripped.left_out, stripped.left_out_pairs, self.rows)
        _, weights = group_rows(
            [(stripped.ids, max(stripped.classes, 1)), (codes[stripped.rows], size)],
            self.distinct.weights[stripped.rows],
        )
        return Combination(
            names, stripped.left_out + len(weights), stripped.left_out_pairs + _pairs(weights), self.rows
        )

    def _record_if_reached(self, found: Combination) -> bool:
        """Return whether a combination reaches the threshold; record it if so, or if it is the best of its size."""
        size, share = len(found.columns), getattr(found, self.measure)
        if size == 1:
            self.alone.append(found)
        if size not in self.best or share > getattr(self.best[size], self.measure):
            self.best[size] = found
        if share < self.threshold:
            return False
        self.minimal.append(found)
        return True


def _pairs(weights: Longs) -> int:
    """Return the number of pairs of equal rows, given how many rows are equal each time."""
    return int((weights * (weights - 1) // 2).sum())
