"""The graph of sensitive values and classes: its matrix, its picture, its GraphML."""

from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest

from shoal.data.class_counts import ValueCounts
from shoal.errors import BadInput, BadOutput
from shoal.report.plots import alpha_graph as graphml
from shoal.report.plots.alpha_graph import AlphaGraph
from shoal.report.plots.display import GraphFile

SPACE = "{http://graphml.graphdrawing.org/xmlns}"


def graph(rows, labels):
    dense = np.array(rows, np.int64).reshape(-1, len(labels))
    classes, values = np.nonzero(dense)
    return AlphaGraph.of("disease", ValueCounts(classes, values, dense[classes, values], list(labels), len(dense)))


TABLE_2 = graph([[1, 2, 1], [0, 2, 2], [2, 1, 1]], ["Brain Cancer", "Malaria", "Heart Disease"])


def parsed(found):
    """Nodes and edges as a reader of GraphML sees them."""
    root = ET.fromstring("".join(found.graphml()))
    keys = {key.get("id"): key.get("attr.name") for key in root.findall(f"{SPACE}key")}
    drawn = root.find(f"{SPACE}graph")

    def data(element):
        return {keys[d.get("key")]: d.text for d in element.findall(f"{SPACE}data")}

    nodes = {node.get("id"): data(node) for node in drawn.findall(f"{SPACE}node")}
    edges = {(e.get("source"), e.get("target")): data(e) for e in drawn.findall(f"{SPACE}edge")}
    return data(drawn), nodes, edges


def test_the_weight_matrix_of_the_paper():
    """S0.2: rows BC .25 0 .5, M .5 .5 .25, HD .25 .5 .25."""
    assert TABLE_2.matrix().tolist() == [[0.25, 0, 0.5], [0.5, 0.5, 0.25], [0.25, 0.5, 0.25]]
    assert TABLE_2.matrix([2, 0], [1]).tolist() == [[0.5], [0]]


def test_alpha_by_the_graph():
    """S0.1, §4.3: the largest weight of each row, for classes of any size."""
    assert TABLE_2.alphas.tolist() == TABLE_2.matrix().max(axis=1).tolist() == [0.5, 0.5, 0.5]
    other = graph([[1, 4], [2, 1]], "ab")
    assert other.alphas.tolist() == other.matrix().max(axis=1).tolist() == [2 / 3, 0.8]


def test_graphml():
    """S0.2: a complete bipartite graph that graph tools read."""
    about, nodes, edges = parsed(TABLE_2)
    assert about == {"attribute": "disease", "complete": "true"}
    assert nodes["S1"] == {"kind": "value", "label": "Brain Cancer", "alpha": "0.5"}
    assert nodes["E3"] == {"kind": "class", "label": "E3", "size": "4"}
    assert len(nodes) == 6
    assert len(edges) == 9
    weights = [[float(edges[f"S{i}", f"E{j}"]["weight"]) for j in (1, 2, 3)] for i in (1, 2, 3)]
    assert weights == TABLE_2.matrix().tolist()
    assert edges["S1", "E2"] == {"count": "0", "weight": "0.0"}


def test_a_large_graph_leaves_out_what_weighs_nothing(monkeypatch):
    monkeypatch.setattr(graphml, "COMPLETE", 8)
    about, _, edges = parsed(TABLE_2)
    assert about["complete"] == "false"
    assert len(edges) == 8
    assert ("S1", "E2") not in edges


@pytest.mark.parametrize("label", ["<b>&\"'", "a\x00b\x1b[0m", "\ud800", "\ufffe", "é😀", " \t\n x"])
def test_any_value_makes_good_xml(label):
    _, nodes, _ = parsed(graph([[1]], [label]))
    assert len(nodes["S1"]["label"]) == len(label)


def test_carriage_returns_survive():
    assert parsed(graph([[1]], ["a\rb"]))[1]["S1"]["label"] == "a\rb"


def test_null_and_absent_values_are_no_nodes():
    found = graph([[1, 0, 3], [0, 0, 1]], ["flu", "hiv", None])
    assert found.values == ["flu"]
    assert found.matrix().tolist() == [[1.0, 0.0]]
    assert parsed(found)[1]["E2"]["size"] == "0"


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["svg", "png"])
def test_picture(kind):
    """S0.2: the same bytes for the same graph, drawn as a graph or as a map."""
    random = np.random.default_rng(0)
    large = graph(random.poisson(0.5, (300, 50)) + np.eye(300, 50, dtype=int) + 0, [f"$v{i}$" for i in range(50)])
    for found in (TABLE_2, large):
        drawn = found.render(kind)
        assert drawn == found.render(kind)
        assert drawn[:4] in {b"<?xm", b"\x89PNG"}


def test_the_picture_shows_names_and_weights():
    text = TABLE_2.render("svg").decode()
    for word in ("Brain Cancer", "α = 0.5", "0.25", "E3"):
        assert word in text


def by_loop(rows, quasi, sensitive):
    """Per value, its shares of all classes, sorted: classes are numbered as they come."""
    held = {}
    for row in rows:
        held.setdefault(tuple(row[name] for name in quasi), []).append(row[sensitive])
    values = sorted({row[sensitive] for row in rows})
    return [sorted(some.count(value) / len(some) for some in held.values()) for value in values]


def test_the_graph_of_a_release(release):
    found = AlphaGraph.from_release(release, "ill")
    expected = by_loop(release.data.to_pylist(), ["age", "$town"], "ill")
    assert found.values == ["x", "y", "z"]
    assert np.allclose(np.sort(found.matrix(), axis=1), expected)


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "dict"])
def test_the_graph_of_a_table_of_any_kind(people, kind):
    frame = {
        "arrow": lambda: people,
        "pandas": people.to_pandas,
        "polars": lambda: pl.from_arrow(people),
        "dict": people.to_pydict,
    }[kind]()
    found = AlphaGraph.from_table(frame, quasi_identifiers=["$town"], sensitive="ill")
    assert np.allclose(np.sort(found.matrix(), axis=1), by_loop(people.to_pylist(), ["$town"], "ill"))
    assert found.totals.sum() == people.num_rows


def test_edges_carry_their_weights():
    """S0.2: what is drawn of table 2 of the paper: nine edges, as wide as their weights, and the weights in words."""
    axes = TABLE_2.plot()
    weights = TABLE_2.matrix().ravel().tolist()
    assert [line.get_linewidth() for line in axes.lines] == [0.5 + 5 * w if w else 0.6 for w in weights]
    assert [text.get_text() for text in axes.texts[:9]] == [f"{w:.3g}" for w in weights]
    assert [text.get_text() for text in axes.texts[9:12]] == [f"{v}\nα = 0.5" for v in TABLE_2.values]


def test_a_map_shows_the_largest_shares():
    random = np.random.default_rng(0)
    found = graph(random.poisson(0.5, (300, 50)) + np.eye(300, 50, dtype=int), [f"v{i}" for i in range(50)])
    shown = found.plot().images[0].get_array()
    whole = found.matrix()
    values, classes = (
        np.sort(np.argsort(-whole.max(axis=axis), kind="stable")[:most]) for axis, most in ((1, 40), (0, 200))
    )
    assert (shown == whole[np.ix_(values, classes)]).all()
    assert shown.shape == (40, 200)


def test_files(tmp_path):
    for name in ("g.graphml", "g.svg", "g.PNG"):
        file = tmp_path / name
        GraphFile.choose(file, None, ["disease"], force=False).write(TABLE_2)
        assert file.stat().st_size > 100
        with pytest.raises(BadOutput, match="such a file already"):
            GraphFile.choose(file, None, ["disease"], force=False)
    with pytest.raises(BadOutput, match=r"must end in \.graphml or \.svg or \.png"):
        GraphFile.choose(tmp_path / "g.txt", None, ["disease"], force=False)
    with pytest.raises(BadInput, match="about one sensitive attribute, and 2 are named"):
        GraphFile.choose(tmp_path / "h.svg", None, ["a", "b"], force=False)
