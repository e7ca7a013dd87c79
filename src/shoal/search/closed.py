"""What a closed policy tells about nodes that nobody looked at."""

from collections import defaultdict

from shoal.lattice import Node
from shoal.search.levels import Nodes, levels_of


class Closed:
    """All above a complying node comply, all below a failing one fail; face by face of the lattice.

    What one face tells about another is the search's own business: Incognito's subset property.

    >>> known = Closed((3, 2))
    >>> known.learn((1, 0), ok=True)
    >>> known.learn((0, 1), ok=False)
    >>> known.says((1, 1)), known.says((0, 0)), known.says((2, 0))
    (True, False, True)
    """

    def __init__(self, left_out: Node) -> None:
        self._left_out = left_out
        self._faces: defaultdict[bytes, tuple[Nodes, Nodes]] = defaultdict(
            lambda: (Nodes(len(left_out)), Nodes(len(left_out)))
        )

    def says(self, node: Node) -> bool | None:
        """Whether a node complies, as far as that is known."""
        failing, complying = self._faces[self._face(node)]
        levels = levels_of(node)
        if complying.below(levels).any():
            return True
        return False if failing.above(levels).any() else None

    def learn(self, node: Node, *, ok: bool) -> None:
        self._faces[self._face(node)][ok].add(node)

    def _face(self, node: Node) -> bytes:
        return bytes(map(int.__eq__, node, self._left_out))
