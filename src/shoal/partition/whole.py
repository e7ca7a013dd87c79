"""The best full-domain node that keeps a condition without suppression: what local recoding must not fall behind."""

from math import prod

import numpy as np

from shoal.codes import Codes
from shoal.frequency import joined
from shoal.models import Flags
from shoal.partition.cells import Cells, Judge

MOST_NODES = 50_000


def better_node(judge: Judge, loss: float) -> Codes | None:
    """The parts of the least node that keeps the condition and loses less, of a lattice that can be listed."""
    cells = judge.cells
    shape = cells.highest + 1
    if prod(shape.tolist()) > MOST_NODES:
        return None
    total = np.zeros(())
    for costs, codes, levels in zip(cells.losses, cells.codes.T, shape, strict=True):
        means = cells.rows @ costs[codes, :levels] / cells.rows.sum()
        total = total[..., None] + means
    flat = total.ravel()
    below = np.flatnonzero(flat < loss)
    by_loss = below[np.argsort(flat[below], kind="stable")]
    if not judge.merging_is_safe:
        return next((part for node in by_loss if (part := _kept_at(judge, shape, node)) is not None), None)
    # what fails, fails below, too: from above, so that most need no look
    failed, best = np.zeros(tuple(shape), dtype=bool), None
    for node in by_loss[::-1]:
        at = np.unravel_index(node, failed.shape)
        part = None if _fails_above(failed, at) else _kept_at(judge, shape, node)
        failed[at] = part is None
        best = best if part is None else part
    return best


def _fails_above(failed: Flags, at: tuple[np.intp, ...]) -> bool:
    """Whether a direct generalisation of the node is known to fail."""
    steps = ((*at[:i], level + 1, *at[i + 1 :]) for i, level in enumerate(at) if level + 1 < failed.shape[i])
    return any(failed[step] for step in steps)


def _kept_at(judge: Judge, shape: Codes, node: np.intp) -> Codes | None:
    """The parts of a node, if they may be released."""
    part, parts = _at(judge.cells, np.unravel_index(node, tuple(shape)))
    return part if judge.keeps(part, parts) else None


def top(cells: Cells) -> Codes:
    """The parts of the highest node: all points as one, where every hierarchy has a top."""
    return _at(cells, cells.highest)[0]


def _at(cells: Cells, node: object) -> tuple[Codes, int]:
    columns = []
    for groups, codes, level in zip(cells.groups, cells.codes.T, node, strict=True):  # type: ignore[call-overload]
        columns.append((np.ascontiguousarray(groups[codes, level]), int(groups.max(initial=0)) + 1))
    part, parts, _ = joined(columns)
    return part, parts
