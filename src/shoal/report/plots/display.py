"""What all plots share: they hold numbers, and draw them onto axes or into files, which are checked before any work."""

import io
import os
import warnings
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from shoal.errors import BadInput
from shoal.publish.folder import kind_of, refuse_file, write_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from shoal.report.plots.alpha_graph import AlphaGraph

CHARACTER = 0.0078
"""Width of a character in inches, per point of its size."""
_MOST_DOTS = 30_000
"""Most dots of a PNG in one direction: viewers open no larger one, and matplotlib stops at 65,536."""
_TEXT: dict[Any, Any] = {"text.parse_math": False}
"""Settings for text: a $ in a name is no mathematics."""
_SETTINGS: dict[Any, Any] = {
    **_TEXT,
    "font.family": "sans-serif",
    "svg.fonttype": "none",  # text stays text: it can be searched, and read aloud
    "svg.hashsalt": "shoal",
}

# Okabe and Ito's colours, told apart by colour-blind people too
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def refuse_without_matplotlib() -> None:
    """Refuse to draw where there is nothing to draw with, and say what to install."""
    if find_spec("matplotlib") is None:
        raise BadInput("plots need matplotlib, which is not installed: pip install 'shoal[plots]'")


class Display(ABC):
    """Numbers that can be drawn, as scikit-learn's displays: `plot` onto given axes or onto a new figure's."""

    fills: ClassVar[bool] = False
    """Whether the picture has no scales, so that it fills its figure."""
    shows_values: ClassVar[bool] = True
    """Whether the picture shows values of a table; a notebook then shows it only to who calls `plot`."""

    def __init_subclass__(cls) -> None:
        cls.__repr__ = Display.__repr__  # type: ignore[method-assign]  # the one of a dataclass would list its numbers

    def __repr__(self) -> str:
        return f"{type(self).__name__}(call .plot() to draw it)"

    def _repr_html_(self) -> str:
        """Return the picture for a notebook, or only its name where it shows values."""
        if self.shows_values:
            return f"<p>{escape(repr(self))}</p>"
        return f'<img src="data:image/svg+xml;base64,{b64encode(self.render("svg")).decode()}">'

    @property
    def figsize(self) -> tuple[float, float]:
        """Size in inches of a figure of its own."""
        return 7.2, 4.2

    @abstractmethod
    def draw(self, axes: "Axes") -> None:
        """Draw onto given axes."""

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw onto these axes or, without any, onto those of a new figure of pyplot; nothing is shown or set."""
        refuse_without_matplotlib()
        import matplotlib as mpl

        if ax is None:
            from matplotlib import pyplot as plt

            ax = self._axes(plt.figure(figsize=self.figsize))
        with mpl.rc_context(_TEXT):
            self.draw(ax)
        return ax

    def figure(self) -> "Figure":
        """Return a new figure that pyplot does not know of."""
        refuse_without_matplotlib()
        from matplotlib.figure import Figure

        figure = Figure(figsize=self.figsize, facecolor="white")
        self.draw(self._axes(figure))
        return figure

    def render(self, kind: str) -> bytes:
        """Return the bytes of an SVG or a PNG: the same for the same numbers, whatever matplotlib's settings."""
        refuse_without_matplotlib()
        import matplotlib as mpl

        file = io.BytesIO()
        with mpl.rc_context(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about letters that the font does not have
            mpl.rcdefaults()
            mpl.rcParams.update(_SETTINGS)
            metadata = {"Date": None, "Creator": "Shoal"} if kind == "svg" else {"Software": "Shoal"}
            figure = self.figure()
            dots = min(150.0, _MOST_DOTS / max(figure.get_size_inches()))
            figure.savefig(file, format=kind, dpi=dots, metadata=metadata)
        return file.getvalue()

    def _axes(self, figure: "Figure") -> "Axes":
        if self.fills:
            return figure.add_axes((0, 0, 1, 1))
        figure.set_layout_engine("constrained")
        return figure.add_subplot()


def set_titles(axes: "Axes", title: str, across: str = "", up: str = "", pad: float | None = None) -> None:
    """Set the title and the labels of both axes, as plain text."""
    plain: dict[str, Any] = {"parse_math": False}
    axes.set_title(title[:1].upper() + title[1:], loc="left", size=11, pad=pad, **plain)
    axes.set_xlabel(shorten(across), **plain)
    axes.set_ylabel(shorten(up), **plain)


def draw_grid(axes: "Axes", along: str = "y") -> None:
    """Draw thin lines behind the figures, and no box around them."""
    axes.grid(visible=True, axis=along, alpha=0.3)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def add_legend(axes: "Axes", **where: Any) -> None:
    """Add a legend that covers what lies under it."""
    axes.legend(edgecolor="none", framealpha=0.85, **where)


def use_whole_numbers(axis: Any) -> None:
    """Label a scale with whole numbers, thousands separated."""
    from matplotlib.ticker import MaxNLocator

    if axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator(integer=True))
    axis.set_major_formatter(lambda number, _: f"{number:,.0f}")


def use_log_scale(axes: "Axes", which: Literal["x", "y"], label: Callable[[float, float], str] | None = None) -> None:
    """Make a logarithmic scale with labels in plain text, where matplotlib would write mathematics."""
    from matplotlib.ticker import NullFormatter

    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axis.get_view_interval()
    plain = label or (lambda number, _: f"{number:,g}" if number < 1e6 else f"{number:g}")
    axis.set_major_formatter(plain)
    axis.set_minor_formatter(plain if high < 10 * low else NullFormatter())


@dataclass(frozen=True)
class Pen:
    """Draws what is measured in inches onto axes of any size: letters and marks shrink and grow with all else."""

    axes: "Axes"
    scale: float

    @classmethod
    def on(cls, axes: "Axes", width: float, height: float) -> "Pen":
        """Give the axes this width and height in inches, whatever room they take in their figure."""
        assert axes.figure is not None
        axes.set(xlim=(0, width), ylim=(0, height))
        axes.axis("off")
        box = axes.get_window_extent()
        return cls(axes, min(box.width / width, box.height / height) / axes.figure.dpi)

    def text(self, x: float, y: float, text: str, size: float = 9, **more: Any) -> None:
        self.axes.text(x, y, text, size=size * self.scale, **more)

    def mark(self, x: float, y: float, size: float, **more: Any) -> None:
        self.axes.scatter([x], [y], s=size * self.scale**2, **more)


def printable(text: str) -> str:
    """Replace characters that cannot be printed, some of which XML cannot hold, by a replacement character."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def shorten(text: str, longest: int = 40) -> str:
    """Make a text printable and at most `longest` characters long.

    >>> shorten("Married-spouse-absent", 8)
    'Married…'
    """
    clean = printable(text)
    return clean if len(clean) <= longest else f"{clean[: longest - 1]}…"


_GRAPH_ENDINGS = (".graphml", ".svg", ".png")


@dataclass(frozen=True)
class GraphFile:
    """Where the graph is written; it reveals the table, so it may be published only if the table is."""

    path: Path

    @classmethod
    def choose(
        cls, path: str | os.PathLike[str], source: Path | None, sensitive: list[str], *, force: bool
    ) -> "GraphFile":
        """Refuse what cannot or must not be written; the graph is about one sensitive attribute."""
        if len(sensitive) != 1:
            raise BadInput(f"the graph is about one sensitive attribute, and {len(sensitive)} are named")
        refuse_file(Path(path), _GRAPH_ENDINGS, source, force=force)
        if kind_of(Path(path)) != "graphml":
            refuse_without_matplotlib()
        return cls(Path(path))

    def write(self, graph: "AlphaGraph") -> None:
        kind = kind_of(self.path)
        write_file(self.path, "".join(graph.graphml()) if kind == "graphml" else graph.render(kind))


_LIST_ENDINGS = {"picture": (".svg", ".png"), "csv": (".csv",)}


@dataclass(frozen=True)
class ListFiles:
    """Where a list and its picture are written, if at all; they reveal the original, so they are not for publishing."""

    picture: Path | None = None
    csv: Path | None = None

    @classmethod
    def choose(
        cls,
        picture: str | os.PathLike[str] | None,
        csv: str | os.PathLike[str] | None,
        source: Path | None,
        *,
        force: bool,
    ) -> "ListFiles":
        """Refuse what cannot or must not be written."""
        chosen = {kind: Path(path) for kind, path in (("picture", picture), ("csv", csv)) if path is not None}
        for kind, path in chosen.items():
            refuse_file(path, _LIST_ENDINGS[kind], source, force=force)
        if "picture" in chosen:
            refuse_without_matplotlib()
        return cls(**chosen)

    def write(self, lines: Callable[[], str], drawn: Callable[[], Display]) -> None:
        """Write what was asked for."""
        if self.csv is not None:
            write_file(self.csv, lines())
        if self.picture is not None:
            write_file(self.picture, drawn().render(kind_of(self.picture)))
