"""The models of a policy as a condition that every part must meet."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shoal.data.class_counts import ClassCounts, sum_counts
from shoal.data.codes import Codes
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation, join_columns
from shoal.models.k_anonymity import KAnonymity, least_size
from shoal.models.model import Closure, Flags, Model
from shoal.problem import Problem, columns_to_count
from shoal.search.driver import Ask
from shoal.search.oracle import Tally

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.data.packed_keys import Beside


FEW_ROWS = 100
"""Rows of a small table, in which any row may be lent."""
LENT_ONE_BY_ONE = 4
"""Equal rows of a larger table that may be lent whatever classes need, each of them an item."""


@dataclass(frozen=True)
class Condition:
    """Checks any partition of items; an item is a class of the table, or one of its rows.

    >>> ages = FrequencySet.count({"age": (np.array([0, 1, 2, 2], np.int32), 3)})
    >>> condition = Condition(ages, [KAnonymity(2)])
    >>> condition.complies(np.array([0, 1, 0], np.int32), 2).tolist(), condition.k
    ([True, False], 2)
    """

    items: FrequencySet
    models: Sequence[Model]
    reading: CountInterpretation = CountInterpretation()  # noqa: RUF009 frozen

    @cached_property
    def parts(self) -> list[Model]:
        """The single models that the models consist of."""
        return [part for model in self.models for part in model.parts()]

    @cached_property
    def k(self) -> int | None:
        """The least size of a part, if k-anonymity of rows is all that is required; else None."""
        sizes = [part.k for part in self.parts if isinstance(part, KAnonymity)]
        return max(sizes) if len(sizes) == len(self.parts) and self.reading.unit is None else None

    @cached_property
    def least(self) -> int:
        """A lower bound of the rows of a complying part, whatever else is required: k persons have at least k rows."""
        return max((part.k for part in self.parts if isinstance(part, KAnonymity)), default=1)

    @cached_property
    def table_wide(self) -> bool:
        """Whether some model is about all parts together."""
        return any(part.table_wide for part in self.parts)

    @cached_property
    def closed(self) -> "Condition":
        """The same for the models of single classes alone that parts of a failing class cannot keep either."""
        lasting = [part for part in self.parts if part.merging is not Closure.NOT and not part.table_wide]
        return replace(self, models=[KAnonymity(1), *lasting])

    def complies(self, part: Codes, parts: int) -> Flags:
        """Return which parts keep every model of single classes; each number below `parts` occurs, -1 is left out."""
        if self.k is not None:
            inside = part >= 0
            sizes = sum_counts(part[inside], self.items.counts[inside], parts)
            return np.asarray(sizes >= self.k)
        flags = np.ones(parts, dtype=bool)
        counts = self.counts(part, parts)
        for model in self.parts:
            if not model.table_wide:
                flags &= model.complies(counts)
        return flags

    def holds(self, part: Codes, parts: int) -> bool:
        """Return whether all parts together keep the models of the whole table."""
        if not self.table_wide:
            return True
        counts = self.counts(part, parts)
        return all(model.holds(counts) for model in self.parts if model.table_wide)

    def counts(self, part: Codes, parts: int) -> ClassCounts:
        """Return the counts that models are checked against, with one class per part."""
        counts = self.items.merge_into_parts(part, parts).class_counts(self.reading)
        shown = np.arange(parts, dtype=np.int32)
        return replace(counts, released=dict.fromkeys(self.items.attributes, shown) if counts.joint else {})


def condition_of(problem: Problem, items: FrequencySet) -> Condition:
    """Return what a problem requires of every part of these items."""
    return Condition(items, problem.policy.models, problem.reading)


def rows_as_items(problem: Problem) -> tuple[FrequencySet, Codes]:
    """Return every row as an item, sorted by value so that the table's order does not matter; and each row's item."""
    table, quasi = problem.table, problem.quasi
    others = [name for name in table.columns if name not in quasi]
    # [item] its row: sorted by the quasi-identifiers first, then by the other columns
    order = np.lexsort([table[name].codes for name in reversed([*quasi, *others])])

    def coded(name: str) -> tuple[Codes, int]:
        return table[name].codes[order], table[name].size

    beside: Beside = {
        one: coded(one) if isinstance(one, str) else join_columns([coded(name) for name in one])
        for one in columns_to_count(problem.policy, quasi)
    }
    item = np.empty(len(order), dtype=np.int32)  # the inverse of the order
    item[order] = np.arange(len(order), dtype=np.int32)
    return FrequencySet.from_rows({name: coded(name) for name in quasi}, beside), item


def lending_items(
    problem: Problem, least: int, *, any_value: bool, lifts: Mapping[str, Codes] | None = None
) -> tuple[FrequencySet, Codes]:
    """Return the table's classes cut into items that may go to different parts, and each row's item.

    Rows that agree in all that is counted are one item, except that some of them are items of their own: a class that
    has more rows than it needs can lend these, as many as one row lacks in a class of `least` rows. With `any_value`
    many rows of equal quasi-identifiers lend rare values, too. In small tables every row is an item. Which rows are
    lent is drawn from the seed, since an order by value would tell who they are; the order of the table does not
    matter. The rows of a person that agree in the quasi-identifiers are one item. `lifts` replaces the codes of
    quasi-identifiers.
    """
    table, quasi, policy = problem.table, problem.quasi, problem.policy
    codes = {name: table[name].codes if lifts is None else lifts[name][table[name].codes] for name in quasi}
    counted = columns_to_count(policy, quasi)
    if policy.unit is None:
        alike = dict.fromkeys(name for one in counted for name in ([one] if isinstance(one, str) else one))
    else:
        alike = {policy.unit: None}
    alike = {name: None for name in alike if name not in quasi}
    others = [name for name in table.columns if name not in quasi and name not in alike]
    columns = [*codes.values(), *(table[name].codes for name in [*alike, *quasi, *others])]
    keys: list[NDArray[np.generic]] = [*columns[: len(quasi) + len(alike)]]
    # [place] its row: first in the order of all values, then rows that are alike in an order that is drawn
    order = np.lexsort(columns[::-1])
    drawn = np.empty(len(order), dtype=np.uint64)
    drawn[order] = np.random.PCG64(policy.method.seed).random_raw(len(order))
    order = np.lexsort((drawn, *keys[::-1]))
    # [place] whether its row differs from the one before; then the rows of its group, and how many of them are left
    fresh = _find_changes(keys, order)
    size, left = _count_runs(fresh)
    if policy.unit is not None:
        lent = np.zeros_like(size)
    elif len(order) <= FEW_ROWS:
        lent = size
    else:  # what the group has beyond the least size of a class; among many rows it need not have that itself
        own = least_size(policy.models)
        point, _ = _count_runs(_find_changes(keys[: len(quasi)], order))
        spare = np.where(any_value & (point >= FEW_ROWS + own), size, size - own)
        lent = np.clip(spare, 0, max(least - 1, LENT_ONE_BY_ONE))
    item = np.empty(len(order), dtype=np.int32)
    item[order] = np.cumsum(fresh | _begin_lent_items(left, lent, one_by_one=len(order) <= FEW_ROWS)) - 1

    beside: Beside = {
        one: (table[one].codes, table[one].size)
        if isinstance(one, str)
        else join_columns([(table[name].codes, table[name].size) for name in one])
        for one in counted
    }
    return FrequencySet.from_items(item, {name: (codes[name], table[name].size) for name in quasi}, beside), item


def _find_changes(keys: Sequence["NDArray[np.generic]"], order: "NDArray[np.intp]") -> Flags:
    """Return which rows, in some order, differ from the one before."""
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    return fresh


def _count_runs(fresh: Flags) -> tuple["NDArray[np.int64]", "NDArray[np.int64]"]:
    """Return the length of each place's run, and how much of it is left from there on, given where runs begin.

    >>> size, left = _count_runs(np.array([True, False, True]))
    >>> size.tolist(), left.tolist()
    ([2, 2, 1], [2, 1, 1])
    """
    run = np.cumsum(fresh) - 1
    end = np.append(np.flatnonzero(fresh)[1:], len(fresh))
    return np.bincount(run)[run], end[run] - np.arange(len(fresh))


def _begin_lent_items(left: "NDArray[np.int64]", lent: "NDArray[np.int64]", *, one_by_one: bool) -> Flags:
    """Return which rows begin an item that is lent, given how many rows of their group are left and how many are lent.

    Four rows are lent one by one, then two at once, three at once and so on. These are few items, and a class that
    was lent too much can always give an item back, or exchange it for one of a row less.

    >>> left = np.arange(12, 0, -1)
    >>> left[_begin_lent_items(left, np.full(12, 9), one_by_one=False)].tolist()
    [9, 6, 4, 3, 2, 1]
    """
    sizes = np.arange(1, int(np.sqrt(2 * lent.max(initial=0))) + 2)
    begins = np.isin(left, LENT_ONE_BY_ONE - 1 + np.cumsum(sizes)) | (left < LENT_ONE_BY_ONE) | (left == lent)
    return np.asarray((left <= lent) & (begins | one_by_one))


def progress_reporter_of(problem: Problem) -> Callable[[float], None]:
    """Return a function that reports the share of the work that is done."""
    return lambda share: problem.watch(Ask((), share), Tally())
