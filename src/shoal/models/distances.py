"""How far the sensitive values of each class lie from those of the whole table: earth mover's distances.

Li, Li, Venkatasubramanian, ICDE 2007.
"""

import numpy as np

from shoal.counts import Indices, ValueCounts
from shoal.models.reference import Ints, integers, ratios, sums

Emd = tuple[Ints, Ints]
"""A distance per class, as two whole numbers: part and whole."""


def equal(values: ValueCounts) -> Emd:
    """Σ max(q − p, 0): what a class has too much must go, and it is all the same where to.

    >>> part, whole = equal(ValueCounts(np.array([0, 1]), np.array([0, 1]), np.array([1, 1]), ["a", "b"], 2))
    >>> (part / whole).tolist()
    [0.5, 0.5]
    """
    overall = values.overall
    largest = int(values.totals.max(initial=0)) * int(overall.sum())
    here, there = ratios(values, overall)
    # Only a value that occurs in the class can have too much, so the entries are enough.
    return sums(values.classes, np.maximum(here - there, 0), values.class_count, largest), _wholes(values, 1)


def hierarchical(values: ValueCounts) -> Emd:
    """The mean over the levels below the root of the equal distance between the groups of that level.

    Li et al.'s sum over the inner nodes N of height(N)/H · min(surplus, lack of its children) is the same: of all
    children together min(surplus, lack) is the equal distance at their level less that at N's, and the sum telescopes.
    """
    overall = values.overall
    rooted = len(np.unique(values.levels[-1])) == 1
    height = max(len(values.levels) - rooted, 1)  # a tree without a root gets one on top
    kind = integers(int(values.totals.max(initial=0)) * int(overall.sum()) * height)
    part: Ints = equal(values)[0].astype(kind)
    for level in values.levels[1:]:
        part = part + equal(_at_level(values, level))[0]
    return part, _wholes(values, height)


def ordered(values: ValueCounts, ranks: Indices) -> Emd:
    """1/(m−1) Σ_i |Q_i − P_i| of the shares Q, P of all values up to the i-th.

    Q only changes at values that occur in the class. In the run of ranks from one of them to the next, P passes Q
    once, and prefix sums of P give the two halves: the work is that of the entries, not of classes × values.
    """
    m = int(ranks.max(initial=0)) + 1
    merged = _at_level(values, ranks)
    classes, at, counts, totals = merged.classes, merged.values, merged.counts, merged.totals
    table = np.cumsum(merged.overall)  # P_i times the size of the table
    size = int(table[-1]) if len(table) else 0
    kind = integers(largest := int(totals.max(initial=0)) * size * m)
    until = np.concatenate([[0], np.cumsum(table)]).astype(kind)

    first = np.concatenate([[True], classes[1:] != classes[:-1]])[: len(classes)]
    running = np.cumsum(counts)
    running -= (running - counts)[first][np.cumsum(first) - 1]
    end = np.where(np.append(first[1:], True)[: len(first)], m, np.append(at[1:], m)[: len(at)])
    share, total = running.astype(kind) * size, totals[classes].astype(kind)
    turn = np.clip(np.searchsorted(table, (share // total).astype(np.int64), side="right"), at, end)
    over = (turn - at) * share - total * (until[turn] - until[at])
    under = total * (until[end] - until[turn]) - (end - turn) * share
    before = np.where(first, total * until[at], 0)
    return sums(classes, over + under + before, values.class_count, largest), _wholes(values, max(m - 1, 1))


def _wholes(values: ValueCounts, times: int) -> Ints:
    """What the parts are parts of; 1 for a class without values, which is as close as can be."""
    size, totals = int(values.overall.sum()) * times, np.maximum(values.totals, 1)
    kind = integers(int(totals.max(initial=1)) * max(size, 1))
    return totals.astype(kind) * max(size, 1)


def _at_level(values: ValueCounts, groups: Indices) -> ValueCounts:
    """The same counts of groups of values, sorted by class and group."""
    size = int(groups.max(initial=0)) + 1
    keys = values.classes.astype(np.int64) * size + groups[values.values]
    if values.class_count * size <= 4 * len(keys):
        grid = np.bincount(keys, values.counts, minlength=values.class_count * size)
        found = np.flatnonzero(grid)
        counts = grid[found].astype(np.int64)
    else:
        found, which = np.unique(keys, return_inverse=True)
        counts = np.bincount(which, values.counts).astype(np.int64)
    overall = np.bincount(groups, values.overall, minlength=size).astype(np.int64)
    return ValueCounts(found // size, found % size, counts, [None] * size, values.class_count, overall)
