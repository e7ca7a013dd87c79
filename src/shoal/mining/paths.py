"""Texts as features: the way from what is shown up to the top of its hierarchy."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from shoal.codes import Codes
from shoal.hierarchy import TOP
from shoal.hierarchy.labels import Labels
from shoal.mining.shown import RANGE, Shown

Weights = dict[int, float]
"""Of the features that are not 0."""


@dataclass(frozen=True)
class Paths:
    """One feature for every label: 1 for what is shown and for all above it, so that coarse and fine rows compare.

    Below a label nothing is known. A set is the mean of its members, `*` only the top; null has a feature of its own.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> from shoal.hierarchy import Tree, build
    >>> column = encode("job", pa.array(["nurse", "doctor", "baker"]))
    >>> paths = Paths(Labels(column, build(column, Tree({"*": {"health": ["doctor", "nurse"], "food": ["baker"]}}))))
    >>> paths.names
    ('baker', 'doctor', 'nurse', 'health', 'food', '*', 'job is missing')
    >>> [paths.weights(label) for label in ("nurse", "health", "{baker | nurse}")]
    [{2: 1.0, 3: 1.0, 5: 1.0}, {3: 1.0, 5: 1.0}, {0: 0.5, 4: 0.5, 5: 1.0, 2: 0.5, 3: 0.5}]
    """

    labels: Labels

    @cached_property
    def names(self) -> tuple[str, ...]:
        levels = [
            self.labels.column.texts.to_pylist(),
            *(self.labels.hierarchy.labels if self.labels.hierarchy else ()),
        ]
        labels = dict.fromkeys(label for label in chain(*levels) if label not in (None, TOP))
        return (*labels, TOP, f"{self.labels.column.name} is missing")

    def weights(self, label: str | None) -> Weights:
        """The features of a row that shows this."""
        if label is None:
            return {self._top: 1.0, self._top + 1: 1.0}
        if label in self._lowest:
            return dict.fromkeys(self._up(*self._lowest[label]), 1.0)
        held = np.flatnonzero(self.labels.covered(label)[: len(self.labels.column.values)]).tolist()
        if label == TOP or not held:
            return {self._top: 1.0}
        out: Weights = {}
        for feature in chain.from_iterable(self._up(0, code) for code in held):
            out[feature] = out.get(feature, 0.0) + 1 / len(held)
        return {feature: round(weight, 12) for feature, weight in out.items()}

    def rows(self, shown: Shown) -> tuple[list[Weights], Codes]:
        """The features of each label that is shown, and the label of each row."""
        released = shown[RANGE] if RANGE in shown else next(iter(shown.values()))
        return [self.weights(text) for text in released.texts.to_pylist()], released.codes

    @property
    def _levels(self) -> Sequence[Sequence[str | None]]:
        hierarchy = self.labels.hierarchy
        return hierarchy.labels if hierarchy else [self.labels.column.texts.to_pylist()]

    @property
    def _top(self) -> int:
        return len(self.names) - 2

    @cached_property
    def _at(self) -> dict[str | None, int]:
        return {name: at for at, name in enumerate(self.names[:-1])}

    @cached_property
    def _lowest(self) -> dict[str | None, tuple[int, int]]:
        """The lowest level that has a label, and a code below it."""
        found: dict[str | None, tuple[int, int]] = {}
        hierarchy = self.labels.hierarchy
        for level, labels in enumerate(self._levels):
            groups = hierarchy.levels[level] if hierarchy else np.arange(len(labels))
            first = np.unique(groups, return_index=True)[1].tolist()
            for label, code in zip(labels, first, strict=True):
                if label not in (None, TOP):
                    found.setdefault(label, (level, code))
        return found

    def _up(self, level: int, code: int) -> Iterable[int]:
        """The labels of a code from a level upwards."""
        hierarchy = self.labels.hierarchy
        if hierarchy is None:
            return (code, self._top)
        labels = (hierarchy.labels[h][hierarchy.levels[h][code]] for h in range(level, hierarchy.height + 1))
        return dict.fromkeys([*(self._at[label] for label in labels if label is not None), self._top])
