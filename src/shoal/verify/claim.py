"""What a release claims about itself, and the verdict on one of its promises."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import Indices
from shoal.errors import NotVerified
from shoal.models.model import Model
from shoal.runtime import SummaryRepr
from shoal.verify.original_table import Levels, OriginalTable


class Status(StrEnum):
    HOLDS = "holds"
    FAILS = "fails"
    NEEDS_ORIGINAL = "needs the original"
    NEEDS_POPULATION = "needs the population"


@dataclass(frozen=True, repr=False)
class Verdict(SummaryRepr):
    """One promise and what the release, as counted here, says about it."""

    promise: str
    status: Status
    asked: Mapping[str, Any] = field(default_factory=dict)
    attained: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    worst: int | None = None
    """How large the class is that protects its members least, where one does."""
    published: Mapping[str, Any] = field(default_factory=dict)
    """The part of `attained` that follows from the released table alone; comparisons with it are under `release`."""
    published_worst: int | None = None
    """`worst` as the released table alone tells it."""

    @property
    def _facts(self) -> list[tuple[str, str]]:
        return [(self.promise, str(self.status))]

    @property
    def holds(self) -> bool:
        return self.status is Status.HOLDS


def refuse_failures(verdicts: Sequence[Verdict]) -> None:
    """Raise NotVerified unless every promise holds."""
    failed = [v for v in verdicts if not v.holds]
    if failed:
        raise NotVerified(
            "the release does not verify: " + "; ".join(f"{v.promise} {v.status} {v.why}".strip() for v in failed)
        )


@dataclass(frozen=True)
class Claim:
    """What a release says of itself: the part of its public manifest that can be checked."""

    quasi_identifiers: Sequence[str]
    sensitive: Sequence[str]
    models: Sequence[Model]
    rows: int
    columns: Sequence[str]
    classes: Mapping[str, float] | None = None
    """Number and sizes of the classes, where the manifest states them."""
    attained: Sequence[Mapping[str, Any]] | None = None
    """What the release is said to attain, for each model."""
    shown: int = 0
    """How many of the rows were suppressed and stay, all their quasi-identifiers `*`."""
    persons: bool = False
    """Whether sizes and shares count persons, not rows."""
    statistics: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Released columns that show a statistic of each class: the quasi-identifier it is about, and which of `CHECKS`.

    They count as quasi-identifiers here: rows are in one class if all columns derived from quasi-identifiers agree.
    """
    observed: frozenset[str] = frozenset()
    """Quasi-identifiers whose ranges are the least and the greatest value of the class itself, or all its values."""

    by_label: bool = False
    """Whether `observed` ranges are those of all rows that show the same range, whatever else these show."""

    added: int = 0
    """How many of the rows were added and show nobody."""
    further: int = 0
    """How many of the models, the last ones, hold only because of added rows."""
    suppressed: int | None = None
    """How many rows were suppressed, where the manifest states it."""
    labels: Mapping[str, Sequence[str]] | None = None
    """The labels that each column is said to show."""
    rounded: Mapping[str, Fraction] = field(default_factory=dict)
    """The columns whose numbers are rounded, and to multiples of what."""
    worst: Sequence[int | None] | None = None
    """The stated size of the class that protects least, for each model."""
    bounds: Mapping[str, tuple[Fraction | None, Fraction | None]] = field(default_factory=dict)
    """The least and the greatest number of rounded columns that have such bounds."""

    def source(self, column: str) -> str:
        """Return the original column that a released one is about."""
        return self.statistics[column][0] if column in self.statistics else column


@dataclass(frozen=True)
class PointFiles:
    """Two Parquet files that tell in which box a point of the original lies, and what each box shows."""

    points: Path
    """The code of each quasi-identifier, in the order of their names (q0, q1, …), and `part`, the number of the box."""
    boxes: Path
    """`part`, and what it shows in each released column of a quasi-identifier (s0, s1, …), in the order of a claim."""


@dataclass(frozen=True)
class Original:
    """The input and the levels it was generalised to, for checking that a release tells the truth.

    Where levels do not tell what a row shows, `rows` says which row became which, and `levels` is empty.
    """

    table: OriginalTable
    hierarchies: Mapping[str, Levels]
    levels: Mapping[str, int]
    unit: str | None = None
    """The column that tells persons apart, where persons are counted."""
    trees: Mapping[str, Sequence[Indices]] = field(default_factory=dict)
    """Hierarchies of sensitive attributes, by the codes of the table."""
    order: Mapping[str, Sequence[str]] = field(default_factory=dict)
    together: Sequence[tuple[str, ...]] = ()
    """Columns that models need counted together."""
    quasi: tuple[str, ...] = ()
    """The quasi-identifiers, whichever of them are released."""
    population: OriginalTable | None = None
    """Everybody, in the codes of the table, where that is known."""
    tree_labels: Mapping[str, Sequence[Sequence[str | None]]] = field(default_factory=dict)
    """What the groups of `trees` are called."""
    rows: NDArray[np.int64] | None = None
    """For every released row, in the order of the release, the position (from 0) of the input row that it shows.

    It is negative where the row was added and shows nobody.
    """
    points: PointFiles | None = None
    """Where each row lies, if levels do not tell it and rows are too many to be listed one by one."""
    attained: Sequence[Mapping[str, Any]] = ()
    """What the private manifest says that each model attains."""
    worst: Sequence[int | None] = ()
    """The size of the class that protects least, for each model, as the private manifest states it."""

    @property
    def files(self) -> list[Path]:
        """Return the files that a database reads when it judges a release by this original."""
        tables = [self.table] if self.population is None else [self.table, self.population]
        files = [file for table in tables if table.relation is not None for file in table.relation.files]
        return files if self.points is None else [*files, self.points.points, self.points.boxes]
