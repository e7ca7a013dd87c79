"""(α,k)-anonymity: no sensitive value fills more than the share α of a class."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Len

from shoal.counts import ClassCounts, Longs, ValueCounts
from shoal.models.base import (
    Closure,
    Flags,
    Model,
    Share,
    Whole,
    ceiling,
    exact,
    refuse_unless_whole,
    within,
)
from shoal.models.k_anonymity import KAnonymity


@dataclass(frozen=True, slots=True)
class AlphaK(Model):
    """k-anonymous, and the share of each sensitive value in each class is at most α: one number, or one per value.

    Wong, Li, Fu, Wang, KDD 2006. Shares are of the non-null values, so that null protects nobody.
    """

    name: ClassVar[str] = "alpha-k"
    closure: ClassVar[Closure] = Closure.UNION
    per_attribute: ClassVar[bool] = True
    alpha: Share | Annotated[Mapping[str, Share], Len(1)]
    k: Whole = 1
    attribute: str | None = None

    def __post_init__(self) -> None:
        refuse_unless_whole("k", self.k)
        if self.alpha == {}:
            raise ValueError("alpha names no value; give a number, or a table such as { HIV = 0.2 }")
        for value in self.alpha.values() if isinstance(self.alpha, Mapping) else [self.alpha]:
            if not 0 < exact("alpha", value) <= 1:
                raise ValueError(f"alpha must lie above 0 and at most at 1, not {value!r}")

    def complies(self, counts: ClassCounts) -> Flags:
        complying = counts.sizes >= self.k
        values, known = self._shares(counts)
        if isinstance(self.alpha, Mapping):
            limits, which = [self._limit(label) for label in values.labels], values.values
        else:
            limits, which = [self._limit(None)], np.zeros_like(values.values)
        over = ~within(values.counts, known[values.classes], limits, which)
        complying[values.classes[over]] = False
        return complying

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        values, known = self._shares(counts)
        whole = known[values.classes]
        share = values.counts / whole
        most = np.zeros(len(values.labels))
        np.maximum.at(most, values.values, share)
        named = {label: 0.0 for label in values.labels if label is not None}
        highest = share == most[values.values]
        attaining = np.unique(np.stack([values.values, values.counts, whole])[:, highest], axis=1)
        for value, count, total in attaining.T.tolist():
            label = values.labels[value]
            assert label is not None
            named[label] = max(named[label], ceiling(Fraction(count, total)))
        return {"alpha": max(named.values(), default=0.0), "values": named}

    def parts(self) -> Iterable[Model]:
        return (KAnonymity(self.k), AlphaK(self.alpha, 1, self.attribute)) if self.k > 1 else (self,)

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Too few rows, or a value's share of the whole table after all suppressible rows were taken from it."""
        few = KAnonymity(self.k).impossible(table, suppressible)
        if few is not None:
            return few
        values, known = self._shares(table)
        for value, count in zip(values.values.tolist(), values.counts.tolist(), strict=True):
            limit, total = self._limit(values.labels[value]), int(known[0])
            left = Fraction(max(count - suppressible, 0), max(total - suppressible, 1))
            if left > limit:
                least = -(-left.numerator * 10_000 // left.denominator) / 10_000
                return f"a value of {self.attribute!r} needs alpha >= {least:.4f} in the whole table"
        return None

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1.0, 1, attribute),) if attribute is not None else ()

    def _shares(self, counts: ClassCounts) -> tuple[ValueCounts, Longs]:
        assert self.attribute is not None
        values = counts.sensitive[self.attribute].non_null()
        known = np.bincount(values.classes, weights=values.counts, minlength=len(counts.sizes))
        return values, known.astype(np.int64)

    def _limit(self, label: str | None) -> Fraction:
        """The largest share that a value may have; 1 where nothing is said."""
        if isinstance(self.alpha, Mapping):
            return exact("alpha", 1 if label is None else self.alpha.get(label, 1))
        return exact("alpha", self.alpha)
