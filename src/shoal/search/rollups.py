"""Frequency sets of nodes, each rolled up from the smallest finer one that is remembered."""

import numpy as np

from shoal.codes import Codes
from shoal.frequency import FrequencySet
from shoal.lattice import Node
from shoal.release import Before

_REMEMBERED_CLASSES = 1_500_000
_WORTH_REMEMBERING = 0.7
_WIDE = 3


class Rollups:
    """A bounded memory of frequency sets.

    A search asks coarse nodes first, and from the bottom each would cost a pass over all classes. So a node is reached
    over a stepping stone: the attributes with most values already at its levels, all others at the bottom. Few stones
    serve many nodes.
    """

    def __init__(self, before: Before) -> None:
        self.rolled_up = 0
        """How many sets were made from another than the bottom."""
        self._hierarchies = before.hierarchies
        self._bottom = (0,) * len(before.hierarchies)
        self._sets: dict[Node, FrequencySet] = {self._bottom: before.classes}
        self._nodes = np.array([self._bottom])
        self._sizes = np.array([len(before.classes)])
        widths = [h.groups(0) for h in before.hierarchies]
        self._wide = sorted(range(len(widths)), key=lambda i: -widths[i])[:_WIDE]
        self._tried: set[Node] = set()
        self._steps: dict[tuple[int, int, int], Codes] = {}

    def at(self, node: Node) -> FrequencySet:
        """The frequency set of a node."""
        stone = tuple(level if i in self._wide else 0 for i, level in enumerate(node))
        if stone != node and stone not in self._tried:
            self._tried.add(stone)
            self._rolled_up(stone)
        return self._rolled_up(node)

    def _rolled_up(self, node: Node) -> FrequencySet:
        finer = np.flatnonzero((self._nodes <= np.array(node)).all(axis=1))
        at = int(finer[np.argmin(self._sizes[finer])])
        source_node = tuple(int(level) for level in self._nodes[at])
        source = self._sets[source_node]
        if source_node == node:
            return source
        levels = enumerate(zip(source_node, node, strict=True))
        classes = source.rollup(
            {self._hierarchies[i].attribute: self._step(i, low, high) for i, (low, high) in levels if low != high}
        )
        self.rolled_up += at > 0
        small = len(classes) < _WORTH_REMEMBERING * len(source)
        if small and int(self._sizes[1:].sum()) + len(classes) < _REMEMBERED_CLASSES:
            self._sets[node] = classes
            self._nodes = np.vstack([self._nodes, node])
            self._sizes = np.append(self._sizes, len(classes))
        return classes

    def _step(self, i: int, low: int, high: int) -> Codes:
        if (i, low, high) not in self._steps:
            self._steps[i, low, high] = self._hierarchies[i].between(low, high)
        return self._steps[i, low, high]
