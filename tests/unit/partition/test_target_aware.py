"""Target-aware Mondrian, held to its definition on rows and to plain Mondrian."""

from collections import Counter
from dataclasses import astuple
from fractions import Fraction
from math import log

import naive
import naive_partition as textbook
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.frequency_set import FrequencySet
from shoal.models.k_anonymity import KAnonymity
from shoal.partition.axes import Axis
from shoal.partition.condition import Condition
from shoal.partition.mondrian import cut_all_parts, mondrian
from shoal.partition.target_aware import Target, plan_by_impurity, target_aware

NUMBER = {"u": Fraction(1), "v": Fraction(2), "w": Fraction(10)}


def entropy(values):
    """n times the entropy, in nats."""
    return sum(-many * log(many / len(values)) for many in Counter(values).values())


def squares(values):
    numbers = [NUMBER[value] for value in values]
    mean = sum(numbers) / len(numbers)
    return sum((number - mean) ** 2 for number in numbers)


def naive_target_aware(table, impurity):
    """Of every allowable cut the one of least impurity; ties to the first attribute, then to the lower position."""
    done, waiting = set(), [list(range(table.rows))]
    while waiting:
        rows = waiting.pop()
        best = None
        for name in table.names():
            for sides in textbook.any_cuts(table, rows, name):
                if textbook.allowable(table, sides):
                    cost = sum(impurity([table.sensitive[row] for row in side]) for side in sides)
                    if best is None or cost < best[0] - 1e-9:
                        best = (cost, sides)
        if best is None:
            done.add(frozenset(rows))
        else:
            waiting += best[1]
    return done


def target_of(condition, numbers=None):
    return Target(condition.items.long[naive.SENSITIVE], numbers)


@naive.examples(400)
@given(textbook.tables())
def test_least_entropy(table):
    """S4.9: a class attribute."""
    condition = table.condition()
    found = target_aware(condition, table.axes(), target_of(condition))
    assert set(map(frozenset, table.parts(found, condition))) == naive_target_aware(table, entropy)


@naive.examples(400)
@given(textbook.tables())
def test_least_squares(table):
    """S4.9: a number."""
    condition = table.condition()
    numbers = np.array([float(NUMBER[label]) for label in condition.reading.labels[naive.SENSITIVE]])
    found = target_aware(condition, table.axes(), target_of(condition, numbers))
    assert set(map(frozenset, table.parts(found, condition))) == naive_target_aware(table, squares)


def by_levels(condition, axes, target):
    """All parts at once: the way of any other promise."""
    return cut_all_parts(
        condition, axes, plan_by_impurity(axes, target.impurity(len(condition.items)), condition.least)
    )


@naive.examples(300)
@given(textbook.tables(), st.booleans())
def test_the_compiled_cuts_equal_those_by_levels(table, numeric):
    """S4.9."""
    condition, axes = table.condition(), table.axes()
    labels = condition.reading.labels[naive.SENSITIVE]
    target = target_of(condition, np.arange(float(len(labels))) ** 2 if numeric else None)
    one, other = target_aware(condition, axes, target), by_levels(condition, axes, target)
    assert all(np.array_equal(*pair) for pair in zip(astuple(one), astuple(other), strict=True))


@pytest.mark.parametrize("promises", ["l", "alpha"])
def test_parts_comply_with_other_promises(promises):
    """S4.9: every part complies."""

    @naive.examples(150)
    @given(textbook.tables(promises))
    def check(table):
        condition = table.condition()
        parts = table.parts(target_aware(condition, table.axes(), target_of(condition)), condition)
        assert len(parts) == 1 or all(table.holds(part) for part in parts)

    check()


def planted(seed, rows=3_000):
    """A class and a number that depend on a narrow axis; the wide ones tell nothing."""
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, size, rows, dtype=np.int32) for name, size in (("x", 50), ("y", 40), ("z", 12))}
    kind = np.where(rng.random(rows) < 0.1, rng.integers(0, 3, rows), columns["z"] // 4).astype(np.int32)
    items = FrequencySet.count({n: (codes, 50) for n, codes in columns.items()}, {"kind": (kind, 3)})
    axes = [Axis(n, np.arange(50, dtype=np.int32), np.arange(50.0), importance=i) for n, i in zip("xyz", (1, 1, 0.1))]  # noqa: B905
    return Condition(items, [KAnonymity(20)]), axes


def errors(condition, found):
    """Rows that are not of the commonest kind of their part."""
    long = condition.items.long["kind"].merge_classes(found.part)
    most = np.zeros(found.count, dtype=np.int64)
    np.maximum.at(most, long.classes, long.counts)
    return condition.items.rows - most.sum()


def scatter(condition, found, numbers):
    """Squared distances from the mean of each part."""
    long = condition.items.long["kind"].merge_classes(found.part)
    number = numbers[long.values]
    rows, sums, both = (np.bincount(long.classes, long.counts * number**p) for p in range(3))
    return (both - sums**2 / rows).sum()


@pytest.mark.parametrize("seed", range(3))
def test_parts_tell_more_of_the_target_than_plain_mondrian(seed):
    """S4.9: fewer errors of a majority vote, and less scatter of a number, than plain Mondrian at the same k."""
    condition, axes = planted(seed)
    plain = mondrian(condition, axes)
    target = Target(condition.items.long["kind"])
    assert errors(condition, target_aware(condition, axes, target)) < 0.5 * errors(condition, plain)
    numbers = np.array([0.0, 10.0, 11.0])
    aware = target_aware(condition, axes, Target(target.entries, numbers))
    assert scatter(condition, aware, numbers) < 0.5 * scatter(condition, plain, numbers)


def test_several_targets():
    """S4.9: the sum of the entropies; a target told twice changes nothing."""
    condition, axes = planted(0)
    target = Target(condition.items.long["kind"])
    once, twice = (target_aware(condition, axes, t) for t in (target, target.combine(target)))
    assert np.array_equal(once.part, twice.part)
