"""Greedy: always the step of least information loss, until the policy is kept."""

from collections.abc import Sequence
from fractions import Fraction

from shoal.lattice import Lattice
from shoal.models import exact
from shoal.policy.method import Weighting
from shoal.release import Before
from shoal.search.climb import climb
from shoal.search.driver import Walk


def greedy(lattice: Lattice, losses: Sequence[Sequence[float | Fraction]]) -> Walk:
    """Walk up from the bottom, each step into the attribute whose next level loses least (S3.4).

    The (alp,dif) paper, section 4.C. It walks until k holds, then until the rest does; a step does not depend on which
    is still missing and k holds ever after, so this is one walk until all hold.

    >>> walk = greedy(Lattice(("age", "sex"), (0, 0), (2, 1)), [[0.0, 0.2, 0.9], [0.0, 0.5]])
    >>> next(walk).node, walk.send(False).node, walk.send(False).node
    ((0, 0), (1, 0), (1, 1))
    """
    return climb(lattice, lambda i, level: losses[i][level + 1])


def step_losses(before: Before, weighting: Weighting) -> list[list[Fraction]]:
    """What an attribute at a level loses, summed over the rows: (leaves under a label - 1) / leaves of all (S3.5).

    Exactly, so that ties are ties, whatever order the rows are summed in (design 15).
    Equation (10) multiplies by 1 - W, which generalises the important attribute first; nothing said is W = 0 there.
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
