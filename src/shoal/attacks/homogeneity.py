"""The homogeneity attack: classes that show one sensitive value only tell it of everybody in them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.attack import Attack, Channel, Finding, option
from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.class_counts import ClassCounts, Flags, ValueCounts, sum_counts
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

    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        """Find the homogeneous classes and count the records in them."""
        sensitive, counts = sensitive_attributes(published), published.counts
        self._refuse_unknown_values(counts, sensitive)
        found = {name: flag_homogeneous(counts, [name], self.protected) for name in sensitive}
        any_ = np.logical_or.reduce(list(found.values()))
        figures: dict[str, Any] = {
            "classes": len(counts.sizes),
            "homogeneous_classes": int(any_.sum()),
            "records": counts.rows,
            "suppressed_records": int(published.hidden.sum()),
            "attributes": {name: describe_homogeneity(counts, [name], self.protected) for name in sensitive},
        }
        some = describe_homogeneity(counts, sensitive, self.protected, some=True)
        figures |= {name: some[name] for name in ("expected_uniform", "expected")}
        if len(sensitive) > 1:
            every = describe_homogeneity(counts, sensitive, self.protected)
            figures |= {"any_attribute": some, "all_attributes_together": every}
            figures |= {
                "homogeneous_in_all": every["classes"],
                "expected_uniform_in_all": every["expected_uniform"],
                "expected_in_all": every["expected"],
            }
        exposed = int(counts.sizes[any_].sum())
        kind = "one value" if self.protected is None else "one protected value"
        sentence = (
            f"{exposed:,} of {counts.rows:,} records lie in {int(any_.sum()):,} of {len(counts.sizes):,} classes "
            f"that show {kind} of {' or '.join(sensitive)}"
        )
        told = tuple(name for name in sensitive if found[name].any())
        return Finding("homogeneity", Channel.ATTRIBUTE, exposed, counts.rows, sentence, figures, columns=told)

    def _refuse_unknown_values(self, counts: ClassCounts, sensitive: Sequence[str]) -> None:
        """Refuse protected values none of which occurs."""
        known = {label for name in sensitive for label in counts.sensitive[name].labels}
        if self.protected is not None and not known.intersection(self.protected):
            raise BadInput(f"none of the protected values occurs in {' or '.join(map(repr, sensitive))}")


def sensitive_attributes(published: Published) -> tuple[str, ...]:
    """Return the sensitive attributes; refuse a release without any."""
    if not published.sensitive:
        raise BadInput(f"{published.name}: name its sensitive attributes with --sensitive (in Python sensitive=…)")
    return published.sensitive


def describe_homogeneity(
    counts: ClassCounts, attributes: Sequence[str], protected: Collection[str] | None = None, *, some: bool = False
) -> dict[str, Any]:
    """Return how many classes are homogeneous in all attributes, or with `some` in any, and how many by chance.

    Chance is told with uniform values and equal classes, equation (1), and with the table's own shares and sizes.
    """
    found = [flag_homogeneous(counts, [name], protected) for name in attributes]
    flags = np.logical_or.reduce(found) if some else np.logical_and.reduce(found)
    known = [counts.sensitive[name].non_null() for name in attributes]
    held = [{values.labels[code] for code in np.unique(values.values).tolist()} for values in known]
    smallest = max(int(counts.sizes.min(initial=counts.rows)), 1)
    telling = None if protected is None else [len(labels.intersection(protected)) for labels in held]
    return {
        "expected_uniform": expected_uniform(counts.rows, smallest, [*map(len, held)], telling, some=some),
        "expected": expected(counts, attributes, protected, some=some),
        "classes": int(flags.sum()),
        "rows": int(counts.sizes[flags].sum()),
    }


def expected_uniform(
    rows: int, k: int, distinct: Sequence[int], telling: Sequence[int] | None = None, *, some: bool = False
) -> float:
    """Return SE: homogeneous classes among rows/k of k rows each, if all distinct values were equally likely (S0.3).

    Mohapatra, Patra, equation (1): (ΠKᵢ / ΠKᵢᵏ) (n/k), for attributes of K₁, K₂ … values, of which a class shows one of
    each. With `some` it shows one of any of them: (1 − Π(1 − Kᵢ / Kᵢᵏ)) (n/k). Of `telling` values, Kᵢ if not given,
    one must be shown.

    >>> round(expected_uniform(12, 4, [3]), 6), expected_uniform(12, 2, [2, 3])
    (0.111111, 1.0)
    >>> round(expected_uniform(12, 2, [2, 3], some=True), 6)
    4.0
    """
    # of an attribute of which nothing is known, no class shows one value
    chances = [
        float(many) ** (1 - k) * (1.0 if telling is None else telling[i] / many) if many else 0.0
        for i, many in enumerate(distinct)
    ]
    return rows / k * float(_join_chances(np.array(chances)[:, None], some=some)[0])


def expected(
    counts: ClassCounts, attributes: Sequence[str], protected: Collection[str] | None = None, *, some: bool = False
) -> float:
    """Return the same with the table's own shares p of values and sizes of classes: Σ_E Π_attr Σ_v p_v^|E| (S0.4).

    Sizes are numbers of known values; a class of which nothing is known is not homogeneous.
    """
    chances = []
    for name in attributes:
        values = counts.sensitive[name].non_null()
        # the distinct class sizes, and [class] which of them it has: the inner sum is computed once per size
        totals, at = np.unique(values.totals, return_inverse=True)
        overall = sum_counts(values.values, values.counts, len(values.labels))
        telling = np.array([protected is None or label in protected for label in values.labels], dtype=bool)
        share = overall[(overall > 0) & telling] / max(overall.sum(), 1)
        chances.append(np.array([float((share**total).sum()) if total else 0.0 for total in totals.tolist()])[at])
    return float(_join_chances(np.array(chances), some=some).sum())


def _join_chances(chances: NDArray[np.float64], *, some: bool) -> NDArray[np.float64]:
    """Return how likely all of the events are, or with `some` any: chances[event, class], independent of each other."""
    if not some or len(chances) == 1:
        return np.asarray(chances.prod(axis=0))
    with np.errstate(divide="ignore"):  # what is certain has an infinite logarithm
        return np.asarray(-np.expm1(np.log1p(-np.minimum(chances, 1.0)).sum(axis=0)))


def flag_homogeneous(counts: ClassCounts, attributes: Sequence[str], protected: Collection[str] | None = None) -> Flags:
    """Flag the classes that show one known value of each attribute; if values are protected, one of these (S3.7)."""
    found = np.ones(len(counts.sizes), dtype=bool)
    for name in attributes:
        values = counts.sensitive[name].non_null()
        found &= _has_one_value(values) & _has_protected_value(values, protected)
    return found


def attacked_rows(counts: ClassCounts, attribute: str, protected: Collection[str] | None = None) -> int:
    """Count the records in homogeneous classes, of all values or only of the protected ones (S3.7)."""
    return int(counts.sizes[flag_homogeneous(counts, [attribute], protected)].sum())


def _has_one_value(values: ValueCounts) -> Flags:
    """Flag the classes that hold exactly one value."""
    return np.asarray(np.bincount(values.classes, minlength=values.class_count) == 1)


def _has_protected_value(values: ValueCounts, protected: Collection[str] | None) -> Flags:
    """Flag the classes that hold a protected value; all classes where none is named."""
    if protected is None:
        return np.ones(values.class_count, dtype=bool)
    codes = [code for code, label in enumerate(values.labels) if label in protected]
    held = np.isin(values.values, codes)
    return np.asarray(np.bincount(values.classes[held], minlength=values.class_count) > 0)
