"""Features from what is shown of each attribute: numbers as midpoints and widths, texts as paths of hierarchies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.codes import Kind, Table
from shoal.hierarchy import Hierarchy
from shoal.hierarchy.labels import Labels
from shoal.mining.learners import from_extra
from shoal.mining.paths import Paths
from shoal.mining.quantities import Quantity
from shoal.mining.shown import Rows, Shown

_MOST_CELLS = 20_000_000
"""A matrix with more of them stays sparse."""
Matrix = Any
"""Features by row: a NumPy array, or a sparse matrix of SciPy where it is large."""


@dataclass(frozen=True)
class Encoding:
    """How rows become features, whether they are shown as they are or generalised: fitted to the training rows.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> from shoal.mining.shown import as_it_is
    >>> people = {"age": [20, 30, 40], "sex": ["f", "m", "f"]}
    >>> table = Table({name: encode(name, pa.array(values)) for name, values in people.items()}, 3)
    >>> encoding = Encoding.of(table, ["age", "sex"], {}, np.arange(3))
    >>> encoding.names
    ('age', 'width of age', 'age is missing', 'f', 'm', '*', 'sex is missing')
    >>> encoding.encoded({name: as_it_is(table[name]) for name in ("age", "sex")})[1].tolist()
    [0.5, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    """

    attributes: Mapping[str, Quantity | Paths]

    @classmethod
    def of(
        cls, table: Table, features: Sequence[str], hierarchies: Mapping[str, Hierarchy], training: Rows
    ) -> "Encoding":
        attributes: dict[str, Quantity | Paths] = {}
        for name in features:
            labels = Labels(table[name], hierarchies.get(name))
            text = table[name].kind is Kind.TEXT
            attributes[name] = Paths(labels) if text else Quantity.of(labels, table[name].codes[training])
        return cls(attributes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for attribute in self.attributes.values() for name in attribute.names)

    def encoded(self, shown: Mapping[str, Shown]) -> Matrix:
        """The features of every row."""
        sparse = from_extra("scipy.sparse")
        blocks = [_block(attribute, shown[name]) for name, attribute in self.attributes.items()]
        matrix = sparse.hstack(blocks, format="csr")
        return matrix.toarray() if matrix.shape[0] * matrix.shape[1] <= _MOST_CELLS else matrix


def _block(attribute: Quantity | Paths, shown: Shown) -> Matrix:
    sparse = from_extra("scipy.sparse")
    if isinstance(attribute, Quantity):
        return sparse.csr_array(attribute.dense(shown))
    weights, codes = attribute.rows(shown)
    ends = np.cumsum([0, *(len(each) for each in weights)])
    at = np.array([feature for each in weights for feature in each], dtype=np.int32)
    values = np.array([weight for each in weights for weight in each.values()])
    return sparse.csr_array((values, at, ends), shape=(len(weights), len(attribute.names)))[codes]
