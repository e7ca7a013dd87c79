"""Three attackers, and who is unique: in the table, and in the population behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import fsum
from typing import Any

import numpy as np

from shoal.data.class_counts import Longs
from shoal.data.codes import Codes
from shoal.errors import BadInput
from shoal.estimators import ESTIMATORS, Estimate, Sample, population_uniques
from shoal.models.model import exact_share
from shoal.risk.individual import Individual, expected_inverse


@dataclass(frozen=True)
class Uniqueness:
    """Rows that are alone in their class, and how many people are unique in the population."""

    sample: int
    population_size: int | None = None
    estimate: Estimate | None = None
    """Estimate by the rule of Dankar et al. 2012; None where none is valid."""
    estimates: Mapping[str, float | None] = field(default_factory=dict)
    """Uniques by each estimator; None where it gives no estimate."""
    counted: int | None = None
    """People who are unique in a population table."""
    certain: int | None = None
    """Unique people of the population who are in the table."""

    def document(self) -> dict[str, Any]:
        out: dict[str, Any] = {"sample": self.sample}
        if self.counted is not None:
            out |= {"population": self.counted, "both": self.certain}
        if self.population_size is not None:
            chosen = self.estimate
            out["population_size"] = self.population_size
            out["estimate"] = None if chosen is None else {"uniques": chosen.uniques, "estimator": chosen.estimator}
            out["estimates"] = dict(self.estimates)
        return out


def uniqueness(sizes: Longs, population_size: int | None = None, people: Longs | None = None) -> Uniqueness:
    """Count sample uniques and, where the population's size is known, estimate population uniques (models 1.20).

    `people` are those who are counted in each class, where somebody stands in several; by default everybody in it.

    >>> import numpy as np
    >>> found = uniqueness(np.repeat([1, 2, 3, 5], [20, 10, 5, 3]), 1000)
    >>> round(found.estimate.uniques, 1), found.estimates["pitman"]
    (90.9, None)
    """
    people = sizes if people is None else people
    alone = int(people[sizes == 1].sum())
    if population_size is None:
        return Uniqueness(alone)
    rows = int(people.sum())
    if rows > population_size:
        raise BadInput(f"the table has {rows:,} people, more than the population size of {population_size:,}")
    if rows == population_size:
        return Uniqueness(alone, population_size, Estimate(float(alone), "the table is the population"))
    sample = Sample.of(people[people > 0], population_size)
    each = {name: population_uniques(sample, name) for name in ESTIMATORS}
    estimates = {name: None if found is None else found.uniques for name, found in each.items()}
    return Uniqueness(alone, population_size, population_uniques(sample), estimates)


def counted_uniqueness(sizes: Longs, in_population: Longs, everybody: Longs, people: Longs | None = None) -> Uniqueness:
    """Count uniques in the table and in a population table.

    Given are the sizes of the table's classes, of the same classes in the population, and of all classes of that;
    `people` are those who are counted in each class.
    """
    people = sizes if people is None else people
    both, alone = (int(people[found == 1].sum()) for found in (in_population, sizes))
    return Uniqueness(alone, counted=int((everybody == 1).sum()), certain=both)


TABLE = "the table"
POPULATION = "the population table"
ESTIMATED = "the size of the population"
WEIGHTS = "the weights"


@dataclass(frozen=True, slots=True)
class Attacker:
    """Risk from one attacker: the greatest and the mean risk, and how many rows lie above the threshold."""

    name: str
    basis: str
    """Where the sizes of classes come from."""
    average: float
    """Mean risk; for a marketer, the share of all people expected to be found."""
    max: float | None = None
    at_risk: int | None = None
    certain: int | None = None
    """Rows whose class holds one person only."""

    def document(self) -> dict[str, Any]:
        told = {"max": self.max, "average": self.average, "at_risk": self.at_risk, "certain": self.certain}
        return {"basis": self.basis, **{name: value for name, value in told.items() if value is not None}}


def known_threshold(threshold: object) -> Fraction:
    """Return a threshold as the exact rational number that a person wrote; refuse one not in 0 < τ <= 1."""
    try:
        tau = exact_share("threshold", threshold)
    except ValueError as wrong:
        raise BadInput(str(wrong)) from None
    if not 0 < tau <= 1:
        raise BadInput(f"threshold must lie above 0 and at most at 1, not {threshold!r}")
    return tau


def count_at_risk(sizes: Longs, weights: Longs, threshold: Fraction) -> int:
    """Count the rows whose risk 1/size is greater than τ, compared in whole numbers: size < 1/τ (design 15).

    >>> sizes = np.array([3, 2, 1])
    >>> count_at_risk(sizes, sizes, Fraction("0.34")), count_at_risk(sizes, sizes, Fraction("0.33"))
    (3, 6)
    """
    enough = -(-threshold.denominator // threshold.numerator)  # the least size that is at least 1/τ
    return int(weights[sizes < enough].sum())


def people_by_risk(of_row: Codes, persons: Codes, sizes: Longs) -> Longs:
    """Count everybody once, in the smallest class that one of their rows is in: where the risk is greatest.

    `of_row` is the class of each row and `persons` its person.

    >>> people_by_risk(np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 2, 3]), np.array([2, 3])).tolist()
    [2, 2]
    """
    # rows by person, then by the size of their class: the first row of each person is in the smallest one
    order = np.lexsort((of_row, sizes[of_row], persons))
    _, first = np.unique(persons[order], return_index=True)
    return np.bincount(of_row[order[first]], minlength=len(sizes))


def prosecutor(sizes: Longs, threshold: Fraction, people: Longs | None = None) -> Attacker:
    """Return the risk from someone who knows that a person is in the table: 1/f for each row of a class of f.

    El Emam, Dankar 2008 (models 1.19). `people` are those who are counted in each class, where somebody stands in
    several; by default everybody in it.

    >>> found = prosecutor(np.array([3, 2, 1]), Fraction("0.34"))
    >>> found.max, found.average, found.at_risk, found.certain
    (1.0, 0.5, 3, 1)
    """
    people = sizes if people is None else people
    return Attacker(
        "prosecutor",
        TABLE,
        _shares(people, sizes) / int(people.sum()),
        1 / int(sizes.min()),
        count_at_risk(sizes, people, threshold),
        int(people[sizes == 1].sum()),
    )


def journalist(people: Longs, population: Longs, threshold: Fraction) -> Attacker:
    """Return the risk from someone who does not know who is in the table.

    It is 1/F for a class that F people of the population share.
    The average is the greater of J/ΣF and Σ(f/F)/n (El Emam, Dankar 2008).

    >>> journalist(np.array([2, 1]), np.array([4, 5]), Fraction("0.2")).at_risk
    2
    """
    average = max(len(people) / int(population.sum()), _shares(people, population) / int(people.sum()))
    return Attacker(
        "journalist",
        POPULATION,
        average,
        1 / int(population.min()),
        count_at_risk(population, people, threshold),
        int(people[population == 1].sum()),
    )


def estimated_journalist(
    sizes: Longs, population_size: int, threshold: Fraction, people: Longs | None = None
) -> Attacker:
    """Return the journalist risk where only the population's size N is known: E[1/F | f], if all have the chance n/N.

    F is f plus a negative binomial number, as in Franconi and Polettini 2004. Whether anybody is found with certainty
    cannot be told. `people` are those who are counted in each class, by default everybody in it.
    """
    people = sizes if people is None else people
    distinct, of_class = np.unique(sizes, return_inverse=True)
    # [distinct size] risk of its rows, and number of its rows
    risks = expected_inverse(distinct, np.full(len(distinct), int(people.sum()) / population_size))
    rows = np.bincount(of_class, weights=people).astype(np.int64)
    average = fsum((rows * risks).tolist()) / int(people.sum())
    over = int(rows[risks > float(threshold)].sum())
    return Attacker("journalist", ESTIMATED, average, float(risks.max()), over)


def weighted_journalist(risks: Individual, threshold: Fraction) -> Attacker:
    """Return the journalist risk where each row has a sampling weight, from the individual risks."""
    over = int((risks.exact > float(threshold)).sum())
    return Attacker("journalist", WEIGHTS, risks.expected / len(risks.exact), float(risks.exact.max()), over)


def marketer(sizes: Longs, population: Longs | None = None, people: Longs | None = None) -> Attacker:
    """Return the risk from someone who links as many people as possible: the share of right links, J/n or Σ(f/F)/n.

    `people` are those who are counted in each class, by default everybody in it.

    >>> marketer(np.array([3, 2, 1])).average
    0.5
    """
    people = sizes if people is None else people
    if population is None:
        return Attacker("marketer", TABLE, _shares(people, sizes) / int(people.sum()))
    return Attacker("marketer", POPULATION, _shares(people, population) / int(people.sum()))


def _shares(sizes: Longs, population: Longs) -> float:
    """Return Σ f/F over all classes."""
    return fsum((sizes / population).tolist())


def histogram(sizes: Longs) -> list[tuple[int, int]]:
    """Count the classes of each size.

    >>> histogram(np.array([2, 1, 2]))
    [(1, 1), (2, 2)]
    """
    distinct, classes = np.unique(sizes, return_counts=True)
    return list(zip(distinct.tolist(), classes.tolist(), strict=True))


def histogram_document(sizes: Longs) -> Sequence[dict[str, int]]:
    """Return the histogram of class sizes as JSON objects."""
    return [{"size": size, "classes": classes, "rows": size * classes} for size, classes in histogram(sizes)]
