"""(p,α)-, (p⁺,α)-sensitive k-anonymity and (l,α)-diversity: enough different values, and enough harmless ones."""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf, nextafter
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
from annotated_types import Gt

from shoal.data.class_counts import ClassCounts, Longs, ValueCounts
from shoal.models.categories import Ranks, count_categories, describe_uncategorised, refuse_invalid_categories
from shoal.models.l_diversity import count_distinct_values
from shoal.models.model import (
    READS_THE_CLASS,
    Closure,
    Flags,
    Model,
    Ratio,
    Whole,
    exact,
    exact_share,
    refuse_unless_whole,
    share_as_text,
)

Over = Literal["tuples", "values"]
"""What a class's weight is the sum of: its rows, or its different values. The papers can be read both ways."""
Weight = Annotated[float, Gt(0)] | Ratio


class WeightedModel(Model):
    """At least a given number of different values, and the values of each class weigh α or more.

    The i-th of c categories, the most secret first, weighs (i-1)/(c-1). Sums of weights only grow when classes merge.
    """

    __slots__ = ()
    closure: ClassVar[Closure] = Closure.SUPERSET
    per_attribute: ClassVar[bool] = True
    least: ClassVar[str]
    """Name of the parameter that says how many different values or categories."""
    counted: ClassVar[str] = "different values"
    alpha: Weight
    categories: Ranks
    over: Over
    attribute: str | None

    def __post_init__(self) -> None:
        refuse_unless_whole(self.least, getattr(self, self.least))
        if exact_share("alpha", self.alpha) <= 0:
            raise ValueError(f"alpha must lie above 0, not {self.alpha!r}")
        object.__setattr__(self, "alpha", share_as_text(self.alpha))
        refuse_invalid_categories(self, least=2)
        if self.over not in get_args(Over):
            raise ValueError(f"over must be 'tuples' or 'values', not {self.over!r}")

    @abstractmethod
    def variety(self, values: ValueCounts) -> Longs:
        """Return the number of different values or categories in each class."""

    def complies(self, counts: ClassCounts) -> Flags:
        values = self._values(counts)
        needed = ceil(exact_share("alpha", self.alpha) * (len(self.categories) - 1))
        if needed > np.iinfo(np.int64).max:
            return np.zeros(len(counts.sizes), dtype=bool)
        return np.asarray((self.variety(values) >= getattr(self, self.least)) & (self._weigh_classes(values) >= needed))

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        if not len(counts.sizes):
            return {self.least: 0, "alpha": 0.0}
        values = self._values(counts)
        lightest = Fraction(int(self._weigh_classes(values).min()), len(self.categories) - 1)
        return {self.least: int(self.variety(values).min()), "alpha": _float_at_most(lightest)}

    def worst(self, counts: ClassCounts) -> int | None:
        values = self._values(counts)
        return int(np.lexsort((self._weigh_classes(values), self.variety(values)))[0]) if len(counts.sizes) else None

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        del suppressible  # suppressing rows adds neither values nor weight
        if self.complies(table).all():
            return None
        values, asked = self._values(table), getattr(self, self.least)
        note, most = describe_uncategorised(values, self.categories), int(self.variety(values).max(initial=0))
        if most < asked:
            return f"{self.attribute!r} has {most} {self.counted} in the whole table{note} < {self.least}={asked}"
        weight = floor(Fraction(int(self._weigh_classes(values)[0]) * 10_000, len(self.categories) - 1)) / 10_000
        return f"{self.attribute!r} weighs {weight:.4f} in the whole table{note} < alpha={self.alpha}"

    def _values(self, counts: ClassCounts) -> ValueCounts:
        assert self.attribute is not None
        return counts.sensitive[self.attribute].non_null()

    def _weigh_classes(self, values: ValueCounts) -> Longs:
        """Return the weight of each class in units of 1/(c-1), a whole number."""
        counts = count_categories(values, self.categories)
        amounts = counts.rows if self.over == "tuples" else counts.values
        return counts.sum_by_class(amounts * np.maximum(counts.categories, 0))


@dataclass(frozen=True, slots=True)
class PAlphaSensitive(WeightedModel):
    """Every class holds at least p different values, and its values weigh at least α.

    Sun, Wang, Li, Truta, Transactions on Data Privacy 1(2), 2008; Sun, Sun, Wang, Computer Communications 34(4), 2011.
    """

    name: ClassVar[str] = "p-alpha-sensitive"
    family: ClassVar[str] = "Different values"
    sentence: ClassVar[str] = "Every class shows at least p different values whose weights add up to alpha."
    adversary: ClassVar[str] = READS_THE_CLASS + ", some worse than others"
    source: ClassVar[str] = "Sun, Wang, Li, Truta, Transactions on Data Privacy 1(2), 2008"
    least: ClassVar[str] = "p"
    p: Whole
    alpha: Weight
    categories: Ranks
    over: Over = "tuples"
    attribute: str | None = None

    def variety(self, values: ValueCounts) -> Longs:
        return count_distinct_values(values)


@dataclass(frozen=True, slots=True)
class PPlusAlphaSensitive(WeightedModel):
    """Every class holds values of at least p different categories, and its values weigh at least α.

    Sun, Sun, Wang, Computer Communications 34(4), 2011.
    """

    name: ClassVar[str] = "p-plus-alpha-sensitive"
    family: ClassVar[str] = "Different values"
    sentence: ClassVar[str] = "Every class shows values of at least p categories whose weights add up to alpha."
    adversary: ClassVar[str] = READS_THE_CLASS + ", some worse than others"
    source: ClassVar[str] = "Sun, Sun, Wang, Computer Communications 34(4), 2011"
    least: ClassVar[str] = "p"
    counted: ClassVar[str] = "categories"
    p: Whole
    alpha: Weight
    categories: Ranks
    over: Over = "tuples"
    attribute: str | None = None

    def variety(self, values: ValueCounts) -> Longs:
        return count_categories(values, self.categories).distinct


@dataclass(frozen=True, slots=True)
class LAlphaDiversity(WeightedModel):
    """Every class holds at least l different values, and its values weigh at least α.

    Sun, Li, Wang, Future Generation Computer Systems 27(3), 2011.
    """

    name: ClassVar[str] = "l-alpha-diversity"
    family: ClassVar[str] = "Different values"
    sentence: ClassVar[str] = "Every class shows at least l different values whose weights add up to alpha."
    adversary: ClassVar[str] = READS_THE_CLASS + ", some worse than others"
    source: ClassVar[str] = "Sun, Li, Wang, Future Generation Computer Systems 27(3), 2011"
    least: ClassVar[str] = "l"
    l: Whole
    alpha: Weight
    categories: Ranks
    over: Over = "tuples"
    attribute: str | None = None

    def variety(self, values: ValueCounts) -> Longs:
        return count_distinct_values(values)


def _float_at_most(share: Fraction) -> float:
    """Return the greatest float that, read back as a decimal, is not above `share`, so that a policy may state it.

    >>> _float_at_most(Fraction(5, 2)), _float_at_most(Fraction(2, 3))
    (2.5, 0.6666666666666666)
    """
    nearest = float(share)
    return nearest if exact("share", nearest) <= share else nextafter(nearest, -inf)
