"""t-closeness: the sensitive values of every class are distributed nearly as in the whole table."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import numpy as np
from annotated_types import Ge, Le

from shoal.counts import ClassCounts, Indices, ValueCounts
from shoal.errors import BadPolicy
from shoal.models.base import KNOWS_FREQUENCIES, Closure, Flags, Need, ceiling, exact, within
from shoal.models.distances import Emd, equal, hierarchical, ordered
from shoal.models.numbers import scaled
from shoal.models.reference import Reference, Referenced, greatest, integers, refuse_unless_one_of

Distance = Literal["equal", "ordered", "hierarchical"]
"""How far two values lie apart."""


@dataclass(frozen=True, slots=True)
class TCloseness(Referenced):
    """The earth mover's distance between the values of each class and those of the whole table is at most t.

    Li, Li, Venkatasubramanian, ICDE 2007. Two values lie apart: 1 each (`equal`); by the ranks between them, of
    numbers or of the attribute's `order` (`ordered`); by the height at which its hierarchy joins them
    (`hierarchical`). Compared in whole numbers, without rounding.
    """

    name: ClassVar[str] = "t-closeness"
    sentence: ClassVar[str] = "In every class the sensitive values are spread nearly as in the whole table, within t."
    adversary: ClassVar[str] = KNOWS_FREQUENCIES
    source: ClassVar[str] = "Li, Li, Venkatasubramanian, ICDE 2007"
    closure: ClassVar[Closure] = Closure.UNION
    t: Annotated[float, Ge(0), Le(1)]
    distance: Distance | None = None
    """Left out: equal, unless the values are numbers; then it must be said."""
    attribute: str | None = None
    reference: Reference = "original"
    null_is_value: bool = False

    def __post_init__(self) -> None:
        if not 0 <= exact("t", self.t) <= 1:
            raise ValueError(f"t must lie from 0 to 1, not {self.t!r}")
        refuse_unless_one_of("distance", self.distance or "equal", get_args(Distance))
        self._refuse_settings()

    @property
    def needs(self) -> frozenset[Need]:
        """Hierarchy and order are not in a release."""
        itself = self.table_wide and self.distance in {None, "equal"}
        return frozenset() if itself else frozenset({Need.ORIGINAL})

    def _against_release(self) -> Self:
        """A release may show numbers alone, though the original did not: then they stay as different as texts are."""
        return replace(self, reference="release", distance=self.distance or "equal")

    def worst(self, counts: ClassCounts) -> int | None:
        part, whole = self._emd(self._values(counts))
        return int(np.argmax(part / whole)) if len(part) else None

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1.0, "equal", attribute),) if attribute is not None else ()

    def _close(self, values: ValueCounts) -> Flags:
        part, whole = self._emd(values)
        return within(part, whole, [exact("t", self.t)], np.zeros(len(part), dtype=np.int64))

    def _attained(self, values: ValueCounts) -> dict[str, Any]:
        found = {"t": ceiling(greatest(*self._emd(values)))}
        if self.distance == "equal" and _are_numbers(values) and not values.order:
            found["ordered"] = ceiling(greatest(*ordered(values, _ranks(values, self.attribute))))
        return found

    def _emd(self, values: ValueCounts) -> Emd:
        if self.distance is None and _are_numbers(values):
            raise BadPolicy(
                f"t-closeness: the values of {self.attribute!r} are numbers; say distance = 'ordered', or 'equal' if "
                "their order means nothing"
            )
        if self.distance == "ordered":
            return ordered(values, _ranks(values, self.attribute))
        if self.distance == "hierarchical":
            if not values.levels:
                raise BadPolicy(f"attributes.{self.attribute}: distance = 'hierarchical' needs its hierarchy; give one")
            return hierarchical(values)
        return equal(values)


def _are_numbers(values: ValueCounts) -> bool:
    return scaled(values.labels) is not None and any(label is not None for label in values.labels)


def _ranks(values: ValueCounts, attribute: str | None) -> Indices:
    """The rank of each value among those that occur, by the order of the policy or as numbers; null comes last."""
    numbers = scaled(values.labels)
    if values.order:
        places: dict[str | None, int] = {label: i for i, label in enumerate(values.order)}
    elif numbers is not None:
        places = dict(zip(values.labels, numbers[0], strict=True))
    else:
        raise BadPolicy(
            f"attributes.{attribute}: distance = 'ordered' needs plain numbers, or the order of its values; give "
            "order = [...]"
        )
    places[None] = max((place for label, place in places.items() if label is not None), default=0) + 1
    occurs = values.overall > 0
    occurs[values.values] = True
    occurring = [values.labels[i] for i in np.flatnonzero(occurs).tolist()]
    missing = sum(label not in places for label in occurring)
    if missing:
        raise BadPolicy(f"attributes.{attribute}: its order lacks {missing} of its values; add them")
    ranks = np.zeros(len(values.labels), dtype=np.int64)
    kind = integers(max(map(abs, places.values())))
    ranks[occurs] = np.unique(np.array([places[label] for label in occurring], kind), return_inverse=True)[1]
    return ranks
