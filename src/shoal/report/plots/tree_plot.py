"""Trees as pictures, large ones abridged: decision trees, and hierarchies with their values on the left."""

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from shoal.data.codes import encode
from shoal.hierarchy.build import build, parse
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.mining.decision_tree import FittedTree, Node
from shoal.report.plots.display import CHARACTER, Display, Pen, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from shoal.data.codes import Codes

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


_LONGEST = 24
"""Most characters of a label in the picture of a hierarchy."""
_MOST_CHILDREN = (60, 40, 30, 20, 15, 12, 10, 8, 6, 5, 4, 3, 2, 1)
"""Most labels drawn under one label, from the widest picture to the narrowest."""
_BOX, _EDGE = "#E8F1F5", "#5D7485"
_MARKED = "#F5C67A"


_Place = tuple[int, int]
"""A level of a hierarchy, and a group of it."""


@dataclass(frozen=True)
class LabelNode:
    """A label of a hierarchy, and the labels under it."""

    label: str | None
    level: int
    below: tuple["LabelNode", ...] = ()
    more: int = 0
    """How many further labels lie directly under it, which are not drawn."""


@dataclass(frozen=True)
class PlacedLabel:
    """A label in the picture: its level from the left, its line from the top, and the number of the one above it."""

    text: str
    level: int
    line: float
    above: int | None
    shown: bool = False
    """Whether the release shows it."""
    is_rest: bool = False
    """Whether it stands for labels that are not drawn."""


@dataclass(frozen=True)
class HierarchyTree(Display):
    """A generalisation hierarchy (S1.1 figure 1, S3.1 figures 1 and 2): values on the left, the top on the right.

    >>> tree = HierarchyTree.from_values(["asian", "black", "white"], {"tree": {"person": ["asian", "black", "white"]}})
    >>> [placed.text for placed in tree.places]
    ['person', 'asian', 'black', 'white']
    """

    attribute: str
    roots: tuple[LabelNode, ...]
    more: int = 0
    """How many further labels there are at the top, which are not drawn."""
    shown: frozenset[str | None] = frozenset()
    """Labels that a release shows: they are marked."""
    numbered: bool = True
    """Whether levels are numbered."""
    fills: ClassVar[bool] = True

    @classmethod
    def from_values(cls, values: Iterable[Any], hierarchy: Any, attribute: str = "value") -> "HierarchyTree":
        """Return the hierarchy of some values, in any form that a policy or `shoal.anonymize` takes."""
        column = encode(attribute, pa.array(values))
        return cls.from_hierarchy(build(column, parse(hierarchy)))

    @classmethod
    def from_hierarchy(
        cls, hierarchy: Hierarchy, shown: Collection[str | None] = (), most: int = 40
    ) -> "HierarchyTree":
        """Return the tree of a hierarchy over the values of its column; the labels in `shown` are marked."""
        # for each level above the values: the groups of the level below in the order of their parents, and where the
        # children of each group begin among them
        sons: list[tuple[Codes, NDArray[np.int64]]] = []
        for level in range(1, hierarchy.height + 1):
            parent = hierarchy.between(level - 1, level)
            begins = np.searchsorted(np.sort(parent), np.arange(hierarchy.groups(level) + 1))
            sons.append((np.argsort(parent, kind="stable").astype(np.int32), begins))

        def below(place: _Place) -> Sequence[_Place]:
            level, group = place
            if level == 0:
                return ()
            order, begins = sons[level - 1]
            return [(level - 1, son) for son in order[begins[group] : begins[group + 1]].tolist()]

        tops = [(hierarchy.height, group) for group in range(hierarchy.groups(hierarchy.height))]
        roots, more = _grow(tops, below, lambda place: LabelNode(hierarchy.labels[place[0]][place[1]], place[0]), most)
        return cls(hierarchy.attribute, roots, more, frozenset(shown))

    @classmethod
    def from_relation(cls, attribute: str, above: Mapping[str, str | None], most: int = 40) -> "HierarchyTree":
        """Return the tree of labels that lie above one another, given the label right above each, if any."""
        sons: dict[str | None, list[str]] = {}
        for label, parent in above.items():
            sons.setdefault(parent, []).append(label)

        def height(label: str) -> int:
            return 1 + max(map(height, sons.get(label, ())), default=-1)

        roots, more = _grow(
            sons.get(None, []), lambda label: sons.get(label, ()), lambda label: LabelNode(label, height(label)), most
        )
        return cls(attribute, roots, more, numbered=False)

    @cached_property
    def places(self) -> tuple[PlacedLabel, ...]:
        """The labels with their places: parents before what lies under them."""
        found: list[PlacedLabel] = []

        def place(node: LabelNode, above: int | None, line: int) -> int:
            """Place a label and all under it from a line on; return the next free line."""
            at = len(found)
            text = "(missing)" if node.label is None else shorten(node.label, _LONGEST)
            found.append(PlacedLabel(text, node.level, line, above, node.label in self.shown))
            end = line
            for son in node.below:
                end = place(son, at, end)
            if node.more > 0:
                found.append(PlacedLabel(_rest(node.more), node.level - 1, end, at, is_rest=True))
                end += 1
            if end > line:
                found[at] = replace(found[at], line=(line + end - 1) / 2)
            return max(end, line + 1)

        line = 0
        for root in self.roots:
            line = place(root, None, line)
        if self.more:
            found.append(PlacedLabel(_rest(self.more), self.roots[0].level, line, None, is_rest=True))
        return tuple(found)

    @property
    def lines(self) -> int:
        return int(max(placed.line for placed in self.places)) + 1

    @property
    def widths(self) -> list[int]:
        """Characters of the longest label of each level."""
        levels = 1 + max(placed.level for placed in self.places)
        return [max((len(each.text) for each in self.places if each.level == at), default=1) for at in range(levels)]

    @property
    def told(self) -> str:
        """The picture in words."""
        every = [placed for placed in self.places if not placed.is_rest]
        tops = [placed.text for placed in every if placed.above is None]
        said = (
            f"Hierarchy of {self.attribute}, from {'the values' if self.numbered else 'the finest labels'} on the left"
        )
        few = f"{tops[0]}" if len(tops) == 1 else f"{len(tops)} labels"
        marked = sum(placed.shown for placed in every)
        return f"{said} to {few} on the right{f'; {marked} of the labels drawn are in the release' if marked else ''}"

    @property
    def figsize(self) -> tuple[float, float]:
        return max(self._columns[-1], 4.0), self.lines * _LINE + 1.2

    @property
    def _columns(self) -> list[float]:
        """Inches at which each level begins, and the width of all."""
        steps = [wide * _SIZE * CHARACTER + 0.75 for wide in self.widths]
        return [0.3 + sum(steps[:at]) for at in range(len(steps) + 1)]

    def draw(self, axes: "Axes") -> None:
        width, height = self.figsize
        pen, columns = Pen.on(axes, width, height), self._columns
        pen.text(0.3, height - 0.35, f"Hierarchy of {shorten(self.attribute)}", 13, weight="bold", va="center_baseline")
        top = height - 1.0
        if self.numbered:
            for level, x in enumerate(columns[:-1]):
                pen.text(x, height - 0.68, f"level {level}", _SIZE, color="#333333", va="center_baseline")
        places = self.places
        for placed in places:
            x, y = columns[placed.level], top - placed.line * _LINE
            wide = len(placed.text) * _SIZE * CHARACTER + 0.16
            if placed.above is not None:
                parent = places[placed.above]
                # from the label to the right, up or down, and on to the label above it
                end, high = columns[parent.level], top - parent.line * _LINE
                start = x + wide if placed.is_rest else x
                axes.plot(
                    [start, end - 0.25, end - 0.25, end], [y, y, high, high], color=_EDGE, lw=0.8 * pen.scale, zorder=0
                )
            box = {
                "boxstyle": "round,pad=0.25",
                "fc": _MARKED if placed.shown else _BOX,
                "ec": _EDGE,
                "lw": 0.6 * pen.scale,
            }
            style = "italic" if placed.is_rest else "normal"
            pen.text(x, y, placed.text, _SIZE, va="center", style=style, bbox=None if placed.is_rest else box)


def _grow(
    tops: Sequence[Any], below: Callable[[Any], Sequence[Any]], name: Callable[[Any], LabelNode], most: int
) -> tuple[tuple[LabelNode, ...], int]:
    """Return the labels to draw, under each as many as fit into so many lines, and how many tops are left out."""
    found: tuple[LabelNode, ...] = ()
    more = 0
    for widest in _MOST_CHILDREN:
        left = most

        def grow(places: Sequence[Any], widest: int = widest) -> tuple[tuple[LabelNode, ...], int]:
            """Return the labels at some places with what lies under them, and how many are left out."""
            nonlocal left
            grown = []
            for place in places[:widest]:
                sons = below(place)
                left -= not sons
                if left < 0:  # too long: this try is given up
                    break
                nodes, rest = grow(sons)
                grown.append(replace(name(place), below=nodes, more=rest))
            left -= len(places) > widest
            return tuple(grown), max(len(places) - widest, 0)

        found, more = grow(tops)
        if left >= 0:
            break
    return found, more


def _rest(count: int) -> str:
    return f"… {count:,} more"


def relate_labels(hierarchy: Hierarchy, labels: Sequence[str | None]) -> dict[str, str | None]:
    """Return, for each of some labels of a hierarchy, the lowest of them that lies above it; None if none does.

    They stay in the order in which they were given: that of the hierarchy may depend on values under them.
    """
    wanted, above = {label for label in labels if label is not None}, {}
    for level, names in enumerate(hierarchy.labels):
        first = dict(
            zip(*(each.tolist() for each in np.unique(hierarchy.levels[level], return_index=True)), strict=True)
        )
        for group, label in enumerate(names):
            if label is None or label not in wanted or label in above:
                continue
            higher = (
                hierarchy.labels[h][int(hierarchy.levels[h][first[group]])]
                for h in range(level + 1, hierarchy.height + 1)
            )
            above[label] = next((name for name in higher if name in wanted and name != label), None)
    return {label: above[label] for label in labels if label is not None and label in above}
