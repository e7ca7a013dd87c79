"""Pictures of decision trees."""

import re

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import BadOutput
from shoal.mining import C45
from shoal.report.tree_picture import MOST_LINES, render, write_tree


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
    written = texts(render(tree, "svg"))
    assert tree.n_leaves > 5
    assert sum(bool(re.fullmatch(r"[01] \([0-9./]+\)", text)) for text in written) == tree.n_leaves
    assert not any("goes on" in text for text in written)


def test_large_trees_show_their_heaviest_branches():
    tree = grown(12)
    written = texts(render(tree, "svg"))
    assert tree.n_leaves > MOST_LINES
    assert any("goes on" in text for text in written)
    assert sum(text.endswith(")") and "leaves" not in text for text in written) <= MOST_LINES


def test_names_may_hold_anything():
    frame = pa.table({"$a_<&\x01": ["x" * 90, "\n"] * 4})
    picture = render(C45().fit(frame, ["<k>", "$"] * 4).tree_, "svg").decode()
    assert "\x01" not in picture
    assert "x" * 90 not in picture


def test_same_bytes_and_files(tmp_path):
    tree = grown(3)
    assert render(tree, "png") == render(tree, "png")
    write_tree(tree, tmp_path / "tree.svg")
    assert (tmp_path / "tree.svg").read_bytes() == render(tree, "svg")
    with pytest.raises(BadOutput, match=r"\.svg or \.png"):
        write_tree(tree, tmp_path / "tree.pdf")


def test_a_leaf_alone():
    assert ": " not in texts(render(C45().fit(pa.table({"x": [1, 2]}), [0, 0]).tree_, "svg"))[-1]
