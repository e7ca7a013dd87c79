"""(α,β,k)-anonymity: among the values of a class more pairs are unlike than alike."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.data.class_counts import ClassCounts, Longs
from shoal.models.categories import Categories, count_categories, refuse_invalid_categories
from shoal.models.k_anonymity import KAnonymity
from shoal.models.model import (
    READS_THE_CLASS,
    Closure,
    Flags,
    Model,
    Whole,
    refuse_unless_opted_in,
    refuse_unless_whole,
)
from shoal.models.p_sensitive import PSensitive


@dataclass(frozen=True, slots=True)
class AlphaBetaK(Model):
    """k-anonymous, β different values in every class, and α more pairs of unlike than of like ones. Experimental.

    Zhao, Wang, Luo 2009, as the (alp,dif)-anonymity paper describes it. Pairs are of different values of a class; two
    are alike when they are in one category, or one of them in none. Merging can break it: {a1,b}, {a2,b} and {a3,b}
    have one unlike pair and no like one each, together three and three.
    """

    name: ClassVar[str] = "alpha-beta-k"
    family: ClassVar[str] = "Different values"
    sentence: ClassVar[str] = (
        "Every class has k rows, beta different values, and pairs of unlike values outnumber pairs of like ones."
    )
    adversary: ClassVar[str] = READS_THE_CLASS
    source: ClassVar[str] = "Zhao, Wang, Luo 2009"
    closure: ClassVar[Closure] = Closure.NOT
    per_attribute: ClassVar[bool] = True
    alpha: Whole
    beta: Whole
    k: Whole
    categories: Categories
    attribute: str | None = None
    experimental: bool = False

    def __post_init__(self) -> None:
        refuse_unless_opted_in(self.name, self.experimental)
        for name in ("alpha", "beta", "k"):
            refuse_unless_whole(name, getattr(self, name))
        refuse_invalid_categories(self)

    def complies(self, counts: ClassCounts) -> Flags:
        values, like, unlike = self._pairs(counts)
        return (counts.sizes >= self.k) & (values >= self.beta) & (unlike - like >= self.alpha)

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        if not len(counts.sizes):
            return {"alpha": 0, "beta": 0, "k": 0}
        values, like, unlike = self._pairs(counts)
        return {"alpha": int((unlike - like).min()), "beta": int(values.min()), "k": int(counts.sizes.min())}

    def worst(self, counts: ClassCounts) -> int | None:
        _, like, unlike = self._pairs(counts)
        return int((unlike - like).argmin()) if len(counts.sizes) else None

    def parts(self) -> Iterable[Model]:
        """Split off k and β, which prune; only the rest is not closed."""
        return (KAnonymity(self.k), PSensitive(self.beta, self.attribute), replace(self, k=1, beta=1))

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Return the reason if there are too few rows, values, or unlike pairs: no class has more than the table."""
        few = KAnonymity(self.k).impossible(table, suppressible)
        if few is not None:
            return few
        values, _, unlike = self._pairs(table)
        if values[0] < self.beta:
            return f"{self.attribute!r} has {values[0]} different values in the whole table < beta={self.beta}"
        if unlike[0] < self.alpha:
            return f"{self.attribute!r} has {unlike[0]} pairs of unlike values in the whole table < alpha={self.alpha}"
        return None

    def _pairs(self, counts: ClassCounts) -> tuple[Longs, Longs, Longs]:
        """Return for each class its number of different values, and how many pairs of them are alike and unlike."""
        assert self.attribute is not None
        held = count_categories(counts.sensitive[self.attribute], self.categories)
        # per class: different values, and those of them in no category
        values = held.sum_by_class(held.values)
        known = held.categories >= 0
        stray = held.sum_by_class(np.where(known, 0, held.values))
        # pairs within one category; a value of no category is like every other
        inside = held.sum_by_class(np.where(known, held.values * (held.values - 1) // 2, 0))
        like = inside + stray * (stray - 1) // 2 + stray * (values - stray)
        return values, like, values * (values - 1) // 2 - like
