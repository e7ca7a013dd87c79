"""Anatomy: groups in which every sensitive value is at most one row in l (Xiao & Tao, VLDB 2006)."""

from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import ceil
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.data.codes import Codes
from shoal.errors import Infeasible
from shoal.metrics.catalogue import lost_in_cells
from shoal.models.model import Model
from shoal.partition.condition import condition_of, rows_as_items
from shoal.plan import Plan
from shoal.problem import Problem, find_failing_classes
from shoal.recoding.kinds import GroupRecoding
from shoal.recoding.outcome import RecodedCells
from shoal.roles import Role

Rows = NDArray[np.intp]


def anatomy(values: Codes, l: int, seed: int = 0) -> Codes:
    """Return the group of each row, given the code of its sensitive value; no value has more than 1/l of any group.

    A group is one row from each of the l largest buckets of equal values, drawn at random; the fewer than l rows that
    are left over go to random groups that lack their value. Null is a value like any other here.

    >>> groups = anatomy(np.array([0, 0, 0, 1, 1, 2, 3], dtype=np.int32), 2)
    >>> sorted(np.bincount(groups).tolist())
    [2, 2, 3]
    """
    counts = np.bincount(values)
    _refuse_frequent(int(counts.max(initial=0)), len(values), l)
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(values))
    # [row] bucket by bucket, in random order within each
    bucketed = shuffled[np.argsort(values[shuffled], kind="stable")]
    drawn = _draw_values(counts, l)
    groups = np.full(len(values), -1, dtype=np.int32)
    # draws sorted by value match the drawn rows bucket by bucket; draw i belongs to group i // l
    by_value = np.argsort(drawn, kind="stable")
    groups[_first_rows_of_buckets(bucketed, counts, np.bincount(drawn, minlength=len(counts)))] = by_value // l
    for row in np.flatnonzero(groups < 0):
        lacking = np.ones(len(drawn) // l, dtype=bool)
        there = groups[values == values[row]]
        lacking[there[there >= 0]] = False
        groups[row] = rng.choice(np.flatnonzero(lacking))
    return groups


def _refuse_frequent(most: int, rows: int, l: int) -> None:
    """Refuse a value with more than 1/l of all rows, the only case without a solution."""
    if most * l > rows:
        raise Infeasible(
            f"anatomy: the most frequent sensitive value has {most} of {rows} row(s), more than one in l={l}; "
            f"l can be {rows // most} at most"
        )


def _draw_values(counts: NDArray[np.int64], l: int) -> Codes:
    """Return the values of all groups, l for each, group by group: those of the l largest buckets, ties by code."""
    size = len(counts)
    # a bucket is one number that sorts by size, then by code; taking a row adds `size`, and an empty one is >= 0
    heap = [code - size * count for code, count in enumerate(counts.tolist()) if count]
    heapify(heap)
    drawn: list[int] = []
    while len(heap) >= l:
        largest = [heappop(heap) for _ in range(l)]
        drawn += largest
        for bucket in largest:
            if bucket + size < 0:
                heappush(heap, bucket + size)
    return np.mod(np.array(drawn, dtype=np.int64), max(size, 1)).astype(np.int32)


def _first_rows_of_buckets(bucketed: Rows, counts: NDArray[np.int64], taken: NDArray[np.int64]) -> Rows:
    """Return the first `taken` rows of each bucket, given rows that lie bucket by bucket."""
    # [row] its place within its bucket: its index less that of the first row of the bucket
    within = np.arange(len(bucketed)) - np.repeat(np.cumsum(counts) - counts, counts)
    return bucketed[within < np.repeat(taken, counts)]


_NAMES = ("group", "group_id", "anatomy_group", "shoal_group")


def plan_groups(problem: Problem) -> Plan:
    """Plan groups in which no sensitive value has more than one row in l, for the least l that keeps the policy."""
    started = perf_counter()
    items, item = rows_as_items(problem)
    (sensitive,) = problem.policy.named(Role.SENSITIVE)
    condition = condition_of(problem, items)
    l = max(_required_diversity(model) for model in problem.policy.models)
    while True:
        group = anatomy(problem.table[sensitive].codes[np.argsort(item)], l, problem.policy.method.seed)
        groups = int(group.max()) + 1
        if condition.complies(group, groups).all() and condition.holds(group, groups):
            break
        l += 1
        if l > problem.table[sensitive].size:
            raise Infeasible(
                f"no groups of different values of {sensitive!r} keep the policy; weaken it, or use another algorithm"
            )
    name = next(name for name in _NAMES if name not in problem.table.columns)
    sizes = np.bincount(group).astype(np.int64)
    after = RecodedCells(items.merge_into_parts(group, groups), sizes, np.zeros((groups, len(problem.quasi))))
    metrics = lost_in_cells(problem.before, after)
    return Plan(
        roles=problem.roles,
        builders={},
        hierarchies={},
        before=problem.before,
        after=after,
        recoding=GroupRecoding(group[item], name, sensitive),
        score=metrics["loss"],
        metrics=metrics,
        seconds=perf_counter() - started,
        failed=find_failing_classes(problem.policy.models, condition.counts(group, groups)),
        class_of_row=group[item],
        reading=problem.reading,
    )


def _required_diversity(model: Model) -> int:
    """Return the least number of different values that a model requires of a group."""
    many: Any = getattr(model, "l", None) or getattr(model, "p", None) or 2
    alpha: Any = getattr(model, "alpha", None)
    shares = list(alpha.values()) if isinstance(alpha, dict) else [alpha] if isinstance(alpha, float) else []
    return max([int(many), *(ceil(1 / Fraction(repr(share))) for share in shares)])
