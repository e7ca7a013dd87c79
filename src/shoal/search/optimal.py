"""The node of least loss: proved where the lattice can be exhausted, with a proven gap where it cannot."""

from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import count
from math import ceil, exp, inf, log, prod
from random import Random

from shoal.hierarchy.lattice import Lattice, Node
from shoal.metrics.metric import Floors
from shoal.search.branch_and_bound import Questions, cheapest_path, exhaust
from shoal.search.driver import Ask, Incumbent, Search, SearchResult, Stopped
from shoal.search.oracle import Answer


def bound_by_faces(
    lattice: Lattice, floors: Floors, left_out: Node, largest: int, *, additive: bool
) -> Generator[Ask, Answer, float]:
    """Return a lower bound of the score: divide the attributes into faces, exhaust each, and add up their optima.

    A face has at most `largest` nodes. With the other attributes left out, classes only grow: what fails on a face
    fails at every node below it, and its rows are suppressed there too. So on the attributes of a face a node costs no
    less than the face's optimum. Disjoint pattern databases work the same way (Korf and Felner, Artificial
    Intelligence 134, 2002).
    """
    bounds = []
    for group in _groups(lattice, largest):
        bottom = tuple(low if i in group else left_out[i] for i, low in enumerate(lattice.bottom))
        top = tuple(high if i in group else left_out[i] for i, high in enumerate(lattice.top))
        face = Incumbent()
        yield from exhaust(replace(lattice, bottom=bottom, top=top), floors, face)
        bounds.append(face.bound)
    return sum(bounds) if additive else max(bounds)


def _groups(lattice: Lattice, largest: int) -> list[set[int]]:
    """Divide the attributes into as few faces as possible; each face has at least one attribute."""
    for faces in range(ceil(log(lattice.size) / log(largest)), len(lattice.shape)):
        groups = _balance_groups(lattice.shape, faces)
        if all(prod(lattice.shape[i] for i in group) <= largest for group in groups):
            return groups
    return [{i} for i in range(len(lattice.shape))]


def _balance_groups(shape: Node, faces: int) -> list[set[int]]:
    """Return at most `faces` groups: each attribute, tallest first, joins the smallest group so far."""
    groups: list[set[int]] = [set() for _ in range(faces)]
    sizes = [1] * faces
    for i in sorted(range(len(shape)), key=lambda i: -shape[i]):
        at = sizes.index(min(sizes))
        groups[at].add(i)
        sizes[at] *= shape[i]
    return [group for group in groups if group]


_COOLING = 20
"""Ratio of the first to the last temperature."""


def descend(lattice: Lattice, found: Incumbent) -> Questions:
    """Walk down from the best node, always by the step of largest gain per row that it newly suppresses."""
    here = found.best
    while here is not None:
        steps = []
        for i, level in enumerate(here.node):
            if level > lattice.bottom[i]:
                answer = yield Ask((*here.node[:i], level - 1, *here.node[i + 1 :]), 0.0)
                if answer.score < here.score:
                    steps.append((_gain(here, answer), -i, answer))
        here = max(steps)[-1] if steps else None
        if here is not None:
            found.consider(here)


def _gain(here: Answer, step: Answer) -> float:
    """Return how much a step improves the score per row that it newly suppresses."""
    return (here.score - step.score) / max(step.suppressed - here.suppressed, 1)


def anneal(lattice: Lattice, found: Incumbent, steps: int, heat: float, random: Random) -> Questions:
    """Walk at random from the best node: a step down, up, or down in one attribute and up in another.

    Kirkpatrick, Gelatt, Vecchi, Science 1983. A step that costs d is taken with probability exp(-d / heat); the heat
    falls geometrically. Nodes that do not comply are never entered.
    """
    here = found.best
    if here is None:
        return
    for step in range(steps):
        node = _neighbour(here.node, random)
        if any(not low <= level <= high for low, level, high in zip(lattice.bottom, node, lattice.top, strict=True)):
            continue
        answer = yield Ask(node, step / steps)
        cost = answer.score - here.score
        if cost <= 0 or (heat > 0 and random.random() < exp(-cost / (heat * _COOLING ** (-step / steps)))):
            here = answer
            found.consider(here)


def polish(lattice: Lattice, found: Incumbent) -> Questions:
    """Take any better step down, or down in one attribute and up in another, until there is none."""
    better = True
    while better and found.best is not None:
        start = found.best
        for node in _swaps(start.node, lattice):
            found.consider((yield Ask(node, 1.0)))
            if found.best is not start:
                break
        better = found.best is not start


def _swaps(node: Node, lattice: Lattice) -> Iterator[Node]:
    """Yield the nodes one step down, or one down in an attribute and one up in another."""
    down = [i for i, level in enumerate(node) if level > lattice.bottom[i]]
    up = [i for i, level in enumerate(node) if level < lattice.top[i]]
    for i in down:
        for j in (None, *up):
            if i != j:
                yield tuple(level - (at == i) + (at == j) for at, level in enumerate(node))


def _neighbour(node: Node, random: Random) -> Node:
    """Return a random neighbour, which may lie outside the lattice."""
    levels, kind = list(node), random.random()
    if kind < 0.4:
        levels[random.randrange(len(levels))] -= 1
    elif kind < 0.5:
        levels[random.randrange(len(levels))] += 1
    else:
        levels[random.randrange(len(levels))] += 1
        levels[random.randrange(len(levels))] -= 1
    return tuple(levels)


LARGEST_EXHAUSTED = 500_000
"""Largest lattice whose nodes are bounded one by one; memory and the time per answer grow with it."""
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
    """Find the complying node of least score, and a lower bound: equal when the optimum is proved (design 5).

    This is an anytime search: stopped early, it returns the best node so far. A lattice that is small enough is
    exhausted. For a larger one, rounds of annealing look for good nodes, and faces that grow from round to round bound
    what is left to gain; `endless` goes on until it is stopped or the bound meets the best node.
    """
    found = Incumbent()
    try:
        if lattice.size <= LARGEST_EXHAUSTED:
            yield from exhaust(lattice, floors, found)
        else:
            yield from _rounds(lattice, floors, left_out, found, additive=additive, seed=seed, endless=endless)
    except Stopped:
        pass
    return SearchResult(found.best, found.bound)


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
    """Alternate between bounds by faces and annealing, for lattices that cannot be exhausted."""
    random = Random(seed)  # noqa: S311 - a search keeps no secret
    top = yield Ask(lattice.top, 0.0)
    if top.below is None:
        found.raise_bound(inf)  # what fails there fails everywhere
        return
    found.consider(top)
    for node in reversed(cheapest_path(lattice, floors)[:-1]):  # a policy that is not closed may hold at a lower node
        if found.best is None:
            found.consider((yield Ask(node, 0.0)))
    most = found.best
    yield from descend(lattice, found)
    for turn in count() if endless else range(_ROUNDS):
        largest = min(_FIRST_FACES * 4**turn, LARGEST_EXHAUSTED)
        found.raise_bound((yield from bound_by_faces(lattice, floors, left_out, largest, additive=additive)))
        if SearchResult(found.best, found.bound).proved:
            return
        if most is None or found.best is None:
            continue
        fallen = sum(most.node) - sum(found.best.node)
        heat = (most.score - found.best.score) / max(fallen, 1) / 2
        yield from anneal(lattice, found, _STEPS * 2 ** min(max(turn - 1, 0), 8), heat, random)
        yield from polish(lattice, found)
