"""A recoding applied to a table: what metrics, attacks and reports read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.frequency import FrequencySet, Reading
from shoal.hierarchy import Hierarchy
from shoal.lattice import Node


@dataclass(frozen=True)
class Before:
    """The table before: its frequency set, and the hierarchies in the order of the set's attributes."""

    classes: FrequencySet
    hierarchies: tuple[Hierarchy, ...]
    importance: Mapping[str, float] = field(default_factory=dict)
    """Weights of attributes; 1 where nothing is said."""
    population: FrequencySet | None = None
    """Everybody, coded like the table, where a model compares with them."""
    sensitive: Reading | None = None
    """How the counts of the sensitive attributes are read, where all of them are counted."""

    @cached_property
    def rows(self) -> int:
        return self.classes.rows

    @property
    def weights(self) -> NDArray[np.float64]:
        given = np.array([self.importance.get(name, 1.0) for name in self.classes.attributes])
        return given / given.sum() if given.sum() > 0 else np.full(len(given), 1 / len(given))

    @cached_property
    def left_out(self) -> Node:
        """Every attribute at the virtual level above its hierarchy: nothing is shown (design 6)."""
        return tuple(hierarchy.left_out for hierarchy in self.hierarchies)

    def marginal(self, i: int) -> NDArray[np.int64]:
        """Rows per code of attribute i."""
        codes = self.classes.codes(self.classes.attributes[i])
        size = self.hierarchies[i].groups(0)
        return np.bincount(codes, weights=self.classes.counts, minlength=size).astype(np.int64)


class Outcome(Protocol):
    """The classes of a release."""

    @property
    def classes(self) -> FrequencySet: ...

    @property
    def suppressed(self) -> NDArray[np.bool_]:
        """Per class."""
        ...

    @property
    def kept(self) -> NDArray[np.int64]:
        """Sizes of the released classes."""
        ...

    @property
    def suppressed_rows(self) -> int: ...


@dataclass(frozen=True)
class After:
    """The table after: the classes at a node, coded at its levels, and which of them are suppressed."""

    node: Node
    classes: FrequencySet
    suppressed: NDArray[np.bool_]

    @cached_property
    def kept(self) -> NDArray[np.int64]:
        """Sizes of the released classes."""
        return self.classes.counts[~self.suppressed]

    @cached_property
    def suppressed_rows(self) -> int:
        return int(self.classes.counts[self.suppressed].sum())

    def lost(self, hierarchies: tuple[Hierarchy, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Suppressed rows per label, attribute after attribute, and where each begins; counted once for all metrics."""
        if "_lost" not in self.__dict__:
            sizes = [h.groups(level) for h, level in zip(hierarchies, self.node, strict=True)]
            self.__dict__["_lost"] = self.classes.marginals(self.suppressed, sizes)
        lost: tuple[NDArray[np.int64], NDArray[np.int64]] = self.__dict__["_lost"]
        return lost


@dataclass(frozen=True)
class Recoded:
    """The table after cells were recoded: its classes, and what each part of it lost of each attribute."""

    classes: FrequencySet
    sizes: NDArray[np.int64]
    """Rows of each part; parts that are shown alike are one class."""
    losses: NDArray[np.float64]
    """losses[part, attribute]: the share of its values that the part cannot tell apart."""

    @cached_property
    def suppressed(self) -> NDArray[np.bool_]:
        """Per class: no row is left out."""
        return np.zeros(len(self.classes), dtype=bool)

    @property
    def kept(self) -> NDArray[np.int64]:
        return self.classes.counts

    @property
    def suppressed_rows(self) -> int:
        return 0
