"""Delimited text: what the file does not say is sniffed, told, and never quietly repaired."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from shoal.engine import ReadOptions, Source
from shoal.engines.reading.assemble import assemble, check_names, marker
from shoal.engines.reading.content import Content
from shoal.engines.reading.cut import cut
from shoal.engines.reading.diagnose import diagnose, large_cells, lines_of
from shoal.engines.reading.encoding import Text, begun, decoded, refuse_other_than_utf8
from shoal.engines.reading.sniff import Dialect, rows_of, sniff_dialect
from shoal.errors import BadData

_SAMPLE = 256 << 10
_DECIMAL_COMMA = r"\A-?[0-9]+(,[0-9]+)?\z"


@dataclass(frozen=True)
class Header:
    """What the beginning of a CSV tells."""

    name: str
    names: list[str]
    dialect: Dialect
    line_end: str
    first_line: int
    """The line, from 1, that the header stands in."""
    encoding: str
    guessed: dict[str, str]
    body: int
    """Where in the file the records begin."""
    text: tuple[Text, Dialect]
    """For who has to find out what is wrong with it."""


def read_header(content: Content, options: ReadOptions) -> Header:
    """The header of a CSV whose records somebody else reads; only the beginning is looked at."""
    check_options(content.name, options)
    text = begun(content, options.encoding)
    dialect = sniff_dialect(_sample(text), complete=len(text) <= _SAMPLE, suffix=content.suffix, options=options)
    names, body = _header(text, dialect)
    check_names(text.name, names)
    end = bytes(text.data[max(body - 2, 0) : body])
    ended = "\r\n" if end == b"\r\n" else "\r" if end[-1:] == b"\r" else "\n"
    before = bytes(text.data[text.start : body]).decode()
    first = 1 + len(before) - len(before.lstrip("\r\n"))
    guessed = _guessed(text, dialect, ".", options)
    return Header(text.name, names, dialect, ended, first, text.encoding, guessed, body, (text, dialect))


def read_csv(content: Content, options: ReadOptions) -> Source:
    """Read delimited text; what the options leave open is sniffed and told in `guessed`."""
    check_options(content.name, options)
    text = decoded(content, options.encoding)
    dialect = sniff_dialect(_sample(text), complete=len(text) <= _SAMPLE, suffix=content.suffix, options=options)
    names, body = _header(text, dialect)
    check_names(text.name, names)
    columns = cut(text, body, dialect, len(names))
    decimals = [decimal_of(column, dialect, options) for column in columns]
    decimal = "," if "," in decimals else "."
    return Source(
        assemble(text.name, dict(zip(names, columns, strict=True)), options, decimals),
        format="csv",
        name=text.name,
        delimiter=dialect.delimiter,
        encoding=text.encoding,
        decimal=decimal,
        missing=marker(options),
        guessed=_guessed(text, dialect, decimal, options),
    )


def check_options(name: str, options: ReadOptions) -> None:
    for what, given, empty in (("delimiter", options.delimiter, False), ("quote", options.quote, True)):
        plain = given is None or (given == "" and empty) or (len(given) == 1 and given.isascii())
        if not plain or given in {"\r", "\n", "\0"}:
            raise BadData(f"{name}: the {what} must be one ASCII character, not {given!r}")
    if options.delimiter is not None and options.delimiter == options.quote:
        raise BadData(f"{name}: the delimiter and the quote are both {options.quote!r}")
    if options.decimal not in {None, ".", ","}:
        raise BadData(f"{name}: the decimal mark must be '.' or ',', not {options.decimal!r}")


def _sample(text: Text) -> str:
    raw = bytes(text.data[text.start : text.start + _SAMPLE])
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        if error.start < len(raw) - 3 or len(text) <= _SAMPLE:
            refuse_other_than_utf8(text)
        return raw[: error.start].decode()  # the sample ends inside a character


def _header(text: Text, dialect: Dialect) -> tuple[list[str], int]:
    """Return the column names and the offset of the first record."""
    end = text.start

    def lines() -> Iterator[str]:
        nonlocal end
        for line in lines_of(text):
            end += len(line.encode())
            yield line

    try:
        with large_cells():
            names = next((row for row in rows_of(lines(), dialect, strict=True) if row), [])
    except (csv.Error, UnicodeDecodeError):
        diagnose(text, dialect)
        raise BadData(f"{text.name}: the header cannot be read") from None
    if not any(name.strip() for name in names):
        raise BadData(f"{text.name}: the file is empty: no columns")
    return names, end


def decimal_of(column: pa.DictionaryArray, dialect: Dialect, options: ReadOptions) -> str:
    """Tell `,` where all that is present in a column is a number and one of them has a comma."""
    if options.decimal is not None:
        return options.decimal
    if dialect.delimiter == ",":
        return "."
    texts = column.dictionary
    absent = pc.is_in(texts, value_set=pa.array(options.missing, pa.string()))
    present = texts.filter(pc.invert(absent))
    numbers = pc.all(pc.match_substring_regex(present, _DECIMAL_COMMA)).as_py()
    return "," if numbers and pc.any(pc.match_substring(present, ",")).as_py() else "."


def _guessed(text: Text, dialect: Dialect, decimal: str, options: ReadOptions) -> dict[str, str]:
    found = {"delimiter": dialect.delimiter, "encoding": text.encoding, "decimal": decimal}
    if dialect.quote == "'":
        found["quote"] = dialect.quote
    return {what: guess for what, guess in found.items() if getattr(options, what) is None}
