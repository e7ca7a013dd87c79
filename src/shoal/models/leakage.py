"""(alp,dif)-anonymity: how likely the sensitive values that need protection leak, on average and at worst."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import fsum
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Len
from numpy.typing import NDArray

from shoal.data.class_counts import ClassCounts, Longs, ValueCounts
from shoal.models.model import (
    READS_THE_CLASS,
    Closure,
    Flags,
    Model,
    Part,
    Share,
    ceiling,
    exact_share,
    refuse_unless_flag,
    settle_shares,
)

_UNSURE = 1e-12
"""How near floats may come to a limit before the comparison is made with fractions."""


@dataclass(frozen=True)
class Leakage:
    """The leakage of one value: the sum of y² for each size x of a class that holds it, and how many hold it.

    Classes of one size are added as whole numbers, so there are as many fractions as sizes: few, even of many classes.

    >>> leak = Leakage.of(np.array([3, 1, 3, 3]), np.array([6, 3, 5, 5]))
    >>> leak.average, leak.most - leak.average
    (Fraction(163, 300), Fraction(17, 300))
    """

    sizes: Longs
    squares: NDArray[Any]
    holders: int
    most: Fraction
    """The highest LP of any class."""

    @classmethod
    def of(cls, part: Longs, whole: Longs) -> "Leakage":
        """Compute from the entries of a value: its rows y, and all rows x, of each class that holds it."""
        # int64 where the sum of squares fits, else Python integers
        small = int(part.max()) ** 2 * len(part) <= np.iinfo(np.int64).max
        exactly = part.astype(np.int64 if small else object)
        # squares[size]: Σ y² over the classes of this size
        sizes, at = np.unique(whole, return_inverse=True)
        squares = np.zeros(len(sizes), dtype=exactly.dtype)
        np.add.at(squares, at, exactly * exactly)
        share = part / whole
        highest = np.unique(np.stack([part, whole])[:, share == share.max()], axis=1)
        most = max(Fraction(y, x) for y, x in highest.T.tolist())
        return cls(sizes, squares, int(part.sum()), most)

    @cached_property
    def average(self) -> Fraction:
        """The average leakage (ALP) as an exact fraction."""
        terms = [Fraction(int(y), x) for y, x in zip(self.squares, self.sizes.tolist(), strict=True)]
        while len(terms) > 1:  # in pairs: the denominators stay small for longer
            odd = terms[len(terms) & ~1 :]
            terms = [one + other for one, other in zip(terms[::2], terms[1::2], strict=False)] + odd
        return terms[0] / self.holders

    @cached_property
    def approximate_average(self) -> float:
        """The average leakage (ALP) as a float, accurate to a few units in the last place."""
        return fsum(self.squares / self.sizes) / self.holders

    def average_within(self, limit: Fraction) -> bool:
        """Whether ALP <= limit; computed with fractions only where floats cannot tell."""
        margin = float(limit) - self.approximate_average
        return margin > 0 if abs(margin) > _UNSURE else self.average <= limit

    def excess_within(self, limit: Fraction) -> bool:
        """Whether LP − ALP <= limit in every class."""
        margin = float(limit - self.most) + self.approximate_average
        return margin > 0 if abs(margin) > _UNSURE else self.most - self.average <= limit


Limits = Mapping[str, float | str]


@dataclass(frozen=True, slots=True)
class AlpDif(Model):
    """Each value with a threshold leaks with at most alp on average, and in no class with more than dif above that.

    LP = y/x for a class of x rows of which y have the value; ALP = Σ(y²/x)/Σy over what is kept, the mean over the rows
    that have it; DIF = LP − ALP. Values without a threshold are not protected; a number is a threshold for every value.
    Shares are of the non-null values unless `null_is_value`, and null has no threshold (design 7).

    Wang, Xu, Qu, "An Enhanced K-Anonymity Model against Homogeneity Attack", Journal of Software 6(10), 2011.
    """

    name: ClassVar[str] = "alp-dif"
    family: ClassVar[str] = "Shares of values"
    sentence: ClassVar[str] = (
        "How surely a protected value is told is limited: on average by alp, and in any class by dif above that."
    )
    adversary: ClassVar[str] = READS_THE_CLASS
    source: ClassVar[str] = "Wang, Xu, Qu, Journal of Software 6(10), 2011"
    closure: ClassVar[Closure] = Closure.UNION
    per_attribute: ClassVar[bool] = True
    alp: Share | Annotated[Mapping[str, Share], Len(1)] | None = None
    dif: Part | Annotated[Mapping[str, Part], Len(1)] | None = None
    attribute: str | None = None
    null_is_value: bool = False

    def __post_init__(self) -> None:
        refuse_unless_flag("null-is-value", self.null_is_value)
        if self.alp is None and self.dif is None:
            raise ValueError("alp-dif needs alp or dif, tables such as alp = { HIV = 0.4 }")
        for name, limits in (("alp", self.alp), ("dif", self.dif)):
            if limits == {}:
                raise ValueError(f"{name} names no value; give a table such as {{ HIV = 0.4 }}, or a number for all")
        if self.alp is not None:
            settle_shares(self, "alp")
        if self.dif is not None:
            settle_shares(self, "dif", zero=True)

    @property
    def table_wide(self) -> bool:
        return True

    @property
    def merging(self) -> Closure:
        """ALP never rises when classes merge (Theorem 1); the DIF of a class that was not merged can."""
        return Closure.UNION if self.dif is None else Closure.NOT

    def complies(self, counts: ClassCounts) -> Flags:
        return np.ones(len(counts.sizes), dtype=bool)

    def holds(self, counts: ClassCounts) -> bool:
        leaks = self._measure_leakage(counts)
        low = all(leaks[value].average_within(limit) for value, limit in _limits("alp", self.alp, leaks).items())
        return low and all(
            leaks[value].excess_within(limit) for value, limit in _limits("dif", self.dif, leaks).items()
        )

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        """Return ALP and the largest DIF of each protected value that occurs."""
        leaks = self._measure_leakage(counts)
        return {
            "alp": {value: ceiling(leak.average) for value, leak in leaks.items()},
            "dif": {value: ceiling(leak.most - leak.average) for value, leak in leaks.items()},
        }

    def worst(self, counts: ClassCounts) -> int | None:
        """Return the class in which a protected value is likeliest."""
        values = self._values(counts)
        at = np.flatnonzero(np.isin(values.values, list(self._protected(values))))
        if not len(at):
            return None
        share = values.counts[at] / values.totals[values.classes[at]]
        return int(values.classes[at[share.argmax()]])

    def parts(self) -> Iterable[Model]:
        if self.alp is None or self.dif is None:
            return (self,)
        return (replace(self, dif=None), replace(self, alp=None))

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Apply Theorem 2: ALP is at least the value's share, and suppressing S rows leaves at least (y−S)/(N−S)."""
        leaks, total = self._measure_leakage(table), int(self._values(table).totals.sum())
        for value, limit in _limits("alp", self.alp, leaks).items():
            left = Fraction(max(leaks[value].holders - suppressible, 0), max(total - suppressible, 1))
            if left > limit:
                least = -(-left.numerator * 10_000 // left.denominator)
                who = value if isinstance(self.alp, Mapping) else f"a value of {self.attribute!r}"
                stays = f"{'stays' if suppressible else 'is'} {least / 100:.2f} % of the rows"
                when = f" when {suppressible} of its own are suppressed" if suppressible else ""
                return f"{who} {stays}{when}, so alp >= {least / 10_000:.4f} is needed"
        return None

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1.0, 1.0, attribute),) if attribute is not None else ()

    def _values(self, counts: ClassCounts) -> ValueCounts:
        assert self.attribute is not None
        return counts.sensitive[self.attribute].select_protecting(null=self.null_is_value)

    def _protected(self, values: ValueCounts) -> dict[int, str]:
        """Return the values that have a threshold, by their code."""
        tables = [limits for limits in (self.alp, self.dif) if limits is not None]
        every = any(not isinstance(limits, Mapping) for limits in tables)
        named = {value for limits in tables if isinstance(limits, Mapping) for value in limits}
        labels = enumerate(values.labels)
        return {code: label for code, label in labels if label is not None and (every or label in named)}

    def _measure_leakage(self, counts: ClassCounts) -> dict[str, Leakage]:
        """Return the leakage of each protected value that occurs."""
        values = self._values(counts)
        # entries sorted by value; those of a code are ends[code]:ends[code + 1]
        order = np.argsort(values.values, kind="stable")
        part, whole = values.counts[order], values.totals[values.classes[order]]
        ends = np.searchsorted(values.values[order], np.arange(len(values.labels) + 1))
        found = {label: slice(ends[code], ends[code + 1]) for code, label in self._protected(values).items()}
        return {label: Leakage.of(part[at], whole[at]) for label, at in found.items() if at.stop > at.start}


def _limits(name: str, limits: float | str | Limits | None, values: Iterable[str]) -> dict[str, Fraction]:
    """Return the threshold of each of these values that has one."""
    if limits is None:
        return {}
    if isinstance(limits, Mapping):
        return {value: exact_share(name, limits[value]) for value in values if value in limits}
    return dict.fromkeys(values, exact_share(name, limits))
