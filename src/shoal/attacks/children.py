"""The children of a label in its hierarchy: what it would have been, had it been made finer."""

import numpy as np

from shoal.attacks.meaning import Meaning
from shoal.attacks.splits import Shares
from shoal.codes import Codes
from shoal.counts import Flags


def levels_of(meaning: Meaning, flags: Flags) -> list[int]:
    """The levels on which a label stands, by what it covers."""
    if meaning.hierarchy is None:
        return []
    found = []
    for height, level in enumerate(meaning.hierarchy.levels):
        groups = np.unique(level[flags])
        if len(groups) == 1 and np.array_equal(level == groups[0], flags):
            found.append(height)
    return found


def common_level(meaning: Meaning) -> int | None:
    """The lowest level on which all labels stand, if there is one: full-domain generalisation."""
    common = set.intersection(*({*levels_of(meaning, flags)} for flags in meaning.covered))
    return min(common, default=None)


def children_of(meaning: Meaning, flags: Flags, shares: Shares, level: int | None = None) -> tuple[Codes, Shares]:
    """The child of each value that a label covers, -1 for the others, and the share of each child.

    They lie below the given level, else below the lowest on which the label stands; a label without any is one itself.
    """
    child = np.full(len(flags), -1, dtype=np.int32)
    heights = levels_of(meaning, flags)
    height = level if level is not None else min(heights, default=0)
    if height < 1 or not heights:
        child[flags] = 0
        return child, np.ones(1)
    assert meaning.hierarchy is not None
    _, child[flags] = np.unique(meaning.hierarchy.levels[height - 1][flags], return_inverse=True)
    mass = np.bincount(child[flags], weights=shares[flags])
    return child, np.asarray(mass / mass.sum()) if mass.sum() > 0 else np.full(len(mass), 1 / len(mass))
