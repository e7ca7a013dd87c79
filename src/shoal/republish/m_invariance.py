"""m-invariance: in every release a person stands among the same sensitive values (Xiao and Tao, SIGMOD 2007)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.attacks.composition_over_time import Candidates
from shoal.data.class_counts import Flags, Longs
from shoal.data.codes import Codes, numbered
from shoal.data.packed_keys import Long
from shoal.errors import Infeasible
from shoal.models.model import exact
from shoal.partition.axes import Floats, hierarchy_axis
from shoal.plan import Added
from shoal.republish.context import NextRelease, RepublishContext
from shoal.republish.history import History, labels, lowest, typed


def split(bucket: Codes, value: Codes, places: Sequence[Floats]) -> Codes:
    """Group of each row: buckets, in which every value has equally many rows, are split until each value has one.

    All parts are cut at once: each along the attribute in which it is widest, and every value at its own median.
    Xiao and Tao: m-invariance: towards privacy preserving re-publication of dynamic datasets. SIGMOD 2007.

    >>> split(np.zeros(4, np.int32), np.array([0, 1, 0, 1]), [np.array([0.1, 0.8, 0.9, 0.2])]).tolist()
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
        along = _widest(here, [place[rows] for place in places])
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
    """[part] number of rows that each value of a part has; all its values have equally many."""
    pairs, counts = np.unique(part * (int(value.max()) + 1) + value, return_counts=True)
    each = np.zeros(int(part.max()) + 1, dtype=np.int64)
    each[pairs // (int(value.max()) + 1)] = counts
    return each


def _widest(part: Longs, places: Sequence[Floats]) -> Longs:
    """[part] attribute in which the rows of a part lie farthest apart."""
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
        """Number of a signature; a new one is added to the list."""
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
        """counts[signature, value]: how many of some rows have both."""
        at = self.signature[rows].astype(np.int64) * self.size + self.value[rows]
        return np.bincount(at, minlength=len(self.signatures) * self.size).reshape(-1, self.size)

    def lacking(self, rows: Flags) -> Longs:
        """lacking[signature, value]: how many rows fewer a value has than the most frequent one of its signature."""
        counts = self.counts(rows)
        return np.where(self.member, counts.max(axis=1, initial=0, keepdims=True) - counts, 0)

    def other_signature(self, value: int, apart: Signature = ()) -> int | None:
        """Number of a signature that has the value and none of `apart`; None where there are too few values.

        It is the most used one, or else a new one of the most frequent values.
        """
        used = np.bincount(self.signature[self.signature >= 0], minlength=len(self.signatures))
        known = [n for n, each in enumerate(self.signatures) if value in each and not {*each} & {*apart}]
        if known:
            return max(known, key=lambda number: (int(used[number]), -number))
        often = np.argsort(-np.bincount(self.value, minlength=self.size), kind="stable")
        others = [code for code in often.tolist() if code != value and code not in apart][: self.m - 1]
        return self.number(tuple(sorted([value, *others]))) if len(others) == self.m - 1 else None


@dataclass(frozen=True)
class Invariant:
    """The groups of one release, and the rows that were added to it."""

    group: Codes
    """Group of each row; -1 where it is left out."""
    signature: Codes
    signatures: list[Signature]
    counterfeits: tuple[Codes, Codes]
    """The group and the value of every row that shows nobody."""


def invariant(
    value: Codes,
    signature: Codes,
    signatures: Sequence[Signature],
    group: Codes,
    m: int,
    size: int,
    places: Sequence[Floats],
    seed: int = 0,
) -> Invariant:
    """Form the groups of the next release, given the signature and the last group of each row, -1 where it has none.

    >>> none = np.full(4, -1, np.int32)
    >>> first = invariant(np.array([0, 1, 1, 0]), none, [], none, 2, 2, [np.array([0.0, 1.0, 0.1, 0.9])])
    >>> first.group.tolist(), first.signatures
    ([0, 1, 0, 1], [(0, 1)])
    """
    rng = np.random.default_rng([seed, 3])
    buckets = Buckets(value, signature.copy(), list(signatures), m, size)
    there = np.flatnonzero(signature >= 0)
    # [row] its value is still one of its signature
    keeps = np.zeros(len(value), dtype=bool)
    keeps[there] = buckets.member[signature[there], value[there]] if len(there) else False
    whole = _whole(group, keeps, buckets)
    _give_changed(buckets, np.flatnonzero((signature >= 0) & ~keeps))
    new = (signature < 0) & (buckets.signature < 0)
    _balance(buckets, np.flatnonzero(new), ~whole & (buckets.signature >= 0), rng)
    _assign(buckets, np.flatnonzero(new & (buckets.signature < 0)), rng)
    return _partition(buckets, group, whole, places, rng)


def _whole(group: Codes, keeps: Flags, buckets: Buckets) -> Flags:
    """Division: flag the rows of groups in which every value of the signature still has its row; these groups stay."""
    flags = keeps & (group >= 0)
    if not flags.any():
        return flags
    # [group] number of people, and of distinct values; [kept row] number of values of its signature
    people = np.bincount(group[flags], minlength=int(group.max()) + 1)
    values = Long.count(group[flags], buckets.value[flags], buckets.size).distinct(len(people))
    length = np.array([len(each) for each in buckets.signatures])[buckets.signature[flags]]
    flags[flags] = (people[group[flags]] == length) & (values[group[flags]] == length)
    return flags


def _give_changed(buckets: Buckets, rows: NDArray[np.intp]) -> None:
    """Give rows whose value left their signature another one that shares no value with it, and so tells no more."""
    chosen: dict[tuple[int, int], int | None] = {}
    for row in rows.tolist():
        old, value = int(buckets.signature[row]), int(buckets.value[row])
        if (old, value) not in chosen:
            chosen[old, value] = buckets.other_signature(value, buckets.signatures[old])
        given = chosen[old, value]
        buckets.signature[row] = -2 if given is None else given


def _balance(buckets: Buckets, new: NDArray[np.intp], rows: Flags, rng: np.random.Generator) -> None:
    """Balancing: give new rows the places that signatures lack for their value."""
    lacking = buckets.lacking(rows)
    for value in np.flatnonzero(lacking.any(axis=0)).tolist():
        supply = rng.permutation(new[buckets.value[new] == value])
        wanted = np.repeat(np.arange(len(lacking)), lacking[:, value])[: len(supply)]
        buckets.signature[supply[: len(wanted)]] = wanted


def _assign(buckets: Buckets, new: NDArray[np.intp], rng: np.random.Generator) -> None:
    """Assignment: give m new rows of different values at a time a signature; rows left over join one, or are alone."""
    if not len(new):
        return
    if buckets.size < buckets.m:
        raise Infeasible(f"m-invariance: {buckets.size} sensitive value(s) occur, and m = {buckets.m} are needed")
    counts = np.bincount(buckets.value[new], minlength=buckets.size)
    taken, groups = _most(counts, buckets.m)
    shuffled = rng.permutation(new)
    shuffled = shuffled[np.argsort(buckets.value[shuffled], kind="stable")]
    # [row, sorted by value] rank within its value, which tells whether the row goes into a group of m
    within = np.arange(len(new)) - np.repeat(np.cumsum(counts) - counts, counts)
    first = within < np.repeat(taken, counts)
    # value after value in one line, cut into m pieces: no value has more rows than a piece, so none meets itself
    rows = shuffled[first].reshape(buckets.m, groups).T
    sets, which = np.unique(buckets.value[rows], axis=0, return_inverse=True)
    numbers = np.array([buckets.number(tuple(each)) for each in sets.tolist()], dtype=np.int32)
    buckets.signature[rows] = numbers[which.ravel()][:, None] if groups else 0
    _join(buckets, rows, shuffled[~first])


def _most(counts: Longs, m: int) -> tuple[Longs, int]:
    """Rows of each value that go into groups of m different values, and the number of groups: as many as can be.

    >>> _most(np.array([5, 2, 2]), 2)
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


def _join(buckets: Buckets, rows: NDArray[np.intp], left: NDArray[np.intp]) -> None:
    """Let rows left over join new groups that lack their value, one to a group; others stand beside counterfeits."""
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
            alone = buckets.other_signature(value)
            assert alone is not None, "there are m values"
            buckets.signature[these[len(lack) :]] = alone


def _partition(
    buckets: Buckets, group: Codes, whole: Flags, places: Sequence[Floats], rng: np.random.Generator
) -> Invariant:
    """Partition: fill what buckets still lack with counterfeits, rows that show nobody, and group neighbours."""
    rows = np.flatnonzero(~whole & (buckets.signature >= 0))
    lacking = buckets.lacking(~whole & (buckets.signature >= 0))
    # [counterfeit] its signature, its value, and the row whose place along the attributes it takes
    pairs = np.argwhere(lacking)
    home = np.repeat(pairs[:, 0], lacking[lacking > 0]).astype(np.int32)
    shown = np.repeat(pairs[:, 1], lacking[lacking > 0]).astype(np.int32)
    beside = _somebody(buckets, rows, home, shown, rng)
    out = np.full(len(group), -1, dtype=np.int32)
    kept, out[whole] = numbered(group[whole])
    counterfeits = (np.zeros(0, np.int32), np.zeros(0, np.int32))
    if len(rows):
        both = np.concatenate([rows, beside])
        part = split(
            np.concatenate([buckets.signature[rows], home]),
            np.concatenate([buckets.value[rows], shown]),
            [place[both] for place in places],
        )
        out[rows] = len(kept) + part[: len(rows)]
        counterfeits = ((len(kept) + part[len(rows) :]).astype(np.int32), shown)
    return Invariant(out, np.maximum(buckets.signature, -1), buckets.signatures, counterfeits)


def _somebody(
    buckets: Buckets, rows: NDArray[np.intp], home: Codes, shown: Codes, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Row of its bucket that each counterfeit is put beside: a different one for each counterfeit of a value."""
    counts = buckets.counts(np.isin(np.arange(len(buckets.value)), rows))
    # [bucket] its most frequent value: it has people enough for the counterfeits of any other
    full = counts.argmax(axis=1)
    beside = np.zeros(len(home), dtype=np.intp)
    for bucket in np.unique(home).tolist():
        people = rows[(buckets.signature[rows] == bucket) & (buckets.value[rows] == full[bucket])]
        for value in np.unique(shown[home == bucket]).tolist():
            here = np.flatnonzero((home == bucket) & (shown == value))
            beside[here] = rng.permutation(people)[: len(here)]
    return beside


def grow_invariant(context: RepublishContext, out: Flags) -> NextRelease:
    """Plan a release by division, balancing, assignment and partition of rows with a known value that are not `out`."""
    how, (name,) = context.policy.republish, context.sensitive
    assert how is not None
    assert how.m is not None
    column, history, line = context.table[name], context.history, context.matched.line
    known = history.signatures or Candidates.none(labels(column), len(history))
    known = known.among(labels(column))
    signatures = [tuple(np.flatnonzero(each).tolist()) for each in known.flags()]
    rows = np.flatnonzero(~out & (column.codes != (-1 if column.null_code is None else column.null_code)))
    of, last = np.append(known.of, -1)[line[rows]], np.append(np.where(history.shown, history.group, -1), -1)
    found = invariant(
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
    if len(groups) > exact("counterfeits", how.counterfeits) * (len(rows) + len(groups)):
        raise Infeasible(
            f"m-invariance needs {len(groups):,} rows that show nobody beside {len(rows):,} that do, and "
            f"counterfeits = {how.counterfeits!r}; raise it, ask for a smaller m, or wait for rows of other values"
        )
    part = np.full(context.table.rows, -1, dtype=np.int32)
    part[rows] = found.group
    shown = np.flatnonzero(part >= 0)
    parts = int(part.max(initial=-1)) + 1
    # [part] its first row
    first = np.zeros(parts, dtype=np.int64)
    first[part[shown][::-1]] = shown[::-1]
    # a row that shows nobody must not leave one person's own values as the label: a neighbour's lie under it too
    beside = np.unique(groups)
    every = np.append(shown, _neighbours(context)[first[beside]]) if len(beside) else shown
    together = np.append(part[shown], beside)
    levels = lowest(together, parts, [codes[every] for codes in context.codes], context.hierarchies)
    added = Added(name, first[groups], values) if len(groups) else None
    return NextRelease(part, levels, *_history(context, part, known, rows, found), added=added)


def _places(context: RepublishContext) -> list[Floats]:
    """Place of every row along each quasi-identifier, from 0 to 1."""
    axes = [hierarchy_axis(hierarchy) for hierarchy in context.hierarchies]
    return [axis.positions[codes] / max(axis.size - 1, 1) for axis, codes in zip(axes, context.codes, strict=True)]


def _neighbours(context: RepublishContext) -> NDArray[np.int64]:
    """Row that follows each one in the order of the quasi-identifiers; the first follows the last."""
    order = np.lexsort(_places(context)[::-1])
    after = np.empty(len(order), dtype=np.int64)
    after[order] = np.roll(order, -1)
    return after


def _history(
    context: RepublishContext, part: Codes, known: Candidates, rows: NDArray[np.intp], found: Invariant
) -> tuple[History, NDArray[np.int64]]:
    """History after this release, with one line for everybody, and the row that shows each line; -1 where none does."""
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
    kept = np.append(known.of, np.full(len(new), -1, np.int32))
    signatures = replace(
        known, sets=np.packbits(flags, axis=1), of=np.where(row >= 0, signature[row], kept).astype(np.int32)
    ).packed()
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
            values={name: typed(context.table[name], np.where(row >= 0, context.table[name].codes[row], value))},
            domains={name: context.table[name].values},
            candidates={name: history.candidates[name].among(labels(context.table[name])).joined_by(len(new))},
            signatures=signatures,
        ),
        row,
    )
