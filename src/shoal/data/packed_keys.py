"""Codes packed into keys; values counted beside the classes, and how models read them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.data.class_counts import JointCounts, Longs, ValueCounts
from shoal.data.codes import Codes
from shoal.errors import BadData

_WORD_BITS = 64


_WIDTHS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Layout:
    """Where each attribute's code lies in the packed key; no field straddles two words.

    >>> Layout.of([100, 2, 5]).shift.tolist()
    [0, 7, 8]
    """

    word: Codes
    """Word of each attribute."""
    shift: Codes
    """First bit of each attribute in its word."""
    mask: NDArray[np.uint64]
    """Largest code of each attribute that fits."""
    words: int

    @classmethod
    def of(cls, sizes: Sequence[int]) -> "Layout":
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

    @property
    def fields(self) -> tuple[Codes, Codes, NDArray[np.uint64]]:
        return self.word, self.shift, self.mask


@dataclass(frozen=True)
class Long:
    """Counts per class and value in long form: of a sensitive attribute, of several together, of persons.

    Values are codes `< size`. The number of distinct values (persons, say) of a class is its number of entries, which
    every rollup counts again: such numbers cannot be added.
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
    ) -> "Long":
        layout = Layout.of([int(classes.max(initial=0)) + 1, size])
        keys, counts, _ = kernels.group_columns(
            [classes, values], *layout.fields, layout.words, weights, want_ids=False
        )
        return cls(field_of_key(keys, layout, 0), field_of_key(keys, layout, 1), counts, size, columns)

    def merged(self, into: Codes) -> "Long":
        """Return the counts after class i has become class `into[i]`."""
        return Long.count(into[self.classes], self.values, self.size, self.columns, self.counts)

    def distinct(self, class_count: int) -> Longs:
        """Return the number of different values of each class."""
        return np.bincount(self.classes, minlength=class_count).astype(np.int64)


Counted = str | tuple[str, ...]
"""A column counted beside the classes, or several counted together."""


class Merging(Mapping[Counted, Long]):
    """Counts beside merged classes, computed all at once when the first of them is read.

    Most nodes of a search have too many rows in small classes, and then nothing else about them is needed.
    """

    def __init__(self, old: Mapping[Counted, Long], into: Codes) -> None:
        self._made: dict[Counted, Long] = {}
        self._ahead: tuple[Mapping[Counted, Long], Codes] | None = old, into

    def __getitem__(self, name: Counted) -> Long:
        if self._ahead is not None:
            old, into = self._ahead
            self._made = {each: long.merged(into) for each, long in old.items()}
            self._ahead = None
        return self._made[name]

    def __iter__(self) -> Iterator[Counted]:
        return iter(self._made if self._ahead is None else self._ahead[0])

    def __len__(self) -> int:
        return len(self._made if self._ahead is None else self._ahead[0])


@dataclass(frozen=True)
class Reading:
    """How the columns counted beside the classes are read: as sensitive values, as persons, together."""

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

    def values(self, name: str, long: Long, classes: int) -> ValueCounts:
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
        # [entry] person and value: one entry per class, person and value
        person, value = (codes[long.values] for codes in long.columns)
        null = [code for code, label in enumerate(self.labels[name]) if label is None]
        known = ~np.isin(value, null)
        holders = Long.count(long.classes[known], person[known], int(person.max(initial=0)) + 1).distinct(classes)
        everyone = Long.count(long.classes, person, int(person.max(initial=0)) + 1).distinct(classes)
        each = Long.count(long.classes, value, len(self.labels[name]))  # counts entries, that is persons
        return ValueCounts(each.classes, each.values, each.counts, holders=holders, everyone=everyone, **more)  # type: ignore[arg-type]

    def together(self, names: tuple[str, ...], long: Long) -> JointCounts:
        codes = tuple(codes[long.values] for codes in long.columns)
        return JointCounts(long.classes, codes, long.counts, tuple(self.labels[n] for n in names), self.joint[names])


Beside = Mapping[Counted, tuple[Codes, int] | tuple[Codes, int, tuple[Codes, ...]]]
"""Codes of what is counted, and how many there are; of several columns together, `joined` ones."""


def joined(columns: Sequence[tuple[Codes, int]]) -> tuple[Codes, int, tuple[Codes, ...]]:
    """Join columns into one: return a code per combination that occurs, their number, and the columns' codes of each.

    >>> codes, size, behind = joined([(np.array([0, 1, 0], np.int32), 2), (np.array([1, 1, 1], np.int32), 2)])
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
