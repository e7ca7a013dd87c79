"""The engine for tables that fit in memory."""

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from shoal.data.codes import Codes, Table
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import Counted, join_columns
from shoal.engine_port import Ability, ReadOptions, ReleasedRows, Source, WriteOptions, Written
from shoal.engines.postgres.connection import parse_postgres_table
from shoal.engines.postgres.tables import read_postgres
from shoal.engines.reading import read
from shoal.engines.reading.content import names_database
from shoal.engines.table_writer import write_shown
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.recoding.kinds import Recoding, recode
from shoal.runtime.events import phase


class ArrowEngine:
    """Reads with Arrow, counts in the compiled core, writes with Arrow."""

    name: ClassVar[str] = "arrow"
    abilities: ClassVar[frozenset[Ability]] = frozenset(Ability)

    @phase("reading")
    def read(self, source: Any, options: ReadOptions) -> Source:
        table = parse_postgres_table(source)
        if table is not None:
            return read_postgres(table, options)
        if not isinstance(source, str | os.PathLike) or not names_database(source):
            return read(source, options)
        from shoal.engines.duckdb.relations import database_of, read_database

        database = database_of(os.fsdecode(source))
        return read(source, options) if database is None else read_database(database, options)

    def count(self, table: Table, quasi_identifiers: Sequence[str], counted: Sequence[Counted]) -> FrequencySet:
        def coded(name: str) -> tuple[Codes, int]:
            return table[name].codes, table[name].size

        beside = {n: coded(n) if isinstance(n, str) else join_columns([coded(part) for part in n]) for n in counted}
        return FrequencySet.count({name: coded(name) for name in quasi_identifiers}, beside, want_classes=True)

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
        return ReleasedRows(*recode(source.table, recoding, hierarchies, list(columns), quasi_identifiers, show=show))

    def write(self, shown: ReleasedRows, path: Path, source: Source, options: WriteOptions) -> Written:
        return write_shown(shown, path, source, options)
