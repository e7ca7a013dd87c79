"""Datafly and the greedy search: they climb from the bottom, one attribute at a time."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from shoal.hierarchy.lattice import Lattice
from shoal.models.model import exact
from shoal.policy.method import Weighting
from shoal.recoding.outcome import Before
from shoal.search.driver import Ask, Walk


def climb(lattice: Lattice, cost: Callable[[int, int], float | Fraction]) -> Walk:
    """Climb from the bottom until a node complies: raise the attribute i of least `cost(i, level)`, ties by name."""
    node, height = lattice.bottom, lattice.height
    steps = max(height(lattice.top) - height(node), 1)
    while not (yield Ask(node, (height(node) - height(lattice.bottom)) / steps)):
        above = [i for i, level in enumerate(node) if level < lattice.top[i]]
        if not above:
            return ()  # the most general node was asked last
        i = min(above, key=lambda i: cost(i, node[i]))
        node = (*node[:i], node[i] + 1, *node[i + 1 :])
    return (node,)


def datafly(lattice: Lattice, distinct: Sequence[Sequence[int]]) -> Walk:
    """Walk up from the bottom, always in the attribute with most distinct values; ties by name (S2.6).

    Sweeney 1997. `distinct[i][level]` is the number of values of attribute i at a level. Not minimal, but quick.

    >>> walk = datafly(Lattice(("age", "sex"), (0, 0), (2, 1)), [[72, 15, 1], [2, 1]])
    >>> next(walk).node, walk.send(False).node
    ((0, 0), (1, 0))
    """
    return climb(lattice, lambda i, level: -distinct[i][level])


def greedy(lattice: Lattice, losses: Sequence[Sequence[float | Fraction]]) -> Walk:
    """Walk up from the bottom, each step into the attribute whose next level loses least (S3.4).

    The (alp,dif) paper, section III.C, walks until k holds, then until the other models do. A step does not depend on
    which model still fails, and k keeps holding, so this is one walk until all hold.

    >>> walk = greedy(Lattice(("age", "sex"), (0, 0), (2, 1)), [[0.0, 0.2, 0.9], [0.0, 0.5]])
    >>> next(walk).node, walk.send(False).node, walk.send(False).node
    ((0, 0), (1, 0), (1, 1))
    """
    return climb(lattice, lambda i, level: losses[i][level + 1])


def step_losses(before: Before, weighting: Weighting) -> list[list[Fraction]]:
    """Return the loss of each attribute at each level (S3.5).

    It is the sum over the rows of (leaves under the label - 1) / (all leaves).

    The sums are exact, so that ties are ties in whatever order the rows come (design 15). Equation (10) multiplies by
    1 - W, which generalises the important attribute first; where no importance is given at all, W = 0.
    """
    given = {name: exact("importance", value) for name, value in before.importance.items()}
    names = before.classes.attributes
    weights = (
        [1 - (given.get(name, Fraction(1)) if given else Fraction(0)) for name in names]
        if weighting == "paper"
        else [given.get(name, Fraction(1)) for name in names]
    )
    out = []
    for i, (hierarchy, weight) in enumerate(zip(before.hierarchies, weights, strict=True)):
        rows = before.marginal(i)
        levels = zip(hierarchy.levels, hierarchy.leaves, strict=True)
        out.append([weight * Fraction(int(rows @ (under - 1)[level]), hierarchy.size) for level, under in levels])
    return out
