"""What an algorithm for cells works on, and what it makes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from shoal.codes import Codes, Table
from shoal.counts import Longs
from shoal.frequency import FrequencySet, Reading, joined
from shoal.hierarchy import Builder, Hierarchy
from shoal.partition.axes import Floats
from shoal.partition.condition import Condition
from shoal.plan.counting import counted
from shoal.plan.showing import Showing
from shoal.policy import Policy
from shoal.release import Before
from shoal.schema import Role
from shoal.search import Stop

if TYPE_CHECKING:
    from shoal.frequency import Beside


@dataclass(frozen=True)
class Ground:
    """What an algorithm for cells works on."""

    table: Table
    policy: Policy
    roles: dict[str, Role]
    classes: FrequencySet
    """The table's own classes, and the class of every row."""
    reading: Reading
    watch: Callable[[float], None]
    stop: Stop

    @cached_property
    def quasi(self) -> tuple[str, ...]:
        return self.classes.attributes

    def condition(self, items: FrequencySet) -> Condition:
        return Condition(items, self.policy.models, self.reading)

    def importance(self, name: str) -> float:
        given = self.policy.attributes[name].importance
        return 1.0 if given is None else given

    @cached_property
    def before(self) -> Before:
        """Without hierarchies: metrics of cells need none."""
        importance = {name: self.importance(name) for name in self.quasi}
        every = {*self.policy.named(Role.SENSITIVE)} == {*self.policy.about} != set()
        return Before(self.classes, (), importance, None, self.reading if every else None)

    @cached_property
    def rows(self) -> tuple[FrequencySet, Codes]:
        """Every row as an item, in the order of their values so that the order of the table tells nothing; of each
        row its item.
        """
        others = [name for name in self.table.columns if name not in self.quasi]
        order = np.lexsort([self.table[name].codes for name in reversed([*self.quasi, *others])])

        def coded(name: str) -> tuple[Codes, int]:
            return self.table[name].codes[order], self.table[name].size

        beside: Beside = {
            one: coded(one) if isinstance(one, str) else joined([coded(name) for name in one])
            for one in counted(self.policy, self.quasi)
        }
        item = np.empty(len(order), dtype=np.int32)
        item[order] = np.arange(len(order), dtype=np.int32)
        return FrequencySet.listed({name: coded(name) for name in self.quasi}, beside), item


@dataclass(frozen=True)
class Made:
    """Parts of items, and what they show."""

    kind: Literal["boxes", "cells", "clusters", "groups"]
    items: FrequencySet
    part: Codes
    """Of each item."""
    of_row: Codes
    """The item of each row."""
    showing: Showing
    builders: dict[str, Builder]
    hierarchies: dict[str, Hierarchy]

    @property
    def sizes(self) -> Longs:
        """Rows of each part."""
        return np.bincount(self.part, weights=self.items.counts).astype(np.int64)

    def loss(self, weights: Floats) -> float:
        """Of all cells, attributes weighted so."""
        return float(self.sizes @ self.showing.losses @ weights / self.items.rows)
