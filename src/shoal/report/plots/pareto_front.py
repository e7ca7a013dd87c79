"""Loss against suppressed rows: what may be had for what."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.report.lattice_table import LatticeTable, NodeRow
from shoal.report.plots.display import COLOURS, Display, counted, explained, ruled, titled
from shoal.report.plots.lattice_graph import DIAMOND, STAR, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_APART = 70, 16
"""Dots aside or upward that two names beside marks keep from each other; who is nearer has none."""


@dataclass(frozen=True)
class ParetoFront(Display):
    """The nodes of a listed lattice that comply, and those of them that nobody would swap for another.

    >>> import pyarrow as pa
    >>> import shoal as sh
    >>> ages = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}}
    >>> policy = {"attributes": ages, "require": [{"model": "k-anonymity", "k": 2}]}
    >>> shown = ParetoFront(sh.lattice(pa.table({"age": [31, 38, 52, 59]}), policy))
    >>> shown.plot().get_xlabel(), [node.levels for node in shown.front]
    ('rows suppressed', [(1,)])
    """

    table: LatticeTable

    @property
    def complying(self) -> tuple[NodeRow, ...]:
        return tuple(row for row in self.table.nodes if row.complies)

    @property
    def front(self) -> tuple[NodeRow, ...]:
        """From few suppressed rows to many."""
        return tuple(sorted(self.table.front, key=lambda row: (row.suppressed, row.levels)))

    def draw(self, axes: "Axes") -> None:
        metric = self.table.metric
        rest = [row for row in self.complying if not row.pareto]
        axes.scatter(
            [row.suppressed for row in rest],
            [row.metrics[metric] for row in rest],
            s=14,
            color=COLOURS[5],
            alpha=0.6,
            linewidths=0,
            rasterized=len(rest) > 2_000,
            label=f"complies ({len(rest):,})",
        )
        x, y = [row.suppressed for row in self.front], [row.metrics[metric] for row in self.front]
        axes.step(x, y, where="post", color="#000000", lw=0.9)
        axes.scatter(x, y, s=45, zorder=3, label=f"on the Pareto front ({len(x):,})", **DIAMOND)
        best = self.table.best
        if best is not None:
            at = [best.suppressed], [best.metrics[metric]]
            axes.scatter(*at, s=170, label=f"least {metric}: {at[1][0]:.4g} at {label(best.levels)}", **STAR)
            explained(axes)
        else:
            axes.text(0.5, 0.5, "no node complies", ha="center", va="center", transform=axes.transAxes)
        titled(axes, f"{metric} against suppression, {self.table.rows:,} rows", "rows suppressed", metric)
        counted(axes.xaxis)
        ruled(axes, "both")
        self._name(axes)

    def _name(self, axes: "Axes") -> None:
        """Beside a mark, its levels, where there is room for them."""
        taken: list[Any] = []
        for row in self.front:
            place = row.suppressed, row.metrics[self.table.metric]
            at = axes.transData.transform(place)
            if all((abs(at - other) > _APART).any() for other in taken):
                axes.annotate(label(row.levels), place, (6, 5), textcoords="offset points", size=8)
                taken.append(at)
