"""A slow, careful pass over a CSV that says what is wrong and where, never what a cell holds."""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from shoal.engines.reading.encoding import Text, refuse_other_than_utf8
from shoal.engines.reading.sniff import Dialect, rows_of
from shoal.errors import BadData

CELL_LIMIT = 64 << 20
_TROUBLES = {
    "unexpected end of data": "opens a quote that is never closed",
    "field larger than field limit": "has a cell of more than 64 MB; is a quote not closed?",
    "expected after": "has text after a closing quote; a quote inside a quoted cell is written twice",
}


def lines_of(text: Text) -> Iterator[str]:
    """Yield the lines with their ends, as text."""
    reader = pa.BufferReader(memoryview(text.data)[text.start :])
    with io.TextIOWrapper(reader, encoding="utf-8", newline="") as file:
        while line := file.readline(CELL_LIMIT):
            if len(line) == CELL_LIMIT:
                raise csv.Error("field larger than field limit")
            yield line


@contextmanager
def large_cells() -> Iterator[None]:
    """Let Python's csv module take cells up to the limit: its own limit is global."""
    before = csv.field_size_limit(CELL_LIMIT)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def diagnose(text: Text, dialect: Dialect) -> None:
    """Raise BadData for the first thing wrong: encoding, quotes, cell size, number of fields; else return."""
    refuse_other_than_utf8(text)
    rows = rows_of(lines_of(text), dialect, strict=True)
    width, row, line = 0, 0, 1
    with large_cells():
        try:
            for fields in rows:
                if width and (fields or width == 1):
                    row += 1
                    if len(fields or [""]) != width:
                        raise _ragged(text.name, row, line, width, len(fields))
                width = width or len(fields)
                line = rows.line_num + 1
        except csv.Error as error:
            trouble = next((said for part, said in _TROUBLES.items() if part in str(error)), "is malformed")
            where = f"row {row + 1}" if width else "the header"
            raise BadData(f"{text.name}: {where} (line {line}) {trouble}") from None


def _ragged(name: str, row: int, line: int, width: int, got: int) -> BadData:
    return BadData(f"{name}: row {row} (line {line}): expected {width} fields as in the header, got {got}")
