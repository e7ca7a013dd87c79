"""Plots: each is a frozen value that holds its numbers; `plot(ax=None)` draws them and returns the Axes.

| plot | of |
|---|---|
| `ClassSizes.from_release`, `.from_risk` | how large the classes are |
| `RiskDistribution.from_release`, `.from_risk` | how likely rows are to be found |
| `AlphaGraph.from_release`, `.from_table` | each sensitive value's share of each class; `graphml()` for graph tools |
| `LatticeGraph(sh.lattice(…))` | every node of a lattice |
| `ParetoFront(sh.lattice(…))` | loss against suppressed rows |
| `LossAgainstK.from_releases` | what a larger k costs |
| `Boxes.from_release` | what rows show of two attributes, over the rows of the original |
| `BeforeAfter.from_release` | a column before and after |
| `DecisionTree(C45().fit(…).tree_)` | a tree of C4.5 |

Those that know the original (`RiskDistribution`, `Boxes`, `BeforeAfter` of a release, `LatticeGraph`, `ParetoFront`)
are private: do not publish them with a release.

>>> import shoal as sh
>>> people = sh.datasets.census(500)
>>> found = sh.risk(people, quasi_identifiers=["sex", "race"])
>>> sh.plot.ClassSizes.from_risk(found).plot().get_xlabel()
'rows in a class'
"""

from shoal.report.plots.alpha_graph import AlphaGraph
from shoal.report.plots.before_after import BeforeAfter
from shoal.report.plots.boxes import Boxes
from shoal.report.plots.charts import Chart, Series
from shoal.report.plots.class_sizes import ClassSizes
from shoal.report.plots.decision_tree import DecisionTree
from shoal.report.plots.display import Display
from shoal.report.plots.lattice_graph import LatticeGraph
from shoal.report.plots.loss_against_k import LossAgainstK
from shoal.report.plots.pareto_front import ParetoFront
from shoal.report.plots.risks import RiskDistribution

__all__ = [
    "AlphaGraph",
    "BeforeAfter",
    "Boxes",
    "Chart",
    "ClassSizes",
    "DecisionTree",
    "Display",
    "LatticeGraph",
    "LossAgainstK",
    "ParetoFront",
    "RiskDistribution",
    "Series",
]
