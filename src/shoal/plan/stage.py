"""A table that is published again: who is who, what all releases before showed, and how groups of people are judged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.finding import Finding
from shoal.codes import Codes, Table
from shoal.counts import ClassCounts, Flags
from shoal.engine import Engine, Source
from shoal.frequency import FrequencySet, Long, Reading, joined
from shoal.hierarchy import Builder, Hierarchy, build
from shoal.plan.along import with_one_top
from shoal.plan.counting import counted, read_columns
from shoal.plan.ground import Ground
from shoal.plan.margin import in_order
from shoal.plan.roles import assign_roles
from shoal.plan.searching import builder_of
from shoal.plan.showing import labels_at
from shoal.policy import Policy
from shoal.policy.fitting import refuse_misfits
from shoal.republish.history import History, Levels, Matched, begun, match
from shoal.schema import Role

if TYPE_CHECKING:
    from shoal.frequency import Beside
    from shoal.plan.values import Added, Plan

Make = Callable[[Source, Policy], "Plan"]
"""Plans a table as if it were the first."""


@dataclass(frozen=True)
class Grown:
    """What a release adds to the history, and what all releases tell together."""

    history: History
    finding: Finding


@dataclass(frozen=True)
class Next:
    """How the rows of the next release are put together."""

    part: Codes
    """Of each row; -1 of who is left out."""
    levels: Levels
    """levels[part, quasi-identifier]."""
    history: History
    """With the lines of this release; what it leaves of everybody's values is not in it yet."""
    row: NDArray[np.int64]
    """Of each line the row that shows it; -1 of who is not shown."""
    touched: Flags | None = None
    """Which lines are in groups that nobody could tell apart before; None where exchanging values tells nothing."""
    added: "Added | None" = None


@dataclass(frozen=True)
class Stage:
    """Everything that the ways to publish again share."""

    source: Source
    policy: Policy
    roles: Mapping[str, Role]
    quasi: tuple[str, ...]
    builders: Mapping[str, Builder]
    hierarchies: tuple[Hierarchy, ...]
    classes: FrequencySet
    reading: Reading
    history: History
    matched: Matched

    @classmethod
    def set(cls, source: Source, policy: Policy, engine: Engine, history: History | None) -> "Stage":
        roles = assign_roles(source.table, policy, source.index)
        named = in_order((name for name, role in roles.items() if role is Role.QUASI_IDENTIFIER), policy.method)
        quasi = tuple(named) if history is None else history.quasi
        refuse_misfits(policy, source.table, roles)
        sensitive = tuple(name for name, role in roles.items() if role is Role.SENSITIVE)
        assert policy.key is not None
        if history is None:
            history = begun(quasi, sensitive, source.table)
        history = history.respelt(source.table, policy.key)
        matched = match(source.table, policy.key, history, source.name)
        table = matched.table
        builders = {name: builder_of(policy, table[name]) for name in quasi}
        hierarchies = tuple(with_one_top(build(table[name], builders[name])) for name in quasi)
        classes = engine.count(table, quasi, counted(policy, quasi))
        reading = read_columns(table, policy, classes, quasi)
        return cls(
            replace(source, table=table),
            policy,
            roles,
            quasi,
            builders,
            hierarchies,
            classes,
            reading,
            history,
            matched,
        )

    @property
    def table(self) -> Table:
        return self.source.table

    @property
    def sensitive(self) -> tuple[str, ...]:
        return self.history.sensitive

    @property
    def codes(self) -> list[Codes]:
        """Of each quasi-identifier."""
        return [self.table[name].codes for name in self.quasi]

    @cached_property
    def ground(self) -> Ground:
        return Ground(
            self.table, self.policy, dict(self.roles), self.classes, self.reading, lambda _: None, lambda: False
        )

    @cached_property
    def rows(self) -> FrequencySet:
        """Every row as an item."""
        beside: Beside = {
            one: self._coded(one) if isinstance(one, str) else joined([self._coded(name) for name in one])
            for one in counted(self.policy, self.quasi)
        }
        return FrequencySet.listed({name: self._coded(name) for name in self.quasi}, beside)

    def _coded(self, name: str) -> tuple[Codes, int]:
        return self.table[name].codes, self.table[name].size

    def counts(self, values: Mapping[str, Codes], part: Codes, parts: int) -> ClassCounts:
        """What models read of groups of people, whose sensitive values are given: those who left among them."""
        alone = replace(self.reading, unit=None)  # every person has one row
        sensitive = {
            name: alone.values(name, Long.count(part, codes, self.table[name].size), parts)
            for name, codes in values.items()
            if name in alone.labels
        }
        return ClassCounts(np.bincount(part, minlength=parts).astype(np.int64), sensitive)

    def comply(self, values: Mapping[str, Codes], part: Codes, parts: int) -> Flags:
        """Which groups keep every model that is promised of each class, as far as their sensitive values tell."""
        counts = self.counts(values, part, parts)
        flags = np.ones(parts, dtype=bool)
        for model in self.policy.models:
            for each in model.parts():
                if not each.table_wide and not each.columns:
                    flags &= each.complies(counts)
        return flags

    def past(self, lines: NDArray[np.intp] | Flags) -> dict[str, Codes]:
        """The sensitive values of some lines of the history."""
        return {name: self.matched.past[name].codes[lines] for name in self.sensitive}

    def now(self, rows: NDArray[np.intp] | Flags) -> dict[str, Codes]:
        """The sensitive values of some rows of the table."""
        return {name: self.table[name].codes[rows] for name in self.sensitive}

    @cached_property
    def bound(self) -> Flags:
        """Per line: the person is there and some value changed, but not all that is shown beside quasi-identifiers.

        What stayed ties the person's rows of both releases together, so that they are no two people to anybody.
        """
        there = (self.matched.row >= 0) & (self.history.group >= 0) & ~self.matched.same
        if Role.INSENSITIVE in self.roles.values():
            return there
        stayed = np.zeros(len(self.history), dtype=bool)
        for name, column in self.matched.past.items():
            stayed |= column.codes == self.table[name].codes[self.matched.row]
        return there & stayed

    def alike(self, part: Codes, levels: Levels) -> Codes:
        """The class of each part: parts that show the same are one."""
        first = np.zeros(len(levels), dtype=np.int64)
        first[part[part >= 0][::-1]] = np.flatnonzero(part >= 0)[::-1]
        labels = [
            labels_at(hierarchy, codes[first], levels[:, i])
            for i, (hierarchy, codes) in enumerate(zip(self.hierarchies, self.codes, strict=True))
        ]
        found, _, _ = joined([(each.codes, len(each.texts)) for each in labels])
        return found

    def some(self, rows: Sequence[int] | NDArray[np.intp]) -> Source:
        """A table of some rows only, in the same codes."""
        columns = {name: replace(column, codes=column.codes[rows]) for name, column in self.table.columns.items()}
        return replace(self.source, table=Table(columns, len(rows)), native=None)
