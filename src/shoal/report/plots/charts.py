"""Charts of measured figures: lines or bars with intervals, loss against a parameter or against suppressed rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from shoal.errors import BadInput
from shoal.explore.lattice_table import LatticeTable, NodeRow
from shoal.explore.sweep import ParameterSweep
from shoal.models.spec import suggest_nearest
from shoal.report.plots.display import (
    COLOURS,
    Display,
    add_legend,
    draw_grid,
    set_titles,
    use_log_scale,
    use_whole_numbers,
)
from shoal.report.plots.lattice_graph import DIAMOND, STAR, label_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shoal.pipeline import Release

_MARKERS = "osD^vP*"
_ROOM = 24.0
"""Points between the figures and the title, as room for a legend."""


@dataclass(frozen=True)
class Series:
    """Figures of one kind; `x` are numbers, or names for bars."""

    name: str
    x: Sequence[Any]
    y: Sequence[float]
    error: Sequence[float] | None = None
    """Half the width of each figure's interval."""
    reported: bool = False
    """Whether the figures are a paper's, not ours."""


@dataclass(frozen=True)
class Chart(Display):
    """What is drawn.

    >>> chart = Chart("SE", "k", "classes", (Series("ours", [2, 5], [9.0, 1.0]),))
    >>> chart.render("svg")[:5]
    b'<?xml'
    """

    title: str
    across: str
    up: str
    series: tuple[Series, ...]
    kind: Literal["lines", "bars"] = "lines"
    logarithmic: bool = False
    least: float | None = None
    """Where the axis of the figures begins; matplotlib decides unless given."""

    def draw(self, axes: "Axes") -> None:
        (self._bars if self.kind == "bars" else self._lines)(axes)
        named = len(self.series) > 1
        set_titles(axes, self.title, self.across, self.up, _ROOM if named else None)
        draw_grid(axes)
        if self.logarithmic:
            use_log_scale(axes, "y")
        if self.least is not None:
            axes.set_ylim(bottom=self.least)
        if named:
            # in a row between title and figures: lines cross every corner
            add_legend(
                axes, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(self.series), borderaxespad=0.2, fontsize=9
            )

    def _lines(self, axes: "Axes") -> None:
        for axis, numbers in (
            (axes.xaxis, [each.x for each in self.series]),
            (axes.yaxis, [each.y for each in self.series]),
        ):
            if all(isinstance(number, int) for some in numbers for number in some):
                use_whole_numbers(axis)
        for i, each in enumerate(self.series):
            style = {
                "marker": _MARKERS[i % len(_MARKERS)],
                "linestyle": "--" if each.reported else "-",
                "color": COLOURS[i % len(COLOURS)],
            }
            axes.errorbar(each.x, each.y, each.error, label=each.name, capsize=3, **style)  # type: ignore[arg-type]

    def _bars(self, axes: "Axes") -> None:
        width = 0.8 / len(self.series)
        for i, each in enumerate(self.series):
            places = [at + (i - (len(self.series) - 1) / 2) * width for at in range(len(each.x))]
            hatch = "//" if each.reported else ""
            axes.bar(
                places,
                each.y,
                width,
                yerr=each.error,
                label=each.name,
                capsize=3,
                color=COLOURS[i % len(COLOURS)],
                hatch=hatch,
                edgecolor="white",
            )
        axes.set_xticks(range(len(self.series[0].x)), [str(x) for x in self.series[0].x])


@dataclass(frozen=True)
class LossCurve(Display):
    """A figure of several releases of one table against the parameter they differ in, a line for each algorithm.

    >>> import pyarrow as pa
    >>> import shoal as sh
    >>> people = pa.table({"age": [31, 34, 38, 39, 52, 53, 57, 58]})
    >>> ages = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}}
    >>> def kept(k): return {"attributes": ages, "require": [{"model": "k-anonymity", "k": k}]}
    >>> shown = LossCurve.from_releases(sh.anonymize(people, kept(k)) for k in (2, 4))
    >>> [(k, round(loss, 3)) for k, loss in shown.lines["optimal"]]
    [(2, 0.143), (4, 0.429)]
    >>> shown == LossCurve.from_sweep(sh.sweep(people, kept(2), k=(2, 4)))
    True
    >>> shown.plot().get_xlabel()
    'k'
    """

    shows_values: ClassVar[bool] = False
    metric: str
    lines: dict[str, list[tuple[Any, float]]]
    """For each algorithm, pairs of the parameter and the figure, in ascending order; names in the order given."""
    across: str = "k"

    @classmethod
    def from_releases(cls, releases: Iterable["Release"], metric: str = "loss") -> "LossCurve":
        """Compare releases of one table that keep different k; `metric` is any figure that `shoal metrics` lists."""
        lines: dict[str, list[tuple[Any, float]]] = {}
        for release in releases:
            told = release.summary
            if metric not in told.metrics:
                raise BadInput(
                    f"a release by {told.method.algorithm} has no {metric!r}{suggest_nearest(metric, told.metrics)}"
                )
            lines.setdefault(told.method.algorithm, []).append((release.policy.largest_k, told.metrics[metric]))
        return cls(metric, {name: sorted(line) for name, line in lines.items()})

    @classmethod
    def from_sweep(cls, sweep: ParameterSweep, metric: str | None = None) -> "LossCurve":
        """Show the values of a sweep that gave a release; the figure is the policy's metric unless named."""
        metric = metric or sweep.metric
        known = dict.fromkeys(name for run in sweep.runs for name in run.metrics)
        if metric not in known:
            raise BadInput(f"the sweep has no {metric!r}{suggest_nearest(metric, known)}; it has {', '.join(known)}")
        pairs = [(run.value, run.metrics[metric]) for run in sweep.runs if metric in run.metrics]
        ordered = pairs if any(isinstance(value, str | bool) for value, _ in pairs) else sorted(pairs)
        return cls(metric, {sweep.algorithm: ordered}, sweep.parameter)

    @property
    def values(self) -> list[Any]:
        """The values of the parameter, each once."""
        return list(dict.fromkeys(value for line in self.lines.values() for value, _ in line))

    def draw(self, axes: "Axes") -> None:
        series = tuple(
            Series(name, [value for value, _ in line], [figure for _, figure in line])
            for name, line in self.lines.items()
        )
        named = any(isinstance(value, str | bool) for value in self.values)
        kind: Literal["lines", "bars"] = "bars" if named else "lines"
        Chart(f"{self.metric} against {self.across}", self.across, self.metric, series, kind).draw(axes)
        if not named:
            _set_ticks(axes, sorted(self.values))


_MOST_TICKS = 12


def _set_ticks(axes: "Axes", values: Sequence[Any]) -> None:
    """Mark the values themselves where they are few; a wide range of them becomes logarithmic."""
    wide = len(values) > 1 and 0 < 10 * values[0] < values[-1]
    if wide:
        use_log_scale(axes, "x")
    if len(values) <= _MOST_TICKS:
        axes.set_xticks(values, [f"{value:,g}" for value in values])
    elif wide:
        marked = [value for value in values if f"{value:e}"[0] in "125" and _is_round(value)]
        if marked:  # else the powers of ten stay
            axes.set_xticks(marked, [f"{value:,g}" for value in marked])
    axes.minorticks_off()


def _is_round(value: float) -> bool:
    """Return whether a number has one digit other than 0.

    >>> [number for number in (2, 12, 20, 0.5, 25, 0.00002) if _is_round(number)]
    [2, 20, 0.5, 2e-05]
    """
    return len(f"{value:.5e}".partition("e")[0].rstrip("0")) == len("2.")


_APART = 70, 16
"""Least distance in dots, across and up, between two names beside marks; a mark nearer gets no name."""


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

    shows_values: ClassVar[bool] = False
    table: LatticeTable

    @property
    def complying(self) -> tuple[NodeRow, ...]:
        return tuple(row for row in self.table.nodes if row.complies)

    @property
    def front(self) -> tuple[NodeRow, ...]:
        """Nodes on the front, from few suppressed rows to many."""
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
            axes.scatter(*at, s=170, label=f"least {metric}: {at[1][0]:.4g} at {label_of(best.levels)}", **STAR)
            add_legend(axes)
        else:
            axes.text(0.5, 0.5, "no node complies", ha="center", va="center", transform=axes.transAxes)
        set_titles(axes, f"{metric} against suppression, {self.table.rows:,} rows", "rows suppressed", metric)
        use_whole_numbers(axes.xaxis)
        draw_grid(axes, "both")
        self._write_names(axes)

    def _write_names(self, axes: "Axes") -> None:
        """Write the levels beside each mark where there is room."""
        taken: list[Any] = []
        for row in self.front:
            place = row.suppressed, row.metrics[self.table.metric]
            at = axes.transData.transform(place)
            if all((abs(at - other) > _APART).any() for other in taken):
                axes.annotate(label_of(row.levels), place, (6, 5), textcoords="offset points", size=8)
                taken.append(at)
