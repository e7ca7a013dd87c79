"""Distinct and entropy l-diversity: every class shows enough different sensitive values."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor, log
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from shoal.counts import ClassCounts, Longs, ValueCounts
from shoal.models.base import READS_THE_CLASS, Closure, Flags, Whole, exact, refuse_unless_whole
from shoal.models.l_diversity import LDiversity, Others, distinct_values, refuse_odd_reading

TOLERANCE = 1e-12
"""Of entropies, which are floats: so far below ln l they are taken for ln l."""


@dataclass(frozen=True, slots=True)
class DistinctLDiversity(LDiversity):
    """Every class holds at least l different values of a sensitive attribute.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ICDE 2006.
    """

    name: ClassVar[str] = "distinct-l-diversity"
    sentence: ClassVar[str] = "Every class shows at least l different sensitive values."
    adversary: ClassVar[str] = READS_THE_CLASS
    source: ClassVar[str] = "Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ICDE 2006"
    closure: ClassVar[Closure] = Closure.SUPERSET
    l: Whole
    attribute: str | None = None
    null_is_value: bool = False
    others: Others | None = None

    def __post_init__(self) -> None:
        refuse_unless_whole("l", self.l)
        refuse_odd_reading(self)

    def diverse(self, values: ValueCounts) -> Flags:
        return distinct_values(values) >= self.l

    def level(self, values: ValueCounts) -> Longs:
        return distinct_values(values)

    def hopeless(self, distinct: Longs) -> Flags:
        return distinct < self.l

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        level = self.level(self.groups(counts).values)
        return {"l": int(level.min()) if len(level) else 0}

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1, attribute),) if attribute is not None else ()


@dataclass(frozen=True, slots=True)
class EntropyLDiversity(LDiversity):
    """The entropy of a sensitive attribute in every class is at least ln l; l need not be whole.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ICDE 2006.

    A class attains exp(H), at most its number of values, so that ARX's further test for that number adds nothing.
    Entropies are compared with a tolerance of 1e-12.
    """

    name: ClassVar[str] = "entropy-l-diversity"
    sentence: ClassVar[str] = "Every class shows its sensitive values about as evenly as l equally frequent ones."
    adversary: ClassVar[str] = READS_THE_CLASS
    source: ClassVar[str] = "Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ICDE 2006"
    closure: ClassVar[Closure] = Closure.UNION
    l: Annotated[float, Ge(1)]
    attribute: str | None = None
    null_is_value: bool = False
    others: Others | None = None

    def __post_init__(self) -> None:
        if exact("l", self.l) < 1:
            raise ValueError(f"l must be a number of at least 1, not {self.l!r}")
        refuse_odd_reading(self)

    def diverse(self, values: ValueCounts) -> Flags:
        return np.asarray((_total(values) > 0) & (_entropy(values) >= log(self.l) - TOLERANCE))

    def level(self, values: ValueCounts) -> NDArray[np.float64]:
        return np.where(_total(values) > 0, np.exp(_entropy(values)), 0.0)

    def hopeless(self, distinct: Longs) -> Flags:
        return np.asarray((distinct == 0) | (np.log(np.maximum(distinct, 1)) < log(self.l) - TOLERANCE))

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        level = self.level(self.groups(counts).values)
        return {"l": float(level.min()) if len(level) else 0.0}

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Too few values, or, where nothing is suppressed, too little entropy in the whole table."""
        why = LDiversity.impossible(self, table, suppressible) or self.refuse_persons(table)
        if why is not None or suppressible or self.complies(table).all():
            return why
        most = floor(self.attained(table)["l"] * 10_000) / 10_000
        return f"{self.attribute!r} attains l={most:.4f} in the whole table < l={self.l}"

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1, attribute),) if attribute is not None else ()


def _total(values: ValueCounts) -> NDArray[np.float64]:
    """Values of each class; where persons are counted, one may have several."""
    return np.bincount(values.classes, weights=values.counts, minlength=values.class_count).astype(np.float64)


def _entropy(values: ValueCounts) -> NDArray[np.float64]:
    """Shannon's, in nats: Σ q ln 1/q, all terms positive, so that little is lost in rounding."""
    share = values.counts / _total(values)[values.classes]
    terms = share * -np.log(share)
    return np.bincount(values.classes, weights=terms, minlength=values.class_count).astype(np.float64) + 0.0
