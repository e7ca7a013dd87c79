"""Distinct and entropy l-diversity, and what all l-diversities share: every class shows enough different values."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import floor, log
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Ge, Len
from numpy.typing import NDArray

from shoal.data.class_counts import ClassCounts, Indices, Longs, ValueCounts
from shoal.errors import BadPolicy
from shoal.models.model import (
    READS_THE_CLASS,
    Closure,
    Flags,
    Model,
    Whole,
    exact,
    refuse_unless_flag,
    refuse_unless_whole,
)
from shoal.roles import Role

if TYPE_CHECKING:
    from shoal.data.codes import Table
    from shoal.hierarchy.build import Builder

Others = Annotated[tuple[str, ...], Len(1)]
"""Sensitive attributes that an adversary may know of somebody."""


@dataclass(frozen=True, slots=True)
class DiverseGroups:
    """Sets of records that must be diverse: the values of each, the class it belongs to, and its rows."""

    values: ValueCounts
    owner: Indices
    rows: Longs


class LDiversity(Model):
    """Enough different values of a sensitive attribute, in one of two readings where there are several.

    Left out, `others` says: each class must be diverse. Given, it names sensitive attributes that an adversary may
    know, and the attribute must be diverse in every class of the quasi-identifiers enlarged by them (section 4.3 of the
    paper); the attribute itself may be in the list, so that one list serves all. Records that are not diverse among
    those of their class with the same other values stay so when a class without these values joins: enlarged, no
    l-diversity is closed under supersets.
    Null protects nobody unless `null_is_value`; null of another attribute is a value like any other (design 7).
    """

    __slots__ = ()
    per_attribute: ClassVar[bool] = True
    attribute: str | None
    null_is_value: bool
    others: Others | None

    @property
    def columns(self) -> tuple[str, ...]:
        others = [name for name in self.others or () if name != self.attribute]
        return (self.attribute, *others) if others and self.attribute is not None else ()

    def refuse_misfit(
        self, table: "Table", roles: Mapping[str, Role], builders: Mapping[str, "Builder | None"]
    ) -> None:
        Model.refuse_misfit(self, table, roles, builders)
        for name in self.others or ():
            if roles.get(name) is not Role.SENSITIVE:
                raise BadPolicy(f"require: {self.name}: others names {name!r}, which has not the role 'sensitive'")

    @property
    def merging(self) -> Closure:
        return min(self.closure, Closure.UNION) if self.columns else self.closure

    @property
    def least_rows(self) -> int:
        return int(getattr(self, "l"))  # noqa: B009 - a field of each of them

    @abstractmethod
    def diverse(self, values: ValueCounts) -> Flags:
        """Flag the sets of records that are diverse."""

    @abstractmethod
    def level(self, values: ValueCounts) -> NDArray[Any]:
        """Return how diverse each set of records is."""

    @abstractmethod
    def hopeless(self, distinct: Longs) -> Flags:
        """Flag the numbers of different values that are too few, however often each occurs."""

    def complies(self, counts: ClassCounts) -> Flags:
        groups = self.groups(counts)
        complying = np.ones(len(counts.sizes), dtype=bool)
        complying[groups.owner[~self.diverse(groups.values)]] = False
        return complying

    def worst(self, counts: ClassCounts) -> int | None:
        groups = self.groups(counts)
        return int(groups.owner[self.level(groups.values).argmin()]) if len(groups.owner) else None

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Reason if more records than may be suppressed have too few different values, wherever they go."""
        groups = self.groups(table)
        distinct = distinct_values(groups.values)
        hopeless = self.hopeless(distinct)
        lost = int(groups.rows[hopeless].sum())
        if lost <= suppressible and not hopeless.all():
            return None
        asked = f"l={getattr(self, 'l')}"  # noqa: B009 - a field of each of them
        if not self.columns:
            return f"{self.attribute!r} has {distinct.max(initial=0)} different values in the whole table < {asked}"
        known = ", ".join(map(repr, self.columns[1:]))
        return f"{lost} records share their {known} with too few different values of {self.attribute!r} for {asked}"

    def groups(self, counts: ClassCounts) -> DiverseGroups:
        """Return the classes, or their parts with equal values of the other attributes."""
        assert self.attribute is not None
        if not self.columns:
            values = counts.sensitive[self.attribute].protecting(null=self.null_is_value)
            return DiverseGroups(values, np.arange(len(counts.sizes)), counts.sizes)
        joint = counts.joint[self.columns]
        group = np.asarray(joint.classes, dtype=np.int64)
        for codes in joint.codes[1:]:  # numbered anew each time: the product of all sizes may be too large
            group = np.unique(group * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
        many = int(group.max(initial=-1)) + 1
        owner = np.zeros(many, dtype=np.int64)
        owner[group] = joint.classes
        rows = np.bincount(group, weights=joint.counts, minlength=many).astype(np.int64)
        values = ValueCounts(group, joint.codes[0], joint.counts, joint.labels[0], many)
        return DiverseGroups(values.protecting(null=self.null_is_value), owner, rows)

    def refuse_persons(self, table: ClassCounts) -> str | None:
        """Say why shares of persons cannot be told: columns counted together are counted by rows."""
        assert self.attribute is not None
        if not self.columns or table.sensitive[self.attribute].everyone is None:
            return None
        return "with others it counts rows, and the unit asks for persons; leave others out, or drop the unit"


def refuse_odd_reading(model: LDiversity) -> None:
    """Raise ValueError unless the flag and the others make sense; turn a list of others into a tuple."""
    refuse_unless_flag("null-is-value", model.null_is_value)
    others: Any = model.others
    if others is None:
        return
    if not isinstance(others, list | tuple) or not all(isinstance(name, str) for name in others):
        raise ValueError(f"others must be a list of sensitive attributes, not {others!r}")
    if not others or len(set(others)) < len(others):
        raise ValueError(f"others must name at least one sensitive attribute, and none twice, not {list(others)!r}")
    object.__setattr__(model, "others", tuple(others))


def distinct_values(values: ValueCounts) -> Longs:
    """Return the number of different values in each class."""
    return np.bincount(values.classes, minlength=values.class_count).astype(np.int64)


TOLERANCE = 1e-12
"""Tolerance of entropies, which are floats: this far below ln l counts as ln l."""


@dataclass(frozen=True, slots=True)
class DistinctLDiversity(LDiversity):
    """Every class holds at least l different values of a sensitive attribute.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ICDE 2006.
    """

    name: ClassVar[str] = "distinct-l-diversity"
    family: ClassVar[str] = "Different values"
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
    family: ClassVar[str] = "Different values"
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
        """Reason if there are too few values or, where nothing may be suppressed, too little entropy in the table."""
        why = LDiversity.impossible(self, table, suppressible) or self.refuse_persons(table)
        if why is not None or suppressible or self.holds(table):
            return why
        most = floor(self.attained(table)["l"] * 10_000) / 10_000
        return f"{self.attribute!r} attains l={most:.4f} in the whole table < l={self.l}"

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1, attribute),) if attribute is not None else ()


def _total(values: ValueCounts) -> NDArray[np.float64]:
    """Number of values in each class; where persons are counted, one person may have several."""
    return np.bincount(values.classes, weights=values.counts, minlength=values.class_count).astype(np.float64)


def _entropy(values: ValueCounts) -> NDArray[np.float64]:
    """Shannon entropy in nats: Σ q ln 1/q, all terms positive, so that little is lost in rounding."""
    share = values.counts / _total(values)[values.classes]
    terms = share * -np.log(share)
    return np.bincount(values.classes, weights=terms, minlength=values.class_count).astype(np.float64)
