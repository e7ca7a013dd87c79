"""Local recoding: every cell is generalised along its hierarchy only as far as its own class needs (S2.3, CG_)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.data.codes import Codes
from shoal.data.packed_keys import join_columns
from shoal.errors import Infeasible
from shoal.models.k_anonymity import KAnonymity
from shoal.models.model import Flags
from shoal.partition.cell_labels import Cells, Floats, Judge, lower_bound, renumber_parts
from shoal.partition.condition import Condition
from shoal.recoding.outcome import Before

MOST_NODES = 50_000


def better_node(judge: Judge, loss: float) -> Codes | None:
    """Return the parts of the cheapest node that may be released and loses less; None if there is none.

    Only lattices of at most `MOST_NODES` nodes are listed.
    """
    cells = judge.cells
    shape = cells.highest + 1
    if prod(shape.tolist()) > MOST_NODES:
        return None
    # [level of attribute 0, level of attribute 1, ...] mean loss of a row at every node of the lattice
    total = np.zeros(())
    for costs, codes, levels in zip(cells.losses, cells.codes.T, shape, strict=True):
        means = cells.rows @ costs[codes, :levels] / cells.rows.sum()
        total = total[..., None] + means
    flat = total.ravel()
    below = np.flatnonzero(flat < loss)
    by_loss = below[np.argsort(flat[below], kind="stable")]
    if not judge.merging_is_safe:
        return next((part for node in by_loss if (part := _releasable_parts_at(judge, shape, node)) is not None), None)
    # a node below a failing one fails too: from the costliest down, most nodes need no check
    failed, best = np.zeros(tuple(shape), dtype=bool), None
    for node in by_loss[::-1]:
        at = np.unravel_index(node, failed.shape)
        part = None if _fails_above(failed, at) else _releasable_parts_at(judge, shape, node)
        failed[at] = part is None
        best = best if part is None else part
    return best


def _fails_above(failed: Flags, at: tuple[np.intp, ...]) -> bool:
    """Return whether a direct generalisation of the node is known to fail."""
    steps = ((*at[:i], level + 1, *at[i + 1 :]) for i, level in enumerate(at) if level + 1 < failed.shape[i])
    return any(failed[step] for step in steps)


def _releasable_parts_at(judge: Judge, shape: Codes, node: np.intp) -> Codes | None:
    """Return the parts of a node if they may be released, else None."""
    part, parts = _parts_at(judge.cells, np.unravel_index(node, tuple(shape)))
    return part if judge.is_releasable(part, parts) else None


def parts_at_top(cells: Cells) -> Codes:
    """Return the parts of the highest node: a single one where every hierarchy has one top."""
    return _parts_at(cells, cells.highest)[0]


def _parts_at(cells: Cells, node: object) -> tuple[Codes, int]:
    """Return the part of each point at a node, and the number of parts."""
    columns = []
    for groups, codes, level in zip(cells.groups, cells.codes.T, node, strict=True):  # type: ignore[call-overload]
        columns.append((np.ascontiguousarray(groups[codes, level]), int(groups.max(initial=0)) + 1))
    part, parts, _ = join_columns(columns)
    return part, parts


HEAT = 0.1
"""Temperature at the start of annealing: changes for the worse of about a tenth of a row's whole loss are accepted."""
NEAREST = 12
VISITS = 150
FEWEST_ROUNDS, MOST_ROUNDS = 3, 64
WORK = 900_000
"""Cells that all rounds of annealing together may visit."""
RULE_EFFORT = 0.25
"""By how much more a round takes for each rule that clusters must keep."""
LARGEST = 64
"""Most rows that a cluster is made to have; a condition that needs more is met from above, by splitting."""
GROWTH = 1.6
TRIES = 8
MOST_PAIRS = 10_000_000

Watch = Callable[[float], None]
Stop = Callable[[], bool]


def assemble(judge: Judge, least: int, seed: int, watch: Watch, stop: Stop) -> Codes:
    """Put every point into a part that complies: clusters as small as the condition allows."""
    cells = judge.cells
    part = np.full(len(cells), -1, dtype=np.int32)
    for size in _sizes(judge, least):
        open_ = np.flatnonzero(part < 0)
        if not len(open_):
            break
        part[open_] = part.max() + 1 + cluster_points(judge, open_, size, seed, watch, stop)
        part = _keep_complying(judge, part)
    return part if (part >= 0).all() else _assign_rest(judge, part)


def _sizes(judge: Judge, least: int) -> Iterator[int]:
    """Yield the least number of rows of a cluster: what the condition says, then ever more."""
    known = [model.k for model in judge.condition.parts if isinstance(model, KAnonymity)]
    size = max([least, *known])
    yield size
    while judge.condition.k is None and size < LARGEST:
        size = max(size + 1, int(size * GROWTH))
        yield size


def cluster_points(judge: Judge, some: NDArray[np.intp], least: int, seed: int, watch: Watch, stop: Stop) -> Codes:
    """Return the cluster of some points: at least `least` rows each, as the rules ask, with little loss."""
    cells = judge.cells
    if cells.rows[some].sum() < 2 * least:  # there cannot be two
        return np.zeros(len(some), dtype=np.int32)
    # attributes of few values first: they tell soonest that two points differ
    by_size = sorted(range(cells.width), key=lambda i: (len(cells.groups[i]), i))
    place = np.full(len(cells), -1, dtype=np.int64)
    place[cells.order[some]] = np.arange(len(some))
    clusters = kernels.Clusters(
        np.ascontiguousarray(cells.codes[some][:, by_size]),
        cells.rows[some],
        [cells.groups[i] for i in by_size],
        [cells.losses[i] for i in by_size],
        least,
        [rule.arrays(place, len(some)) for rule in judge.rules],
        max(NEAREST, min(least, LARGEST)),
        VISITS,
        seed,
    )
    fewest = FEWEST_ROUNDS if least <= NEAREST else 1  # large clusters take long
    most = max(MOST_ROUNDS * NEAREST**2 // max(least, NEAREST) ** 2, 1)  # a round takes the longer, the larger they are
    effort = len(some) * cells.width * max(least // NEAREST, 1) * (1 + RULE_EFFORT * len(judge.rules))
    rounds = min(max(int(WORK / effort), fewest), most)
    # temperature at the start and end of each round, falling to 0
    heats = np.append(HEAT * (1 - np.arange(rounds) / (rounds - 0.5)), 0.0)
    for done, (start, end) in enumerate(pairwise(heats.tolist())):
        if stop():
            break
        clusters.improve(start, max(end, 0.0))
        watch((done + 1) / rounds)
    return clusters.clusters()


def _keep_complying(judge: Judge, part: Codes) -> Codes:
    """Merge parts of equal labels, and dissolve those that do not comply: their points become open (-1)."""
    part, parts = judge.cells.merge_equal_labels(*renumber_parts(part))
    return np.where(judge.complies(part, parts)[part], part, -1).astype(np.int32)


def _assign_rest(judge: Judge, part: Codes) -> Codes:
    """Assign the points left over: each to the part that is cheapest to widen, or all together with ever more parts."""
    part = _join_open_points(judge, part)
    roof = parts_at_top(judge.cells)
    for group in np.unique(roof[part < 0]):
        rest = (part < 0) & (roof == group)
        # absorb the nearest parts, doubling their number, until the rest complies
        near = _sort_by_cost(judge.cells, part, np.flatnonzero(rest), np.unique(part[(roof == group) & (part >= 0)]))
        taken = 0
        while taken < len(near) and not judge.complies(np.where(rest, 0, -1).astype(np.int32), 1).all():
            more = near[taken : 2 * taken + 1]
            taken += len(more)
            rest |= np.isin(part, more)
        part[rest] = part.max() + 1
    return renumber_parts(part)[0]


def _sort_by_cost(cells: Cells, part: Codes, rest: NDArray[np.intp], parts: Codes) -> Codes:
    """Sort parts by what it costs to widen them by the first of the points."""
    if not len(parts):
        return parts
    costs = _widening_costs(cells, part, rest[:1])[0]
    return parts[np.argsort(costs[parts], kind="stable")]


def _join_open_points(judge: Judge, part: Codes) -> Codes:
    """Put open points into the parts that are cheapest to widen and still comply; a few tries for each point."""
    part, parts = renumber_parts(part)
    rest = np.flatnonzero(part < 0)
    if parts == 0 or len(rest) * parts > MOST_PAIRS:
        return part
    costs = _widening_costs(judge.cells, part, rest)
    for _ in range(TRIES):
        # [open point] its cheapest part; at most one point joins each part per round
        choice = costs.argmin(axis=1)
        cheapest = costs[np.arange(len(rest)), choice]
        by_cost = np.argsort(cheapest, kind="stable")
        by_cost = by_cost[(part[rest] < 0)[by_cost] & np.isfinite(cheapest[by_cost])]
        asked = by_cost[np.unique(choice[by_cost], return_index=True)[1]]  # the cheapest point of each part
        trial = part.copy()
        trial[rest[asked]] = choice[asked]
        fine = judge.complies(trial, parts)[choice[asked]]
        part[rest[asked[fine]]] = choice[asked[fine]]
        costs[asked, choice[asked]] = np.inf
    return part


def _widening_costs(cells: Cells, part: Codes, points: NDArray[np.intp]) -> Floats:
    """Return costs[point, part]: the additional loss of all rows concerned if the point joins the part."""
    part, parts = np.where(part < 0, part.max() + 1, part).astype(np.int32), int(part.max()) + 1
    # open points are one more part, cut off again; [part, attribute] level and a member's code
    levels, codes = cells.levels(part, parts + 1)[:parts], cells.codes[cells.first(part, parts + 1)[:parts]]
    rows = np.bincount(part, weights=cells.rows, minlength=parts + 1)[:parts]
    now, wide = np.zeros(parts), np.zeros((len(points), parts))
    for i, (groups, losses) in enumerate(zip(cells.groups, cells.losses, strict=True)):
        # [point, part] level at which both meet: levels are nested, so it is the number that differ
        mine, theirs = groups[cells.codes[points, i]], groups[codes[:, i]]
        steps = sum((mine[:, None, h] != theirs[None, :, h]).astype(np.int32) for h in range(groups.shape[1]))
        wide += losses[codes[:, i], np.maximum(steps, levels[:, i])]
        now += losses[codes[:, i], levels[:, i]]
    return np.asarray(wide * (rows + cells.rows[points][:, None]) - now * rows)


Chosen = NDArray[np.intp]


def split_all(judge: Judge, part: Codes) -> tuple[Codes, int]:
    """Split parts into the children of one of their labels until no split leaves only complying parts.

    Every split lowers a level and none raises one, so this ends. Parts of equal labels become one.
    """
    cells = judge.cells
    part, parts = cells.merge_equal_labels(*renumber_parts(part))
    while True:
        before = part
        for i in range(cells.width):
            part, parts = _split_along(judge, i, part, parts)
        part, parts = cells.merge_equal_labels(part, parts)
        if np.array_equal(part, before):
            return part, parts


def _split_along(judge: Judge, i: int, part: Codes, parts: int) -> tuple[Codes, int]:
    """Split along attribute i every part whose children all comply."""
    cells = judge.cells
    level = cells.level(i, part, parts)
    tall = level > 0
    if not tall.any():
        return part, parts
    children = _children(cells, i, part, np.where(tall, level, 0))
    asked, count = renumber_parts(np.where(tall[part], children, -1).astype(np.int32))
    inside = asked >= 0
    fine = judge.complies(asked, count)
    # [part] number of points whose child does not comply
    bad = np.bincount(part[inside], weights=~fine[asked[inside]], minlength=parts)
    return _accept_splits(judge, part, children, np.flatnonzero(tall & (bad == 0)))


def _children(cells: Cells, i: int, part: Codes, level: Codes) -> Codes:
    """Return the child of each point: its part split along attribute i into the groups below the label."""
    # [point] the level below that of its label, and its group there; each pair of part and group is a child
    below = np.maximum(level - 1, 0)[part]
    group = cells.groups[i][cells.codes[:, i], below].astype(np.int64)
    _, child = np.unique(part * (group.max() + 1) + group, return_inverse=True)
    return child.astype(np.int32)


def _accept_splits(judge: Judge, part: Codes, children: Codes, chosen: Chosen) -> tuple[Codes, int]:
    """Split the chosen parts; where that breaks the condition as a whole, try each half of them separately."""
    if not len(chosen):
        return renumber_parts(part)
    offset = np.int32(part.max() + 1)
    trial = np.where(np.isin(part, chosen), children + offset, part).astype(np.int32)
    if judge.merging_is_safe:
        return renumber_parts(trial)
    if judge.is_releasable(*judge.cells.merge_equal_labels(*renumber_parts(trial))):
        return renumber_parts(trial)
    if len(chosen) == 1:
        return renumber_parts(part)
    half = len(chosen) // 2
    # parts are renumbered by every split: one of its points finds a part again
    firsts = judge.cells.first(part, int(offset))[chosen[half:]]
    some, _ = _accept_splits(judge, part, children, chosen[:half])
    return _accept_splits(judge, some, children, some[firsts].astype(np.intp))


LEAST_SIZES = (1, 4, 16, 64)
"""Least numbers of rows of a cluster, tried in turn until the models of the whole table hold too."""
STARTED = 1_000
"""Points that all starts together may cluster."""
MOST_STARTS = 10
CLUSTERING = 0.9
"""Share of the progress bar that clustering takes."""


@dataclass(frozen=True)
class LocalResult:
    """The result of local recoding: the part of each class, and the level of each part on every hierarchy."""

    part: Codes
    levels: Codes
    """levels[part, attribute]: the lowest level at which all members of the part are one group."""
    bound: float
    """What rows lose on average at least, in any parts that comply."""


def local(
    before: Before,
    condition: Condition,
    *,
    seed: int = 0,
    watch: Callable[[float], None] = lambda share: None,  # noqa: ARG005
    stop: Callable[[], bool] = lambda: False,
) -> LocalResult:
    """Group classes into parts that comply and lose little; no part can be split any further.

    Clusters of nearest neighbours are improved by simulated annealing, then split into the children of their labels.
    The loss is never above that of the best full-domain node without suppression, where the lattice can be listed.
    `stop` ends the improvement early; the result complies all the same, and cannot be split either.

    Xu, Wang, Pei, Wang, Shi and Fu: Utility-based anonymization using local recoding. KDD 2006.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> from shoal.data.frequency_set import FrequencySet
    >>> from shoal.hierarchy import Taxonomy, compile_taxonomy
    >>> from shoal.models import KAnonymity
    >>> age = encode("age", pa.array([30, 31, 31, 32, 33, 33]))
    >>> tree = Taxonomy(["30", "31", "32", "33"], [["30-1", "30-1", "32-3", "32-3"], ["*"] * 4], str)
    >>> ages = FrequencySet.count({"age": (age.codes, 4)})
    >>> found = local(Before(ages, (compile_taxonomy(age, tree),)), Condition(ages, [KAnonymity(3)]))
    >>> found.part.tolist(), found.levels.tolist()
    ([0, 0, 1, 1], [[1], [1]])
    """
    judge = Judge(Cells.of(before), condition)
    part, parts = _best_parts(judge, seed, lambda share: watch(CLUSTERING * share), stop)
    instead = better_node(judge, judge.cells.loss(part, parts))
    if instead is not None:
        part, parts = split_all(judge, instead)
    watch(1.0)
    of_class = np.empty_like(part)
    of_class[judge.cells.order] = part
    return LocalResult(of_class, judge.cells.levels(part, parts), lower_bound(judge, part, parts))


def _best_parts(judge: Judge, seed: int, watch: Callable[[float], None], stop: Callable[[], bool]) -> tuple[Codes, int]:
    """Return the best of a few starts, each split as far as it can be; large tables have one start."""
    starts = min(max(STARTED // len(judge.cells), 1), MOST_STARTS)
    best = None
    for start in range(starts):
        first = _first_parts(judge, seed + start, _watch_start(watch, start, starts), stop)
        found = split_all(judge, first)
        loss = judge.cells.loss(*found)
        if best is None or loss < best[0]:
            best = loss, found
        if stop():
            break
    assert best is not None
    return best[1]


def _watch_start(watch: Watch, start: int, starts: int) -> Watch:
    """Return what is told of the progress of one of several starts."""
    return lambda share: watch((start + share) / starts)


def _first_parts(judge: Judge, seed: int, watch: Callable[[float], None], stop: Callable[[], bool]) -> Codes:
    """Return parts that may be released: clusters, or else the highest node, or else any node."""
    for least in LEAST_SIZES:
        part = assemble(judge, least, seed, watch, stop)
        if judge.is_releasable(*judge.cells.merge_equal_labels(part, int(part.max()) + 1)):
            return part
        if judge.condition.k is not None:
            break
    highest = parts_at_top(judge.cells)
    if judge.is_releasable(highest, int(highest.max()) + 1):
        return highest
    node = better_node(judge, np.inf)
    if node is None:
        raise Infeasible("no way was found to put the rows together so that every class keeps the policy")
    return node
