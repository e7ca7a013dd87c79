"""Plots: each is a frozen value that holds its numbers; `plot(ax=None)` draws them and returns the Axes."""

from typing import TYPE_CHECKING

from shoal.runtime import load_on_use

if TYPE_CHECKING:
    from shoal.report.plots.alpha_graph import AlphaGraph
    from shoal.report.plots.charts import Chart, LossCurve, ParetoFront, Series
    from shoal.report.plots.class_plots import BeforeAfter, ClassSizes, RiskDistribution
    from shoal.report.plots.display import Display
    from shoal.report.plots.lattice_graph import LatticeGraph
    from shoal.report.plots.regions import Boxes
    from shoal.report.plots.tree_plot import DecisionTree, HierarchyTree

__all__ = [
    "AlphaGraph",
    "BeforeAfter",
    "Boxes",
    "Chart",
    "ClassSizes",
    "DecisionTree",
    "Display",
    "HierarchyTree",
    "LatticeGraph",
    "LossCurve",
    "ParetoFront",
    "RiskDistribution",
    "Series",
]

__getattr__ = load_on_use(
    __name__,
    {
        "shoal.report.plots.alpha_graph": ("AlphaGraph",),
        "shoal.report.plots.charts": ("Chart", "LossCurve", "ParetoFront", "Series"),
        "shoal.report.plots.class_plots": ("BeforeAfter", "ClassSizes", "RiskDistribution"),
        "shoal.report.plots.display": ("Display",),
        "shoal.report.plots.lattice_graph": ("LatticeGraph",),
        "shoal.report.plots.regions": ("Boxes",),
        "shoal.report.plots.tree_plot": ("DecisionTree", "HierarchyTree"),
    },
)
