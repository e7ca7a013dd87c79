"""The skewness attack: a class in which a value is much more frequent than in the table (Li et al. 2007)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.attack import Attack, Channel, Finding, ShareLike, option, read_share, refuse_unless_number
from shoal.attacks.homogeneity import sensitive_attributes
from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.class_counts import Flags, ValueCounts
from shoal.hierarchy.exact_numbers import exact


@dataclass(frozen=True)
class Skewness(Attack):
    """People of whom a class makes a value much likelier than the release as a whole: gain q/p and share q (Li 2007).

    Nulls are no values: shares are shares of what is known. The two bounds are compared in whole numbers.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import Table, encode
    >>> released = {"age": ["3*"] * 2 + ["4*"] * 6, "ill": ["flu", "hiv"] + ["flu"] * 6}
    >>> table = Table({name: encode(name, pa.array(values)) for name, values in released.items()}, 8)
    >>> found = Skewness(factor=4).on(Published.of("the frame", table, ["age"], ["ill"]))
    >>> found.exposed, found.figures["attributes"]["ill"]["largest_gain"]
    (2, 4.0)
    """

    name: ClassVar[str] = "skewness"
    sentence: ClassVar[str] = "Find classes in which a sensitive value is much likelier than in the whole release."
    channel: ClassVar[Channel] = Channel.ATTRIBUTE
    source: ClassVar[str] = "Li, Li, Venkatasubramanian, ICDE 2007"
    if_exposed: ClassVar[str] = (
        "{exposed:,} are in classes that make a value {factor:g} times as likely, and likelier than not"
    )
    if_not: ClassVar[str] = "no class makes a value {factor:g} times as likely, and likelier than not"
    of_sensitive: ClassVar[bool] = True

    checked: ClassVar[bool] = False

    factor: float = option(2.0, "The least gain over the whole release that counts.")
    """The least gain q/p that counts."""
    threshold: ShareLike = option(0.5, "The least share of a value in a class that counts.", share=True)
    """The least share q that counts: a jump from one in a million to two is no news."""

    def __post_init__(self) -> None:
        refuse_unless_number("factor", self.factor, least=1)
        if isinstance(self.threshold, str | Fraction):
            refuse_unless_number("threshold", float(read_share("threshold", self.threshold)), most=1)
        else:
            refuse_unless_number("threshold", self.threshold, most=1)

    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        """Compare the shares of values in every class with those in the whole release."""
        sensitive, counts = sensitive_attributes(published), published.counts
        skewed = np.zeros(len(counts.sizes), dtype=bool)
        told = {}
        for name in sensitive:
            values = counts.sensitive[name].non_null()
            entries = self._flag_skewed(values)
            here = np.zeros(len(skewed), dtype=bool)
            here[values.classes[entries]] = True
            skewed |= here
            told[name] = {
                "largest_gain": float(gains(values).max(initial=0.0)),
                "classes": int(here.sum()),
                "records": int(counts.sizes[here].sum()),
                "records_with_the_value": int(values.counts[entries].sum()),
            }
        exposed = int(counts.sizes[skewed].sum())
        figures: dict[str, Any] = {
            "factor": self.factor,
            "threshold": float(read_share("threshold", self.threshold)),
            "classes": len(skewed),
            "skewed_classes": int(skewed.sum()),
            "records": counts.rows,
            "suppressed_records": int(published.hidden.sum()),
            "largest_gain": max(told[name]["largest_gain"] for name in sensitive),
            "attributes": told,
        }
        sentence = (
            f"{exposed:,} of {counts.rows:,} records lie in classes that make some {' or '.join(sensitive)} at least "
            f"{self.factor:g} times as likely as the whole release does, and at least {figures['threshold']:.0%} likely"
        )
        columns = tuple(name for name, one in told.items() if one["classes"])
        return Finding("skewness", Channel.ATTRIBUTE, exposed, counts.rows, sentence, figures, columns=columns)

    def _flag_skewed(self, values: ValueCounts) -> Flags:
        """Flag the entries with n·N ≥ factor·m·T and n ≥ threshold·T: n of T in the class, m of N in the release."""
        within, overall = values.totals[values.classes], values.overall
        gained = _at_least(values.counts, int(overall.sum()), exact(self.factor), overall[values.values], within)
        share = read_share("threshold", self.threshold)
        return gained & _at_least(values.counts, 1, share, within, np.ones_like(within))


def gains(values: ValueCounts) -> NDArray[np.float64]:
    """Return the share in the class over the share in the release, for each (class, value) entry."""
    overall = values.overall
    shares = values.counts / values.totals[values.classes]
    return np.asarray(shares * int(overall.sum()) / overall[values.values], dtype=np.float64)


def _at_least(
    left: NDArray[np.int64], times: int, bound: Fraction, one: NDArray[np.int64], other: NDArray[np.int64]
) -> Flags:
    """Whether left · times ≥ bound · one · other, exactly."""
    largest = max(int(part.max(initial=1)) for part in (left, one, other))
    if largest**2 * max(bound.numerator, bound.denominator * times) >= 2**63:  # whole numbers of any size
        left, one, other = left.astype(object), one.astype(object), other.astype(object)
    return np.asarray(left * (times * bound.denominator) >= one * other * bound.numerator, dtype=bool)
