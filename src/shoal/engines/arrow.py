"""The engine for tables that fit in memory."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.codes import Table
from shoal.engine import ReadOptions, Source, WriteOptions, Written
from shoal.engines.reading import read
from shoal.engines.writing import given_order, style_of, text_order, write_csv, write_parquet
from shoal.frequency import FrequencySet
from shoal.recode import Released


class ArrowEngine:
    """Reads with Arrow, counts in the compiled core, writes with Arrow."""

    def read(self, source: Any, options: ReadOptions) -> Source:
        return read(source, options)

    def count(self, table: Table, quasi_identifiers: Sequence[str], sensitive: Sequence[str]) -> FrequencySet:
        def coded(names: Sequence[str]) -> dict[str, Any]:
            return {name: (table[name].codes, table[name].size) for name in names}

        return FrequencySet.count(coded(quasi_identifiers), coded(sensitive), want_classes=True)

    def write(self, columns: Mapping[str, Released], path: Path, source: Source, options: WriteOptions) -> Written:
        rows = len(next(iter(columns.values())).codes)
        order = given_order(rows) if options.keep_order else text_order(columns)
        if options.format == "parquet":
            return Written(write_parquet(columns, order, path), order.rows)
        return Written(write_csv(columns, order, path, style_of(source, options)), order.rows)
