"""What people bring from pyarxaas, python-anonymity, anjana and crowds."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from shoal.data.codes import encode
from shoal.errors import BadHierarchy, ShoalWarning
from shoal.hierarchy.build import Functions, Rows, build, from_levels, from_list
from shoal.hierarchy.intervals import Intervals


def column(*values):
    return encode("age", pa.array(values))


def test_a_list_of_lists():
    given = [["1", "low", "*"], ["2", "low", "*"], ["9", "high", "*"]]
    rows = from_list(given)
    given[0][1] = "changed"
    assert build(column("1", "9"), rows).labels == (("1", "9"), ("low", "high"), ("*",))
    assert rows.spec() == {"rows": [["1", "low", "*"], ["2", "low", "*"], ["9", "high", "*"]]}


def test_numbers_none_and_nan_in_lists():
    rows = Rows([[1, 10.0, None], [2.0, 10.0, None], [None, "x", None], [float("nan"), "x", None]])
    assert rows.rows == (("1", "10", "*"), ("2", "10", "*"))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["a", "x", "*"], ["b", "*"]], r"entry 2 of the hierarchy has 1 level"),  # bad input 19
        ([["a", "x"], ["a", "y"]], r"entry 2 of the hierarchy gives a value other parents"),  # bad input 19
        ([], r"the hierarchy is empty"),
        ([[]], r"not a list of lists"),
        (["ab"], r"not a list of lists"),
        ("ab", r"not a list of lists"),
    ],
)
def test_bad_lists_are_refused(rows, message):
    with pytest.raises(BadHierarchy, match=message):
        Rows(rows)


def test_several_tops_warn():  # bad input 20
    with pytest.warns(ShoalWarning, match="column 'age' ends in 2 labels"):
        build(column("a", "b"), Rows([["a", "x"], ["b", "y"]]))


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, tuple])
def test_a_dict_of_levels(kind):
    rows = from_levels({1: kind(["low", "low", "low"]), 0: kind([1, 2, 1]), 2: kind(["*", "*", "*"])})
    assert build(column(1, 2), rows).labels == (("1", "2"), ("low",), ("*",))


def test_the_dict_of_a_frame():
    frame = pd.DataFrame([["a", "*"], ["b", "*"]])
    assert from_levels(dict(frame)).rows == (("a", "*"), ("b", "*"))


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({0: ["a"], 2: ["*"]}, r"levels \[0, 2\] of a hierarchy are not 0, 1, 2"),
        ({0: ["a", "b"], 1: ["*"]}, r"level 1 of a hierarchy has 1 labels for 2 values"),
        ({0: "ab", 1: "**"}, r"level 0 of a hierarchy is not a list"),
        ({0: ["a"], 1: None}, r"level 1 of a hierarchy is not a list"),
    ],
)
def test_bad_dicts_are_refused(levels, message):
    with pytest.raises(BadHierarchy, match=message):
        from_levels(levels)


def test_functions_get_the_value_and_none_is_the_top():
    functions = from_list([lambda age: age // 10 * 10 + 0.5, lambda age: None])
    assert build(column(34, 57), functions).labels == (("34", "57"), ("30.5", "50.5"), ("*",))
    assert Functions([str.upper]).taxonomy(column("a")).levels == [["A"], ["*"]]


def test_functions_that_do_not_nest_are_refused():  # bad input 19
    with pytest.raises(BadHierarchy, match=r"column 'age': the value in row 2 splits at level 2"):
        build(column(4, 5, 6), Functions([lambda age: age // 2, lambda age: age // 5 - 10]))


def test_functions_that_fail_tell_the_row_and_not_the_value():
    with pytest.raises(BadHierarchy, match=r"function of level 1 raised ValueError on row 2") as refusal:
        Functions([int]).taxonomy(column("5", "CANARY"))
    assert "CANARY" not in str(refusal.value)
    assert refusal.value.__suppress_context__


def test_functions_cannot_be_saved():
    with pytest.raises(BadHierarchy, match="cannot be saved in a policy"):
        Functions([str]).spec()
    with pytest.raises(BadHierarchy, match="one function per level"):
        Functions([])
    with pytest.raises(BadHierarchy, match="one function per level"):
        Functions([5])


def test_a_list_of_numbers_means_widths():
    assert from_list([5, 10]) == from_list([0, 5, 10]) == Intervals([5, 10])
    assert from_list(list(np.array([5, 10]))) == Intervals([5, 10])
    with pytest.raises(BadHierarchy, match="5 is not a multiple of 2"):
        from_list([0, 2, 5, 10])
