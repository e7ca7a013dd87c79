"""The homogeneity attack: classes that show one sensitive value only tell it of everybody in them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from shoal.attacks.attack import Attack, Channel, Finding, option
from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.class_counts import ClassCounts, Flags, ValueCounts
from shoal.errors import BadInput


@dataclass(frozen=True)
class Homogeneity(Attack):
    """Records in classes with one sensitive value, beside what chance would make (S0.3, S0.4, S3.7).

    Machanavajjhala et al. 2006; Mohapatra, Patra. A null protects nobody: a class of one value and nulls is
    homogeneous. `protected` values are the only ones that matter, where given.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import Table, encode
    >>> released = {"age": ["3*", "3*", "4*"], "disease": ["flu", "flu", "hiv"]}
    >>> table = Table({name: encode(name, pa.array(values)) for name, values in released.items()}, 3)
    >>> print(Homogeneity(protected=["flu"]).on(Published.of("the frame", table, ["age"], ["disease"])).sentence)
    2 of 3 records lie in 1 of 2 classes that show one protected value of disease
    """

    name: ClassVar[str] = "homogeneity"
    sentence: ClassVar[str] = "Find classes that show one sensitive value only, beside how many chance would make."
    channel: ClassVar[Channel] = Channel.ATTRIBUTE
    source: ClassVar[str] = "Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ICDE 2006"
    if_exposed: ClassVar[str] = "{exposed:,} are in classes that show one value only"
    if_not: ClassVar[str] = "by its values: none of {classes:,} classes shows one only"
    of_sensitive: ClassVar[bool] = True

    checked: ClassVar[bool] = False

    protected: Collection[str] | None = option(
        None, "Sensitive values that matter, separated by commas; all unless given.", listed=True
    )

    def on(self, published: Published, truth: Truth | None = None) -> Finding:  # noqa: ARG002 - a release tells all
        """Find the homogeneous classes and count the records in them."""
        sensitive, counts = sensitive_attributes(published), published.counts
        self._refuse_strange(counts, sensitive)
        found = {name: homogeneous(counts, [name], self.protected) for name in sensitive}
        any_ = np.logical_or.reduce(list(found.values()))
        figures: dict[str, Any] = {
            "classes": len(counts.sizes),
            "homogeneous_classes": int(any_.sum()),
            "records": counts.rows,
            "suppressed_records": int(published.hidden.sum()),
            "attributes": {name: self._document(counts, [name], found[name]) for name in sensitive},
        }
        first = figures["attributes"][sensitive[0]]
        if len(sensitive) > 1:
            together = homogeneous(counts, sensitive, self.protected)
            figures["all_attributes_together"] = first = self._document(counts, sensitive, together)
        figures |= {name: first[name] for name in ("expected_uniform", "expected")}
        exposed = int(counts.sizes[any_].sum())
        kind = "one value" if self.protected is None else "one protected value"
        sentence = (
            f"{exposed:,} of {counts.rows:,} records lie in {int(any_.sum()):,} of {len(counts.sizes):,} classes "
            f"that show {kind} of {' or '.join(sensitive)}"
        )
        told = tuple(name for name in sensitive if found[name].any())
        return Finding("homogeneity", Channel.ATTRIBUTE, exposed, counts.rows, sentence, figures, columns=told)

    def _document(self, counts: ClassCounts, names: Sequence[str], found: Flags) -> dict[str, Any]:
        return expectations(counts, names) | {"classes": int(found.sum()), "rows": int(counts.sizes[found].sum())}

    def _refuse_strange(self, counts: ClassCounts, sensitive: Sequence[str]) -> None:
        known = {label for name in sensitive for label in counts.sensitive[name].labels}
        if self.protected is not None and not known.intersection(self.protected):
            raise BadInput(f"none of the protected values occurs in {' or '.join(map(repr, sensitive))}")


def sensitive_attributes(published: Published) -> tuple[str, ...]:
    """Return the sensitive attributes; refuse a release without any."""
    if not published.sensitive:
        raise BadInput(f"{published.name}: name its sensitive attributes with --sensitive (in Python sensitive=…)")
    return published.sensitive


def expectations(counts: ClassCounts, attributes: Sequence[str]) -> dict[str, float]:
    """Expected homogeneous classes by chance: with uniform values and equal classes, and with the real ones."""
    distinct = [len(np.unique(counts.sensitive[name].non_null().values)) for name in attributes]
    smallest = max(int(counts.sizes.min(initial=counts.rows)), 1)
    return {
        "expected_uniform": expected_uniform(counts.rows, smallest, distinct),
        "expected": expected(counts, attributes),
    }


def expected_uniform(rows: int, k: int, distinct: Sequence[int]) -> float:
    """SE: homogeneous classes among rows/k of k rows each if all of the distinct values were equally likely (S0.3).

    Mohapatra, Patra, equation (1): (ΠKᵢ / ΠKᵢᵏ) (n/k), for attributes of K₁, K₂ … values.

    >>> round(expected_uniform(12, 4, [3]), 6)
    0.111111
    """
    if not all(distinct):
        return 0.0  # no value is known of anybody
    return rows / k * float(prod(distinct)) ** (1 - k)


def expected(counts: ClassCounts, attributes: Sequence[str]) -> float:
    """The same with the table's own shares p of the values and sizes of the classes: Σ_E Π_attr Σ_v p_v^|E| (S0.4).

    Sizes are numbers of known values; a class of which nothing is known is not homogeneous.
    """
    chance = np.ones(len(counts.sizes))
    for name in attributes:
        values = counts.sensitive[name].non_null()
        totals, at = np.unique(values.totals, return_inverse=True)
        overall = np.bincount(values.values, weights=values.counts, minlength=len(values.labels))
        share = overall[overall > 0] / max(overall.sum(), 1)
        chance *= np.array([float((share**total).sum()) if total else 0.0 for total in totals.tolist()])[at]
    return float(chance.sum())


def homogeneous(counts: ClassCounts, attributes: Sequence[str], protected: Collection[str] | None = None) -> Flags:
    """Which classes show one known value of each attribute, and where values are protected, one of these (S3.7)."""
    found = np.ones(len(counts.sizes), dtype=bool)
    for name in attributes:
        values = counts.sensitive[name].non_null()
        found &= _one_value(values) & _holding(values, protected)
    return found


def attacked_rows(counts: ClassCounts, attribute: str, protected: Collection[str] | None = None) -> int:
    """Records under homogeneity attack: rows of classes with one value, all or only the protected ones (S3.7)."""
    return int(counts.sizes[homogeneous(counts, [attribute], protected)].sum())


def _one_value(values: ValueCounts) -> Flags:
    return np.asarray(np.bincount(values.classes, minlength=values.class_count) == 1)


def _holding(values: ValueCounts, protected: Collection[str] | None) -> Flags:
    """Flag the classes that hold a protected value; all classes where none is named."""
    if protected is None:
        return np.ones(values.class_count, dtype=bool)
    codes = [code for code, label in enumerate(values.labels) if label in protected]
    held = np.isin(values.values, codes)
    return np.asarray(np.bincount(values.classes[held], minlength=values.class_count) > 0)
