"""Features from what is shown of each attribute: numbers as midpoints and widths, texts as paths of hierarchies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from shoal.data.codes import Codes, Kind, Table
from shoal.hierarchy.taxonomy import TOP, Hierarchy
from shoal.hierarchy.value_columns import Labels
from shoal.mining.attributes import RANGE, Quantity, Rows, ShownColumns
from shoal.mining.learners import import_extra

Weights = dict[int, float]
"""Weights of the features that are not 0, by feature."""


@dataclass(frozen=True)
class PathFeatures:
    """One feature for every label: 1 for what is shown and for all above it, so that coarse and fine rows compare.

    Below a label nothing is known. A set is the mean of its members, `*` only the top; null has a feature of its own.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> from shoal.hierarchy import Tree, build
    >>> column = encode("job", pa.array(["nurse", "doctor", "baker"]))
    >>> tree = Tree({"*": {"health": ["doctor", "nurse"], "food": ["baker"]}})
    >>> paths = PathFeatures(Labels(column, build(column, tree)))
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
        """Return the features of a row that shows this label."""
        if label is None:
            return {self._top: 1.0, self._top + 1: 1.0}
        if label in self._lowest:
            return dict.fromkeys(self._features_upwards(*self._lowest[label]), 1.0)
        # codes of the values that the label covers, for sets and other labels that no level has
        held = np.flatnonzero(self.labels.covered(label)[: len(self.labels.column.values)]).tolist()
        if label == TOP or not held:
            return {self._top: 1.0}
        out: Weights = {}
        for feature in chain.from_iterable(self._features_upwards(0, code) for code in held):
            out[feature] = out.get(feature, 0.0) + 1 / len(held)
        return {feature: round(weight, 12) for feature, weight in out.items()}

    def rows(self, shown: ShownColumns) -> tuple[list[Weights], Codes]:
        """Return the features of each label that is shown, and the label of each row."""
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
    def _feature_by_label(self) -> dict[str | None, int]:
        return {name: at for at, name in enumerate(self.names[:-1])}

    @cached_property
    def _lowest(self) -> dict[str | None, tuple[int, int]]:
        """For each label, the lowest level that has it and the first code below it there."""
        found: dict[str | None, tuple[int, int]] = {}
        hierarchy = self.labels.hierarchy
        for level, labels in enumerate(self._levels):
            groups = hierarchy.levels[level] if hierarchy else np.arange(len(labels))
            # first code of each group of this level
            first = np.unique(groups, return_index=True)[1].tolist()
            for label, code in zip(labels, first, strict=True):
                if label not in (None, TOP):
                    found.setdefault(label, (level, code))
        return found

    def _features_upwards(self, level: int, code: int) -> Iterable[int]:
        """Return the features of a code's labels from a level upwards."""
        hierarchy = self.labels.hierarchy
        if hierarchy is None:
            return (code, self._top)
        labels = (hierarchy.labels[h][hierarchy.levels[h][code]] for h in range(level, hierarchy.height + 1))
        return dict.fromkeys([*(self._feature_by_label[label] for label in labels if label is not None), self._top])


_MOST_CELLS = 20_000_000
"""Cells above which a matrix stays sparse."""
Matrix = Any
"""Features by row: a NumPy array, or a sparse matrix of SciPy where it is large."""


@dataclass(frozen=True)
class Encoding:
    """How rows become features, whether they are shown as they are or generalised: fitted to the training rows.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> from shoal.mining.attributes import show_unchanged
    >>> people = {"age": [20, 30, 40], "sex": ["f", "m", "f"]}
    >>> table = Table({name: encode(name, pa.array(values)) for name, values in people.items()}, 3)
    >>> encoding = Encoding.of(table, ["age", "sex"], {}, np.arange(3))
    >>> encoding.names
    ('age', 'width of age', 'age is missing', 'f', 'm', '*', 'sex is missing')
    >>> encoding.encode_rows({name: show_unchanged(table[name]) for name in ("age", "sex")})[1].tolist()
    [0.5, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    """

    attributes: Mapping[str, Quantity | PathFeatures]

    @classmethod
    def of(
        cls, table: Table, features: Sequence[str], hierarchies: Mapping[str, Hierarchy], training: Rows
    ) -> "Encoding":
        attributes: dict[str, Quantity | PathFeatures] = {}
        for name in features:
            labels = Labels(table[name], hierarchies.get(name))
            text = table[name].kind is Kind.TEXT
            attributes[name] = PathFeatures(labels) if text else Quantity.of(labels, table[name].codes[training])
        return cls(attributes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for attribute in self.attributes.values() for name in attribute.names)

    def encode_rows(self, shown: Mapping[str, ShownColumns]) -> Matrix:
        """Return the features of every row: [row, feature]."""
        sparse = import_extra("scipy.sparse")
        blocks = [_encode_attribute(attribute, shown[name]) for name, attribute in self.attributes.items()]
        matrix = sparse.hstack(blocks, format="csr")
        return matrix.toarray() if matrix.shape[0] * matrix.shape[1] <= _MOST_CELLS else matrix


def _encode_attribute(attribute: Quantity | PathFeatures, shown: ShownColumns) -> Matrix:
    sparse = import_extra("scipy.sparse")
    if isinstance(attribute, Quantity):
        return sparse.csr_array(attribute.to_features(shown))
    # one sparse row for each distinct label, then repeated for the rows that show it
    weights, codes = attribute.rows(shown)
    ends = np.cumsum([0, *(len(each) for each in weights)])
    at = np.array([feature for each in weights for feature in each], dtype=np.int32)
    values = np.array([weight for each in weights for weight in each.values()])
    return sparse.csr_array((values, at, ends), shape=(len(weights), len(attribute.names)))[codes]
