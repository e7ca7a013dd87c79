"""The picture of a lattice: what stands in it, and that the same lattice gives the same bytes."""

import subprocess
import sys
from itertools import pairwise
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pyarrow as pa
import pytest
from matplotlib.collections import LineCollection

import shoal as sh
from shoal.explore.lattice_table import LatticeTable, NodeRow
from shoal.hierarchy.lattice import Lattice
from shoal.report.plots.lattice_graph import MOST_BOXES, LatticeGraph, label_of

SEX = {"Sex": ["Male", "Female"] * 3, "PIN_Code": ["110010", "110011", "110011", "110010", "110012", "110012"]}
SEX_POLICY = {
    "attributes": {
        "Sex": {"role": "quasi-identifier", "hierarchy": {"tree": {"Person": ["Male", "Female"]}}},
        "PIN_Code": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}, "max-level": 2},
    },
    "require": [{"model": "k-anonymity", "k": 2}],
}


@pytest.fixture
def sex():
    return sh.lattice(pa.table(SEX), SEX_POLICY)


def texts(svg):
    """All text of a picture, in the order in which it is drawn."""
    return ["".join(e.itertext()).strip() for e in ET.fromstring(svg).iter() if e.tag.endswith("}text")]


def made(*heights, complying=True, names=None, require=({"model": "k-anonymity", "k": 2},)):
    """A lattice of attributes with so many levels, nodes with made-up numbers."""
    lattice = Lattice(tuple(names or (f"q{i}" for i in range(len(heights)))), (0,) * len(heights), heights)
    nodes = sorted(lattice.nodes(), key=lambda node: (sum(node), node))
    rows = [NodeRow(node, complying and sum(node) > 1, 0, 1, {"loss": sum(node) / 9}, sum(node) == 2) for node in nodes]
    return LatticeTable(lattice, tuple(require), "loss", 10, 2, tuple(rows))


def test_sex_and_pin(sex):
    """S2.2: six nodes at the heights 0 to 3, the bottom at the bottom, all direct generalisations joined."""
    said = texts(LatticeGraph(sex).render("svg"))
    assert [text for text in said if text.startswith("height")] == [f"height {i}" for i in range(4)]
    labels = [text for text in said if text.startswith("[")]
    assert labels == ["[0,0]", "[0,1]", "[1,0]", "[0,2]", "[1,1]", "[1,2]"]
    assert "Lattice of 6 nodes, 5 of which comply" in said
    assert "k-anonymity k = 2; 6 rows, none suppressed" in said
    assert "levels of [Sex, PIN_Code]" in said
    assert "does not comply" in said
    axes = LatticeGraph(sex).figure().axes[0]
    where = {text.get_text(): text.get_position() for text in axes.texts if text.get_text().startswith("[")}
    assert where["[0,0]"][1] < where["[0,1]"][1] == where["[1,0]"][1] < where["[1,1]"][1] < where["[1,2]"][1]
    edges = next(drawn for drawn in axes.collections if isinstance(drawn, LineCollection))
    assert len(edges.get_segments()) == 7


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", ["svg", "png"])
@pytest.mark.parametrize("heights", [(1, 2), (3, 3, 3), (1,) * 8, (9, 9, 9)])
def test_the_same_lattice_the_same_bytes(heights, kind):
    one, two = LatticeGraph(made(*heights)).render(kind), LatticeGraph(made(*heights)).render(kind)
    assert one == two
    assert b"<dc:date>" not in one


@pytest.mark.thorough
def test_settings_and_another_process_do_not_change_the_picture(sex):
    script = (
        "import sys, pyarrow as pa, shoal as sh\n"
        f"sys.stdout.buffer.write(sh.plot.LatticeGraph(sh.lattice(pa.table({SEX!r}), {SEX_POLICY!r})).render('svg'))"
    )
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    with mpl.rc_context({"font.size": 30, "svg.fonttype": "path", "lines.linewidth": 9}):
        ours = LatticeGraph(sex).render("svg")
        assert mpl.rcParams["font.size"] == 30
    assert ours == other


@pytest.mark.parametrize("heights", [(1, 2), (3, 3, 3), (1,) * 8, (4, 4, 4, 3)])
def test_every_node_has_its_label(heights):
    table = made(*heights)
    assert len(table.nodes) <= MOST_BOXES
    said = texts(LatticeGraph(table).render("svg"))
    assert [text for text in said if text.startswith("[")] == [label_of(row.levels) for row in table.nodes]


def test_no_two_boxes_overlap():
    for heights in ((1, 2), (3, 3, 3), (1,) * 8, (4, 4, 4, 3), (20,)):
        figure = LatticeGraph(made(*heights)).figure()
        boxes = [
            patch.get_window_extent() for patch in figure.axes[0].patches if type(patch).__name__ == "FancyBboxPatch"
        ]
        ends = sorted((round(box.y0), box.x0, box.x1) for box in boxes)
        assert all(a[0] != b[0] or a[2] < b[1] for a, b in pairwise(ends))
        assert min(box.x0 for box in boxes) > 0
        assert max(box.x1 for box in boxes) < figure.bbox.width


def test_many_nodes_are_counted_for_each_height():
    table = made(9, 9, 9)
    said = texts(LatticeGraph(table).render("svg"))
    assert [text for text in said if text.startswith("height")] == [f"height {i}" for i in range(28)]
    assert "0 of 3 comply" in said
    assert "6 of 6 comply, 6 on the front" in said
    assert any(text.startswith("least loss: 0.222222 at [0,0,2]") for text in said)
    assert not any(text.startswith("[") for text in said)


@pytest.mark.parametrize("heights", [(2, 2), (9, 9, 9)])
def test_nothing_complies(heights):
    said = texts(LatticeGraph(made(*heights, complying=False)).render("svg"))
    assert any("0 of which comply" in text for text in said)
    assert not any(text.startswith("least") for text in said)


def test_names_are_text_and_nothing_else():
    """A name may hold what mathematics, XML or a terminal would read as their own."""
    names = ["$\\frac{1}{2}$", "<b>&amp;", "es\x1b[31m\x00", "名前"]
    said = texts(LatticeGraph(made(1, 1, 1, 1, names=names)).render("svg"))
    assert (
        "levels of [$\\frac{1}{2}$, <b>&amp;, es\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}, 名前]" in said
    )
    assert LatticeGraph(made(1, 1, 1, 1, names=names)).render("png").startswith(b"\x89PNG")


def test_limits_of_values_are_not_spelled_out():
    require = ({"model": "alpha-k", "alpha": {"hiv": 0.2}, "k": 2, "attribute": "ill"},)
    said = texts(LatticeGraph(made(1, 1, require=require)).render("svg"))
    assert "alpha-k k = 2, attribute = ill; 10 rows, at most 2 suppressed" in said


def test_long_titles_are_wrapped():
    names = [f"a-rather-long-name-{i}" for i in range(8)]
    figure = LatticeGraph(made(*(1,) * 8, names=names)).figure()
    said = [text for text in figure.axes[0].texts if not text.get_text().startswith("[")]
    assert all(text.get_window_extent().x1 <= figure.bbox.width for text in said)


@pytest.mark.thorough
def test_a_very_tall_lattice_is_drawn_all_the_same():
    assert LatticeGraph(made(299)).render("png").startswith(b"\x89PNG")


@pytest.mark.thorough
def test_matplotlib_is_loaded_only_for_a_picture(tmp_path):
    script = (
        "import sys, pyarrow as pa, shoal as sh\n"
        f"given = pa.table({SEX!r}), {SEX_POLICY!r}\n"
        "sh.lattice(*given), sh.compare(*given)\n"
        "assert 'matplotlib' not in sys.modules\n"
        f"sh.lattice(*given, picture={str(tmp_path / 'p.svg')!r})\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
