"""What a label covers: read afresh from the grammar, the hierarchy and the values, whoever wrote it (design 9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.labels.grammar import Interval, Members, parse_label
from shoal.labels.scale import Run, Scale, runs_of

Flags = NDArray[np.bool_]
TOP = "*"
"""The label that covers everything."""


class Generalisation(Protocol):
    """The levels of a hierarchy: the group of each code on each level, and what each group is called."""

    @property
    def levels(self) -> Sequence[NDArray[np.integer[Any]]]: ...

    @property
    def labels(self) -> Sequence[Sequence[str | None]]: ...


@dataclass(frozen=True)
class Coverage:
    """What the cells of one column may show, and which of its codes that covers; null is the last code, if any.

    >>> import pyarrow as pa
    >>> ages = Coverage(Scale(pa.array(["9", "30", "41"])), has_null=True)
    >>> [ages.of(label).tolist() for label in ("[9, 41)", "≥30")]
    [[True, True, False, False], [False, True, True, False]]
    >>> [ages.of(label).tolist() for label in ("30", "*", None)]
    [[False, True, False, False], [True, True, True, True], [False, False, False, True]]
    """

    scale: Scale
    has_null: bool = False
    hierarchy: Generalisation | None = None

    @property
    def size(self) -> int:
        """Number of codes, null included."""
        return len(self.scale.values) + self.has_null

    def of(self, label: str | None) -> Flags:
        """Flag the codes that a label covers; a label that cannot be read covers none."""
        flags = np.zeros(self.size, dtype=bool)
        for start, stop in self.runs(label):
            flags[start:stop] = True
        return flags

    def runs(self, label: str | None) -> list[Run]:
        """Codes that a label covers, as runs from least to greatest."""
        if label is None or label == TOP:
            first = 0 if label == TOP else len(self.scale.values)
            return [(first, self.size)] if first < self.size else []
        # a value may look like a label, and a label of days like the midnight that begins one of them
        if self.scale.is_value(label) or label not in self._groups:
            if len(codes := self.scale.same(label)):
                return runs_of(codes)
        else:
            return runs_of(np.concatenate([np.flatnonzero(level == group) for level, group in self._groups[label]]))
        match parse_label(label):
            case Interval() as interval:
                return self.scale.runs(interval) or []
            case Members(values):
                return runs_of(np.concatenate([self.scale.same(value) for value in values]))
        return []

    @cached_property
    def _groups(self) -> dict[str, list[tuple[NDArray[np.integer[Any]], int]]]:
        """(level, group) pairs of the hierarchy that bear each label; all mean the same, but on top null may join."""
        found: dict[str, list[tuple[NDArray[np.integer[Any]], int]]] = {}
        for level, labels in zip(self.hierarchy.levels, self.hierarchy.labels, strict=True) if self.hierarchy else ():
            for group, label in enumerate(labels):
                if label is not None:
                    found.setdefault(label, []).append((level, group))
        return found
