"""Good nodes of a lattice too large to exhaust: greedy descent from the top, then simulated annealing."""

from collections.abc import Iterator
from math import exp
from random import Random

from shoal.lattice import Lattice, Node
from shoal.search.driver import Ask
from shoal.search.exhaust import Questions
from shoal.search.incumbent import Incumbent
from shoal.search.oracle import Answer

_COOLING = 20
"""How many times colder the end is than the beginning."""


def descend(lattice: Lattice, found: Incumbent) -> Questions:
    """From the best node down, always the step that gains most for each row it newly suppresses."""
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
            found.meet(here)


def _gain(here: Answer, step: Answer) -> float:
    return (here.score - step.score) / max(step.suppressed - here.suppressed, 1)


def anneal(lattice: Lattice, found: Incumbent, steps: int, heat: float, random: Random) -> Questions:
    """Walk from the best node by steps down, up, and down in one attribute while up in another.

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
            found.meet(here)


def polish(lattice: Lattice, found: Incumbent) -> Questions:
    """Take any better step down, or down in one attribute and up in another, until there is none."""
    better = True
    while better and found.best is not None:
        start = found.best
        for node in _swaps(start.node, lattice):
            found.meet((yield Ask(node, 1.0)))
            if found.best is not start:
                break
        better = found.best is not start


def _swaps(node: Node, lattice: Lattice) -> Iterator[Node]:
    down = [i for i, level in enumerate(node) if level > lattice.bottom[i]]
    up = [i for i, level in enumerate(node) if level < lattice.top[i]]
    for i in down:
        for j in (None, *up):
            if i != j:
                yield tuple(level - (at == i) + (at == j) for at, level in enumerate(node))


def _neighbour(node: Node, random: Random) -> Node:
    levels, kind = list(node), random.random()
    if kind < 0.4:
        levels[random.randrange(len(levels))] -= 1
    elif kind < 0.5:
        levels[random.randrange(len(levels))] += 1
    else:
        levels[random.randrange(len(levels))] += 1
        levels[random.randrange(len(levels))] -= 1
    return tuple(levels)
