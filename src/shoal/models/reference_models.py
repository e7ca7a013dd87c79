"""Models that compare the sensitive values of each class with those of a whole table."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import ClassCounts, Indices, Longs, ValueCounts
from shoal.models.model import Closure, Flags, Model, Need, refuse_unless_flag
from shoal.models.value_limits import ValueLimits, flag_counted

Reference = Literal["original", "release"]
"""The table that classes are compared with (design 3)."""
Ints = NDArray[Any]
"""int64, or Python integers of any size where int64 is too small."""

_LARGEST = np.iinfo(np.int64).max


class ReferenceModel(Model):
    """A model of one sensitive attribute, judged against the original table, class by class, or against the release.

    Against the release it is judged on all that is kept, since every suppressed class changes the reference.
    Shares are of the non-null values unless `null_is_value` (design 7). Where persons are counted and have several
    values, a share is of all pairs of person and value, so that shares of a class and of the table sum to 1.
    """

    __slots__ = ()
    per_attribute: ClassVar[bool] = True
    attribute: str | None
    null_is_value: bool
    reference: Reference

    @property
    def table_wide(self) -> bool:
        return self.reference == "release"

    @property
    def merging(self) -> Closure:
        return Closure.NOT if self.table_wide else self.closure

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset() if self.table_wide else frozenset({Need.ORIGINAL})

    @property
    def public(self) -> Model | None:
        """The same model compared with the release: the original's distribution would reveal rows left out."""
        itself = self._against_release()
        return None if itself.needs else itself

    def complies(self, counts: ClassCounts) -> Flags:
        return np.ones(len(counts.sizes), dtype=bool) if self.table_wide else self._close(self._values(counts))

    def least_removed(self, counts: ClassCounts) -> Longs:
        if self.table_wide:
            return np.zeros(len(counts.sizes), dtype=np.int64)
        return self._least_removed(self._values(counts))

    def value_limits(self, counts: ClassCounts) -> ValueLimits | None:
        if self.table_wide or self.attribute is None or counts.sensitive[self.attribute].reference is None:
            return None
        return self._value_limits(self._values(counts))

    def holds(self, counts: ClassCounts) -> bool:
        return bool(self._close(self._values(counts)).all())

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        """Return what is attained; if the reference is another table, also what is attained against the release."""
        values = self._values(counts)
        found = self._attained(values)
        return found if values.reference is None else found | {"release": self._attained(_without_reference(values))}

    def _against_release(self) -> Self:
        return replace(self, reference="release")  # type: ignore[type-var]

    @abstractmethod
    def _close(self, values: ValueCounts) -> Flags:
        """Flag the classes that are close enough to the reference."""

    @abstractmethod
    def _least_removed(self, values: ValueCounts) -> Longs:
        """Return how many rows of each class must go, at least, before the rest is close enough to the reference."""

    def _value_limits(self, values: ValueCounts) -> ValueLimits | None:  # noqa: ARG002
        """Return the limits that tell `_least_removed`, given the reference; None where there are none."""
        return None

    @abstractmethod
    def _attained(self, values: ValueCounts) -> dict[str, Any]:
        """Return how far the farthest class is from the reference."""

    def _values(self, counts: ClassCounts) -> ValueCounts:
        assert self.attribute is not None
        values = counts.sensitive[self.attribute].select_protecting(null=self.null_is_value)
        values = replace(values, holders=None, everyone=None)
        return _without_reference(values) if self.table_wide else values

    def _counted(self, values: ValueCounts) -> Flags:
        """Flag the values whose shares are compared."""
        return flag_counted(values.labels, null=self.null_is_value)

    def _refuse_settings(self) -> None:
        refuse_unless_flag("null-is-value", self.null_is_value)
        refuse_unless_one_of("reference", self.reference, get_args(Reference))


def _without_reference(values: ValueCounts) -> ValueCounts:
    """Return the counts with the classes themselves, all together, as the reference."""
    return replace(values, reference=None)


def refuse_unless_one_of(name: str, value: object, known: Sequence[object]) -> None:
    """Raise ValueError unless `value` is one of the known settings."""
    if isinstance(value, bool) or value not in known:
        *others, last = map(repr, known)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, not {value!r}")


def ratios(values: ValueCounts, overall: Ints) -> tuple[Ints, Ints]:
    """Return q/p of each entry, its share in the class over that in the reference, as numerators and denominators.

    With n of the N rows of the class, and P_s of the P rows of the reference, q/p is n·P over N·P_s.
    """
    whole, totals = int(overall.sum()), values.totals
    kind = integers(int(totals.max(initial=0)) * whole)
    here, there = values.counts.astype(kind), overall.astype(kind)
    return here * whole, totals.astype(kind)[values.classes] * there[values.values]


def integers(largest: int) -> np.dtype[Any]:
    """Return int64 if it holds numbers up to `largest`, else the type of Python integers."""
    return np.dtype(np.int64 if largest <= _LARGEST else object)


def sum_by_class(classes: Indices, parts: Ints, class_count: int) -> Ints:
    """Return the exact sum of the parts of each class, in whole numbers of the parts' own type."""
    out = np.zeros(class_count, dtype=parts.dtype)
    np.add.at(out, classes, parts)
    return out


def greatest_ratio(part: Ints, whole: Ints) -> Fraction:
    """Return the greatest part/whole, exactly; 0 where there is none.

    >>> greatest_ratio(np.array([1, 2]), np.array([3, 3]))
    Fraction(2, 3)
    """
    if not len(part):
        return Fraction(0)
    # fractions are compared exactly only among the entries with the largest quotients
    near = (part / whole).astype(np.float64)
    candidates = near >= near.max() * (1 - 1e-12)  # a quotient of large numbers is rounded
    pairs = set(zip(part[candidates].tolist(), whole[candidates].tolist(), strict=True))
    return max(Fraction(*pair) for pair in pairs)
