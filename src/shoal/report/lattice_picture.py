"""A lattice as a picture: one box per node while they can be read, else one bar per height."""

import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.lattice import Node
from shoal.report.lattice_table import LatticeTable, NodeRow
from shoal.report.pictures import CHARACTER, printable, rendered

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BOXES = 500
"""Nodes that are drawn one by one."""
_MOST_DETAILED = 40
"""Nodes whose loss and suppressed rows stand in their boxes."""
_WIDEST = 16.0
"""Inches that boxes of one height may take before their labels are turned upright."""

_BAR = 0.26
"""Inches for the bar of a height."""
_GAP = 0.25
"""Between two boxes of a height."""

# Okabe and Ito's colours, told apart by colour-blind people too; each kind also has an outline of its own
_FILL = {"front": "#E69F00", "complies": "#9AD0F0", "fails": "#F2F2F2"}
_EDGE = {"front": "#000000", "complies": "#0072B2", "fails": "#8C8C8C"}
_LINE = {"front": 1.8, "complies": 0.9, "fails": 0.8}
_STYLE = {"front": "solid", "complies": "solid", "fails": "dashed"}
_MEANING = {"front": "complies, on the Pareto front", "complies": "complies", "fails": "does not comply"}
_STAR: dict[str, Any] = {"marker": "*", "color": "#F0E442", "edgecolors": "#000000", "linewidths": 0.9, "zorder": 4}
_DIAMOND: dict[str, Any] = {"marker": "D", "color": _FILL["front"], "edgecolors": "#000000", "linewidths": 0.9}


def render(table: LatticeTable, kind: str) -> bytes:
    """The picture as the bytes of an SVG or a PNG: the same for the same table."""
    return rendered(lambda: draw(table), kind)


def draw(table: LatticeTable) -> "Figure":
    """The picture as a figure of matplotlib."""
    return _draw_boxes(table) if len(table.nodes) <= MOST_BOXES else _draw_bars(table)


def label(node: Node) -> str:
    """A node as it stands in the picture.

    >>> label((1, 0))
    '[1,0]'
    """
    return f"[{','.join(map(str, node))}]"


def _kind(row: NodeRow) -> str:
    return "front" if row.pareto else "complies" if row.complies else "fails"


def _look(kind: str, line: float | None = None) -> dict[str, Any]:
    return {
        "facecolor": _FILL[kind],
        "edgecolor": _EDGE[kind],
        "linestyle": _STYLE[kind],
        "linewidth": _LINE[kind] if line is None else line,
    }


# boxes


@dataclass(frozen=True)
class _Grid:
    """Where the boxes stand, in inches."""

    box: tuple[float, float]
    turned: bool
    size: float
    """Of the letters, in points."""
    room: float
    """Between two heights, to see the edges."""

    @classmethod
    def of(cls, table: LatticeTable, widest: int) -> "_Grid":
        longest = max(len(line) for row in table.nodes for line in _lines(table, row))
        lines = 2 if len(table.nodes) <= _MOST_DETAILED else 1
        room = min(0.5 + 0.025 * widest, 1.6)
        long = longest * 9 * CHARACTER + 0.22
        if widest * (long + _GAP) <= _WIDEST:
            return cls((long, 0.2 + 0.16 * lines), turned=False, size=9, room=room)
        return cls((0.21, longest * 7 * CHARACTER + 0.2), turned=True, size=7, room=room)

    @property
    def step(self) -> tuple[float, float]:
        """From one box to the next, aside and up."""
        return self.box[0] + (_GAP / 3 if self.turned else _GAP), self.box[1] + self.room


def _lines(table: LatticeTable, row: NodeRow) -> list[str]:
    if len(table.nodes) > _MOST_DETAILED:
        return [label(row.levels)]
    return [label(row.levels), f"{row.metrics[table.metric]:.3g} | {row.suppressed:,}"]


def _draw_boxes(table: LatticeTable) -> "Figure":
    by_height = defaultdict(list)
    for row in table.nodes:
        by_height[row.height].append(row)
    widest = max(map(len, by_height.values()))
    grid = _Grid.of(table, widest)
    low, (across, up) = min(by_height), grid.step
    width = max(widest * across + 1.4, 7.0)
    figure, axes, bottom = _canvas(table, width, up * (len(by_height) - 1) + grid.box[1] + 0.3)
    centre = (width + 0.6) / 2
    places = {
        row.levels: (centre + (i - (len(rows) - 1) / 2) * across, bottom + grid.box[1] / 2 + (height - low) * up)
        for height, rows in by_height.items()
        for i, row in enumerate(rows)
    }
    _draw_edges(axes, table, places, grid.box[1] / 2)
    for row in table.nodes:
        _draw_box(axes, table, row, places[row.levels], grid)
    for height in by_height:
        axes.text(0.3, bottom + grid.box[1] / 2 + (height - low) * up, f"height {height}", va="center", size=9)
    return figure


def _draw_edges(axes: "Axes", table: LatticeTable, places: Mapping[Node, tuple[float, float]], half: float) -> None:
    """From the upper side of each box to the lower side of those that are one step more general."""
    from matplotlib.collections import LineCollection

    pairs = [(places[node], places[above]) for node in places for above in table.lattice.successors(node)]
    lines = [((x, y + half), (there, up - half)) for (x, y), (there, up) in pairs]
    axes.add_collection(LineCollection(lines, colors="#B0B0B0", linewidths=0.8 if len(lines) < 300 else 0.4, zorder=1))


def _draw_box(axes: "Axes", table: LatticeTable, row: NodeRow, place: tuple[float, float], grid: _Grid) -> None:
    from matplotlib.patches import FancyBboxPatch

    kind, (x, y), (wide, high) = _kind(row), place, grid.box
    box = FancyBboxPatch(
        (x - wide / 2, y - high / 2),
        wide,
        high,
        boxstyle="round,pad=0,rounding_size=0.07",
        zorder=2,
        **_look(kind),
    )
    axes.add_patch(box)
    lines = _lines(table, row)
    for i, line in enumerate(lines):
        above = ((len(lines) - 1) / 2 - i) * 0.17
        weight = "bold" if row is table.best and i == 0 else "normal"
        turn: dict[str, Any] = {"rotation": 90, "va": "center"} if grid.turned else {"va": "center_baseline"}
        axes.text(x, y + above, line, ha="center", size=grid.size, weight=weight, zorder=3, **turn)
    if row is table.best:
        axes.scatter(
            [x if grid.turned else x + wide / 2], [y + high / 2 + (0.08 if grid.turned else 0)], s=170, **_STAR
        )


# bars


def _draw_bars(table: LatticeTable) -> "Figure":
    low, high = table.nodes[0].height, table.nodes[-1].height
    figure, axes, bottom = _canvas(table, 10.0, _BAR * (high - low + 1) + 0.3)
    counts = Counter((row.height, _kind(row)) for row in table.nodes)
    longest = max(Counter(row.height for row in table.nodes).values())
    for height in range(low, high + 1):
        y = bottom + _BAR * (height - low + 0.5)
        front, other, fails = (counts[height, kind] for kind in _FILL)
        axes.text(1.1, y, f"height {height}", ha="right", va="center_baseline", size=8)
        if front:
            axes.scatter([1.5], [y], s=45, **_DIAMOND)
        if table.best is not None and table.best.height == height:
            axes.scatter([1.28], [y], s=130, **_STAR)
        x = 1.65
        for kind, count in (("complies", front + other), ("fails", fails)):
            wide = 5.2 * count / longest
            axes.barh([y], [wide], 0.8 * _BAR, left=x, **_look(kind, line=0.7 if count else 0))
            x += wide
        said = f"{front + other:,} of {front + other + fails:,} comply" + (f", {front:,} on the front" if front else "")
        axes.text(x + 0.1, y, said, va="center_baseline", size=8)
    return figure


# what both have


def _canvas(table: LatticeTable, width: float, height: float) -> tuple["Figure", "Axes", float]:
    """A figure measured in inches with title and legend, and where the rest may begin above its bottom."""
    from matplotlib.figure import Figure

    title, *more = _title(table, int((width - 0.6) / (9 * CHARACTER)))
    above, below = 0.62 + 0.2 * len(more), 1.5
    figure = Figure(figsize=(width, above + height + below), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, above + height + below))
    axes.axis("off")
    axes.text(0.3, above + height + below - 0.35, title, size=13, weight="bold", va="center_baseline")
    for i, line in enumerate(more):
        axes.text(0.3, above + height + below - 0.65 - 0.2 * i, line, size=9, color="#333333", va="center_baseline")
    _draw_legend(axes, table)
    return figure, axes, below


def _title(table: LatticeTable, characters: int) -> list[str]:
    complying = sum(row.complies for row in table.nodes)
    suppressed = f"at most {table.limit:,} suppressed" if table.limit else "none suppressed"
    lines = [
        f"{'; '.join(map(_promise, table.require))}; {table.rows:,} rows, {suppressed}",
        f"levels of [{', '.join(map(printable, table.lattice.attributes))}]",
    ]
    wrapped = (part for line in lines for part in textwrap.wrap(line, characters))
    return [f"Lattice of {len(table.nodes):,} nodes, {complying:,} of which comply", *wrapped]


def _promise(model: Mapping[str, Any]) -> str:
    """`k-anonymity k = 5`; a limit for each of several values is only named."""
    said = (f"{key} = {value}" for key, value in model.items() if key != "model" and not isinstance(value, Mapping))
    return printable(" ".join([str(model["model"]), ", ".join(said)]).strip())


def _draw_legend(axes: "Axes", table: LatticeTable) -> None:
    y = 1.1
    for mark, meaning in _legend(table):
        if mark == "front" and len(table.nodes) > MOST_BOXES:
            axes.scatter([0.45], [y], s=45, **_DIAMOND)
        elif mark in _FILL:
            axes.barh([y], [0.3], 0.16, left=0.3, **_look(mark))
        elif mark == "star":
            axes.scatter([0.45], [y], s=130, **_STAR)
        axes.text(0.75, y, meaning, va="center_baseline", size=9)
        y -= 0.21


def _legend(table: LatticeTable) -> Iterator[tuple[str, str]]:
    yield "front", f"{_MEANING['front']} of {table.metric} against suppressed rows"
    yield "complies", _MEANING["complies"]
    yield "fails", _MEANING["fails"]
    best = table.best
    if best is not None:
        value = f"{best.metrics[table.metric]:.6g}"
        yield "star", f"least {table.metric}: {value} at {label(best.levels)}, {best.suppressed:,} rows suppressed"
    if len(table.nodes) <= _MOST_DETAILED:
        yield "", f"in each box: levels, then {table.metric} | rows suppressed"
