"""p-sensitive k-anonymity and p⁺-sensitive k-anonymity, without their k, which is a model of its own."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from shoal.data.class_counts import ClassCounts, Longs
from shoal.models.categories import Categories, count_categories, describe_uncategorised, refuse_invalid_categories
from shoal.models.l_diversity import count_distinct_values
from shoal.models.model import READS_THE_CLASS, Closure, Flags, Model, Whole, refuse_unless_flag, refuse_unless_whole


class DistinctCountModel(Model):
    """Every class holds at least p different values or categories."""

    __slots__ = ()
    p: int

    @property
    def least_rows(self) -> int:
        return self.p

    def complies(self, counts: ClassCounts) -> Flags:
        return self._distinct(counts) >= self.p

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        distinct = self._distinct(counts)
        return {"p": int(distinct.min()) if len(distinct) else 0}

    def worst(self, counts: ClassCounts) -> int | None:
        return int(self._distinct(counts).argmin()) if len(counts.sizes) else None

    @abstractmethod
    def _distinct(self, counts: ClassCounts) -> Longs:
        """Return the number of different values or categories in each class."""


@dataclass(frozen=True, slots=True)
class PSensitive(DistinctCountModel):
    """Every class holds at least p different values of a sensitive attribute.

    Truta and Vinay, ICDE Workshops 2006. Their first necessary condition, p values in the table, is asked before the
    search; their second bounds the number of classes, and where the first holds it never forbids a class of all rows.
    """

    name: ClassVar[str] = "p-sensitive"
    family: ClassVar[str] = "Different values"
    sentence: ClassVar[str] = "Every class shows at least p different sensitive values."
    adversary: ClassVar[str] = READS_THE_CLASS
    source: ClassVar[str] = "Truta and Vinay, ICDE Workshops 2006"
    closure: ClassVar[Closure] = Closure.SUPERSET
    per_attribute: ClassVar[bool] = True
    p: Whole
    attribute: str | None = None
    null_is_value: bool = False

    def __post_init__(self) -> None:
        refuse_unless_whole("p", self.p)
        refuse_unless_flag("null-is-value", self.null_is_value)

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        del suppressible  # suppressing rows adds no value
        most = int(self._distinct(table).max(initial=0))
        if most >= self.p:
            return None
        return f"{self.attribute!r} has {most} different values in the whole table < p={self.p}"

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1, attribute),) if attribute is not None else ()

    def _distinct(self, counts: ClassCounts) -> Longs:
        assert self.attribute is not None
        return count_distinct_values(counts.sensitive[self.attribute].select_protecting(null=self.null_is_value))


@dataclass(frozen=True, slots=True)
class PPlusSensitive(DistinctCountModel):
    """Every class holds values of at least p different categories of a sensitive attribute.

    Sun, Wang, Li, Truta, Transactions on Data Privacy 1(2), 2008; Sun, Sun, Wang, Computer Communications 34(4), 2011.
    """

    name: ClassVar[str] = "p-plus-sensitive"
    family: ClassVar[str] = "Different values"
    sentence: ClassVar[str] = "Every class shows values of at least p categories."
    adversary: ClassVar[str] = READS_THE_CLASS + ", and their kind"
    source: ClassVar[str] = "Sun, Wang, Li, Truta, Transactions on Data Privacy 1(2), 2008"
    closure: ClassVar[Closure] = Closure.SUPERSET
    per_attribute: ClassVar[bool] = True
    p: Whole
    categories: Categories
    attribute: str | None = None

    def __post_init__(self) -> None:
        refuse_unless_whole("p", self.p)
        refuse_invalid_categories(self)

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        del suppressible  # suppressing rows adds no category
        assert self.attribute is not None
        most = int(self._distinct(table).max(initial=0))
        if most >= self.p:
            return None
        note = describe_uncategorised(table.sensitive[self.attribute], self.categories)
        return f"{self.attribute!r} has {most} categories in the whole table{note} < p={self.p}"

    def _distinct(self, counts: ClassCounts) -> Longs:
        assert self.attribute is not None
        return count_categories(counts.sensitive[self.attribute], self.categories).distinct
