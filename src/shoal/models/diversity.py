"""l-diversity: every class shows enough different sensitive values."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from shoal.counts import ClassCounts, Longs
from shoal.models.base import Closure, Flags, Model, Whole, refuse_unless_flag, refuse_unless_whole


@dataclass(frozen=True, slots=True)
class DistinctLDiversity(Model):
    """Every class holds at least l different values of a sensitive attribute.

    Null is not one of them unless `null_is_value`: who lacks a value is not hidden by it (design 7).

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ICDE 2006.
    """

    name: ClassVar[str] = "distinct-l-diversity"
    closure: ClassVar[Closure] = Closure.SUPERSET
    per_attribute: ClassVar[bool] = True
    l: Whole
    attribute: str | None = None
    null_is_value: bool = False

    def __post_init__(self) -> None:
        refuse_unless_whole("l", self.l)
        refuse_unless_flag("null-is-value", self.null_is_value)

    def complies(self, counts: ClassCounts) -> Flags:
        return self._distinct(counts) >= self.l

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        distinct = self._distinct(counts)
        return {"l": int(distinct.min()) if len(distinct) else 0}

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        del suppressible  # suppressing rows adds no value
        most = int(self._distinct(table).max(initial=0))
        if most >= self.l:
            return None
        return f"{self.attribute!r} has {most} different values in the whole table < l={self.l}"

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1, attribute),) if attribute is not None else ()

    def _distinct(self, counts: ClassCounts) -> Longs:
        assert self.attribute is not None
        values = counts.sensitive[self.attribute].protecting(null=self.null_is_value)
        return np.bincount(values.classes, minlength=len(counts.sizes)).astype(np.int64)
