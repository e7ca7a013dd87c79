"""Means, medians, modes and what they give away (S4.6)."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from statistics import mean, median, median_low

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples

from shoal.data.codes import encode
from shoal.partition.axes import ordered_axis
from shoal.partition.statistics import Ends, PositionCounts, is_determined, step_of

ROWS = st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), st.sampled_from([-2, 0, 1, 2.5, 7]))), min_size=1)


def holdings(rows, values):
    numbers = {part: at for at, part in enumerate(sorted({part for part, _ in rows}))}
    column = encode("x", pa.array(values))
    part = np.array([numbers[part] for part, _ in rows], dtype=np.int32)
    held = PositionCounts.of(
        ordered_axis(column), column, part, column.codes, np.ones(len(rows), np.int64), len(numbers)
    )
    return held, [
        [value for (of, _), value in zip(rows, values, strict=True) if of == part] for part in sorted(numbers)
    ]


def cells(released):
    return released.values.take(pa.array(released.codes)).to_pylist()


@examples(200)
@given(ROWS)
def test_numbers_as_pythons_own_statistics_tell_them(rows):
    held, parts = holdings(rows, [value for _, value in rows])
    known = [[value for value in part if value is not None] for part in parts]
    assert cells(held.mean()) == [float(mean(map(Fraction, part))) if part else None for part in known]
    assert cells(held.median()) == [median(part) if part else None for part in known]
    modes = [min(part, key=lambda value, part=part: (-Counter(part)[value], value)) if part else None for part in known]
    assert cells(held.mode()) == modes


@examples(100)
@given(ROWS)
def test_texts_have_a_lower_middle_and_a_mode(rows):
    held, parts = holdings(rows, [None if value is None else f"v{value}" for _, value in rows])
    known = [[value for value in part if value is not None] for part in parts]
    assert cells(held.median()) == [median_low(part) if part else None for part in known]
    modes = [min(part, key=lambda value, part=part: (-Counter(part)[value], value)) if part else None for part in known]
    assert cells(held.mode()) == modes


@pytest.mark.parametrize("met", [True, False])
@pytest.mark.parametrize("rows", range(1, 7))
def test_what_a_mean_tells_is_what_enumeration_finds(rows, met):
    """All multisets of values 0 to 4: the mean and the range tell every value if no other multiset has them."""
    every = list(combinations_with_replacement(range(5), rows))

    def told(values):
        return sum(values), *((values[0], values[-1]) if met else (0, 4))

    times = Counter(map(told, every))
    for values in every:
        total, low, high = told(values)
        alone = times[told(values)] == 1 and low != high
        assert is_determined(rows, total, Ends(low, high, met=met)) == alone, values


def test_a_mean_in_an_open_range_does_not_determine_the_values():
    assert not is_determined(5, 100, Ends(None, None, met=False))
    assert is_determined(5, 10, Ends(2, None, met=False)), "all are 2"
    assert not is_determined(5, 12, Ends(2, None, met=False))
    assert not is_determined(5, 10**400, Ends(2, None, met=False)), "beyond all floats"


def test_values_in_steps():
    assert step_of([10, 25, 40, 100]) == 15
    assert step_of([7]) == 1
    assert is_determined(5, 50 + 15, Ends(10, 100, met=False), 15), "one of five is a step above the least"
    assert not is_determined(5, 50 + 30, Ends(10, 100, met=False), 15)
