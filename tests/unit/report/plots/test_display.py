"""Laws of all plots: whose axes they draw on, that nothing else changes, that few and many numbers will do."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import shoal as sh
from shoal.data.class_counts import ValueCounts
from shoal.errors import BadInput, ShoalWarning
from shoal.mining.c45 import C45
from shoal.report.plots.display import Display


def every(release, boxed, nodes):
    people = pa.table({"$x": ["u", "v"] * 4, "y": list("aabbabab")})
    return {
        "ClassSizes": sh.plot.ClassSizes.from_release(release),
        "RiskDistribution": sh.plot.RiskDistribution.from_release(release),
        "AlphaGraph": sh.plot.AlphaGraph.from_release(release, "ill"),
        "LatticeGraph": sh.plot.LatticeGraph(nodes),
        "ParetoFront": sh.plot.ParetoFront(nodes),
        "LossCurve": sh.plot.LossCurve.from_releases([release]),
        "Boxes": sh.plot.Boxes.from_release(boxed, "age", "$town"),
        "BeforeAfter": sh.plot.BeforeAfter.from_release(boxed, "$town"),
        "HierarchyTree": sh.plot.HierarchyTree.from_values(["a", "b"], {"tree": {"$r": ["a", "b"]}}, "$x"),
        "DecisionTree": sh.plot.DecisionTree(C45().fit(people.select(["$x"]), people["y"].to_pylist()).tree_),
        "Chart": sh.plot.Chart("a $ sign", "$", "$", (sh.plot.Series("$", [1, 2], [3, 4]),)),
    }


NAMES = [name for name in sh.plot.__all__ if name not in {"Display", "Series"}]


@pytest.fixture(scope="module")
def displays(release, boxed, nodes):
    return every(release, boxed, nodes)


def test_every_display_is_tested(displays):
    assert sorted(displays) == sorted(NAMES)
    assert all(isinstance(each, Display) for each in displays.values())


@pytest.mark.parametrize("name", NAMES)
def test_given_axes_are_drawn_on_and_come_back(displays, name):
    figure = Figure()
    _, (left, right) = figure, figure.subplots(1, 2)
    before = dict(mpl.rcParams)
    assert displays[name].plot(left) is left
    assert left.has_data()
    assert not right.has_data()
    assert not plt.get_fignums()
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("name", NAMES)
def test_without_axes_there_is_a_new_figure(displays, name):
    other = plt.figure()
    axes = displays[name].plot()
    assert axes.figure is not other
    assert plt.get_fignums() == [1, 2]
    assert not other.axes
    axes.figure.canvas.draw()  # whatever $ it holds


@pytest.mark.some(3)
@pytest.mark.parametrize("name", NAMES)
def test_the_same_bytes_whatever_matplotlib_is_set_to(displays, name):
    one = displays[name].render("svg")
    with mpl.rc_context({"font.size": 30, "lines.linewidth": 9, "text.parse_math": True}):
        assert displays[name].render("svg") == one
    assert displays[name].render("png")[:4] == b"\x89PNG"


@pytest.mark.parametrize("name", NAMES)
def test_scales_are_named_and_titles_say_something(displays, name):
    axes = displays[name].plot()
    if axes.axison and name != "AlphaGraph":
        assert axes.get_title("left")
        assert axes.get_xlabel()
        assert axes.get_ylabel() or name == "BeforeAfter"  # of texts, the values stand there


def few(rows):
    sizes = np.full(rows, 1)
    counts = ValueCounts(np.arange(rows), np.zeros(rows, int), np.ones(rows, int), ["flu"][:rows], rows)
    none = np.zeros((rows, 4))
    yield sh.plot.ClassSizes(sizes)
    yield sh.plot.RiskDistribution({"t": sizes}, 0.2)
    yield sh.plot.AlphaGraph.of("ill", counts)
    yield sh.plot.Boxes("x", "y", none, sizes, none[:, :2], sizes, sizes == 0)
    yield sh.plot.LossCurve("loss", {"optimal": [(2, 0.5)][:rows]})


@pytest.mark.parametrize("rows", [0, 1])
def test_displays_of_little_data_can_be_drawn(rows):
    for each in few(rows):
        each.plot().figure.canvas.draw()


def test_a_table_of_one_row():
    ages = {"age": {"role": "quasi-identifier"}}
    asked = {"attributes": ages, "require": [{"model": "k-anonymity", "k": 1}], "method": {"algorithm": "mondrian"}}
    with pytest.warns(ShoalWarning, match="no protection"):
        one = sh.anonymize(pa.table({"age": [3]}), asked)
    for each in (sh.plot.BeforeAfter.from_release(one, "age"), sh.plot.Boxes.from_release(one, "age", "age")):
        each.plot().figure.canvas.draw()


@pytest.mark.thorough
def test_displays_of_much_data_stay_small():
    rng = np.random.default_rng(0)
    corners = np.sort(rng.random((6_000, 2, 2)), axis=2).reshape(-1, 4)
    ones = np.ones(6_000, int)
    many = sh.plot.Boxes("x", "y", corners, ones, rng.random((6_000, 2)), ones, ones == 0)
    assert len(many.render("svg")) < 1_000_000  # dots of a picture, not 12,000 paths
    assert len(sh.plot.ClassSizes(rng.geometric(0.001, 200_000)).plot().patches) <= 40


def test_pyplot_is_loaded_by_plot_and_not_by_render():
    script = (
        "import sys, numpy as np, shoal as sh\n"
        "shown = sh.plot.ClassSizes(np.array([1, 2]))\n"
        "assert 'matplotlib' not in sys.modules\n"
        "shown.render('png')\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "shown.plot()\n"
        "assert 'matplotlib.pyplot' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_missing_columns_are_named(release):
    with pytest.raises(BadInput, match=r"the release has no column 'agee'.*'age'"):
        sh.plot.BeforeAfter.from_release(release, "agee")
    with pytest.raises(BadInput, match="the release has no column 'name'"):
        sh.plot.Boxes.from_release(release, "age", "name")
    with pytest.raises(BadInput, match="the release has no column 'il'"):
        sh.plot.AlphaGraph.from_release(release, "il")
    with pytest.raises(BadInput, match="the table has no column 'sx'"):
        sh.plot.AlphaGraph.from_table(pa.table({"sex": ["f"]}), quasi_identifiers=["sx"], sensitive="sex")
    with pytest.raises(BadInput, match="name the quasi_identifiers"):
        sh.plot.ClassSizes.from_risk(sh.risk(pa.table({"age": [1, 2]})))
    with pytest.raises(BadInput, match=r"has no 'los'.*'loss'"):
        sh.plot.LossCurve.from_releases([release], "los")


@pytest.mark.parametrize("top", [30.0, 4e8])
def test_labels_of_powers_are_plain_text(top):
    """Names may hold $, so nothing is read as mathematics, and no label may be written as such."""
    chart = sh.plot.Chart("t", "x", "y", (sh.plot.Series("s", [1, 2], [20.0, top]),), logarithmic=True)
    drawn = chart.render("svg").decode()
    assert "mathdefault" not in drawn
    risky = sh.plot.RiskDistribution({"t": np.array([1, 2])}).render("svg").decode()
    assert "mathdefault" not in risky
    assert ">100%<" in risky.replace("\n", "")


def test_whole_numbers_have_whole_ticks():
    axes = sh.plot.Chart("t", "k", "nodes", (sh.plot.Series("s", [2, 3], [8, 9]),)).plot()
    axes.figure.canvas.draw()
    said = [text.get_text() for text in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    assert said
    assert all(text.lstrip("\N{MINUS SIGN}-").isdigit() for text in said)
