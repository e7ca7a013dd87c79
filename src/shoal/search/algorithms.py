"""The searches by name: what each needs of the policy and of the lattice."""

from collections.abc import Callable
from dataclasses import dataclass

from shoal.lattice import Lattice
from shoal.policy.method import Weighting
from shoal.release import Before
from shoal.search.datafly import datafly
from shoal.search.driver import Walk
from shoal.search.greedy import greedy, step_losses
from shoal.search.hybrid import hybrid
from shoal.search.incognito import incognito, minimal
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

    @property
    def distinct(self) -> list[list[int]]:
        """The number of values of each attribute at each level."""
        return [[h.groups(level) for level in range(h.height + 1)] for h in self.before.hierarchies]


@dataclass(frozen=True)
class Algorithm:
    """A walk and its conditions."""

    walk: Callable[[Setting], Walk]
    closed: bool = False
    """Whether it relies on closure: what lies above a complying node complies. UNION is enough where nothing may be
    suppressed, SUPERSET is needed else."""
    lists: bool = False
    """Whether it lists nodes of the lattice, so that it must not be too large, and returns a set of them."""


def _incognito(setting: Setting) -> Walk:
    nodes = yield from incognito(setting.lattice, setting.before.left_out)
    return minimal(nodes) if setting.minimal else nodes


WALKS: dict[str, Algorithm] = {
    "datafly": Algorithm(lambda setting: datafly(setting.lattice, setting.distinct)),
    "greedy": Algorithm(lambda setting: greedy(setting.lattice, step_losses(setting.before, setting.weighting))),
    "samarati": Algorithm(lambda setting: samarati(setting.lattice), closed=True, lists=True),
    "hybrid": Algorithm(lambda setting: hybrid(setting.lattice, setting.distinct), closed=True, lists=True),
    "incognito": Algorithm(_incognito, closed=True, lists=True),
}
"""All but `optimal`, which asks for scores."""
