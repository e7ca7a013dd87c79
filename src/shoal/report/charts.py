"""Plain charts of measured figures: lines or bars, with intervals and what a paper reported beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from shoal.report.pictures import COLOURS, rendered

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "osD^vP*"


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
class Chart:
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

    def render(self, kind: str) -> bytes:
        """As the bytes of an SVG or a PNG."""
        return rendered(self.figure, kind)

    def figure(self) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.2, 4.2), facecolor="white", layout="constrained")
        self.draw(figure.add_subplot())
        return figure

    def draw(self, axes: "Axes") -> "Axes":
        """Onto axes that somebody else made."""
        (self._bars if self.kind == "bars" else self._lines)(axes)
        axes.set_title(self.title)
        axes.set_xlabel(self.across)
        axes.set_ylabel(self.up)
        if self.logarithmic:
            axes.set_yscale("log")
        if self.least is not None:
            axes.set_ylim(bottom=self.least)
        axes.grid(visible=True, axis="y", alpha=0.3)
        axes.set_axisbelow(True)
        if len(self.series) > 1:
            axes.legend(frameon=False)
        return axes

    def _lines(self, axes: "Axes") -> None:
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
