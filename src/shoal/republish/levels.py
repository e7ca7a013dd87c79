"""How far people who are shown together must be generalised."""

from collections.abc import Sequence

import numpy as np

from shoal.codes import Codes
from shoal.hierarchy import Hierarchy
from shoal.republish.history import Levels


def lowest(part: Codes, parts: int, codes: Sequence[Codes], hierarchies: Sequence[Hierarchy]) -> Levels:
    """levels[part, attribute]: the lowest level at which all rows of a part are one; every part has a row.

    Levels are nested, so a row meets the first of its part after as many steps as there are levels that differ.
    """
    first = np.zeros(parts, dtype=np.int64)
    first[part[::-1]] = np.arange(len(part))[::-1]
    out = np.zeros((parts, len(hierarchies)), dtype=np.int16)
    for i, (column, hierarchy) in enumerate(zip(codes, hierarchies, strict=True)):
        steps = np.zeros(len(part), dtype=np.int16)
        for groups in hierarchy.levels:
            steps += groups[column] != groups[column[first]][part]
        np.maximum.at(out[:, i], part, steps)
    return out
