"""Mondrian: the compiled cuts, the ones for any promise, and the textbook on rows."""

from collections import Counter

import naive
import naive_partition as textbook
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from real_tables import REAL, real_table

from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation
from shoal.errors import Infeasible
from shoal.models.k_anonymity import KAnonymity
from shoal.models.leakage import AlpDif
from shoal.models.proximity import EpsilonM
from shoal.partition.axes import Axis, ordered_axis, sort_axes
from shoal.partition.condition import Condition
from shoal.partition.mondrian import cut_all_parts, mondrian, plan_by_width


def sets(table, condition, found, order=None):
    return {frozenset(part) for part in table.parts(found, condition, order)}


def same(one, other):
    return (
        np.array_equal(one.part, other.part)
        and np.array_equal(one.low, other.low)
        and np.array_equal(one.high, other.high)
    )


def test_patients():
    """S4.1: figure 4 of the paper; rows counted from 0."""
    table = textbook.by_number(2, textbook.PATIENTS)
    condition = table.condition()
    found = mondrian(condition, table.axes())
    assert sets(table, condition, found) == {frozenset({0, 2}), frozenset({3, 5}), frozenset({1, 4})}


def test_cuts_below_the_median_are_tried():
    """S4.1: 1,1,5,5,5,5,5 at k = 2 splits only by `<`."""
    table = textbook.by_number(2, {"x": [1, 1, 5, 5, 5, 5, 5]})
    condition = table.condition()
    found = mondrian(condition, table.axes())
    assert table.parts(found, condition) == [[0, 1], [2, 3, 4, 5, 6]]
    assert (found.low.tolist(), found.high.tolist()) == ([[0], [1]], [[0], [1]])


def test_a_region_ends_where_its_neighbour_begins():
    """S4.1: a region ends where its neighbour begins, and at the ends of the axis."""
    table = textbook.by_number(2, {"x": [1, 2, 2, 7, 8, 9]})
    found = mondrian(table.condition(), table.axes())
    assert (found.low.tolist(), found.high.tolist()) == ([[0], [2]], [[1], [4]])


def test_null_is_cut_off_first():
    """S4.1, design 7: {others} | {null}, whatever else is wide."""
    table = textbook.by_number(2, {"x": [1, 2, None, None], "y": [0, 9, 0, 9]})
    condition = table.condition()
    found = mondrian(condition, table.axes())
    assert table.parts(found, condition) == [[0, 1], [2, 3]]
    at = [axis.attribute for axis in table.axes()].index("x")
    assert (found.low[:, at].tolist(), found.high[:, at].tolist()) == ([0, 2], [1, 2])


def test_null_that_cannot_be_cut_off_stays():
    """S4.1, design 7: the region keeps null, to be shown as `*`; other axes are still cut."""
    table = textbook.by_number(2, {"x": [1, 2, 3, None], "y": [0, 0, 9, 9]})
    condition = table.condition()
    found = mondrian(condition, table.axes())
    assert table.parts(found, condition) == [[0, 1], [2, 3]]
    at = [axis.attribute for axis in table.axes()].index("x")
    assert (found.low[:, at].tolist(), found.high[:, at].tolist()) == ([0, 0], [2, 3])


@naive.examples(600)
@given(textbook.tables())
def test_strict_for_k(table):
    """S4.1, S4.4: compiled = all at once = textbook; every part has k rows, and no cut at any position is left."""
    condition = table.condition()
    axes = table.axes()
    found = mondrian(condition, axes)
    assert same(found, cut_all_parts(condition, axes, plan_by_width(axes)))
    parts = table.parts(found, condition)
    assert {frozenset(part) for part in parts} == textbook.strict_mondrian(table)
    assert all(table.holds(part) for part in parts) or len(parts) == 1
    for part in parts:
        for name in table.columns:
            assert not any(textbook.allowable(table, sides) for sides in textbook.any_cuts(table, part, name))
        if table.ordered and table.without_null() and len(parts) > 1:
            bound = 2 * len(axes) * (textbook.k_of(table) - 1) + table.copies()
            assert len(part) <= bound


@pytest.mark.parametrize("promises", ["l", "alpha", "t"])
def test_strict_for_other_promises(promises):
    """S4.1: every part complies, and no median cut that would is left."""

    @naive.examples(400)
    @given(textbook.tables(promises))
    def check(table):
        condition = table.condition()
        found = mondrian(condition, table.axes())
        parts = table.parts(found, condition)
        assert {frozenset(part) for part in parts} == textbook.strict_mondrian(table)
        assert all(table.holds(part) for part in parts) or len(parts) == 1

    check()


@naive.examples(300)
@given(textbook.tables(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(table, random):
    """S4.1."""
    order = list(range(table.rows))
    random.shuffle(order)
    one, other = table.condition(), table.condition(order=order)
    axes = table.axes()
    assert sets(table, one, mondrian(one, axes)) == sets(table, other, mondrian(other, axes), order)


@naive.examples(400)
@given(textbook.tables())
def test_relaxed_for_k(table):
    """S4.2: every part has k to 2k-1 rows; compiled = all at once."""
    condition = table.condition(rows=True)
    axes = table.axes()
    found = mondrian(condition, axes, relaxed=True)
    assert same(found, cut_all_parts(condition, axes, plan_by_width(axes, relaxed=True)))
    k, sizes = textbook.k_of(table), Counter(found.part.tolist())
    assert table.rows < k or all(k <= size < 2 * k for size in sizes.values())


@naive.examples(300)
@given(textbook.tables("l"))
def test_relaxed_for_other_promises(table):
    """S4.2: every part complies."""
    condition = table.condition(rows=True)
    parts = table.parts(mondrian(condition, table.axes(), relaxed=True), condition)
    assert len(parts) == 1 or all(table.holds(part) for part in parts)


@naive.examples(250)
@given(textbook.tables(), st.booleans())
def test_regions_hold_their_items(table, relaxed):
    """S4.1, S4.2: what a part holds lies in its region; strict regions of ordered axes do not overlap."""
    condition = table.condition(rows=True)
    axes = table.axes()
    found = mondrian(condition, axes, relaxed=relaxed)
    at = np.stack([axis.positions[condition.items.codes(axis.attribute)] for axis in axes], axis=1)
    assert np.all(found.low[found.part] <= at)
    assert np.all(at <= found.high[found.part])
    if table.ordered and table.without_null() and not relaxed:
        for one in range(found.count):
            for other in range(one):
                apart = (found.high[one] < found.low[other]) | (found.high[other] < found.low[one])
                assert apart.any()


@naive.examples(200)
@given(textbook.tables())
def test_a_promise_of_the_whole_table(table):
    """S4.1: what is promised of all parts together holds after every round, so at the end."""
    plain = table.condition()
    condition = Condition(plain.items, [*plain.models, AlpDif(alp=0.6, attribute=naive.SENSITIVE)], plain.reading)
    found = mondrian(condition, table.axes())
    one = np.zeros(len(condition.items), dtype=np.int32)
    assert found.count == 1 or bool(condition.complies(found.part, found.count).all())
    assert condition.holds(found.part, found.count) or not condition.holds(one, 1)


def test_the_watcher_is_told_of_the_end():
    heard = []
    table = textbook.by_number(2, textbook.PATIENTS)
    axes = table.axes()
    mondrian(table.condition(), axes, watch=heard.append)
    cut_all_parts(table.condition(), axes, plan_by_width(axes), heard.append)
    assert heard[0] == heard[-1] == 1.0
    assert heard[1:] == sorted(heard[1:])


def cuttable(part, codes, counts, k):
    """Behind which values of a part at least k rows lie on either side: sorted, and counted from both ends."""
    order = np.lexsort((codes, part))
    part, codes, counts = part[order], codes[order], counts[order]
    upto = np.cumsum(counts)
    ends = np.flatnonzero(np.append(part[1:] != part[:-1], True))
    total = np.diff(np.append(0, upto[ends]))[np.cumsum(np.append(0, part[1:] != part[:-1]))]
    left = upto - np.append(0, upto[ends])[np.cumsum(np.append(0, part[1:] != part[:-1]))]
    between = np.append((part[1:] == part[:-1]) & (codes[1:] != codes[:-1]), False)
    return between & (left >= k) & (total - left >= k)


def test_cuttable_by_hand():
    part, codes, counts = np.array([[0, 0, 0, 1, 1], [1, 3, 7, 2, 2], [2, 1, 2, 2, 2]])
    assert cuttable(part, codes, counts, 2).tolist() == [True, True, False, False, False]
    assert cuttable(part, codes, counts, 3).tolist() == [False] * 5


@pytest.mark.some(6)
@pytest.mark.parametrize("table", REAL)
@pytest.mark.parametrize("k", [2, 10, 100])
def test_real_tables(table, k):
    """S4.1, S4.2: the bounds on tables of real people, all columns ordered."""
    columns, rows, classes = real_table(table)
    axes = sort_axes(ordered_axis(column) for column in columns)
    found = mondrian(Condition(classes, [KAnonymity(k)]), axes)
    sizes = np.bincount(found.part, weights=classes.counts)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * len(axes) * (k - 1) + classes.counts.max()
    for axis in axes:
        assert not cuttable(found.part, classes.codes(axis.attribute), classes.counts, k).any()
    parts = mondrian(Condition(rows, [KAnonymity(k)]), axes, relaxed=True)
    sizes = np.bincount(parts.part)
    assert k <= sizes.min()
    assert sizes.max() < 2 * k


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_table_that_fails_as_one_part_is_cut_until_all_parts_comply(relaxed):
    """(epsilon, m): of 10, 12, 11, 13 three lie within 1 of 11, but {10, 12} and {11, 13} have none near each other."""
    ages, pay = np.array([0, 1, 2, 3], np.int32), np.array([0, 2, 1, 3], np.int32)
    items = FrequencySet.from_rows({"age": (ages, 4)}, {"pay": (pay, 4)})
    reading = CountInterpretation({"pay": ["10", "11", "12", "13"]})
    age = Axis("age", np.arange(4, dtype=np.int32), np.array([20.0, 21.0, 40.0, 41.0]))
    near = EpsilonM(1, 2, "pay")
    found = mondrian(Condition(items, [near], reading), [age], relaxed=relaxed)
    assert found.part.tolist() == [0, 0, 1, 1]
    with pytest.raises(Infeasible):  # two parts of two rows are all that may hold
        mondrian(Condition(items, [near, KAnonymity(3)], reading), [age], relaxed=relaxed)
