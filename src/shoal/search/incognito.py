"""Incognito: every complying node, found subset by subset of the quasi-identifiers."""

from collections.abc import Iterator, Sequence

from shoal.hierarchy.lattice import Lattice, Node
from shoal.search.driver import Ask, Walk

_RARE = 100
"""One failing candidate in so many is a rare one."""


def incognito(lattice: Lattice, left_out: Node) -> Walk:
    """All complying nodes, the lower first (S2.4).

    LeFevre, DeWitt, Ramakrishnan 2005. A table that complies does so with any attribute left out, so the nodes of i
    attributes are made from the complying ones of i - 1 and looked at only if all of those comply. An attribute left
    out stands at a virtual level above all others (design 6). Of each subset, what is more general comes later: the
    oracle infers it where it can, and else rolls it up. Once failing candidates were common and have become rare, the
    subsets tell nothing new: those between are joined without a look, and the complete nodes are asked.
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
            for larger in _larger(node, lattice, present):
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
    """The nodes of a set of all complying ones that have no complying node below them: an antichain (S2.5).

    >>> minimal([(0, 1), (1, 0), (1, 1)])
    ((0, 1), (1, 0))
    """
    known = set(nodes)
    return tuple(
        node
        for node in nodes
        if not any((*node[:i], level - 1, *node[i + 1 :]) in known for i, level in enumerate(node))
    )


def _larger(node: Node, lattice: Lattice, present: Sequence[int]) -> Iterator[Node]:
    """The node with one attribute more, of those behind its last."""
    for i in range(present[-1] + 1 if present else 0, len(node)):
        head, tail = node[:i], node[i + 1 :]
        for level in range(lattice.bottom[i], lattice.top[i] + 1):
            yield (*head, level, *tail)
