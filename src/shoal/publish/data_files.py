"""The data of a release on disk: one table, or two, or folders of one; and how they are written."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.engine_port import ReleasedRows, WriteOptions
from shoal.engines.partition_folders import partition_file, refuse_partitions
from shoal.engines.postgres.tables import StoredTable
from shoal.engines.table_writer import QUOTE, count_defused, refuse_ambiguous_marker, sorted_batches, style_of
from shoal.models import MODELS
from shoal.policy.document import Policy
from shoal.publish.folder import known_format, partitioned_format
from shoal.publish.manifest import Data, SeparateTable
from shoal.publish.released_table import ReleasedTable
from shoal.runtime.events import log_event, phase
from shoal.verify.judge import refuse_other_rows
from shoal.verify.open_release import opened

NO_ROW_MAP = "there is no row map: the rows stayed where they are, and a level per attribute needs none to be verified"
BY_POINT = "there is no row map: the rows stayed where they are, and the private folder tells the box of each point"


@dataclass(frozen=True)
class DataFiles:
    """The data files of a release, as written."""

    file: Path
    """The table, or the folder of its parts."""
    data: Data
    """What the manifest says of it."""
    rows: NDArray[np.int64] | None
    """The input row of each released row, where it is known: private."""
    separate: Path | None = None
    """The second table of Anatomy."""


def choose_write_options(release: ReleasedTable, format: str | None, partition_by: Sequence[str] = ()) -> WriteOptions:  # noqa: A002
    """Return how to write a release; refuse a CSV in which null could not be told from other cells."""
    if partition_by:
        refuse_partitions(partition_by, list(release.columns))
        format = partitioned_format(format)  # noqa: A001
    kind = known_format(format or ("parquet" if release.source.format in {"parquet", "arrow"} else "csv"))
    policy = release.policy
    quote = policy.data.quote or QUOTE
    options = WriteOptions(kind, policy.release.order == "keep", policy.release.spreadsheet_safe, quote)
    if kind == "csv":
        refuse_ambiguous_marker(
            release.columns, style_of(release.source, options), policy.data.missing, release.shown.stream
        )
    return options


@phase("writing")
def write_data(
    release: ReleasedTable, folder: Path, options: WriteOptions, partition_by: Sequence[str] = ()
) -> DataFiles:
    """Write the released table into a folder, rows sorted unless their order is kept."""
    kind, file = options.format, folder / f"data.{options.format}"
    written = release.engine.write(release.shown, file, release.source, options)
    rows = None if written.order is None else release.rows[written.order]
    dealt = None
    if partition_by:
        dealt = partition_file(file, file := folder / "data", partition_by)
        rows = None if rows is None else rows[dealt.order]
    other, second = None, None
    if release.separate is not None:
        other = folder / f"sensitive.{kind}"
        table = ReleasedRows(release.separate)
        told = release.engine.write(table, other, release.source, replace(options, keep_order=False))
        second = SeparateTable(file=other.name, sha256=told.sha256, columns=tuple(release.separate))
    data = Data(
        file=file.name,
        sha256=written.sha256 if dealt is None else dealt.sha256,
        format=kind,
        delimiter=release.source.delimiter,
        quote=options.quote,
        missing=release.source.missing,
        spreadsheet_safe=kind == "csv" and options.spreadsheet_safe,
        columns=tuple(release.columns),
        partitions=None if dealt is None else dealt.kinds,
        separate=second,
    )
    log_event("written", format=kind, files=1 if second is None else 2, rows=release.shown.count)
    return DataFiles(file, data, rows, other)


def list_notes(release: ReleasedTable, data: Data) -> list[str]:
    """Return the notes of the manifest: on the release, its row map, its models and its file."""
    unmapped = BY_POINT if release.plan.recoding.on_disk else NO_ROW_MAP
    notes = [
        *release.notes,
        *([unmapped] if release.shown.rows is None else []),
        *_list_custom_model_notes(release.policy),
    ]
    stream = release.shown.stream
    defused = count_defused(release.columns, release.shown.times) if stream is None else stream.defused()
    if not data.spreadsheet_safe or not defused:
        return notes
    note = (
        f"{defused} cell(s) that a spreadsheet would run as a formula got a leading '; set "
        "spreadsheet-safe = false under [release] to keep them as they are"
    )
    return [*notes, note]


def _list_custom_model_notes(policy: Policy) -> list[str]:
    """Return a note for each model that is not one of Shoal's own."""
    return [
        f"{name} is a model of your own: the saved policy names it, and is read where its class was imported before"
        for name in dict.fromkeys(model.name for model in policy.promises)
        if name not in MODELS
    ]


@phase("storing")
def store_rows(release: ReleasedTable, written: DataFiles, stored: StoredTable) -> None:
    """Store the rows in a database, and compare what it gives back with the verified file."""
    stored.fill(sorted_batches(release.shown))
    data = written.data
    with (
        opened(written.file, data.columns, data.model_dump(), room=release.room) as file,
        stored.read_again() as rows,
    ):
        refuse_other_rows(file, rows, stored.target.name)
    stored.replace(data.sha256 or "")
    log_event("stored", rows=release.shown.count)
