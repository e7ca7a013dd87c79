"""The searches as walks over the lattice, each given the same setting; `shoal.methods` names them."""

from dataclasses import dataclass

from shoal.lattice import Lattice
from shoal.metrics import Floors
from shoal.policy.method import Weighting
from shoal.release import Before
from shoal.search.datafly import datafly
from shoal.search.driver import Search, Walk
from shoal.search.greedy import greedy, step_losses
from shoal.search.hybrid import hybrid
from shoal.search.incognito import incognito, minimal
from shoal.search.optimal import optimal
from shoal.search.samarati import samarati

LARGEST_LISTED = 2_000_000
"""Nodes of a lattice that an algorithm may list."""


@dataclass(frozen=True)
class Setting:
    """What a walk is told."""

    lattice: Lattice
    before: Before
    weighting: Weighting = "importance"
    minimal: bool = False
    floors: Floors = ()
    """A lower bound of the score, by the levels of each attribute."""
    additive: bool = False
    """Whether bounds of disjoint sets of attributes add up."""
    seed: int = 0
    endless: bool = False
    """Whether an anytime search goes on until it is stopped."""

    @property
    def distinct(self) -> list[list[int]]:
        """The number of values of each attribute at each level."""
        return [[h.groups(level) for level in range(h.height + 1)] for h in self.before.hierarchies]


def walk_optimal(setting: Setting) -> Search:
    return optimal(
        setting.lattice,
        setting.floors,
        setting.before.left_out,
        additive=setting.additive,
        seed=setting.seed,
        endless=setting.endless,
    )


def walk_datafly(setting: Setting) -> Walk:
    return datafly(setting.lattice, setting.distinct)


def walk_greedy(setting: Setting) -> Walk:
    return greedy(setting.lattice, step_losses(setting.before, setting.weighting))


def walk_samarati(setting: Setting) -> Walk:
    return samarati(setting.lattice)


def walk_hybrid(setting: Setting) -> Walk:
    return hybrid(setting.lattice, setting.distinct)


def walk_incognito(setting: Setting) -> Walk:
    nodes = yield from incognito(setting.lattice, setting.before.left_out)
    return minimal(nodes) if setting.minimal else nodes
