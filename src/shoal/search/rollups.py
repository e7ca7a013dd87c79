"""Frequency sets of nodes, each rolled up from the smallest finer one in memory."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from shoal.data.codes import Codes
from shoal.data.frequency_set import FrequencySet
from shoal.hierarchy.lattice import Node
from shoal.kernels import Nodes
from shoal.recoding.outcome import Before

_REMEMBERED_CLASSES = 1_500_000
_REMEMBERED_TABLES = 4
_WORTH_REMEMBERING = 0.7
_WIDE = 3


class Rollups:
    """A cache of frequency sets of limited size.

    A search asks for coarse nodes first, and each would cost a pass over all classes of the table. So a node is reached
    over a stepping stone: the attributes with most values at its levels, all others at the bottom. A few stones serve
    many nodes.
    """

    def __init__(self, before: Before) -> None:
        self.rolled_up = 0
        """Number of sets made from that of a finer node other than the table's own classes."""
        self.grouped = 0
        """Number of sets made from the table's own classes."""
        self._room = before.room
        self._hierarchies = before.hierarchies
        self._left_out = before.left_out
        self._bottom = (0,) * len(before.hierarchies)
        self._low = self._bottom
        self._base = {self._bottom: before.classes}
        """Sets that are never dropped: the table's own classes, and that of the finest node still asked for."""
        self._remembered: dict[Node, FrequencySet] = {}
        self._classes = 0
        self._faces: defaultdict[bytes, Nodes] = defaultdict(lambda: Nodes(len(self._bottom)))
        """Nodes of the remembered sets that leave out the same attributes, with their classes, oldest first."""
        widths = [h.groups(0) for h in before.hierarchies]
        self._wide = sorted(range(len(widths)), key=lambda i: -widths[i])[:_WIDE]
        self._tried: set[Node] = set()
        self._steps: dict[tuple[int, int, int], Codes] = {}

    def at(self, node: Node) -> FrequencySet:
        """Return the frequency set of a node."""
        stone = self._stepping_stone(node)
        if stone != node and stone not in self._tried:
            self._tried.add(stone)
            self._roll_up(stone)
        return self._roll_up(node)

    def settle(self, node: Node) -> None:
        """Keep the set of a node, with the narrowest keys: no node below it will be asked for."""
        sizes = [h.groups(level) for h, level in zip(self._hierarchies, node, strict=True)]
        steps = dict(self._steps_between(self._bottom, node))
        bottom = self._base[self._bottom]
        settled = bottom.compact(steps, sizes)
        self._base = {self._bottom: bottom}
        if settled.rest is None:  # otherwise classes are missing, and it cannot be rolled up
            self._base[node] = settled
        self._low = node
        self.grouped += 1

    def _stepping_stone(self, node: Node) -> Node:
        """Return the stepping stone: on a face its finest node, else the wide attributes as they are, others finest."""
        finest = tuple(map(min, node, self._low))
        if any(map(int.__eq__, node, self._left_out)):
            ends = zip(node, finest, self._left_out, strict=True)
            return tuple(level if level == out else low for level, low, out in ends)
        return tuple(level if i in self._wide else finest[i] for i, level in enumerate(node))

    def _roll_up(self, node: Node) -> FrequencySet:
        """Roll up the smallest finer set, and remember the result if it is much smaller."""
        face = self._faces[self._face(node)]
        smallest = face.lightest_below(node)
        source_node = face[smallest] if smallest >= 0 else None
        source = self._remembered[source_node] if source_node is not None else None
        for base_node, base in self._base.items():
            if (source is None or len(base) <= len(source)) and all(map(int.__le__, base_node, node)):
                source_node, source = base_node, base
        assert source is not None
        assert source_node is not None
        if source_node == node and len(source.counts) == len(source):
            return source
        classes = source.rollup(dict(self._steps_between(source_node, node)))
        self.rolled_up += source_node != self._bottom
        self.grouped += source_node == self._bottom
        if classes.rest is None and len(classes) < _WORTH_REMEMBERING * len(source):
            self._make_room(len(classes))
            self._remembered[node] = classes
            self._classes += len(classes)
            face.add(node, len(classes))
        return classes

    def _make_room(self, classes: int) -> None:
        """Drop the older half of the sets until the next one fits."""
        room = max(_REMEMBERED_CLASSES, _REMEMBERED_TABLES * len(self._base[self._bottom]))
        room = room if self._room is None else min(room, self._room)
        while self._remembered and self._classes + classes > room:
            older = list(self._remembered)[: len(self._remembered) // 2 + 1]
            self._classes -= sum(len(self._remembered.pop(node)) for node in older)
            for face, count in Counter(map(self._face, older)).items():
                self._faces[face].forget(count)
            self._tried.difference_update(older)  # a stone that was not worth keeping is not tried again

    def _face(self, node: Node) -> bytes:
        """Return a key of the face of a node: which attributes it leaves out."""
        return bytes(map(int.__eq__, node, self._left_out))

    def _steps_between(self, low: Node, high: Node) -> Iterator[tuple[str, Codes]]:
        """Yield each attribute whose levels differ, and the map from its groups at the low level to the high one."""
        for i, ends in enumerate(zip(low, high, strict=True)):
            if ends[0] != ends[1]:
                key = (i, *ends)
                if key not in self._steps:
                    self._steps[key] = self._hierarchies[i].between(*ends)
                yield self._hierarchies[i].attribute, self._steps[key]
