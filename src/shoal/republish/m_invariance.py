"""m-invariance: in every release a person stands among the same sensitive values (Xiao and Tao, SIGMOD 2007).

Groups that look alike are one class, since no column of groups is published. They must have the same signature, or
else values that both have become likelier than 1/m: `keep_signatures_apart` sees to that. Then nobody who has all
releases, and knows who is in which class of each, believes more of anybody than 1/m.

Proof: let S be a person's signature, and v and w values of it. A world gives everybody a value such that each class
holds what it shows; rows that show nobody are in it like people, and who has another value now is somebody else from
then on. Take a world, and exchange v and w in all classes of all releases whose values are those of S. Each of them
has equally many rows of v and of w, since it is made of groups that have one row of each: it still holds what it
shows. The people in it are in classes of S in all releases, by invariance and because no class mixes signatures:
everybody still has one value. So the result is a world, and exchanging again gives back the first: there are as many
worlds in which the person has v as w. Each value of S has a share of 1/|S|, and |S| ≥ m. Where the attacker does not
know the classes, but that signatures stay, that holds for each guess of who is in which class.
"""

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.attacks.composition_over_time import Candidates, SeenClasses
from shoal.data.class_counts import Flags, Longs
from shoal.data.codes import Codes, renumber
from shoal.data.packed_keys import LongCounts
from shoal.errors import Infeasible
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.models.model import exact_share
from shoal.partition.axes import Floats, hierarchy_axis
from shoal.plan import AddedRows
from shoal.republish.context import NextRelease, RepublishContext
from shoal.republish.history import History, Levels, find_lowest_levels, labels_of_codes, values_of_codes


def split_buckets(bucket: Codes, value: Codes, places: Sequence[Floats]) -> Codes:
    """Return the group of each row: buckets are split until each value of a group has one row.

    In a bucket every value has equally many rows. All parts are cut at once, each along the attribute in which it is
    widest, and every value at its own median.
    Xiao and Tao: m-invariance: towards privacy preserving re-publication of dynamic datasets. SIGMOD 2007.

    >>> split_buckets(np.zeros(4, np.int32), np.array([0, 1, 0, 1]), [np.array([0.1, 0.8, 0.9, 0.2])]).tolist()
    [0, 1, 1, 0]
    """
    _, part = np.unique(bucket, return_inverse=True)
    part = part.ravel()
    while True:
        # [part] how many rows each of its values has; the rows of parts that are not groups yet
        each = _rows_of_a_value(part, value)
        rows = np.flatnonzero(each[part] > 1)
        if not len(rows):
            return part.astype(np.int32)
        _, here = np.unique(part[rows], return_inverse=True)
        # [row] its place along the attribute in which its part is widest
        along = _find_widest(here, [place[rows] for place in places])
        place = np.stack([place[rows] for place in places])[along[here], np.arange(len(rows))]
        order = np.lexsort((place, value[rows], here))
        # [row] rank within (part, value) along that attribute
        begins = np.flatnonzero(np.append(True, (np.diff(here[order]) != 0) | (np.diff(value[rows][order]) != 0)))
        nth = np.empty(len(rows), dtype=np.int64)
        nth[order] = np.arange(len(rows)) - np.repeat(begins, np.diff(np.append(begins, len(rows))))
        # the lower half of each value becomes part 2p, the upper half 2p + 1
        part = 2 * part
        part[rows] += nth >= each[part[rows] // 2] // 2
        part = np.unique(part, return_inverse=True)[1].ravel()


def _rows_of_a_value(part: Longs, value: Codes) -> Longs:
    """Return, for each part, the number of rows that each of its values has; all have equally many."""
    pairs, counts = np.unique(part * (int(value.max()) + 1) + value, return_counts=True)
    each = np.zeros(int(part.max()) + 1, dtype=np.int64)
    each[pairs // (int(value.max()) + 1)] = counts
    return each


def _find_widest(part: Longs, places: Sequence[Floats]) -> Longs:
    """Return, for each part, the attribute in which its rows lie farthest apart."""
    parts = int(part.max()) + 1
    widths = np.zeros((len(places), parts))
    for i, place in enumerate(places):
        low, high = np.full(parts, np.inf), np.full(parts, -np.inf)
        np.minimum.at(low, part, place)
        np.maximum.at(high, part, place)
        widths[i] = high - low
    return np.asarray(widths.argmax(axis=0), dtype=np.int64)


Signature = tuple[int, ...]


@dataclass
class Buckets:
    """Rows by the signature that they keep or get; filled step by step."""

    value: Codes
    signature: Codes
    """Signature of each row; -1 where it has none yet, -2 where none can be given."""
    signatures: list[Signature]
    m: int
    size: int
    """How many sensitive values there are."""

    def number(self, signature: Signature) -> int:
        """Return the number of a signature; add a new one to the list."""
        if signature not in self.signatures:
            self.signatures.append(signature)
        return self.signatures.index(signature)

    @property
    def member(self) -> Flags:
        """member[signature, value]: whether the signature has the value."""
        flags = np.zeros((len(self.signatures), self.size), dtype=bool)
        for number, values in enumerate(self.signatures):
            flags[number, list(values)] = True
        return flags

    def counts(self, rows: Flags) -> Longs:
        """Return counts[signature, value] over some rows."""
        at = self.signature[rows].astype(np.int64) * self.size + self.value[rows]
        return np.bincount(at, minlength=len(self.signatures) * self.size).reshape(-1, self.size)

    def count_lacking(self, rows: Flags) -> Longs:
        """Return lacking[signature, value]: how many rows fewer than the most frequent value of the signature."""
        counts = self.counts(rows)
        return np.where(self.member, counts.max(axis=1, initial=0, keepdims=True) - counts, 0)

    def find_signature(self, value: int, apart: Signature = ()) -> int | None:
        """Return the number of a signature with the value and none of `apart`; None where there are too few values.

        It is the most used of such signatures, or else a new one of the most frequent values.
        """
        used = np.bincount(self.signature[self.signature >= 0], minlength=len(self.signatures))
        known = [n for n, each in enumerate(self.signatures) if value in each and not {*each} & {*apart}]
        if known:
            return max(known, key=lambda number: (int(used[number]), -number))
        often = np.argsort(-np.bincount(self.value, minlength=self.size), kind="stable")
        others = [code for code in often.tolist() if code != value and code not in apart][: self.m - 1]
        return self.number(tuple(sorted([value, *others]))) if len(others) == self.m - 1 else None


@dataclass(frozen=True)
class InvariantGroups:
    """The groups of one release, and the rows that were added to it."""

    group: Codes
    """Group of each row; -1 where it is left out."""
    signature: Codes
    signatures: list[Signature]
    counterfeits: tuple[Codes, Codes]
    """The group and the value of every row that shows nobody."""


def form_groups(
    value: Codes,
    signature: Codes,
    signatures: Sequence[Signature],
    group: Codes,
    m: int,
    size: int,
    places: Sequence[Floats],
    seed: int = 0,
) -> InvariantGroups:
    """Form the groups of the next release, given each row's signature and last group, -1 where it has none.

    >>> none = np.full(4, -1, np.int32)
    >>> first = form_groups(np.array([0, 1, 1, 0]), none, [], none, 2, 2, [np.array([0.0, 1.0, 0.1, 0.9])])
    >>> first.group.tolist(), first.signatures
    ([0, 1, 0, 1], [(0, 1)])
    """
    rng = np.random.default_rng([seed, 3])
    buckets = Buckets(value, signature.copy(), list(signatures), m, size)
    there = np.flatnonzero(signature >= 0)
    # [row] its value is still one of its signature
    keeps = np.zeros(len(value), dtype=bool)
    keeps[there] = buckets.member[signature[there], value[there]] if len(there) else False
    whole = _flag_whole_groups(group, keeps, buckets)
    _reassign_changed(buckets, np.flatnonzero((signature >= 0) & ~keeps))
    new = (signature < 0) & (buckets.signature < 0)
    _balance(buckets, np.flatnonzero(new), ~whole & (buckets.signature >= 0), rng)
    _assign(buckets, np.flatnonzero(new & (buckets.signature < 0)), np.sum(places, axis=0), rng)
    return _partition(buckets, group, whole, places, rng)


def _flag_whole_groups(group: Codes, keeps: Flags, buckets: Buckets) -> Flags:
    """Division: flag the rows of groups that stay, since each value of the signature still has its row."""
    flags = keeps & (group >= 0)
    if not flags.any():
        return flags
    # [group] number of people, and of distinct values; [kept row] number of values of its signature
    people = np.bincount(group[flags], minlength=int(group.max()) + 1)
    values = LongCounts.count(group[flags], buckets.value[flags], buckets.size).count_distinct(len(people))
    length = np.array([len(each) for each in buckets.signatures])[buckets.signature[flags]]
    flags[flags] = (people[group[flags]] == length) & (values[group[flags]] == length)
    return flags


def _reassign_changed(buckets: Buckets, rows: NDArray[np.intp]) -> None:
    """Give each row whose value is no longer in its signature another one, which shares no value with the old one.

    So the two together narrow nothing down. Rows for which there is none get -2.
    """
    chosen: dict[tuple[int, int], int | None] = {}
    for row in rows.tolist():
        old, value = int(buckets.signature[row]), int(buckets.value[row])
        if (old, value) not in chosen:
            chosen[old, value] = buckets.find_signature(value, buckets.signatures[old])
        given = chosen[old, value]
        buckets.signature[row] = -2 if given is None else given


def _balance(buckets: Buckets, new: NDArray[np.intp], rows: Flags, rng: np.random.Generator) -> None:
    """Balancing: give new rows the signatures in which their value is lacking."""
    lacking = buckets.count_lacking(rows)
    for value in np.flatnonzero(lacking.any(axis=0)).tolist():
        supply = rng.permutation(new[buckets.value[new] == value])
        wanted = np.repeat(np.arange(len(lacking)), lacking[:, value])[: len(supply)]
        buckets.signature[supply[: len(wanted)]] = wanted


def _assign(buckets: Buckets, new: NDArray[np.intp], place: Floats, rng: np.random.Generator) -> None:
    """Assignment: give m new rows of different values at a time a signature; then place the rows left over."""
    if not len(new):
        return
    if buckets.size < buckets.m:
        raise Infeasible(f"m-invariance: {buckets.size} sensitive value(s) occur, and m = {buckets.m} are needed")
    counts = np.bincount(buckets.value[new], minlength=buckets.size)
    taken, groups = _fill_most_groups(counts, buckets.m)
    shuffled = rng.permutation(new)
    shuffled = shuffled[np.argsort(buckets.value[shuffled], kind="stable")]
    # [value] where its rows begin among those sorted by value, and how many of them are in groups already
    begins, used = np.cumsum(counts) - counts, np.zeros_like(counts)
    pieces = []
    # [value] where its rows lie, on average: of values with equally many rows, neighbours are taken together
    near = np.bincount(buckets.value[new], place[new], minlength=buckets.size) / np.maximum(counts, 1)
    for signature, many in _choose_signatures(taken, near, groups, buckets.m, buckets.signatures):
        # [group, member] one row of each value
        rows = np.stack([shuffled[begins[v] + used[v] : begins[v] + used[v] + many] for v in signature], axis=1)
        used[list(signature)] += many
        buckets.signature[rows] = buckets.number(signature)
        pieces.append(rows)
    first = np.arange(len(new)) - np.repeat(begins, counts) < np.repeat(taken, counts)
    rows = np.concatenate(pieces) if pieces else np.zeros((0, buckets.m), dtype=np.intp)
    _place_leftovers(buckets, rows, shuffled[~first])


def _fill_most_groups(counts: Longs, m: int) -> tuple[Longs, int]:
    """Return how many rows of each value go into groups of m different values, and the greatest number of groups.

    >>> _fill_most_groups(np.array([5, 2, 2]), 2)
    (array([4, 2, 2]), 4)
    """
    # binary search: g groups can be filled if the values, with at most g rows each, have m * g rows together
    groups, above = 0, int(counts.sum()) // m + 1
    while above - groups > 1:
        middle = (groups + above) // 2
        groups, above = (middle, above) if np.minimum(counts, middle).sum() >= m * middle else (groups, middle)
    taken = np.minimum(counts, groups)
    over = int(taken.sum()) - m * groups
    for value in np.argsort(-counts, kind="stable").tolist():
        less = min(over, int(taken[value]))
        taken[value] -= less
        over -= less
    return taken, groups


def _choose_signatures(
    counts: Longs, near: Floats, groups: int, m: int, known: Sequence[Signature]
) -> Iterator[tuple[Signature, int]]:
    """Yield signatures of m values and how many groups each gets, few different ones: known ones first.

    The counts of all values are m * groups together, and none is above groups. A signature gets as many groups as leave
    the others able to fill the rest: no value may have more rows than groups are left.

    >>> list(_choose_signatures(np.array([4, 2, 2]), np.zeros(3), 4, 2, []))
    [((0, 1), 2), ((0, 2), 2)]
    """
    left = counts.copy()
    usual = [each for each in known if len(each) == m]
    while groups:
        often = tuple(sorted(np.lexsort((near, -left))[:m].tolist()))
        rooms = [(_most_groups_of(each, left, groups), each) for each in usual]
        many, chosen = max(rooms, key=lambda one: one[0], default=(0, often))
        if many < 1:
            many, chosen = _most_groups_of(often, left, groups), often
        yield chosen, many
        left[list(chosen)] -= many
        groups -= many


def _most_groups_of(signature: Signature, left: Longs, groups: int) -> int:
    """Return how many groups a signature can have such that no other value has more rows than groups are left."""
    others = left.copy()
    others[list(signature)] = 0
    return min(int(left[list(signature)].min()), groups - int(others.max(initial=0)))


def _place_leftovers(buckets: Buckets, rows: NDArray[np.intp], left: NDArray[np.intp]) -> None:
    """Let each row left over join a new group that lacks its value, one to a group.

    The others get a signature in which counterfeits will stand for the values that are lacking.
    """
    drawn = buckets.value[rows]
    free = np.ones(len(drawn), dtype=bool)
    for value in np.unique(buckets.value[left]).tolist():
        these = left[buckets.value[left] == value]
        lack = np.flatnonzero(free & ~(drawn == value).any(axis=1))[: len(these)]
        free[lack] = False
        for row, group in zip(these.tolist(), lack.tolist(), strict=False):
            longer = buckets.number(tuple(sorted([value, *drawn[group].tolist()])))
            buckets.signature[[row, *rows[group].tolist()]] = longer
        if len(these) > len(lack):
            alone = buckets.find_signature(value)
            assert alone is not None, "there are m values"
            buckets.signature[these[len(lack) :]] = alone


def _partition(
    buckets: Buckets, group: Codes, whole: Flags, places: Sequence[Floats], rng: np.random.Generator
) -> InvariantGroups:
    """Partition: fill what buckets still lack with counterfeits, rows that show nobody, and group near rows."""
    rows = np.flatnonzero(~whole & (buckets.signature >= 0))
    lacking = buckets.count_lacking(~whole & (buckets.signature >= 0))
    # [counterfeit] its signature, its value, and the row whose place along the attributes it takes
    pairs = np.argwhere(lacking)
    home = np.repeat(pairs[:, 0], lacking[lacking > 0]).astype(np.int32)
    shown = np.repeat(pairs[:, 1], lacking[lacking > 0]).astype(np.int32)
    beside = _choose_rows_beside(buckets, rows, home, shown, rng)
    out = np.full(len(group), -1, dtype=np.int32)
    kept, out[whole] = renumber(group[whole])
    counterfeits = (np.zeros(0, np.int32), np.zeros(0, np.int32))
    if len(rows):
        both = np.concatenate([rows, beside])
        part = split_buckets(
            np.concatenate([buckets.signature[rows], home]),
            np.concatenate([buckets.value[rows], shown]),
            [place[both] for place in places],
        )
        out[rows] = len(kept) + part[: len(rows)]
        counterfeits = ((len(kept) + part[len(rows) :]).astype(np.int32), shown)
    return InvariantGroups(out, np.maximum(buckets.signature, -1), buckets.signatures, counterfeits)


def _choose_rows_beside(
    buckets: Buckets, rows: NDArray[np.intp], home: Codes, shown: Codes, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Choose, for each counterfeit, a row of its bucket whose place it takes: a different one for each of a value."""
    counts = buckets.counts(np.isin(np.arange(len(buckets.value)), rows))
    # [bucket] its most frequent value: it has at least as many people as any value has counterfeits
    full = counts.argmax(axis=1)
    beside = np.zeros(len(home), dtype=np.intp)
    for bucket in np.unique(home).tolist():
        people = rows[(buckets.signature[rows] == bucket) & (buckets.value[rows] == full[bucket])]
        for value in np.unique(shown[home == bucket]).tolist():
            here = np.flatnonzero((home == bucket) & (shown == value))
            beside[here] = rng.permutation(people)[: len(here)]
    return beside


def grow_invariant(context: RepublishContext, out: Flags) -> NextRelease:
    """Plan a release by m-invariance, of the rows that have a sensitive value and are not `out`."""
    how, (name,) = context.policy.republish, context.sensitive
    assert how is not None
    assert how.m is not None
    column, history, line = context.table[name], context.history, context.matched.line
    known = history.signatures or Candidates.empty(labels_of_codes(column), len(history))
    known = known.with_values(labels_of_codes(column))
    signatures = [tuple(np.flatnonzero(each).tolist()) for each in known.flags()]
    rows = np.flatnonzero(~out & (column.codes != (-1 if column.null_code is None else column.null_code)))
    # [row] signature so far, -1 for none; [line] group in the last release, with one more entry for rows without a line
    of, last = np.append(known.of, -1)[line[rows]], np.append(np.where(history.shown, history.group, -1), -1)
    found = form_groups(
        column.codes[rows],
        of.astype(np.int32),
        signatures,
        last[line[rows]].astype(np.int32),
        how.m,
        len(column.values),
        [place[rows] for place in _places(context)],
        context.policy.method.seed,
    )
    groups, values = found.counterfeits
    part = np.full(context.table.rows, -1, dtype=np.int32)
    part[rows] = found.group
    shown = np.flatnonzero(part >= 0)
    parts = int(part.max(initial=-1)) + 1
    # [part] its first row, and its signature
    first, signature = np.zeros(parts, dtype=np.int64), np.zeros(parts, dtype=np.int64)
    first[part[shown][::-1]] = shown[::-1]
    signature[found.group[found.group >= 0]] = found.signature[found.group >= 0]
    # a group with a counterfeit may hold one person only: its label must also cover a neighbour's values, or else it
    # would show the person's own
    beside = np.unique(groups)
    every = np.append(shown, _neighbours(context)[first[beside]]) if len(beside) else shown
    together = np.append(part[shown], beside)
    levels = find_lowest_levels(together, parts, [codes[every] for codes in context.codes], context.hierarchies)
    sizes = np.bincount(part[shown], minlength=parts)
    at = [codes[first] for codes in context.codes]
    levels, apart = keep_signatures_apart(signature, sizes, levels, at, context.hierarchies)
    # [row] people of groups that cannot be kept apart wait for a later release, and so do the counterfeits beside them
    part[shown] = np.where(apart[part[shown]], part[shown], -1)
    groups, values = groups[apart[groups]], values[apart[groups]]
    people = int((part >= 0).sum())
    if len(groups) > exact_share("counterfeits", how.counterfeits) * (people + len(groups)):
        raise Infeasible(
            f"m-invariance needs {len(groups):,} rows that show nobody beside {people:,} that do, and "
            f"counterfeits = {how.counterfeits!r}; raise it, ask for a smaller m, or wait for rows of other values"
        )
    added = AddedRows(name, first[groups], values) if len(groups) else None
    return NextRelease(part, levels, *_history(context, part, known, rows, found), added=added)


def keep_signatures_apart(
    signature: Longs, sizes: Longs, levels: Levels, codes: Sequence[Codes], hierarchies: Sequence[Hierarchy]
) -> tuple[Levels, Flags]:
    """Return levels at which groups of different signatures look different, and flags of the groups that can have any.

    Each group, given by the code of its first row in every attribute, goes up the hierarchies to the cheapest labels
    that no group of another signature shows: those first that have the fewest labels above them, and of these the
    signature with the most rows. A group above which all labels are taken gets none.

    >>> groups, leaves = (np.array([0, 1]), np.array([0, 0])), (np.array([1, 1]), np.array([2]))
    >>> sex = Hierarchy("sex", groups, (("f", "m"), ("*",)), leaves, 2)
    >>> levels = np.array([[0], [0], [1]], np.int16)
    >>> codes = [np.array([0, 0, 0], np.int32)]
    >>> levels, apart = keep_signatures_apart(np.array([0, 1, 0]), np.array([2, 3, 2]), levels, codes, [sex])
    >>> levels.ravel().tolist(), apart.tolist()
    ([1, 0, 1], [True, True, True])
    """
    levels, apart = levels.copy(), np.ones(len(levels), dtype=bool)
    top = np.array([hierarchy.height for hierarchy in hierarchies])
    above = (top - levels + 1).astype(float).prod(axis=1)
    # rows of each signature at the labels that its groups have so far
    begin = [_labels_of(part, levels[part], codes, hierarchies) for part in range(len(levels))]
    rows: Counter[tuple[tuple[str | None, ...], int]] = Counter()
    for part, labels in enumerate(begin):
        rows[labels, int(signature[part])] += int(sizes[part])
    order = sorted(range(len(levels)), key=lambda p: (above[p], -rows[begin[p], int(signature[p])], int(signature[p])))
    taken: dict[tuple[str | None, ...], int] = {}
    for part in order:
        for upper in _climb(part, levels[part], codes, hierarchies):
            labels = _labels_of(part, upper, codes, hierarchies)
            if taken.setdefault(labels, int(signature[part])) == signature[part]:
                levels[part] = upper
                break
        else:
            apart[part] = False
    return levels, apart


def _labels_of(
    part: int, levels: Sequence[int] | NDArray[np.int16], codes: Sequence[Codes], hierarchies: Sequence[Hierarchy]
) -> tuple[str | None, ...]:
    """Return what a group shows at some levels."""
    return tuple(
        each.labels[level][each.levels[level][code[part]]]
        for each, level, code in zip(hierarchies, levels, codes, strict=True)
    )


def _climb(
    part: int, levels: NDArray[np.int16], codes: Sequence[Codes], hierarchies: Sequence[Hierarchy]
) -> Iterator[tuple[int, ...]]:
    """Yield all levels from those of a group upwards, the cheapest first by what the labels lose."""

    def loss(at: tuple[int, ...]) -> float:
        every = zip(hierarchies, at, codes, strict=True)
        return sum(float(each.losses[level][each.levels[level][code[part]]]) for each, level, code in every)

    first = tuple(levels.tolist())
    queue, seen = [(loss(first), first)], {first}
    while queue:
        _, now = heapq.heappop(queue)
        yield now
        for i, hierarchy in enumerate(hierarchies):
            upper = (*now[:i], now[i] + 1, *now[i + 1 :])
            if upper[i] <= hierarchy.height and upper not in seen:
                seen.add(upper)
                heapq.heappush(queue, (loss(upper), upper))


def _places(context: RepublishContext) -> list[Floats]:
    """Return the place of every row along each quasi-identifier, from 0 to 1."""
    axes = [hierarchy_axis(hierarchy) for hierarchy in context.hierarchies]
    return [axis.positions[codes] / max(axis.size - 1, 1) for axis, codes in zip(axes, context.codes, strict=True)]


def _neighbours(context: RepublishContext) -> NDArray[np.int64]:
    """Return the row that follows each one in the order of the quasi-identifiers; the first follows the last."""
    order = np.lexsort(_places(context)[::-1])
    after = np.empty(len(order), dtype=np.int64)
    after[order] = np.roll(order, -1)
    return after


def _history(
    context: RepublishContext, part: Codes, known: Candidates, rows: NDArray[np.intp], found: InvariantGroups
) -> tuple[History, NDArray[np.int64]]:
    """Return the history after this release, one line a person, and the row that shows each line; -1 for none."""
    history, line, (name,) = context.history, context.matched.line, context.sensitive
    new = np.flatnonzero((part >= 0) & (line < 0))
    # [line] its row, where that is shown; -1 else
    row = np.append(context.matched.row, new)
    row[row >= 0] = np.where(part[row[row >= 0]] >= 0, row[row >= 0], -1)
    signature = np.full(context.table.rows, -1, dtype=np.int32)
    signature[rows] = found.signature
    flags = np.zeros((len(found.signatures), context.table[name].size), dtype=bool)
    for number, values in enumerate(found.signatures):
        flags[number, list(values)] = True
    # [line] signature of its row in this release; where it is not shown, the one it had
    kept = np.append(known.of, np.full(len(new), -1, np.int32))
    signatures = replace(
        known, sets=np.packbits(flags, axis=1), of=np.where(row >= 0, signature[row], kept).astype(np.int32)
    ).deduplicate_sets()
    # [line] shown again, with another value than before: who has it is somebody else to the attacker
    past = context.matched.past[name].codes
    changed = np.flatnonzero((row[: len(past)] >= 0) & (context.table[name].codes[row[: len(past)]] != past))
    seen = history.seen or SeenClasses(())
    key = context.table[context.policy.key or ""]
    keys = pa.concat_arrays([history.keys, key.texts.take(pa.array(key.codes[new]))])
    value = np.append(context.matched.past[name].codes, context.table[name].codes[new])
    return (
        replace(
            history,
            releases=history.releases + 1,
            keys=keys,
            group=np.where(row >= 0, part[row], -1).astype(np.int32),
            shown=row >= 0,
            levels=np.zeros((len(keys), len(context.quasi)), dtype=np.int16),
            values={
                name: values_of_codes(context.table[name], np.where(row >= 0, context.table[name].codes[row], value))
            },
            domains={name: context.table[name].values},
            candidates={
                name: history.candidates[name].with_values(labels_of_codes(context.table[name])).add_people(len(new))
            },
            signatures=signatures,
            seen=seen.with_values(labels_of_codes(context.table[name])).forget(changed),
        ),
        row,
    )
