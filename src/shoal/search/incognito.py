"""Incognito: every complying node, found subset by subset of the quasi-identifiers."""

from collections.abc import Iterator, Sequence

from shoal.hierarchy.lattice import Lattice, Node
from shoal.search.driver import Ask, Walk

_RARE = 100
"""Failing candidates are rare if they are at most one in so many."""


def incognito(lattice: Lattice, left_out: Node) -> Walk:
    """Return all complying nodes, the lower first (S2.4).

    LeFevre, DeWitt, Ramakrishnan 2005. A table that complies still does with any attribute left out. So the nodes of
    i attributes are made from complying nodes of i - 1, and checked only if all their subsets comply. An attribute left
    out is at a virtual level above all others (design 6). Within a subset, more general nodes come later: the oracle
    infers them where it can, and else rolls them up. Once failing candidates were common and have become rare, subsets
    tell nothing new: those in between are joined unchecked, and the complete nodes are checked.
    """
    complying = [left_out]
    common, rare = False, False
    for size in range(1, len(left_out) + 1):
        smaller, complying = complying, []
        known = set(smaller)
        looks = not (common and rare) or size == len(left_out)
        failing = 0
        for done, node in enumerate(smaller):
            settled = (size - 1 + done / len(smaller)) / len(left_out)
            present = [i for i, above in enumerate(left_out) if node[i] != above]
            for larger in _extend_node(node, lattice, present):
                faces = ((*larger[:i], left_out[i], *larger[i + 1 :]) for i in present)  # the last one is the node
                if all(face in known for face in faces):
                    if not looks or (yield Ask(larger, settled)):
                        complying.append(larger)
                    else:
                        failing += 1
        rare = failing * _RARE <= failing + len(complying)
        common |= not rare
    return tuple(sorted(complying, key=lambda node: (lattice.height(node), node)))


def minimal(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Return the minimal nodes of the set of all complying ones: no complying node is below them (S2.5).

    >>> minimal([(0, 1), (1, 0), (1, 1)])
    ((0, 1), (1, 0))
    """
    known = set(nodes)
    return tuple(
        node
        for node in nodes
        if not any((*node[:i], level - 1, *node[i + 1 :]) in known for i, level in enumerate(node))
    )


def _extend_node(node: Node, lattice: Lattice, present: Sequence[int]) -> Iterator[Node]:
    """Yield the node with one more attribute, after the last one that it has."""
    for i in range(present[-1] + 1 if present else 0, len(node)):
        head, tail = node[:i], node[i + 1 :]
        for level in range(lattice.bottom[i], lattice.top[i] + 1):
            yield (*head, level, *tail)
