"""A plan: how a table is to be recoded, and how that was found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.data.codes import Codes
from shoal.data.packed_keys import CountInterpretation
from shoal.hierarchy.build import Builder
from shoal.hierarchy.lattice import Lattice
from shoal.hierarchy.taxonomy import TOP, Hierarchy
from shoal.models.model import Flags
from shoal.recoding.kinds import Recoding
from shoal.recoding.outcome import After, Before, RecodedCells
from shoal.roles import Role

if TYPE_CHECKING:
    from shoal.blocking.algorithm import Blocked
    from shoal.republish.context import HistoryUpdate
    from shoal.search.driver import SearchResult
    from shoal.search.oracle import Tally


_ROUNDING = 1e-12


@dataclass(frozen=True)
class Searched:
    """How a search of the lattice ended."""

    lattice: Lattice
    found: "SearchResult"
    gap: float
    """Proven bound of the distance between the score and the optimum."""
    tally: "Tally"


@dataclass(frozen=True)
class AddedRows:
    """Added rows that stand for nobody: each copies a row of the input except for one sensitive value."""

    attribute: str
    copied: NDArray[np.int64]
    """The row of the input that each copies."""
    codes: Codes
    """Code of the value that each shows instead; -1 is null."""


@dataclass(frozen=True)
class Plan:
    """The recoding chosen for a table, with what it costs and how it was found."""

    roles: Mapping[str, Role]
    builders: Mapping[str, Builder]
    """Hierarchy builders of the quasi-identifiers that were generalised along one."""
    hierarchies: Mapping[str, Hierarchy]
    before: Before
    after: After | RecodedCells
    recoding: Recoding
    score: float
    """Value of the metric that was minimised."""
    metrics: Mapping[str, float]
    """Value of every metric that is defined for this kind of recoding."""
    seconds: float
    failed: Mapping[str, Flags]
    """Classes of `after` that fail each required model."""
    class_of_row: Codes
    """Class in `after` of each row of the input; of each class of `before` where rows are not in memory."""
    reading: CountInterpretation
    """How to read the values that models count in each class."""
    search: Searched | None = None
    """The search, where one level per attribute was searched for."""
    statistics: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Released columns that show a statistic: the quasi-identifier and the kind of statistic."""
    observed: frozenset[str] = frozenset()
    """Released columns whose ranges are the least and the greatest value of each class."""
    blocked: "Blocked | None" = None
    """What was done about inference channels, where that was asked for."""
    added: AddedRows | None = None
    """Rows that blocking added."""
    by_label: bool = False
    """Whether `observed` ranges are the least and greatest value of all rows with the same label, not of a class."""
    grown: "HistoryUpdate | None" = None
    """What a later release must know, where the table is or will be published again."""
    bound: float | None = None
    """What the score is at least, where that is known and no lattice was searched."""
    known_classes: pa.Table | None = None
    """The classes of the earlier release that rows were put into, as its private folder lists them."""

    @property
    def released_as(self) -> dict[str, tuple[str, ...]]:
        """The released columns of each quasi-identifier, in the order of the table."""
        return {name: self.recoding.columns_of(name) for name in self.quasi_identifiers}

    @property
    def tops(self) -> dict[str, str]:
        """The label of each released column that covers every value: `*`, or the name of its hierarchy's root."""
        known = {name: hierarchy.top for name, hierarchy in self.hierarchies.items()}
        return {column: known.get(name, TOP) for name, columns in self.released_as.items() for column in columns}

    @property
    def gap(self) -> float | None:
        """The most by which the score may lie above the least; None where nothing is known."""
        if self.search is not None:
            return self.search.gap
        return None if self.bound is None else max(self.score - self.bound, 0.0)

    @property
    def proved(self) -> bool:
        """Whether the score is proved to be the least."""
        if self.search is not None:
            return self.search.found.proved
        return self.bound is not None and self.bound >= self.score * (1 - _ROUNDING)

    @property
    def effort(self) -> dict[str, int | None]:
        """Number of nodes of the lattice and of nodes checked; None where no lattice was searched."""
        if self.search is None:
            return {"nodes": None, "checked": None}
        return {"nodes": self.search.lattice.size, "checked": self.search.tally.checked}

    @property
    def quasi_identifiers(self) -> list[str]:
        """The quasi-identifiers, in the order of the table."""
        return [name for name, role in self.roles.items() if role is Role.QUASI_IDENTIFIER]
