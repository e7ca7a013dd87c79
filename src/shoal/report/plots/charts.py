"""Plain charts of measured figures: lines or bars, with intervals and what a paper reported beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from shoal.report.plots.display import COLOURS, Display, counted, explained, logarithmic, ruled, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osD^vP*"
_ROOM = 24.0
"""Points between the figures and the title, for a legend."""


@dataclass(frozen=True)
class Series:
    """Figures of one kind; `x` are numbers, or names where they are bars."""

    name: str
    x: Sequence[Any]
    y: Sequence[float]
    error: Sequence[float] | None = None
    """Half the width of the interval of each."""
    reported: bool = False
    """Whether they are not ours but a paper's."""


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
    """Where the axis of the figures begins, if not where matplotlib lets it."""

    def draw(self, axes: "Axes") -> None:
        (self._bars if self.kind == "bars" else self._lines)(axes)
        named = len(self.series) > 1
        titled(axes, self.title, self.across, self.up, _ROOM if named else None)
        ruled(axes)
        if self.logarithmic:
            logarithmic(axes, "y")
        if self.least is not None:
            axes.set_ylim(bottom=self.least)
        if named:
            # in a row between title and figures: lines cross every corner
            explained(
                axes, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(self.series), borderaxespad=0.2, fontsize=9
            )

    def _lines(self, axes: "Axes") -> None:
        for axis, numbers in (
            (axes.xaxis, [each.x for each in self.series]),
            (axes.yaxis, [each.y for each in self.series]),
        ):
            if all(isinstance(number, int) for some in numbers for number in some):
                counted(axis)
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
