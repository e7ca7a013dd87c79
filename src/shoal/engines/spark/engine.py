"""The engine for tables on a cluster."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.data.codes import Table
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import Counted
from shoal.engine_port import Ability, ReadOptions, ReleasedRows, Source, WriteOptions, Written
from shoal.engines.duckdb.relations import diagnose_files, locate_table
from shoal.engines.reading.assemble import FRAME, null_marker
from shoal.engines.row_stream import Stream
from shoal.engines.spark.boxes import box, box_frame
from shoal.engines.spark.groups import MOST, SparkColumns, group_rows
from shoal.engines.spark.relations import read_location, take_frame
from shoal.engines.spark.session import explain_spark_error, open_session
from shoal.engines.spark.streams import node_frame, stream
from shoal.engines.table_writer import style_of, write_shown
from shoal.errors import BadData
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.partition.axes import Axis
from shoal.partition.mondrian import Watch
from shoal.partition.out_of_core import StoredBoxes
from shoal.recoding.kinds import NodeRecoding, Recoding, fail_for_kind, recode_items
from shoal.runtime.events import phase

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkEngine:
    """Reads Spark frames, and CSV and Parquet files that every executor sees; groups and recodes on the executors.

    `session` is a SparkSession that is there already; else one is made at `master`, `local[*]` unless given.
    Released rows that are too many for the driver are sorted by the executors into a private folder in `spill`.
    """

    name: ClassVar[str] = "spark"
    abilities: ClassVar[frozenset[Ability]] = frozenset({Ability.BOXES})

    def __init__(
        self, session: "SparkSession | None" = None, master: str | None = None, spill: Path | None = None
    ) -> None:
        self.session, self.master, self.spill = session, master, spill

    @phase("reading")
    def read(self, source: Any, options: ReadOptions) -> Source:
        if is_spark_frame(source):
            return self._read_frame(source, options)
        place = locate_table(source, self.name)
        cells = read_location(self.session or open_session(self.master), place, options)
        try:
            with explain_spark_error(place.name):
                rows = cells.frame.count()
        except BadData:
            diagnose_files(cells.headers)
            raise
        table = Table(
            SparkColumns(cells, place.name, options, self.spill), _refuse_no_rows(rows, place.name), cells.relation
        )
        if cells.header is None:
            return Source(table, format=place.format, name=place.name, missing=null_marker(options))
        return Source(
            table,
            format="csv",
            name=place.name,
            delimiter=cells.header.dialect.delimiter,
            encoding=cells.header.encoding,
            missing=null_marker(options),
            guessed=cells.header.guessed,
        )

    def _read_frame(self, frame: Any, options: ReadOptions) -> Source:
        with explain_spark_error(FRAME):
            rows = _refuse_no_rows(frame.count(), FRAME)
        cells = take_frame(frame)
        table = Table(SparkColumns(cells, FRAME, options, self.spill), rows, cells.relation)
        return Source(table, format="frame", name=FRAME, missing=null_marker(options), native=frame)

    def count(self, table: Table, quasi_identifiers: Sequence[str], counted: Sequence[Counted]) -> FrequencySet:
        columns = _columns_of(table)
        further = [name for one in counted for name in ((one,) if isinstance(one, str) else one)]
        names = list(dict.fromkeys([*quasi_identifiers, *further]))
        sizes = {name: table[name].size for name in names}
        rows = group_rows(columns, names, {}, list(sizes.values()), table.rows)
        if rows is None:
            raise BadData(
                f"{columns.name}: there are more different rows than the {MOST:,} that the driver takes; round "
                "quasi-identifiers or sensitive values first, or give them another role"
            )
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
            stored=lambda boxes: stream(box_frame(_columns_of(source.table), boxes, columns)),
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
        others = [name for name in columns if name not in quasi_identifiers]
        steps = {name: hierarchies[name].levels[level] for name, level in recoding.levels.items()}
        sizes = [len(hierarchies[name].labels[level]) for name, level in recoding.levels.items()]
        sizes += [table[name].size for name in others]
        items = group_rows(_columns_of(table), [*recoding.levels, *others], steps, sizes, table.rows)
        frame = node_frame(_columns_of(table), recoding, hierarchies, columns, show=show)
        if items is None:
            return stream(frame)
        made, times = recode_items(table, items, recoding, hierarchies, columns, show=show)
        return ReleasedRows(made, times=times, frame=frame)

    def box(
        self,
        table: Table,
        quasi_identifiers: Sequence[str],
        others: Sequence[str],
        axes: Sequence[Axis],
        k: int,
        watch: Watch,
    ) -> StoredBoxes:
        return box(_columns_of(table), table.rows, quasi_identifiers, others, axes, k, watch)

    def write(self, shown: ReleasedRows, path: Path, source: Source, options: WriteOptions) -> Written:
        if not isinstance(shown.stream, Stream):
            return write_shown(shown, path, source, options)
        if options.format == "parquet":
            return Written(shown.stream.write_parquet(path), None)
        return Written(shown.stream.write_csv(path, style_of(source, options)), None)


def is_spark_frame(source: Any) -> bool:
    """Return whether this is a Spark frame, without importing Spark."""
    return type(source).__module__.startswith("pyspark.sql.") and hasattr(source, "mapInArrow")


def _refuse_no_rows(rows: int, name: str) -> int:
    """Return the number of rows; refuse a table without any."""
    if not rows:
        raise BadData(f"{name}: there are no records")
    return rows


def _columns_of(table: Table) -> SparkColumns:
    """Return the columns of a table that this engine has read."""
    assert isinstance(table.columns, SparkColumns), "the table was read by another engine"
    return table.columns
