"""δ-disclosure privacy: every sensitive value is about as frequent in each class as in the whole table."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import e, inf, isinf, nextafter
from sys import float_info
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import numpy as np
from annotated_types import Gt
from numpy.typing import NDArray

from shoal.data.class_counts import ClassCounts, Longs, ValueCounts
from shoal.models.likeness import TOLERANCE, BetaLikeness
from shoal.models.model import KNOWS_FREQUENCIES, Closure, Flags, Model, exact
from shoal.models.reference_models import Reference, ReferenceModel, ratios, refuse_unless_one_of
from shoal.models.value_limits import ShareLimits, removed_for_shares

Absent = Literal["violates", "skip"]
"""What a value that a class lacks does, since its logarithm is infinite."""
Log = Literal["e", 2]

_LARGEST_POWER = 500
"""Largest power that is computed; a larger one limits nothing."""


@dataclass(frozen=True, slots=True)
class DeltaDisclosure(ReferenceModel):
    """|log(q/p)| < δ for the share q of each value in each class and its share p in the whole table.

    Brickell, Shmatikov, KDD 2008. To the letter a class that lacks a value fails (`absent = "violates"`); ARX and
    pycanon skip such values, ARX with logarithms to the base 2. Logarithms are floats; those of powers of two to the
    base 2, the only ones that can equal a δ that is written down, are exact.
    """

    name: ClassVar[str] = "delta-disclosure"
    family: ClassVar[str] = "Nearness to the whole table"
    sentence: ClassVar[str] = (
        "In no class a sensitive value is much likelier or less likely than in the whole table, within delta."
    )
    adversary: ClassVar[str] = KNOWS_FREQUENCIES
    source: ClassVar[str] = "Brickell and Shmatikov, KDD 2008"
    closure: ClassVar[Closure] = Closure.UNION
    delta: Annotated[float, Gt(0)]
    absent: Absent = "violates"
    log: Log = "e"
    attribute: str | None = None
    reference: Reference = "original"
    null_is_value: bool = False

    def __post_init__(self) -> None:
        if exact("delta", self.delta) <= 0:
            raise ValueError(f"delta must be a number above 0, not {self.delta!r}")
        refuse_unless_one_of("absent", self.absent, get_args(Absent))
        refuse_unless_one_of("log", self.log, get_args(Log))
        self._refuse_settings()

    @property
    def merging(self) -> Closure:
        """Not closed where absent values are skipped: merging may turn an absent value into one that is too rare."""
        return Closure.NOT if self.absent == "skip" or self.table_wide else self.closure

    def worst(self, counts: ClassCounts) -> int | None:
        values = self._values(counts)
        return int(np.argmax(self._furthest(values, self.absent))) if values.class_count else None

    def parts(self) -> Iterable[Model]:
        """Where absent values are skipped, add the limit on frequency alone, which is closed: β-likeness."""
        if self.absent == "violates" or self.delta > _LARGEST_POWER:
            return (self,)
        beta = (2.0 if self.log == 2 else e) ** float(self.delta) * (1 + TOLERANCE) - 1
        return self, BetaLikeness(beta, "basic", self.attribute, self.reference, self.null_is_value)

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(float_info.max, "violates", "e", attribute),) if attribute is not None else ()

    def _close(self, values: ValueCounts) -> Flags:
        return np.asarray(self._furthest(values, self.absent) < float(self.delta))

    def _least_removed(self, values: ValueCounts) -> Longs:
        """Return how many rows of each class must go before the share of each value is near to that of the table.

        |log(q/p)| < δ bounds the share q on both sides: p/x < q < p x, where x is the base to the power δ. So of M rows
        that are left M <= Σ min(n, x p M) over the values and, where no value may be absent, p/x M <= n for each.
        """
        return removed_for_shares(values, self._value_limits(values))

    def _value_limits(self, values: ValueCounts) -> ShareLimits:
        overall = values.overall
        share = overall / max(int(overall.sum()), 1)
        times = (2.0 if self.log == 2 else e) ** min(float(self.delta), _LARGEST_POWER) * (1 + TOLERANCE)
        lower = share / times if self.absent == "violates" else None
        return ShareLimits(self._counted(values), share * times, lower)

    def _attained(self, values: ValueCounts) -> dict[str, Any]:
        """Return the least δ, strict and lenient; None where a class lacks a value, so that no δ is enough."""
        strict, lenient = (
            _least_delta_above(float(self._furthest(values, how).max(initial=0.0))) for how in get_args(Absent)
        )
        return {"delta": strict if self.absent == "violates" else lenient, "strict": strict, "lenient": lenient}

    def _furthest(self, values: ValueCounts, absent: Absent) -> NDArray[np.float64]:
        """Return the largest |log(q/p)| of each class; 0 for a class without values."""
        overall = values.overall
        here, there = ratios(values, overall)
        known = there > 0
        # q/p of each entry; infinite for a value that the reference lacks
        ratio = np.full(len(here), np.inf)
        ratio[known] = (here[known] / there[known]).astype(np.float64)
        furthest = np.zeros(values.class_count)
        np.maximum.at(furthest, values.classes, np.abs(np.log2(ratio) if self.log == 2 else np.log(ratio)))
        if absent == "violates":
            # number of different values in each class
            present = np.bincount(values.classes, minlength=values.class_count)
            furthest[(present > 0) & (present < np.count_nonzero(overall))] = np.inf
        return furthest


def _least_delta_above(distance: float) -> float | None:
    """Return the least δ above a distance; None if it is infinite, 0 if it is 0.

    >>> _least_delta_above(0.0), _least_delta_above(inf), _least_delta_above(1.0) > 1
    (0.0, None, True)
    """
    if isinf(distance):
        return None
    return nextafter(distance, inf) if distance else 0.0
