"""A decision tree as a picture: its root on the left, a line for each leaf, the heaviest branches where it is large."""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from shoal.mining.decision_tree import FittedTree, Node
from shoal.report.plots.display import CHARACTER, Display, Pen, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LINES = 60
"""Most lines: leaves, and branches that are not followed further."""
_LINE = 0.3
"""Inches from one line to the next."""
_SIZE = 9
# Okabe and Ito's colours, made lighter: told apart by colour-blind people too, and every leaf also names its class
_FILL = ("#9AD0F0", "#F5C67A", "#8FD6BE", "#F2B5D4", "#F7EE9E", "#E8A07A", "#A9C4E6", "#D9D9D9")


@dataclass
class _DrawnNode:
    """A node with those of its children that are drawn."""

    node: Node
    sons: list["_DrawnNode"] = field(default_factory=list)
    line: float = 0.0
    """Line from the top."""

    @property
    def depth(self) -> int:
        return len(self.node.path)


@dataclass(frozen=True)
class DecisionTree(Display):
    """A tree of C4.5 (S1.1).

    >>> import pyarrow as pa
    >>> from shoal.mining.c45 import C45
    >>> tree = C45().fit(pa.table({"age": [25, 29, 45, 52]}), ["well", "well", "ill", "ill"]).tree_
    >>> [text.get_text() for text in DecisionTree(tree).plot().texts][2:]
    ['age', '<= 29', '> 29', 'well (2.0)', 'ill (2.0)']
    """

    tree: FittedTree
    fills: ClassVar[bool] = True

    @property
    def figsize(self) -> tuple[float, float]:
        root, lines = self._chosen
        return max(_columns(self.tree, _place_nodes(root))[1], 6.0), lines * _LINE + 1.3

    def draw(self, axes: "Axes") -> None:
        width, height = self.figsize
        pen, shown = Pen.on(axes, width, height), _place_nodes(self._chosen[0])
        places, _ = _columns(self.tree, shown)
        pen.text(0.3, height - 0.35, "Decision tree", 13, weight="bold", va="center_baseline")
        pen.text(0.3, height - 0.65, _describe_tree(self.tree, shown), _SIZE, color="#333333", va="center_baseline")
        for each in shown:
            _draw_node(pen, self.tree, each, places, height - 1.1)

    @cached_property
    def _chosen(self) -> tuple["_DrawnNode", int]:
        return _choose_nodes(self.tree)


def _describe_tree(tree: FittedTree, shown: list[_DrawnNode]) -> str:
    said = f"{tree.n_leaves:,} leaves, {float(tree.counts[0].sum()):,.0f} rows; in each leaf: class (rows/errors)"
    return f"{said}; dashed: goes on" if any(each.node.attribute and not each.sons for each in shown) else said


def _choose_nodes(tree: FittedTree) -> tuple[_DrawnNode, int]:
    """Choose the nodes to draw, following the heaviest first; return also how many lines they take."""
    sons: dict[int, list[Node]] = {}
    ways: list[Node] = []
    for node in tree.nodes():
        del ways[len(node.path) :]
        if ways and node.number >= 0:
            sons.setdefault(ways[-1].number, []).append(node)
        ways.append(node)
    root = _DrawnNode(next(tree.nodes()))
    lines, open_nodes = 1, [(-root.node.rows, 0, root)]
    while open_nodes:
        _, _, drawn = heapq.heappop(open_nodes)
        below = sons.get(drawn.node.number, [])
        if not below or lines + len(below) - 1 > MOST_LINES:
            continue
        lines += len(below) - 1
        drawn.sons = [_DrawnNode(node) for node in below]
        for son in drawn.sons:
            heapq.heappush(open_nodes, (-son.node.rows, son.node.number, son))
    return root, lines


def _place_nodes(root: _DrawnNode) -> list[_DrawnNode]:
    """Set the line of every drawn node and return them, parents first: leaves one line each, others the middle."""
    order, stack, lines = [], [root], 0
    while stack:
        drawn = stack.pop()
        order.append(drawn)
        stack.extend(reversed(drawn.sons))
        if not drawn.sons:
            drawn.line = lines
            lines += 1
    for drawn in reversed(order):
        if drawn.sons:
            drawn.line = (drawn.sons[0].line + drawn.sons[-1].line) / 2
    return order


def _columns(tree: FittedTree, shown: list[_DrawnNode]) -> tuple[Mapping[int, tuple[float, float]], float]:
    """Return, by depth, the x at which branches and boxes begin; and the total width."""
    places, x = {}, 0.3
    for depth in range(max(drawn.depth for drawn in shown) + 1):
        here = [drawn for drawn in shown if drawn.depth == depth]
        branch = max(len(_branch(drawn)) for drawn in here) * _SIZE * CHARACTER + (0.4 if depth else 0)
        places[depth] = (x, x + branch)
        x += branch + max(len(_label(tree, drawn)) for drawn in here) * _SIZE * CHARACTER + 0.3
    return places, x + 0.2


def _branch(drawn: _DrawnNode) -> str:
    if not drawn.node.path:
        return ""
    test = drawn.node.path[-1]
    return shorten(f"{test.operator} {test.value}")


def _label(tree: FittedTree, drawn: _DrawnNode) -> str:
    node = drawn.node
    if node.attribute is None:
        return f"{shorten(str(tree.classes[node.label]))} {node.weights_text}"
    return shorten(node.attribute) if drawn.sons else f"{shorten(node.attribute)} … {node.weights_text}"


def _draw_node(
    pen: Pen, tree: FittedTree, drawn: _DrawnNode, places: Mapping[int, tuple[float, float]], top: float
) -> None:
    from matplotlib.patches import FancyBboxPatch

    label, (_, x), y = _label(tree, drawn), places[drawn.depth], top - drawn.line * _LINE
    wide = len(label) * _SIZE * CHARACTER + 0.16
    leaf = drawn.node.attribute is None
    box = FancyBboxPatch(
        (x, y - 0.11),
        wide,
        0.22,
        boxstyle="round,pad=0,rounding_size=0.07" if leaf else "square,pad=0",
        facecolor=_FILL[drawn.node.label % len(_FILL)] if leaf else "white",
        edgecolor="#000000" if not leaf else "#8C8C8C",
        linestyle="solid" if leaf or drawn.sons else "dashed",
        linewidth=0.9,
        zorder=2,
    )
    pen.axes.add_patch(box)
    pen.text(x + wide / 2, y, label, _SIZE, ha="center", va="center_baseline", zorder=3)
    for son in drawn.sons:
        begin, end = places[son.depth]
        turn, there = begin + 0.1, top - son.line * _LINE
        pen.axes.plot([x + wide, turn, turn, end], [y, y, there, there], color="#8C8C8C", lw=0.8, zorder=1)
        pen.text(turn + 0.06, there + 0.01, _branch(son), _SIZE - 1, va="bottom", color="#333333", zorder=3)
