"""Codes packed into keys of 64-bit words; values counted per class, and how models interpret them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.data.class_counts import JointCounts, Longs, ValueCounts
from shoal.data.codes import Codes
from shoal.errors import BadData

_WORD_BITS = 64
_CELLS_PER_ENTRY = 16
"""Largest table of classes and values in which counts are added up, in cells per entry."""


_WIDTHS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the code of each attribute lies in the packed key; no field spans two words.

    >>> Layout.of([100, 2, 5]).shift.tolist()
    [0, 7, 8]
    """

    word: Codes
    """Word of each attribute."""
    shift: Codes
    """First bit of each attribute in its word."""
    mask: NDArray[np.uint64]
    """Largest code that fits into the field of each attribute."""
    words: int

    @classmethod
    def of(cls, sizes: Sequence[int]) -> "Layout":
        """Return the layout for attributes with these numbers of codes; refuse more than the widest key holds."""
        word, shift, bits = [], [], [max(size - 1, 1).bit_length() for size in sizes]
        at, used = 0, 0
        for width in bits:
            if used + width > _WORD_BITS:
                at, used = at + 1, 0
            word.append(at)
            shift.append(used)
            used += width
        words = next((w for w in _WIDTHS if w > at), None)
        if words is None:
            raise BadData(
                f"{len(bits)} quasi-identifiers of that many values need keys of more than {_WIDTHS[-1] * _WORD_BITS:,}"
                " bits; give some of them another role"
            )
        masks = np.array([(1 << width) - 1 for width in bits], dtype=np.uint64)
        return cls(np.array(word, np.int32), np.array(shift, np.int32), masks, words)

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Layout):
            return self is other
        same = np.array_equal(self.word, other.word) and np.array_equal(self.shift, other.shift)
        return same and np.array_equal(self.mask, other.mask) and self.words == other.words

    __hash__ = None  # type: ignore[assignment]

    @property
    def fields(self) -> tuple[Codes, Codes, NDArray[np.uint64]]:
        """Word, shift and mask of each attribute, as the compiled core takes them."""
        return self.word, self.shift, self.mask


@dataclass(frozen=True)
class LongCounts:
    """Counts per class and value in long form: of a sensitive attribute, of several together, of persons.

    Values are codes `< size`. The number of distinct values of a class, e.g. persons, is its number of entries; a
    rollup has to count them again, since distinct counts of merged classes cannot be added.
    """

    classes: Codes
    values: Codes
    counts: Longs
    size: int
    columns: tuple[Codes, ...] = ()
    """Where several columns are counted together: columns[i][value] is the code of column i."""

    @classmethod
    def count(
        cls,
        classes: Codes,
        values: Codes,
        size: int,
        columns: tuple[Codes, ...] = (),
        weights: Longs | None = None,
    ) -> "LongCounts":
        """Count each pair of class and value, weighted by `weights` if given."""
        layout = Layout.of([int(classes.max(initial=0)) + 1, size])
        keys, counts, _ = kernels.group_columns(
            [classes, values], *layout.fields, layout.words, weights, want_ids=False
        )
        return cls(field_of_key(keys, layout, 0), field_of_key(keys, layout, 1), counts, size, columns)

    def merge_classes(self, into: Codes) -> "LongCounts":
        """Return the counts after class i has become class `into[i]`."""
        merged = int(into.max(initial=-1)) + 1
        if merged * self.size <= _CELLS_PER_ENTRY * len(self.counts):
            found = kernels.merge_counts(self.classes, self.values, self.counts, into, merged, self.size)
            return LongCounts(*found, self.size, self.columns)
        return LongCounts.count(into[self.classes], self.values, self.size, self.columns, self.counts)

    def count_distinct(self, class_count: int) -> Longs:
        """Return the number of different values of each class."""
        return np.bincount(self.classes, minlength=class_count).astype(np.int64)


Counted = str | tuple[str, ...]
"""A column counted beside the classes, or several counted together."""


class LazilyMergedCounts(Mapping[Counted, LongCounts]):
    """Counts per merged class, computed for all columns when the first of them is read.

    Most nodes of a search fail because too many rows are in small classes, and then these counts are never read.
    """

    def __init__(self, old: Mapping[Counted, LongCounts], into: Codes) -> None:
        self._made: dict[Counted, LongCounts] = {}
        self._ahead: tuple[Mapping[Counted, LongCounts], Codes] | None = old, into

    def __getitem__(self, name: Counted) -> LongCounts:
        if self._ahead is not None:
            old, into = self._ahead
            self._made = {each: long.merge_classes(into) for each, long in old.items()}
            self._ahead = None
        return self._made[name]

    def __iter__(self) -> Iterator[Counted]:
        return iter(self._made if self._ahead is None else self._ahead[0])

    def __len__(self) -> int:
        return len(self._made if self._ahead is None else self._ahead[0])


@dataclass(frozen=True)
class CountInterpretation:
    """How the columns counted per class are interpreted: as sensitive values, as persons, several together."""

    labels: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    """The value behind each code of a column; None is null."""
    unit: str | None = None
    """The column that tells persons apart, where persons are counted instead of rows."""
    reference: Mapping[str, Longs] = field(default_factory=dict)
    """How often each value of a sensitive attribute occurs in the original table."""
    levels: Mapping[str, Sequence[Codes]] = field(default_factory=dict)
    order: Mapping[str, Sequence[str]] = field(default_factory=dict)
    joint: Mapping[tuple[str, ...], JointCounts | None] = field(default_factory=dict)
    """Columns that are counted together, and their counts in the original table as one class."""
    quasi: tuple[str, ...] = ()
    """The quasi-identifiers of the table, whichever of them the classes show."""
    level_labels: Mapping[str, Sequence[Sequence[str | None]]] = field(default_factory=dict)
    """Labels of the groups of `levels`."""
    split: bool = False
    """Whether some person may be in several classes."""

    def value_counts(self, name: str, long: LongCounts, classes: int) -> ValueCounts:
        """Return the counts of a sensitive attribute, in rows or in persons."""
        more = {
            "labels": self.labels[name],
            "class_count": classes,
            "reference": self.reference.get(name),
            "levels": self.levels.get(name, ()),
            "order": self.order.get(name, ()),
            "level_labels": self.level_labels.get(name, ()),
        }
        if self.unit is None:
            return ValueCounts(long.classes, long.values, long.counts, **more)  # type: ignore[arg-type]
        # [entry] person and value of each entry; there is one entry per class, person and value
        person, value = (codes[long.values] for codes in long.columns)
        null = [code for code, label in enumerate(self.labels[name]) if label is None]
        # [entry] whether the value is not null; [class] persons with a value, and all persons
        known = ~np.isin(value, null)
        holders = LongCounts.count(long.classes[known], person[known], int(person.max(initial=0)) + 1).count_distinct(
            classes
        )
        everyone = LongCounts.count(long.classes, person, int(person.max(initial=0)) + 1).count_distinct(classes)
        each = LongCounts.count(long.classes, value, len(self.labels[name]))  # counts entries, that is persons
        return ValueCounts(each.classes, each.values, each.counts, holders=holders, everyone=everyone, **more)  # type: ignore[arg-type]

    def joint_counts(self, names: tuple[str, ...], long: LongCounts) -> JointCounts:
        """Return the counts of several columns together."""
        codes = tuple(codes[long.values] for codes in long.columns)
        return JointCounts(long.classes, codes, long.counts, tuple(self.labels[n] for n in names), self.joint[names])


Beside = Mapping[Counted, tuple[Codes, int] | tuple[Codes, int, tuple[Codes, ...]]]
"""Codes of each column to count per class, and their number; for several columns together, what `joined` returns."""


def join_columns(columns: Sequence[tuple[Codes, int]]) -> tuple[Codes, int, tuple[Codes, ...]]:
    """Join columns into one: return the code of each row, the number of codes, and the columns' codes behind each code.

    >>> codes, size, behind = join_columns([(np.array([0, 1, 0], np.int32), 2), (np.array([1, 1, 1], np.int32), 2)])
    >>> codes.tolist(), size, [code.tolist() for code in behind]
    ([0, 1, 0], 2, [[0, 1], [1, 1]])
    """
    layout = Layout.of([size for _, size in columns])
    keys, counts, ids = kernels.group_columns(
        [codes for codes, _ in columns], *layout.fields, layout.words, None, want_ids=True
    )
    assert ids is not None
    return ids, len(counts), tuple(field_of_key(keys, layout, i) for i in range(len(columns)))


def field_of_key(keys: NDArray[np.uint64], layout: Layout, i: int) -> Codes:
    """Unpack the codes of attribute i from packed keys."""
    codes: Codes = ((keys[:, layout.word[i]] >> np.uint64(layout.shift[i])) & layout.mask[i]).astype(np.int32)
    return codes
