"""(a,d)-diversity: l-diversity of categories instead of values."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any, ClassVar

import numpy as np

from shoal.data.class_counts import ClassCounts, Indices, Longs
from shoal.models.categories import Categories, CategoryCounts, count_categories, refuse_invalid_categories
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
    refuse_unless_opted_in,
    refuse_unless_whole,
    settle_shares,
)
from shoal.models.p_sensitive import PPlusSensitive


@dataclass(frozen=True, slots=True)
class ADDiversity(Model):
    """Every class holds at least d categories, and none of them fills more than the share a of it. Experimental.

    Wang and Shi, WCSE 2009, as the (alp,dif)-anonymity paper describes it. Values of no category are added to every
    one, because they may belong there. Shares are of the values that are not null.
    """

    name: ClassVar[str] = "a-d-diversity"
    family: ClassVar[str] = "Different values"
    sentence: ClassVar[str] = "Every class shows d categories, and none of them has more than the share a of it."
    adversary: ClassVar[str] = READS_THE_CLASS + ", and their kind"
    source: ClassVar[str] = "Wang and Shi, WCSE 2009"
    closure: ClassVar[Closure] = Closure.UNION
    per_attribute: ClassVar[bool] = True
    a: Share
    d: Whole
    categories: Categories
    attribute: str | None = None
    experimental: bool = False

    def __post_init__(self) -> None:
        refuse_unless_opted_in(self.name, self.experimental)
        settle_shares(self, "a")
        refuse_unless_whole("d", self.d)
        refuse_invalid_categories(self)

    def complies(self, counts: ClassCounts) -> Flags:
        held, classes, part, whole = self._shares(counts)
        complying = held.distinct >= self.d
        fits = is_within_limits(part, whole, [exact_share("a", self.a)], np.zeros_like(classes))
        complying[classes[~fits]] = False
        return complying

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        held, _, part, whole = self._shares(counts)
        # exact fractions only of the entries with the largest share as floats
        share = part / whole
        pairs = np.unique(np.stack([part, whole])[:, share >= share.max(initial=0) * (1 - 1e-12)], axis=1)
        largest = max((Fraction(int(p), int(w)) for p, w in pairs.T), default=Fraction(0))
        return {"a": ceiling(largest), "d": int(held.distinct.min()) if len(counts.sizes) else 0}

    def worst(self, counts: ClassCounts) -> int | None:
        _, classes, part, whole = self._shares(counts)
        return int(classes[np.argmax(part / whole)]) if len(classes) else None

    def parts(self) -> Iterable[Model]:
        """Split into the count, closed under supersets, and the share, closed under unions."""
        if self.d == 1:
            return (self,)
        return (PPlusSensitive(self.d, self.categories, self.attribute), replace(self, d=1))

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Return the reason if there are too few categories, or one is too large whatever is suppressed."""
        few = PPlusSensitive(self.d, self.categories, self.attribute).impossible(table, suppressible)
        if few is not None:
            return few.replace(f"p={self.d}", f"d={self.d}")
        assert self.attribute is not None
        persons = table.sensitive[self.attribute].everyone is not None  # one may have several values of a category
        _, _, part, whole = self._shares(table)
        limit = exact_share("a", self.a)
        for held, of in zip(part.tolist(), whole.tolist(), strict=True):
            left = Fraction(max(held - suppressible, 0), max(of - (0 if persons else suppressible), 1))
            if left > limit:
                least = ceil(left * 10_000) / 10_000
                return f"a category of {self.attribute!r} needs a >= {least:.4f} in the whole table"
        return None

    def _shares(self, counts: ClassCounts) -> tuple[CategoryCounts, Indices, Longs, Longs]:
        """Return the category counts; and for each (class, category) pair the class, and part and whole of its share.

        The part is the rows of the category plus those of no category, the whole all rows of the class with a value.
        """
        assert self.attribute is not None
        values = counts.sensitive[self.attribute].non_null()
        held = count_categories(values, self.categories)
        known = held.categories >= 0
        # rows of no category in each class: [class]
        stray = held.sum_by_class(np.where(known, 0, held.rows))
        classes = held.classes[known]
        return held, classes, held.rows[known] + stray[classes], values.totals[classes]
