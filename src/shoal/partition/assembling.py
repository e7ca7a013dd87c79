"""Parts for any condition: clusters of growing size, then room for whatever is left over."""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.codes import Codes
from shoal.models import KAnonymity
from shoal.partition.cells import Cells, Floats, Judge, numbered
from shoal.partition.whole import top

HEAT = 0.1
"""Worse changes are taken at first where they cost about so much: a tenth of a row's whole loss."""
NEAREST = 12
VISITS = 150
FEWEST_ROUNDS, MOST_ROUNDS = 3, 64
WORK = 900_000
"""Cells to go over in all rounds."""
LARGEST = 64
"""Rows of a cluster; a condition that needs more is met from above, by splitting."""
GROWTH = 1.6
TRIES = 8
MOST_PAIRS = 10_000_000

Watch = Callable[[float], None]
Stop = Callable[[], bool]


def assemble(judge: Judge, least: int, seed: int, watch: Watch, stop: Stop) -> Codes:
    """Parts that comply: clusters as small as the condition allows; every point is in one."""
    cells = judge.cells
    part = np.full(len(cells), -1, dtype=np.int32)
    for size in _sizes(judge, least):
        open_ = np.flatnonzero(part < 0)
        if not len(open_):
            break
        part[open_] = part.max() + 1 + clustered(cells, open_, size, seed, watch, stop)
        part = _complying(judge, part)
    return part if (part >= 0).all() else _with_rest(judge, part)


def _sizes(judge: Judge, least: int) -> Iterator[int]:
    """Rows that a cluster has at least: what the condition says, or ever more."""
    known = [model.k for model in judge.condition.parts if isinstance(model, KAnonymity)]
    size = max([least, *known])
    yield size
    while judge.condition.k is None and size < LARGEST:
        size = max(size + 1, int(size * GROWTH))
        yield size


def clustered(cells: Cells, some: NDArray[np.intp], least: int, seed: int, watch: Watch, stop: Stop) -> Codes:
    """Clusters of at least so many rows that lose little."""
    # what differs soonest is looked at first: an attribute of few values
    by_size = sorted(range(cells.width), key=lambda i: (len(cells.groups[i]), i))
    clusters = kernels.Clusters(
        np.ascontiguousarray(cells.codes[some][:, by_size]),
        cells.rows[some],
        [cells.groups[i] for i in by_size],
        [cells.losses[i] for i in by_size],
        least,
        max(NEAREST, min(least, LARGEST)),
        VISITS,
        seed,
    )
    fewest = FEWEST_ROUNDS if least <= NEAREST else 1  # large clusters take long
    rounds = min(max(WORK // (len(some) * cells.width * max(least // NEAREST, 1)), fewest), MOST_ROUNDS)
    heats = np.append(HEAT * (1 - np.arange(rounds) / (rounds - 0.5)), 0.0)
    for done, (start, end) in enumerate(pairwise(heats.tolist())):
        if stop():
            break
        clusters.improve(start, max(end, 0.0))
        watch((done + 1) / rounds)
    return clusters.clusters()


def _complying(judge: Judge, part: Codes) -> Codes:
    """Parts of equal labels as one; those that do not comply are open again."""
    part, parts = judge.cells.merged(*numbered(part))
    return np.where(judge.complies(part, parts)[part], part, -1).astype(np.int32)


def _with_rest(judge: Judge, part: Codes) -> Codes:
    """Points that are left over join the parts that cost least to widen, or, together, ever more of them."""
    part = _joined(judge, part)
    roof = top(judge.cells)
    for group in np.unique(roof[part < 0]):
        rest = (part < 0) & (roof == group)
        near = _nearest(judge.cells, part, np.flatnonzero(rest), np.unique(part[(roof == group) & (part >= 0)]))
        taken = 0
        while taken < len(near) and not judge.complies(np.where(rest, 0, -1).astype(np.int32), 1).all():
            more = near[taken : 2 * taken + 1]
            taken += len(more)
            rest |= np.isin(part, more)
        part[rest] = part.max() + 1
    return numbered(part)[0]


def _nearest(cells: Cells, part: Codes, rest: NDArray[np.intp], parts: Codes) -> Codes:
    """Parts in the order of what it costs to widen them by one of the points."""
    if not len(parts):
        return parts
    costs = _widening(cells, part, rest[:1])[0]
    return parts[np.argsort(costs[parts], kind="stable")]


def _joined(judge: Judge, part: Codes) -> Codes:
    """Open points put into the parts that cost least to widen, wherever these still comply; a few tries for each."""
    part, parts = numbered(part)
    rest = np.flatnonzero(part < 0)
    if parts == 0 or len(rest) * parts > MOST_PAIRS:
        return part
    costs = _widening(judge.cells, part, rest)
    for _ in range(TRIES):
        choice = costs.argmin(axis=1)
        cheapest = costs[np.arange(len(rest)), choice]
        by_cost = np.argsort(cheapest, kind="stable")
        by_cost = by_cost[(part[rest] < 0)[by_cost] & np.isfinite(cheapest[by_cost])]
        asked = by_cost[np.unique(choice[by_cost], return_index=True)[1]]  # one for each part
        trial = part.copy()
        trial[rest[asked]] = choice[asked]
        fine = judge.complies(trial, parts)[choice[asked]]
        part[rest[asked[fine]]] = choice[asked[fine]]
        costs[asked, choice[asked]] = np.inf
    return part


def _widening(cells: Cells, part: Codes, points: NDArray[np.intp]) -> Floats:
    """What the rows of each part and each point lose more if the point joins the part; costs[point, part]."""
    part, parts = np.where(part < 0, part.max() + 1, part).astype(np.int32), int(part.max()) + 1
    levels, codes = cells.levels(part, parts + 1)[:parts], cells.codes[cells.first(part, parts + 1)[:parts]]
    rows = np.bincount(part, weights=cells.rows, minlength=parts + 1)[:parts]
    now, wide = np.zeros(parts), np.zeros((len(points), parts))
    for i, (groups, losses) in enumerate(zip(cells.groups, cells.losses, strict=True)):
        mine, theirs = groups[cells.codes[points, i]], groups[codes[:, i]]
        steps = sum((mine[:, None, h] != theirs[None, :, h]).astype(np.int32) for h in range(groups.shape[1]))
        wide += losses[codes[:, i], np.maximum(steps, levels[:, i])]
        now += losses[codes[:, i], levels[:, i]]
    return np.asarray(wide * (rows + cells.rows[points][:, None]) - now * rows)
