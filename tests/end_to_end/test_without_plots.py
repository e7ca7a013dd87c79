"""Where matplotlib is not installed, releases are made all the same, and a plot is refused before any work."""

import sys

import pytest

from shoal.report.plots import Display


@pytest.fixture
def bare(desk, monkeypatch):
    """A desk whose Python has no matplotlib."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    return desk


def test_a_release_needs_no_plots(bare):
    assert bare.anonymize().code == 0
    assert bare.verify("--original", bare.data).code == 0
    assert (bare.out / "report.html").is_file()
    measured = ["measure", bare.data, "--qi", "age", "--sensitive", "disease"]
    assert bare.run(*measured, "--graph", bare.folder / "graph.graphml").code == 0


@pytest.mark.parametrize(
    "command",
    [
        ("measure", "people.csv", "--qi", "age", "--sensitive", "disease", "--graph", "graph.svg"),
        ("lattice", "people.csv", "--policy", "policy.toml", "--picture", "lattice.png"),
        ("attack", "rules", "people.csv", "--qi", "age", "--sensitive", "disease", "--tree", "tree.svg"),
        ("study", "searches", "--rows", "200", "--out", "study"),
    ],
)
def test_a_plot_says_what_to_install(bare, monkeypatch, command):
    monkeypatch.chdir(bare.folder)
    bare.refused(2, *command, says="pip install 'shoal[plots]'")


def test_a_plot_in_python_says_what_to_install(bare):
    from shoal.errors import BadInput

    class Plot(Display):
        def draw(self, axes):
            pytest.fail("there is nothing to draw with")

    for drawn in (Plot().plot, Plot().figure, lambda: Plot().render("svg")):
        with pytest.raises(BadInput, match="matplotlib"):
            drawn()
