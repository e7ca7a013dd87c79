"""A lattice as a picture: one box per node while they can be read, else one bar per height."""

import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.explore.lattice_table import LatticeTable, NodeRow
from shoal.hierarchy.lattice import Node
from shoal.report.plots.display import CHARACTER, Display, Pen, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BOXES = 500
"""Most nodes that are drawn one by one."""
_MOST_DETAILED = 40
"""Most nodes whose boxes also show loss and suppressed rows."""
_WIDEST = 16.0
"""Inches that boxes of one height may take before their labels are turned upright."""

_BAR = 0.26
"""Height in inches of the bar of a lattice height."""
_GAP = 0.25
"""Inches between two boxes of one height."""
_BELOW = 1.5
"""Inches for the legend."""

# Okabe and Ito's colours, told apart by colour-blind people too; each kind also has an outline of its own
_FILL = {"front": "#E69F00", "complies": "#9AD0F0", "fails": "#F2F2F2"}
_EDGE = {"front": "#000000", "complies": "#0072B2", "fails": "#8C8C8C"}
_LINE = {"front": 1.8, "complies": 0.9, "fails": 0.8}
_STYLE = {"front": "solid", "complies": "solid", "fails": "dashed"}
_MEANING = {"front": "complies, on the Pareto front", "complies": "complies", "fails": "does not comply"}
STAR: dict[str, Any] = {"marker": "*", "color": "#F0E442", "edgecolors": "#000000", "linewidths": 0.9, "zorder": 4}
DIAMOND: dict[str, Any] = {"marker": "D", "color": _FILL["front"], "edgecolors": "#000000", "linewidths": 0.9}


@dataclass(frozen=True)
class LatticeGraph(Display):
    """A listed lattice (S2.2): a box for every node, joined to those one step above it; of many, a bar per height.

    >>> import pyarrow as pa
    >>> import shoal as sh
    >>> ages = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}}
    >>> policy = {"attributes": ages, "require": [{"model": "k-anonymity", "k": 2}]}
    >>> axes = LatticeGraph(sh.lattice(pa.table({"age": [31, 38, 52, 59]}), policy)).plot()
    >>> [text.get_text() for text in axes.texts if text.get_text().startswith("[")]
    ['[0]', '[1]', '[2]']
    """

    shows_values: ClassVar[bool] = False
    table: LatticeTable
    fills: ClassVar[bool] = True

    @property
    def figsize(self) -> tuple[float, float]:
        width, height = self._inner
        return width, _BELOW + height + 0.42 + 0.2 * len(self._title)

    def draw(self, axes: "Axes") -> None:
        pen = Pen.on(axes, *self.figsize)
        title, *more = self._title
        top = self.figsize[1]
        pen.text(0.3, top - 0.35, title, 13, weight="bold", va="center_baseline")
        for i, line in enumerate(more):
            pen.text(0.3, top - 0.65 - 0.2 * i, line, color="#333333", va="center_baseline")
        _draw_legend(pen, self.table)
        if self._grid is None:
            _draw_bars(pen, self.table)
        else:
            _draw_boxes(pen, self.table, self._grid, self.figsize[0])

    @cached_property
    def _grid(self) -> "_Grid | None":
        return _Grid.of(self.table) if len(self.table.nodes) <= MOST_BOXES else None

    @cached_property
    def _inner(self) -> tuple[float, float]:
        """Width and height in inches of the boxes or bars."""
        heights = {row.height for row in self.table.nodes}
        if self._grid is None:
            return 10.0, _BAR * len(heights) + 0.3
        across, up = self._grid.step
        return max(self._grid.widest * across + 1.4, 7.0), up * (len(heights) - 1) + self._grid.box[1] + 0.3

    @cached_property
    def _title(self) -> list[str]:
        table, characters = self.table, int((self._inner[0] - 0.6) / (9 * CHARACTER))
        complying = sum(row.complies for row in table.nodes)
        suppressed = f"at most {table.limit:,} suppressed" if table.limit else "none suppressed"
        lines = [
            f"{'; '.join(map(_promise, table.require))}; {table.rows:,} rows, {suppressed}",
            f"levels of [{', '.join(map(printable, table.lattice.attributes))}]",
        ]
        wrapped = (part for line in lines for part in textwrap.wrap(line, characters))
        return [f"Lattice of {len(table.nodes):,} nodes, {complying:,} of which comply", *wrapped]


def label_of(node: Node) -> str:
    """Return a node as it is written in the picture.

    >>> label_of((1, 0))
    '[1,0]'
    """
    return f"[{','.join(map(str, node))}]"


def _kind(row: NodeRow) -> str:
    return "front" if row.pareto else "complies" if row.complies else "fails"


def _style_of(kind: str, line: float | None = None) -> dict[str, Any]:
    return {
        "facecolor": _FILL[kind],
        "edgecolor": _EDGE[kind],
        "linestyle": _STYLE[kind] if line != 0 else "solid",  # Matplotlib before 3.11 refuses dashes of no width
        "linewidth": _LINE[kind] if line is None else line,
    }


# boxes


@dataclass(frozen=True)
class _Grid:
    """Where the boxes are placed, in inches."""

    widest: int
    """Most boxes of one height."""
    box: tuple[float, float]
    turned: bool
    size: float
    """Size of the letters in points."""
    room: float
    """Room between two heights, so that edges can be seen."""

    @classmethod
    def of(cls, table: LatticeTable) -> "_Grid":
        widest = max(Counter(row.height for row in table.nodes).values())
        longest = max(len(line) for row in table.nodes for line in _lines(table, row))
        lines = 2 if len(table.nodes) <= _MOST_DETAILED else 1
        room = min(0.5 + 0.025 * widest, 1.6)
        long = longest * 9 * CHARACTER + 0.22
        if widest * (long + _GAP) <= _WIDEST:
            return cls(widest, (long, 0.2 + 0.16 * lines), turned=False, size=9, room=room)
        return cls(widest, (0.21, longest * 7 * CHARACTER + 0.2), turned=True, size=7, room=room)

    @property
    def step(self) -> tuple[float, float]:
        """Distance from one box to the next, across and up."""
        return self.box[0] + (_GAP / 3 if self.turned else _GAP), self.box[1] + self.room


def _lines(table: LatticeTable, row: NodeRow) -> list[str]:
    if len(table.nodes) > _MOST_DETAILED:
        return [label_of(row.levels)]
    return [label_of(row.levels), f"{row.metrics[table.metric]:.3g} | {row.suppressed:,}"]


def _draw_boxes(pen: Pen, table: LatticeTable, grid: _Grid, width: float) -> None:
    by_height = defaultdict(list)
    for row in table.nodes:
        by_height[row.height].append(row)
    low, (across, up) = min(by_height), grid.step
    first, centre = _BELOW + grid.box[1] / 2, (width + 0.6) / 2
    places = {
        row.levels: (centre + (i - (len(rows) - 1) / 2) * across, first + (height - low) * up)
        for height, rows in by_height.items()
        for i, row in enumerate(rows)
    }
    _draw_edges(pen.axes, table, places, grid.box[1] / 2)
    for row in table.nodes:
        _draw_box(pen, table, row, places[row.levels], grid)
    for height in by_height:
        pen.text(0.3, first + (height - low) * up, f"height {height}", va="center")


def _draw_edges(axes: "Axes", table: LatticeTable, places: Mapping[Node, tuple[float, float]], half: float) -> None:
    """Draw edges from the top of each box to the bottom of those one step more general."""
    from matplotlib.collections import LineCollection

    pairs = [(places[node], places[above]) for node in places for above in table.lattice.successors(node)]
    lines = [((x, y + half), (there, up - half)) for (x, y), (there, up) in pairs]
    axes.add_collection(LineCollection(lines, colors="#B0B0B0", linewidths=0.8 if len(lines) < 300 else 0.4, zorder=1))


def _draw_box(pen: Pen, table: LatticeTable, row: NodeRow, place: tuple[float, float], grid: _Grid) -> None:
    from matplotlib.patches import FancyBboxPatch

    kind, (x, y), (wide, high) = _kind(row), place, grid.box
    box = FancyBboxPatch(
        (x - wide / 2, y - high / 2),
        wide,
        high,
        boxstyle="round,pad=0,rounding_size=0.07",
        zorder=2,
        **_style_of(kind),
    )
    pen.axes.add_patch(box)
    lines = _lines(table, row)
    for i, line in enumerate(lines):
        above = ((len(lines) - 1) / 2 - i) * 0.17
        weight = "bold" if row is table.best and i == 0 else "normal"
        turn: dict[str, Any] = {"rotation": 90, "va": "center"} if grid.turned else {"va": "center_baseline"}
        pen.text(x, y + above, line, grid.size, ha="center", weight=weight, zorder=3, **turn)
    if row is table.best:
        pen.mark(x if grid.turned else x + wide / 2, y + high / 2 + (0.08 if grid.turned else 0), 170, **STAR)


# bars


def _draw_bars(pen: Pen, table: LatticeTable) -> None:
    low, high = table.nodes[0].height, table.nodes[-1].height
    counts = Counter((row.height, _kind(row)) for row in table.nodes)
    longest = max(Counter(row.height for row in table.nodes).values())
    for height in range(low, high + 1):
        y = _BELOW + _BAR * (height - low + 0.5)
        front, other, fails = (counts[height, kind] for kind in _FILL)
        pen.text(1.1, y, f"height {height}", 8, ha="right", va="center_baseline")
        if front:
            pen.mark(1.5, y, 45, **DIAMOND)
        if table.best is not None and table.best.height == height:
            pen.mark(1.28, y, 130, **STAR)
        x = 1.65
        for kind, count in (("complies", front + other), ("fails", fails)):
            wide = 5.2 * count / longest
            pen.axes.barh([y], [wide], 0.8 * _BAR, left=x, **_style_of(kind, line=0.7 if count else 0))
            x += wide
        said = f"{front + other:,} of {front + other + fails:,} comply" + (f", {front:,} on the front" if front else "")
        pen.text(x + 0.1, y, said, 8, va="center_baseline")


# what both have


def _promise(model: Mapping[str, Any]) -> str:
    """Format a promise such as `k-anonymity k = 5`; limits for several values are only named."""
    said = (f"{key} = {value}" for key, value in model.items() if key != "model" and not isinstance(value, Mapping))
    return printable(" ".join([str(model["model"]), ", ".join(said)]).strip())


def _draw_legend(pen: Pen, table: LatticeTable) -> None:
    y = 1.1
    for mark, meaning in _legend(table):
        if mark == "front" and len(table.nodes) > MOST_BOXES:
            pen.mark(0.45, y, 45, **DIAMOND)
        elif mark in _FILL:
            pen.axes.barh([y], [0.3], 0.16, left=0.3, **_style_of(mark))
        elif mark == "star":
            pen.mark(0.45, y, 130, **STAR)
        pen.text(0.75, y, meaning, va="center_baseline")
        y -= 0.21


def _legend(table: LatticeTable) -> Iterator[tuple[str, str]]:
    yield "front", f"{_MEANING['front']} of {table.metric} against suppressed rows"
    yield "complies", _MEANING["complies"]
    yield "fails", _MEANING["fails"]
    best = table.best
    if best is not None:
        value = f"{best.metrics[table.metric]:.6g}"
        yield "star", f"least {table.metric}: {value} at {label_of(best.levels)}, {best.suppressed:,} rows suppressed"
    if len(table.nodes) <= _MOST_DETAILED:
        yield "", f"in each box: levels, then {table.metric} | rows suppressed"
