"""Sensitive values and classes as a complete bipartite graph whose weights are shares: matrix, picture, GraphML."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import Longs, ValueCounts
from shoal.metrics.alpha import alphas
from shoal.report.plots.class_plots import classes_of, classes_of_table, values_of
from shoal.report.plots.display import Display, set_titles, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shoal.pipeline import Release

COMPLETE = 100_000
"""Most edges of a graph that is written with its edges of weight 0."""
_HEADER = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="kind" for="node" attr.name="kind" attr.type="string"/>
<key id="label" for="node" attr.name="label" attr.type="string"/>
<key id="size" for="node" attr.name="size" attr.type="long"/>
<key id="alpha" for="node" attr.name="alpha" attr.type="double"/>
<key id="count" for="edge" attr.name="count" attr.type="long"/>
<key id="weight" for="edge" attr.name="weight" attr.type="double"/>
<key id="attribute" for="graph" attr.name="attribute" attr.type="string"/>
<key id="complete" for="graph" attr.name="complete" attr.type="boolean"/>
"""
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def graphml_lines_of(graph: "AlphaGraph") -> Iterator[str]:
    """Yield the lines of a GraphML file; a large graph is written, and says so, without edges of weight 0."""
    complete = len(graph.values) * graph.counts.class_count <= COMPLETE
    yield _HEADER
    yield '<graph id="alpha" edgedefault="undirected">\n'
    yield f'<data key="attribute">{_text(graph.attribute)}</data>\n'
    yield f'<data key="complete">{str(complete).lower()}</data>\n'
    for i, (value, alpha) in enumerate(zip(graph.values, graph.alphas.tolist(), strict=True)):
        data = f'<data key="label">{_text(value)}</data><data key="alpha">{alpha!r}</data>'
        yield f'<node id="S{i + 1}"><data key="kind">value</data>{data}</node>\n'
    for j, size in enumerate(graph.totals.tolist()):
        data = f'<data key="label">E{j + 1}</data><data key="size">{size}</data>'
        yield f'<node id="E{j + 1}"><data key="kind">class</data>{data}</node>\n'
    yield from _edges(graph, complete=complete)
    yield "</graph>\n</graphml>\n"


def _edges(graph: "AlphaGraph", *, complete: bool) -> Iterator[str]:
    # entries ordered by value, then by class; a complete graph has all pairs, from [value, class] counts
    order = np.lexsort([graph.counts.classes, graph.counts.values])
    values, classes = graph.counts.values[order], graph.counts.classes[order]
    counts = graph.counts.counts[order]
    if complete:
        every = graph.counts.dense().T
        counts, (values, classes) = every.ravel(), np.indices(every.shape).reshape(2, -1)
    weights = counts / np.maximum(graph.totals[classes], 1)
    for i, j, count, weight in zip(values.tolist(), classes.tolist(), counts.tolist(), weights.tolist(), strict=True):
        data = f'<data key="count">{count}</data><data key="weight">{weight!r}</data>'
        yield f'<edge source="S{i + 1}" target="E{j + 1}">{data}</edge>\n'


def _text(text: str) -> str:
    """Return a text as XML can hold it; other characters become replacement characters."""
    return escape(_NOT_XML.sub("\ufffd", text), {"\r": "&#13;"})


Chosen = Sequence[int] | NDArray[np.integer] | None
_DRAWN_EDGES = 60
"""Most edges that are drawn one by one, each with its weight; more are drawn as a map."""
_MOST_VALUES = 40
_MOST_CLASSES = 200
"""Most classes on the map; of more, those with the largest weights."""
_VALUE, _CLASS, _EDGE = "#E69F00", "#9AD0F0", "#0072B2"


@dataclass(frozen=True)
class AlphaGraph(Display):
    """The graph of one sensitive attribute; null is no value, and a class counts those that have one.

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": ["f", "f", "m", "m"], "ill": ["flu", "flu", "flu", "hiv"]})
    >>> graph = AlphaGraph.from_table(people, quasi_identifiers=["sex"], sensitive="ill")
    >>> graph.matrix().tolist(), graph.alphas.tolist()
    ([[1.0, 0.5], [0.0, 0.5]], [1.0, 0.5])
    >>> graph.plot().get_title("left")
    'Share of each value of ill in each class'
    >>> "".join(graph.graphml()).count("<edge")
    4
    """

    attribute: str
    counts: ValueCounts

    @classmethod
    def of(cls, attribute: str, counts: ValueCounts) -> "AlphaGraph":
        """Build the graph without null, and without values that do not occur."""
        known = counts.non_null()
        codes, values = np.unique(known.values, return_inverse=True)
        labels = [known.labels[code] for code in codes.tolist()]
        return cls(
            attribute,
            ValueCounts(known.classes, values, known.counts, labels, known.class_count, holders=known.totals),
        )

    @classmethod
    def from_release(cls, release: "Release", sensitive: str) -> "AlphaGraph":
        """Build the graph from the classes of a release."""
        return cls.of(sensitive, values_of(classes_of(release, [sensitive]), sensitive, release.columns[sensitive]))

    @classmethod
    def from_table(cls, table: Any, *, quasi_identifiers: Sequence[str], sensitive: str) -> "AlphaGraph":
        """Build the graph from a table as it is: a pandas, polars or pyarrow frame."""
        return cls.of(sensitive, classes_of_table(table, quasi_identifiers, sensitive))

    @property
    def values(self) -> list[str]:
        return [str(label) for label in self.counts.labels]

    @property
    def totals(self) -> Longs:
        """Number of rows with a value, of each class."""
        return self.counts.totals

    @property
    def alphas(self) -> NDArray[np.float64]:
        """Largest weight of each value: the lemma of section 4.2."""
        return alphas(self.counts)

    def matrix(self, values: Chosen = None, classes: Chosen = None) -> NDArray[np.float64]:
        """Return [value, class] shares of each value in each class, for all of them or some."""
        counts = self.counts
        row, height = _renumber(values, len(self.values))
        column, width = _renumber(classes, counts.class_count)
        # entries whose value and class are both chosen
        at = (row[counts.values] >= 0) & (column[counts.classes] >= 0)
        where = counts.classes[at]
        weights = np.zeros((height, width))
        weights[row[counts.values[at]], column[where]] = counts.counts[at] / self.totals[where]
        return weights

    def graphml(self) -> Iterator[str]:
        """Yield the lines of a GraphML file."""
        return graphml_lines_of(self)

    # --- the picture: the graph while its edges can be told apart, else a map -------------------------------------

    @property
    def figsize(self) -> tuple[float, float]:
        values, classes = map(len, self._shown)
        if self._is_small:
            return 8.0, 0.9 * max(values, classes, 2)
        return max(6.0, 0.12 * classes + 3), max(2.5, 0.3 * values + 1.2)

    def draw(self, axes: "Axes") -> None:
        if self._is_small:
            self._draw_graph(axes)
        else:
            self._draw_map(axes)
        set_titles(axes, self._title())

    @property
    def _is_small(self) -> bool:
        return len(self.values) * self.counts.class_count <= _DRAWN_EDGES

    @cached_property
    def _shown(self) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Values of largest α, and classes in which some value is likeliest, each in their order."""
        values = np.sort(np.argsort(-self.alphas, kind="stable")[:_MOST_VALUES])
        counts = self.counts
        # largest share of any value in each class
        highest = np.zeros(counts.class_count)
        np.maximum.at(highest, counts.classes, counts.counts / self.totals[counts.classes])
        return values, np.sort(np.argsort(-highest, kind="stable")[:_MOST_CLASSES])

    def _title(self) -> str:
        values, classes = map(len, self._shown)
        said = f"Share of each value of {shorten(self.attribute)} in each class"
        if values < len(self.values) or classes < self.counts.class_count:
            said += f"\nthe {values:,} of {len(self.values):,} values and {classes:,} of "
            said += f"{self.counts.class_count:,} classes with the largest shares"
        return said

    def _draw_graph(self, axes: "Axes") -> None:
        """Draw values on the left and classes on the right; wider edges weigh more, dotted ones 0."""
        weights = self.matrix()
        high = max(*weights.shape, 2) - 1
        left, right = _places(len(self.values), high), _places(self.counts.class_count, high)
        for (i, j), weight in np.ndenumerate(weights):
            style: dict[str, Any] = (
                {"linewidth": 0.5 + 5 * weight} if weight else {"linewidth": 0.6, "linestyle": "dotted"}
            )
            axes.plot([0, 1], [left[i], right[j]], color=_EDGE, alpha=0.55, zorder=1, **style)
            at = 0.12 + 0.16 * j / max(weights.shape[1] - 1, 1)  # where edges lie apart: on the side of more nodes
            if weights.shape[1] > weights.shape[0]:
                at = 0.88 - 0.16 * i / max(weights.shape[0] - 1, 1)
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            height = left[i] + at * (right[j] - left[i])
            axes.text(at, height, f"{weight:.3g}", size=8, ha="center", va="center", bbox=box, zorder=2)
        axes.scatter(np.zeros(len(left)), left, s=260, color=_VALUE, edgecolors="black", zorder=3)
        axes.scatter(np.ones(len(right)), right, s=260, color=_CLASS, edgecolors="black", marker="s", zorder=3)
        for y, value, alpha in zip(left, self.values, self.alphas, strict=True):
            axes.text(-0.06, y, f"{shorten(value, 24)}\nα = {alpha:.3g}", ha="right", va="center", size=9)
        for j, (y, total) in enumerate(zip(right, self.totals.tolist(), strict=True)):
            axes.text(1.06, y, f"E{j + 1}\nof {total:,}", ha="left", va="center", size=9)
        axes.set(xlim=(-0.5, 1.4), ylim=(-0.4, high + 0.4))
        axes.axis("off")

    def _draw_map(self, axes: "Axes") -> None:
        values, classes = self._shown
        image = axes.imshow(self.matrix(values, classes), aspect="auto", cmap="Blues", vmin=0, vmax=1)
        names, alphas = self.values, self.alphas
        labels = [f"{shorten(names[i], 24)}  α = {alphas[i]:.3g}" for i in values.tolist()]
        axes.set_yticks(range(len(values)), labels, size=8)
        step = max(len(classes) // 20, 1)
        under = [f"E{j + 1}" for j in classes[::step].tolist()]
        axes.set_xticks(range(0, len(classes), step), under, size=7, rotation=90)
        assert axes.figure is not None
        axes.figure.colorbar(image, ax=axes, label="share of the class")


def _places(count: int, high: int) -> NDArray[np.float64]:
    """Return positions from top to bottom, spread over the same height."""
    return np.linspace(high, 0, count) if count > 1 else np.full(count, high / 2)


def _renumber(chosen: Chosen, size: int) -> tuple[NDArray[np.int64], int]:
    """Return the new number of each of `size` things, −1 where it is not chosen, and how many are chosen."""
    if chosen is None:
        return np.arange(size), size
    number = np.full(size, -1)
    number[chosen] = np.arange(len(chosen))
    return number, len(chosen)
