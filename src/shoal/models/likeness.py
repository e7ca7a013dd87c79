"""β-likeness: no sensitive value is much more frequent in a class than in the whole table."""

from collections.abc import Iterable
from dataclasses import dataclass
from sys import float_info
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from shoal.data.class_counts import ClassCounts, Longs, ValueCounts
from shoal.models.model import (
    KNOWS_FREQUENCIES,
    Closure,
    Flags,
    ceiling,
    exact,
    is_within_limit,
)
from shoal.models.reference_models import Reference, ReferenceModel, greatest_ratio, ratios, refuse_unless_one_of
from shoal.models.value_limits import ShareLimits, removed_for_shares

Form = Literal["basic", "enhanced"]

TOLERANCE = 1e-12
"""Tolerance of logarithms, which are floats."""


@dataclass(frozen=True, slots=True)
class BetaLikeness(ReferenceModel):
    """What a class tells more of a value than the whole table does, (q − p)/p, is at most β; enhanced: min(β, −ln p).

    Cao, Karras, PVLDB 2012. A value that is rarer in a class than in the table, or absent, is no gain. β is compared in
    whole numbers, the logarithm with a tolerance of 1e-12.
    """

    name: ClassVar[str] = "beta-likeness"
    family: ClassVar[str] = "Nearness to the whole table"
    sentence: ClassVar[str] = (
        "In no class a sensitive value is likelier than in the whole table by more than the factor beta."
    )
    adversary: ClassVar[str] = KNOWS_FREQUENCIES
    source: ClassVar[str] = "Cao and Karras, PVLDB 5(11), 2012"
    closure: ClassVar[Closure] = Closure.UNION
    beta: Annotated[float, Ge(0)]
    form: Form = "basic"
    attribute: str | None = None
    reference: Reference = "original"
    null_is_value: bool = False

    def __post_init__(self) -> None:
        if exact("beta", self.beta) < 0:
            raise ValueError(f"beta must be a number of at least 0, not {self.beta!r}")
        refuse_unless_one_of("form", self.form, get_args(Form))
        self._refuse_settings()

    def worst(self, counts: ClassCounts) -> int | None:
        """Return the class of the greatest gain; in the enhanced form, first one whose gain no β allows."""
        values = self._values(counts)
        if not len(values.counts):
            return None
        gain, beyond = _gains(values), self.form == "enhanced" and _flag_above_log_limit(values)
        return int(values.classes[np.argmax(np.where(beyond, np.inf, gain))])

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(float_info.max, "basic", attribute),) if attribute is not None else ()

    def _close(self, values: ValueCounts) -> Flags:
        here, there = ratios(values, values.overall)
        fits = is_within_limit(here, there, 1 + exact("beta", self.beta))
        if self.form == "enhanced":
            fits &= ~_flag_above_log_limit(values)
        close = np.ones(values.class_count, dtype=bool)
        close[values.classes[~fits]] = False
        return close

    def _least_removed(self, values: ValueCounts) -> Longs:
        """Return how many rows of each class must go before no value of the rest gains more than β allows.

        A gain of at most g is a share of at most (1 + g) p, so M <= Σ min(n, (1 + g) p M) over the values.
        """
        return removed_for_shares(values, self._value_limits(values))

    def _value_limits(self, values: ValueCounts) -> ShareLimits:
        overall = values.overall
        share = overall / max(int(overall.sum()), 1)
        gain = np.full(len(share), float(self.beta))
        if self.form == "enhanced":
            gain = np.minimum(gain, -np.log(np.where(overall > 0, share, 1.0)) + TOLERANCE)
        return ShareLimits(self._counted(values), share * (1 + gain))

    def _attained(self, values: ValueCounts) -> dict[str, Any]:
        """Return the least β of either form; None where no β is enough."""
        here, there = ratios(values, values.overall)
        basic = None if (there == 0).any() else ceiling(max(greatest_ratio(here, there) - 1, exact("gain", 0)))
        enhanced = None if _flag_above_log_limit(values).any() else basic
        return {"beta": basic if self.form == "basic" else enhanced, "basic": basic, "enhanced": enhanced}


def _gains(values: ValueCounts) -> NDArray[np.float64]:
    """Return the gain (q − p)/p of each entry; infinite for a value that the reference lacks."""
    here, there = ratios(values, values.overall)
    known = there > 0
    gains = np.full(len(here), np.inf)
    gains[known] = (here[known] / there[known]).astype(np.float64) - 1
    return gains


def _flag_above_log_limit(values: ValueCounts) -> Flags:
    """Flag the entries whose gain is above −ln p, which no β allows."""
    overall = values.overall
    share = np.maximum(overall, 1) / max(int(overall.sum()), 1)
    return np.asarray(_gains(values) > -np.log(share)[values.values] + TOLERANCE)
