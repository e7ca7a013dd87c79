"""(X,Y)-privacy: each value of X goes with many values of Y, and with none of them too often."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.data.class_counts import ClassCounts, Indices, Longs, sum_counts
from shoal.errors import BadPolicy
from shoal.models.model import (
    Closure,
    Flags,
    Model,
    Need,
    Share,
    Whole,
    ceiling,
    exact_share,
    is_within_limits,
    refuse_unless_flag,
    refuse_unless_whole,
    settle_shares,
)
from shoal.roles import Role

if TYPE_CHECKING:
    from shoal.data.codes import Table
    from shoal.hierarchy.build import Builder


@dataclass(frozen=True, slots=True)
class XYPrivacy(Model):
    """Rows that agree in X have at least k different values of Y, and no value of Y is that of more than the share h.

    X are quasi-identifiers as they are released, all of them unless named; Y are columns of the table. With k alone it
    is (X,Y)-anonymity, with h alone (X,Y)-linkability. Where Y has a null it counts for nothing, unless `null_is_value`
    (design 7). Rows that agree in some quasi-identifiers only are spread over classes, so X with a name is judged on
    what is kept, after suppression.

    Wang and Fung, KDD 2006.
    """

    name: ClassVar[str] = "x-y-privacy"
    family: ClassVar[str] = "Who can be found"
    sentence: ClassVar[str] = "Every group by x is linked to at least k values of y, and to none of them too surely."
    adversary: ClassVar[str] = "knows the columns x of a person and wants to learn the columns y"
    source: ClassVar[str] = "Wang and Fung, KDD 2006"
    closure: ClassVar[Closure] = Closure.SUPERSET
    y: tuple[str, ...]
    x: tuple[str, ...] | None = None
    k: Whole = 1
    h: Share = 1.0
    null_is_value: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "y", _check_names("y", self.y))
        object.__setattr__(self, "x", None if self.x is None else _check_names("x", self.x))
        refuse_unless_whole("k", self.k)
        refuse_unless_flag("null-is-value", self.null_is_value)
        settle_shares(self, "h")
        both = sorted(set(self.y) & set(self.x or ()))
        if both:
            raise ValueError(f"x and y must be different columns, not both {both[0]!r}")

    def refuse_misfit(
        self, table: "Table", roles: Mapping[str, Role], builders: Mapping[str, "Builder | None"]
    ) -> None:
        Model.refuse_misfit(self, table, roles, builders)
        for name in self.x or ():
            if roles.get(name) is not Role.QUASI_IDENTIFIER:
                raise BadPolicy(f"require: {self.name}: x names {name!r}, which has not the role 'quasi-identifier'")

    @property
    def table_wide(self) -> bool:
        return self.x is not None

    @property
    def merging(self) -> Closure:
        """Merging never lowers the number of values; shares keep their limit only when all merged classes keep it."""
        return Closure.UNION if self.table_wide or exact_share("h", self.h) < 1 else Closure.SUPERSET

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({Need.ORIGINAL})

    @property
    def columns(self) -> tuple[str, ...]:
        return self.y

    def complies(self, counts: ClassCounts) -> Flags:
        return np.ones(len(counts.sizes), dtype=bool) if self.table_wide else self._flag_complying(counts)

    def holds(self, counts: ClassCounts) -> bool:
        return bool(self._flag_complying(counts).all())

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        group, at, rows = self._pairs(counts)
        distinct = np.bincount(at, minlength=_count_groups(group))
        total = sum_counts(at, rows, _count_groups(group))[at]
        share = rows / total
        highest = np.unique(np.stack([rows, total])[:, share == share.max(initial=0)], axis=1)
        most = max((Fraction(r, t) for r, t in highest.T.tolist()), default=Fraction(0))
        return {"k": int(distinct.min(initial=len(at))), "h": ceiling(most)}

    def worst(self, counts: ClassCounts) -> int | None:
        """Return a class of the group with the fewest values of Y."""
        group, at, _ = self._pairs(counts)
        return int(np.bincount(at, minlength=_count_groups(group))[group].argmin()) if len(group) else None

    def parts(self) -> Iterable[Model]:
        if self.k == 1 or exact_share("h", self.h) == 1:
            return (self,)
        return replace(self, h=1.0), replace(self, k=1)

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Return the reason if Y has too few values, or one too frequent even without all suppressible rows."""
        _, _, rows = self._pairs(table)
        if len(rows) < self.k:
            return f"y has {len(rows)} different values in the whole table < k={self.k}"
        most, total = int(rows.max(initial=0)), int(rows.sum())
        left = Fraction(max(most - suppressible, 0), max(total - suppressible, 1))
        if left > exact_share("h", self.h):
            return f"a value of y needs h >= {-(-left.numerator * 10_000 // left.denominator) / 10_000:.4f}"
        return None

    def _flag_complying(self, counts: ClassCounts) -> Flags:
        group, at, rows = self._pairs(counts)
        # per group: whether it has k values; then failed where a value exceeds its share h
        complying = np.bincount(at, minlength=_count_groups(group)) >= self.k
        total = sum_counts(at, rows, len(complying))
        over = ~is_within_limits(rows, total[at], [exact_share("h", self.h)], np.zeros(len(at), dtype=np.int64))
        complying[at[over]] = False
        return np.asarray(complying[group], dtype=bool)

    def _pairs(self, counts: ClassCounts) -> tuple[Indices, Indices, Longs]:
        """Return the group of each class; and for each (group, value of Y) pair, its group and number of rows."""
        joint = counts.joint[self.y]
        # entries that count: without null in Y unless null is a value
        chosen = np.ones(len(joint.counts), dtype=bool)
        for labels, codes in zip(joint.labels, joint.codes, strict=True):
            if not self.null_is_value:
                chosen &= np.array([label is not None for label in labels], dtype=bool)[codes]
        group = np.arange(len(counts.sizes))
        if self.x is not None:
            # [x, class]: labels of the chosen quasi-identifiers; equal columns are one group
            shown = np.stack([counts.released[name] for name in self.x])
            group = np.unique(shown, axis=1, return_inverse=True)[1].reshape(-1)
        if self.x is None:  # then each pair is one entry
            return group, joint.classes[chosen], joint.counts[chosen]
        # [1 + y, entry]: group and values of Y; rows of equal columns are added up
        keys = np.stack([group[joint.classes[chosen]], *(codes[chosen] for codes in joint.codes)])
        pairs, which = np.unique(keys, axis=1, return_inverse=True)
        return group, pairs[0], sum_counts(which.reshape(-1), joint.counts[chosen], pairs.shape[1])


def _count_groups(group: Indices) -> int:
    return int(group.max(initial=-1)) + 1


def _check_names(parameter: str, names: Any) -> tuple[str, ...]:
    """Return one name or several as a tuple; refuse other things, and a name given twice."""
    listed = (names,) if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not listed or not all(isinstance(n, str) and n for n in listed):
        raise ValueError(f"{parameter} must name columns, such as ['person'], not {names!r}")
    if len(set(listed)) < len(listed):
        raise ValueError(f"{parameter} names a column twice: {list(listed)!r}")
    return tuple(listed)
