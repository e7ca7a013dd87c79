"""A recoding applied to a table: what metrics, attacks and reports read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.data.codes import Codes
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import Reading
from shoal.hierarchy.lattice import Node
from shoal.hierarchy.taxonomy import TOP, Hierarchy


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
    room: int | None = None
    """How many classes of other nodes may be remembered; None: as the table has."""

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
        return self._marginals[i]

    @cached_property
    def _marginals(self) -> list[NDArray[np.int64]]:
        """Counted once for all metrics."""
        named = zip(self.classes.attributes, self.hierarchies, strict=True)
        return [self.classes.marginal(name, hierarchy.groups(0)) for name, hierarchy in named]


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
        return self.rows_of(self.suppressed)

    @property
    def any_suppressed(self) -> bool:
        return self.classes.rest is not None or bool(self.suppressed.any())

    @property
    def unlisted(self) -> int:
        """How many classes are not listed."""
        return 0 if self.classes.rest is None else self.classes.rest.classes

    @property
    def unlisted_squares(self) -> int:
        """The sum of the squares of their sizes."""
        return 0 if self.classes.rest is None else self.classes.rest.squares

    def rows_of(self, out: NDArray[np.bool_]) -> int:
        """Rows of some classes, and of those that are not listed because they are suppressed whatever comes."""
        rest = self.classes.rest
        return int(self.classes.counts[out].sum()) + (0 if rest is None else rest.rows)

    def marginals(
        self, out: NDArray[np.bool_], hierarchies: tuple[Hierarchy, ...]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same per label, attribute after attribute, and where each begins."""
        sizes = [h.groups(level) for h, level in zip(hierarchies, self.node, strict=True)]
        rows, begins = self.classes.marginals(out, sizes)
        rest = self.classes.rest
        return (rows if rest is None else rows + rest.lost([h.groups(0) for h in hierarchies], sizes)), begins

    def lost(self, hierarchies: tuple[Hierarchy, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Suppressed rows per label, attribute after attribute, and where each begins; counted once for all metrics."""
        if "_lost" not in self.__dict__:
            self.__dict__["_lost"] = self.marginals(self.suppressed, hierarchies)
        lost: tuple[NDArray[np.int64], NDArray[np.int64]] = self.__dict__["_lost"]
        return lost


@dataclass(frozen=True)
class Covers:
    """What labels of one attribute stand for, label by label."""

    losses: NDArray[np.float64]
    """The share of its values that a label cannot tell apart."""
    leaves: NDArray[np.int64]
    """How many leaves lie under it; without a hierarchy, how many values of the table."""
    held: NDArray[np.int64]
    """How many rows of the table have a value that lies under it."""
    mixed: NDArray[np.bool_]
    """Whether null lies under it beside others."""
    lifts: NDArray[np.float64]
    """Its level as a share of the hierarchy's height; nan where there is no hierarchy."""
    size: int
    """Leaves of the whole domain."""

    @classmethod
    def along(
        cls, hierarchy: Hierarchy, codes: Codes, levels: NDArray[np.integer], rows: NDArray[np.int64]
    ) -> "Covers":
        """Labels of a hierarchy, each given by a code under it and its level; `rows` of the table per code.

        >>> import pyarrow as pa
        >>> from shoal.data.codes import encode
        >>> from shoal.hierarchy import Rows, build
        >>> ill = build(encode("ill", pa.array(["flu", "hiv"])), Rows([["flu", "*"], ["hiv", "*"]]))
        >>> Covers.along(ill, np.array([0, 0], np.int32), np.array([0, 1]), np.array([3, 1])).held.tolist()
        [3, 4]
        """
        null = [code for code, label in enumerate(hierarchy.labels[0]) if label is None]
        leaves, held = np.empty(len(codes), dtype=np.int64), np.empty(len(codes), dtype=np.int64)
        mixed = np.empty(len(codes), dtype=bool)
        for level in np.unique(levels).tolist():
            at, groups = levels == level, hierarchy.groups(level)
            of = hierarchy.between(0, level)
            under = np.array([hierarchy.size]) if level == hierarchy.left_out else hierarchy.leaves[level]
            label, labels = of[codes[at]], (TOP,) if level == hierarchy.left_out else hierarchy.labels[level]
            joined = [group for group in of[null].tolist() if labels[group] is not None]
            leaves[at], mixed[at] = under[label], np.isin(label, joined)
            held[at] = np.bincount(of, weights=rows, minlength=groups)[label]
        lifts = np.minimum(levels / max(hierarchy.height, 1), 1.0)
        return cls((leaves - 1) / max(hierarchy.size - 1, 1), leaves, held, mixed, lifts, hierarchy.size)

    @classmethod
    def between(
        cls, low: Codes, high: Codes, rows: NDArray[np.int64], null: int | None, losses: NDArray[np.float64]
    ) -> "Covers":
        """Ranges of an order, by their first and last position; `rows` of the table at each.

        A range that holds null, which is the last position, and others is no range but everything.

        >>> Covers.between(np.array([0], np.int32), np.array([1], np.int32), np.array([3, 1, 5]), None, np.ones(1)).held
        array([4])
        """
        upto = np.concatenate([[0], np.cumsum(rows)])
        size = max(len(rows) - (null is not None), 1)
        mixed = (high == null) & (low != null) if null is not None else np.zeros(len(low), dtype=bool)
        leaves = np.where(mixed, size, high - low + 1).astype(np.int64)
        held = np.where(mixed, upto[-1], upto[high + 1] - upto[low])
        return cls(losses, leaves, held, mixed, np.full(len(low), np.nan), size)

    @property
    def values(self) -> NDArray[np.int64]:
        """How many different values a label may stand for, null among them."""
        return self.leaves + self.mixed

    def at(self, labels: NDArray[np.integer]) -> "Covers":
        """Of these labels."""
        return Covers(
            self.losses[labels],
            self.leaves[labels],
            self.held[labels],
            self.mixed[labels],
            self.lifts[labels],
            self.size,
        )

    def starred(self, rows: int, *, null: bool) -> "Covers":
        """With one label more, that of suppressed rows, which lose everything; `rows` and `null` of the whole table."""
        return Covers(
            np.append(self.losses, 1.0),
            np.append(self.leaves, np.int64(self.size)),
            np.append(self.held, np.int64(rows)),
            np.append(self.mixed, np.bool_(null)),
            np.append(self.lifts, 1.0),
            self.size,
        )


@dataclass(frozen=True)
class RecodedCells:
    """The table after cells were recoded: its classes, and what each part of it lost of each attribute."""

    classes: FrequencySet
    sizes: NDArray[np.int64]
    """Rows of each part; parts that are shown alike are one class."""
    losses: NDArray[np.float64]
    """losses[part, attribute]: the share of its values that the part cannot tell apart."""
    covers: tuple[Covers, ...] = ()
    """Of each attribute what every part shows; none where rows show their own values."""
    left_out: int | None = None
    """The class of the rows that are left out, if there are such."""

    @cached_property
    def suppressed(self) -> NDArray[np.bool_]:
        """Per class."""
        return np.asarray(np.arange(len(self.classes)) == (-1 if self.left_out is None else self.left_out))

    @property
    def kept(self) -> NDArray[np.int64]:
        return self.classes.counts[~self.suppressed]

    @property
    def suppressed_rows(self) -> int:
        return int(self.classes.counts[self.suppressed].sum())
