"""Risks of re-identification that a whole table keeps under a limit: average risk, sample and population uniqueness."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self

import numpy as np

from shoal.data.class_counts import ClassCounts, Longs
from shoal.estimators import ESTIMATORS, Estimate, Sample, population_uniques
from shoal.models.model import (
    FINDS_THE_ROW,
    Closure,
    Flags,
    Model,
    Part,
    Share,
    Whole,
    ceiling,
    exact_share,
    refuse_unless_whole,
    settle_shares,
)


class TableWideModel(Model):
    """A promise about the sizes of all classes together; the smallest class is the worst."""

    __slots__ = ()

    @property
    def table_wide(self) -> bool:
        return True

    @property
    def suppresses_smallest(self) -> bool:
        return True

    def complies(self, counts: ClassCounts) -> Flags:
        return np.ones(len(counts.sizes), dtype=bool)

    def worst(self, counts: ClassCounts) -> int | None:
        return int(counts.sizes.argmin()) if len(counts.sizes) else None


@dataclass(frozen=True, slots=True)
class AverageRisk(TableWideModel):
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
        settle_shares(self, "max")

    def holds(self, counts: ClassCounts) -> bool:
        return len(counts.sizes) <= exact_share("max", self.max) * counts.rows

    @property
    def largest_suppressed(self) -> int:
        """A class of f rows is one class less and f rows less: that helps while max · f < 1."""
        return int(1 / exact_share("max", self.max))

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        return {"max": ceiling(Fraction(len(counts.sizes), max(counts.rows, 1)))}

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Return the reason if even one class of all rows, which has the least average risk, exceeds the limit."""
        del suppressible
        if not table.rows or exact_share("max", self.max) * table.rows >= 1:
            return None
        least = -(-10_000 // table.rows) / 10_000
        many = f"{table.rows} {table.counted}"
        return f"{many} have an average risk of 1/{table.rows} even as one class: max >= {least:.4f}"

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1.0),) if attribute is None else ()


@dataclass(frozen=True, slots=True)
class SampleUniqueness(TableWideModel):
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
        settle_shares(self, "max", zero=True)

    def holds(self, counts: ClassCounts) -> bool:
        return _uniques(counts) <= exact_share("max", self.max) * counts.rows

    @property
    def largest_suppressed(self) -> int:
        """Only rows that are alone are fewer without them."""
        return 1

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        return {"max": ceiling(Fraction(_uniques(counts), max(counts.rows, 1)))}

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1.0),) if attribute is None else ()


def _uniques(counts: ClassCounts) -> int:
    return int((counts.sizes == 1).sum())


@dataclass(frozen=True, slots=True)
class PopulationUniqueness(TableWideModel):
    """The estimated share of the population that is unique in it is at most `max`; without an estimate it fails.

    The table is a sample of `population_size` people. `estimator` is one of Zayatz 1991, Pitman (Hoshino 2001) and SNB
    (Chen, Keller-McNulty 1998), or the rule of Dankar, El Emam, Neisa and Roffey 2012 that chooses among them. The
    estimate is a float, compared with a tolerance of 1e-12.
    """

    name: ClassVar[str] = "population-uniqueness"
    family: ClassVar[str] = "Who can be found"
    sentence: ClassVar[str] = "At most this share of the population is estimated to be alone in it."
    adversary: ClassVar[str] = "knows the population, but not who of it is in the table"
    source: ClassVar[str] = "Dankar, El Emam, Neisa, Roffey, BMC Medical Informatics and Decision Making 12, 2012"
    closure: ClassVar[Closure] = Closure.NOT
    max: Part
    population_size: Whole
    estimator: Literal["dankar", "zayatz", "pitman", "snb"] = "dankar"

    def __post_init__(self) -> None:
        settle_shares(self, "max", zero=True)
        refuse_unless_whole("population-size", self.population_size)
        known = ["dankar", *ESTIMATORS]
        if self.estimator not in known:
            raise ValueError(f"estimator must be one of {', '.join(known)}, not {self.estimator!r}")

    def holds(self, counts: ClassCounts) -> bool:
        found = self._estimate(counts)
        return found is not None and found.uniques / self.population_size <= float(exact_share("max", self.max)) + 1e-12

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        found = self._estimate(counts)
        if found is None:
            return {"max": None, "uniques": None, "estimator": "no estimate"}
        return {"max": found.uniques / self.population_size, "uniques": found.uniques, "estimator": found.estimator}

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Return the reason if the table has more people than its population."""
        if table.rows - suppressible <= self.population_size:
            return None
        return f"{table.rows} {table.counted} > population-size={self.population_size}: they are no sample of it"

    def _estimate(self, counts: ClassCounts) -> Estimate | None:
        if not len(counts.sizes):
            return Estimate(0.0, self.estimator)
        sample = Sample.of(counts.sizes, self.population_size)
        return _estimate(sample.sizes.tobytes(), sample.classes.tobytes(), self.population_size, self.estimator)


@lru_cache(maxsize=64)  # a search asks twice about the same classes
def _estimate(sizes: bytes, classes: bytes, population: int, estimator: str) -> Estimate | None:
    """Estimate the uniques of the population from a histogram: two arrays of 64-bit numbers."""
    sample = Sample(np.frombuffer(sizes, dtype=np.int64), np.frombuffer(classes, dtype=np.int64), population)
    return population_uniques(sample, estimator)


def count_smallest(
    promises: Sequence[Model], sizes: Longs, most: int, shown: tuple[int, int] | None = None
) -> int | None:
    """Return how many of the smallest classes to suppress until the others keep the promises; None beyond `most`.

    `sizes` are in rising order. `shown` is given where suppressed rows stay as one class: how many rows it has already,
    and how many it needs.

    Exactly the fewest rows for average risk and sample uniqueness, alone and together: no n classes have fewer rows
    than the n smallest, and leaving out no other n lowers either share as much. As long as the next class has at most
    `largest_suppressed` rows, each one more helps, so the number is found by halving. For population uniqueness, and
    where models count persons, that is a heuristic: its estimate need not fall with every class.

    >>> count_smallest([SampleUniqueness(0.2)], np.array([1, 1, 1, 3, 4]), 5), AverageRisk(0.3).largest_suppressed
    (2, 3)
    """

    def keeps(number: int) -> bool:
        kept = sizes[number:]
        if shown is not None and (gone := shown[0] + int(sizes[:number].sum())):
            if number and gone < shown[1]:
                return False
            kept = np.append(kept, gone)
        counts = ClassCounts(kept)
        return all(promise.holds(counts) for promise in promises)

    if keeps(0):
        return 0
    largest = [promise.largest_suppressed for promise in promises]
    if shown is None and None not in largest:
        most = min(most, int(np.searchsorted(sizes, max(size or 0 for size in largest), side="right")))
    most = min(most, len(sizes) - 1)  # a release without rows is none
    if most < 1 or not keeps(most):
        return None
    low, high = 0, most  # the fewest are more than `low`, and at most `high`
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high
