"""Classes of a table as local recoding sees them: codes, groups at each level, and what a label costs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.data.class_counts import ClassCounts, Indices, Longs, ValueCounts, sum_counts
from shoal.data.codes import Codes
from shoal.data.packed_keys import LongCounts, join_columns
from shoal.models.alpha_k import AlphaK
from shoal.models.closeness import TCloseness, rank_values
from shoal.models.k_anonymity import KAnonymity, least_size
from shoal.models.l_diversity import DistinctLDiversity, EntropyLDiversity
from shoal.models.likeness import BetaLikeness
from shoal.models.model import Flags, Model, exact, exact_share
from shoal.models.p_sensitive import PSensitive
from shoal.models.recursive_cl import RecursiveCLDiversity
from shoal.partition.condition import Condition
from shoal.recoding.outcome import Before

Floats = NDArray[np.float64]
ROUNDING = 1e-9
_MOST_STEPS = 4_000_000
"""Most rows times the least rows of a class for which rows are thought of in classes."""
_MOST_SIZES = 1_000_000
"""Most sizes times values that are tried for the least size of a class."""
NOTHING = 1e3
"""Loss of a row that shares no label with the rest of its part: more than any label costs."""


@dataclass(frozen=True)
class Cells:
    """Points: the classes of a table sorted by their codes, so that nothing depends on the order of rows.

    A part is a set of points. It shows each attribute at the lowest level at which all its points are in one group.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> from shoal.data.frequency_set import FrequencySet
    >>> from shoal.hierarchy import Taxonomy, compile_taxonomy
    >>> age = encode("age", pa.array([32, 30, 31, 32]))
    >>> tree = Taxonomy(["30", "31", "32", "33"], [["30-1", "30-1", "32-3", "32-3"], ["*"] * 4], str)
    >>> cells = Cells.of(Before(FrequencySet.count({"age": (age.codes, 3)}), (compile_taxonomy(age, tree),)))
    >>> part = np.array([0, 0, 1], np.int32)
    >>> cells.codes.ravel().tolist(), cells.levels(part, 2).ravel().tolist(), cells.loss(part, 2)
    ([0, 1, 2], [1, 0], 0.16666666666666666)
    """

    order: NDArray[np.intp]
    """The class behind each point."""
    codes: Codes
    """codes[point, attribute]"""
    rows: Longs
    groups: tuple[Codes, ...]
    """groups[attribute][code, level]; a hierarchy without one top gets one more level, which must not be shown."""
    losses: tuple[Floats, ...]
    """losses[attribute][code, level], times the weight of the attribute."""
    highest: Codes
    """The highest level of each attribute that may be shown."""

    @classmethod
    def of(cls, before: Before) -> "Cells":
        """Sort the classes of a table, and tabulate the group and the loss of each code at each level."""
        codes = np.stack([before.classes.codes(name) for name in before.classes.attributes], axis=1)
        order = np.lexsort(codes.T[::-1])
        groups, losses = [], []
        for hierarchy, weight in zip(before.hierarchies, before.weights, strict=True):
            # [level][code] group of each code, and the weighted loss of that group
            levels = list(hierarchy.levels)
            costs = [weight * cost[group] for cost, group in zip(hierarchy.losses, levels, strict=True)]
            if hierarchy.groups(hierarchy.height) > 1:
                levels.append(np.zeros_like(levels[0]))
                costs.append(np.full(len(levels[0]), NOTHING))
            groups.append(np.ascontiguousarray(np.stack(levels, axis=1)))
            losses.append(np.ascontiguousarray(np.stack(costs, axis=1)))
        highest = np.array([hierarchy.height for hierarchy in before.hierarchies], dtype=np.int32)
        rows = before.classes.counts[order]
        return cls(order, np.ascontiguousarray(codes[order]), rows, tuple(groups), tuple(losses), highest)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        return int(self.codes.shape[1])

    def levels(self, part: Codes, parts: int) -> Codes:
        """Return levels[part, attribute]: the level at which each part shows each attribute."""
        return np.stack([self.level(i, part, parts) for i in range(self.width)], axis=1)

    def level(self, i: int, part: Codes, parts: int) -> Codes:
        """Return the level at which each part shows attribute i.

        Levels are nested: the number of levels at which a point and the first of its part differ is where they meet.
        """
        first = self.first(part, parts)
        # [point, level] group of each point, and of the first point of its part
        mine, others = self.groups[i][self.codes[:, i]], self.groups[i][self.codes[first, i]][part]
        steps = (mine != others).sum(axis=1, dtype=np.int32)
        level = np.zeros(parts, dtype=np.int32)
        np.maximum.at(level, part, steps)
        return level

    def first(self, part: Codes, parts: int) -> NDArray[np.intp]:
        """Return the first point of each part."""
        # assigned in reverse, so that the first point of each part is written last
        first = np.zeros(parts, dtype=np.intp)
        first[part[::-1]] = np.arange(len(part))[::-1]
        return first

    def loss(self, part: Codes, parts: int) -> float:
        """Return the mean loss of a row (NCP: Xu et al., KDD 2006)."""
        levels, codes = self.levels(part, parts), self.codes[self.first(part, parts)]
        # [part] loss of one of its rows
        costs = sum(self.losses[i][codes[:, i], levels[:, i]] for i in range(self.width))
        return float(np.bincount(part, weights=self.rows, minlength=parts) @ costs / self.rows.sum())

    def merge_equal_labels(self, part: Codes, parts: int) -> tuple[Codes, int]:
        """Merge parts of equal labels, which are one class of the release, and number them in the order of the points.

        A part shows the lowest level it can, so labels are equal where levels and groups are.
        """
        levels, codes = self.levels(part, parts), self.codes[self.first(part, parts)]
        labels = []
        for i, groups in enumerate(self.groups):
            size = int(groups.max(initial=0)) + 1
            # [part] one code for each pair of level and group
            labels.append((levels[:, i] * size + groups[codes[:, i], levels[:, i]], size * groups.shape[1]))
        same = join_columns(labels)[0][part]
        return renumber_parts(same)


class SpreadForm(IntEnum):
    """How a rule says that values must be spread, as the compiled clusters number it."""

    DISTINCT = 0
    SHARES = 1
    ENTROPY = 2
    RECURSIVE = 3
    EQUAL = 4
    ORDERED = 5


RuleArrays = tuple[int, float, int, Floats, Longs, Codes, Longs]


@dataclass(frozen=True)
class SpreadRule:
    """A model as the compiled clusters know it: how the values of a cluster must be spread.

    It guides the clusters, and the model itself judges them.
    """

    form: SpreadForm
    classes: Indices
    """The class of each entry: of a value that occurs in a class, with how often."""
    values: Indices
    counts: Longs
    limits: Floats
    """One number per value: its greatest share, or its share in the table."""
    number: float = 0.0
    least: int = 1

    def arrays(self, place: NDArray[np.integer], count: int) -> RuleArrays:
        """Return the rule for `count` points, as the compiled clusters take it; `place` is the point of each class.

        Classes of point -1 are left out; the entries of classes of one point are listed one after the other.
        """
        at = place[self.classes]
        order = np.lexsort((self.values, at))[np.count_nonzero(at < 0) :]
        begin = np.concatenate([[0], np.cumsum(np.bincount(at[order], minlength=count))]).astype(np.int64)
        values = np.ascontiguousarray(self.values[order], dtype=np.int32)
        return int(self.form), self.number, self.least, self.limits, begin, values, self.counts[order]


def rules_of(condition: Condition) -> list[SpreadRule]:
    """Return the rules that the models of a condition come down to; the others are left to the models alone."""
    counts = condition.items.class_counts(condition.reading)
    made = (_rule_of(model, condition, counts) for model in condition.parts if not model.table_wide)
    return [rule for rule in made if rule is not None]


def lasting_rules_of(condition: Condition) -> list[SpreadRule]:
    """Return what every set of rows around a class that keeps the models of a condition keeps as well.

    It holds enough different values, and those that no such class can do without. Where every row counts, some of its
    values can keep the rule itself: of that the compiled code asks.
    """
    found = []
    for rule in rules_of(condition):
        complete = int(rule.counts.sum()) == condition.items.rows  # else a class may hold no value at all
        needed = np.zeros(len(rule.limits), dtype=bool)
        if rule.form in {SpreadForm.DISTINCT, SpreadForm.RECURSIVE}:
            least = rule.least
        elif rule.form is SpreadForm.ENTROPY:
            least = ceil(rule.number - ROUNDING)
        elif rule.form is SpreadForm.SHARES and complete:
            least = _count_until(rule.limits, 1.0)
            needed = rule.limits.sum() - rule.limits < 1 - ROUNDING
        elif rule.form is SpreadForm.EQUAL and complete:  # values that a class lacks are as far as their shares
            least = _count_until(rule.limits, 1 - rule.number)
            needed = rule.limits > rule.number + ROUNDING
        else:
            continue
        found.append(replace(rule, form=SpreadForm.DISTINCT, least=least))
        if needed.any():
            kept = needed[rule.values]
            entries = rule.classes[kept], rule.values[kept], rule.counts[kept]
            found.append(SpreadRule(SpreadForm.DISTINCT, *entries, rule.limits, least=int(needed.sum())))
        if complete and condition.reading.unit is None and rule.form is not SpreadForm.DISTINCT:
            found.append(_loosen(rule))
    return found


def _loosen(rule: SpreadRule) -> SpreadRule:
    """Return a rule whose number is a little greater, unless it is exact: what is refused then is refused for sure.

    >>> nothing = np.zeros(0, np.int64)
    >>> rule = SpreadRule(SpreadForm.RECURSIVE, nothing, nothing, nothing, np.zeros(2), 2.0, 2)
    >>> _loosen(rule).number, _loosen(replace(rule, number=0.1)).number > 0.1
    (2.0, True)
    """
    known = rule.form is not SpreadForm.RECURSIVE or exact("c", rule.number) == Fraction(rule.number)
    return rule if known else replace(rule, number=rule.number * (1 + ROUNDING))


def least_rows_of(condition: Condition) -> int:
    """Return how many rows every class has that keeps the models of a condition, whatever its values."""
    rows = condition.items.rows
    sizes = [
        _least_rows(rule, min(rows, _MOST_SIZES // max(len(rule.limits), 1) + 1))
        for rule in rules_of(condition)
        if int(rule.counts.sum()) == rows  # else a class may hold no value at all
    ]
    return max(least_size(condition.models), *sizes, 1)


def _least_rows(rule: SpreadRule, most: int) -> int:
    """Return the least number of rows, at least 1, that some values of them can keep a rule; at most one beyond `most`.

    >>> nothing = np.zeros(0, np.int64)
    >>> _least_rows(SpreadRule(SpreadForm.EQUAL, nothing, nothing, nothing, np.array([0.5, 0.3, 0.2]), 0.1), 20)
    4
    >>> _least_rows(SpreadRule(SpreadForm.SHARES, nothing, nothing, nothing, np.array([0.4, 0.3, 0.35])), 20)
    10
    """
    size = np.arange(1, most + 1)
    if rule.form is SpreadForm.SHARES:
        # values may fill each size up to their limits
        possible = np.floor(np.outer(size, rule.limits + ROUNDING)).sum(axis=1) >= size
    elif rule.form is SpreadForm.EQUAL:
        # [size, value] counts in the shares of the table, rounded down; the largest remainders are rounded up instead
        wanted = np.outer(size, rule.limits)
        remainders = np.sort(wanted % 1, axis=1)[:, ::-1]
        up = np.arange(len(rule.limits)) < (size - np.floor(wanted).sum(axis=1))[:, None]
        possible = ((1 - remainders) * up).sum(axis=1) <= size * (rule.number + ROUNDING)
    elif rule.form is SpreadForm.RECURSIVE:
        # [size, value] counts as even as can be; the first must be less than the rest beyond `least` times a number
        values = len(rule.limits)
        even = size[:, None] // values + (np.arange(values) < (size % values)[:, None])
        possible = even[:, 0] < rule.number * even[:, rule.least - 1 :].sum(axis=1) * (1 + ROUNDING)
    else:
        return 1
    return int(np.argmax(possible)) + 1 if possible.any() else most + 1


def _count_until(shares: Floats, total: float) -> int:
    """Return the least number of shares that sum to a total, the largest first; rounding never counts one too many.

    >>> _count_until(np.array([0.1, 0.5, 0.4]), 0.9)
    2
    """
    return int(np.count_nonzero(np.cumsum(np.sort(shares)[::-1]) < total - ROUNDING)) + 1


Terms = tuple[SpreadForm, float, int, Floats]
"""Form, number, least and limits of a rule."""


def _rule_of(model: Model, condition: Condition, counts: ClassCounts) -> SpreadRule | None:
    """Return the rule that a model comes down to, None if there is none."""
    unit, about = condition.reading.unit, model.about
    if isinstance(model, KAnonymity):  # of rows, the least number of them says it
        persons = None if unit is None else condition.items.long[unit]
        return None if persons is None else _rule((SpreadForm.DISTINCT, 0.0, model.k, np.zeros(persons.size)), persons)
    if model.columns or about not in counts.sensitive or type(model) not in _TERMS:
        return None
    assert about is not None
    held = counts.sensitive[about].select_protecting(null=model.null_is_value)  # type: ignore[attr-defined]
    if isinstance(model, TCloseness) and model.distance == "ordered":
        ranks = rank_values(held, about)
        groups = sum_counts(ranks, held.overall) if len(ranks) else np.zeros(1, dtype=np.int64)
        held = replace(held, values=ranks[held.values], reference=groups)
    terms = _TERMS[type(model)](model, held, held.overall / max(int(held.overall.sum()), 1))
    return None if terms is None else _rule(terms, held)


def _rule(terms: Terms, entries: LongCounts | ValueCounts) -> SpreadRule:
    form, number, least, limits = terms
    return SpreadRule(form, entries.classes, entries.values, entries.counts, limits, number, least)


def _closeness_terms(model: TCloseness, _: ValueCounts, shares: Floats) -> Terms | None:
    """Return the terms of t-closeness; along a hierarchy there are none."""
    forms = {"ordered": SpreadForm.ORDERED, "equal": SpreadForm.EQUAL, None: SpreadForm.EQUAL}
    form = forms.get(model.distance)
    return None if form is None else (form, float(exact_share("t", model.t)), 1, shares)


_TERMS: dict[type, Callable[[Any, ValueCounts, Floats], Terms | None]] = {
    DistinctLDiversity: lambda model, _, shares: (SpreadForm.DISTINCT, 0.0, model.l, shares),
    PSensitive: lambda model, _, shares: (SpreadForm.DISTINCT, 0.0, model.p, shares),
    EntropyLDiversity: lambda model, _, shares: (SpreadForm.ENTROPY, float(model.l), 1, shares),
    RecursiveCLDiversity: lambda model, _, shares: (SpreadForm.RECURSIVE, float(model.c), model.l, shares),
    AlphaK: lambda model, held, _: (SpreadForm.SHARES, 1.0, 1, np.array(model.limits(held.labels), dtype=np.float64)),
    BetaLikeness: lambda model, _, shares: (SpreadForm.SHARES, 1.0, 1, (1 + float(model.beta)) * shares),
    TCloseness: _closeness_terms,
}
"""The terms of a rule by the model, what is counted of it, and the share of each value in the table."""


def lower_bound(judge: "Judge", part: Codes, parts: int) -> float:
    """Return what the rows lose at least, whatever parts they are in, given the parts that were found.

    A row loses no less than in the cheapest set of rows that holds it and some rows and values that a class can have.
    Rows share their class with others, who then lose as much: of classes as large as each must be, those of rows that
    lose about the same lose least, and no release loses less.
    """
    cells = judge.cells
    levels, members = cells.levels(part, parts), cells.codes[cells.first(part, parts)]
    costs = np.sum([cells.losses[i][members[:, i], levels[:, i]] for i in range(cells.width)], axis=0)[part]
    # points of the same codes are one: [point] its number, [distinct point] one of its points, its rows, its cost
    point, count, _ = join_columns([(codes, int(codes.max()) + 1) for codes in np.ascontiguousarray(cells.codes.T)])
    one, rows, most = np.empty(count, dtype=np.int64), np.zeros(count, dtype=np.int64), np.zeros(count)
    one[point] = np.arange(len(point))
    np.add.at(rows, point, cells.rows)
    np.maximum.at(most, point, costs)
    place = np.empty(len(cells), dtype=np.int64)
    place[cells.order] = point
    size = least_rows_of(judge.condition)
    least = kernels.cheapest_sets(
        np.ascontiguousarray(cells.codes[one]),
        rows,
        cells.groups,
        cells.losses,
        size,
        [rule.arrays(place, count) for rule in lasting_rules_of(judge.condition)],
        most,
    )
    each, total = np.minimum(least[point], costs), int(cells.rows.sum())
    alone, score = float(cells.rows @ each), float(cells.rows @ costs)
    if not 1 < size <= total or total * size > _MOST_STEPS:  # the more rows, the less difference it makes
        return alone / total
    dearest = np.argsort(-each, kind="stable")
    together = kernels.cost_in_classes(np.repeat(each[dearest], cells.rows[dearest]), size)
    return min(max(alone, together), score) / total


@dataclass(frozen=True)
class Judge:
    """Checks a condition on parts of points."""

    cells: Cells
    condition: Condition

    @cached_property
    def merging_is_safe(self) -> bool:
        """Whether the union of complying parts always complies, and no model is about the whole table."""
        return not self.condition.table_wide and all(part.merging > 0 for part in self.condition.parts)

    @cached_property
    def rules(self) -> list[SpreadRule]:
        """What the compiled clusters know of the models beside the least number of rows."""
        return [] if self.condition.k is not None else rules_of(self.condition)

    def complies(self, part: Codes, parts: int) -> Flags:
        """Return which parts comply and have a label for every attribute; points of part -1 are left out."""
        inside = np.flatnonzero(part >= 0)
        some = part[inside]
        # [class] its part: back from the order of the points to that of the classes
        items = np.full(len(part), -1, dtype=np.int32)
        items[self.cells.order] = part
        flags = self.condition.complies(items, parts)
        for i, top in enumerate(self.cells.highest):
            if top < self.cells.groups[i].shape[1] - 1:
                group = self.cells.groups[i][self.cells.codes[inside, i], top]
                # [part] group of some point at the top: another group in the same part means that no label covers both
                one = np.zeros(parts, dtype=np.int32)
                one[some] = group
                flags = flags & (np.bincount(some, weights=group != one[some], minlength=parts) == 0)
        return flags

    def is_releasable(self, part: Codes, parts: int) -> bool:
        """Return whether these parts may be released."""
        if not self.complies(part, parts).all():
            return False
        items = np.empty_like(part)
        items[self.cells.order] = part
        return self.condition.holds(items, parts)


def renumber_parts(part: Codes) -> tuple[Codes, int]:
    """Renumber parts from 0 in the order in which they appear, keeping -1; return also how many there are.

    >>> renumber_parts(np.array([7, -1, 3, 7], np.int32))[0].tolist()
    [0, -1, 1, 0]
    """
    inside = part >= 0
    values, first, of = np.unique(part[inside], return_index=True, return_inverse=True)
    # [old number] its place in the order of first appearance
    number = np.empty(len(values), dtype=np.int32)
    number[np.argsort(first)] = np.arange(len(values), dtype=np.int32)
    fresh = np.full(len(part), -1, dtype=np.int32)
    fresh[inside] = number[of]
    return fresh, len(values)
