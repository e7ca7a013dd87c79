"""A table that keeps its policy, verified, as data and as folders."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.api.given import (
    Path_,
    Target_,
    read_options,
    target_of,
)
from shoal.api.originals import original_levels, original_table
from shoal.engine import Engine, Shown, Source, WriteOptions
from shoal.engines import ArrowEngine, Stored, storing
from shoal.engines.frames import read_again, to_native, to_same_kind
from shoal.engines.partitioned import deal, refuse_partitions
from shoal.engines.writing import QUOTE, count_defused, refuse_marker, sorted_batches, style_of, to_table
from shoal.errors import BadInput, BadOutput
from shoal.events import tell
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.recode import GroupRecoding, NodeRecoding, Released, StoredRecoding, decoded
from shoal.report.added import shown_or_copied
from shoal.report.folder import Places, known_format, partitioned_format, write_report
from shoal.report.manifest import Data, Manifest, Separate, seen_if_few, summarise
from shoal.report.page import render
from shoal.report.pages import look_at, private_page, public_page
from shoal.report.private import write_boxes, write_private
from shoal.report.public import told_of, write_public
from shoal.report.republished import counterfeits_of
from shoal.schema import Role
from shoal.scratch import SPILL, Scratch
from shoal.verify import (
    Claim,
    Original,
    Points,
    Room,
    Verdict,
    check_hash,
    count,
    covers,
    judge,
    judge_people,
    opened,
    refuse_failures,
)
from shoal.verify.groups import count_groups, covers_groups, read_separate
from shoal.verify.stored import refuse_other_rows


def tell_verdicts(verdicts: Sequence[Verdict]) -> None:
    failed = sum(verdict.status == "fails" for verdict in verdicts)
    tell("verified", promises=len(verdicts), failed=failed)


NO_ROW_MAP = "there is no row map: the rows stayed where they are, and a level per attribute needs none to be verified"
BY_POINT = "there is no row map: the rows stayed where they are, and the private folder tells the box of each point"


@dataclass(frozen=True)
class Release:
    """A table that keeps its policy: as data, as a summary, and as folders on disk."""

    policy: Policy
    source: Source = field(repr=False)
    plan: Plan = field(repr=False)
    shown: Shown = field(repr=False)
    """What is released and, where the engine knows, of which rows of the input: private."""
    notes: tuple[str, ...] = ()
    engine: Engine = field(default_factory=ArrowEngine, repr=False)
    path: Path | None = None
    """The file that was read, so that it is never written over."""
    room: Room = field(default_factory=Room)
    """What the verification may use."""
    earlier: Path | None = None
    """The private folder whose recoding was applied, which is never written over either."""

    @property
    def columns(self) -> dict[str, Released]:
        return self.shown.columns

    @property
    def row_by_row(self) -> dict[str, Released]:
        """The same with a code for every row, which they have only where the rows are in memory."""
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
    def data(self) -> Any:
        """The release as the same kind of frame as came in; a pyarrow Table where a file came in.

        Where rows stay where they are: a fresh pyarrow RecordBatchReader of all rows in the order of the file; of
        the spark engine, a Spark frame whose rows are made when they are asked for, in no order.
        """
        if self.shown.frame is not None:
            return self.shown.frame.data
        return self._data if self.shown.rows is not None else sorted_batches(self.shown)

    @cached_property
    def _data(self) -> Any:
        invented = set() if self.plan.added is None else {self.plan.added.attribute}
        return to_native(self.source, self.table, shown_or_copied(self.rows), self.made | invented)

    @property
    def made(self) -> set[str]:
        """The released columns that were made from quasi-identifiers, or the groups of Anatomy."""
        if isinstance(self.plan.recoding, GroupRecoding):
            return {self.plan.recoding.column}
        return {column for columns in self.plan.released_as.values() for column in columns}

    @cached_property
    def separate(self) -> dict[str, Released] | None:
        """The other table of Anatomy: how often each sensitive value occurs in each group."""
        recoding = self.plan.recoding
        if not isinstance(recoding, GroupRecoding):
            return None
        return recoding.separate(self.source.table[recoding.sensitive])

    @cached_property
    def separate_data(self) -> Any:
        """The same as a frame of the kind that came in."""
        return None if self.separate is None else to_same_kind(self.source, to_table(self.separate))

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Every promise, judged on the frame that is handed out, its columns read and counted afresh (design 14)."""
        if self.shown.stream is not None:
            return self._judged_stream()
        if self.shown.frame is not None:
            handed, times = self.shown.frame.counted()
            return self._judged(handed, None, {}, None, times)
        if self.shown.rows is None:
            return self._judged(self.table, None, {}, None, self.shown.times)
        handed_out = read_again(self.engine, self.data, read_options(self.policy), self.made)
        second = None if self.separate is None else to_table(self.separate)
        return self._judged(decoded(handed_out), second, {}, self.rows)

    @cached_property
    def summary(self) -> Manifest:
        """The manifest as a frozen value."""
        second = None if self.separate is None else Separate(columns=tuple(self.separate))
        data = Data(format="frame", columns=tuple(self.columns), separate=second)
        seen = seen_if_few(self.plan, self.policy, self.source)
        return summarise(self.plan, self.policy, self.source, self.verdicts, data, self.notes, seen)

    @property
    def claim(self) -> Claim:
        roles = self.plan.roles
        quasi = [name for name in self.columns if name in self.made]
        released = [*self.columns, *(self.separate or ())]
        sensitive = [name for name in released if roles.get(name) is Role.SENSITIVE and name not in self.made]
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
        )

    def original(self, rows: NDArray[np.int64] | None) -> Original:
        """The input as verify needs it; `rows` are the input rows in the order of the release."""
        reading, recoding = self.plan.reading, self.plan.recoding
        points = None
        if isinstance(recoding, StoredRecoding):
            points = Points(recoding.points, recoding.points.with_name("boxes.parquet"))
            write_boxes(points.boxes, self.plan)
        mapped = self.plan.added is not None or not isinstance(recoding, NodeRecoding)
        return Original(
            original_table(self.source.table),
            original_levels(self.plan.hierarchies, self.plan.builders),
            recoding.levels if isinstance(recoding, NodeRecoding) else {},
            rows=rows if mapped else None,
            unit=reading.unit,
            trees=reading.levels,
            order=reading.order,
            together=tuple(reading.joint),
            population=None if (everybody := self.source.population) is None else original_table(everybody),
            tree_labels=reading.level_labels,
            points=points,
        )

    def save(
        self,
        out: Path_,
        *,
        private: Path_ | None = None,
        format: str | None = None,  # noqa: A002
        force: bool = False,
        reproducible: bool = False,
        to: Target_ = None,
        partition_by: Sequence[str] = (),
    ) -> Manifest:
        """Write `out/` and `out.private/`, both or none, verified as re-read from disk.

        With `partition_by`, the table is Parquet in folders named after what these columns show.
        With `to`, e.g. "postgres:public.released", the rows are stored there too, re-read and compared before all is
        put into place: the private folder first, then the public one, then the table is committed.
        """
        places = Places.choose(out, private, self.path, force=force, earlier=self.earlier)
        options = self.write_options(format, partition_by)
        kind = options.format
        target = target_of(to)
        if target is not None and self.separate is not None:
            raise BadOutput(f"{target.name}: a release in two tables is written into folders only")
        with ExitStack() as stack:
            stored = None if target is None else stack.enter_context(storing(target, force=force))
            last = (lambda: None) if stored is None else stored.commit
            public, secret = stack.enter_context(places.filled(last))
            file = public / f"data.{kind}"
            written = self.engine.write(self.shown, file, self.source, options)
            rows = None if written.order is None else self.rows[written.order]
            dealt = None
            if partition_by:
                dealt = deal(file, file := public / "data", partition_by)
                rows = None if rows is None else rows[dealt.order]
            other = public / f"sensitive.{kind}"
            second = None
            if self.separate is not None:
                told = self.engine.write(Shown(self.separate), other, self.source, replace(options, keep_order=False))
                second = Separate(file=other.name, sha256=told.sha256, columns=tuple(self.separate))
            data = Data(
                file=file.name,
                sha256=written.sha256 if dealt is None else dealt.sha256,
                format=kind,
                delimiter=self.source.delimiter,
                quote=options.quote,
                missing=self.source.missing,
                spreadsheet_safe=kind == "csv" and options.spreadsheet_safe,
                columns=tuple(self.columns),
                partitions=None if dealt is None else dealt.kinds,
                separate=second,
            )
            tell("written", format=kind, files=1 if second is None else 2, rows=self.shown.count)
            verdicts = self._verify_file(file, data, rows)
            seen = seen_if_few(self.plan, self.policy, self.source)
            manifest = summarise(self.plan, self.policy, self.source, verdicts, data, self._notes(data), seen)
            if reproducible:
                manifest = manifest.without_times()
            outside = told_of(manifest, self.plan, verdicts, self.shown, self.separate)
            write_public(public, outside, counterfeits_of(self.plan))
            write_private(secret, manifest, self.plan, self.policy, self.source, rows)
            if stored is not None:
                self._store(stored, file, data)
        with places.reported():  # the release is on disk: no report can sink it
            visible = look_at(outside, self.shown, self.separate)
            page = private_page(manifest, outside, self.plan, self.policy, self.source, visible, seen)
            write_report(places.private, render(page), private=True)
            write_report(places.public, render(public_page(outside, visible)))
        return manifest

    def _store(self, stored: Stored, file: Path, data: Data) -> None:
        """Store the rows, and hold what the database gives back to the verified file."""
        stored.fill(sorted_batches(self.shown))
        with (
            opened(file, data.columns, data.model_dump(), room=self.room) as release,
            stored.read_again() as rows,
        ):
            refuse_other_rows(release, rows, stored.target.name)
        stored.replace(data.sha256 or "")
        tell("stored", rows=self.shown.count)

    def write_options(self, format: str | None, partition_by: Sequence[str] = ()) -> WriteOptions:  # noqa: A002
        """How it will be written; refused where a reader could not tell null from everything else."""
        if partition_by:
            refuse_partitions(partition_by, list(self.columns))
            format = partitioned_format(format)  # noqa: A001
        kind = known_format(format or ("parquet" if self.source.format in {"parquet", "arrow"} else "csv"))
        release, quote = self.policy.release, self.policy.data.quote or QUOTE
        options = WriteOptions(kind, release.order == "keep", release.spreadsheet_safe, quote)
        if kind == "csv":
            refuse_marker(self.columns, style_of(self.source, options), self.policy.data.missing, self.shown.stream)
        return options

    def _verify_file(self, file: Path, data: Data, rows: NDArray[np.int64] | None) -> list[Verdict]:
        """Re-read what was written and judge it; a file that does not keep its promises is never published."""
        second = data.separate
        other = None if second is None else file.with_name(second.file or "")
        verdicts = self._judged(file, other, data.model_dump(), rows)
        verdicts.append(check_hash(file, data.sha256 or ""))
        if other is not None and second is not None:
            verdicts.append(check_hash(other, second.sha256 or ""))
        tell_verdicts(verdicts)
        refuse_failures(verdicts)
        return verdicts

    def _judged(
        self,
        release: Path | pa.Table,
        separate: Path | pa.Table | None,
        how: Mapping[str, Any],
        rows: NDArray[np.int64] | None,
        times: NDArray[np.int64] | None = None,
    ) -> list[Verdict]:
        """Every promise of a file or a table whose rows came from these rows of the input."""
        claim, original = self.claim, self.original(rows)
        listed = original.rows is not None
        with opened(release, claim.columns, how, listed=listed, times=times, room=self.room) as database:
            if separate is None:
                counted = count(database, claim, original)
                return [
                    *judge(claim, counted),
                    *judge_people(claim, counted),
                    covers(database, claim, original),
                ]
            counted = count_groups(database, read_separate(separate, list(self.separate or ()), how), claim, original)
            return [*judge(claim, counted), covers_groups(database, counted, claim, original)]

    def _judged_stream(self) -> list[Verdict]:
        """Of rows that do not fit in memory, as a file that nobody else sees."""
        scratch = Scratch(self.room.folder or Path(gettempdir()), SPILL)
        try:
            file = scratch.path / "data.parquet"
            self.engine.write(self.shown, file, self.source, WriteOptions("parquet"))
            return self._judged(file, None, {}, None)
        finally:
            scratch.close()

    def _notes(self, data: Data) -> list[str]:
        unmapped = BY_POINT if isinstance(self.plan.recoding, StoredRecoding) else NO_ROW_MAP
        notes = [*self.notes, *([unmapped] if self.shown.rows is None else [])]
        stream = self.shown.stream
        defused = count_defused(self.columns, self.shown.times) if stream is None else stream.defused()
        defused = defused if data.spreadsheet_safe else 0
        if not defused:
            return notes
        note = (
            f"{defused} cell(s) that a spreadsheet would run as a formula got a leading '; set "
            "spreadsheet-safe = false under [release] to keep them as they are"
        )
        return [*notes, note]
