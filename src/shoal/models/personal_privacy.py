"""Personalised privacy: each person says which node of the hierarchy is nobody's business."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.data.class_counts import ClassCounts, Indices, JointCounts, Longs, ValueCounts, sum_counts
from shoal.errors import BadData, BadPolicy
from shoal.models.model import (
    READS_THE_CLASS,
    Closure,
    Flags,
    Model,
    Need,
    Share,
    ceiling,
    exact_share,
    is_within_limits,
    refuse_unless_flag,
    settle_shares,
)
from shoal.roles import Role

if TYPE_CHECKING:
    from shoal.data.codes import Table
    from shoal.hierarchy.build import Builder


@dataclass(frozen=True, slots=True)
class Personalised(Model):
    """In every class, the share of the values below each of its members' guarding nodes is at most `max`.

    `guard` is the column with each person's guarding node, a label of the hierarchy of the sensitive attribute; who has
    none guards nothing. `max` is p_breach. Shares are of the rows that have a value, so that null protects nobody,
    unless `null_is_value` (design 7). A guarded person who joins a class meets values that nobody there guarded, so
    merging promises nothing.

    Xiao and Tao, SIGMOD 2006.
    """

    name: ClassVar[str] = "personalised"
    family: ClassVar[str] = "Shares of values"
    sentence: ClassVar[str] = "Nobody's own guarded values are told with more than this chance."
    adversary: ClassVar[str] = READS_THE_CLASS + ", whatever each person guards"
    source: ClassVar[str] = "Xiao and Tao, SIGMOD 2006"
    closure: ClassVar[Closure] = Closure.NOT
    per_attribute: ClassVar[bool] = True
    guard: str
    max: Share
    attribute: str | None = None
    null_is_value: bool = False

    def __post_init__(self) -> None:
        if self.guard == "" or not isinstance(self.guard, str):
            raise ValueError(f"guard must be the name of a column, not {self.guard!r}")
        settle_shares(self, "max")
        refuse_unless_flag("null-is-value", self.null_is_value)
        if self.guard == self.attribute:
            raise ValueError(f"guard must be another column than the attribute, not {self.guard!r}")

    def refuse_misfit(
        self, table: "Table", roles: Mapping[str, Role], builders: Mapping[str, "Builder | None"]
    ) -> None:
        """Refuse guarding nodes that are no labels of the hierarchy, or that are not kept secret."""
        Model.refuse_misfit(self, table, roles, builders)
        assert self.attribute is not None
        builder = builders[self.attribute]
        if builder is None:
            raise BadPolicy(f"attributes.{self.attribute}: {self.name} needs a hierarchy of it")
        if roles[self.guard].released:
            raise BadPolicy(
                f"attributes.{self.guard}: it tells what each person wants hidden and would be released; give it the "
                "role 'identifier'"
            )
        taxonomy, column = builder.taxonomy(table[self.attribute]), table[self.guard]
        labels = {*taxonomy.leaves, *(label for level in taxonomy.levels for label in level)}
        unknown = pc.invert(pc.is_in(column.texts, value_set=pa.array(sorted(labels), pa.string())))
        which = np.flatnonzero(unknown.to_numpy(zero_copy_only=False))
        if len(which):
            raise BadData(
                f"column {self.guard!r}: {int(column.counts[which].sum())} row(s) name no label of the hierarchy of "
                f"{self.attribute!r}; correct them, or leave them empty for no guard",
                values=column.texts.take(pa.array(which[:5])).to_pylist(),
            )

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({Need.ORIGINAL})

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.attribute is None else (self.attribute, self.guard)

    def complies(self, counts: ClassCounts) -> Flags:
        at, below, known = self._count_guarded(counts)
        complying = np.ones(len(counts.sizes), dtype=bool)
        over = ~is_within_limits(below, known, [exact_share("max", self.max)], np.zeros(len(at), dtype=np.int64))
        complying[at[over]] = False
        return complying

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        _, below, known = self._count_guarded(counts)
        if not below.any():
            return {"max": 0.0}
        share = below / np.maximum(known, 1)
        pairs = np.unique(np.stack([below, known])[:, share == share.max()], axis=1)
        return {"max": ceiling(max(Fraction(b, k) for b, k in pairs.T.tolist()))}

    def worst(self, counts: ClassCounts) -> int | None:
        at, below, known = self._count_guarded(counts)
        return int(at[np.argmax(below / np.maximum(known, 1))]) if len(at) else None

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Return the reason if too many rows guard every value that the table holds, so that no class hides theirs."""
        if exact_share("max", self.max) == 1 or self.null_is_value:
            return None
        joint, values = self._joint(table)
        known = np.array([label is not None for label in joint.labels[0]], dtype=bool)[joint.codes[0]]
        # codes of the values that occur
        held = np.unique(joint.codes[0][known])
        nodes = zip(*_nodes(joint.labels[1], values), strict=True)
        # whole[guard]: whether its node covers all of them
        whole = np.array([h >= 0 and bool((values.levels[h][held] == group).all()) for h, group in nodes], dtype=bool)
        rows = int(joint.counts[known & whole[joint.codes[1]]].sum())
        if rows <= suppressible:
            return None
        return f"{rows} row(s) guard every value of {self.attribute!r} that the table holds, and no class hides that"

    def _joint(self, counts: ClassCounts) -> tuple[JointCounts, ValueCounts]:
        assert self.attribute is not None
        return counts.joint[self.columns], counts.sensitive[self.attribute]

    def _count_guarded(self, counts: ClassCounts) -> tuple[Indices, Longs, Longs]:
        """Return for each (class, guarding node) pair the class, its rows below the node, and all its counted rows."""
        joint, values = self._joint(counts)
        classes, (value, guard) = joint.classes, joint.codes
        null = np.array([label is None for label in joint.labels[0]], dtype=bool)
        counted = np.ones(len(value), dtype=bool) if self.null_is_value else ~null[value]
        # rows of each class that count
        known = sum_counts(classes[counted], joint.counts[counted], len(counts.sizes))
        level, group = _nodes(joint.labels[1], values)
        # [2, pair]: class and guard, for guards that are a node
        pairs = np.unique(np.stack([classes, guard])[:, level[guard] >= 0], axis=1)
        at, below = pairs[0], np.zeros(pairs.shape[1], dtype=np.int64)
        for h in np.unique(level[pairs[1]]):
            # pairs whose node lies on this level
            mine = level[pairs[1]] == h
            under = counted & ~null[value]
            below[mine] = _count_rows(
                classes[under],
                np.asarray(values.levels[h])[value[under]],
                joint.counts[under],
                at[mine],
                group[pairs[1][mine]],
            )
        return at, below, known.astype(np.int64)[at]


def _nodes(labels: Any, values: ValueCounts) -> tuple[Indices, Indices]:
    """Return for each guard's label the lowest level on which it occurs and its group there; -1 where there is none."""
    where = {
        label: (h, group)
        for h, level in reversed(list(enumerate(values.level_labels)))
        for group, label in enumerate(level)
        if label is not None
    }
    found = np.array([where.get(label, (-1, -1)) for label in labels], dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _count_rows(classes: Indices, groups: Indices, counts: Longs, at: Indices, wanted: Indices) -> Longs:
    """Return the number of rows of each wanted (class, group) pair."""
    width = int(max(groups.max(initial=0), wanted.max(initial=0))) + 1
    # one key for each (class, group) pair that occurs, and its rows
    keys, inverse = np.unique(classes.astype(np.int64) * width + groups, return_inverse=True)
    rows = sum_counts(inverse, counts, len(keys))
    asked = at.astype(np.int64) * width + wanted
    place = np.minimum(np.searchsorted(keys, asked), max(len(keys) - 1, 0))
    if not len(keys):
        return np.zeros(len(asked), dtype=np.int64)
    return np.where(keys[place] == asked, rows[place], 0)
