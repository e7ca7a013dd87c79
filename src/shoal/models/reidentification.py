"""Risks of re-identification that a whole table keeps under a limit: average risk, sample and population uniqueness."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from annotated_types import Ge, Le

from shoal.data.class_counts import ClassCounts
from shoal.estimators import ESTIMATORS, Estimate, Sample, population_uniques
from shoal.models.model import FINDS_THE_ROW, Closure, Flags, Model, Share, Whole, ceiling, exact, refuse_unless_whole

Part = Annotated[float, Ge(0), Le(1)]
"""A share that may be nothing at all."""


def _refuse_unless_share(value: object, *, zero: bool) -> None:
    share = exact("max", value)
    if not 0 <= share <= 1 or (share == 0 and not zero):
        raise ValueError(f"max must lie {'from 0 to 1' if zero else 'above 0 and at most at 1'}, not {value!r}")


class OfTheTable(Model):
    """A promise about all classes together; the smallest is where people are most at risk."""

    __slots__ = ()

    @property
    def table_wide(self) -> bool:
        return True

    def complies(self, counts: ClassCounts) -> Flags:
        return np.ones(len(counts.sizes), dtype=bool)

    def worst(self, counts: ClassCounts) -> int | None:
        return int(counts.sizes.argmin()) if len(counts.sizes) else None


@dataclass(frozen=True, slots=True)
class AverageRisk(OfTheTable):
    """The mean over the rows of 1/(size of their class), which is classes/rows, is at most `max`.

    El Emam, Dankar 2008: the average risk of a prosecutor, and a marketer's share of people re-identified.

    >>> AverageRisk(0.5).holds(ClassCounts(np.array([3, 2, 1])))
    True
    """

    name: ClassVar[str] = "average-risk"
    family: ClassVar[str] = "Who can be found"
    sentence: ClassVar[str] = "The mean chance of picking the right row is at most this."
    adversary: ClassVar[str] = "picks a row for everybody"
    source: ClassVar[str] = "El Emam and Dankar, JAMIA 15(5), 2008"
    closure: ClassVar[Closure] = Closure.UNION
    max: Share

    def __post_init__(self) -> None:
        _refuse_unless_share(self.max, zero=False)

    def holds(self, counts: ClassCounts) -> bool:
        return len(counts.sizes) <= exact("max", self.max) * counts.rows

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        return {"max": ceiling(Fraction(len(counts.sizes), max(counts.rows, 1)))}

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Reason from one class of all rows, which has the least average risk; suppressing rows only raises it."""
        del suppressible
        if not table.rows or exact("max", self.max) * table.rows >= 1:
            return None
        least = -(-10_000 // table.rows) / 10_000
        return f"{table.rows} records have an average risk of 1/{table.rows} even as one class: max >= {least:.4f}"

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1.0),) if attribute is None else ()


@dataclass(frozen=True, slots=True)
class SampleUniqueness(OfTheTable):
    """The share of the rows that are alone in their class is at most `max`.

    >>> SampleUniqueness(0.1).attained(ClassCounts(np.array([3, 2, 1, 2])))
    {'max': 0.125}
    """

    name: ClassVar[str] = "sample-uniqueness"
    family: ClassVar[str] = "Who can be found"
    sentence: ClassVar[str] = "At most this share of the rows is alone in its class."
    adversary: ClassVar[str] = FINDS_THE_ROW
    source: ClassVar[str] = "El Emam and Dankar, JAMIA 15(5), 2008"
    closure: ClassVar[Closure] = Closure.UNION
    max: Part

    def __post_init__(self) -> None:
        _refuse_unless_share(self.max, zero=True)

    def holds(self, counts: ClassCounts) -> bool:
        return _uniques(counts) <= exact("max", self.max) * counts.rows

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        return {"max": ceiling(Fraction(_uniques(counts), max(counts.rows, 1)))}

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1.0),) if attribute is None else ()


def _uniques(counts: ClassCounts) -> int:
    return int((counts.sizes == 1).sum())


@dataclass(frozen=True, slots=True)
class PopulationUniqueness(OfTheTable):
    """The estimated share of the population that is unique in it is at most `max`; without an estimate it fails.

    The table is a sample of `population_size` people. `estimator` is one of Zayatz 1991, Pitman (Hoshino 2001) and SNB
    (Chen, Keller-McNulty 1998), or the rule of Dankar, El Emam, Neisa and Roffey 2012 that chooses among them. The
    estimate is a float, compared with a tolerance of 1e-12.
    """

    name: ClassVar[str] = "population-uniqueness"
    family: ClassVar[str] = "Who can be found"
    sentence: ClassVar[str] = "At most this share of the rows is estimated to be alone in the whole population."
    adversary: ClassVar[str] = "knows the population, but not who of it is in the table"
    source: ClassVar[str] = "Dankar, El Emam, Neisa, Roffey, BMC Medical Informatics and Decision Making 12, 2012"
    closure: ClassVar[Closure] = Closure.NOT
    max: Part
    population_size: Whole
    estimator: Literal["dankar", "zayatz", "pitman", "snb"] = "dankar"

    def __post_init__(self) -> None:
        _refuse_unless_share(self.max, zero=True)
        refuse_unless_whole("population-size", self.population_size)
        known = ["dankar", *ESTIMATORS]
        if self.estimator not in known:
            raise ValueError(f"estimator must be one of {', '.join(known)}, not {self.estimator!r}")

    def holds(self, counts: ClassCounts) -> bool:
        found = self._estimate(counts)
        return found is not None and found.uniques / self.population_size <= self.max + 1e-12

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        found = self._estimate(counts)
        if found is None:
            return {"max": None, "uniques": None, "estimator": "no estimate"}
        return {"max": found.uniques / self.population_size, "uniques": found.uniques, "estimator": found.estimator}

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Reason if the table has more people than its population."""
        if table.rows - suppressible <= self.population_size:
            return None
        return f"{table.rows} records > population-size={self.population_size}: they are no sample of it"

    def _estimate(self, counts: ClassCounts) -> Estimate | None:
        if not len(counts.sizes):
            return Estimate(0.0, self.estimator)
        return population_uniques(Sample.of(counts.sizes, self.population_size), self.estimator)
