"""A taxonomy compiled to `levels[h][code]`: what searches, recoding and losses read."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.data.codes import Codes, Column
from shoal.errors import BadHierarchy
from shoal.labels.scale import Scale

TOP = "*"


def say_tops(labels: Collection[str | None]) -> str:
    """Say what a column shows that tells nothing: `*`, the name of the root, or both.

    >>> say_tops(["*"]), say_tops(["*", "person"]), say_tops(["person"])
    ('*', 'person or *', 'person')
    """
    return " or ".join(sorted((str(label) for label in labels), key=lambda label: (label == TOP, label)))


@dataclass(frozen=True)
class Taxonomy:
    """Leaves and, for each level above them, a label per leaf; not yet tied to a column.

    `where(i)` says how a person finds leaf `i` ("line 7 of age.csv"), for errors.
    """

    leaves: Sequence[str]
    levels: Sequence[Sequence[str]]
    where: Callable[[int], str]
    name: str = "its hierarchy"
    """Name in errors: the file it came from."""

    @property
    def top(self) -> str:
        """Label that covers every value: the name of the root where there is one, else `*`."""
        labels = dict.fromkeys(self.levels[-1]) if self.levels else {}
        return next(iter(labels)) if len(labels) == 1 else TOP


@dataclass(frozen=True)
class Hierarchy:
    """A domain generalisation hierarchy over the codes of one column (S2.2).

    Level 0 is the value itself. Null is a group of its own until all values are one, and joins them there (design 7).
    """

    attribute: str
    levels: tuple[Codes, ...]
    """levels[h][code]: the group of a code at level h."""
    labels: tuple[tuple[str | None, ...], ...]
    """labels[h][group]: the label that is released; None is null."""
    leaves: tuple[NDArray[np.int64], ...]
    """leaves[h][group]: how many leaves of the taxonomy lie under it."""
    size: int
    """Number of leaves of the whole taxonomy."""

    @property
    def height(self) -> int:
        return len(self.levels) - 1

    @property
    def left_out(self) -> int:
        """Virtual level above all others, on which the attribute is left out (design 6)."""
        return len(self.levels)

    @property
    def top(self) -> str:
        """Label that covers every value: the name of the root where there is one, else `*`.

        >>> leaf, root = np.array([0, 1], np.int32), np.array([0, 0], np.int32)
        >>> under = np.array([1, 1]), np.array([2])
        >>> Hierarchy("race", (leaf, root), (("black", "white"), ("person",)), under, 2).top
        'person'
        """
        label = self.labels[-1][0] if len(self.labels[-1]) == 1 else None
        rooted = self.height > 0 and label is not None and int(self.leaves[-1][0]) == self.size
        return label if rooted and label is not None else TOP

    def groups(self, level: int) -> int:
        return 1 if level == self.left_out else len(self.labels[level])

    @cached_property
    def losses(self) -> tuple[NDArray[np.float64], ...]:
        """losses[h][group] = (leaves under the label - 1) / (leaves of the hierarchy - 1); one leaf loses nothing."""
        return tuple((leaves - 1) / max(self.size - 1, 1) for leaves in self.leaves)

    def between(self, low: int, high: int) -> Codes:
        """Return the group at level `high` of each group at level `low`."""
        step = np.zeros(self.groups(low), dtype=np.int32)
        if high != self.left_out:
            step[self.levels[low]] = self.levels[high]
        return step


def compile_taxonomy(column: Column, taxonomy: Taxonomy) -> Hierarchy:
    """Tie a taxonomy to a column, refusing one that is not a hierarchy of its values.

    >>> from shoal.data.codes import encode
    >>> tree = Taxonomy(["a", "b", "c"], [["x", "x", "y"], ["*", "*", "*"]], lambda i: f"line {i + 1}")
    >>> h = compile_taxonomy(encode("s", pa.array(["c", "a", None])), tree)
    >>> h.labels, [level.tolist() for level in h.levels]
    ((('a', 'c', None), ('x', 'y', None), ('*',)), [[0, 1, 2], [0, 1, 2], [0, 0, 0]])
    """
    leaves = pa.array(taxonomy.leaves, pa.string())
    encoded = [pa.array(labels, pa.string()).dictionary_encode() for labels in taxonomy.levels]
    groups = [e.indices.to_numpy().astype(np.int32) for e in encoded]
    names = [e.dictionary.to_pylist() for e in encoded]
    _refuse_split_after_merge(column.name, groups, taxonomy.where)
    _refuse_two_meanings(column.name, taxonomy, groups, names)
    at = _leaf_of_each_code(column, leaves, taxonomy.name)
    scale = Scale(column.values, column.decimal)
    for h, (group, level) in enumerate(zip(groups, names, strict=True), 1):
        _refuse_other_numbers(column, scale, h, group[at], level)

    null = [column.null_code] if column.has_null else []
    levels: list[Codes] = [np.arange(column.size, dtype=np.int32)]
    labels: list[tuple[str | None, ...]] = [(*column.texts.to_pylist(), *[None for _ in null])]
    counts = [np.ones(column.size, dtype=np.int64)]
    for h, group in enumerate(groups):
        top = h == len(groups) - 1 and len(names[h]) == 1
        # groups that the column's values use, renumbered, and the group of each code
        used, level = np.unique(group[at], return_inverse=True)
        level = level.astype(np.int32)
        # leaves of the taxonomy under each group, also those that the column lacks
        under = np.bincount(group, minlength=len(names[h]))[used].astype(np.int64)
        label: list[str | None] = [names[h][g] for g in used]
        if null and top:
            level = np.append(level, np.int32(0)).astype(np.int32)
            label, under = [names[h][0]], np.array([len(leaves)], dtype=np.int64)
        elif null:
            level = np.append(level, len(used)).astype(np.int32)
            label, under = [*label, None], np.append(under, 1)
        levels.append(level.astype(np.int32))
        labels.append(tuple(label))
        counts.append(under)
    return Hierarchy(column.name, tuple(levels), tuple(labels), tuple(counts), max(len(leaves), 1))


def _leaf_of_each_code(column: Column, leaves: pa.StringArray, name: str) -> NDArray[np.int64]:
    """Return the leaf of each code but null; refuse values that the taxonomy lacks."""
    at = pc.index_in(column.texts, value_set=leaves)
    if at.null_count:
        absent = np.flatnonzero(at.is_null().to_numpy(zero_copy_only=False))
        absent = absent[np.argsort(column.first_rows[absent])]
        rows = ", ".join(str(row) for row in column.first_rows[absent[:5]])
        raise BadHierarchy(
            f"column {column.name!r}: {len(absent)} value(s) are missing from {name}, first seen in row(s) {rows}"
            f"{', …' if len(absent) > 5 else ''}; add them to the hierarchy, or declare them in [data] missing",
            values=column.texts.take(pa.array(absent[:5])).to_pylist(),
        )
    return np.asarray(at.to_numpy(), dtype=np.int64)


def _refuse_split_after_merge(attribute: str, groups: list[Codes], where: Callable[[int], str]) -> None:
    """Refuse levels that are not nested: leaves of one group must stay together at every higher level."""
    for h in range(len(groups) - 1):
        # [group] the group at the next level of its first leaf, which all its leaves must share
        parent = np.full(int(groups[h].max(initial=-1)) + 1, -1, dtype=np.int32)
        first = np.unique(groups[h], return_index=True)
        parent[first[0]] = groups[h + 1][first[1]]
        wrong = np.flatnonzero(parent[groups[h]] != groups[h + 1])
        if len(wrong):
            raise BadHierarchy(
                f"column {attribute!r}: {where(int(wrong[0]))} splits at level {h + 2} what level {h + 1} had "
                "merged; give equal labels one parent"
            )


def _refuse_two_meanings(attribute: str, taxonomy: Taxonomy, groups: list[Codes], names: list[list[str]]) -> None:
    """Refuse a label that stands for two sets of leaves, on whatever levels it occurs (design 9).

    Levels are nested, so two groups are the same set when they share their first leaf and their size.
    """
    meaning: dict[str, tuple[int, int]] = {}
    for h, level in enumerate([list(taxonomy.leaves), *names]):
        of = groups[h - 1] if h else np.arange(len(level))
        first = np.unique(of, return_index=True)[1].tolist()
        sizes = np.bincount(of, minlength=len(level)).tolist()
        for label, *sets in zip(level, first, sizes, strict=True):
            if meaning.setdefault(label, (sets[0], sets[1])) != (sets[0], sets[1]):
                raise BadHierarchy(
                    f"column {attribute!r}: {taxonomy.where(sets[0])} uses at level {h} a label that means "
                    "another set of values elsewhere; rename one of them"
                )


def _refuse_other_numbers(column: Column, scale: Scale, h: int, group: Codes, names: Sequence[str]) -> None:
    """Refuse a label that reads as one number of the column and stands for others: `1` for 1.0 and 11.5."""
    read = [g for g in np.unique(group).tolist() if scale.number(names[g]) is not None and scale.is_value(names[g])]
    for g in read:
        other = np.setdiff1d(np.flatnonzero(group == g), scale.codes_of_text(names[g]))
        if len(other):
            row = column.first_rows[other].min()
            raise BadHierarchy(
                f"column {column.name!r}: the label of row {row} at level {h} is the number of another value; rename it"
            )
