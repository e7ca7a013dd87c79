"""Plain arrays of class sizes and class-by-value counts: all that a model reads, whichever engine counted them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Indices = NDArray[np.integer]
Flags = NDArray[np.bool_]

_CELLS = 4_000_000


def sum_counts(groups: Indices, counts: Longs | None, size: int = 0) -> Longs:
    """Return the counts of each group added up in whole numbers: `np.bincount` would add them as float64.

    There are at least `size` groups; without counts, each entry counts once.

    >>> sum_counts(np.array([1, 1]), np.array([2**53, 1]), 3).tolist() == [0, 2**53 + 1, 0]
    True
    """
    if counts is None:
        return np.bincount(groups, minlength=size).astype(np.int64)
    sums = np.zeros(max(size, int(groups.max(initial=-1)) + 1), dtype=np.int64)
    np.add.at(sums, groups, counts)
    return sums


@dataclass(frozen=True)
class ValueCounts:
    """How often each sensitive value occurs in each class, in long form: one entry per pair that occurs.

    >>> counts = ValueCounts(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2, 1, 3]), ["flu", "hiv"], 2)
    >>> counts.dense().tolist(), counts.totals.tolist(), counts.overall.tolist()
    ([[2, 1], [0, 3]], [3, 3], [2, 4])
    """

    classes: Indices
    values: Indices
    counts: Longs
    """Rows, or persons where a unit is given."""
    labels: Sequence[str | None]
    """The sensitive value behind each number; None is null."""
    class_count: int
    reference: Longs | None = None
    """How often each value occurs in the reference table; None if that is these classes together."""
    levels: Sequence[Indices] = ()
    """levels[h][value]: the group of each value at level h of its hierarchy, where it has one; level 0 is the value."""
    order: Sequence[str] = ()
    """The values from least to greatest, where the policy orders them."""
    holders: Longs | None = None
    """Persons of each class that have a value, where persons are counted; a person may have several values."""
    everyone: Longs | None = None
    """Persons of each class, where persons are counted."""
    level_labels: Sequence[Sequence[str | None]] = ()
    """level_labels[h][group]: the label of each group of `levels`."""

    @property
    def totals(self) -> Longs:
        """Rows, or persons, of each class that have a value: the denominator of shares."""
        if self.holders is not None:
            return self.holders
        return sum_counts(self.classes, self.counts, self.class_count)

    @property
    def overall(self) -> Longs:
        """How often each value occurs in the table that classes are compared with, the reference."""
        if self.reference is not None:
            return self.reference
        return sum_counts(self.values, self.counts, len(self.labels))

    def dense(self) -> Longs:
        """Return the counts as a matrix [class, value]."""
        matrix = np.zeros((self.class_count, len(self.labels)), dtype=np.int64)
        matrix[self.classes, self.values] = self.counts
        return matrix

    def blocks(self) -> Iterator[tuple[slice, Longs]]:
        """Yield the dense matrix in blocks of a few million cells, each with its slice of classes, to save memory."""
        if self.class_count * len(self.labels) <= _CELLS:
            yield slice(0, self.class_count), self.dense()
            return
        # [entry] entries sorted by class, so that those of a block of classes are one slice
        order = np.argsort(self.classes, kind="stable")
        classes, values, counts = self.classes[order], self.values[order], self.counts[order]
        height = max(_CELLS // max(len(self.labels), 1), 1)
        for start in range(0, self.class_count, height):
            stop = min(start + height, self.class_count)
            # entries low:high belong to the classes start:stop
            low, high = np.searchsorted(classes, [start, stop])
            block = np.zeros((stop - start, len(self.labels)), dtype=np.int64)
            block[classes[low:high] - start, values[low:high]] = counts[low:high]
            yield slice(start, stop), block

    def non_null(self) -> "ValueCounts":
        """Return the counts without null, which never protects anyone (design 7)."""
        if None not in self.labels:
            return self
        null = list(self.labels).index(None)
        keep = self.values != null
        reference = None if self.reference is None else np.where(np.arange(len(self.labels)) == null, 0, self.reference)
        return replace(
            self,
            classes=self.classes[keep],
            values=self.values[keep],
            counts=self.counts[keep],
            reference=reference,
        )

    def select_protecting(self, *, null: bool) -> "ValueCounts":
        """Return the counts of the values that a model counts as different: null only where the policy says so."""
        return replace(self, holders=self.everyone) if null else self.non_null()

    def select_classes(self, chosen: Flags) -> "ValueCounts":
        """Return the chosen classes only, renumbered."""
        # [entry] whether its class is chosen; [class] its new number, which is meaningless where it is not chosen
        inside = chosen[self.classes]
        number = np.cumsum(chosen) - 1
        return replace(
            self,
            classes=number[self.classes[inside]],
            values=self.values[inside],
            counts=self.counts[inside],
            class_count=int(chosen.sum()),
            holders=None if self.holders is None else self.holders[chosen],
            everyone=None if self.everyone is None else self.everyone[chosen],
        )

    def concat(self, other: "ValueCounts") -> "ValueCounts":
        """Return the classes of both, one after the other; values are numbered alike, and the reference is kept."""
        return replace(
            self,
            classes=np.concatenate([self.classes, other.classes + self.class_count]),
            values=np.concatenate([self.values, other.values]),
            counts=np.concatenate([self.counts, other.counts]),
            class_count=self.class_count + other.class_count,
            holders=_both(self.holders, other.holders),
            everyone=_both(self.everyone, other.everyone),
        )


@dataclass(frozen=True)
class JointCounts:
    """How often each combination of values of several columns occurs in each class, in long form."""

    classes: Indices
    codes: tuple[Indices, ...]
    """codes[column][entry]: the number of the value."""
    counts: Longs
    labels: tuple[Sequence[str | None], ...]
    """labels[column][code]: the value behind each number."""
    whole: "JointCounts | None" = None
    """The joint counts of the original table as one class."""
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """Results that a model computed from these counts and keeps."""

    def select_entries(self, chosen: Flags) -> "JointCounts":
        """Return the chosen entries of all classes."""
        codes = tuple(code[chosen] for code in self.codes)
        return replace(self, classes=self.classes[chosen], codes=codes, counts=self.counts[chosen], memo={})

    def select_classes(self, chosen: Flags) -> "JointCounts":
        """Return the chosen classes only, renumbered."""
        # [entry] whether its class is chosen; [class] its new number, which is meaningless where it is not chosen
        inside = chosen[self.classes]
        number = np.cumsum(chosen) - 1
        codes = tuple(code[inside] for code in self.codes)
        return replace(self, classes=number[self.classes[inside]], codes=codes, counts=self.counts[inside], memo={})

    def concat(self, other: "JointCounts", classes: int) -> "JointCounts":
        """Return the entries of both; values are numbered alike, and the other's classes from `classes` on."""
        codes = tuple(np.concatenate(pair) for pair in zip(self.codes, other.codes, strict=True))
        at = np.concatenate([self.classes, other.classes + classes])
        return replace(self, classes=at, codes=codes, counts=np.concatenate([self.counts, other.counts]), memo={})


@dataclass(frozen=True)
class ClassCounts:
    """Sizes of the equivalence classes and, per sensitive attribute, their value counts."""

    sizes: Longs
    """Rows, or persons where a unit is given."""
    sensitive: Mapping[str, ValueCounts] = field(default_factory=dict)
    joint: Mapping[tuple[str, ...], JointCounts] = field(default_factory=dict)
    """Counts of several columns together, for the models that need them."""
    population: Longs | None = None
    """Persons of the population in each class, where a population is known."""
    strangers: int = 0
    """Number of classes of the population, recoded in the same way, that contain nobody of this table."""
    hidden: int = 0
    """How many of the strangers hold people of the table whose rows were left out."""
    released: Mapping[str, Indices] = field(default_factory=dict)
    """released[name][class]: the number of the released value, where columns are counted together."""
    quasi: tuple[str, ...] = ()
    """The quasi-identifiers of the table, whichever of them are released."""
    persons: bool = False
    """Whether sizes count persons."""

    @property
    def rows(self) -> int:
        return int(self.sizes.sum())

    @property
    def counted(self) -> str:
        """What sizes count, as a message says it."""
        return "persons" if self.persons else "records"

    def select_classes(self, chosen: Flags) -> "ClassCounts":
        """Return the chosen classes only."""
        # people of the classes left out are in the population, but no released class shows them
        hidden = 0 if self.population is None else int((self.population[~chosen] > 0).sum())
        return replace(
            self,
            sizes=self.sizes[chosen],
            sensitive={name: values.select_classes(chosen) for name, values in self.sensitive.items()},
            joint={names: joint.select_classes(chosen) for names, joint in self.joint.items()},
            population=None if self.population is None else self.population[chosen],
            strangers=self.strangers + hidden,
            hidden=self.hidden + hidden,
            released={name: codes[chosen] for name, codes in self.released.items()},
        )

    def add_class(self, other: "ClassCounts", released: Mapping[str, int]) -> "ClassCounts":
        """Add the one class of `other`; `released` has the codes of its values, -1 for a value that is new here."""
        # {column: [class] code of its released value}; a new value gets the next free code
        shown = {
            name: np.append(codes, released[name] if released[name] >= 0 else codes.max(initial=-1) + 1)
            for name, codes in self.released.items()
        }
        return replace(
            self,
            sizes=np.concatenate([self.sizes, other.sizes]),
            sensitive={name: values.concat(other.sensitive[name]) for name, values in self.sensitive.items()},
            joint={names: joint.concat(other.joint[names], len(self.sizes)) for names, joint in self.joint.items()},
            population=_both(self.population, other.population),
            released=shown,
        )


def _both(one: Longs | None, other: Longs | None) -> Longs | None:
    """Concatenate two optional arrays; None if either is missing."""
    return None if one is None or other is None else np.concatenate([one, other])
