"""Limits on the values of a class that tell how many of its rows must go, the same for all nodes of a search.

A model that is closed under UNION may say its `least_removed` by such a limit. Then a search counts the rows in the
compiled core, without an object for each node; the functions here are the same in NumPy, and laws compare both.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import Longs, ValueCounts

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ShareLimits:
    """Limits on the share of each value in what is left of a class; see `removed_for_shares`."""

    counted: Flags
    """[value] whether it counts: null may not."""
    upper: Floats
    lower: Floats | None = None
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class EntropyLimit:
    """What is left of a class has at least this entropy in nats; a class with fewer than `fewest` values goes whole."""

    counted: Flags
    entropy: float
    fewest: int


@dataclass(frozen=True, eq=False)
class TailLimit:
    """Each value has fewer rows than over/under times those from the `rank`-th most frequent value of the class on.

    A class with fewer than `rank` values goes whole.
    """

    counted: Flags
    rank: int
    over: int
    under: int


ValueLimits = ShareLimits | EntropyLimit | TailLimit


def flag_counted(labels: Sequence[str | None], *, null: bool) -> Flags:
    """Flag the values that count: all but null, unless null is a value, too.

    >>> flag_counted(["flu", None], null=False).tolist()
    [True, False]
    """
    return np.array([null or label is not None for label in labels], dtype=bool)


def removed_for_shares(values: ValueCounts, limits: ShareLimits) -> Longs:
    """Return how many rows of each class must go before the rest keeps limits on shares, given per value.

    If M rows are left and n of a value there were, at most min(n, upper M) of it count, and at least lower M must be
    left of it: M <= n / lower. Those that count are at least `share` of M, so Σ min(n, upper M) >= share M. Both sides
    are 0 at M = 0 and the left one is concave, so this holds up to a greatest M and never above: all rows but that many
    go at least.

    Where the share is 1, all rows count, and rows are whole: M <= Σ min(n, ⌊upper M⌋). The right side grows with M, so
    no M that is too large becomes feasible by lowering it to what it leaves; this is repeated until nothing changes.

    >>> values = ValueCounts(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([5, 1, 3]), ["flu", "hiv"], 2)
    >>> removed_for_shares(values, ShareLimits(np.array([True, True]), np.array([0.5, 1.0]))).tolist()
    [4, 0]
    """
    removed = np.zeros(values.class_count, dtype=np.int64)
    for classes, dense in values.blocks():
        rows = dense.astype(np.float64)
        total = rows.sum(axis=1)
        most = total.copy()
        if limits.lower is not None:
            bounded = limits.lower > 0
            fits = (rows[:, bounded] / limits.lower[bounded]).min(axis=1, initial=np.inf)
            most = np.minimum(most, round_down_rows(fits))
        _lower_to_fit(rows, most, limits.upper, limits.share)
        most = np.minimum(round_down_rows(most), total)
        if limits.share == 1:
            _lower_to_whole(rows, most, limits.upper)
        removed[classes] = total - most
    return removed


def _lower_to_fit(rows: Floats, most: Floats, upper: Floats, share: float) -> None:
    """Lower `most`, the rows M that are left of each class, until Σ min(n, upper M) >= share M, by Newton's method.

    A tangent of a concave function lies above it, so that M stays above the greatest that fits.
    """
    open_, left = np.arange(len(rows)), rows
    for _ in range(len(upper) + 1):
        # [class, value] whether the limit, not the rows that there are, decides; [class] both sums
        capped = left > upper * most[open_, None]
        slope, free = capped @ upper, (left * ~capped).sum(axis=1)
        misfit = free + slope * most[open_] < share * most[open_] * (1 - 1e-12)
        if not misfit.any():
            return
        open_, left = open_[misfit], left[misfit]
        most[open_] = free[misfit] / (share - slope[misfit])


def _lower_to_whole(rows: Floats, most: Floats, upper: Floats) -> None:
    """Lower `most`, whole numbers of rows M that are left of each class, until Σ min(n, ⌊upper M⌋) >= M."""
    open_ = np.arange(len(rows))
    while len(open_):
        fits = np.minimum(rows[open_], round_down_rows(upper * most[open_, None])).sum(axis=1)
        misfit = fits < most[open_]
        most[open_[misfit]] = fits[misfit]
        open_ = open_[misfit]


def round_down_rows(rows: Floats) -> Floats:
    """Return numbers of rows as whole ones; those that are whole but for rounding are not lowered."""
    return np.floor(rows * (1 + 1e-12) + 1e-6)
