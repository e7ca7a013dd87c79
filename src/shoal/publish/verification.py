"""Verification of a release before it is published: re-read as a frame or from disk, counted afresh, and judged."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.data.codes import Column, Table, Tallied, UncollectedColumn
from shoal.engine_port import WriteOptions
from shoal.engines.choice import read_options
from shoal.engines.frame_output import read_again
from shoal.engines.table_writer import to_table
from shoal.hierarchy.build import Builder
from shoal.hierarchy.intervals import Edges, Intervals
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.hierarchy.top_bottom import TopBottom
from shoal.publish.contents import write_boxes
from shoal.recoding.columns import decode_table
from shoal.recoding.kinds import as_stored_recoding
from shoal.runtime.events import log_event, phase, report_progress
from shoal.runtime.tempdir import SPILL, Scratch
from shoal.verify.claim import Original, PointFiles, Verdict, refuse_failures
from shoal.verify.judge import judge, judge_people, judge_rounding
from shoal.verify.open_release import opened
from shoal.verify.original_table import Levels, OriginalColumn, OriginalRelation, OriginalTable
from shoal.verify.release_files import check_hash
from shoal.verify.released_counts import count_groups, count_released, covers_groups, read_separate
from shoal.verify.truth_by_level import covers

if TYPE_CHECKING:
    from shoal.publish.data_files import DataFiles
    from shoal.publish.released_table import ReleasedTable


_OF_NUMBERS = (Edges, Intervals, TopBottom)


@phase("verifying")
def judge_frame(release: "ReleasedTable") -> list[Verdict]:
    """Judge every promise on the frame that is handed out, its columns read and counted afresh (design 14)."""
    shown = release.shown
    if shown.stream is not None:
        return _judge_stream(release)
    if shown.frame is not None:
        handed, times = shown.frame.counted()
        return _judge(release, handed, None, {}, None, times)
    if shown.rows is None:
        return _judge(release, release.table, None, {}, None, shown.times)
    handed_out = read_again(release.engine, release.data, read_options(release.policy), release.made)
    second = None if release.separate is None else to_table(release.separate)
    return _judge(release, decode_table(handed_out), second, {}, release.rows)


@phase("verifying")
def judge_files(release: "ReleasedTable", written: "DataFiles") -> list[Verdict]:
    """Re-read what was written and judge it; a file that does not keep its promises is never published."""
    data, file, other = written.data, written.file, written.separate
    verdicts = _judge(release, file, other, data.model_dump(), written.rows)
    verdicts.append(check_hash(file, data.sha256 or ""))
    if other is not None and data.separate is not None:
        verdicts.append(check_hash(other, data.separate.sha256 or ""))
    log_verdicts(verdicts)
    refuse_failures(verdicts)
    return verdicts


def log_verdicts(verdicts: Sequence[Verdict]) -> None:
    failed = sum(verdict.status == "fails" for verdict in verdicts)
    log_event("verified", promises=len(verdicts), failed=failed)


def _judge(
    release: "ReleasedTable",
    table: Path | pa.Table,
    separate: Path | pa.Table | None,
    how: Mapping[str, Any],
    rows: NDArray[np.int64] | None,
    times: NDArray[np.int64] | None = None,
) -> list[Verdict]:
    """Judge every promise on a file or table; `rows` are the input rows behind its rows, where they are known."""
    claim, original = release.claim, original_of_release(release, rows)
    listed = original.rows is not None
    room = replace(release.room, files=tuple(original.files))
    with opened(table, claim.columns, how, listed=listed, times=times, room=room) as database:
        if separate is None:
            report_progress(1 / 4)  # reading is done; counting, judging and comparing with the original follow
            counted = count_released(database, claim, original)
            report_progress(2 / 4)
            verdicts = [*judge(claim, counted), *judge_people(claim, counted), *judge_rounding(claim, database)]
            report_progress(3 / 4)
            return [*verdicts, covers(database, claim, original)]
        told = read_separate(separate, list(release.separate or ()), how)
        counted = count_groups(database, told, claim, original)
        return [*judge(claim, counted), covers_groups(database, counted, claim, original)]


def _judge_stream(release: "ReleasedTable") -> list[Verdict]:
    """Judge rows that do not fit in memory, by writing them to a temporary private file."""
    scratch = Scratch(release.room.folder or Path(gettempdir()), SPILL)
    try:
        file = scratch.path / "data.parquet"
        release.engine.write(release.shown, file, release.source, WriteOptions("parquet"))
        return _judge(release, file, None, {}, None)
    finally:
        scratch.close()


def original_of_release(release: "ReleasedTable", rows: NDArray[np.int64] | None) -> Original:
    """Return the input as verification needs it; `rows` are the input rows in the order of the release."""
    plan, source = release.plan, release.source
    reading, recoding = plan.reading, plan.recoding
    points = None
    if recoding.on_disk:
        file = as_stored_recoding(recoding).points
        points = PointFiles(file, file.with_name("boxes.parquet"))
        write_boxes(points.boxes, plan)
    mapped = plan.added is not None or recoding.levels is None
    return Original(
        original_table(source.table),
        original_levels(plan.hierarchies, plan.builders),
        recoding.levels or {},
        rows=rows if mapped else None,
        unit=reading.unit,
        trees=reading.levels,
        order=reading.order,
        together=tuple(reading.joint),
        quasi=reading.quasi,
        population=None if source.population is None else original_table(source.population),
        tree_labels=reading.level_labels,
        points=points,
    )


def original_table(table: Table) -> OriginalTable:
    """Return a table as verification reads it."""
    columns = {name: _column(column) for name, column in table.columns.items()}
    if table.relation is None:
        return OriginalTable(columns, table.rows)
    given = table.relation
    return OriginalTable(columns, table.rows, OriginalRelation(**vars(given)))


def original_levels(hierarchies: Mapping[str, Hierarchy], builders: Mapping[str, Builder]) -> dict[str, Levels]:
    """Return the levels of hierarchies, and whether their labels are intervals of numbers."""
    return {
        name: Levels(hierarchy.levels, hierarchy.labels, isinstance(builders.get(name), _OF_NUMBERS), hierarchy.top)
        for name, hierarchy in hierarchies.items()
    }


def _column(column: Column) -> OriginalColumn:
    return OriginalColumn(
        column.values,
        column.texts,
        column.codes,
        column.has_null,
        column.decimal,
        column.raws if isinstance(column, Tallied) else None,
        column.missing if isinstance(column, UncollectedColumn) else None,
    )
