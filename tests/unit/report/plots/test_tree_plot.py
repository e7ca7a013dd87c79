"""Pictures of decision trees and of hierarchies."""

import re
from itertools import chain
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from shoal.data.codes import encode
from shoal.hierarchy.build import build, parse
from shoal.mining.c45 import C45
from shoal.report.plots.tree_plot import MOST_LINES, DecisionTree, HierarchyTree, relate_labels


def texts(picture):
    """All that is written in an SVG."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture.decode())


def grown(values, rows=2_000):
    rng = np.random.default_rng(0)
    frame = {name: rng.choice([f"{name}{v}" for v in range(values)], rows) for name in "abc"}
    score = sum(np.char.count(column, "1") for column in frame.values()) % 2
    return C45().fit(pa.table(frame), score).tree_


def test_every_leaf_is_drawn():  # S1.1
    tree = grown(3)
    written = texts(DecisionTree(tree).render("svg"))
    assert tree.n_leaves > 5
    assert sum(bool(re.fullmatch(r"[01] \([0-9./]+\)", text)) for text in written) == tree.n_leaves
    assert not any("goes on" in text for text in written)


def test_large_trees_show_their_heaviest_branches():
    tree = grown(12)
    written = texts(DecisionTree(tree).render("svg"))
    assert tree.n_leaves > MOST_LINES
    assert any("goes on" in text for text in written)
    assert sum(text.endswith(")") and "leaves" not in text for text in written) <= MOST_LINES


def test_names_may_hold_anything():
    frame = pa.table({"$a_<&\x01": ["x" * 90, "\n"] * 4})
    picture = DecisionTree(C45().fit(frame, ["<k>", "$"] * 4).tree_).render("svg").decode()
    assert "\x01" not in picture
    assert "x" * 90 not in picture


def test_the_same_tree_gives_the_same_bytes():
    tree = grown(3)
    assert DecisionTree(tree).render("png") == DecisionTree(tree).render("png")


def test_boxes_are_the_nodes_of_the_tree_in_their_order():  # S1.1
    tree = grown(3)
    axes = DecisionTree(tree).plot()
    leaves = [f"{tree.classes[node.label]} {node.weights_text}" for node in tree.nodes() if node.attribute is None]
    inner = [node.attribute for node in tree.nodes() if node.attribute is not None]
    said = [text.get_text() for text in axes.texts[2:]]
    assert [text for text in said if text.endswith(")")] == leaves
    assert sorted(text for text in said if text in "abc") == sorted(inner)
    assert len(axes.patches) == len(leaves) + len(inner)
    assert len(axes.lines) == len(axes.patches) - 1  # every node but the root hangs on another


def test_a_leaf_alone():
    assert ": " not in texts(DecisionTree(C45().fit(pa.table({"x": [1, 2]}), [0, 0]).tree_).render("svg"))[-1]


JOBS = {"tree": {"any": {"health": ["doctor", "nurse"], "food": ["baker", "cook"]}}}


def placed(tree):
    return [(each.text, each.level, each.line) for each in tree.places]


def test_a_hierarchy_has_its_values_on_the_left_and_its_root_on_the_right():  # S1.1 figure 1, S3.1 figures 1 and 2
    tree = HierarchyTree.from_values(["cook", "nurse", "doctor", "baker"], JOBS, "job")
    assert placed(tree) == [
        ("any", 2, 1.5),
        ("health", 1, 0.5),
        ("doctor", 0, 0.0),
        ("nurse", 0, 1.0),
        ("food", 1, 2.5),
        ("baker", 0, 2.0),
        ("cook", 0, 3.0),
    ]
    assert tree.told == "Hierarchy of job, from the values on the left to any on the right"


def test_every_label_is_joined_with_the_one_above_it():
    tree = HierarchyTree.from_values(range(100), {"intervals": [10, 50]}, "age")
    above = {each.text: tree.places[each.above].text for each in tree.places if each.above is not None}
    assert above["[10, 20)"] == "[0, 50)"
    assert above["[50, 100)"] == "*"
    assert above["0"] == "[0, 10)"


@pytest.mark.parametrize("values", [41, 5_000])
def test_a_large_hierarchy_is_abridged_and_says_by_how_much(values):
    tree = HierarchyTree.from_values([f"v{i:05}" for i in range(values)], {"flat": True}, "x")
    rest = [each.text for each in tree.places if each.is_rest]
    drawn = sum(each.level == 0 and not each.is_rest for each in tree.places)
    assert tree.lines <= 40
    assert rest == [f"… {values - drawn:,} more"]


def test_no_hierarchy_takes_more_lines_than_there_are():
    tree = HierarchyTree.from_values(range(3_000), {"intervals": [5, 10, 20, 100, 500]}, "x")
    assert tree.lines <= 40
    assert {each.level for each in tree.places} == {0, 1, 2, 3, 4, 5, 6}


def test_labels_of_a_release_are_marked_and_missing_values_named():
    column = encode("job", pa.array(["nurse", None]))
    tree = HierarchyTree.from_hierarchy(build(column, parse(JOBS)), ["health", None])
    assert {each.text: each.shown for each in tree.places} == {
        "any": False,
        "health": True,
        "nurse": False,
        "(missing)": True,
    }


def test_labels_are_related_without_those_that_are_not_shown():
    hierarchy = build(encode("job", pa.array(["nurse", "doctor", "cook"])), parse(JOBS))
    above = relate_labels(hierarchy, ["nurse", "food", "any", None])
    assert above == {"nurse": "any", "food": "any", "any": None}
    tree = HierarchyTree.from_relation("job", above)
    assert sorted(placed(tree)) == [("any", 1, 0.5), ("food", 0, 1.0), ("nurse", 0, 0.0)]
    assert not tree.numbered


def test_what_labels_say_of_one_another_does_not_depend_on_values_that_are_not_shown():
    """Two columns of one hierarchy with other values: labels of both are related alike, in the same order."""
    random, compared = Random(0), 0
    for _ in range(500):
        leaves = list("abcdefgh")
        middle = {leaf: random.choice("pqst") for leaf in leaves}
        top = {label: random.choice("XY") for label in "pqst"}
        rows = parse({"rows": [[leaf, middle[leaf], top[middle[leaf]], "*"] for leaf in leaves]})
        one, other = (build(encode("x", pa.array(random.sample(leaves, random.randint(3, 8)))), rows) for _ in range(2))
        both = sorted({*chain(*one.labels)} & {*chain(*other.labels)})
        shown = random.sample(both, random.randint(1, len(both)))
        assert [*relate_labels(one, shown).items()] == [*relate_labels(other, shown).items()]
        compared += len(shown) > 2
    assert compared > 100


def test_a_hierarchy_is_drawn():
    written = [text.get_text() for text in HierarchyTree.from_values(["cook"], JOBS, "job").plot().texts]
    assert written[0] == "Hierarchy of job"
    assert written[1:4] == ["level 0", "level 1", "level 2"]
    assert {*written[4:]} == {"any", "food", "cook"}
