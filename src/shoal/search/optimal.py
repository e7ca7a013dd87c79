"""The node of least loss: proved where the lattice can be exhausted, with a proven gap where it cannot."""

from itertools import count
from math import inf
from random import Random

from shoal.lattice import Lattice, Node
from shoal.metrics import Floors
from shoal.search.anneal import anneal, descend, polish
from shoal.search.driver import Ask, Found, Search, Stopped
from shoal.search.exhaust import Questions, cheapest_path, exhaust
from shoal.search.faces import bound_by_faces
from shoal.search.incumbent import Incumbent

LARGEST_EXHAUSTED = 500_000
"""Nodes of a lattice that are bounded one by one; beyond, memory and the time for each answer would grow with them."""
_FIRST_FACES = 4_000
_STEPS = 10_000
_ROUNDS = 2


def optimal(
    lattice: Lattice,
    floors: Floors,
    left_out: Node,
    *,
    additive: bool = True,
    seed: int = 0,
    endless: bool = False,
) -> Search:
    """The complying node of least score, and a score that none is below: equal when the optimum is proved (design 5).

    It is anytime: a search that is stopped ends with the best node so far. A lattice that can be exhausted is. For a
    larger one rounds of annealing look for good nodes, and faces that grow from round to round bound what is left to
    gain; `endless` goes on until it is stopped or the bound meets the best node.
    """
    found = Incumbent()
    try:
        if lattice.size <= LARGEST_EXHAUSTED:
            yield from exhaust(lattice, floors, found)
        else:
            yield from _rounds(lattice, floors, left_out, found, additive=additive, seed=seed, endless=endless)
    except Stopped:
        pass
    return Found(found.best, found.bound)


def _rounds(
    lattice: Lattice,
    floors: Floors,
    left_out: Node,
    found: Incumbent,
    *,
    additive: bool,
    seed: int,
    endless: bool,
) -> Questions:
    random = Random(seed)  # noqa: S311 - a search keeps no secret
    top = yield Ask(lattice.top, 0.0)
    if top.below is None:
        found.raise_bound(inf)  # what fails there fails everywhere
        return
    found.meet(top)
    for node in reversed(cheapest_path(lattice, floors)[:-1]):  # a policy that is not closed may be kept below
        if found.best is None:
            found.meet((yield Ask(node, 0.0)))
    most = found.best
    yield from descend(lattice, found)
    for turn in count() if endless else range(_ROUNDS):
        largest = min(_FIRST_FACES * 4**turn, LARGEST_EXHAUSTED)
        found.raise_bound((yield from bound_by_faces(lattice, floors, left_out, largest, additive=additive)))
        if Found(found.best, found.bound).proved:
            return
        if most is None or found.best is None:
            continue
        fallen = sum(most.node) - sum(found.best.node)
        heat = (most.score - found.best.score) / max(fallen, 1) / 2
        yield from anneal(lattice, found, _STEPS * 2 ** min(max(turn - 1, 0), 8), heat, random)
        yield from polish(lattice, found)
