"""Who left is hidden among others who are left out with them (a deleted row betrays itself by its absence)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Codes
from shoal.counts import Flags

Judge = Callable[[NDArray[np.intp], Codes, int], Flags]
"""Which groups comply: given some lines, the group of each, and the number of groups."""


def company(group: Codes, gone: Flags, value: Codes, judge: Judge, most: int, seed: int = 0) -> Flags:
    """Which of those who stayed are left out, so that all who are no longer shown comply, and all who still are.

    Whoever has the earlier release subtracts the later one from it, and merging classes does not help: what the other
    class held is known. So of each group as few as will do, by values that nobody left out has yet, then at random;
    where `most` will not do, the whole group, of which nothing new is told then.
    """
    groups = int(group.max(initial=-1)) + 1
    rank = _ranks(group, gone, value, np.random.default_rng([seed, 2]))
    out, open_ = ~gone, np.ones(groups, dtype=bool)
    for more in range(most + 1):
        lines = np.flatnonzero(open_[group])
        if not len(lines):
            break
        hidden = gone | (rank < more)
        halves, at = np.unique(2 * group[lines].astype(np.int64) + hidden[lines], return_inverse=True)
        fine = np.zeros(2 * groups, dtype=bool)
        fine[halves] = judge(lines, at.ravel().astype(np.int32), len(halves))
        done = open_ & fine[::2] & fine[1::2]
        here = done[group]
        out[here] = (hidden & ~gone)[here]
        open_ &= ~done
    return out


def _ranks(group: Codes, gone: Flags, value: Codes, rng: np.random.Generator) -> NDArray[np.int64]:
    """In which order those who stayed would be left out; who left is before them all."""
    random = rng.permutation(len(group))
    nth = _nth(np.lexsort((random, ~gone, value, group)), group, value)
    order = np.lexsort((random, nth, ~gone, group))
    place = _nth(order, group, np.zeros_like(value))
    return np.where(gone, -1, place - np.bincount(group, weights=gone).astype(np.int64)[group])


def _nth(order: NDArray[np.intp], group: Codes, value: Codes) -> NDArray[np.int64]:
    """The how manieth of its group and value each line is, in this order."""
    one, other = group[order], value[order]
    begins = np.flatnonzero(np.append(True, (np.diff(one) != 0) | (np.diff(other) != 0)))
    nth = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    out = np.empty(len(order), dtype=np.int64)
    out[order] = nth
    return out
