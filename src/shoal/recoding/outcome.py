"""A recoding applied to a table: what metrics, attacks and reports read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import sum_counts
from shoal.data.codes import Codes
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation
from shoal.hierarchy.lattice import Node
from shoal.hierarchy.taxonomy import TOP, Hierarchy


@dataclass(frozen=True)
class Before:
    """The table before: its frequency set, and the hierarchies in the order of the set's attributes."""

    classes: FrequencySet
    hierarchies: tuple[Hierarchy, ...]
    importance: Mapping[str, float] = field(default_factory=dict)
    """Weights of attributes; 1 by default."""
    population: FrequencySet | None = None
    """The population, coded like the table, where a model needs it."""
    sensitive: CountInterpretation | None = None
    """How to interpret the counts of the sensitive attributes, if all of them are counted."""
    room: int | None = None
    """Number of classes of other nodes that may be kept in memory; None to derive it from the size of the table."""

    @cached_property
    def rows(self) -> int:
        return self.classes.rows

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weight of each attribute; they sum to 1."""
        given = np.array([self.importance.get(name, 1.0) for name in self.classes.attributes])
        return given / given.sum() if given.sum() > 0 else np.full(len(given), 1 / len(given))

    @cached_property
    def left_out(self) -> Node:
        """Every attribute at the virtual level above its hierarchy: nothing is shown (design 6)."""
        return tuple(hierarchy.left_out for hierarchy in self.hierarchies)

    def marginal(self, i: int) -> NDArray[np.int64]:
        """Return the rows per code of attribute i."""
        return self._marginals[i]

    @cached_property
    def _marginals(self) -> list[NDArray[np.int64]]:
        """Rows per code of each attribute, counted once for all metrics."""
        sizes = [hierarchy.groups(0) for hierarchy in self.hierarchies]
        return self.classes.all_marginals(sizes)


class Outcome(Protocol):
    """The classes of a release."""

    @property
    def classes(self) -> FrequencySet: ...

    @property
    def suppressed(self) -> NDArray[np.bool_]:
        """Whether each class is suppressed."""
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
        return self.count_rows(self.suppressed)

    @property
    def any_suppressed(self) -> bool:
        return self.classes.rest is not None or bool(self.suppressed.any())

    @property
    def unlisted(self) -> int:
        """Number of classes that are not listed."""
        return 0 if self.classes.rest is None else self.classes.rest.classes

    @property
    def unlisted_squares(self) -> int:
        """Sum of the squares of the sizes of the classes that are not listed."""
        return 0 if self.classes.rest is None else self.classes.rest.squares

    def count_rows(self, out: NDArray[np.bool_]) -> int:
        """Return the number of rows in the classes `out` and in all unlisted classes, which are always suppressed."""
        rest = self.classes.rest
        return int(self.classes.counts[out].sum()) + (0 if rest is None else rest.rows)

    def marginals(
        self,
        out: NDArray[np.bool_],
        hierarchies: tuple[Hierarchy, ...],
        many: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows per label of the classes `out` and all unlisted classes, and the offset of each attribute.

        Labels are listed attribute after attribute. `many` rows of each class are counted, or all.
        """
        sizes = [h.groups(level) for h, level in zip(hierarchies, self.node, strict=True)]
        rows, begins = self.classes.marginals(out, sizes, many)
        rest = self.classes.rest
        return (rows if rest is None else rows + rest.rows_per_label([h.groups(0) for h in hierarchies], sizes)), begins

    def suppressed_marginals(self, hierarchies: tuple[Hierarchy, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the suppressed rows per label, and the offset of each attribute; counted once for all metrics."""
        if "_lost" not in self.__dict__:
            self.__dict__["_lost"] = self.marginals(self.suppressed, hierarchies)
        lost: tuple[NDArray[np.int64], NDArray[np.int64]] = self.__dict__["_lost"]
        return lost


@dataclass(frozen=True)
class Covers:
    """What each of some labels of one attribute stands for."""

    losses: NDArray[np.float64]
    """Share of the values that the label cannot tell apart."""
    leaves: NDArray[np.int64]
    """Number of leaves under the label; without a hierarchy, of values of the table."""
    held: NDArray[np.int64]
    """Number of rows of the table whose value lies under the label."""
    mixed: NDArray[np.bool_]
    """Whether null lies under the label together with values."""
    lifts: NDArray[np.float64]
    """Level as a share of the hierarchy's height; nan where there is no hierarchy."""
    size: int
    """Leaves of the whole domain."""

    @classmethod
    def along(
        cls, hierarchy: Hierarchy, codes: Codes, levels: NDArray[np.integer], rows: NDArray[np.int64]
    ) -> "Covers":
        """Describe labels of a hierarchy, each given by a code under it and its level; `rows` is per code.

        >>> import pyarrow as pa
        >>> from shoal.data.codes import encode
        >>> from shoal.hierarchy import Rows, build
        >>> ill = build(encode("ill", pa.array(["flu", "hiv"])), Rows([["flu", "*"], ["hiv", "*"]]))
        >>> Covers.along(ill, np.array([0, 0], np.int32), np.array([0, 1]), np.array([3, 1])).held.tolist()
        [3, 4]
        """
        null = [code for code, label in enumerate(hierarchy.labels[0]) if label is None]
        # [label] leaves under it, rows of the table under it, and whether null is among several values
        leaves, held = np.empty(len(codes), dtype=np.int64), np.empty(len(codes), dtype=np.int64)
        mixed = np.empty(len(codes), dtype=bool)
        for level in np.unique(levels).tolist():
            at, groups = levels == level, hierarchy.groups(level)
            # of [code] its group at this level; under [group] leaves under it; label [label at this level] its group
            of = hierarchy.between(0, level)
            under = np.array([hierarchy.size]) if level == hierarchy.left_out else hierarchy.leaves[level]
            label, labels = of[codes[at]], (TOP,) if level == hierarchy.left_out else hierarchy.labels[level]
            # groups that contain null together with values
            joined = [group for group in of[null].tolist() if labels[group] is not None]
            leaves[at], mixed[at] = under[label], np.isin(label, joined)
            held[at] = sum_counts(of, rows, groups)[label]
        lifts = np.minimum(levels / max(hierarchy.height, 1), 1.0)
        return cls((leaves - 1) / max(hierarchy.size - 1, 1), leaves, held, mixed, lifts, hierarchy.size)

    @classmethod
    def from_ranges(
        cls, low: Codes, high: Codes, rows: NDArray[np.int64], null: int | None, losses: NDArray[np.float64]
    ) -> "Covers":
        """Describe ranges of an ordered axis by their first and last position; `rows` is per position.

        A range that holds null, which is the last position, and values stands for everything.

        >>> low, high = np.array([0], np.int32), np.array([1], np.int32)
        >>> Covers.from_ranges(low, high, np.array([3, 1, 5]), None, np.ones(1)).held
        array([4])
        """
        # [position] number of rows before it, with one more entry for the total
        upto = np.concatenate([[0], np.cumsum(rows)])
        size = max(len(rows) - (null is not None), 1)
        mixed = (high == null) & (low != null) if null is not None else np.zeros(len(low), dtype=bool)
        leaves = np.where(mixed, size, high - low + 1).astype(np.int64)
        held = np.where(mixed, upto[-1], upto[high + 1] - upto[low])
        return cls(losses, leaves, held, mixed, np.full(len(low), np.nan), size)

    @property
    def values(self) -> NDArray[np.int64]:
        """Number of values that a label may stand for, null included."""
        return self.leaves + self.mixed

    def take(self, labels: NDArray[np.integer]) -> "Covers":
        """Return the covers of these labels."""
        return Covers(
            self.losses[labels],
            self.leaves[labels],
            self.held[labels],
            self.mixed[labels],
            self.lifts[labels],
            self.size,
        )

    def with_suppressed(self, rows: int, *, null: bool) -> "Covers":
        """Add the label of suppressed rows, which covers everything: all `rows` of the table, and null if any."""
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
    """The table after its cells were recoded: its classes, and what each part lost of each attribute."""

    classes: FrequencySet
    sizes: NDArray[np.int64]
    """Rows of each part; parts that are shown alike are one class."""
    losses: NDArray[np.float64]
    """losses[part, attribute]: the share of the values that the label cannot tell apart."""
    covers: tuple[Covers, ...] = ()
    """What the labels of every part stand for, per attribute; empty where rows show their own values."""
    left_out: int | None = None
    """Class of the rows that are left out, if there are any."""

    @cached_property
    def suppressed(self) -> NDArray[np.bool_]:
        """Whether each class is suppressed."""
        return np.asarray(np.arange(len(self.classes)) == (-1 if self.left_out is None else self.left_out))

    @property
    def kept(self) -> NDArray[np.int64]:
        return self.classes.counts[~self.suppressed]

    @property
    def suppressed_rows(self) -> int:
        return int(self.classes.counts[self.suppressed].sum())
