"""Write a release: sorted, with the same bytes on every machine and engine, hashed while it is written."""

import hashlib
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engine_port import ReleasedRows, RowStream, Source, WriteOptions, Written
from shoal.errors import BadInput
from shoal.recoding.columns import ReleasedColumn
from shoal.runtime.events import report_progress

CHUNK = 1 << 17
"""Rows that are joined, or encoded, at a time."""
ROW_GROUP = 1 << 20
"""Rows in a row group of a Parquet file: fixed, so that the bytes are the same however the rows come."""
FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
"""A text that begins like this gets a ' in front, even if it has one: otherwise two texts would become the same."""
INNER = re.compile(r"([;,|\t\r\n])('*[=+\-@＝＋－＠])")
"""Where a reader that assumes another delimiter would find a formula inside a cell."""
INNER_NUMBER = re.compile(r"([;,|\t\r\n])'([+-][0-9]+(?:\.[0-9]+)?)([;,|\t\r\n]|\Z)")
"""What such a reader would take for a number, which needs no '."""
NUMBER = re.compile(r"[-+]?[0-9]+([.,][0-9]+)?([eE][-+]?[0-9]+)?")
_WORD_BITS = 63
_ALIKE = "a label is written like a missing value; put another text first in [data] missing"
_ALIKE_UNSAID = (
    "a text that is empty and a value that is missing are written alike, because [data] missing lists nothing; "
    "list a text that no cell holds, e.g. missing = ['NA'], or write Parquet"
)
QUOTE = '"'
"""Quote of a release whose input had none, since its labels may contain the delimiter."""


@dataclass(frozen=True)
class Style:
    """How a CSV is written."""

    delimiter: str = ","
    quote: str = QUOTE
    missing: str = ""
    spreadsheet_safe: bool = True


def style_of(source: Source, options: WriteOptions) -> Style:
    """Return the style of a release: that of the input, except for quotes."""
    return Style(source.delimiter, options.quote, source.missing, options.spreadsheet_safe)


@dataclass(frozen=True)
class Order:
    """The order in which rows are written; adjacent rows that are known to be equal are formatted once and repeated."""

    rows: NDArray[np.int64]
    """Positions of the rows in sorted order."""
    firsts: NDArray[np.int64]
    """Where in `rows` each distinct row begins."""
    times: NDArray[np.int64]
    """How often each distinct row is written."""

    @property
    def distinct(self) -> NDArray[np.int64]:
        """The position of one row for each distinct row."""
        return self.rows[self.firsts]

    def blocks(self, size: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield `size` rows at a time: positions of distinct rows, and how often each is repeated."""
        # [distinct row] offset in the output where its repetitions end; a block may begin or end among them
        ends = np.cumsum(self.times)
        total = int(ends[-1]) if len(ends) else 0
        for start in range(0, total, size):
            report_progress(start / total)
            stop = min(start + size, total)
            first, last = np.searchsorted(ends, start, side="right"), np.searchsorted(ends, stop, side="left")
            # [distinct row of the block] where its repetitions end within the block
            upto = np.minimum(ends[first : last + 1], stop)
            yield self.distinct[first : last + 1], np.diff(upto, prepend=start)


def text_order(columns: Mapping[str, ReleasedColumn], times: NDArray[np.int64] | None = None) -> Order:
    """Return the order by all released columns, cells compared as text, null last (design 10).

    >>> cells = ReleasedColumn.of(np.array([0, 1, 0], np.int32), ["b", "a"])
    >>> order = text_order({"s": cells})
    >>> order.rows.tolist(), order.firsts.tolist()
    ([1, 0, 2], [0, 1])
    """
    # [word][row] ranks of several columns packed side by side, since fewer words are sorted faster
    words: list[NDArray[np.int64]] = []
    room = 0
    for column in columns.values():
        ranks = _ranks(column.texts)
        bits = max(int(ranks.max(initial=0)).bit_length(), 1)
        rank = ranks[column.codes]
        if bits > room:
            words.append(rank)
            room = _WORD_BITS - bits
        else:
            words[-1] = (words[-1] << bits) | rank
            room -= bits
    rows = np.argsort(words[0], kind="stable") if len(words) == 1 else np.lexsort(words[::-1])
    # [index in sorted order] whether the row differs from the one before it
    new = np.zeros(len(rows), dtype=bool)
    new[:1] = True
    for word in words:
        ordered = word[rows]
        new[1:] |= ordered[1:] != ordered[:-1]
    firsts = np.flatnonzero(new)
    if times is None:
        return Order(rows, firsts, np.diff(firsts, append=len(rows)))
    return Order(rows, firsts, np.add.reduceat(times[rows], firsts) if len(rows) else times)


def given_order(rows: int) -> Order:
    """Return the order that leaves rows as they are."""
    return Order(np.arange(rows), np.arange(rows), np.ones(rows, dtype=np.int64))


def write_shown(shown: ReleasedRows, path: Path, source: Source, options: WriteOptions) -> Written:
    """Write released rows, sorted unless their order is kept; every engine uses it if distinct rows fit in memory."""
    order = given_order(shown.count) if options.keep_order else text_order(shown.columns, shown.times)
    if options.format == "parquet":
        sha256 = write_parquet(shown.columns, order, path)
    else:
        sha256 = write_csv(shown.columns, order, path, style_of(source, options))
    return Written(sha256, order.rows if shown.times is None else None)


def _ranks(texts: pa.StringArray) -> NDArray[np.int64]:
    """Return the rank of each text in sorted order, null last."""
    ranks = np.empty(len(texts), dtype=np.int64)
    ranks[pc.sort_indices(texts).to_numpy()] = np.arange(len(texts))
    return ranks


def to_table(columns: Mapping[str, ReleasedColumn], order: NDArray[np.int64] | None = None) -> pa.Table:
    """Return the release as an Arrow table."""
    codes = {name: c.codes if order is None else c.codes[order] for name, c in columns.items()}
    return pa.table({name: c.values.take(pa.array(codes[name])) for name, c in columns.items()})


def write_csv(columns: Mapping[str, ReleasedColumn], order: Order, path: Path, style: Style) -> str:
    """Write a CSV and return its SHA-256."""
    cells = {name: cells_of(column, style) for name, column in columns.items()}
    if len(columns) == 1:  # an empty cell alone in its line would look like a blank line
        cells = {name: [text or style.quote * 2 for text in texts] for name, texts in cells.items()}
    *before, last = cells
    arrays = [pa.array(cells[name], pa.string()) for name in before]
    arrays.append(pa.array([text + "\n" for text in cells[last]], pa.string()))
    header = header_of(columns, style)
    codes = [column.codes for column in columns.values()]
    return write_bytes(path, _lines(header, arrays, codes, order, style.delimiter))


def write_parquet(columns: Mapping[str, ReleasedColumn], order: Order, path: Path) -> str:
    """Write a Parquet file and return its SHA-256."""
    schema = pa.schema([(name, column.values.type) for name, column in columns.items()])
    return write_row_groups(path, schema, (encode_row_group(columns, *block) for block in order.blocks(ROW_GROUP)))


def write_row_groups(path: Path, schema: pa.Schema, groups: Iterator[dict[str, pa.Array]]) -> str:
    """Write row groups to a Parquet file and return its SHA-256; texts are stored as dictionaries but read as texts."""
    import pyarrow.parquet as pq

    said = {"ARROW:schema": b64encode(schema.serialize().to_pybytes())}
    made = pa.schema([(field.name, _storage_type(field.type)) for field in schema])
    with path.open("xb") as file:
        hashed = _HashingFile(file)
        # rows are sorted, so minimum and maximum help a reader to skip row groups for the first column only
        how = {"store_schema": False, "write_batch_size": CHUNK, "write_statistics": schema.names[:1]}
        with pq.ParquetWriter(pa.PythonFile(hashed, "w"), made, **how) as writer:
            for group in groups:
                writer.write_table(pa.table(group, made), row_group_size=ROW_GROUP)
            writer.add_key_value_metadata(said)
        file.flush()
        os.fsync(file.fileno())
    return hashed.digest.hexdigest()


def _storage_type(of: pa.DataType) -> pa.DataType:
    return pa.dictionary(pa.int32(), of) if pa.types.is_string(of) else of


def encode_row_group(
    columns: Mapping[str, ReleasedColumn], rows: NDArray[np.int64], repeat: NDArray[np.int64]
) -> dict[str, pa.Array]:
    """Return the columns of a row group; texts as dictionaries of the values in use, in order of appearance."""
    out = {}
    for name, column in columns.items():
        codes = column.codes[rows]
        if not _is_text(column):
            out[name] = column.values.take(pa.array(np.repeat(codes, repeat)))
            continue
        # first [value] the first row of the group that holds it; used: the values in use, in order of appearance
        first = np.full(len(column.values), len(codes), dtype=np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        used = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(codes))]
        values = column.values.take(pa.array(used))
        # [value] its index in the dictionary
        place = np.zeros(len(first), dtype=np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        null = None
        if values.null_count:  # null is not stored in the dictionary but marked in the mask
            known = values.is_valid().to_numpy(zero_copy_only=False)
            place[used] = np.cumsum(known) - 1
            null, values = np.repeat(np.isin(codes, used[~known]), repeat), values.drop_null()
        out[name] = pa.DictionaryArray.from_arrays(pa.array(np.repeat(place[codes], repeat), mask=null), values)
    return out


def iter_batches(columns: Mapping[str, ReleasedColumn], order: Order, size: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows in order, `size` at a time."""
    for rows, repeat in order.blocks(size):
        which = pa.array(np.repeat(np.arange(len(rows)), repeat))
        parts = {name: column.values.take(pa.array(column.codes[rows])) for name, column in columns.items()}
        yield pa.record_batch({name: part.take(which) for name, part in parts.items()})


def sorted_batches(shown: ReleasedRows) -> pa.RecordBatchReader:
    """Return a reader of all released rows in sorted order."""
    if shown.stream is not None:
        return pa.RecordBatchReader.from_batches(shown.stream.schema, shown.stream.rows())
    schema = pa.schema([(name, column.values.type) for name, column in shown.columns.items()])
    order = text_order(shown.columns, shown.times)
    return pa.RecordBatchReader.from_batches(schema, iter_batches(shown.columns, order, CHUNK))


class _HashingFile:
    """A file object that hashes what is written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.digest, self.closed = file, hashlib.sha256(), False

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self.file.write(data)

    def tell(self) -> int:
        return self.file.tell()

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        self.closed = True

    def seekable(self) -> bool:
        return False

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True


def count_defused(columns: Mapping[str, ReleasedColumn], times: NDArray[np.int64] | None = None) -> int:
    """Count the released cells that get a ' so that no spreadsheet runs them as a formula."""
    total = 0
    for column in columns.values():
        texts = column.texts.to_pylist() if _is_text(column) else []
        bad = np.array([text is not None and defuse(text) != text for text in texts], dtype=bool)
        if bad.any():
            total += int(bad[column.codes].sum() if times is None else times[bad[column.codes]].sum())
    return total


def refuse_ambiguous_marker(
    columns: Mapping[str, ReleasedColumn], style: Style, missing: Sequence[str], rows: RowStream | None = None
) -> None:
    """Refuse a table in which some text would be written like null; `missing` is the list in the policy."""
    if any(c in style.missing for c in (style.delimiter, style.quote, "\r", "\n")):
        raise BadInput(
            f"data.missing: {style.missing!r} holds the delimiter, a quote or a line break, so a CSV cannot show it; "
            "put another text first"
        )
    for name, column in columns.items():
        plain = re.sub(r"(^|[;,|\t\r\n])'", r"\1", style.missing)
        alike = {style.missing, style.missing[1:], plain, f"'{plain}"}
        hidden = [text for text in sorted(alike) if _format_cell(text, column, style) == style.missing]
        same = pc.is_in(column.texts, value_set=pa.array(hidden, pa.string())).to_numpy(zero_copy_only=False)
        found = same.any() and same[column.codes].any()
        if found or (rows is not None and rows.holds(name, hidden)):
            raise BadInput(f"column {name!r}: {_ALIKE if missing else _ALIKE_UNSAID}")


def cells_of(column: ReleasedColumn, style: Style) -> list[str]:
    """Return the cell that is written for each value of a column."""
    return [
        style.missing if text is None else _quoted(_format_cell(text, column, style), style)
        for text in column.texts.to_pylist()
    ]


def _format_cell(text: str, column: ReleasedColumn, style: Style) -> str:
    return _defuse_if_needed(text, style) if _is_text(column) else text


def _is_text(column: ReleasedColumn) -> bool:
    """Return whether a column has texts, which a spreadsheet might run; it runs no numbers, dates or booleans."""
    return bool(pa.types.is_string(column.values.type))


def _defuse_if_needed(text: str, style: Style) -> str:
    return defuse(text) if style.spreadsheet_safe else text


def defuse(text: str) -> str:
    """Put a ' before whatever part of a text a spreadsheet would run as a formula.

    >>> defuse("=1+1"), defuse("a;=1+1"), defuse("5;-6"), defuse("＝1")
    ("'=1+1", "a;'=1+1", '5;-6', "'＝1")
    """
    inside = INNER.sub(r"\1'\2", text)
    if inside != text:  # twice: a number may begin with the delimiter that ends another
        inside = INNER_NUMBER.sub(r"\1\2\3", INNER_NUMBER.sub(r"\1\2\3", inside))
    return f"'{inside}" if _is_formula(text) else inside


def _is_formula(text: str) -> bool:
    return bool(FORMULA.match(text)) and not NUMBER.fullmatch(text)


def _quoted(text: str, style: Style) -> str:
    if any(c in text for c in (style.delimiter, style.quote, "\n", "\r")):
        return style.quote + text.replace(style.quote, style.quote * 2) + style.quote
    return text


def _lines(
    header: bytes, cells: list[pa.Array], codes: list[Any], order: Order, delimiter: str
) -> Iterator[pa.Buffer | bytes]:
    """Yield the header and the lines of a CSV; distinct rows are formatted once per block and repeated."""
    yield header
    for rows, repeat in order.blocks(CHUNK):
        taken = [values.take(pa.array(code[rows])) for values, code in zip(cells, codes, strict=True)]
        joined = pc.binary_join_element_wise(*taken, delimiter)
        which = np.repeat(np.arange(len(repeat)), repeat)
        yield _bytes(joined if (repeat == 1).all() else joined.take(pa.array(which)))


def header_of(columns: Iterable[str], style: Style) -> bytes:
    """Return the first line of a CSV."""
    return (style.delimiter.join(_quoted(_defuse_if_needed(name, style), style) for name in columns) + "\n").encode()


def join_lines(cells: Sequence[pa.Array], delimiter: str) -> pa.Buffer:
    """Join columns of cells into lines."""
    *before, last = cells
    ended = pc.binary_join_element_wise(last, pa.scalar("\n"), pa.scalar(""))
    return _bytes(pc.binary_join_element_wise(*before, ended, delimiter))


def _bytes(texts: pa.StringArray) -> pa.Buffer:
    """Return the bytes of all texts, one after the other, without copying them."""
    offsets, data = texts.buffers()[1:]
    first, last = np.frombuffer(offsets, np.int32)[[texts.offset, texts.offset + len(texts)]]
    return data.slice(int(first), int(last - first))


def write_bytes(path: Path, parts: Iterator[pa.Buffer | bytes]) -> str:
    """Write a file and return its SHA-256."""
    digest = hashlib.sha256()
    with path.open("xb") as file:
        for part in parts:
            digest.update(part)
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()
