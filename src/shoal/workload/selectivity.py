"""How a predicate applies to each face that a release shows of an attribute, if values are uniform."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from shoal.data.class_counts import Flags, Longs
from shoal.workload.queries import Floats, Numbers, Predicate, Spans, Texts

NEVER: Flags = np.zeros(1, dtype=bool)


@dataclass(frozen=True)
class Selectivity:
    """For each face of an attribute: the share of its values that satisfies a predicate, and which these are."""

    share: Floats
    certain: Flags
    """Faces of which every possible value satisfies."""
    excluded: Flags
    """Faces of which no possible value satisfies."""
    mean: Floats
    """Mean of the satisfying values; 0 where there are none, and for texts."""
    low: Floats
    """Least satisfying value; infinite where there are none, and for texts."""
    high: Floats


class Faces(Protocol):
    """The distinct things that a release shows of one attribute."""

    def apply_predicate(self, predicate: Predicate) -> Selectivity:
        """Apply a predicate to each face; ValueError where it names a value that the attribute cannot have."""
        ...


@dataclass(frozen=True)
class Sets:
    """Faces that stand for one of several values each, with their members listed face by face."""

    faces: Longs
    begin: Longs
    """Where the members of each face begin."""
    members: Floats
    """Members: numbers, or the places of texts in their domain."""

    @classmethod
    def of(cls, sets: Sequence[tuple[int, Sequence[float]]]) -> "Sets":
        sizes = [len(values) for _, values in sets]
        begin = np.cumsum([0, *sizes[:-1]])[: len(sets)].astype(np.int64)
        members = np.array([value for _, values in sets for value in values], dtype=np.float64)
        return cls(np.array([face for face, _ in sets], dtype=np.int64), begin, members)

    @cached_property
    def sizes(self) -> Longs:
        return np.diff(self.begin, append=len(self.members))

    def count(self, held: Flags) -> Longs:
        """Return how many members of each face are flagged in `held`."""
        return np.add.reduceat(held, self.begin, dtype=np.int64)


@dataclass(frozen=True)
class TextFaces:
    """Faces of texts: a value, a set, or a label of a hierarchy, uniform over its leaves.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> from shoal.workload.queries import Among
    >>> sexes = Texts(encode("sex", pa.array(["f", "m"])))
    >>> faces = TextFaces(sexes, Sets.of([(0, [0]), (1, [1]), (2, [0, 1])]), np.ones(3))
    >>> faces.apply_predicate(Among(("m",))).share.tolist()
    [0.0, 1.0, 0.5]
    """

    domain: Texts
    sets: Sets
    filled: Floats
    """Share of each face that is not null."""

    def apply_predicate(self, predicate: Predicate) -> Selectivity:
        held = self.domain.flag_values(predicate)
        share = np.zeros(len(self.filled))
        if len(self.sets.faces):
            share[self.sets.faces] = self.sets.count(held[self.sets.members.astype(np.int64)]) / self.sets.sizes
        nothing = np.zeros(len(share))
        return Selectivity(
            share * self.filled,
            (share == 1) & (self.filled == 1),
            (share == 0) | (self.filled == 0),
            nothing,
            nothing + np.inf,
            nothing - np.inf,
        )


@dataclass(frozen=True)
class NumberFaces:
    """Faces of numbers: ranges (single numbers are ranges too) and some sets.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> from shoal.workload.queries import Within
    >>> ages = Numbers(encode("age", pa.array([20, 39])))
    >>> faces = NumberFaces(ages, np.array([20.0, 30.0]), np.array([29.0, 39.0]))
    >>> seen = faces.apply_predicate(Within(25, 34))
    >>> seen.share.tolist(), seen.mean.tolist(), seen.low.tolist()
    ([0.5, 0.5], [27.0, 32.0], [25.0, 30.0])
    """

    domain: Numbers
    low: Floats
    """Least number of each face; meaningless for a set."""
    high: Floats
    """Greatest number of each face; if the face is open, the first number above it."""
    open: Flags = field(default_factory=lambda: NEVER)
    filled: Floats = field(default_factory=lambda: np.ones(1))
    """Share of each face that is not null."""
    means: Floats = field(default_factory=lambda: np.full(1, np.nan))
    """Released mean of each face, or NaN."""
    vague: Flags = field(default_factory=lambda: NEVER)
    """Faces of one number that stands for others, which may lie anywhere."""
    sets: Sets = field(default_factory=lambda: Sets.of([]))

    def apply_predicate(self, predicate: Predicate) -> Selectivity:
        spans = self.domain.spans(predicate)
        share, certain, possible, mean, low, high = self._apply_to_ranges(spans)
        if len(self.sets.faces):
            at = self.sets.faces
            share[at], certain[at], possible[at], mean[at], low[at], high[at] = self._apply_to_sets(spans)
        mean = np.where(certain & ~np.isnan(self.means), self.means, mean)
        possible &= self.filled > 0
        return Selectivity(
            np.where(possible, share, 0.0) * self.filled,
            certain & (self.filled == 1) & ~self.vague,
            ~possible & ~self.vague,
            np.where(possible, mean, 0.0),
            np.where(possible, low, np.inf),
            np.where(possible, high, -np.inf),
        )

    def _apply_to_ranges(self, spans: Spans) -> tuple[Floats, Flags, Flags, Floats, Floats, Floats]:
        of = self._apply_points if spans.points is not None else self._apply_range
        return of(spans)

    def _apply_range(self, spans: Spans) -> tuple[Floats, Flags, Flags, Floats, Floats, Floats]:
        """Apply a range: return share, certain, possible, mean, low and high of the part of each face inside it."""
        ends = (np.ceil(spans.low), np.floor(spans.high)) if self.domain.whole else (spans.low, spans.high)
        # overlap of each face with the span of the predicate
        low, high = np.maximum(self.low, ends[0]), np.minimum(self.high, ends[1])
        possible = (low < high) | ((low == high) & ~(self.open & (low == self.high)))
        # share of each face that overlaps; a face of one number of a continuum has no width
        width = high - low + self._step
        share = np.where(self._width > 0, width / np.where(self._width > 0, self._width, 1.0), 1.0)
        certain = (ends[0] <= self.low) & (ends[1] >= self.high)
        return np.clip(share, 0.0, 1.0), certain, possible, (low + high) / 2, low, high

    def _apply_points(self, spans: Spans) -> tuple[Floats, Flags, Flags, Floats, Floats, Floats]:
        """Apply single numbers: return the same for those that lie in each face; in a continuum they have no share."""
        points = spans.points
        assert points is not None
        points = points[points == np.floor(points)] if self.domain.whole else points
        # points[begin:end] lie in each face
        begin = np.searchsorted(points, self.low)
        end = np.where(self.open, np.searchsorted(points, self.high), np.searchsorted(points, self.high, side="right"))
        many = np.maximum(end - begin, 0)
        # running totals of the points, for the mean of those inside
        sums = np.concatenate([[0.0], np.cumsum(points)])
        mean = (sums[np.maximum(end, begin)] - sums[begin]) / np.maximum(many, 1)
        # faces of one number; on a continuum only these give a point any share
        single = self._width == self._step
        share = np.where(single, many > 0, many / np.maximum(self._width, 1.0) if self._step else 0.0)
        # least and greatest point inside; infinite where there is none
        fenced = np.concatenate([points, [np.inf]])
        last = np.concatenate([[-np.inf], points])
        certain = single & (many > 0) if not self._step else many == self._width
        return share, certain, many > 0, mean, fenced[begin], last[np.maximum(end, begin)]

    def _apply_to_sets(self, spans: Spans) -> tuple[Floats, Flags, Flags, Floats, Floats, Floats]:
        # members of all sets one after the other, and which of them satisfy: [member]
        values = self.sets.members
        held = spans.holds(values)
        many = self.sets.count(held)
        sums = np.add.reduceat(np.where(held, values, 0.0), self.sets.begin)
        low = np.minimum.reduceat(np.where(held, values, np.inf), self.sets.begin)
        high = np.maximum.reduceat(np.where(held, values, -np.inf), self.sets.begin)
        return many / self.sets.sizes, many == self.sets.sizes, many > 0, sums / np.maximum(many, 1), low, high

    @cached_property
    def _step(self) -> int:
        """Width of a single number: 1 among whole numbers, 0 in a continuum."""
        return int(self.domain.whole)

    @cached_property
    def _width(self) -> Floats:
        return self.high - self.low + self._step


def ranges_to_next_value(domain: Numbers) -> NumberFaces:
    """Return a face for each value of a column of numbers: the range up to the next value, or the last alone."""
    high = np.append(domain.values[1:] - domain.whole, domain.values[-1:])
    return NumberFaces(domain, domain.values, high, np.arange(len(high)) < len(high) - 1 if not domain.whole else NEVER)
