"""Writing a release: sorted, byte for byte the same wherever it is made, hashed on the way out."""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.recode import Released

_CHUNK = 1 << 17
_FORMULA = re.compile(r"[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[-+]?[0-9]+([.,][0-9]+)?")
_WORD_BITS = 63
QUOTE = '"'
"""What a release is quoted with where the input knew no quotes: its labels may hold the delimiter."""


@dataclass(frozen=True)
class Style:
    """How a CSV is written."""

    delimiter: str = ","
    quote: str = QUOTE
    missing: str = ""
    spreadsheet_safe: bool = True


@dataclass(frozen=True)
class Order:
    """Rows sorted by all released columns; equal rows stand together and are written alike."""

    rows: NDArray[np.int64]
    """Positions of the rows in sorted order."""
    firsts: NDArray[np.int64]
    """Where in `rows` each distinct row begins."""


def text_order(columns: Mapping[str, Released]) -> Order:
    """Sort by all released columns, cells compared as text, null last (design 10).

    >>> cells = Released.of(np.array([0, 1, 0], np.int32), ["b", "a"])
    >>> order = text_order({"s": cells})
    >>> order.rows.tolist(), order.firsts.tolist()
    ([1, 0, 2], [0, 1])
    """
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
    new = np.zeros(len(rows), dtype=bool)
    new[:1] = True
    for word in words:
        ordered = word[rows]
        new[1:] |= ordered[1:] != ordered[:-1]
    return Order(rows, np.flatnonzero(new))


def given_order(rows: int) -> Order:
    """Rows as they came."""
    return Order(np.arange(rows), np.arange(rows))


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
    cells = {name: _cells(column.texts, style) for name, column in columns.items()}
    if len(columns) == 1:  # a lone empty cell would be a blank line
        cells = {name: [text or style.quote * 2 for text in texts] for name, texts in cells.items()}
    *before, last = cells
    arrays = [pa.array(cells[name], pa.string()) for name in before]
    arrays.append(pa.array([text + "\n" for text in cells[last]], pa.string()))
    header = style.delimiter.join(_quoted(_defused(name, style), style) for name in columns) + "\n"
    codes = [column.codes for column in columns.values()]
    return _write(path, _lines(header, arrays, codes, order, style.delimiter))


def write_parquet(columns: Mapping[str, Released], order: Order, path: Path) -> str:
    """Write a Parquet file and return its SHA-256."""
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(to_table(columns, order.rows), sink)
    return _write(path, iter([sink.getvalue()]))


def count_formulas(columns: Mapping[str, Released]) -> int:
    """How many released cells a spreadsheet would run as a formula."""
    total = 0
    for column in columns.values():
        texts = column.texts.to_pylist()
        bad = np.array([text is not None and _is_formula(text) for text in texts], dtype=bool)
        if bad.any():
            total += int(bad[column.codes].sum())
    return total


def _cells(texts: pa.StringArray, style: Style) -> list[str]:
    return [style.missing if text is None else _quoted(_defused(text, style), style) for text in texts.to_pylist()]


def _defused(text: str, style: Style) -> str:
    return f"'{text}" if style.spreadsheet_safe and _is_formula(text) else text


def _is_formula(text: str) -> bool:
    return bool(_FORMULA.match(text)) and not _NUMBER.fullmatch(text)


def _quoted(text: str, style: Style) -> str:
    if any(c in text for c in (style.delimiter, style.quote, "\n", "\r")):
        return style.quote + text.replace(style.quote, style.quote * 2) + style.quote
    return text


def _lines(
    header: str, cells: list[pa.Array], codes: list[Any], order: Order, delimiter: str
) -> Iterator[pa.Buffer | bytes]:
    """Distinct rows are joined once, in bulk, and repeated: the values of a text column lie one after the other."""
    yield header.encode()
    times = np.diff(order.firsts, append=len(order.rows))
    for at in range(0, len(order.firsts), _CHUNK):
        rows = order.rows[order.firsts[at : at + _CHUNK]]
        taken = [values.take(pa.array(code[rows])) for values, code in zip(cells, codes, strict=True)]
        joined = pc.binary_join_element_wise(*taken, delimiter)
        repeat = times[at : at + _CHUNK]
        for part in range(0, int(repeat.sum()), _CHUNK):
            which = np.repeat(np.arange(len(repeat)), repeat)[part : part + _CHUNK]
            yield _bytes(joined if (repeat == 1).all() else joined.take(pa.array(which)))


def _bytes(texts: pa.StringArray) -> pa.Buffer:
    offsets, data = texts.buffers()[1:]
    first, last = np.frombuffer(offsets, np.int32)[[texts.offset, texts.offset + len(texts)]]
    return data.slice(int(first), int(last - first))


def _write(path: Path, parts: Iterator[pa.Buffer | bytes]) -> str:
    digest = hashlib.sha256()
    with path.open("xb") as file:
        for part in parts:
            digest.update(part)
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()
