"""The recoding that was found on the training rows, for rows that were held out."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from shoal.codes import Table
from shoal.counts import Flags
from shoal.hierarchy import Hierarchy
from shoal.mining.placing import place
from shoal.mining.shown import Shown, as_it_is, by_form, some_of
from shoal.recode import NodeRecoding, PartRecoding, Recoding


class How(StrEnum):
    """How rows are shown that were not there when the recoding was found.

    A level per attribute fits any row. Boxes share out the space: a row is shown as the box that it lies in, or the
    nearest one. Cells and clusters do not, they overlap and leave gaps: a row is shown as it is, and shares with the
    training rows the labels above its values, and midpoints.
    """

    LEVELS = "levels"
    BOXES = "boxes"
    VALUES = "values"


@dataclass(frozen=True)
class HeldOut:
    """What is shown of held-out rows."""

    how: How
    shown: Mapping[str, Shown]
    outside: Flags
    """Which of them lie in no box, and are shown as the nearest."""


@dataclass(frozen=True)
class Training:
    """What was decided about the training rows."""

    table: Table
    """The training rows, in the codes of all."""
    recoding: Recoding
    hierarchies: Mapping[str, Hierarchy]
    """That the recoding shows values along."""
    statistics: Mapping[str, tuple[str, str]]
    """Released columns that show a statistic of a quasi-identifier: which, and of which one."""

    @property
    def kept(self) -> Flags:
        """The rows that were not suppressed."""
        return ~self.recoding.suppressed

    def shown(self, features: Collection[str], quasi: Collection[str]) -> dict[str, Shown]:
        """What the release shows of the rows that are kept; other columns than quasi-identifiers as they are."""
        shown = _through(self.recoding, self.table, features, quasi, self)
        return {name: some_of(each, self.kept) for name, each in shown.items()}

    def held_out(self, others: Table, features: Collection[str], quasi: Collection[str]) -> HeldOut:
        """The same for other rows."""
        recoding, nowhere = self.recoding, np.zeros(others.rows, dtype=bool)
        if isinstance(recoding, NodeRecoding):
            return HeldOut(How.LEVELS, _through(recoding, others, features, quasi, self), nowhere)
        if isinstance(recoding, PartRecoding) and recoding.kind == "boxes":
            labelled = [name for name in recoding.shown if name in recoding.shown[name] and name not in self.statistics]
            part, outside = place(recoding, labelled, self.table, others, self.hierarchies)
            shown = _through(replace(recoding, part=part), others, features, quasi, self)
            return HeldOut(How.BOXES, shown, outside)
        return HeldOut(How.VALUES, {name: as_it_is(others[name]) for name in features}, nowhere)


def _through(
    recoding: Recoding, table: Table, features: Collection[str], quasi: Collection[str], how: Training
) -> dict[str, Shown]:
    """What a recoding shows of the features."""
    return {
        name: by_form(recoding.show(table[name], how.hierarchies), how.statistics)
        if name in quasi
        else as_it_is(table[name])
        for name in features
    }
