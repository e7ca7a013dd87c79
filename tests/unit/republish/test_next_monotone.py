"""Who left is hidden among others, and as few as will do are left out for it."""

import naive
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.republish.next_monotone import choose_left_out


def judge(k, l, value):
    """Groups of at least k lines and l values."""

    def complies(lines, part, parts):
        return np.array(
            [(part == each).sum() >= k and len(np.unique(value[lines[part == each]])) >= l for each in range(parts)]
        )

    return complies


@st.composite
def groups(draw):
    """Groups that comply with k = 2, l = 2, some of which lost somebody."""
    group, value, gone = [], [], []
    for number in range(draw(st.integers(1, 4))):
        values = [0, 1, *draw(st.lists(st.integers(0, 2), max_size=6))]
        left = draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
        left[draw(st.integers(0, len(values) - 1))] = True
        group += [number] * len(values)
        value += values
        gone += left
    return np.array(group, np.int32), np.array(value, np.int32), np.array(gone)


@naive.examples(300)
@given(groups())
def test_both_halves_comply_or_nobody_of_a_group_is_shown(drawn):  # S3.10
    group, value, gone = drawn
    out = choose_left_out(group, gone, value, judge(2, 2, value), 8)
    assert not (out & gone).any()
    for number in range(int(group.max()) + 1):
        here = group == number
        shown, hidden = here & ~gone & ~out, here & (gone | out)
        if shown.any():
            for half in (shown, hidden):
                assert half.sum() >= 2
                assert len(np.unique(value[half])) >= 2


def test_no_more_are_left_out_than_needed():
    group, value = np.zeros(12, np.int32), np.array([0, 1, 2] * 4, np.int32)
    gone = np.arange(12) == 0
    assert choose_left_out(group, gone, value, judge(3, 2, value), 8).sum() == 2
    gone = np.arange(12) < 3
    assert choose_left_out(group, gone, value, judge(3, 2, value), 8).sum() == 0


def test_the_company_has_values_that_nobody_left_out_has_yet():
    group, value = np.zeros(10, np.int32), np.array([0] * 8 + [1] * 2, np.int32)
    out = choose_left_out(group, np.arange(10) == 0, value, judge(2, 2, value), 8)
    assert value[out].tolist() == [1]
