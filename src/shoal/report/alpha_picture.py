"""The weights of sensitive values in classes as a picture: the graph while its edges can be told apart, else a map."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.report.alpha_graph import AlphaGraph
from shoal.report.pictures import rendered

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DRAWN_EDGES = 60
"""Edges that are drawn one by one, each with its weight."""
_MOST_VALUES = 40
_MOST_CLASSES = 200
"""Rows and columns of the map; of more, those with the largest weights."""
_VALUE, _CLASS, _EDGE = "#E69F00", "#9AD0F0", "#0072B2"


def render(graph: AlphaGraph, kind: str) -> bytes:
    """The picture as the bytes of an SVG or a PNG: the same for the same graph."""
    return rendered(lambda: draw(graph), kind, tight=True)


def draw(graph: AlphaGraph) -> "Figure":
    """The picture as a figure of matplotlib."""
    from matplotlib.figure import Figure

    small = len(graph.values) * graph.counts.class_count <= _DRAWN_EDGES
    values, classes = _shown(graph)
    width = 8.0 if small else max(6.0, 0.12 * len(classes) + 3)
    height = 0.9 * max(len(values), len(classes), 2) if small else max(2.5, 0.3 * len(values) + 1.2)
    figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    if small:
        _draw_graph(axes, graph)
    else:
        _draw_map(axes, graph, values, classes)
    axes.set_title(_title(graph, len(values), len(classes)), loc="left", size=10)
    return figure


def _shown(graph: AlphaGraph) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """The values of largest α, and the classes in which one value is likeliest, in their order."""
    values = np.sort(np.argsort(-graph.alphas, kind="stable")[:_MOST_VALUES])
    counts = graph.counts
    highest = np.zeros(counts.class_count)
    np.maximum.at(highest, counts.classes, counts.counts / graph.totals[counts.classes])
    return values, np.sort(np.argsort(-highest, kind="stable")[:_MOST_CLASSES])


def _title(graph: AlphaGraph, values: int, classes: int) -> str:
    said = f"Share of each value of {graph.attribute} in each class"
    if values < len(graph.values) or classes < graph.counts.class_count:
        said += f"\nthe {values:,} of {len(graph.values):,} values and {classes:,} of "
        said += f"{graph.counts.class_count:,} classes with the largest shares"
    return said


def _draw_graph(axes: "Axes", graph: AlphaGraph) -> None:
    """Values on the left, classes on the right; the wider an edge the larger its weight, dotted where it is 0."""
    weights, alphas = graph.matrix(), graph.alphas
    high = max(weights.shape) - 1
    left, right = _places(len(graph.values), high), _places(graph.counts.class_count, high)
    for (i, j), weight in np.ndenumerate(weights):
        style: dict[str, Any] = {"linewidth": 0.5 + 5 * weight} if weight else {"linewidth": 0.6, "linestyle": "dotted"}
        axes.plot([0, 1], [left[i], right[j]], color=_EDGE, alpha=0.55, zorder=1, **style)
        at = 0.2 + 0.12 * (j % 3)  # near its value, beside its neighbours
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        height = left[i] + at * (right[j] - left[i])
        axes.text(at, height, f"{weight:.3g}", size=8, ha="center", va="center", bbox=box, zorder=2)
    axes.scatter(np.zeros(len(left)), left, s=260, color=_VALUE, edgecolors="black", zorder=3)
    axes.scatter(np.ones(len(right)), right, s=260, color=_CLASS, edgecolors="black", marker="s", zorder=3)
    for y, value, alpha in zip(left, graph.values, alphas, strict=True):
        axes.text(-0.06, y, f"{value}\nα = {alpha:.3g}", ha="right", va="center", size=9)
    for j, (y, total) in enumerate(zip(right, graph.totals.tolist(), strict=True)):
        axes.text(1.06, y, f"E{j + 1}\n{total:,}", ha="left", va="center", size=9)
    axes.set(xlim=(-0.5, 1.4), ylim=(-0.4, high + 0.4))
    axes.axis("off")


def _places(count: int, high: int) -> NDArray[np.float64]:
    """From top to bottom, spread over the same height."""
    return np.linspace(high, 0, count) if count > 1 else np.array([high / 2])


def _draw_map(axes: "Axes", graph: AlphaGraph, values: NDArray[np.integer], classes: NDArray[np.integer]) -> None:
    image = axes.imshow(graph.matrix(values, classes), aspect="auto", cmap="Blues", vmin=0, vmax=1)
    names, alphas = graph.values, graph.alphas
    axes.set_yticks(range(len(values)), [f"{names[i]}  α = {alphas[i]:.3g}" for i in values.tolist()], size=8)
    step = max(len(classes) // 20, 1)
    axes.set_xticks(range(0, len(classes), step), [f"E{j + 1}" for j in classes[::step].tolist()], size=7, rotation=90)
    assert axes.figure is not None
    axes.figure.colorbar(image, ax=axes, label="share of the class")
