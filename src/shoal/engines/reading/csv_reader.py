"""Read delimited text: what the options do not say is sniffed and reported, and errors are never silently repaired."""

import csv
import io
import re
import warnings
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.data.codes import Column
from shoal.engine_port import ReadOptions, Sniffed, Source
from shoal.engines.reading.assemble import (
    NumberMarks,
    assemble,
    check_names,
    check_thousands,
    encode_as_read,
    find_thousands,
    has_decimal_commas,
    null_marker,
    sniffed_marks,
    warn_of_row_names,
    with_row_names,
)
from shoal.engines.reading.content import Content
from shoal.engines.reading.sniff import (
    UTF8,
    DecodedText,
    Dialect,
    codec_of,
    decode_text,
    decode_unchecked,
    find_titles,
    parse_records,
    refuse_other_than_utf8,
    skip_to_line,
    sniff_dialect,
    warn_of_values_among,
)
from shoal.errors import BadData, ShoalWarning

CELL_LIMIT = 64 << 20
_TROUBLES = {
    "unexpected end of data": "opens a quote that is never closed",
    "field larger than field limit": "has a cell of more than 64 MB; is a quote not closed?",
    "expected after": "has text after a closing quote; a quote inside a quoted cell is written twice",
}


def lines_of(text: DecodedText) -> Iterator[str]:
    """Yield the lines as text, with their line ends."""
    reader = pa.BufferReader(memoryview(text.data)[text.start :])
    with io.TextIOWrapper(reader, encoding="utf-8", newline="") as file:
        while line := file.readline(CELL_LIMIT):
            if len(line) == CELL_LIMIT:
                raise csv.Error("field larger than field limit")
            yield line


@contextmanager
def large_cells() -> Iterator[None]:
    """Raise the global limit of Python's csv module for the size of a cell inside the block."""
    before = csv.field_size_limit(CELL_LIMIT)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def diagnose(text: DecodedText, dialect: Dialect) -> None:
    """Raise BadData for the first error in encoding, quotes, cell size or number of fields; return if there is none."""
    refuse_other_than_utf8(text)
    rows = parse_records(lines_of(text), dialect, strict=True)
    width, row, line = 0, 0, text.line
    with large_cells():
        try:
            for fields in rows:
                if width and (fields or width == 1):
                    row += 1
                    if len(fields or [""]) != width:
                        raise _ragged_error(text.name, row, line, width, len(fields))
                width = width or len(fields)
                line = rows.line_num + text.line
        except csv.Error as error:
            trouble = next((said for part, said in _TROUBLES.items() if part in str(error)), "is malformed")
            where = f"row {row + 1}" if width else "the header"
            raise BadData(f"{text.name}: {where} (line {line}) {trouble}") from None


def _ragged_error(name: str, row: int, line: int, width: int, got: int) -> BadData:
    return BadData(f"{name}: row {row} (line {line}): expected {width} fields as in the header, got {got}")


_BLOCK = 8 << 20
_BIG_BLOCK = 128 << 20
_STEP = 1 << 18


def parse_columns(text: DecodedText, body: int, dialect: Dialect, width: int) -> list[pa.DictionaryArray]:
    """Parse the records that begin at `body` into columns, each a dictionary of texts."""
    records = memoryview(text.data)[body : _end_of_records(text, body, width)]
    quoted = bool(dialect.quote) and text.data.find(dialect.quote.encode(), body) >= 0
    table = _parse(records, dialect, width, quoted=quoted, block=_BLOCK)
    if table is None or (
        quoted
        and (not has_paired_quotes(_steps(records), dialect) or _may_have_swallowed(table, records, dialect.quote))
    ):
        diagnose(text, dialect)
    if table is None:
        table = _parse(records, dialect, width, quoted=quoted, block=_BIG_BLOCK)
    if table is None:
        raise BadData(f"{text.name}: the file cannot be read as CSV, though every row looks right by itself")
    if not table.num_rows:
        raise BadData(f"{text.name}: the file has a header but no records")
    return [column.unify_dictionaries().combine_chunks() for column in table.columns]


def _end_of_records(text: DecodedText, body: int, width: int) -> int:
    """Return the end of the records: in one column, an empty line is a missing value, but not at the file end."""
    end = len(text.data)
    while width == 1 and end > body and text.data[end - 1] in b"\r\n":
        end -= 1
    return end


def _parse(records: memoryview, dialect: Dialect, width: int, *, quoted: bool, block: int) -> pa.Table | None:
    """Parse the records by Arrow; None if it fails, since its message may contain cells."""
    from pyarrow import csv

    texts = pa.dictionary(pa.int32(), pa.string())
    if not len(records):
        return pa.schema([(str(i), texts) for i in range(width)]).empty_table()
    try:
        return csv.read_csv(_open_records(records), **_arrow_options(dialect, width, texts, quoted=quoted, block=block))
    except (pa.ArrowException, OSError):
        return None


def _open_records(records: memoryview) -> pa.BufferReader:
    """Open records for Arrow, which strips a leading U+FEFF: one that belongs to the first cell is doubled."""
    marked = records[: len(BOM_UTF8)].tobytes() == BOM_UTF8
    return pa.BufferReader(BOM_UTF8 + records.tobytes() if marked else records)


def _arrow_options(dialect: Dialect, width: int, of: pa.DataType, *, quoted: bool, block: int) -> dict[str, Any]:
    """Return the options by which Arrow parses records into cells, all of which are texts."""
    from pyarrow import csv

    names = [str(i) for i in range(width)]
    return {
        "read_options": csv.ReadOptions(block_size=block, column_names=names),
        "parse_options": csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote or False,
            newlines_in_values=quoted,
            ignore_empty_lines=width > 1,
        ),
        "convert_options": csv.ConvertOptions(
            column_types=dict.fromkeys(names, of),
            null_values=[],
            strings_can_be_null=False,
            quoted_strings_can_be_null=False,
        ),
    }


def copy_records(headers: Sequence["Header"], path: Path) -> None:
    """Copy the records of files with equal headers into a Parquet file of texts, batch by batch to save memory."""
    from pyarrow import csv, parquet

    width = len(headers[0].names)
    schema = pa.schema([(str(i), pa.string()) for i in range(width)])
    for header in headers:
        diagnose(*header.text)
    for block in (_BLOCK, _BIG_BLOCK):  # a cell may be longer than a block
        try:
            with parquet.ParquetWriter(path, schema) as writer:
                for header in headers:
                    text, dialect = header.text
                    records = memoryview(text.data)[header.body : _end_of_records(text, header.body, width)]
                    how = _arrow_options(dialect, width, pa.string(), quoted=bool(dialect.quote), block=block)
                    for batch in csv.open_csv(_open_records(records), **how) if len(records) else ():
                        writer.write_batch(batch)
        except pa.ArrowException:
            continue
        return
    raise BadData(f"{headers[0].name}: the file cannot be read as CSV, though every row looks right by itself")


def _steps(records: memoryview) -> Iterator[memoryview]:
    return (records[at : at + _STEP] for at in range(0, len(records), _STEP))


def has_paired_quotes(steps: Iterable[bytes | memoryview], dialect: Dialect) -> bool:
    """Return whether quotes alternately open and close whole cells: Arrow accepts text after a closing quote.

    A doubled quote inside of a cell counts as closing and reopening it. A quote inside of an unquoted cell is legal but
    gives False too. The text comes in chunks, all of which are consumed.
    """
    # [byte] whether it may come before an opening or after a closing quote
    quote, edge = dialect.quote.encode(), np.zeros(256, dtype=bool)
    edge[list(f"{dialect.quote}{dialect.delimiter}\r\n".encode())] = True
    fine, odd, held = True, 0, b"\n"
    for step in chain(steps, [b"\n"]):
        text = b"".join((held, step))
        held = text[-2:]  # the neighbour of its last byte is in the next chunk
        if quote and quote in text:
            written = np.frombuffer(text, np.uint8)
            # [quote] its index; then of its outer neighbour: before a quote that opens, after one that closes
            quotes = np.flatnonzero(written[1:-1] == quote[0]) + 1
            beside = quotes - 1
            beside[1 - odd :: 2] += 2
            odd = (odd + len(quotes)) % 2
            fine = fine and bool(edge[written[beside]].all())
    return fine


def _may_have_swallowed(table: pa.Table, records: memoryview, quote: str) -> bool:
    """Return whether a stray quote may have joined several records into one cell, which Arrow accepts.

    Then a cell contains a line end, or the last cell is never closed before the end of the file.
    """
    chunks = [chunk.dictionary for column in table.columns for chunk in column.chunks]
    if any(pc.any(pc.match_substring_regex(texts, "[\r\n]")).as_py() for texts in chunks):
        return True
    if not table.num_rows:
        return False
    last: str = table.column(table.num_columns - 1)[-1].as_py()
    written = (quote + last.replace(quote, quote * 2)).encode()
    return records[-len(written) :].tobytes() == written


_SAMPLE = 256 << 10


@dataclass(frozen=True)
class Header:
    """The header of a CSV, and what is known from the beginning of the file."""

    name: str
    names: list[str]
    dialect: Dialect
    line_end: str
    first_line: int
    """Line of the header, counted from 1."""
    encoding: str
    guessed: dict[str, Sniffed]
    body: int
    """Offset of the first record in the file."""
    text: tuple[DecodedText, Dialect]
    """Text and dialect, to diagnose errors in the file."""
    row_names: bool = False
    """Whether the first column has no name: then its values must be unique."""


def read_header(content: Content, options: ReadOptions) -> Header:
    """Read the header of a CSV whose records another reader will parse; only the beginning of the file is examined."""
    check_options(content.name, options)
    text = _skip_titles(decode_unchecked(content, options), options)
    dialect = sniff_dialect(_sample(text), complete=len(text) <= _SAMPLE, suffix=content.suffix, options=options)
    titles, body = _header(text, dialect)
    names = with_row_names(titles)
    check_names(text.name, names)
    warn_of_values_among(text.name, names, options)
    end = bytes(text.data[max(body - 2, 0) : body])
    ended = "\r\n" if end == b"\r\n" else "\r" if end[-1:] == b"\r" else "\n"
    before = bytes(text.data[text.start : body]).decode()
    first = text.line + len(before) - len(before.lstrip("\r\n"))
    guessed = _guessed(text, dialect, {"decimal": "."}, options)
    row_names = names != titles
    return Header(text.name, names, dialect, ended, first, text.encoding, guessed, body, (text, dialect), row_names)


def read_csv(content: Content, options: ReadOptions) -> Source:
    """Read delimited text; what the options leave open is sniffed and reported in `guessed`."""
    return read_csv_files(content.name, [content], options)


def read_csv_files(name: str, files: Sequence[Content], options: ReadOptions) -> Source:
    """Read files of delimited text with the same header into one table."""
    how = _with_one_encoding(name, files, options)
    parts = [_parse_file(content, how) for content in files]
    first = parts[0]
    for part in parts:
        if (part.titles, part.dialect) != (first.titles, first.dialect):
            raise BadData(f"{part.text.name}: its header or delimiter differs from that of {first.text.name}")
    dialect, names = first.dialect, with_row_names(first.titles)
    columns = [_concat_dictionaries([part.columns[i] for part in parts]) for i in range(len(names))]
    if names != first.titles:
        warn_of_row_names(name, options, unique=_is_unique(columns[0]))
    marks = [marks_of(column, dialect, options) for column in columns]
    known: dict[str, Sniffed] = {"decimal": ".", **sniffed_marks(marks)}
    return Source(
        assemble(name, dict(zip(names, columns, strict=True)), options, marks),
        format="csv",
        name=name,
        delimiter=dialect.delimiter,
        encoding=first.text.encoding,
        decimal=str(known["decimal"]),
        missing=null_marker(options),
        guessed=_guessed(first.text, dialect, known, options),
    )


def _with_one_encoding(name: str, files: Sequence[Content], options: ReadOptions) -> ReadOptions:
    """Sniffed one encoding for all files, since a policy can name only one; plain ASCII is valid in all of them."""
    if len(files) == 1 or options.encoding is not None or not options.guess_encoding:
        return options
    found = [codec_of(content, options) for content in files]
    others = {*found} - UTF8
    if not others:
        return options
    # cp1252 is latin-1 with printable characters in place of some control characters
    codec = "cp1252" if others == {"latin-1", "cp1252"} else min(others)
    beside = [content for content, of in zip(files, found, strict=True) if of in UTF8]
    if (len(others) > 1 and codec != "cp1252") or any(re.search(rb"[\x80-\xff]", content.data) for content in beside):
        listed = ", ".join(sorted({*found}))
        raise BadData(f"{name}: its files are of different encodings ({listed}); save them in one, e.g. UTF-8")
    return replace(options, encoding=codec)


@dataclass(frozen=True)
class ParsedFile:
    """A file of delimited text, parsed into columns of texts."""

    text: DecodedText
    dialect: Dialect
    titles: list[str]
    columns: list[pa.DictionaryArray]


def _parse_file(content: Content, options: ReadOptions) -> ParsedFile:
    check_options(content.name, options)
    text = _skip_titles(decode_text(content, options), options)
    dialect = sniff_dialect(_sample(text), complete=len(text) <= _SAMPLE, suffix=content.suffix, options=options)
    titles, body = _header(text, dialect)
    check_names(text.name, with_row_names(titles))
    warn_of_values_among(text.name, titles, options)
    return ParsedFile(text, dialect, titles, parse_columns(text, body, dialect, len(titles)))


def _concat_dictionaries(columns: Sequence[pa.DictionaryArray]) -> pa.DictionaryArray:
    return columns[0] if len(columns) == 1 else pa.chunked_array(columns).unify_dictionaries().combine_chunks()


def _is_unique(column: pa.DictionaryArray) -> bool:
    """Return whether all values are different and none is empty."""
    return len(column.dictionary) == len(column) and not pc.any(pc.equal(column.dictionary, "")).as_py()


def check_options(name: str, options: ReadOptions) -> None:
    """Refuse a delimiter, quote, decimal mark or mark between thousands that cannot be used."""
    for what, given, empty in (("delimiter", options.delimiter, False), ("quote", options.quote, True)):
        plain = given is None or (given == "" and empty) or (len(given) == 1 and given.isascii())
        if not plain or given in {"\r", "\n", "\0"}:
            raise BadData(f"{name}: the {what} must be one ASCII character, not {given!r}")
    if options.delimiter is not None and options.delimiter == options.quote:
        raise BadData(f"{name}: the delimiter and the quote are both {options.quote!r}")
    if options.decimal not in {None, ".", ","}:
        raise BadData(f"{name}: the decimal mark must be '.' or ',', not {options.decimal!r}")
    check_thousands(name, options)


def _sample(text: DecodedText) -> str:
    """Return the beginning of the text, from which the dialect is sniffed."""
    raw = bytes(text.data[text.start : text.start + _SAMPLE])
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        if error.start < len(raw) - 3 or len(text) <= _SAMPLE:
            refuse_other_than_utf8(text)
        return raw[: error.start].decode()  # the sample ends inside a character


def _skip_titles(text: DecodedText, options: ReadOptions) -> DecodedText:
    """Return the text from the line that names the columns, with a warning if there are titles above it."""
    if options.header_row is not None:
        return text
    titles = find_titles(_sample(text), complete=len(text) <= _SAMPLE, options=options)
    if titles is None:
        return text
    if not titles.sure:
        raise BadData(
            f"{text.name}: {titles} may be titles; if line {titles.header} names the columns, give --header-row "
            f"{titles.header} (in Python reading=…), or header-row = {titles.header} under [data]"
        )
    warnings.warn(
        f"{text.name}: {titles} are taken for titles, and the column names are read from line {titles.header}; give "
        "another header row if that is wrong",
        ShoalWarning,
        stacklevel=3,
    )
    return skip_to_line(text, titles.header)


def _header(text: DecodedText, dialect: Dialect) -> tuple[list[str], int]:
    """Return the column names and the offset of the first record."""
    end = text.start

    def lines() -> Iterator[str]:
        nonlocal end
        for line in lines_of(text):
            end += len(line.encode())
            yield line

    try:
        with large_cells():
            names = next((row for row in parse_records(lines(), dialect, strict=True) if row), [])
    except (csv.Error, UnicodeDecodeError):
        diagnose(text, dialect)
        raise BadData(f"{text.name}: the header cannot be read") from None
    if not any(name.strip() for name in names):
        raise BadData(f"{text.name}: the file is empty: no columns")
    return names, end


def marks_of(column: pa.DictionaryArray, dialect: Dialect, options: ReadOptions) -> NumberMarks:
    """Return how numbers are written in a column: with a comma if all values are numbers and one has a comma."""
    if found := find_thousands(column.dictionary, options):
        return found
    if options.decimal is not None:
        return NumberMarks(options.decimal)
    commas = dialect.delimiter != "," and has_decimal_commas(column.dictionary, options)
    return NumberMarks("," if commas else ".")


def encode_values(title: str, values: pa.Array, dialect: Dialect | None, options: ReadOptions) -> Column:
    """Encode the distinct values of a column; `dialect` is that of the text they stand in, None if they are typed."""
    marks = NumberMarks(options.decimal or ".")
    if dialect is not None:
        marks = marks_of(values.drop_null().dictionary_encode(), dialect, options)
    return encode_as_read(title, values, marks, options)


def _guessed(
    text: DecodedText, dialect: Dialect, marks: dict[str, Sniffed], options: ReadOptions
) -> dict[str, Sniffed]:
    found: dict[str, Sniffed] = {"delimiter": dialect.delimiter, "encoding": text.encoding, **marks}
    if text.line > 1:
        found["header_row"] = text.line
    if dialect.quote == "'":
        found["quote"] = dialect.quote
    return {what.replace("_", "-"): guess for what, guess in found.items() if getattr(options, what) is None}
