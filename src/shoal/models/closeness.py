"""t-closeness: the sensitive values of every class are distributed nearly as in the whole table."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from shoal.data.class_counts import ClassCounts, Indices, Longs, ValueCounts, sum_counts
from shoal.errors import BadPolicy
from shoal.models.model import (
    KNOWS_FREQUENCIES,
    Closure,
    Flags,
    Floats,
    Need,
    Part,
    ceiling,
    exact_share,
    is_within_limit,
    scale_to_integers,
    settle_shares,
)
from shoal.models.reference_models import (
    Ints,
    Reference,
    ReferenceModel,
    greatest_ratio,
    integers,
    ratios,
    refuse_unless_one_of,
    sum_by_class,
)
from shoal.models.value_limits import ShareLimits, removed_for_shares

Emd = tuple[Ints, Ints]
"""A distance per class as two arrays of whole numbers: part and whole."""


def equal_distance(values: ValueCounts) -> Emd:
    """Return the equal distance Σ max(q − p, 0): any surplus of a class must move, and all moves cost the same.

    >>> part, whole = equal_distance(ValueCounts(np.array([0, 1]), np.array([0, 1]), np.array([1, 1]), ["a", "b"], 2))
    >>> (part / whole).tolist()
    [0.5, 0.5]
    """
    overall = values.overall
    here, there = ratios(values, overall)
    # Only a value that occurs in the class can have too much, so the entries are enough.
    surplus = sum_by_class(values.classes, np.maximum(here - there, 0), values.class_count)
    return surplus, _denominators(values, 1)


def hierarchical_distance(values: ValueCounts) -> Emd:
    """Return the hierarchical distance: the mean, over the levels below the root, of the equal distance of groups.

    Li et al.'s sum over the inner nodes N of height(N)/H · min(surplus, lack of its children) is the same: of all
    children together min(surplus, lack) is the equal distance at their level less that at N's, and the sum telescopes.
    """
    overall = values.overall
    rooted = len(np.unique(values.levels[-1])) == 1
    height = max(len(values.levels) - rooted, 1)  # a tree without a root gets one on top
    kind = integers(int(values.totals.max(initial=0)) * int(overall.sum()) * height)
    part: Ints = equal_distance(values)[0].astype(kind)
    for level in values.levels[1:]:
        part = part + equal_distance(_count_groups(values, level))[0]
    return part, _denominators(values, height)


def ordered_distance(values: ValueCounts, ranks: Indices) -> Emd:
    """Return the ordered distance 1/(m−1) Σ_i |Q_i − P_i|, where Q and P are shares of all values up to the i-th.

    Q only changes at values that occur in the class. In the run of ranks from one of them to the next, P passes Q
    once, and prefix sums of P give the two halves: the work is that of the entries, not of classes × values.
    """
    m = int(ranks.max(initial=0)) + 1
    merged = _count_groups(values, ranks)
    classes, at, counts, totals = merged.classes, merged.values, merged.counts, merged.totals
    table = np.cumsum(merged.overall)  # P_i times the size of the table
    size = int(merged.overall.sum())
    kind = integers(int(totals.max(initial=0)) * size * m)
    # prefix sums of P: until[j] is Σ P_i for i < j, times the size of the table
    until = np.concatenate([np.zeros(1, kind), np.cumsum(table.astype(kind))])

    # the first entry of each class; `running` are counts up to each entry within its class
    first = np.concatenate([[True], classes[1:] != classes[:-1]])[: len(classes)]
    running = np.cumsum(counts)
    running -= (running - counts)[first][np.cumsum(first) - 1]
    # the entry's run of ranks: from its own (`at`) up to the next entry's, or to m
    end = np.where(np.append(first[1:], True)[: len(first)], m, np.append(at[1:], m)[: len(at)])
    share, total = running.astype(kind) * size, totals[classes].astype(kind)
    # the rank in the run from which P is above Q; below it, Q is above P
    turn = np.clip(np.searchsorted(table, (share // total).astype(np.int64), side="right"), at, end)
    # Σ |Q_i − P_i| over the run, times size and total: before `turn`, and from it on
    over = (turn - at) * share - total * (until[turn] - until[at])
    under = total * (until[end] - until[turn]) - (end - turn) * share
    # ranks before the first entry, where Q is 0
    before = np.where(first, total * until[at], 0)
    moved = sum_by_class(classes, over + under + before, values.class_count)
    return moved, _denominators(values, max(m - 1, 1))


def _denominators(values: ValueCounts, times: int) -> Ints:
    """Return the denominators of the distances; positive also for a class without values, whose distance is 0."""
    size, totals = int(values.overall.sum()) * times, np.maximum(values.totals, 1)
    kind = integers(int(totals.max(initial=1)) * max(size, 1))
    return totals.astype(kind) * max(size, 1)


def _count_groups(values: ValueCounts, groups: Indices) -> ValueCounts:
    """Return the counts of groups of values instead of values, sorted by class and group."""
    size = int(groups.max(initial=0)) + 1
    keys = values.classes.astype(np.int64) * size + groups[values.values]
    # dense counting where few (class, group) cells are empty, else by sorting
    if values.class_count * size <= 4 * len(keys):
        grid = sum_counts(keys, values.counts)
        found = np.flatnonzero(grid)
        counts = grid[found]
    else:
        found, which = np.unique(keys, return_inverse=True)
        counts = sum_counts(which, values.counts)
    overall = sum_counts(groups, values.overall, size)
    return ValueCounts(found // size, found % size, counts, [None] * size, values.class_count, overall)


Heights = Callable[[Floats], Floats]


def _ordered_heights(ranks: Indices, surplus: Floats) -> Floats:
    """Return heights [class, value] of ordered values, given shares [class, value] less those of the table.

    Σ_i |S_i| over sums S of the surplus up to the i-th value is Σ_i sign(S_i) S_i; a value is in all S_i from its own
    on, so its height is the sum of their signs.
    """
    m = int(ranks.max(initial=0)) + 1
    by_rank = np.zeros((len(surplus), m))
    np.add.at(by_rank.T, ranks, surplus.T)
    # [class, rank] sign of each S_i, without the last, which is 0
    signs = np.sign(np.cumsum(by_rank, axis=1))
    signs[:, -1] = 0
    return np.cumsum(signs[:, ::-1], axis=1)[:, ::-1][:, ranks] / max(m - 1, 1)


def _hierarchical_heights(levels: Sequence[Indices], surplus: Floats) -> Floats:
    """Return heights [class, value] of values in a hierarchy, given shares [class, value] less those of the table.

    The distance is the mean over the levels of the surplus of groups that have one; a value has the share of levels at
    which it is in such a group.
    """
    rooted = len(np.unique(levels[-1])) == 1
    heights = np.zeros_like(surplus)
    for level in levels:
        groups = np.zeros((len(surplus), int(level.max(initial=0)) + 1))
        np.add.at(groups.T, level, surplus.T)
        heights += (groups > 1e-12)[:, level]
    return heights / max(len(levels) - rooted, 1)


_CUTS = 3
"""How many heights are tried; each is good for what the one before would leave of the class."""


def _removed_from_above(dense: Longs, reference: Longs, t: float, heights_of: Heights) -> Longs:
    """Return how many rows of each class [class, value] must go, by heights as `_least_removed` says."""
    p = reference / max(int(reference.sum()), 1)
    n = dense.astype(np.float64)
    removed, left = np.zeros(len(n)), n
    for _ in range(_CUTS):
        heights = heights_of(left / np.maximum(left.sum(axis=1, keepdims=True), 1e-9) - p)
        # [class, value] what a row adds to the sum, and the same from the highest value on
        each = heights - (heights @ p)[:, None] - t
        order = np.argsort(-each, axis=1)
        each, rows = np.take_along_axis(each, order, axis=1), np.take_along_axis(n, order, axis=1)
        total = (each * rows).sum(axis=1)
        # what is over once the rows before each value went, and how many of the value's own go
        over = total[:, None] - np.cumsum(each * rows, axis=1) + each * rows
        gone = np.where(each > 1e-12, np.clip(over / np.maximum(each, 1e-12), 0, rows), 0.0)
        removed = np.maximum(removed, gone.sum(axis=1))
        left = n.copy()
        np.put_along_axis(left, order, rows - gone, axis=1)
    return np.ceil(removed * (1 - 1e-9) - 1e-6).astype(np.int64)


Distance = Literal["equal", "ordered", "hierarchical"]
"""How the distance between two values is measured."""


@dataclass(frozen=True, slots=True)
class TCloseness(ReferenceModel):
    """The earth mover's distance between the values of each class and those of the whole table is at most t.

    Li, Li, Venkatasubramanian, ICDE 2007. Two values lie apart: 1 each (`equal`); by the ranks between them, of
    numbers or of the attribute's `order` (`ordered`); by the height at which its hierarchy joins them
    (`hierarchical`). Compared in whole numbers, without rounding.
    """

    name: ClassVar[str] = "t-closeness"
    family: ClassVar[str] = "Nearness to the whole table"
    sentence: ClassVar[str] = "In every class the sensitive values are spread nearly as in the whole table, within t."
    adversary: ClassVar[str] = KNOWS_FREQUENCIES
    source: ClassVar[str] = "Li, Li, Venkatasubramanian, ICDE 2007"
    closure: ClassVar[Closure] = Closure.UNION
    t: Part
    distance: Distance | None = None
    """Left out: equal, unless the values are numbers; then it must be said."""
    attribute: str | None = None
    reference: Reference = "original"
    null_is_value: bool = False

    def __post_init__(self) -> None:
        settle_shares(self, "t", zero=True)
        refuse_unless_one_of("distance", self.distance or "equal", get_args(Distance))
        self._refuse_settings()

    @property
    def needs(self) -> frozenset[Need]:
        """The original, unless equal distances are measured within a release, which shows no hierarchy or order."""
        itself = self.table_wide and self.distance in {None, "equal"}
        return frozenset() if itself else frozenset({Need.ORIGINAL})

    def _against_release(self) -> Self:
        """Return the model against the release, where a missing distance is equal even if only numbers are shown."""
        return replace(self, reference="release", distance=self.distance or "equal")

    def worst(self, counts: ClassCounts) -> int | None:
        part, whole = self._emd(self._values(counts))
        return int(np.argmax(part / whole)) if len(part) else None

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1.0, "equal", attribute),) if attribute is not None else ()

    def _close(self, values: ValueCounts) -> Flags:
        part, whole = self._emd(values)
        return is_within_limit(part, whole, exact_share("t", self.t))

    def _least_removed(self, values: ValueCounts) -> Longs:
        """Return how many rows of each class must go before the rest is within t of the whole table.

        Equal distances: of M rows that are left, those that need not move are Σ min(m, p M) over the values, at most
        Σ min(n, p M), and they are at least (1 - t) M.

        Ordered and hierarchical distances: let each value have a height φ such that no two values differ in height by
        more than their distance. Then moving costs at least what it changes of the mean height, so the rest is within
        t only if Σ m (φ - Σ p φ - t) <= 0. All n rows have the sum Σ n (φ - Σ p φ - t), and each row that goes takes
        its own part of it away: fewest go if those of the highest values go first. Any heights give a true bound; those
        with which the mean height tells the distance of the class exactly give a good one.
        """
        limits = self._value_limits(values)
        if limits is not None:
            return removed_for_shares(values, limits)
        t = float(exact_share("t", self.t))
        removed = np.zeros(values.class_count, dtype=np.int64)
        far = ~self._close(values)
        reference = values.overall
        for classes, dense in replace(values, reference=reference).select_classes(far).blocks():
            removed[np.flatnonzero(far)[classes]] = _removed_from_above(dense, reference, t, self._heights(values))
        return removed

    def _value_limits(self, values: ValueCounts) -> ShareLimits | None:
        if self.distance in {"ordered", "hierarchical"}:
            return None
        overall = values.overall
        share = overall / max(int(overall.sum()), 1)
        return ShareLimits(self._counted(values), share, share=1 - float(exact_share("t", self.t)))

    def _heights(self, values: ValueCounts) -> Heights:
        """Return what gives the heights of values in each class, from how much more of each it has than the table."""
        if self.distance == "ordered":
            return partial(_ordered_heights, rank_values(values, self.attribute))
        return partial(_hierarchical_heights, values.levels)

    def _attained(self, values: ValueCounts) -> dict[str, Any]:
        found = {"t": ceiling(greatest_ratio(*self._emd(values)))}
        if self.distance == "equal" and _are_numbers(values) and not values.order:
            found["ordered"] = ceiling(greatest_ratio(*ordered_distance(values, rank_values(values, self.attribute))))
        return found

    def _emd(self, values: ValueCounts) -> Emd:
        if self.distance is None and _are_numbers(values):
            raise BadPolicy(
                f"t-closeness: the values of {self.attribute!r} are numbers; say distance = 'ordered', or 'equal' if "
                "their order means nothing"
            )
        if self.distance == "ordered":
            return ordered_distance(values, rank_values(values, self.attribute))
        if self.distance == "hierarchical":
            if not values.levels:
                raise BadPolicy(f"attributes.{self.attribute}: distance = 'hierarchical' needs its hierarchy; give one")
            return hierarchical_distance(values)
        return equal_distance(values)


def _are_numbers(values: ValueCounts) -> bool:
    return scale_to_integers(values.labels) is not None and any(label is not None for label in values.labels)


def rank_values(values: ValueCounts, attribute: str | None) -> Indices:
    """Return the rank of each value among those that occur, by the policy's order or as numbers; null comes last."""
    numbers = scale_to_integers(values.labels)
    if values.order:
        places: dict[str | None, int] = {label: i for i, label in enumerate(values.order)}
    elif numbers is not None:
        places = dict(zip(values.labels, numbers[0], strict=True))
    else:
        raise BadPolicy(
            f"attributes.{attribute}: distance = 'ordered' needs plain numbers, or the order of its values; give "
            "order = [...]"
        )
    places[None] = max((place for label, place in places.items() if label is not None), default=0) + 1
    occurs = values.overall > 0
    occurs[values.values] = True
    occurring = [values.labels[i] for i in np.flatnonzero(occurs).tolist()]
    missing = sum(label not in places for label in occurring)
    if missing:
        raise BadPolicy(f"attributes.{attribute}: its order lacks {missing} of its values; add them")
    ranks = np.zeros(len(values.labels), dtype=np.int64)
    kind = integers(max(map(abs, places.values())))
    ranks[occurs] = np.unique(np.array([places[label] for label in occurring], kind), return_inverse=True)[1]
    return ranks
