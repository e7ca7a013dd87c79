"""Plots: each is a frozen value that holds its numbers; `plot(ax=None)` draws them and returns the Axes."""

from shoal.report.plots.alpha_graph import AlphaGraph
from shoal.report.plots.before_after import BeforeAfter
from shoal.report.plots.charts import Chart, LossCurve, ParetoFront, Series
from shoal.report.plots.class_plots import ClassSizes, RiskDistribution
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
