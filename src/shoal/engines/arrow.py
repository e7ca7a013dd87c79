"""The engine for tables that fit in memory."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.codes import Codes, Table
from shoal.engine import ReadOptions, Source, WriteOptions, Written
from shoal.engines.reading import read
from shoal.engines.writing import given_order, style_of, text_order, write_csv, write_parquet
from shoal.frequency import Counted, FrequencySet, joined
from shoal.recode import Released


class ArrowEngine:
    """Reads with Arrow, counts in the compiled core, writes with Arrow."""

    def read(self, source: Any, options: ReadOptions) -> Source:
        return read(source, options)

    def count(self, table: Table, quasi_identifiers: Sequence[str], counted: Sequence[Counted]) -> FrequencySet:
        def coded(name: str) -> tuple[Codes, int]:
            return table[name].codes, table[name].size

        beside = {n: coded(n) if isinstance(n, str) else joined([coded(part) for part in n]) for n in counted}
        return FrequencySet.count({name: coded(name) for name in quasi_identifiers}, beside, want_classes=True)

    def write(self, columns: Mapping[str, Released], path: Path, source: Source, options: WriteOptions) -> Written:
        rows = len(next(iter(columns.values())).codes)
        order = given_order(rows) if options.keep_order else text_order(columns)
        if options.format == "parquet":
            return Written(write_parquet(columns, order, path), order.rows)
        return Written(write_csv(columns, order, path, style_of(source, options)), order.rows)
