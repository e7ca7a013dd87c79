"""The engine for tables that stay on disk or in a database."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from shoal.data.codes import Codes, Table, UncollectedColumn
from shoal.data.frequency_set import FrequencySet
from shoal.data.on_disk import Spilled
from shoal.data.packed_keys import Counted, Layout
from shoal.engine_port import Ability, ReadOptions, ReleasedRows, Source, WriteOptions, Written
from shoal.engines.duckdb.boxes import box, stream_boxes
from shoal.engines.duckdb.groups import SOURCE, DuckColumns, describe_too_many_values, group_rows, listable
from shoal.engines.duckdb.relations import (
    FoundRelation,
    TableLocation,
    copy_as_parquet,
    diagnose_files,
    find_relation,
    locate_table,
    refuse_surplus_fields,
)
from shoal.engines.duckdb.session import Session, describe_damage
from shoal.engines.duckdb.streams import stream
from shoal.engines.postgres.connection import parse_postgres_table
from shoal.engines.postgres.tables import spill_postgres
from shoal.engines.reading.assemble import null_marker, warn_of_row_names
from shoal.engines.row_stream import Stream
from shoal.engines.table_writer import style_of, write_shown
from shoal.errors import BadData
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.partition.axes import Axis
from shoal.partition.mondrian import Watch
from shoal.partition.out_of_core import StoredBoxes
from shoal.recoding.kinds import NodeRecoding, Recoding, fail_for_kind, recode_items
from shoal.runtime.events import phase
from shoal.runtime.memory import bytes_of, explain_memory_error


class DuckDBEngine:
    """Reads CSV and Parquet files, folders and patterns of them, and DuckDB databases; groups them in SQL.

    `memory` is what may be used, e.g. "2GB"; what does not fit is spilled into a private folder in `spill`.
    """

    name: ClassVar[str] = "duckdb"
    abilities: ClassVar[frozenset[Ability]] = frozenset({Ability.BOXES})

    def __init__(self, memory: str | int | None = None, spill: Path | None = None) -> None:
        self.memory = None if memory is None else bytes_of(memory)
        self.spill = spill

    @phase("reading")
    def read(self, source: Any, options: ReadOptions) -> Source:
        session = Session(self.memory, self.spill)
        stored = parse_postgres_table(source)
        if stored is not None:  # copied once, as it is read several times
            file = spill_postgres(stored, session.scratch.path)
            place = TableLocation(stored.name, "parquet", (file,))
        else:
            place = locate_table(source)
        found, rows = _open_rows(session, place.name, options, find_relation(place, options, session, copies=True))
        header = found.header
        if not rows:
            raise BadData(f"{place.name}: there are no records")
        columns = DuckColumns(
            session,
            place.name,
            found.relation.columns,
            found.types,
            options,
            None if header is None else header.dialect,
        )
        table = Table(columns, rows, found.relation)
        room = listable(session, 1)
        if header is None:
            kept = "database" if stored is not None else place.format
            return Source(table, format=kept, name=place.name, missing=null_marker(options), room=room)
        return Source(
            table,
            format="csv",
            name=place.name,
            delimiter=header.dialect.delimiter,
            encoding=header.encoding,
            missing=null_marker(options),
            guessed=header.guessed,
            room=room,
        )

    def count(self, table: Table, quasi_identifiers: Sequence[str], counted: Sequence[Counted]) -> FrequencySet:
        columns = _columns_of(table)
        further = [name for one in counted for name in ((one,) if isinstance(one, str) else one)]
        names = list(dict.fromkeys([*quasi_identifiers, *further]))
        for name in names:
            if isinstance(columns[name], UncollectedColumn):
                raise BadData(describe_too_many_values(columns.name, name))
        rows = columns.grouped[tuple(names)] = group_rows(columns, names)
        sizes = {name: table[name].size for name in names}
        if isinstance(rows, Spilled):
            layout = Layout.of([sizes[name] for name in quasi_identifiers])
            return replace(rows, attributes=tuple(quasi_identifiers), layout=layout, counted=tuple(counted))
        return rows.classed(quasi_identifiers, counted, sizes) if counted else rows

    def recode(
        self,
        source: Source,
        recoding: Recoding,
        hierarchies: Mapping[str, Hierarchy],
        columns: Sequence[str],
        quasi_identifiers: Collection[str],
        *,
        show: bool,
    ) -> ReleasedRows:
        return recoding.by_kind(
            node=lambda node: self._recode_node(source.table, node, hierarchies, columns, quasi_identifiers, show=show),
            stored=lambda boxes: stream_boxes(_columns_of(source.table), boxes, columns, quasi_identifiers),
            parts=fail_for_kind,
            groups=fail_for_kind,
        )

    def _recode_node(
        self,
        table: Table,
        recoding: NodeRecoding,
        hierarchies: Mapping[str, Hierarchy],
        columns: Sequence[str],
        quasi_identifiers: Collection[str],
        *,
        show: bool,
    ) -> ReleasedRows:
        steps = {}
        for name, level in recoding.levels.items():
            steps[name] = hierarchies[name].levels[level]
        names = [*recoding.levels, *(name for name in columns if name not in quasi_identifiers)]
        items = None
        if not any(isinstance(table[name], UncollectedColumn) for name in columns):
            items = _distinct_rows(_columns_of(table), names, steps, None if show else recoding.kept)
        if items is None:
            return stream(_columns_of(table), recoding, hierarchies, columns, show=show)
        made, times = recode_items(table, items, recoding, hierarchies, columns, show=show)
        return ReleasedRows(made, times=times)

    def box(
        self,
        table: Table,
        quasi_identifiers: Sequence[str],
        others: Sequence[str],
        axes: Sequence[Axis],
        k: int,
        watch: Watch,
    ) -> StoredBoxes:
        return box(_columns_of(table), quasi_identifiers, others, axes, k, watch)

    def write(self, shown: ReleasedRows, path: Path, source: Source, options: WriteOptions) -> Written:
        if not isinstance(shown.stream, Stream):
            return write_shown(shown, path, source, options)
        if options.format == "parquet":
            return Written(shown.stream.write_parquet(path), None)
        return Written(shown.stream.write_csv(path, style_of(source, options)), None)


def _open_rows(session: Session, name: str, options: ReadOptions, found: FoundRelation) -> tuple[FoundRelation, int]:
    """Open a relation as the rows of the session, and count them; a CSV that DuckDB cannot read is copied by Arrow."""
    import duckdb

    db, header = session.db, found.header
    # a CSV is parsed once into a table, everything else is read where it is
    kind = "TEMP VIEW" if found.delimiters is None else "TEMP TABLE"
    try:
        with explain_memory_error():
            db.execute(f"SET preserve_insertion_order = {header is not None}")  # errors name the row of a CSV
            db.execute(f"CREATE {kind} {SOURCE} AS {found.relation.sql}").fetchall()
            db.execute("SET preserve_insertion_order = false")
            rows = session.number(f"SELECT count(*) FROM {SOURCE}")
            refuse_surplus_fields(name, found, rows, session)
            if header is not None and header.row_names:
                apart = session.number(f"SELECT count(DISTINCT c0) FROM {SOURCE} WHERE c0 <> ''")
                warn_of_row_names(name, options, unique=apart == rows)
    except duckdb.Error:  # its message may contain cells
        diagnose_files(found.headers)
        if found.delimiters is None:
            raise BadData(describe_damage(name)) from None
        return _open_rows(session, name, options, copy_as_parquet(found.headers, session))
    return found, rows


def _distinct_rows(
    columns: DuckColumns, names: Sequence[str], steps: Mapping[str, Codes], only: FrequencySet | None
) -> FrequencySet | None:
    """Return the distinct rows as they will be released; None if they are too many.

    Rows that were grouped before are reused if they have all columns; of spilled rows, only those of the classes `only`
    are taken.
    """
    rows = next((rows for known, rows in columns.grouped.items() if set(names) <= set(known)), None)
    lifted = {} if rows is None else steps
    rows = group_rows(columns, names, steps) if rows is None else rows
    return rows.rollup_rows(lifted, only) if isinstance(rows, Spilled) else rows.rollup(lifted) if lifted else rows


def _columns_of(table: Table) -> DuckColumns:
    """Return the columns of a table that this engine has read."""
    assert isinstance(table.columns, DuckColumns), "the table was read by another engine"
    return table.columns
