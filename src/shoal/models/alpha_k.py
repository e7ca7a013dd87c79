"""(α,k)-anonymity: no sensitive value fills more than the share α of a class."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Len

from shoal.data.class_counts import ClassCounts, Longs, ValueCounts
from shoal.models.k_anonymity import KAnonymity
from shoal.models.model import (
    READS_THE_CLASS,
    Closure,
    Flags,
    Model,
    Share,
    Whole,
    ceiling,
    exact_share,
    is_within_limits,
    refuse_unless_flag,
    refuse_unless_whole,
    settle_shares,
)
from shoal.models.value_limits import ShareLimits, flag_counted, removed_for_shares


@dataclass(frozen=True, slots=True)
class AlphaK(Model):
    """k-anonymous, and the share of each sensitive value in each class is at most α: one number, or one per value.

    Wong, Li, Fu, Wang, KDD 2006. Shares are of the non-null values, so that null protects nobody,
    unless `null_is_value` (design 7).
    """

    name: ClassVar[str] = "alpha-k"
    family: ClassVar[str] = "Shares of values"
    sentence: ClassVar[str] = (
        "No sensitive value has more than the share alpha of a class; classes have at least k rows."
    )
    adversary: ClassVar[str] = READS_THE_CLASS
    source: ClassVar[str] = "Wong, Li, Fu, Wang, KDD 2006"
    closure: ClassVar[Closure] = Closure.UNION
    per_attribute: ClassVar[bool] = True
    alpha: Share | Annotated[Mapping[str, Share], Len(1)]
    k: Whole = 1
    attribute: str | None = None
    null_is_value: bool = False

    def __post_init__(self) -> None:
        refuse_unless_whole("k", self.k)
        refuse_unless_flag("null-is-value", self.null_is_value)
        if self.alpha == {}:
            raise ValueError("alpha names no value; give a number, or a table such as { HIV = 0.2 }")
        settle_shares(self, "alpha")

    def complies(self, counts: ClassCounts) -> Flags:
        complying = counts.sizes >= self.k
        values, known = self._count_values(counts)
        if isinstance(self.alpha, Mapping):
            limits, which = self.limits(values.labels), values.values
        else:
            limits, which = [self._limit(None)], np.zeros_like(values.values)
        over = ~is_within_limits(values.counts, known[values.classes], limits, which)
        complying[values.classes[over]] = False
        return complying

    def least_removed(self, counts: ClassCounts) -> Longs:
        """Return how many rows of each class must go before every value has at most its share of the rest.

        Of M rows that are left at most α M have a value, so M <= Σ min(n, α M) over the values. Classes of fewer than
        k rows go whole.
        """
        values, _ = self._count_values(counts)
        removed = removed_for_shares(values, self._share_limits(values))
        return np.where(counts.sizes - removed < self.k, counts.sizes, removed)

    def value_limits(self, counts: ClassCounts) -> ShareLimits | None:
        return self._share_limits(self._count_values(counts)[0]) if self.k == 1 else None

    def _share_limits(self, values: ValueCounts) -> ShareLimits:
        counted = flag_counted(values.labels, null=self.null_is_value)
        return ShareLimits(counted, np.array([float(limit) for limit in self.limits(values.labels)]))

    def limits(self, labels: Sequence[str | None]) -> list[Fraction]:
        """Return the greatest share of each value."""
        return [self._limit(label) for label in labels]

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        values, known = self._count_values(counts)
        # per entry (class, value): rows of the class, and share of the value
        whole = known[values.classes]
        share = values.counts / whole
        # most[value]: its largest share in any class; exact fractions only of the entries that attain it
        most = np.zeros(len(values.labels))
        np.maximum.at(most, values.values, share)
        names = _texts_of_labels(values.labels)
        named = {name: 0.0 for name, label in zip(names, values.labels, strict=True) if self._is_counted(label)}
        highest = share >= most[values.values] * (1 - 1e-12)  # a quotient of large numbers is rounded
        attaining = np.unique(np.stack([values.values, values.counts, whole])[:, highest], axis=1)
        for value, count, total in attaining.T.tolist():
            named[names[value]] = max(named[names[value]], ceiling(Fraction(count, total)))
        return {"alpha": max(named.values(), default=0.0), "values": named}

    def worst(self, counts: ClassCounts) -> int | None:
        values, known = self._count_values(counts)
        if not len(values.counts):
            return None
        return int(values.classes[np.argmax(values.counts / known[values.classes])])

    def parts(self) -> Iterable[Model]:
        return (KAnonymity(self.k), replace(self, k=1)) if self.k > 1 else (self,)

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Return the reason if there are too few rows, or a value is too frequent whatever is suppressed."""
        few = KAnonymity(self.k).impossible(table, suppressible)
        if few is not None:
            return few
        values, known = self._count_values(table)
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

    def _count_values(self, counts: ClassCounts) -> tuple[ValueCounts, Longs]:
        assert self.attribute is not None
        values = counts.sensitive[self.attribute].select_protecting(null=self.null_is_value)
        return values, values.totals

    def _is_counted(self, label: str | None) -> bool:
        return label is not None or self.null_is_value

    def _limit(self, label: str | None) -> Fraction:
        """Return the largest share that a value may have; 1 where the policy sets none."""
        if isinstance(self.alpha, Mapping):
            return exact_share("alpha", 1 if label is None else self.alpha.get(label, 1))
        return exact_share("alpha", self.alpha)


def _texts_of_labels(labels: Sequence[str | None]) -> list[str]:
    """Return the labels as texts, with null as a text that no label has.

    >>> _texts_of_labels(["flu", None]), _texts_of_labels(["null", None])
    (['flu', 'null'], ['null', '(null)'])
    """
    null = "null"
    while null in labels:
        null = f"({null})"
    return [null if label is None else label for label in labels]
