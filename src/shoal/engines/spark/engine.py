"""The engine for tables on a cluster."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.data.codes import Table
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import Counted
from shoal.engine_port import Ability, ReadOptions, ReleasedRows, Source, WriteOptions, Written
from shoal.engines.duckdb.relations import explain, place_of
from shoal.engines.reading.assemble import FRAME, marker
from shoal.engines.row_stream import Stream
from shoal.engines.spark.boxes import box, box_frame
from shoal.engines.spark.groups import MOST, SparkColumns, group
from shoal.engines.spark.relations import of_frame, of_place
from shoal.engines.spark.session import open_session, told
from shoal.engines.spark.streams import node_frame, stream
from shoal.engines.table_writer import style_of, write_shown
from shoal.errors import BadData
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.partition.axes import Axis
from shoal.partition.mondrian import Watch
from shoal.partition.out_of_core import Boxed
from shoal.recoding.kinds import NodeRecoding, Recoding, never, recode_items
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
        place = place_of(source, self.name)
        cells = of_place(self.session or open_session(self.master), place, options)
        try:
            with told(place.name):
                rows = cells.frame.count()
        except BadData:
            explain(cells.headers)
            raise
        table = Table(SparkColumns(cells, place.name, options, self.spill), _some(rows, place.name), cells.relation)
        if cells.header is None:
            return Source(table, format=place.format, name=place.name, missing=marker(options))
        return Source(
            table,
            format="csv",
            name=place.name,
            delimiter=cells.header.dialect.delimiter,
            encoding=cells.header.encoding,
            missing=marker(options),
            guessed=cells.header.guessed,
        )

    def _read_frame(self, frame: Any, options: ReadOptions) -> Source:
        with told(FRAME):
            rows = _some(frame.count(), FRAME)
        cells = of_frame(frame)
        table = Table(SparkColumns(cells, FRAME, options, self.spill), rows, cells.relation)
        return Source(table, format="frame", name=FRAME, missing=marker(options), native=frame)

    def count(self, table: Table, quasi_identifiers: Sequence[str], counted: Sequence[Counted]) -> FrequencySet:
        columns = _collected(table)
        further = [name for one in counted for name in ((one,) if isinstance(one, str) else one)]
        names = list(dict.fromkeys([*quasi_identifiers, *further]))
        sizes = {name: table[name].size for name in names}
        rows = group(columns, names, {}, list(sizes.values()), table.rows)
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
            stored=lambda boxes: stream(box_frame(_collected(source.table), boxes, columns)),
            parts=never,
            groups=never,
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
        items = group(_collected(table), [*recoding.levels, *others], steps, sizes, table.rows)
        frame = node_frame(_collected(table), recoding, hierarchies, columns, show=show)
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
    ) -> Boxed:
        return box(_collected(table), table.rows, quasi_identifiers, others, axes, k, watch)

    def write(self, shown: ReleasedRows, path: Path, source: Source, options: WriteOptions) -> Written:
        if not isinstance(shown.stream, Stream):
            return write_shown(shown, path, source, options)
        if options.format == "parquet":
            return Written(shown.stream.write_parquet(path), None)
        return Written(shown.stream.write_csv(path, style_of(source, options)), None)


def is_spark_frame(source: Any) -> bool:
    """Whether this is a frame of Spark, told without loading Spark."""
    return type(source).__module__.startswith("pyspark.sql.") and hasattr(source, "mapInArrow")


def _some(rows: int, name: str) -> int:
    if not rows:
        raise BadData(f"{name}: there are no records")
    return rows


def _collected(table: Table) -> SparkColumns:
    assert isinstance(table.columns, SparkColumns), "the table was read by another engine"
    return table.columns
