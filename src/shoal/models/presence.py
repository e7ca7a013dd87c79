"""k-map and δ-presence: how many people of the population a class matches, and whether it tells who is in the table."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf, nextafter
from os import PathLike, fspath
from typing import Any, ClassVar

import numpy as np

from shoal.data.class_counts import ClassCounts, Longs
from shoal.models.model import (
    KNOWS_EVERYBODY,
    Closure,
    Flags,
    Model,
    Need,
    Part,
    Share,
    Whole,
    ceiling,
    exact,
    exact_share,
    is_within_limit,
    refuse_unless_flag,
    refuse_unless_whole,
    settle_shares,
)

_NEEDS = frozenset({Need.ORIGINAL, Need.POPULATION})


@dataclass(frozen=True, slots=True)
class KMap(Model):
    """Every class matches at least k persons of the population, a table with one row for each.

    Sweeney, Computational Disclosure Control, 2001.

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

    So a release hardly tells whether a person is in the table. A class of the population that holds nobody of the
    table has the share 0. One whose rows were left out has not: it is no class of the release, and nothing is promised
    of it, unless `suppressed_counts` says that it has the share 0, too, as it looks to whoever reads the release. The
    table must be a part of the population, which has one row for each person.

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
    suppressed_counts: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "population", path_of(self.population))
        refuse_unless_flag("suppressed-counts", self.suppressed_counts)
        settle_shares(self, "min", zero=True)
        settle_shares(self, "max")
        if exact_share("min", self.min) > exact_share("max", self.max):
            raise ValueError(f"min must be at most max, not {self.min!r} with max = {self.max!r}")

    @property
    def needs(self) -> frozenset[Need]:
        return _NEEDS

    def complies(self, counts: ClassCounts) -> Flags:
        persons, population = counts.sizes, known_population(counts)
        most, absent = _shares(self.min, self.max)
        few = is_within_limit(persons, population, most)
        return few if absent == 1 else few & is_within_limit(population - persons, population, absent)

    def least_removed(self, counts: ClassCounts) -> Longs:
        """Return how many rows of each class must go before the rest is in bounds.

        Of a class of a persons of the table among b of the population, r rows go in classes that hold at least as many
        persons of the population, since the table is a part of it. What is left complies, so a - r <= max (b - r), and
        r >= (a - max b) / (1 - max). For `min` nothing but one row is certain: a class that goes may hold one person of
        the table and most of the population.
        """
        persons, population = counts.sizes, known_population(counts)
        most = float(exact_share("max", self.max))
        removed = (~self.complies(counts)).astype(np.int64)
        if most < 1:
            # a little less, as it is rounded
            above = np.ceil((persons - most * population) / (1 - most) * (1 - 1e-12) - 1e-6).astype(np.int64)
            removed = np.maximum(removed, above)
        return np.minimum(removed, persons)

    def holds(self, counts: ClassCounts) -> bool:
        strangers = _count_strangers(counts, suppressed=self.suppressed_counts)
        return bool(self.complies(counts).all()) and (not exact_share("min", self.min) or not strangers)

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        persons, population = counts.sizes, known_population(counts)
        if not len(persons):
            return {"min": 0.0, "max": 0.0}
        if not population.all():
            return {"min": 0.0, "max": None}  # people outside the population have no share of it
        shares = persons / population
        least = min(_fractions_of(persons, population, shares <= shares.min() * (1 + 1e-12)))
        most = max(_fractions_of(persons, population, shares >= shares.max() * (1 - 1e-12)))
        strangers = _count_strangers(counts, suppressed=self.suppressed_counts)
        return {"min": 0.0 if strangers else _float_at_most(least), "max": ceiling(most)}

    def worst(self, counts: ClassCounts) -> int | None:
        """Return the class with the greatest share of its persons in the table."""
        persons, population = counts.sizes, known_population(counts)
        return int(np.argmax(persons / np.maximum(population, 1))) if len(persons) else None

    def parts(self) -> Iterable[Model]:
        counted = self.suppressed_counts
        return (self, NoStrangers(self.population, counted)) if exact_share("min", self.min) else (self,)

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Return the reason if the share of the population in the table, a mean over the classes, is out of bounds."""
        persons, population = int(table.sizes.sum()), int(known_population(table).sum())
        share = Fraction(persons, max(population, 1))
        if share < exact_share("min", self.min):
            least = _round_down(share)
            return f"only {persons} of the {population} persons of the population are in the table: min <= {least}"
        kept = Fraction(max(persons - suppressible, 0), max(population, 1))
        if kept > exact_share("max", self.max):
            return f"{persons} of the {population} persons of the population are in the table: max >= {_round_up(kept)}"
        return None


@dataclass(frozen=True, slots=True)
class NoStrangers(Model):
    """No class of the population holds nobody of the table: the part of δ-presence that is about the whole table.

    With `suppressed_counts`, no class holds nobody of the release.
    """

    name: ClassVar[str] = "delta-presence"
    family: ClassVar[str] = "Who is in the table"
    closure: ClassVar[Closure] = Closure.SUPERSET
    population: str
    suppressed_counts: bool = False

    @property
    def table_wide(self) -> bool:
        return True

    @property
    def keeps_every_row(self) -> bool:
        return self.suppressed_counts

    @property
    def merging(self) -> Closure:
        """Which classes hold somebody of the table does not depend on what is suppressed, unless that counts."""
        return Closure.UNION if self.suppressed_counts else Closure.SUPERSET

    @property
    def needs(self) -> frozenset[Need]:
        return _NEEDS

    def complies(self, counts: ClassCounts) -> Flags:
        return np.ones(len(counts.sizes), dtype=bool)

    def holds(self, counts: ClassCounts) -> bool:
        return not _count_strangers(counts, suppressed=self.suppressed_counts)

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        return {"strangers": _count_strangers(counts, suppressed=self.suppressed_counts)}


@lru_cache(maxsize=64)  # a search asks again at every node
def _shares(least: Part, most: Share) -> tuple[Fraction, Fraction]:
    """Return the greatest share of persons who are in the table, and of those who are not: min <= a/b is that one."""
    return exact_share("max", most), 1 - exact_share("min", least)


def _count_strangers(counts: ClassCounts, *, suppressed: bool) -> int:
    """Return how many classes of the population have the share 0; whether that includes suppressed ones is asked."""
    return counts.strangers if suppressed else counts.strangers - counts.hidden


def path_of(population: Any) -> str:
    """Return the path as text; a subclass of str, which may carry more, is returned unchanged."""
    path = fspath(population) if isinstance(population, PathLike) else population
    if not isinstance(path, str) or not path or "\0" in path:
        raise ValueError(f"population must be the path of a table, not {population!r}")
    return path


def known_population(counts: ClassCounts) -> Longs:
    assert counts.population is not None
    return counts.population


def _fractions_of(part: Longs, whole: Longs, which: Flags) -> list[Fraction]:
    """Return the distinct fractions part/whole of the flagged classes."""
    pairs = np.unique(np.stack([part, whole])[:, which], axis=1)
    return [Fraction(p, w) for p, w in pairs.T.tolist()]


def _float_at_most(share: Fraction) -> float:
    """Return the greatest float that, read back as a decimal, is not above `share`."""
    nearest = float(share)
    return nearest if exact("share", nearest) <= share else nextafter(nearest, -inf)


def _round_up(share: Fraction) -> float:
    return -(-share.numerator * 10_000 // share.denominator) / 10_000


def _round_down(share: Fraction) -> float:
    return share.numerator * 10_000 // share.denominator / 10_000
