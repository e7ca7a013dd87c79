"""A growing list of nodes that can be compared with a node all at once."""

import numpy as np
from numpy.typing import NDArray

from shoal.lattice import Node

Levels = NDArray[np.int16]
Flags = NDArray[np.bool_]


def levels_of(node: Node) -> Levels:
    return np.array(node, dtype=np.int16)


class Nodes:
    """Nodes as rows of one array, which doubles when it is full.

    >>> nodes = Nodes(2)
    >>> nodes.add((0, 1))
    >>> nodes.add((2, 0))
    >>> nodes.below(levels_of((2, 1))).tolist(), nodes.above(levels_of((1, 0))).tolist()
    ([True, True], [False, True])
    """

    def __init__(self, attributes: int) -> None:
        self._rows = np.empty((4, attributes), dtype=np.int16)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, at: int) -> Node:
        return tuple(self._rows[at].tolist())

    def add(self, node: Node) -> None:
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[self._count] = node
        self._count += 1

    def below(self, node: Levels) -> Flags:
        """Which are at most as general as a node, itself included."""
        return np.asarray((self._rows[: self._count] <= node).all(axis=1))

    def above(self, node: Levels) -> Flags:
        """Which are at least as general."""
        return np.asarray((self._rows[: self._count] >= node).all(axis=1))

    def forget(self, oldest: int) -> None:
        self._rows = np.concatenate([self._rows[oldest:], np.empty((4, self._rows.shape[1]), dtype=np.int16)])
        self._count -= oldest
