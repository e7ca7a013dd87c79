"""k-map and δ-presence: how many of everybody a class stands for, and whether it tells who is in the table."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from os import PathLike, fspath
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le

from shoal.data.class_counts import ClassCounts, Longs
from shoal.models.model import (
    KNOWS_EVERYBODY,
    Closure,
    Flags,
    Model,
    Need,
    Share,
    Whole,
    ceiling,
    exact,
    refuse_unless_whole,
    within,
)

Part = Annotated[float, Ge(0), Le(1)]
"""A share that may be nothing."""
_NEEDS = frozenset({Need.ORIGINAL, Need.POPULATION})


@dataclass(frozen=True, slots=True)
class KMap(Model):
    """Every class matches at least k persons of the population, a table with one row for each.

    Sweeney, IJUFKS 10(5), 2002.

    >>> model = KMap(3, "register.csv")
    >>> model.complies(ClassCounts(np.array([1, 2]), population=np.array([3, 2]))).tolist()
    [True, False]
    """

    name: ClassVar[str] = "k-map"
    family: ClassVar[str] = "Who can be found"
    sentence: ClassVar[str] = (
        "Every combination of identifying values that occurs fits at least k people of the population."
    )
    adversary: ClassVar[str] = "knows the population, but not who of it is in the table"
    source: ClassVar[str] = "Sweeney, Computational Disclosure Control, 2001"
    closure: ClassVar[Closure] = Closure.SUPERSET
    k: Whole
    population: str

    def __post_init__(self) -> None:
        refuse_unless_whole("k", self.k)
        object.__setattr__(self, "population", path_of(self.population))

    @property
    def needs(self) -> frozenset[Need]:
        return _NEEDS

    def complies(self, counts: ClassCounts) -> Flags:
        return known_population(counts) >= self.k

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        return {"k": int(known_population(counts).min()) if len(counts.sizes) else 0}

    def worst(self, counts: ClassCounts) -> int | None:
        return int(known_population(counts).argmin()) if len(counts.sizes) else None

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        del suppressible  # what is suppressed makes no class match more
        persons = int(known_population(table).sum())
        return f"the population has {persons} persons < k={self.k}" if persons < self.k else None


@dataclass(frozen=True, slots=True)
class DeltaPresence(Model):
    """Of the persons of the population in each class, at least the share `min` and at most `max` are in the table.

    So a release hardly tells whether a person is in the table. A class of the population that holds nobody who is
    released has the share 0. The table must be a part of the population, which has one row for each person.

    Nergiz, Atzori, Clifton, SIGMOD 2007.

    >>> model = DeltaPresence("register.csv", min=0.25, max=0.5)
    >>> model.complies(ClassCounts(np.array([1, 2, 1]), population=np.array([4, 3, 5]))).tolist()
    [True, False, False]
    """

    name: ClassVar[str] = "delta-presence"
    family: ClassVar[str] = "Who is in the table"
    sentence: ClassVar[str] = "How likely somebody of the population is in the table lies between these two bounds."
    adversary: ClassVar[str] = KNOWS_EVERYBODY
    source: ClassVar[str] = "Nergiz, Atzori, Clifton, SIGMOD 2007"
    closure: ClassVar[Closure] = Closure.UNION
    population: str
    min: Part = 0.0
    max: Share = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "population", path_of(self.population))
        least, most = exact("min", self.min), exact("max", self.max)
        if not 0 <= least <= 1:
            raise ValueError(f"min must lie between 0 and 1, not {self.min!r}")
        if not 0 < most <= 1:
            raise ValueError(f"max must lie above 0 and at most at 1, not {self.max!r}")
        if least > most:
            raise ValueError(f"min must be at most max, not {self.min!r} with max = {self.max!r}")

    @property
    def needs(self) -> frozenset[Need]:
        return _NEEDS

    def complies(self, counts: ClassCounts) -> Flags:
        persons, population = counts.sizes, known_population(counts)
        same = np.zeros(len(persons), dtype=np.int64)
        few = within(persons, population, [exact("max", self.max)], same)
        # min <= a/b is 1 - min >= (b - a)/b
        return few & within(population - persons, population, [1 - exact("min", self.min)], same)

    def holds(self, counts: ClassCounts) -> bool:
        return bool(self.complies(counts).all()) and (not self.min or not counts.strangers)

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        persons, population = counts.sizes, known_population(counts)
        if not len(persons):
            return {"min": 0.0, "max": 0.0}
        if not population.all():
            return {"min": 0.0, "max": None}  # who is in no population has no share of it
        shares = persons / population
        least = min(_exactly(persons, population, shares == shares.min()))
        most = max(_exactly(persons, population, shares == shares.max()))
        return {"min": 0.0 if counts.strangers else _floor(least), "max": ceiling(most)}

    def worst(self, counts: ClassCounts) -> int | None:
        """Return the class with the greatest share of its persons in the table."""
        persons, population = counts.sizes, known_population(counts)
        return int(np.argmax(persons / np.maximum(population, 1))) if len(persons) else None

    def parts(self) -> Iterable[Model]:
        return (self, NoStrangers(self.population)) if self.min else (self,)

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Reason from the share of the population that is in the table, which is a mean of the classes' shares."""
        persons, population = int(table.sizes.sum()), int(known_population(table).sum())
        share = Fraction(persons, max(population, 1))
        if share < exact("min", self.min):
            return (
                f"only {persons} of the {population} persons of the population are in the table: min <= {_down(share)}"
            )
        kept = Fraction(max(persons - suppressible, 0), max(population, 1))
        if kept > exact("max", self.max):
            return f"{persons} of the {population} persons of the population are in the table: max >= {_up(kept)}"
        return None


@dataclass(frozen=True, slots=True)
class NoStrangers(Model):
    """No class of the population holds nobody of the release: the part of δ-presence that is about the whole table."""

    name: ClassVar[str] = "delta-presence"
    family: ClassVar[str] = "Who is in the table"
    closure: ClassVar[Closure] = Closure.UNION
    population: str

    @property
    def table_wide(self) -> bool:
        return True

    @property
    def needs(self) -> frozenset[Need]:
        return _NEEDS

    def complies(self, counts: ClassCounts) -> Flags:
        return np.ones(len(counts.sizes), dtype=bool)

    def holds(self, counts: ClassCounts) -> bool:
        return not counts.strangers

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        return {"strangers": counts.strangers}


def path_of(population: Any) -> str:
    """Return the path as a plain text; subclasses of str, which know more, stay as they are."""
    path = fspath(population) if isinstance(population, PathLike) else population
    if not isinstance(path, str) or not path or "\0" in path:
        raise ValueError(f"population must be the path of a table, not {population!r}")
    return path


def known_population(counts: ClassCounts) -> Longs:
    assert counts.population is not None
    return counts.population


def _exactly(part: Longs, whole: Longs, which: Flags) -> list[Fraction]:
    """Return the distinct fractions of some classes."""
    pairs = np.unique(np.stack([part, whole])[:, which], axis=1)
    return [Fraction(p, w) for p, w in pairs.T.tolist()]


def _floor(share: Fraction) -> float:
    """Return the greatest float that, read back as a decimal, is not above `share`."""
    nearest = float(share)
    return nearest if exact("share", nearest) <= share else nextafter(nearest, -inf)


def _up(share: Fraction) -> float:
    return -(-share.numerator * 10_000 // share.denominator) / 10_000


def _down(share: Fraction) -> float:
    return share.numerator * 10_000 // share.denominator / 10_000
