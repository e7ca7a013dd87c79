"""Counts per class and value."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts, ValueCounts

LABELS = ["flu", "hiv", None]
matrices = st.lists(st.lists(st.integers(0, 3), min_size=len(LABELS), max_size=len(LABELS)), min_size=1, max_size=6)


def long_form(matrix, labels=LABELS):
    dense = np.array(matrix, np.int64)
    classes, values = np.nonzero(dense)
    return ValueCounts(classes, values, dense[classes, values], labels, len(dense))


@given(matrices)
def test_dense_is_the_matrix(matrix):
    assert long_form(matrix).dense().tolist() == matrix


@given(matrices)
def test_null_is_left_out_and_nothing_else(matrix):
    known = long_form(matrix).non_null()
    assert known.dense().tolist() == [[*row[:2], 0] for row in matrix]
    assert known.class_count == len(matrix)


def test_without_null_nothing_is_copied():
    counts = long_form([[1, 2]], ["flu", "hiv"])
    assert counts.non_null() is counts


@given(matrices, st.lists(st.booleans(), min_size=6, max_size=6))
def test_what_is_kept_is_the_chosen_classes(matrix, flags):
    chosen = np.array(flags[: len(matrix)])
    kept = long_form(matrix).select_classes(chosen)
    assert kept.class_count == chosen.sum()
    assert kept.dense().tolist() == [row for row, wanted in zip(matrix, chosen, strict=True) if wanted]


@given(matrices)
def test_blocks_are_the_dense_matrix(matrix):
    counts = long_form(matrix)
    assert np.vstack([block for _, block in counts.blocks()]).tolist() == counts.dense().tolist()


def test_rows_are_the_sum_of_the_sizes():
    assert ClassCounts(np.array([3, 4])).rows == 7
    assert ClassCounts(np.array([], np.int64)).rows == 0
