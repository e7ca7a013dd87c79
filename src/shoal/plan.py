"""A plan: what was decided about a table, and how."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.data.codes import Codes
from shoal.data.packed_keys import Reading
from shoal.hierarchy.build import Builder
from shoal.hierarchy.lattice import Lattice
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.models.model import Flags
from shoal.recoding.kinds import Recoding
from shoal.recoding.outcome import After, Before, RecodedCells
from shoal.roles import Role

if TYPE_CHECKING:
    from shoal.blocking.algorithm import Blocked
    from shoal.republish.context import HistoryUpdate
    from shoal.search.driver import Found
    from shoal.search.oracle import Tally


@dataclass(frozen=True)
class Searched:
    """How a search of the lattice ended."""

    lattice: Lattice
    found: "Found"
    gap: float
    """By how much the score may lie above the least, as far as the search knows."""
    tally: "Tally"


@dataclass(frozen=True)
class Added:
    """Rows that show nobody: each copies a row of the input but for one sensitive value."""

    attribute: str
    copied: NDArray[np.int64]
    """Rows of the input."""
    codes: Codes
    """The value that each shows instead; -1 is null."""


@dataclass(frozen=True)
class Plan:
    """What was decided about a table."""

    roles: Mapping[str, Role]
    builders: Mapping[str, Builder]
    """Of the quasi-identifiers that were generalised along a hierarchy."""
    hierarchies: Mapping[str, Hierarchy]
    before: Before
    after: After | RecodedCells
    recoding: Recoding
    score: float
    """The metric that was minimised."""
    metrics: Mapping[str, float]
    """Every metric that can be told of such a recoding."""
    seconds: float
    failed: Mapping[str, Flags]
    """Per required model, the classes of `after` that fail it."""
    class_of_row: Codes
    """Per row of the input, its class in `after`; where rows stay where they are, per class of `before`."""
    reading: Reading
    """How what models count beside the classes was read."""
    search: Searched | None = None
    """Where a level per attribute was looked for."""
    statistics: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Released columns that show a statistic of a quasi-identifier: which, and of which one."""
    observed: frozenset[str] = frozenset()
    """Released columns whose ranges are the least and the greatest value of each class."""
    blocked: "Blocked | None" = None
    """What was done about inference channels, where that was asked for."""
    added: Added | None = None
    """The rows that it added."""
    by_label: bool = False
    """Whether those are instead the least and the greatest value of all rows with the same range."""
    grown: "HistoryUpdate | None" = None
    """Where the table is published again, or will be: what a later release must know."""

    @property
    def released_as(self) -> dict[str, tuple[str, ...]]:
        """The released columns of each quasi-identifier, in the order of the table."""
        return {name: self.recoding.columns_of(name) for name in self.quasi_identifiers}

    @property
    def effort(self) -> dict[str, int | None]:
        """How large the lattice was, and how many of its nodes were checked, where one was searched."""
        if self.search is None:
            return {"nodes": None, "checked": None}
        return {"nodes": self.search.lattice.size, "checked": self.search.tally.checked}

    @property
    def quasi_identifiers(self) -> list[str]:
        """In the order of the table."""
        return [name for name, role in self.roles.items() if role is Role.QUASI_IDENTIFIER]
