"""Lines that are no taxonomy, told with their place; bad inputs 19 and 20."""

import pytest

from shoal.errors import BadHierarchy, ShoalWarning
from shoal.hierarchy.arx_csv import from_lines, warn_of_open_top


def where(i):
    return f"line {i + 1}"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], r"the list is empty"),
        ([("a", "x", "*"), ("b", "*")], r"line 2 has 1 level\(s\) where line 1 has 2"),
        ([("a",)], r"line 1 has a value but no level"),
        ([("a", "x", "*"), ("b", "", "*")], r"line 2 has an empty label at level 1"),
        (
            [("a", "x", "*"), ("b", "x", "*"), ("a", "y", "*")],
            r"line 3 gives a value other parents than line 1",
        ),
    ],
)
def test_bad_lines_are_refused_with_their_number(lines, message):  # bad input 19
    with pytest.raises(BadHierarchy, match=message):
        from_lines(lines, where, "the list")


def test_repetitions_count_once_and_places_stay_right():
    taxonomy = from_lines([("a", "*"), ("a", "*"), ("b", "*")], where, "the list")
    assert (taxonomy.leaves, taxonomy.levels, taxonomy.where(1)) == (["a", "b"], [["*", "*"]], "line 3")


def test_an_empty_text_may_be_a_value():
    assert from_lines([("", "*"), ("b", "*")], where, "the list").leaves == ["", "b"]


def test_several_tops_are_told():  # bad input 20
    open_top = from_lines([("a", "x"), ("b", "y")], where, "the list")
    with pytest.warns(ShoalWarning, match="the list ends in 2 labels and cannot reach full suppression"):
        warn_of_open_top(open_top, "the list")
