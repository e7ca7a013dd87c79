"""Whether a class, split among the children of its label, would still keep what was promised."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.attacks.published import Published
from shoal.counts import ClassCounts, Flags, Longs, ValueCounts
from shoal.errors import BadInput
from shoal.models import KAnonymity, Model, asked


@dataclass(frozen=True)
class Promise:
    """What the release was to keep, class by class.

    >>> Promise((KAnonymity(3),)).sizes(np.array([[0, 3], [1, 2]])).tolist()
    [True, False]
    """

    models: Sequence[Model]

    def __post_init__(self) -> None:
        for model in self.models:
            if model.columns or model.needs or model.table_wide:
                raise BadInput(f"{model.name} cannot be judged class by class from a release alone")

    def __str__(self) -> str:
        return ", ".join(f"{model.name} ({_told(asked(model))})" for model in self.models)

    @property
    def of_sizes(self) -> bool:
        """Whether sizes are all that counts."""
        return all(isinstance(part, KAnonymity) for model in self.models for part in model.parts())

    @property
    def k(self) -> int:
        return max(
            (part.k for model in self.models for part in model.parts() if isinstance(part, KAnonymity)), default=1
        )

    def sizes(self, ways: Longs) -> Flags:
        """Splits after which every child that has members has k at least."""
        return np.asarray(((ways == 0) | (ways >= self.k)).all(axis=1))

    def members(self, published: Published, rows: Longs, child: Longs, children: int) -> Flags:
        """The same of any promise, the child of each row of a class given world by world: child[world, row]."""
        worlds = len(child)
        part = (np.arange(worlds)[:, None] * children + child).ravel()
        used, number = np.unique(part, return_inverse=True)
        sizes = np.bincount(number).astype(np.int64)
        sensitive = {
            name: self._values(published, name, np.tile(rows, worlds), number.ravel(), len(used))
            for name in published.sensitive
        }
        counts = ClassCounts(sizes, sensitive)
        kept = np.ones(len(used), dtype=bool)
        for model in self.models:
            kept &= model.complies(counts)
        fine = np.ones(worlds, dtype=bool)
        fine[used[~kept] // children] = False
        return fine

    @staticmethod
    def _values(published: Published, name: str, rows: Longs, number: Longs, classes: int) -> ValueCounts:
        whole = published.counts.sensitive[name]
        column = published.table[name]
        pairs, counts = np.unique(number * column.size + column.codes[rows], return_counts=True)
        of = replace(whole, reference=whole.overall)  # distributions are compared with the table's
        return replace(of, classes=pairs // column.size, values=pairs % column.size, counts=counts, class_count=classes)


def _told(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in parameters.items())
