"""Released rows that do not fit in memory: sorted in a private file, and written piece by piece."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.data.class_counts import Longs
from shoal.engines.table_writer import (
    FORMULA,
    INNER,
    INNER_NUMBER,
    NUMBER,
    ROW_GROUP,
    Style,
    cells_of,
    count_defused,
    encode_row_group,
    header_of,
    join_lines,
    write_bytes,
    write_row_groups,
)
from shoal.recoding.columns import ReleasedColumn


@dataclass(frozen=True)
class Stream:
    """An Arrow file of sorted rows: columns are numbers of labels, or plain texts where there are too many labels."""

    path: Path
    total: int
    columns: Mapping[str, ReleasedColumn]
    """Labels of each column in the order of their numbers, the codes being those in use; empty for columns of texts."""
    tally: Mapping[str, Longs]
    """Number of rows with each label, by column."""
    texts: tuple[str, ...]
    """Columns that are kept as texts, not as numbers of labels."""
    telling: int
    """Number of those texts that a spreadsheet would run as a formula."""

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(name, column.values.type) for name, column in self.columns.items()])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as they are stored in the file."""
        with pa.OSFile(str(self.path)) as file:
            reader = pa.ipc.open_stream(file)
            yield from reader

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as they are released."""
        for batch in self.batches():
            arrays = [
                batch.column(name) if name in self.texts else column.values.take(batch.column(name))
                for name, column in self.columns.items()
            ]
            yield pa.record_batch(arrays, schema=self.schema)

    def holds(self, name: str, texts: Sequence[str]) -> bool:
        """Return whether a column contains one of these texts."""
        if name not in self.texts:
            used = self.columns[name].texts.take(pa.array(self.columns[name].codes))
            return bool(pc.any(pc.is_in(used, value_set=pa.array(texts, pa.string()))).as_py())
        wanted = pa.array(texts, pa.string())
        return any(pc.any(pc.is_in(batch.column(name), value_set=wanted)).as_py() for batch in self.batches())

    def defused(self) -> int:
        """Return the number of cells that a spreadsheet would run as a formula."""
        known = {name: self.columns[name] for name in self.tally}
        return self.telling + sum(
            count_defused({name: replace(each, codes=np.arange(len(each.texts), dtype=np.int32))}, self.tally[name])
            for name, each in known.items()
        )

    def write_csv(self, path: Path, style: Style) -> str:
        """Write a CSV and return its SHA-256."""
        lone = style.quote * 2 if len(self.columns) == 1 else ""  # a lone empty cell would be a blank line
        cells = {
            name: pa.array([cell or lone for cell in cells_of(column, style)], pa.string())
            for name, column in self.columns.items()
            if name not in self.texts
        }

        def lines() -> Iterator[pa.Buffer | bytes]:
            yield header_of(self.columns, style)
            for batch in self.batches():
                yield join_lines(
                    [
                        _format_cells(batch.column(name), style)
                        if name in self.texts
                        else cells[name].take(batch.column(name))
                        for name in self.columns
                    ],
                    style.delimiter,
                )

        return write_bytes(path, lines())

    def write_parquet(self, path: Path) -> str:
        """Write a Parquet file and return its SHA-256."""
        return write_row_groups(path, self.schema, self._groups())

    def _groups(self) -> Iterator[dict[str, pa.Array]]:
        """Yield the columns of row groups of exactly `ROW_GROUP` rows, but for the last."""
        waiting: list[pa.RecordBatch] = []
        held = 0
        for batch in self.batches():
            waiting.append(batch)
            held += batch.num_rows
            while held >= ROW_GROUP:
                table = pa.Table.from_batches(waiting)
                yield self._group(table.slice(0, ROW_GROUP))
                rest = table.slice(ROW_GROUP)
                waiting, held = rest.to_batches(), rest.num_rows
        if held:
            yield self._group(pa.Table.from_batches(waiting))

    def _group(self, rows: pa.Table) -> dict[str, pa.Array]:
        """Return the columns of one row group, texts as dictionaries."""
        every = np.arange(rows.num_rows)
        once = np.ones(rows.num_rows, dtype=np.int64)
        out = {}
        for name, column in self.columns.items():
            given = rows[name].combine_chunks()
            if name in self.texts:
                out[name] = given.dictionary_encode()
            else:
                out |= encode_row_group(
                    {name: ReleasedColumn(given.to_numpy(), column.values, column.texts)}, every, once
                )
        return out


def flag_formulas(texts: pa.Array) -> pa.Array:
    """Return for each text whether a spreadsheet would run it, or a part of it, as a formula."""
    return pc.not_equal(defuse_texts(texts), texts)


def defuse_texts(texts: pa.Array) -> pa.Array:
    """Defuse all texts of an array, as `defused` does for one."""
    formula = pc.match_substring_regex(texts, rf"\A(?:{FORMULA.pattern})")
    formula = pc.and_not(formula, pc.match_substring_regex(texts, rf"\A(?:{NUMBER.pattern})\z"))
    inside = pc.replace_substring_regex(texts, INNER.pattern, r"\1'\2")
    for _ in range(2):  # a number may begin with the delimiter that ends another
        inside = pc.replace_substring_regex(inside, INNER_NUMBER.pattern.replace(r"\Z", r"\z"), r"\1\2\3")
    return pc.if_else(formula, pc.binary_join_element_wise(pa.scalar("'"), inside, pa.scalar("")), inside)


def _format_cells(texts: pa.Array, style: Style) -> pa.Array:
    """Return texts as cells of a CSV: defused if the style says so, quoted if needed, null as its marker."""
    empty = pa.scalar("")
    if style.spreadsheet_safe:
        texts = defuse_texts(texts)
    # [text] whether it has to be quoted
    special = pc.match_substring(texts, style.delimiter)
    for one in (style.quote, "\n", "\r"):
        special = pc.or_(special, pc.match_substring(texts, one))
    doubled = pc.replace_substring(texts, style.quote, style.quote * 2)
    inside = pc.binary_join_element_wise(pa.scalar(style.quote), doubled, pa.scalar(style.quote), empty)
    return pc.fill_null(pc.if_else(special, inside, texts), style.missing)
