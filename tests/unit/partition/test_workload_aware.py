"""Workload-driven Mondrian: any promise is kept, every row is covered, and the error is what its definition says."""

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
from shoal.partition.mondrian import mondrian
from shoal.partition.workload_aware import AttributeDemand, Demand, workload_aware


@st.composite
def demands(draw, axes):
    """Up to four queries on random positions of random axes."""
    queries = draw(st.integers(1, 4))
    held = {}
    for axis in axes:
        many = draw(st.integers(0, 2))
        row = st.lists(st.booleans(), min_size=axis.size, max_size=axis.size)
        predicates = draw(st.lists(row, min_size=many, max_size=many))
        which = draw(st.lists(st.integers(-1, many - 1), min_size=queries, max_size=queries))
        held[axis.attribute] = AttributeDemand(
            np.array(which), np.array(predicates, dtype=bool).reshape(many, axis.size)
        )
    weights = draw(st.lists(st.sampled_from([0.1, 1.0, 3.0]), min_size=queries, max_size=queries))
    return Demand(np.array(weights), held)


@pytest.mark.some(3)
@pytest.mark.parametrize("promises", ["k", "l", "alpha"])
def test_every_part_complies_and_every_row_is_in_one(promises):
    """S4.9: whatever is promised and asked for."""

    @naive.examples(200)
    @given(textbook.tables(promises), st.data())
    def check(table, data):
        condition, axes = table.condition(), table.axes()
        found = workload_aware(condition, axes, data.draw(demands(axes)))
        parts = table.parts(found, condition)
        assert sorted(row for part in parts for row in part) == list(range(table.rows))
        assert len(parts) == 1 or all(table.holds(part) for part in parts)

    check()


@naive.examples(150)
@given(textbook.tables())
def test_without_queries_it_is_plain_mondrian(table):
    """A workload that asks nothing of the axes steers nothing."""
    condition, axes = table.condition(), table.axes()
    found, plain = workload_aware(condition, axes, Demand(np.ones(1), {})), mondrian(condition, axes)
    assert np.array_equal(found.part, plain.part)


def line(values, k):
    """One axis of whole numbers, one row each."""
    codes = np.arange(len(values), dtype=np.int32)
    items = FrequencySet.count({"age": (codes, len(values))})
    return Condition(items, [KAnonymity(k)]), Axis("age", codes, np.array(values, dtype=np.float64))


def test_it_cuts_where_a_predicate_ends():
    """The first seven of twenty are asked for; plain Mondrian cuts after ten, then after five."""
    condition, axis = line([*range(7), *range(100, 113)], 3)
    asked = Demand(np.ones(1), {"age": AttributeDemand(np.array([0]), np.arange(20)[None, :] < 7)})
    assert 6 in workload_aware(condition, [axis], asked).high[:, 0]
    assert 6 not in mondrian(condition, [axis]).high[:, 0]


def test_a_cut_lies_on_the_boundary_and_not_on_the_last_row_before_it():
    """Nobody of the part is 5 or 6: a region that ends at 6 tells all, one that ends at 4 does not."""
    items = FrequencySet.count({"age": (np.array([0, 1, 2, 3, 7, 8, 9, 9], np.int32), 10)})
    axis = Axis("age", np.arange(10, dtype=np.int32), np.arange(10.0))
    asked = Demand(np.ones(1), {"age": AttributeDemand(np.array([0]), np.arange(10)[None, :] < 6)})
    found = workload_aware(Condition(items, [KAnonymity(4)]), [axis], asked)
    assert found.high[:, 0].tolist() == [5, 9]


def test_shares_along_a_hierarchy_are_those_of_the_label():
    """A part of two leaves under a label of three is shown as the label."""
    attribute = naive.Attribute(
        ["a", "b", "c", "d"],
        [{"a": "x", "b": "x", "c": "x", "d": "y"}, dict.fromkeys("abcd", "*")],
        ["a", "b", "c", "d"],
        0,
        2,
        None,
    )
    axis = textbook.Along(attribute).axis("kind")
    asked = Demand(np.ones(2), {"kind": AttributeDemand(np.array([0, -1]), np.array([[True, False, False, True]]))}).on(
        axis
    )
    low, high = (axis.positions[[at]] for at in (0, 1))
    assert asked.shares(np.minimum(low, high), np.maximum(low, high)).tolist() == [[1 / 3, 1.0]]
    assert asked.shares(axis.positions[[3]], axis.positions[[3]]).tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize(
    "values",
    [
        [2.0**63],
        [2.0**63, 2.0**63],
        [-1e30, 0.0, 1.0, 2.0],
        [1.0, 2.0**53, 2.0**53, 2.0**53 + 2],
    ],
    ids=str,
)
@pytest.mark.parametrize("null", [False, True])
def test_numbers_beyond_what_floats_tell_apart(values, null):
    """Numbers of which two are the same float, or one more is: every row is in a part, and nothing is NaN."""
    size = len(values) + null
    codes = np.arange(size, dtype=np.int32)
    axis = Axis("n", codes, np.array(values), null=len(values) if null else None)
    demand = Demand(np.ones(1), {"n": AttributeDemand(np.array([0]), codes[None, :] < 1)})
    shares = demand.on(axis).shares(np.zeros(size, dtype=np.int32), codes)
    assert np.isfinite(shares).all()
    found = workload_aware(Condition(FrequencySet.count({"n": (codes, size)}), [KAnonymity(1)]), [axis], demand)
    assert sorted(found.part.tolist()) == list(range(size))
