"""A decision tree as a picture: its root on the left, a line for each leaf, the heaviest branches where it is large."""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import BadOutput
from shoal.mining import Tree
from shoal.mining.tree import Node
from shoal.report.pictures import CHARACTER, printable, rendered

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES = 60
"""Leaves, and branches that are not followed further."""
_LINE = 0.3
"""Inches from one to the next."""
_SIZE = 9
_LONGEST = 40
"""Characters of a label; more are cut."""
# Okabe and Ito's colours, made lighter: told apart by colour-blind people too, and every leaf also names its class
_FILL = ("#9AD0F0", "#F5C67A", "#8FD6BE", "#F2B5D4", "#F7EE9E", "#E8A07A", "#A9C4E6", "#D9D9D9")


@dataclass
class _Drawn:
    """A node with those of its sons that are drawn."""

    node: Node
    sons: list["_Drawn"] = field(default_factory=list)
    y: float = 0.0

    @property
    def depth(self) -> int:
        return len(self.node.path)


def write_tree(tree: Tree, path: Path) -> None:
    """Draw a tree into a file, .svg or .png."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in {"svg", "png"}:
        raise BadOutput(f"{path.name}: a picture is written as .svg or .png")
    path.write_bytes(render(tree, kind))


def render(tree: Tree, kind: str) -> bytes:
    """The picture as the bytes of an SVG or a PNG: the same for the same tree.

    >>> import pyarrow as pa
    >>> from shoal.mining import C45
    >>> tree = C45().fit(pa.table({"age": [25, 29, 45, 52]}), ["well", "well", "ill", "ill"]).tree_
    >>> b"age" in render(tree, "svg") and b"well (2.0)" in render(tree, "svg")
    True
    """
    return rendered(lambda: draw(tree), kind)


def draw(tree: Tree) -> "Figure":
    """The picture as a figure of matplotlib."""
    from matplotlib.figure import Figure

    root, lines = _chosen(tree)
    shown = _placed(root)
    places, width = _columns(tree, shown)
    width, height = max(width, 6.0), lines * _LINE + 1.3
    figure = Figure(figsize=(width, height), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    axes.text(0.3, height - 0.35, "Decision tree", size=13, weight="bold", va="center_baseline")
    axes.text(0.3, height - 0.65, _said(tree, shown), size=_SIZE, color="#333333", va="center_baseline")
    for each in shown:
        each.y = height - 1.1 - each.y * _LINE
    for each in shown:
        _draw_node(axes, tree, each, places)
    return figure


def _said(tree: Tree, shown: list[_Drawn]) -> str:
    said = f"{tree.n_leaves:,} leaves, {float(tree.counts[0].sum()):,.0f} rows; in each leaf: class (rows/errors)"
    return f"{said}; dashed: goes on" if any(each.node.attribute and not each.sons for each in shown) else said


def _chosen(tree: Tree) -> tuple[_Drawn, int]:
    """The nodes to draw, the heaviest followed first, and how many lines they take."""
    sons: dict[int, list[Node]] = {}
    ways: list[Node] = []
    for node in tree.nodes():
        del ways[len(node.path) :]
        if ways and node.number >= 0:
            sons.setdefault(ways[-1].number, []).append(node)
        ways.append(node)
    root = _Drawn(next(tree.nodes()))
    lines, open_nodes = 1, [(-root.node.rows, 0, root)]
    while open_nodes:
        _, _, drawn = heapq.heappop(open_nodes)
        below = sons.get(drawn.node.number, [])
        if not below or lines + len(below) - 1 > MOST_LINES:
            continue
        lines += len(below) - 1
        drawn.sons = [_Drawn(node) for node in below]
        for son in drawn.sons:
            heapq.heappush(open_nodes, (-son.node.rows, son.node.number, son))
    return root, lines


def _placed(root: _Drawn) -> list[_Drawn]:
    """All that is drawn, each before those below it; a leaf has a line of its own, a node the middle of its sons."""
    order, stack, lines = [], [root], 0
    while stack:
        drawn = stack.pop()
        order.append(drawn)
        stack.extend(reversed(drawn.sons))
        if not drawn.sons:
            drawn.y = lines
            lines += 1
    for drawn in reversed(order):
        if drawn.sons:
            drawn.y = (drawn.sons[0].y + drawn.sons[-1].y) / 2
    return order


def _columns(tree: Tree, shown: list[_Drawn]) -> tuple[Mapping[int, tuple[float, float]], float]:
    """By depth, where the branches begin and where the boxes do; and where all end."""
    places, x = {}, 0.3
    for depth in range(max(drawn.depth for drawn in shown) + 1):
        here = [drawn for drawn in shown if drawn.depth == depth]
        branch = max(len(_branch(drawn)) for drawn in here) * _SIZE * CHARACTER + (0.4 if depth else 0)
        places[depth] = (x, x + branch)
        x += branch + max(len(_label(tree, drawn)) for drawn in here) * _SIZE * CHARACTER + 0.3
    return places, x + 0.2


def _branch(drawn: _Drawn) -> str:
    if not drawn.node.path:
        return ""
    test = drawn.node.path[-1]
    return _short(f"{test.operator} {test.value}")


def _label(tree: Tree, drawn: _Drawn) -> str:
    node = drawn.node
    if node.attribute is None:
        return f"{_short(str(tree.classes[node.label]))} {node.counted}"
    return _short(node.attribute) if drawn.sons else f"{_short(node.attribute)} … {node.counted}"


def _short(text: str) -> str:
    clean = printable(text)
    return clean if len(clean) <= _LONGEST else f"{clean[: _LONGEST - 1]}…"


def _draw_node(axes: "Axes", tree: Tree, drawn: _Drawn, places: Mapping[int, tuple[float, float]]) -> None:
    from matplotlib.patches import FancyBboxPatch

    label, (_, x) = _label(tree, drawn), places[drawn.depth]
    wide = len(label) * _SIZE * CHARACTER + 0.16
    leaf = drawn.node.attribute is None
    box = FancyBboxPatch(
        (x, drawn.y - 0.11),
        wide,
        0.22,
        boxstyle="round,pad=0,rounding_size=0.07" if leaf else "square,pad=0",
        facecolor=_FILL[drawn.node.label % len(_FILL)] if leaf else "white",
        edgecolor="#000000" if not leaf else "#8C8C8C",
        linestyle="solid" if leaf or drawn.sons else "dashed",
        linewidth=0.9,
        zorder=2,
    )
    axes.add_patch(box)
    axes.text(x + wide / 2, drawn.y, label, ha="center", va="center_baseline", size=_SIZE, zorder=3)
    for son in drawn.sons:
        begin, end = places[son.depth]
        turn = begin + 0.1
        axes.plot([x + wide, turn, turn, end], [drawn.y, drawn.y, son.y, son.y], color="#8C8C8C", lw=0.8, zorder=1)
        axes.text(turn + 0.06, son.y + 0.01, _branch(son), va="bottom", size=_SIZE - 1, color="#333333", zorder=3)
