"""Splits along the children of a label, until no part can be split."""

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Codes
from shoal.partition.cells import Cells, Judge, numbered

Chosen = NDArray[np.intp]


def split_all(judge: Judge, part: Codes) -> tuple[Codes, int]:
    """Split parts along the children of one of their labels wherever all that come out comply, as long as any do.

    Every split lowers a level and none is raised, so this ends. Parts of equal labels become one.
    """
    cells = judge.cells
    part, parts = cells.merged(*numbered(part))
    while True:
        before = part
        for i in range(cells.width):
            part, parts = _split_along(judge, i, part, parts)
        part, parts = cells.merged(part, parts)
        if np.array_equal(part, before):
            return part, parts


def _split_along(judge: Judge, i: int, part: Codes, parts: int) -> tuple[Codes, int]:
    cells = judge.cells
    level = cells.level(i, part, parts)
    tall = level > 0
    if not tall.any():
        return part, parts
    children = _children(cells, i, part, np.where(tall, level, 0))
    asked, count = numbered(np.where(tall[part], children, -1).astype(np.int32))
    inside = asked >= 0
    fine = judge.complies(asked, count)
    bad = np.bincount(part[inside], weights=~fine[asked[inside]], minlength=parts)
    return _accepted(judge, part, children, np.flatnonzero(tall & (bad == 0)))


def _children(cells: Cells, i: int, part: Codes, level: Codes) -> Codes:
    """Parts split along attribute i: a number for each part and group below its label."""
    below = np.maximum(level - 1, 0)[part]
    group = cells.groups[i][cells.codes[:, i], below].astype(np.int64)
    _, child = np.unique(part * (group.max() + 1) + group, return_inverse=True)
    return child.astype(np.int32)


def _accepted(judge: Judge, part: Codes, children: Codes, chosen: Chosen) -> tuple[Codes, int]:
    """The chosen parts split, or as many as can be where they get into each other's way: halves are tried apart."""
    if not len(chosen):
        return numbered(part)
    offset = np.int32(part.max() + 1)
    trial = np.where(np.isin(part, chosen), children + offset, part).astype(np.int32)
    if judge.merging_is_safe:
        return numbered(trial)
    if judge.keeps(*judge.cells.merged(*numbered(trial))):
        return numbered(trial)
    if len(chosen) == 1:
        return numbered(part)
    half = len(chosen) // 2
    # numbers change with every split: a part is found again by one of its points
    firsts = judge.cells.first(part, int(offset))[chosen[half:]]
    some, _ = _accepted(judge, part, children, chosen[:half])
    return _accepted(judge, some, children, some[firsts].astype(np.intp))
