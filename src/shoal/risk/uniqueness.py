"""Who is unique: in the table, and in the population behind it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.counts import Longs
from shoal.errors import BadInput
from shoal.estimators import ESTIMATORS, Estimate, Sample, population_uniques


@dataclass(frozen=True)
class Uniqueness:
    """Rows that are alone in their class, and how many people of the population are."""

    sample: int
    population_size: int | None = None
    estimate: Estimate | None = None
    """By the rule of Dankar et al. 2012; None where there is no valid one."""
    estimates: Mapping[str, float | None] = field(default_factory=dict)
    """By each estimator; None: no estimate."""
    counted: int | None = None
    """People who are unique in a population table."""
    certain: int | None = None
    """Those of them who are in the table."""

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


def uniqueness(sizes: Longs, population_size: int | None = None) -> Uniqueness:
    """Sample uniques and, where the size of the population is known, what each estimator makes of it (models 1.20).

    >>> import numpy as np
    >>> found = uniqueness(np.repeat([1, 2, 3, 5], [20, 10, 5, 3]), 1000)
    >>> round(found.estimate.uniques, 1), found.estimates["pitman"]
    (90.9, None)
    """
    alone = int((sizes == 1).sum())
    if population_size is None:
        return Uniqueness(alone)
    rows = int(sizes.sum())
    if rows > population_size:
        raise BadInput(f"the table has {rows:,} people, more than the population size of {population_size:,}")
    if rows == population_size:
        return Uniqueness(alone, population_size, Estimate(float(alone), "the table is the population"))
    sample = Sample.of(sizes, population_size)
    each = {name: population_uniques(sample, name) for name in ESTIMATORS}
    estimates = {name: None if found is None else found.uniques for name, found in each.items()}
    return Uniqueness(alone, population_size, population_uniques(sample), estimates)


def counted_uniqueness(sizes: Longs, in_population: Longs, everybody: Longs) -> Uniqueness:
    """The same counted: sizes of the table's classes, of the same classes in the population, of all its classes."""
    both = int((in_population == 1).sum())
    return Uniqueness(int((sizes == 1).sum()), counted=int((everybody == 1).sum()), certain=both)
