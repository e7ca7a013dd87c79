"""Single-dimensional partitioning, held to its definition on rows."""

from itertools import pairwise

import naive
import naive_partition as textbook
import numpy as np
import pytest
from hypothesis import given

from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation
from shoal.errors import Infeasible
from shoal.models.k_anonymity import KAnonymity
from shoal.models.proximity import EpsilonM
from shoal.partition.axes import Axis
from shoal.partition.condition import Condition
from shoal.partition.mondrian import mondrian
from shoal.partition.single_dimensional import single_dimensional


def intervals(found, axes, name):
    """The regions of the release on one axis."""
    at = [axis.attribute for axis in axes].index(name)
    return sorted(set(zip(found.low[:, at].tolist(), found.high[:, at].tolist(), strict=True)))


def test_patients():
    """S4.3: table 2 of the paper: age uncut, sex cut, zip cut into 53341 and 533448 … 533449."""
    table = textbook.by_number(2, textbook.PATIENTS)
    condition, axes = table.condition(), table.axes()
    found = single_dimensional(condition, axes)
    assert intervals(found, axes, "age") == [(0, 3)]
    assert intervals(found, axes, "sex") == [(0, 0), (1, 1)]
    assert intervals(found, axes, "zip") == [(0, 0), (1, 2)]
    assert sorted(table.parts(found, condition)) == [[0, 2, 3, 5], [1, 4]]


@pytest.mark.parametrize("n", [10, 40, 160])
def test_its_largest_class_grows_where_that_of_mondrian_does_not(n):
    """S4.3: two rows side by side block each cut of y for all, where Mondrian cuts the crowd at x = n as it likes."""
    x = [*range(n), *range(n), *[n] * n]
    y = [*range(n), *range(1, n + 1), *range(n)]
    columns = {"x": textbook.Ordered(x, importance=100), "y": textbook.Ordered(y)}
    table = textbook.Table(columns, ["u"] * len(x), [naive.k_anonymity(2)])
    condition, axes = table.condition(), table.axes()
    rows = condition.items.counts
    assert np.bincount(single_dimensional(condition, axes).part, weights=rows).max() == n
    assert np.bincount(mondrian(condition, axes).part, weights=rows).max() <= 2 * 2 * (2 - 1) + 1


def groups(table, found, condition):
    """Of each column, the rows that share an interval: the ones that have the same region there."""
    names = [axis.attribute for axis in table.axes()]
    for a, name in enumerate(names):
        shared = {}
        for number, rows in enumerate(table.parts(found, condition)):
            shared.setdefault((found.low[number, a], found.high[number, a]), []).extend(rows)
        yield from ((name, rows) for rows in shared.values())


def splits(parts, sides):
    """The pieces of the parts that a cut splits."""
    for part in parts:
        pieces = [[row for row in part if row in side] for side in sides]
        pieces = [piece for piece in pieces if piece]
        if len(pieces) > 1:
            yield from pieces


@pytest.mark.parametrize("promises", ["k", "l", "alpha"])
def test_no_allowable_cut_is_left(promises):
    """S4.3: every class complies; each cut that is left would leave some class with a side that does not."""

    @naive.examples(150)
    @given(textbook.tables(promises))
    def check(table):
        condition = table.condition()
        found = single_dimensional(condition, table.axes())
        parts = table.parts(found, condition)
        if not table.holds(range(table.rows)):
            return
        assert all(table.holds(part) for part in parts)
        for name, rows in groups(table, found, condition):
            for sides in textbook.any_cuts(table, rows, name):
                if len(sides) > 1:
                    assert not all(table.holds(piece) for piece in splits(parts, sides))

    check()


def diagonal():
    """Two people at (0, 0) and two at (1, 1)."""
    columns = {"x": textbook.Ordered([0, 0, 1, 1]), "y": textbook.Ordered([0, 0, 1, 1])}
    return textbook.Table(columns, ["u"] * 4, [naive.k_anonymity(2)])


def test_an_empty_side_is_where_the_two_definitions_differ():
    """After the cut of x both classes lie on one side of the cut of y: ours makes it, the paper's forbids it."""
    table = diagonal()
    condition, axes = table.condition(), table.axes()
    found = {empty: single_dimensional(condition, axes, empty_sides=empty) for empty in (True, False)}
    cut = {empty: sorted(len(intervals(each, axes, name)) for name in "xy") for empty, each in found.items()}
    assert cut == {True: [2, 2], False: [1, 2]}
    assert all(sorted(table.parts(each, condition)) == [[0, 1], [2, 3]] for each in found.values())


@naive.examples(150)
@given(textbook.tables("k"))
def test_the_definition_of_the_paper(table):
    """Section 2.2: k rows or more on both sides of every region that a cut crosses, and no such cut is left."""
    condition = table.condition()
    found = single_dimensional(condition, table.axes(), empty_sides=False)
    parts = table.parts(found, condition)
    if not table.holds(range(table.rows)):
        return
    assert all(table.holds(part) for part in parts)
    # no region is without rows: every combination of the intervals of the columns is a class
    numbers = [len(intervals(found, table.axes(), axis.attribute)) for axis in table.axes()]
    assert len(parts) == np.prod(numbers)
    for name, rows in groups(table, found, condition):
        crossed = [part for part in parts if set(part) & set(rows)]
        for sides in textbook.any_cuts(table, rows, name):
            pieces = [[row for row in part if row in side] for part in crossed for side in sides]
            if len(sides) > 1:
                assert not all(piece and table.holds(piece) for piece in pieces)


@naive.examples(200)
@given(textbook.tables())
def test_intervals_do_not_overlap(table):
    """S4.3: one set of disjoint intervals per attribute, which hold what is in them."""
    condition, axes = table.condition(), table.axes()
    found = single_dimensional(condition, axes)
    at = np.stack([axis.positions[condition.items.codes(axis.attribute)] for axis in axes], axis=1)
    assert np.all((found.low[found.part] <= at) & (at <= found.high[found.part]))
    for axis in axes:
        edges = intervals(found, axes, axis.attribute)
        assert all(one[1] < other[0] for one, other in pairwise(edges))


@pytest.mark.parametrize("empty_sides", [True, False])
def test_a_table_that_fails_as_one_class_is_cut_until_all_classes_comply(empty_sides):
    """(epsilon, m): of 10, 12, 11, 13 three lie within 1 of 11, but {10, 12} and {11, 13} have none near each other."""
    ages, pay = np.array([0, 1, 2, 3], np.int32), np.array([0, 2, 1, 3], np.int32)
    items = FrequencySet.from_rows({"age": (ages, 4)}, {"pay": (pay, 4)})
    reading = CountInterpretation({"pay": ["10", "11", "12", "13"]})
    age = Axis("age", np.arange(4, dtype=np.int32), np.array([20.0, 21.0, 40.0, 41.0]))
    near = EpsilonM(1, 2, "pay")
    found = single_dimensional(Condition(items, [near], reading), [age], empty_sides=empty_sides)
    assert found.part.tolist() == [0, 0, 1, 1]
    with pytest.raises(Infeasible, match="no way was found"):
        single_dimensional(Condition(items, [near, KAnonymity(3)], reading), [age], empty_sides=empty_sides)
