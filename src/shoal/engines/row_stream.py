"""Released rows that do not fit in memory: in their order in a private file, written piece by piece."""

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
    coded,
    count_defused,
    header_of,
    joined_lines,
    write_bytes,
    write_row_groups,
)
from shoal.recoding.columns import Released


@dataclass(frozen=True)
class Stream:
    """An Arrow file of sorted rows: numbers of labels, or texts as they are where those are too many."""

    path: Path
    total: int
    columns: Mapping[str, Released]
    """Labels of each column in the order of their numbers, with those in use as codes; nothing for texts."""
    tally: Mapping[str, Longs]
    """Number of rows with each label, by column."""
    texts: tuple[str, ...]
    """Columns that are kept as texts, not as numbers of labels."""
    telling: int
    """How many of those texts a spreadsheet would run as a formula."""

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(name, column.values.type) for name, column in self.columns.items()])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Rows as they lie in the file."""
        with pa.OSFile(str(self.path)) as file:
            reader = pa.ipc.open_stream(file)
            yield from reader

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Rows as they are released."""
        for batch in self.batches():
            arrays = [
                batch.column(name) if name in self.texts else column.values.take(batch.column(name))
                for name, column in self.columns.items()
            ]
            yield pa.record_batch(arrays, schema=self.schema)

    def holds(self, name: str, texts: Sequence[str]) -> bool:
        """Whether one of these texts is in a column."""
        if name not in self.texts:
            used = self.columns[name].texts.take(pa.array(self.columns[name].codes))
            return bool(pc.any(pc.is_in(used, value_set=pa.array(texts, pa.string()))).as_py())
        wanted = pa.array(texts, pa.string())
        return any(pc.any(pc.is_in(batch.column(name), value_set=wanted)).as_py() for batch in self.batches())

    def defused(self) -> int:
        """How many cells a spreadsheet would run as a formula."""
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
                yield joined_lines(
                    [
                        _written(batch.column(name), style)
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
        every = np.arange(rows.num_rows)
        once = np.ones(rows.num_rows, dtype=np.int64)
        out = {}
        for name, column in self.columns.items():
            given = rows[name].combine_chunks()
            if name in self.texts:
                out[name] = given.dictionary_encode()
            else:
                out |= coded({name: Released(given.to_numpy(), column.values, column.texts)}, every, once)
        return out


def telling(texts: pa.Array) -> pa.Array:
    """Flag the texts that a spreadsheet would run as a formula, or part of them."""
    return pc.not_equal(defused_texts(texts), texts)


def defused_texts(texts: pa.Array) -> pa.Array:
    """Return all texts as `defused` returns one."""
    formula = pc.match_substring_regex(texts, rf"\A(?:{FORMULA.pattern})")
    formula = pc.and_not(formula, pc.match_substring_regex(texts, rf"\A(?:{NUMBER.pattern})\z"))
    inside = pc.replace_substring_regex(texts, INNER.pattern, r"\1'\2")
    for _ in range(2):  # a number may begin with the delimiter that ends another
        inside = pc.replace_substring_regex(inside, INNER_NUMBER.pattern.replace(r"\Z", r"\z"), r"\1\2\3")
    return pc.if_else(formula, pc.binary_join_element_wise(pa.scalar("'"), inside, pa.scalar("")), inside)


def _written(texts: pa.Array, style: Style) -> pa.Array:
    """Texts as cells of a CSV: defused, quoted where that is needed, null as the style writes it."""
    empty = pa.scalar("")
    if style.spreadsheet_safe:
        texts = defused_texts(texts)
    special = pc.match_substring(texts, style.delimiter)
    for one in (style.quote, "\n", "\r"):
        special = pc.or_(special, pc.match_substring(texts, one))
    doubled = pc.replace_substring(texts, style.quote, style.quote * 2)
    inside = pc.binary_join_element_wise(pa.scalar(style.quote), doubled, pa.scalar(style.quote), empty)
    return pc.fill_null(pc.if_else(special, inside, texts), style.missing)
