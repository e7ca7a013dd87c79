"""Pictures of decision trees."""

import re

import numpy as np
import pyarrow as pa

from shoal.mining.c45 import C45
from shoal.report.plots.tree_plot import MOST_LINES, DecisionTree


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
