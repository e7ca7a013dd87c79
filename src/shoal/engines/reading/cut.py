"""From the text of a CSV to its columns: cut by Arrow, checked by Python where Arrow may be fooled."""

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.reading.diagnose import diagnose
from shoal.engines.reading.encoding import Text
from shoal.engines.reading.sniff import Dialect
from shoal.errors import BadData

_BLOCK = 8 << 20
_BIG_BLOCK = 128 << 20
_STEP = 1 << 18


def cut(text: Text, body: int, dialect: Dialect, width: int) -> list[pa.DictionaryArray]:
    """Return the columns of the records that begin at `body`, each a dictionary of texts."""
    records = memoryview(text.data)[body : _end(text, body, width)]
    quoted = bool(dialect.quote) and text.data.find(dialect.quote.encode(), body) >= 0
    table = _parse(records, dialect, width, quoted=quoted, block=_BLOCK)
    if table is None or (
        quoted and (not in_turn(_steps(records), dialect) or _may_have_swallowed(table, records, dialect.quote))
    ):
        diagnose(text, dialect)
    if table is None:
        table = _parse(records, dialect, width, quoted=quoted, block=_BIG_BLOCK)
    if table is None:
        raise BadData(f"{text.name}: the file cannot be read as CSV, though every row looks right by itself")
    if not table.num_rows:
        raise BadData(f"{text.name}: the file has a header but no records")
    return [column.unify_dictionaries().combine_chunks() for column in table.columns]


def _end(text: Text, body: int, width: int) -> int:
    """In a table of one column an empty line is a missing value, but not at the end of the file."""
    end = len(text.data)
    while width == 1 and end > body and text.data[end - 1] in b"\r\n":
        end -= 1
    return end


def _parse(records: memoryview, dialect: Dialect, width: int, *, quoted: bool, block: int) -> pa.Table | None:
    """Let Arrow cut the records; None if it cannot, for what it says may hold cells."""
    from pyarrow import csv

    names = [str(i) for i in range(width)]
    texts = pa.dictionary(pa.int32(), pa.string())
    if not len(records):
        return pa.schema([(name, texts) for name in names]).empty_table()
    try:
        return csv.read_csv(
            pa.BufferReader(records),
            read_options=csv.ReadOptions(block_size=block, column_names=names),
            parse_options=csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char=dialect.quote or False,
                newlines_in_values=quoted,
                ignore_empty_lines=width > 1,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, texts),
                null_values=[],
                strings_can_be_null=False,
                quoted_strings_can_be_null=False,
            ),
        )
    except (pa.ArrowException, OSError):
        return None


def _steps(records: memoryview) -> Iterator[memoryview]:
    return (records[at : at + _STEP] for at in range(0, len(records), _STEP))


def in_turn(steps: Iterable[bytes | memoryview], dialect: Dialect) -> bool:
    """Tell whether quotes open and close whole cells in turn: Arrow does not mind text after a closing one.

    One that is written twice inside of a cell closes it and opens it again. False for a quote inside of an unquoted
    cell too, which is right. The text comes in steps, all of which are taken.
    """
    quote, edge = dialect.quote.encode(), np.zeros(256, dtype=bool)
    edge[list(f"{dialect.quote}{dialect.delimiter}\r\n".encode())] = True
    fine, odd, held = True, 0, b"\n"
    for step in chain(steps, [b"\n"]):
        text = b"".join((held, step))
        held = text[-2:]  # the last has no neighbour yet
        if quote and quote in text:
            written = np.frombuffer(text, np.uint8)
            quotes = np.flatnonzero(written[1:-1] == quote[0]) + 1
            beside = quotes - 1  # of one that opens, and after one that closes
            beside[1 - odd :: 2] += 2
            odd = (odd + len(quotes)) % 2
            fine = fine and bool(edge[written[beside]].all())
    return fine


def _may_have_swallowed(table: pa.Table, records: memoryview, quote: str) -> bool:
    """Tell whether a stray quote may have made one cell of several records: Arrow does not mind.

    Then a cell holds the end of a line, or the last cell is open: nothing closes it before the file ends.
    """
    chunks = [chunk.dictionary for column in table.columns for chunk in column.chunks]
    if any(pc.any(pc.match_substring_regex(texts, "[\r\n]")).as_py() for texts in chunks):
        return True
    if not table.num_rows:
        return False
    last: str = table.column(table.num_columns - 1)[-1].as_py()
    written = (quote + last.replace(quote, quote * 2)).encode()
    return records[-len(written) :].tobytes() == written
