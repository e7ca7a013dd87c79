"""Recursive (c,l)-diversity: the most frequent value of a class is not too frequent, the rarer ones not too rare."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, inf, nextafter
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Gt
from numpy.typing import NDArray

from shoal.data.class_counts import ClassCounts, Longs, ValueCounts, sum_counts
from shoal.models.l_diversity import DiverseGroups, LDiversity, Others, refuse_invalid_settings
from shoal.models.model import READS_THE_CLASS, Closure, Flags, Whole, ceiling, exact, refuse_unless_whole
from shoal.models.value_limits import TailLimit, flag_counted

_LARGEST_FACTOR = 2**31
"""Largest factor of a number of rows that the compiled core multiplies in 64 bits."""


@dataclass(frozen=True, slots=True)
class RecursiveCLDiversity(LDiversity):
    """In every class the most frequent value is rarer than c times all from the l-th most frequent on: r₁ < c(rₗ+…+rₘ).

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ICDE 2006.

    What is attained is the least c for this l, just above the largest r₁/(rₗ+…+rₘ) because the inequality is strict;
    None where a class has fewer than l values. For l = 1, which asks least, it is also told for two and three values.
    """

    name: ClassVar[str] = "recursive-cl-diversity"
    family: ClassVar[str] = "Different values"
    sentence: ClassVar[str] = (
        "In no class the most frequent sensitive value outweighs the rarer ones by more than c allows."
    )
    adversary: ClassVar[str] = READS_THE_CLASS + ", and can rule out some of them"
    source: ClassVar[str] = "Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ICDE 2006"
    closure: ClassVar[Closure] = Closure.UNION
    l: Whole
    c: Annotated[float, Gt(0)]
    attribute: str | None = None
    null_is_value: bool = False
    others: Others | None = None

    def __post_init__(self) -> None:
        refuse_unless_whole("l", self.l)
        if exact("c", self.c) <= 0:
            raise ValueError(f"c must be a number above 0, not {self.c!r}")
        refuse_invalid_settings(self)

    def diverse(self, values: ValueCounts) -> Flags:
        first, rest = self._first_and_rest(values)
        c = exact("c", self.c)
        largest = max(int(first.max(initial=0)) * c.denominator, int(rest.max(initial=0)) * c.numerator)
        kind: type = np.int64 if max(largest, c.numerator, c.denominator) <= np.iinfo(np.int64).max else object
        rarer = first.astype(kind) * c.denominator < rest.astype(kind) * c.numerator
        return np.asarray(rarer, dtype=bool)

    def _removed(self, groups: DiverseGroups) -> Longs:
        """Return how many rows must go before the most frequent value of the rest is rare enough.

        Rows that are left outside of the l - 1 most frequent values of the rest are no more than those outside of any
        other l - 1 values, so at most T = rₗ+…+rₘ of before. So every value that is left has fewer than c T rows, and
        what it has above that goes.
        """
        values = groups.values
        _, rest = self._first_and_rest(values)
        c = exact("c", self.c)
        fits = max(int(rest.max(initial=1)), 1) * c.numerator <= np.iinfo(np.int64).max
        # the most rows of a value: the greatest whole number below c T
        most = (rest.astype(np.int64 if fits else object) * c.numerator - 1) // c.denominator
        above = np.maximum(values.counts - most[values.classes], 0).astype(np.int64)
        removed = sum_counts(values.classes, above, len(groups.rows))
        return np.where(rest == 0, groups.rows, removed)

    def value_limits(self, counts: ClassCounts) -> TailLimit | None:
        c = exact("c", self.c)
        if self.columns or self.attribute is None or max(c.numerator, c.denominator) > _LARGEST_FACTOR:
            return None
        counted = flag_counted(counts.sensitive[self.attribute].labels, null=self.null_is_value)
        return TailLimit(counted, self.l, c.numerator, c.denominator)

    def level(self, values: ValueCounts) -> NDArray[np.float64]:
        first, rest = self._first_and_rest(values)
        return rest / np.maximum(first, 1)

    def hopeless(self, distinct: Longs) -> Flags:
        return distinct < self.l

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        ratio = self._ratio(self.groups(counts).values)
        more = {f"c (l={l})": replace(self, l=l).attained(counts)["c"] for l in (2, 3) if self.l == 1}
        return {"c": None if ratio is None else _float_above(ratio), **more}

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1, 2.0, attribute),) if attribute is not None else ()  # r₁ < 2(r₁ + …) always

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Return the reason if the table has too few values or, with nothing suppressible, one is too frequent."""
        why = LDiversity.impossible(self, table, suppressible) or self.reason_against_persons(table)
        if why is not None or suppressible or self.holds(table):
            return why
        ratio = self._ratio(self.groups(table).values)
        assert ratio is not None
        least = -floor(-ratio * 10_000) / 10_000
        return f"{self.attribute!r} needs c > {least:.4f} for l={self.l} in the whole table"

    def _ratio(self, values: ValueCounts) -> Fraction | None:
        """Return the largest r₁/(rₗ+…+rₘ); None where that is infinite, or where there are no classes."""
        first, rest = self._first_and_rest(values)
        if not len(first) or not rest.all():
            return None
        ratio = first / rest
        largest = np.unique(np.stack([first, rest])[:, ratio == ratio.max()], axis=1)
        return max(Fraction(int(r), int(s)) for r, s in largest.T)

    def _first_and_rest(self, values: ValueCounts) -> tuple[Longs, Longs]:
        """Return for each class r₁, the count of its most frequent value, and rₗ+…+rₘ, all from the l-th on."""
        # entries by class, the most frequent value first
        order = np.lexsort((-values.counts, values.classes))
        classes, counts = values.classes[order], values.counts[order]
        many = np.bincount(classes, minlength=values.class_count)
        # rank of each entry within its class, 0 for the most frequent value
        rank = np.arange(len(classes)) - (np.cumsum(many) - many)[classes]
        first, rest = np.zeros((2, values.class_count), dtype=np.int64)
        first[classes[rank == 0]] = counts[rank == 0]
        late = rank >= self.l - 1
        np.add.at(rest, classes[late], counts[late])
        return first, rest


def _float_above(ratio: Fraction) -> float:
    """Return the least float that, read back as a decimal, is above a fraction.

    >>> _float_above(Fraction(3, 2)), _float_above(Fraction(1, 3))
    (1.5000000000000002, 0.33333333333333337)
    """
    least = ceiling(ratio)
    return least if exact("c", least) > ratio else nextafter(least, inf)
