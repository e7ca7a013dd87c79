"""A table that is published again: who is who, what all releases before showed, and how groups of people are judged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.attack import Finding
from shoal.data.class_counts import ClassCounts, Flags
from shoal.data.codes import Codes, Table
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import LongCounts, join_columns
from shoal.engine_port import Engine, Source
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.partition.local_recoding import require_one_top
from shoal.partition.released_labels import labels_at
from shoal.policy.document import Policy
from shoal.problem import Problem, assign_roles, columns_to_count, order_of_attributes
from shoal.republish.history import History, Levels, MatchedTable, empty_history, match_people
from shoal.roles import Role

if TYPE_CHECKING:
    from shoal.data.packed_keys import Beside
    from shoal.plan import AddedRows, Plan

Make = Callable[[Source, Policy], "Plan"]
"""Plans a table as if it were the first."""


@dataclass(frozen=True)
class HistoryUpdate:
    """What a release adds to the history, and what all releases tell together."""

    history: History
    finding: Finding


@dataclass(frozen=True)
class NextRelease:
    """How the rows of the next release are put together."""

    part: Codes
    """Part of each row; -1 where it is left out."""
    levels: Levels
    """levels[part, quasi-identifier] that the part is shown at."""
    history: History
    """History with the lines of this release, but not yet the values that it leaves possible."""
    row: NDArray[np.int64]
    """Row that shows each line; -1 where none does."""
    touched: Flags | None = None
    """Which lines are in groups that nobody could tell apart before; None where exchanging values tells nothing."""
    added: "AddedRows | None" = None


@dataclass(frozen=True)
class RepublishContext:
    """Everything that the ways to publish again share."""

    problem: Problem
    """The table in codes that know the values of all releases before."""
    hierarchies: tuple[Hierarchy, ...]
    history: History
    matched: MatchedTable

    @classmethod
    def of(cls, source: Source, policy: Policy, engine: Engine, history: History | None) -> "RepublishContext":
        """Find everybody of the history in the table, and state the problem of the next release."""
        roles = assign_roles(source.table, policy, source.index)
        if history is None:
            named = order_of_attributes(
                (n for n, role in roles.items() if role is Role.QUASI_IDENTIFIER), policy.method
            )
            sensitive = tuple(name for name, role in roles.items() if role is Role.SENSITIVE)
            history = empty_history(tuple(named), sensitive, source.table)
        assert policy.key is not None
        history = history.respell(source.table, policy.key)
        matched = match_people(source.table, policy.key, history, source.name)
        problem = Problem.of(replace(source, table=matched.table), policy, engine, quasi=history.quasi)
        hierarchies = tuple(require_one_top(hierarchy) for hierarchy in problem.hierarchies.values())
        return cls(problem, hierarchies, history, matched)

    @property
    def source(self) -> Source:
        return self.problem.source

    @property
    def policy(self) -> Policy:
        return self.problem.policy

    @property
    def table(self) -> Table:
        return self.problem.table

    @property
    def quasi(self) -> tuple[str, ...]:
        return self.history.quasi

    @property
    def sensitive(self) -> tuple[str, ...]:
        return self.history.sensitive

    @property
    def codes(self) -> list[Codes]:
        """Codes of each quasi-identifier."""
        return [self.table[name].codes for name in self.quasi]

    @cached_property
    def rows(self) -> FrequencySet:
        """A frequency set with every row as an item of its own."""
        beside: Beside = {
            one: self._coded(one) if isinstance(one, str) else join_columns([self._coded(name) for name in one])
            for one in columns_to_count(self.policy, self.quasi)
        }
        return FrequencySet.from_rows({name: self._coded(name) for name in self.quasi}, beside)

    def _coded(self, name: str) -> tuple[Codes, int]:
        return self.table[name].codes, self.table[name].size

    def counts(self, values: Mapping[str, Codes], part: Codes, parts: int) -> ClassCounts:
        """Return the counts of groups as models read them.

        Sensitive values are given for each member, so that people who left the table can be among them.
        """
        alone = replace(self.problem.reading, unit=None)  # every person has one row
        sensitive = {
            name: alone.value_counts(name, LongCounts.count(part, codes, self.table[name].size), parts)
            for name, codes in values.items()
            if name in alone.labels
        }
        return ClassCounts(np.bincount(part, minlength=parts).astype(np.int64), sensitive)

    def flag_complying(self, values: Mapping[str, Codes], part: Codes, parts: int) -> Flags:
        """Flag the groups that keep every model that is judged class by class, on sizes and sensitive values alone."""
        counts = self.counts(values, part, parts)
        flags = np.ones(parts, dtype=bool)
        for model in self.policy.models:
            for each in model.parts():
                if not each.table_wide and not each.columns:
                    flags &= each.complies(counts)
        return flags

    def past_values(self, lines: NDArray[np.intp] | Flags) -> dict[str, Codes]:
        """Return the sensitive values of some lines of the history, in the codes of the table."""
        return {name: self.matched.past[name].codes[lines] for name in self.sensitive}

    def current_values(self, rows: NDArray[np.intp] | Flags) -> dict[str, Codes]:
        """Return the sensitive values of some rows of the table."""
        return {name: self.table[name].codes[rows] for name in self.sensitive}

    @cached_property
    def bound(self) -> Flags:
        """Flag the lines whose person is there with a changed value, while another released value may be unchanged.

        The unchanged value ties the person's rows of both releases together, so that nobody takes them for two people.
        """
        there = (self.matched.row >= 0) & (self.history.group >= 0) & ~self.matched.unchanged
        if Role.INSENSITIVE in self.problem.roles.values():
            return there
        stayed = np.zeros(len(self.history), dtype=bool)
        for name, column in self.matched.past.items():
            stayed |= column.codes == self.table[name].codes[self.matched.row]
        return there & stayed

    def classes_of_parts(self, part: Codes, levels: Levels) -> Codes:
        """Return the class of each part: parts that show the same labels are one class."""
        # [part] its first row: assigned in reverse, so that the first row is written last
        first = np.zeros(len(levels), dtype=np.int64)
        first[part[part >= 0][::-1]] = np.flatnonzero(part >= 0)[::-1]
        labels = [
            labels_at(hierarchy, codes[first], levels[:, i])
            for i, (hierarchy, codes) in enumerate(zip(self.hierarchies, self.codes, strict=True))
        ]
        found, _, _ = join_columns([(each.codes, len(each.texts)) for each in labels])
        return found

    def select_rows(self, rows: Sequence[int] | NDArray[np.intp]) -> Source:
        """Return a source that has only some of the rows, in the same codes."""
        columns = {name: replace(column, codes=column.codes[rows]) for name, column in self.table.columns.items()}
        return replace(self.source, table=Table(columns, len(rows)), native=None)
