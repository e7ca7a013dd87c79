"""Mondrian: cut the table at medians, the widest attribute first, as long as the sides comply."""

from collections.abc import Sequence

import numpy as np

from shoal import kernels
from shoal.codes import Codes
from shoal.partition.axes import Axis, Regions
from shoal.partition.compiled import compiled_form
from shoal.partition.condition import Condition
from shoal.partition.growth import Extents, PlanByExtents, Tries, Watch, grow, unwatched
from shoal.partition.parts import At


def mondrian(condition: Condition, axes: Sequence[Axis], *, relaxed: bool = False, watch: Watch = unwatched) -> Regions:
    """Multidimensional partitioning by greedy median cuts, LeFevre, DeWitt and Ramakrishnan, ICDE 2006 (S4.1, S4.2).

    Strict: rows of one point stay together. For k alone, d ordered axes and at most m copies of one point, no part has
    more than 2d(k-1) + m rows. Relaxed: rows at the median go to both sides, and a part that no axis can cut is halved
    in the order of all positions, so for k alone every part has k to 2k-1 rows; items must be single rows.
    The order of the axes decides between equal widths. Parts are numbered from left to right.

    >>> from shoal.frequency import FrequencySet
    >>> from shoal.models import KAnonymity
    >>> from shoal.partition.axes import Axis
    >>> items = FrequencySet.count({"age": (np.array([0, 0, 1, 1, 1, 1, 1], np.int32), 2)})
    >>> age = Axis("age", np.arange(2, dtype=np.int32), np.array([1.0, 5.0]))
    >>> found = mondrian(Condition(items, [KAnonymity(2)]), [age])
    >>> found.part.tolist(), found.low.tolist(), found.high.tolist()
    ([0, 1], [[0], [1]], [[0], [1]])
    """
    assert not relaxed or not np.any(condition.items.counts != 1)
    if condition.k is None:
        return grow(condition, axes, by_width(axes, relaxed=relaxed), watch)
    given = compiled_form(condition.items, axes)
    found = Regions(*kernels.mondrian(*given, condition.k, relaxed))
    watch(1.0)
    return found


def by_width(axes: Sequence[Axis], *, relaxed: bool = False) -> PlanByExtents:
    """Offers the widest axis first: of an ordered one the cut after its median, then the one before it (S4.1)."""

    def plan(parts: Extents) -> Tries:
        wide = np.empty((parts.count, len(axes)))
        at = np.full((parts.count, len(axes), 2), At.NOWHERE, dtype=np.int32)
        for a, axis in enumerate(axes):
            low, high = parts.low[:, a], parts.high[:, a]
            wide[:, a] = axis.widths(low, high)
            several = low < high
            if axis.hierarchy is not None:
                at[several, a, 0] = At.CHILDREN
                continue
            at[several, a] = (At.HALVES, At.NOWHERE) if relaxed else (At.MEDIAN, At.BELOW_MEDIAN)
            if axis.null is not None:
                at[several & (high == axis.null), a] = (axis.null - 1, At.NOWHERE)
        order = np.argsort(-wide, axis=1, kind="stable")
        on: Codes = np.repeat(order, 2, axis=1).astype(np.int32)
        there: Codes = np.take_along_axis(at, order[:, :, None], axis=1).reshape(parts.count, -1)
        if relaxed:
            on = np.pad(on, ((0, 0), (0, 1)))
            there = np.pad(there, ((0, 0), (0, 1)), constant_values=At.HALVES)
        return in_a_row(on, there)

    return plan


def in_a_row(axis: Codes, at: Codes) -> Tries:
    """The tries without the gaps between them."""
    filled = np.argsort(at == At.NOWHERE, axis=1, kind="stable")
    return Tries(np.take_along_axis(axis, filled, axis=1), np.take_along_axis(at, filled, axis=1))
