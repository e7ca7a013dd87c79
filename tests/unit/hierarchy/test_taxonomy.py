"""compile_taxonomy: levels over codes, null, and what is no hierarchy."""

import pyarrow as pa
import pytest

from shoal.data.codes import encode
from shoal.errors import BadHierarchy
from shoal.hierarchy.taxonomy import Taxonomy, compile_taxonomy


def compiled(values, *lines):
    leaves, *levels = zip(*(line.split(";") for line in lines), strict=True)
    taxonomy = Taxonomy(leaves, levels, lambda i: f"line {i + 1} of a.csv", "hierarchy file a.csv")
    return compile_taxonomy(encode("a", pa.array(values)), taxonomy)


def test_levels_labels_and_leaves():  # S2.2
    hierarchy = compiled(["c", "a", "b"], "a;x;*", "b;x;*", "c;y;*", "d;y;*")
    assert hierarchy.height == 2
    assert hierarchy.labels == (("a", "b", "c"), ("x", "y"), ("*",))
    assert [level.tolist() for level in hierarchy.levels] == [[0, 1, 2], [0, 0, 1], [0, 0, 0]]
    assert [leaves.tolist() for leaves in hierarchy.leaves] == [[1, 1, 1], [2, 2], [4]]
    assert [loss.tolist() for loss in hierarchy.losses] == [[0, 0, 0], [1 / 3, 1 / 3], [1]]
    assert hierarchy.between(1, 2).tolist() == [0, 0]


@pytest.mark.parametrize("top", ["*", "Any"])
def test_null_is_a_group_of_its_own_until_all_values_are_one(top):
    hierarchy = compiled(["a", None, "c"], f"a;x;{top}", f"b;x;{top}", f"c;y;{top}")
    assert hierarchy.labels == (("a", "c", None), ("x", "y", None), (top,))
    assert [leaves.tolist() for leaves in hierarchy.leaves] == [[1, 1, 1], [2, 1, 1], [3]]


def test_null_stays_alone_where_the_last_level_has_several_labels():  # bad input 20
    assert compiled(["a", "c", None], "a;x", "c;y").labels[-1] == ("x", "y", None)


def test_only_nulls():
    assert compiled([None, None], "a;*").labels == ((None,), ("*",))


def test_one_leaf_loses_nothing():
    assert [loss.tolist() for loss in compiled(["a"], "a;*").losses] == [[0], [0]]


def test_a_value_that_is_missing_is_named_by_its_row():  # bad input 19
    with pytest.raises(
        BadHierarchy, match=r"2 value\(s\) are missing from hierarchy file a.csv, .* row\(s\) 2, 4;"
    ) as caught:
        compiled(["a", "CANARY-7f3", "a", "z"], "a;*")
    assert "CANARY" not in str(caught.value)
    assert caught.value.values == ("CANARY-7f3", "z")


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["a;x;p;*", "b;x;q;*"], "line 2 of a.csv splits at level 2 what level 1 had merged"),
        (["a;b;*", "b;b;*", "c;c;*"], "line 1 of a.csv uses at level 1 a label that means another set"),
        (["a;x;*", "b;x;*", "c;y;*", "x;y;*"], "uses at level 1 a label that means another set"),
    ],
)
def test_invalid_hierarchies_are_refused(lines, says):  # bad input 19
    with pytest.raises(BadHierarchy, match=says):
        compiled(["a"], *lines)


def test_a_label_may_not_read_as_the_number_of_another_value():
    lines = ["1.0;1;*", "10.5;1;*", "11.50;1;*"]
    with pytest.raises(BadHierarchy, match="the label of row 2 at level 1 is the number of another value; rename it"):
        compiled(["1.0", "11.50", "1.0"], *lines)
    assert compiled(["10.5", "11.50"], *lines).labels[1] == ("1",)  # no value is 1
    assert compiled(["1.0", "11.50", "n/a"], *lines, "n/a;1;*").labels[1] == ("1",)  # these are texts
    assert compiled(["1.0", "1.00", "2"], "1.0;1;*", "1.00;1;*", "2;2;*").labels[1] == ("1", "2")


def test_a_label_may_repeat_on_levels_where_it_means_the_same_values():
    assert compiled(["a", "b"], "a;a;*", "b;b;*").labels == (("a", "b"), ("a", "b"), ("*",))
