"""The children of a label in its hierarchy: what it would have been, had it been made finer."""

import numpy as np

from shoal.attacks.meaning import Meaning
from shoal.attacks.splits import Shares
from shoal.codes import Codes


def levels_of(meaning: Meaning, label: int) -> list[int]:
    """The levels of its hierarchy on which a label stands."""
    if meaning.hierarchy is None:
        return []
    return [height for height, names in enumerate(meaning.hierarchy.labels) if meaning.labels[label] in names]


def common_level(meaning: Meaning) -> int | None:
    """The lowest level on which all labels stand, if there is one: full-domain generalisation."""
    common = set.intersection(*({*levels_of(meaning, label)} for label in range(len(meaning.labels))))
    return min(common, default=None)


def children_of(meaning: Meaning, label: int, shares: Shares, level: int | None = None) -> tuple[Codes, Shares]:
    """The child of each value that a label covers, -1 for the others, and the share of each child.

    They lie below the given level, else below the lowest on which the label stands; a label without any is one itself.
    """
    flags = meaning.covered[label]
    child = np.full(len(flags), -1, dtype=np.int32)
    heights = levels_of(meaning, label)
    height = level if level is not None else min(heights, default=0)
    if height < 1 or not heights or not flags.any():
        child[flags] = 0
        return child, np.ones(1)
    assert meaning.hierarchy is not None
    _, child[flags] = np.unique(meaning.hierarchy.levels[height - 1][flags], return_inverse=True)
    mass = np.bincount(child[flags], weights=shares[flags])
    return child, np.asarray(mass / mass.sum()) if mass.sum() > 0 else np.full(len(mass), 1 / len(mass))
