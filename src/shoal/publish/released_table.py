"""A released table: its data as a frame, its summary and its claim."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.blocking.block import shown_or_copied
from shoal.engine_port import Engine, ReleasedRows, Source
from shoal.engines.arrow import ArrowEngine
from shoal.engines.frame_output import to_native, to_same_kind
from shoal.engines.table_writer import sorted_batches, to_table
from shoal.errors import BadInput
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.publish.manifest import Data, Manifest, SeparateTable
from shoal.publish.summary import compare_if_cheap, summarise
from shoal.publish.verification import judge_frame
from shoal.recoding.columns import ReleasedColumn
from shoal.roles import Role
from shoal.runtime import SummaryRepr
from shoal.verify.claim import Claim, Verdict
from shoal.verify.open_release import Room

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Frame = TypeVar("Frame", default=Any)
else:
    from typing import TypeVar

    Frame = TypeVar("Frame")


@dataclass(frozen=True, repr=False)
class ReleasedTable(SummaryRepr, Generic[Frame]):
    """A table that keeps its policy: as data, a frame of the kind that came in, and as a summary."""

    policy: Policy
    source: Source
    plan: Plan
    shown: ReleasedRows
    """What is released and, where the engine knows, of which rows of the input: private."""
    notes: tuple[str, ...] = ()
    engine: Engine = field(default_factory=ArrowEngine)
    path: Path | None = None
    """The file that was read, so that it is never written over."""
    room: Room = field(default_factory=Room)
    """What the verification may use."""
    earlier: Path | None = None
    """The private folder whose recoding was applied, which is never written over either."""

    @property
    def _facts(self) -> list[tuple[str, str]]:
        """What the short form shows: figures and names of the policy, no cell."""
        classes, left_out, metric = self.plan.after.kept, self.plan.after.suppressed_rows, self.policy.method.metric
        sizes = f"{len(classes):,} of {classes.min():,} to {classes.max():,} rows" if len(classes) else "none"
        return [
            ("rows", f"{self.shown.count:,} released, {left_out:,} suppressed"),
            ("classes", sizes),
            ("promises", ", ".join(dict.fromkeys(model.name for model in self.policy.promises))),
            (metric, f"{self.plan.score:.4g}"),
        ]

    @property
    def columns(self) -> dict[str, ReleasedColumn]:
        return self.shown.columns

    @property
    def row_by_row(self) -> dict[str, ReleasedColumn]:
        """Released columns with a code for every row; refused where the rows are not in memory."""
        if self.shown.rows is None:
            raise BadInput("the rows of this release stayed where they are; save it, and name its folder")
        return self.shown.columns

    @property
    def rows(self) -> NDArray[np.int64]:
        """The position in the input of every released row; negative where it was added and shows nobody: private."""
        if self.shown.rows is None:
            raise BadInput("this release has no row map, since its rows stayed where they are; use engine = 'arrow'")
        return self.shown.rows

    @cached_property
    def table(self) -> pa.Table:
        """The release as an Arrow table, rows in the order of the input; where they stay there, distinct rows only."""
        return to_table(self.columns)

    @property
    def data(self) -> Frame:
        """The release as the same kind of frame as came in; a pyarrow Table where a file came in.

        Where rows stay where they are: a fresh pyarrow RecordBatchReader of all rows in the order of the file; of
        the spark engine, a Spark frame whose rows are made when they are asked for, in no order.
        """
        if self.shown.frame is not None:
            data: Frame = self.shown.frame.data
        else:
            data = self._data if self.shown.rows is not None else sorted_batches(self.shown)
        return data

    @cached_property
    def _data(self) -> Any:
        invented = set() if self.plan.added is None else {self.plan.added.attribute}
        fresh = self.made | invented | {*self.policy.rounding}
        return to_native(self.source, self.table, shown_or_copied(self.rows), fresh)

    @property
    def made(self) -> set[str]:
        """The released columns that were made from quasi-identifiers, or the groups of Anatomy."""
        if self.plan.recoding.keeps_values:
            return set(self.plan.recoding.further_columns())
        return {column for columns in self.plan.released_as.values() for column in columns}

    @cached_property
    def separate(self) -> dict[str, ReleasedColumn] | None:
        """The other table of Anatomy: how often each sensitive value occurs in each group."""
        return self.plan.recoding.separate(self.source.table)

    @cached_property
    def separate_data(self) -> Frame | None:
        """The other table of Anatomy, as a frame of the kind that came in."""
        return None if self.separate is None else to_same_kind(self.source, to_table(self.separate))

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Every promise, judged on the frame that is handed out, its columns read and counted afresh (design 14)."""
        return judge_frame(self)

    @cached_property
    def summary(self) -> Manifest:
        """The private manifest as a frozen value."""
        second = None if self.separate is None else SeparateTable(columns=tuple(self.separate))
        data = Data(format="frame", columns=tuple(self.columns), separate=second)
        seen = compare_if_cheap(self.plan, self.policy, self.source)
        return summarise(self.plan, self.policy, self.source, self.verdicts, data, self.notes, seen)

    @property
    def claim(self) -> Claim:
        roles, made = self.plan.roles, self.made
        quasi = [name for name in self.columns if name in made]
        released = [*self.columns, *(self.separate or ())]
        sensitive = [name for name in released if roles.get(name) is Role.SENSITIVE and name not in made]
        shown = self.plan.after.suppressed_rows if self.policy.release.suppressed == "show" else 0
        return Claim(
            quasi,
            sensitive,
            self.policy.promises,
            self.shown.count,
            list(self.columns),
            shown=shown,
            persons=self.policy.unit is not None,
            statistics=self.plan.statistics,
            observed=self.plan.observed,
            by_label=self.plan.by_label,
            added=self.shown.added,
            further=self.policy.further,
            rounded=self.policy.rounding,
            bounds=self.policy.bounds,
        )
