"""The frequency set: distinct combinations of quasi-identifier codes, their counts, and what else is counted per class.

Grouping rows, rolling up, projecting and merging are one operation: map the keys, add the counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.data.class_counts import ClassCounts, Longs, sum_counts
from shoal.data.codes import Codes
from shoal.data.packed_keys import (
    Beside,
    Counted,
    CountInterpretation,
    Layout,
    LazilyMergedCounts,
    LongCounts,
    field_of_key,
    join_columns,
)

_HALF_OF_A_COUNT = 2**32
"""Factor of the second table where two are counted together."""


@dataclass(frozen=True)
class FrequencySet:
    """Equivalence classes as packed keys, with their sizes.

    >>> sex, age = np.array([0, 1, 0, 0], np.int32), np.array([2, 2, 2, 1], np.int32)
    >>> classes = FrequencySet.count({"sex": (sex, 2), "age": (age, 3)})
    >>> classes.codes("age").tolist(), classes.counts.tolist()
    ([2, 2, 1], [2, 1, 1])
    >>> classes.rollup({"age": np.zeros(3, np.int32)}).counts.tolist()
    [3, 1]
    """

    attributes: tuple[str, ...]
    layout: Layout
    keys: NDArray[np.uint64]
    """keys[class, word]: the packed codes of each class."""
    counts: Longs
    long: Mapping[Counted, LongCounts] = field(default_factory=dict)
    """What is counted beside the classes."""
    classes: Codes | None = None
    """Class of each row, if requested."""
    rest: "Rest | None" = None
    """Summary of the small classes, if there are too many to list."""

    @classmethod
    def count(
        cls,
        columns: Mapping[str, tuple[Codes, int]],
        long: Beside | None = None,
        *,
        want_classes: bool = False,
    ) -> "FrequencySet":
        """Group rows into classes.

        `columns` has the codes of each attribute and their number. `long` has the same for what is counted per class,
        or for several columns together what `joined` returns.
        """
        layout = Layout.of([size for _, size in columns.values()])
        keys, counts, ids = kernels.group_columns(
            [codes for codes, _ in columns.values()],
            *layout.fields,
            layout.words,
            None,
            want_ids=want_classes or bool(long),
        )
        counted = {name: LongCounts.count(ids, *given) for name, given in (long or {}).items() if ids is not None}
        return cls(tuple(columns), layout, keys, counts, counted, ids if want_classes else None)

    @classmethod
    def from_rows(cls, columns: Mapping[str, tuple[Codes, int]], long: Beside | None = None) -> "FrequencySet":
        """Return every row as a class of its own, for algorithms that may separate equal rows; else like `count`.

        >>> FrequencySet.from_rows({"age": (np.array([1, 0, 1], np.int32), 2)}).codes("age").tolist()
        [1, 0, 1]
        """
        return cls.from_items(np.arange(len(next(iter(columns.values()))[0]), dtype=np.int32), columns, long)

    @classmethod
    def from_items(
        cls, item: Codes, columns: Mapping[str, tuple[Codes, int]], long: Beside | None = None
    ) -> "FrequencySet":
        """Return items as classes, given the item of each row; rows of an item are equal, items need not differ.

        >>> item = np.array([0, 1, 1], np.int32)
        >>> FrequencySet.from_items(item, {"age": (np.array([1, 1, 1], np.int32), 2)}).counts.tolist()
        [1, 2]
        """
        layout = Layout.of([size for _, size in columns.values()])
        counts = sum_counts(item, None)
        # [item] some row of it
        member = np.empty(len(counts), dtype=np.int64)
        member[item] = np.arange(len(item))
        keys = np.zeros((len(counts), layout.words), dtype=np.uint64)
        for i, (codes, _) in enumerate(columns.values()):
            keys[:, layout.word[i]] |= codes[member].astype(np.uint64) << np.uint64(layout.shift[i])
        counted = {name: LongCounts.count(item, *given) for name, given in (long or {}).items()}
        return cls(tuple(columns), layout, keys, counts, counted, item)

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    def at_least(self, rows: int, lost: int) -> "FrequencySet":
        """Permit rollups to omit classes of fewer than `rows` rows, and to stop once these hold more than `lost` rows.

        A set in memory makes no use of it and always lists all classes.
        """
        del rows, lost
        return self

    def marginal(self, attribute: str, size: int) -> Longs:
        """Return the rows per code of an attribute."""
        return sum_counts(self.codes(attribute), self.counts, size)

    def all_marginals(self, sizes: Sequence[int]) -> list[Longs]:
        """Return the rows per code of every attribute; `sizes` has the number of codes of each."""
        rows, begins = self.marginals(np.ones(len(self), dtype=bool), sizes)
        return [rows[begin : begin + size] for begin, size in zip(begins.tolist(), sizes, strict=True)]

    def codes(self, attribute: str) -> Codes:
        """Return the code of an attribute in each class."""
        return field_of_key(self.keys, self.layout, self.attributes.index(attribute))

    def rollup(self, maps: Mapping[str, Codes], *, want_classes: bool = False) -> "FrequencySet":
        """Replace the codes of some attributes and merge what becomes equal; `classes` then maps old to new."""
        keys, counts, ids = kernels.rollup(
            self.keys,
            self.counts,
            *self.layout.fields,
            [maps.get(name) for name in self.attributes],
            want_ids=want_classes or bool(self.long),
        )
        long = LazilyMergedCounts(self.long, ids) if self.long and ids is not None else {}
        return FrequencySet(self.attributes, self.layout, keys, counts, long, ids if want_classes else None)

    def rollup_part(self, maps: Mapping[str, Codes], by: Sequence[str], parts: int, part: int) -> "FrequencySet":
        """Roll up one of several parts of the classes; those that agree on the attributes `by` are in the same part."""
        # [word] the bits of the attributes `by`, which are hashed to choose the part
        masks = np.zeros(self.layout.words, dtype=np.uint64)
        for name in by:
            i = self.attributes.index(name)
            masks[self.layout.word[i]] |= self.layout.mask[i] << np.uint64(self.layout.shift[i])
        lifted = [maps.get(name) for name in self.attributes]
        keys, counts, _ = kernels.rollup_part(self.keys, self.counts, *self.layout.fields, lifted, masks, parts, part)
        return FrequencySet(self.attributes, self.layout, keys, counts)

    def compact(self, maps: Mapping[str, Codes], sizes: Sequence[int]) -> "FrequencySet":
        """Roll up into the narrowest keys for codes below `sizes`, so that later rollups hash fewer words."""
        coarse = self.rollup(maps)
        layout = Layout.of(sizes)
        keys, counts, _ = kernels.group_columns(
            [coarse.codes(name) for name in self.attributes],
            *layout.fields,
            layout.words,
            coarse.counts,
            want_ids=False,
        )
        # group_columns keeps the order of classes, so `long` still refers to the right ones
        return FrequencySet(self.attributes, layout, keys, counts, coarse.long)

    def project(self, attributes: Sequence[str]) -> "FrequencySet":
        """Leave out all other attributes: each is at a virtual top above its levels (design 6)."""
        # {attribute: [code] always 0} for every attribute that is left out
        nothing = {
            name: np.zeros(int(mask) + 1, np.int32)
            for name, mask in zip(self.attributes, self.layout.mask, strict=True)
            if name not in attributes
        }
        return self.rollup(nothing)

    def marginals(
        self, chosen: NDArray[np.bool_], sizes: Sequence[int], many: Longs | None = None
    ) -> tuple[Longs, Longs]:
        """Return the rows of the chosen classes per code, attribute after attribute, and the offset of each.

        Of each class `many` rows are counted, or all.
        """
        begin = np.concatenate([[0], np.cumsum(sizes)])
        counts = self.counts if many is None else many
        rows = kernels.marginals(self.keys, counts, chosen, *self.layout.fields, begin[:-1].copy(), int(begin[-1]))
        return rows, begin[:-1]

    def merge(self, other: "FrequencySet") -> "FrequencySet":
        """Return the frequency set of both tables together, which must share one encoding."""
        return self.concat(other).rollup({})

    def concat(self, other: "FrequencySet") -> "FrequencySet":
        """Return the classes of both, one after the other; equal ones are not merged."""
        keys = np.concatenate([self.keys, other.keys])
        counts = np.concatenate([self.counts, other.counts])
        long = {
            name: LongCounts(
                np.concatenate([mine.classes, other.long[name].classes + np.int32(len(self))]),
                np.concatenate([mine.values, other.long[name].values]),
                np.concatenate([mine.counts, other.long[name].counts]),
                mine.size,
                mine.columns,
            )
            for name, mine in self.long.items()
        }
        return FrequencySet(self.attributes, self.layout, keys, counts, long)

    def count_in(self, other: "FrequencySet") -> tuple[Longs, int]:
        """Return how many rows of another table each class has, and how many classes occur in the other table only.

        Both share one encoding.
        """
        if self.layout == other.layout:
            # [class of self, then class of other] their keys; ids [same] number of the distinct key
            both, same = np.concatenate([self.keys, other.keys]), [None] * len(self.attributes)
            counts = np.concatenate([self.counts, other.counts])
            keys, _, ids = kernels.rollup(both, counts, *self.layout.fields, same, want_ids=True)
        else:
            masks = zip(self.layout.mask, other.layout.mask, strict=True)
            layout = Layout.of([int(max(mine, theirs)) + 1 for mine, theirs in masks])
            columns = [np.concatenate([self.codes(name), other.codes(name)]) for name in self.attributes]
            keys, _, ids = kernels.group_columns(columns, *layout.fields, layout.words, None, want_ids=True)
        assert ids is not None
        # [distinct key of both] rows of the other table
        rows = np.zeros(len(keys), dtype=np.int64)
        rows[ids[len(self) :]] = other.counts
        return rows[ids[: len(self)]], len(keys) - len(self)

    def count_together(self, other: "FrequencySet") -> "FrequencySet | None":
        """Count the rows of this table and of another at once, so that one rollup serves both; None where it cannot.

        A count is that of this table, plus 2^32 times that of the other one. `split_counts` takes them apart.

        >>> one, two = (FrequencySet.count({"sex": (np.array(c, np.int32), 2)}) for c in ([0, 0], [0, 1]))
        >>> (both := one.count_together(two)).counts.tolist() == [2 + 2**32, 2**32]
        True
        >>> mine, theirs, strangers = both.split_counts()
        >>> mine.counts.tolist(), theirs.tolist(), strangers
        ([2], [1], 1)
        """
        sets = self, other
        if any(type(each) is not FrequencySet or each.long or each.rest is not None for each in sets):
            return None
        if self.layout != other.layout or max(each.rows for each in sets) >= _HALF_OF_A_COUNT // 2:
            return None
        keys, counts, _ = kernels.rollup(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.counts, other.counts * _HALF_OF_A_COUNT]),
            *self.layout.fields,
            [None] * len(self.attributes),
            want_ids=False,
        )
        return FrequencySet(self.attributes, self.layout, keys, counts)

    def split_counts(self) -> tuple["FrequencySet", Longs, int]:
        """Take apart what was counted together: the classes of the one table, the rows of the other in each of them,
        and how many classes occur in the other only.
        """
        keys, counts, others, strangers = kernels.split_counts(self.keys, self.counts)
        return FrequencySet(self.attributes, self.layout, keys, counts), others, strangers

    def is_in(self, other: "FrequencySet") -> NDArray[np.bool_]:
        """Return for each class whether it occurs in another set of some of the attributes, in the same encoding.

        >>> one = FrequencySet.count({"a": (np.array([0, 1, 1], np.int32), 2), "b": (np.array([0, 0, 1], np.int32), 2)})
        >>> one.is_in(FrequencySet.count({"a": (np.array([1], np.int32), 2)})).tolist()
        [False, True, True]
        """
        masks = [self.layout.mask[self.attributes.index(name)] for name in other.attributes]
        layout = Layout.of([int(max(pair)) + 1 for pair in zip(masks, other.layout.mask, strict=True)])
        # [class of other, then class of self] codes per attribute; ids [same] number of the distinct key
        columns = [np.concatenate([other.codes(name), self.codes(name)]) for name in other.attributes]
        keys, _, ids = kernels.group_columns(columns, *layout.fields, layout.words, None, want_ids=True)
        assert ids is not None
        # [distinct key] whether the other set has it
        inside = np.zeros(len(keys), dtype=bool)
        inside[ids[: len(other)]] = True
        return inside[ids[len(other) :]]

    def classed(
        self, attributes: Sequence[str], counted: Sequence[Counted], sizes: Mapping[str, int]
    ) -> "FrequencySet":
        """Group distinct rows by some attributes, and count `counted` per class; `sizes` has numbers of codes.

        >>> rows = {"age": (np.array([0, 1, 1], np.int32), 2), "ill": (np.array([0, 0, 1], np.int32), 2)}
        >>> classes = FrequencySet.count(rows).classed(["age"], ["ill"], {"ill": 2})
        >>> classes.counts.tolist(), classes.long["ill"].classes.tolist()
        ([1, 2], [0, 1, 1])
        """
        if tuple(attributes) == self.attributes and not counted:
            return self
        nothing = {
            name: np.zeros(int(mask) + 1, np.int32)
            for name, mask in zip(self.attributes, self.layout.mask, strict=True)
            if name not in attributes
        }
        # coarse.classes [distinct row] its class
        coarse = self.rollup(nothing, want_classes=True)
        layout = Layout.of([int(self.layout.mask[self.attributes.index(name)]) + 1 for name in attributes])
        keys, counts, _ = kernels.group_columns(
            [coarse.codes(name) for name in attributes], *layout.fields, layout.words, coarse.counts, want_ids=False
        )
        assert coarse.classes is not None
        long: dict[Counted, LongCounts] = {}
        for one in counted:
            coded = [(self.codes(name), sizes[name]) for name in _names(one)]
            codes, size, behind = (*coded[0], ()) if isinstance(one, str) else join_columns(coded)
            long[one] = LongCounts.count(coarse.classes, codes, size, behind, self.counts)
        return FrequencySet(tuple(attributes), layout, keys, counts, long)  # group_columns keeps the order of classes

    def class_counts(
        self, reading: CountInterpretation, population: Longs | None = None, strangers: int = 0
    ) -> ClassCounts:
        """Return the counts that models read: of classes, sensitive values, and several columns together.

        Beside them stands what is known of a population: its persons in each class, and in how many others.
        """
        unit = reading.unit
        sizes = self.counts if unit is None else self.long[unit].count_distinct(len(self))
        sensitive = {
            name: reading.value_counts(name, self.long[name] if unit is None else self.long[unit, name], len(self))
            for name in reading.labels
            if (name if unit is None else (unit, name)) in self.long
        }
        joint = {names: reading.joint_counts(names, self.long[names]) for names in reading.joint if names in self.long}
        released = {name: self.codes(name) for name in self.attributes} if joint else {}
        return ClassCounts(
            sizes,
            sensitive,
            joint,
            population,
            strangers,
            released=released,
            quasi=reading.quasi,
            persons=unit is not None,
        )

    def merge_into_parts(self, part: Codes, parts: int) -> "FrequencySet":
        """Merge classes into parts: `part` is the part of each class, -1 to leave it out; every part must occur.

        >>> ages = FrequencySet.count({"age": (np.array([0, 1, 2, 2], np.int32), 3)})
        >>> ages.merge_into_parts(np.array([0, 1, 0], np.int32), 2).counts.tolist()
        [3, 1]
        """
        inside = part >= 0
        if not inside.all():
            return self.select_classes(inside).merge_into_parts(part[inside], parts)
        counts = sum_counts(part, self.counts, parts)
        long = {name: old.merge_classes(part) for name, old in self.long.items()}
        return FrequencySet(("part",), Layout.of([parts]), np.arange(parts, dtype=np.uint64)[:, None], counts, long)

    def sort_by_key(self) -> tuple["FrequencySet", Codes]:
        """Return the classes sorted by key, so that all engines give the same order, and the new index of each."""
        order = np.lexsort(self.keys.T) if self.layout.words > 1 else np.argsort(self.keys[:, 0])
        # [old class] its index in sorted order
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        long = {}
        for name, old in self.long.items():
            # entries follow their classes, and are sorted by value within each
            entries = np.lexsort((old.values, place[old.classes]))
            at, values, counts = place[old.classes][entries], old.values[entries], old.counts[entries]
            long[name] = replace(old, classes=at, values=values, counts=counts)
        of_row = None if self.classes is None else place[self.classes]
        return FrequencySet(self.attributes, self.layout, self.keys[order], self.counts[order], long, of_row), place

    def select_classes(self, chosen: NDArray[np.bool_]) -> "FrequencySet":
        """Return the chosen classes only."""
        # [class] its new number, which is meaningless where it is not chosen
        number = (np.cumsum(chosen) - 1).astype(np.int32)
        long = {}
        for name, old in self.long.items():
            inside = chosen[old.classes]
            long[name] = replace(
                old,
                classes=number[old.classes[inside]],
                values=old.values[inside],
                counts=old.counts[inside],
            )
        return FrequencySet(self.attributes, self.layout, self.keys[chosen], self.counts[chosen], long)


@dataclass(frozen=True)
class Rest:
    """Summary of the classes that are not listed because each is too small to be released."""

    classes: int
    """Number of these classes."""
    whole: FrequencySet
    """All of them as one class."""
    marginals: Longs
    """Their rows per code, attribute after attribute."""
    squares: int
    """The sum of the squares of their sizes."""

    @classmethod
    def of(cls, small: FrequencySet, sizes: Sequence[int]) -> "Rest":
        """Summarise small classes; `sizes` has the number of codes of each attribute."""
        rows, _ = small.marginals(np.ones(len(small), dtype=bool), sizes)
        return cls(len(small), small.project([]), rows, int(small.counts @ small.counts))

    @property
    def rows(self) -> int:
        return self.whole.rows

    def merge(self, other: "Rest") -> "Rest":
        """Return the summary of both together; they have no class in common."""
        return Rest(
            self.classes + other.classes,
            self.whole.merge(other.whole),
            self.marginals + other.marginals,
            self.squares + other.squares,
        )

    def rows_per_label(self, sizes: Sequence[int], at: Sequence[int]) -> Longs:
        """Return their rows per label, attribute after attribute, at a node with `at` labels of each attribute.

        `sizes` has the number of codes of each attribute; at a coarser level only the first `at` of them are in use.
        """
        begin = np.concatenate([[0], np.cumsum(sizes)])
        return np.concatenate([self.marginals[b : b + n] for b, n in zip(begin[:-1].tolist(), at, strict=True)])


def _names(counted: Counted) -> tuple[str, ...]:
    return (counted,) if isinstance(counted, str) else counted
