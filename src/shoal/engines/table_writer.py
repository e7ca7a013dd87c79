"""Writes a release: sorted, byte for byte the same wherever it is made, hashed on the way out."""

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
from shoal.recoding.columns import Released
from shoal.runtime.events import advance

CHUNK = 1 << 17
"""Rows that are joined, or encoded, at a time."""
ROW_GROUP = 1 << 20
"""Rows in a row group of a Parquet file: fixed, so that the bytes are the same however the rows come."""
FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
"""A text that begins like this gets a ' in front, even if it has one: else two texts would be written alike."""
INNER = re.compile(r"([;,|\t\r\n])('*[=+\-@＝＋－＠])")
"""Where a reader who takes another character for the delimiter would find a formula inside a cell."""
INNER_NUMBER = re.compile(r"([;,|\t\r\n])'([+-][0-9]+(?:\.[0-9]+)?)([;,|\t\r\n]|\Z)")
"""What such a reader would take for a number."""
NUMBER = re.compile(r"[-+]?[0-9]+([.,][0-9]+)?([eE][-+]?[0-9]+)?")
_WORD_BITS = 63
_ALIKE = "a label is written like a missing value; put another text first in [data] missing"
_ALIKE_UNSAID = (
    "a text that is empty and a value that is missing are written alike, because [data] missing lists nothing; "
    "list a text that no cell holds, e.g. missing = ['NA'], or write Parquet"
)
QUOTE = '"'
"""Quote of a release whose input had none, since its labels may hold the delimiter."""


@dataclass(frozen=True)
class Style:
    """How a CSV is written."""

    delimiter: str = ","
    quote: str = QUOTE
    missing: str = ""
    spreadsheet_safe: bool = True


def style_of(source: Source, options: WriteOptions) -> Style:
    """Style of a release: that of the input, but for quotes."""
    return Style(source.delimiter, options.quote, source.missing, options.spreadsheet_safe)


@dataclass(frozen=True)
class Order:
    """Rows sorted by all released columns; equal rows stand together and are written alike."""

    rows: NDArray[np.int64]
    """Positions of the rows in sorted order."""
    firsts: NDArray[np.int64]
    """Where in `rows` each distinct row begins."""
    times: NDArray[np.int64]
    """How often each distinct row is written."""

    @property
    def distinct(self) -> NDArray[np.int64]:
        """The position of one of each distinct row."""
        return self.rows[self.firsts]

    def blocks(self, size: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield `size` rows at a time: positions of distinct rows, and how often each is repeated."""
        # [distinct row] where its repetitions end in the output; a block may cut through them
        ends = np.cumsum(self.times)
        total = int(ends[-1]) if len(ends) else 0
        for start in range(0, total, size):
            advance(start / total)
            stop = min(start + size, total)
            first, last = np.searchsorted(ends, start, side="right"), np.searchsorted(ends, stop, side="left")
            upto = np.minimum(ends[first : last + 1], stop)
            yield self.distinct[first : last + 1], np.diff(upto, prepend=start)


def text_order(columns: Mapping[str, Released], times: NDArray[np.int64] | None = None) -> Order:
    """Sort by all released columns, cells compared as text, null last (design 10).

    >>> cells = Released.of(np.array([0, 1, 0], np.int32), ["b", "a"])
    >>> order = text_order({"s": cells})
    >>> order.rows.tolist(), order.firsts.tolist()
    ([1, 0, 2], [0, 1])
    """
    # ranks of several columns side by side in one word: fewer words are sorted faster
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
    # [place] the row differs from the one before it
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
    """Order that leaves rows as they came."""
    return Order(np.arange(rows), np.arange(rows), np.ones(rows, dtype=np.int64))


def write_shown(shown: ReleasedRows, path: Path, source: Source, options: WriteOptions) -> Written:
    """Write a table in its order: the one writer of every engine whose distinct released rows fit in memory."""
    order = given_order(shown.count) if options.keep_order else text_order(shown.columns, shown.times)
    if options.format == "parquet":
        sha256 = write_parquet(shown.columns, order, path)
    else:
        sha256 = write_csv(shown.columns, order, path, style_of(source, options))
    return Written(sha256, order.rows if shown.times is None else None)


def _ranks(texts: pa.StringArray) -> NDArray[np.int64]:
    ranks = np.empty(len(texts), dtype=np.int64)
    ranks[pc.sort_indices(texts).to_numpy()] = np.arange(len(texts))
    return ranks


def to_table(columns: Mapping[str, Released], order: NDArray[np.int64] | None = None) -> pa.Table:
    """The release as an Arrow table."""
    codes = {name: c.codes if order is None else c.codes[order] for name, c in columns.items()}
    return pa.table({name: c.values.take(pa.array(codes[name])) for name, c in columns.items()})


def write_csv(columns: Mapping[str, Released], order: Order, path: Path, style: Style) -> str:
    """Write a CSV and return its SHA-256."""
    cells = {name: cells_of(column, style) for name, column in columns.items()}
    if len(columns) == 1:  # a lone empty cell would be a blank line
        cells = {name: [text or style.quote * 2 for text in texts] for name, texts in cells.items()}
    *before, last = cells
    arrays = [pa.array(cells[name], pa.string()) for name in before]
    arrays.append(pa.array([text + "\n" for text in cells[last]], pa.string()))
    header = header_of(columns, style)
    codes = [column.codes for column in columns.values()]
    return write_bytes(path, _lines(header, arrays, codes, order, style.delimiter))


def write_parquet(columns: Mapping[str, Released], order: Order, path: Path) -> str:
    """Write a Parquet file and return its SHA-256."""
    schema = pa.schema([(name, column.values.type) for name, column in columns.items()])
    return write_row_groups(path, schema, (coded(columns, *block) for block in order.blocks(ROW_GROUP)))


def write_row_groups(path: Path, schema: pa.Schema, groups: Iterator[dict[str, pa.Array]]) -> str:
    """Write a Parquet file of row groups, whose texts are dictionaries but read as plain texts; return its SHA-256."""
    import pyarrow.parquet as pq

    said = {"ARROW:schema": b64encode(schema.serialize().to_pybytes())}
    made = pa.schema([(field.name, _stored(field.type)) for field in schema])
    with path.open("xb") as file:
        hashed = _Hashed(file)
        # rows are sorted: of the first column only, the least and the greatest value let a reader skip a group
        how = {"store_schema": False, "write_batch_size": CHUNK, "write_statistics": schema.names[:1]}
        with pq.ParquetWriter(pa.PythonFile(hashed, "w"), made, **how) as writer:
            for group in groups:
                writer.write_table(pa.table(group, made), row_group_size=ROW_GROUP)
            writer.add_key_value_metadata(said)
        file.flush()
        os.fsync(file.fileno())
    return hashed.digest.hexdigest()


def _stored(of: pa.DataType) -> pa.DataType:
    return pa.dictionary(pa.int32(), of) if pa.types.is_string(of) else of


def coded(columns: Mapping[str, Released], rows: NDArray[np.int64], repeat: NDArray[np.int64]) -> dict[str, pa.Array]:
    """Columns of a row group; texts as dictionaries of just the values that it holds, in order of appearance."""
    out = {}
    for name, column in columns.items():
        codes = column.codes[rows]
        if not _is_text(column):
            out[name] = column.values.take(pa.array(np.repeat(codes, repeat)))
            continue
        # [value] first row of the group that holds it; then the values in use, in that order
        first = np.full(len(column.values), len(codes), dtype=np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        used = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(codes))]
        values = column.values.take(pa.array(used))
        # [value] its place in the dictionary
        place = np.zeros(len(first), dtype=np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        null = None
        if values.null_count:  # null is no value of a dictionary
            known = values.is_valid().to_numpy(zero_copy_only=False)
            place[used] = np.cumsum(known) - 1
            null, values = np.repeat(np.isin(codes, used[~known]), repeat), values.drop_null()
        out[name] = pa.DictionaryArray.from_arrays(pa.array(np.repeat(place[codes], repeat), mask=null), values)
    return out


def batches(columns: Mapping[str, Released], order: Order, size: int) -> Iterator[pa.RecordBatch]:
    """The rows in their order, so many at a time."""
    for rows, repeat in order.blocks(size):
        which = pa.array(np.repeat(np.arange(len(rows)), repeat))
        parts = {name: column.values.take(pa.array(column.codes[rows])) for name, column in columns.items()}
        yield pa.record_batch({name: part.take(which) for name, part in parts.items()})


def sorted_batches(shown: ReleasedRows) -> pa.RecordBatchReader:
    """All rows of a table in its order, piece by piece."""
    if shown.stream is not None:
        return pa.RecordBatchReader.from_batches(shown.stream.schema, shown.stream.rows())
    schema = pa.schema([(name, column.values.type) for name, column in shown.columns.items()])
    order = text_order(shown.columns, shown.times)
    return pa.RecordBatchReader.from_batches(schema, batches(shown.columns, order, CHUNK))


class _Hashed:
    """A file that is hashed on the way out."""

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


def count_defused(columns: Mapping[str, Released], times: NDArray[np.int64] | None = None) -> int:
    """How many released cells get a ' so that a spreadsheet does not run them as a formula."""
    total = 0
    for column in columns.values():
        texts = column.texts.to_pylist() if _is_text(column) else []
        bad = np.array([text is not None and defused(text) != text for text in texts], dtype=bool)
        if bad.any():
            total += int(bad[column.codes].sum() if times is None else times[bad[column.codes]].sum())
    return total


def refuse_marker(
    columns: Mapping[str, Released], style: Style, missing: Sequence[str], rows: RowStream | None = None
) -> None:
    """Refuse a table in which a null could not be told from everything else; `missing` is what the policy says."""
    if any(c in style.missing for c in (style.delimiter, style.quote, "\r", "\n")):
        raise BadInput(
            f"data.missing: {style.missing!r} holds the delimiter, a quote or a line break, so a CSV cannot show it; "
            "put another text first"
        )
    for name, column in columns.items():
        plain = re.sub(r"(^|[;,|\t\r\n])'", r"\1", style.missing)
        alike = {style.missing, style.missing[1:], plain, f"'{plain}"}
        hidden = [text for text in sorted(alike) if _written(text, column, style) == style.missing]
        same = pc.is_in(column.texts, value_set=pa.array(hidden, pa.string())).to_numpy(zero_copy_only=False)
        found = same.any() and same[column.codes].any()
        if found or (rows is not None and rows.holds(name, hidden)):
            raise BadInput(f"column {name!r}: {_ALIKE if missing else _ALIKE_UNSAID}")


def cells_of(column: Released, style: Style) -> list[str]:
    """What is written for each value of a column."""
    return [
        style.missing if text is None else _quoted(_written(text, column, style), style)
        for text in column.texts.to_pylist()
    ]


def _written(text: str, column: Released, style: Style) -> str:
    return _defused(text, style) if _is_text(column) else text


def _is_text(column: Released) -> bool:
    """Whether a spreadsheet might run its cells: it runs no number, date or truth value."""
    return bool(pa.types.is_string(column.values.type))


def _defused(text: str, style: Style) -> str:
    return defused(text) if style.spreadsheet_safe else text


def defused(text: str) -> str:
    """Return a text that no spreadsheet runs as a formula: one more ' stands before whatever it would run.

    >>> defused("=1+1"), defused("a;=1+1"), defused("5;-6"), defused("＝1")
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
    """Yield the header and the lines; distinct rows are joined in bulk and repeated."""
    yield header
    for rows, repeat in order.blocks(CHUNK):
        taken = [values.take(pa.array(code[rows])) for values, code in zip(cells, codes, strict=True)]
        joined = pc.binary_join_element_wise(*taken, delimiter)
        which = np.repeat(np.arange(len(repeat)), repeat)
        yield _bytes(joined if (repeat == 1).all() else joined.take(pa.array(which)))


def header_of(columns: Iterable[str], style: Style) -> bytes:
    """First line of a CSV."""
    return (style.delimiter.join(_quoted(_defused(name, style), style) for name in columns) + "\n").encode()


def joined_lines(cells: Sequence[pa.Array], delimiter: str) -> pa.Buffer:
    """Join columns of cells into lines."""
    *before, last = cells
    ended = pc.binary_join_element_wise(last, pa.scalar("\n"), pa.scalar(""))
    return _bytes(pc.binary_join_element_wise(*before, ended, delimiter))


def _bytes(texts: pa.StringArray) -> pa.Buffer:
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
