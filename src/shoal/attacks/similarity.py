"""The similarity attack: classes of different values that mean nearly the same (Li, Li, Venkatasubramanian 2007)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.attacks.attack import Attack, AuditInputs, Channel, Finding, option, refuse_unless_number
from shoal.attacks.homogeneity import sensitive_attributes
from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.class_counts import Flags, ValueCounts
from shoal.data.codes import Column, encode
from shoal.errors import BadHierarchy, BadInput
from shoal.hierarchy.build import Builder, build
from shoal.hierarchy.exact_numbers import exact
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.models.model import scale_to_integers


@dataclass(frozen=True)
class Similarity(Attack):
    """Records whose class keeps to one node of the hierarchy below its top, or to one band of numbers (Li 2007).

    A band is `width` wide, or `share` of the range that the release shows. Nulls are no values.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import Table, encode
    >>> released = {"age": ["3*", "3*", "4*", "4*"], "pay": [30, 35, 30, 90]}
    >>> table = Table({name: encode(name, pa.array(values)) for name, values in released.items()}, 4)
    >>> print(Similarity(width=10).on(Published.of("the frame", table, ["age"], ["pay"])).sentence)
    2 of 4 records lie in classes whose pay is nearly the same
    """

    name: ClassVar[str] = "similarity"
    sentence: ClassVar[str] = (
        "Find classes whose sensitive values differ and mean nearly the same: one node of a hierarchy, one band."
    )
    channel: ClassVar[Channel] = Channel.ATTRIBUTE
    slow: ClassVar[bool] = True
    source: ClassVar[str] = "Li, Li, Venkatasubramanian, ICDE 2007"
    of_sensitive: ClassVar[bool] = True
    by_hierarchy: ClassVar[bool] = True

    checked: ClassVar[bool] = False

    width: float | str | None = option(None, "Of a band of numbers that counts as one value: 10, or 5% of their range.")
    share: float | None = None

    @classmethod
    def for_audit(cls, given: AuditInputs) -> "Similarity":
        return cls(width=given.width)

    def __post_init__(self) -> None:
        if isinstance(self.width, str):
            width, share = _parse_band(self.width)
            object.__setattr__(self, "width", width)
            object.__setattr__(self, "share", share)
        if self.width is not None and self.share is not None:
            raise BadInput("give the width of a band or its share of the range, not both")
        for name, value in (("width", self.width), ("share", self.share)):
            if value is not None:
                refuse_unless_number(name, value)

    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        """Judge every attribute that has a hierarchy or, with a band, is of numbers."""
        sensitive, counts = sensitive_attributes(published), published.counts
        alike = np.zeros(len(counts.sizes), dtype=bool)
        told: dict[str, dict[str, Any]] = {}
        for name in sensitive:
            found = self._flag_similar_classes(counts.sensitive[name].non_null(), name, published.builders.get(name))
            for how, flags in found.items():
                alike |= flags
                told.setdefault(name, {})[how] = {
                    "classes": int(flags.sum()),
                    "records": int(counts.sizes[flags].sum()),
                }
        if not told:
            raise BadInput(
                f"{published.name}: no sensitive attribute has a known hierarchy of several levels, or is of numbers "
                "with a band asked for; give the hierarchies by their policy, or the width of a band"
            )
        exposed = int(counts.sizes[alike].sum())
        figures: dict[str, Any] = {
            "classes": len(alike),
            "similar_classes": int(alike.sum()),
            "share_of_classes": float(alike.mean()),
            "records": counts.rows,
            "share_of_records": exposed / counts.rows,
            "suppressed_records": int(published.hidden.sum()),
            "attributes": told,
            "not_judged": [name for name in sensitive if name not in told],
        }
        sentence = f"{exposed:,} of {counts.rows:,} records lie in classes whose {' or '.join(told)} is nearly the same"
        columns = tuple(name for name, ways in told.items() if any(one["classes"] for one in ways.values()))
        return Finding("similarity", Channel.ATTRIBUTE, exposed, counts.rows, sentence, figures, columns=columns)

    def _flag_similar_classes(self, values: ValueCounts, name: str, builder: Builder | None) -> dict[str, Flags]:
        """Flag the classes whose values are nearly the same, for each level of the hierarchy and for the band."""
        found = {}
        if builder is not None:
            column = encode(name, pa.array(values.labels, pa.string()))  # a row for each value
            hierarchy = _hierarchy(column, builder)
            for level in range(1, hierarchy.height + 1):
                if len({*hierarchy.labels[level]} - {None}) > 1:  # what all have in common is no news
                    groups = hierarchy.levels[level][column.codes]
                    found[f"level {level}"] = _spreads(values, groups) == 0
        numbers = scale_to_integers(values.labels)
        if numbers is not None and (self.width is not None or self.share is not None):
            found["band"] = self._in_band(values, *numbers)
        return {how: np.asarray(flags, dtype=bool) for how, flags in found.items()}

    def _in_band(self, values: ValueCounts, numbers: tuple[int, ...], scale: int) -> Flags:
        """Flag the classes whose values lie within one band; compared exactly, whatever the size of the numbers."""
        held = [numbers[value] for value in np.unique(values.values)]
        share = exact(self.share or 0) * (max(held, default=0) - min(held, default=0))
        assert not isinstance(self.width, str)  # it was read when the attack was made
        widest = share if self.width is None else exact(self.width) * scale
        spreads = _spreads(values, np.array(numbers, dtype=object))
        return np.array([0 <= spread <= widest for spread in spreads], dtype=bool)


def _spreads(values: ValueCounts, places: NDArray[Any]) -> NDArray[Any]:
    """Return, for each class, the greatest place of its values minus the least; -1 for a class without values."""
    spreads = np.full(values.class_count, -1, dtype=places.dtype)
    if len(values.classes):
        # entries by class, so that reduceat works class by class; [entry] the place of its value
        order = np.argsort(values.classes, kind="stable")
        classes, first = np.unique(values.classes[order], return_index=True)
        of = places[values.values[order]]
        spreads[classes] = np.maximum.reduceat(of, first) - np.minimum.reduceat(of, first)
    return spreads


def _hierarchy(column: Column, builder: Builder) -> Hierarchy:
    """Build a hierarchy over the values that the release shows; refuse one that does not fit them."""
    try:
        return build(column, builder)
    except BadHierarchy:  # its rows would be those of the list of values
        raise BadInput(
            f"column {column.name!r}: its hierarchy does not fit all values that the release shows"
        ) from None


def _parse_band(text: str) -> tuple[float | None, float | None]:
    """Read a width as (absolute width, None) or, if a percentage, as (None, share of the range).

    >>> _parse_band("10"), _parse_band("5%")
    ((10.0, None), (None, 0.05))
    """
    try:
        return (None, float(text[:-1]) / 100) if text.endswith("%") else (float(text), None)
    except ValueError:
        raise BadInput(f"width {text!r} is neither a number nor a share such as 5%") from None
