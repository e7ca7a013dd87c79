"""Trees written in a policy; S2.2."""

import pyarrow as pa
import pytest

from shoal.data.codes import encode
from shoal.errors import BadHierarchy
from shoal.hierarchy.build import build
from shoal.hierarchy.inline_tree import Tree


def column(values):
    return encode("race", pa.array(values))


def test_the_tree_of_the_policy():  # S2.2
    hierarchy = build(column(["asian", "white", None]), Tree({"person": ["asian", "black", "white"]}))
    assert hierarchy.labels == (("asian", "white", None), ("person",))  # as the survey prints it
    assert hierarchy.size == 3  # design 8: the tree's own leaves
    assert hierarchy.top == "person"
    assert hierarchy.losses[1].tolist() == [1.0]


def test_several_roots_get_one_top():
    tree = {"north": {"n1": ["a"], "n2": ["b", 3]}, "south": {"s": ["c"]}}
    assert Tree(tree).taxonomy(column(["a"])).levels == [
        ["n1", "n2", "n2", "s"],
        ["north", "north", "north", "south"],
        ["*"] * 4,
    ]
    assert build(column(["a"]), Tree(tree)).top == "*"


def test_a_plain_list_and_single_leaves():
    assert Tree(["a", "b"]).taxonomy(column(["a"])).levels == [["*", "*"]]
    assert Tree({"x": "a", "y": "b"}).taxonomy(column(["a"])).levels == [["x", "y"], ["*", "*"]]


def test_what_was_passed_in_is_not_shared():
    given = {"all": ["a"]}
    tree = Tree(given)
    given["all"].append("b")
    tree.spec()["tree"]["all"].append("c")
    assert tree.spec() == {"tree": {"all": ["a"]}}


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"x": ["a"], "y": {"z": ["b"]}}, r"'b' lies 2 level\(s\) deep where 'a' lies 1"),  # bad input 19
        ({"x": ["a"], "y": ["b", "a"]}, r"the leaf 'a' is listed twice"),  # bad input 19
        ({"x": []}, r"'x' is empty"),
        ({}, r"'the root' is empty"),
        ("a", r"tree = 'a' is not a tree"),
        ({"x": [True]}, r"True is not a value"),
        ({"x": [None]}, r"None is not a value"),
    ],
)
def test_bad_trees_are_refused_with_the_node(tree, message):
    with pytest.raises(BadHierarchy, match=message):
        Tree(tree)


def test_one_name_for_two_nodes_is_refused():  # bad input 19
    with pytest.raises(BadHierarchy, match=r"the leaf 'b' of its tree splits at level 2"):
        build(column(["a"]), Tree({"x": {"z": ["a"]}, "y": {"z": ["b"]}}))


def test_a_value_outside_the_tree_is_refused_with_its_row():  # bad input 19
    with pytest.raises(BadHierarchy, match=r"column 'race': 1 value.* row\(s\) 2") as refusal:
        build(column(["a", "CANARY"]), Tree({"x": ["a"]}))
    assert "CANARY" not in str(refusal.value)
