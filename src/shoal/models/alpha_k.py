"""(α,k)-anonymity: no sensitive value fills more than the share α of a class."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from shoal.counts import ClassCounts, Longs
from shoal.models.base import Closure, Flags, Model, exact, refuse_unless_whole
from shoal.models.k_anonymity import KAnonymity


@dataclass(frozen=True, slots=True)
class AlphaK:
    """k-anonymous, and the share of each sensitive value in each class is at most α: one number, or one per value.

    Wong, Li, Fu, Wang, KDD 2006. Shares are of the non-null values, so that null protects nobody.
    """

    name: ClassVar[str] = "alpha-k"
    closure: ClassVar[Closure] = Closure.UNION
    per_attribute: ClassVar[bool] = True
    alpha: float | Mapping[str, float]
    k: int = 1
    attribute: str | None = None

    def __post_init__(self) -> None:
        refuse_unless_whole("k", self.k)
        for value in self.alpha.values() if isinstance(self.alpha, Mapping) else [self.alpha]:
            if not 0 < exact("alpha", value) <= 1:
                raise ValueError(f"alpha must lie above 0 and at most at 1, not {value!r}")

    def complies(self, counts: ClassCounts) -> Flags:
        large = counts.sizes >= self.k
        values, known = self._shares(counts)
        over = np.zeros(len(counts.sizes), dtype=bool)
        for value, label in enumerate(values.labels):
            limit = self._limit(label)
            if limit is not None:
                chosen = values.values == value
                at = values.classes[chosen]
                # n(E,s)/|E| <= p/q compared in integers
                over[at] |= values.counts[chosen] * limit.denominator > known[at] * limit.numerator
        return large & ~over

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        values, known = self._shares(counts)
        share = values.counts / known[values.classes]
        most = np.zeros(len(values.labels))
        np.maximum.at(most, values.values, share)
        named = {label: float(a) for label, a in zip(values.labels, most, strict=True) if label is not None}
        return {"alpha": max(named.values(), default=0.0), "values": named}

    def parts(self) -> Iterable[Model]:
        return (KAnonymity(self.k), AlphaK(self.alpha, 1, self.attribute)) if self.k > 1 else (self,)

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """The value's share of the whole table, even after all suppressible rows were taken from it."""
        values, known = self._shares(table)
        for value, count in zip(values.values.tolist(), values.counts.tolist(), strict=True):
            limit, total = self._limit(values.labels[value]), int(known[0])
            left = Fraction(max(count - suppressible, 0), max(total - suppressible, 1))
            if limit is not None and left > limit:
                least = -(-left.numerator * 10_000 // left.denominator) / 10_000
                return f"a value of {self.attribute!r} needs alpha >= {least:.4f} in the whole table"
        return None

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1.0, 1, attribute),) if attribute is not None else ()

    def _shares(self, counts: ClassCounts) -> tuple[Any, Longs]:
        assert self.attribute is not None
        values = counts.sensitive[self.attribute].non_null()
        known = np.bincount(values.classes, weights=values.counts, minlength=len(counts.sizes))
        return values, known.astype(np.int64)

    def _limit(self, label: str | None) -> Fraction | None:
        if label is None:
            return None
        if isinstance(self.alpha, Mapping):
            return exact("alpha", self.alpha[label]) if label in self.alpha else None
        return exact("alpha", self.alpha)
