"""Detect what a file does not declare: its encoding, format, delimiter, quote, and the row that names its columns."""

import codecs
import csv
import io
import pickletools
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from shoal.engine_port import ReadOptions
from shoal.engines.reading.content import Content
from shoal.errors import BadData, ShoalWarning
from shoal.risk.vocabulary import is_person_name

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

# UTF-32 first: its little-endian mark begins with that of UTF-16
_MARKS: Mapping[bytes, str] = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
UTF8 = {"utf-8", "utf-8-sig"}
_ADVICE = 'give the encoding: --encoding latin-1 (in Python reading=…), or encoding = "latin-1" under [data]'
_STEP = 1 << 20


@dataclass(frozen=True)
class DecodedText:
    """UTF-8 bytes; the text begins at `start`, after any byte order mark."""

    name: str
    data: bytes
    start: int
    encoding: str
    line: int = 1
    """Line of the file at which the text begins, counted from 1."""

    def __len__(self) -> int:
        return len(self.data) - self.start


def decode_text(content: Content, options: ReadOptions) -> DecodedText:
    """Return the content as UTF-8 text without NUL bytes; a file that is UTF-8 already is not copied."""
    text = decode_unchecked(content, options)
    _refuse_nul(text)
    return text


def decode_unchecked(content: Content, options: ReadOptions) -> DecodedText:
    """Return the content as UTF-8 text; if it should be UTF-8 already, it is not checked."""
    codec = codec_of(content, options)
    data = content.data if codec in UTF8 else b"".join(iter_as_utf8(content, codec))
    start = len(codecs.BOM_UTF8) if data[:3] == codecs.BOM_UTF8 else 0
    return skip_to_line(DecodedText(content.name, data, start, codec), _header_line(content.name, options))


def _header_line(name: str, options: ReadOptions) -> int:
    """Return the line that names the columns; a header row given for a sheet is ignored with a warning."""
    given = options.header_row or 1
    if isinstance(given, tuple) and options.sheet is None:
        raise BadData(f"{name}: rows {given[0]} to {given[1]} are joined in a sheet only; give one line as header row")
    if isinstance(given, int) and (options.sheet is None or given == 1):
        return given
    warnings.warn(
        f"{name}: header row {given} is that of sheet {options.sheet!r}, and this file has no sheets, so its first "
        "line names the columns; if another line does, delete `sheet` from [data] of the policy",
        ShoalWarning,
        stacklevel=3,
    )
    return 1


def codec_of(content: Content, options: ReadOptions) -> str:
    """Return the encoding of a text: as given, else by its byte order mark, else guessed if allowed, else UTF-8."""
    marked = next((codec for mark, codec in _MARKS.items() if content.data[: len(mark)] == mark), None)
    given = None if options.encoding is None else _look_up_codec(content.name, options.encoding)
    return given or marked or (_guess_codec(content) if options.guess_encoding else "utf-8")


def skip_to_line(text: DecodedText, line: int) -> DecodedText:
    """Return the text from this line on, counted from 1."""
    if line == 1:
        return text
    ends = re.compile(rb"\r\n|\n|\r").finditer(text.data, text.start)
    start = next(islice((end.end() for end in ends), line - 2, None), len(text.data))
    if start == len(text.data):
        raise BadData(f"{text.name}: there is no line {line} to name the columns; give another header row")
    return replace(text, start=start, line=line)


_EXAMINED = 16 << 20
_WITHIN_WORDS = b"\x8a\x8c\x8e\x91\x92\x96\x97\x9a\x9c\x9e\x9f"
"""Letters, apostrophes and dashes among the bytes 0x80 to 0x9F of cp1252."""
_AMID_LETTERS = re.compile(rb"[A-Za-z]([\x80-\x9f])(?=[A-Za-z])")


def _guess_codec(content: Content) -> str:
    """Return utf-8 if the bytes are valid UTF-8, else latin-1 or cp1252 with a warning, if they look like it."""
    at = _first_other_than_utf8(content.data, 0)
    if at is None:
        return "utf-8"
    codec = guess_western_codec(bytes(content.data[max(at - 1, 0) : at + _EXAMINED]))
    if codec == "latin-1" and re.compile(rb"[\x80-\x9f]").search(content.data, at + _EXAMINED):
        codec = "cp1252"  # further on there are bytes that are control characters in latin-1
    if codec is None:
        raise BadData(f"{content.name}: byte offset {at} is not UTF-8, nor does the file look like cp1252; {_ADVICE}")
    warnings.warn(
        f"{content.name}: this is not UTF-8; it is read as {codec}, Western European, which is a guess from its bytes: "
        "check that letters with accents look right, else give the encoding",
        ShoalWarning,
        stacklevel=2,
    )
    return codec


def guess_western_codec(sample: bytes) -> str | None:
    """Guess cp1252, or latin-1 if both mean the same; None if the bytes look like neither.

    In Western European text at most two accented letters are adjacent, as in Größe; in Cyrillic or Greek whole
    words are above 0x7F, and in the code pages of DOS the bytes 0x80 to 0x9F are letters within words.

    >>> guess_western_codec("Größe, 5 €".encode("cp1252")), guess_western_codec("Müller".encode("cp1252"))
    ('cp1252', 'latin-1')
    >>> print(guess_western_codec("Мария".encode("cp1251")), guess_western_codec("Mädchen".encode("cp850")))
    None None
    """
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", sample)]
    if sum(run for run in runs if run > 2) * 2 > sum(runs):
        return None
    if not re.search(rb"[\x80-\x9f]", sample):
        return "latin-1"
    odd = any(byte not in _WITHIN_WORDS for byte in _AMID_LETTERS.findall(sample))
    return None if odd or re.search(rb"[\x81\x8d\x8f\x90\x9d]", sample) else "cp1252"


def refuse_other_than_utf8(text: DecodedText) -> None:
    """Raise BadData with the offset of the first byte that is not UTF-8, if there is one."""
    offset = _first_other_than_utf8(text.data, text.start)
    if offset is not None:
        raise BadData(f"{text.name}: byte offset {offset} is not UTF-8; {_ADVICE}") from None


def _first_other_than_utf8(data: bytes, start: int) -> int | None:
    """Return the offset of the first byte that is not UTF-8; None if all are."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for at in range(start, len(data), _STEP):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(data[at : at + _STEP], final=at + _STEP >= len(data))
        except UnicodeDecodeError as error:
            return at - pending + error.start
    return None


def _look_up_codec(name: str, encoding: str) -> str:
    """Return the standard name of an encoding; refuse one that Python does not know."""
    try:
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise BadData(f"{name}: there is no encoding {encoding!r}; {_ADVICE}") from None


def iter_as_utf8(content: Content, codec: str) -> Iterator[bytes]:
    """Yield a text in another encoding as chunks of UTF-8."""
    at = pending = 0
    try:
        b"".decode(codec)  # raises LookupError for a codec that does not decode to text
        decoder = codecs.getincrementaldecoder(codec)()
        for at in range(0, len(content.data), _STEP):
            pending = len(decoder.getstate()[0])
            yield decoder.decode(content.data[at : at + _STEP], final=at + _STEP >= len(content.data)).encode()
    except UnicodeDecodeError as error:
        raise BadData(f"{content.name}: byte offset {at - pending + error.start} is not {codec}; {_ADVICE}") from None
    except (LookupError, ValueError):  # a codec that does not decode to text, or a lone surrogate
        raise BadData(f"{content.name}: the file is not text in {codec}; {_ADVICE}") from None


def _refuse_nul(text: DecodedText) -> None:
    at = text.data.find(b"\0", text.start)
    if at < 0:
        return
    line = text.data[:at].count(b"\n") + 1
    raise BadData(
        f"{text.name}: line {line} holds a NUL byte, so this is no plain text; if it is UTF-16 without a byte"
        ' order mark, set encoding = "utf-16-le" under [data]'
    )


_BY_SUFFIX: Mapping[str, str] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "excel",
    ".xls": "excel",
    ".ods": "excel",
    ".dta": "statistics",
    ".sav": "statistics",
    ".zsav": "statistics",
    ".por": "statistics",
    ".sas7bdat": "statistics",
    ".xpt": "statistics",
}
_BY_MAGIC: Mapping[bytes, tuple[str, str]] = {
    b"PAR1": ("parquet", "a Parquet file"),
    b"ARROW1": ("arrow", "an Arrow file"),
    b"\xff\xff\xff\xff": ("arrow", "an Arrow stream"),
    b"PK\x03\x04": ("excel", "a zip file, as Excel's are"),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ("excel", "an old Excel file"),
    b"\x1f\x8b": ("", "a gzip file: unpack it first"),
    b"BZh": ("", "a bzip2 file: unpack it first"),
    b"\xfd7zXZ\x00": ("", "an xz file: unpack it first"),
    b"\x28\xb5\x2f\xfd": ("", "a zstd file: unpack it first"),
    b"SQLite format 3\x00": ("", "an SQLite database: export the table first"),
    b"%PDF-": ("", "a PDF"),
}
_DELIMITERS = ",;\t|"
_RECORDS = 100
_NO_FIT = (0.0, 1)


@dataclass(frozen=True)
class Dialect:
    delimiter: str
    quote: str
    """Empty if quotes have no special meaning."""


def format_of(content: Content) -> str:
    """Return csv, parquet, arrow, excel or statistics: by extension, else by the first bytes."""
    of, what = next((it for magic, it in _BY_MAGIC.items() if content.data[: len(magic)] == magic), ("", ""))
    by_suffix = _BY_SUFFIX.get(content.suffix)
    if not what and by_suffix in {None, "csv"} and _is_pickle(content.data):
        what = "a Python pickle, which Shoal never loads"
    if what and (by_suffix == "csv" or not of):
        raise BadData(f"{content.name}: this is not a table as text but {what}")
    return by_suffix or of or "csv"


def _is_pickle(data: bytes) -> bool:
    """Return whether the bytes are a pickle, without loading it: opcodes that end with STOP, a full stop."""
    if data[:1] == b"\x80" and data[1:2] in {b"\x02", b"\x03", b"\x04", b"\x05"}:
        return True
    if data[-1:] != b".":
        return False
    try:
        end = max(at for _, _, at in pickletools.genops(bytes(data)) if at is not None)
    except ValueError:
        return False
    return end == len(data) - 1


def parse_records(lines: Iterable[str], dialect: Dialect, *, strict: bool = False) -> "CsvReader":
    """Parse lines into records with Python's csv reader, which is slow but knows the current line."""
    if not dialect.quote:
        return csv.reader(lines, delimiter=dialect.delimiter, quoting=csv.QUOTE_NONE, strict=strict)
    return csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote, strict=strict)


def sniff_dialect(sample: str, *, complete: bool, suffix: str, options: ReadOptions) -> Dialect:
    """Find the delimiter and the quote by which the first records have as many fields as the header."""
    quote = options.quote if options.quote is not None else _sniff_quote(sample)
    if options.delimiter is not None:
        return Dialect(options.delimiter, quote)
    fits = {delimiter: _fit(sample, complete, Dialect(delimiter, quote)) for delimiter in _DELIMITERS}
    best = max(fits, key=fits.__getitem__)
    tabbed = suffix == ".tsv" and (fits["\t"] > _NO_FIT or fits[best] == _NO_FIT)
    return Dialect("\t" if tabbed else best, quote)


def _sniff_quote(sample: str) -> str:
    """Return the quote of a sample: single only if there are no double ones and every cell that opens one closes it."""
    if '"' in sample or "'" not in sample:
        return '"'
    opened = len(re.findall(r"(?:^|[,;\t|])'", sample, re.MULTILINE))
    closed = len(re.findall(r"(?:^|(?<=[,;\t|]))'(?:[^'\r\n]|'')*'(?=[,;\t|\r]|$)", sample, re.MULTILINE))
    return "'" if opened and opened == closed else '"'


def _fit(sample: str, complete: bool, dialect: Dialect) -> tuple[float, int]:
    """Return the share of records as wide as the header, and that width; `_NO_FIT` if the header has one field."""
    try:
        records = parse_records(io.StringIO(sample, newline=""), dialect)
        widths = [len(record) for record in islice(records, _RECORDS + 1) if record]
    except csv.Error:
        return _NO_FIT
    if not complete and len(widths) > 1:
        widths = widths[:-1]  # the sample may end inside a record
    if not widths or widths[0] == 1:
        return _NO_FIT
    return sum(width == widths[0] for width in widths) / len(widths), widths[0]


@dataclass(frozen=True)
class TitleLines:
    """Lines of titles above the line of a CSV that names its columns."""

    header: int
    """The line that names the columns, counted from 1."""
    sure: bool
    """Whether the cells below leave no doubt that this line is the header."""

    def __str__(self) -> str:
        return "line 1" if self.header == 2 else f"lines 1 to {self.header - 1}"


def find_titles(sample: str, *, complete: bool, options: ReadOptions) -> TitleLines | None:
    """Find lines above the names of the columns: less than half of their cells are filled; None if there are none."""
    quote = options.quote if options.quote is not None else _sniff_quote(sample)
    marks = _DELIMITERS if options.delimiter is None else options.delimiter
    found = []
    for mark in marks:
        records = _numbered_records(sample, complete, Dialect(mark, quote))
        width = Counter(len(record) for _, record in records).most_common(1)[0][0] if records else 1
        at = next((i for i, (_, record) in enumerate(records) if 2 * sum(map(bool, record)) >= width > 1), None)
        if at is None:
            continue
        (line, header), below = records[at], [record for _, record in records[at + 1 :]]
        if len(header) != width or len({*header}) < width or not all(header[1:]):
            continue
        if not at:
            return None  # the first line names the columns
        fitting = sum(len(record) == width for record in below)
        if fitting > _MOST * len(below) and names_columns(header, below, settled=True):
            found.append((fitting, width, TitleLines(line, names_columns(header, below))))
    return max(found, key=lambda each: each[:2])[2] if found else None


_MOST = 0.9
"""Least share of the records below titles that are as wide as the header."""


def _numbered_records(sample: str, complete: bool, dialect: Dialect) -> list[tuple[int, list[str]]]:
    """Return the first records with the line in which each begins; none if a quote is not closed."""
    reader, line, records = parse_records(io.StringIO(sample, newline=""), dialect), 1, []
    try:
        for record in islice(reader, _RECORDS + 1):
            if record:
                records.append((line, record))
            line = reader.line_num + 1
    except csv.Error:
        return []
    return records if complete else records[:-1]  # the sample may end inside a record


_VALUE = re.compile(
    r"""[-+]?[0-9]{4,}([.,][0-9]+)?  # a number of four digits or more, or a postcode
    |[-+]?[0-9]{1,3}([.,'’\ \u00a0\u202f][0-9]{3})+([.,][0-9]+)?  # a number with its thousands apart
    |[0-9]{1,4}([-./])[0-9]{1,2}\4[0-9]{1,4}([T ].*)?  # a date
    |[^@\s]+@[^@\s]+\.[^@\s]+  # an e-mail address
    |[+0][0-9]+[-/ ()][-/ ()0-9]{3,}""",  # a telephone number
    re.VERBOSE,
)
_NUMBER = re.compile(r"[-+]?[0-9][-+0-9.,'’%€$£ \u00a0\u202f]*")
_CODE = re.compile(r"(?=.*[0-9])[A-Z0-9 ./_-]+")
_YEAR = re.compile("(19|20)[0-9]{2}")
_STEPS_OF_YEARS = {1, 2, 5, 10}
_NOT_KNOWN = {"na", "nan", "ka", "null", "none", "unknown", "unbekannt", "inconnu", "onbekend", "desconocido"}


def looks_like_value(text: str) -> bool:
    """Return whether a column name is a date, a number of four digits or more, an e-mail address or a telephone number.

    >>> [looks_like_value(text) for text in ("19.07.1977", "01139", "1.234,50", "a@b.org", "0171-1234567")]
    [True, True, True, True, True]
    >>> [looks_like_value(text) for text in ("age", "Q12.1", "income 2019", "17", "% of 1,000")]
    [False, False, False, False, False]
    """
    return _VALUE.fullmatch(text.strip()) is not None


def values_among(names: Sequence[Any]) -> list[int]:
    """Return which column names look like values, counted from 1; years one after the other may be names.

    >>> values_among(["name", "1977", "01139"]), values_among(["country", "2019", "2020", "2021"])
    ([2, 3], [])
    """
    found = [at for at, name in enumerate(names, 1) if isinstance(name, str) and looks_like_value(name)]
    years = [int(names[at - 1]) for at in found if _YEAR.fullmatch(names[at - 1].strip())]
    steps = {later - year for year, later in pairwise(years)}
    return [] if len(years) == len(found) and len(steps) == 1 and steps <= _STEPS_OF_YEARS else found


def describe_values_among(name: str, names: Sequence[Any]) -> str | None:
    """Return the sentence about column names that look like a row of data, without telling them; None if none do."""
    found = values_among(names)
    if not found:
        return None
    which = f"column {found[0]}" if len(found) == 1 else f"columns {', '.join(map(str, found[:5]))}"
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return (
        f"{name}: the column names look like a row of data (of {which}{more}: a date, a number, an address): give the "
        "row that names the columns by --header-row (in Python reading=…) or header-row under [data], or put names "
        "above the data"
    )


def warn_of_values_among(name: str, names: Sequence[Any], options: ReadOptions) -> bool:
    """Warn where column names look like a row of data, unless their row was given; return whether they do."""
    said = None if options.header_row is not None else describe_values_among(name, names)
    if said is not None:
        warnings.warn(said, ShoalWarning, stacklevel=3)
    return said is not None


def names_columns(cells: Sequence[Any], below: Sequence[Sequence[Any]], *, settled: bool = False) -> bool:
    """Return whether a row names columns rather than being the first of the rows `below` it; in doubt it does not.

    Its cells are words, none occurs again further down its column, and in two columns, or half of them, the cells below
    are of another kind: numbers, dates or codes; `settled` says that something else tells it.
    """
    filled = [(at, cell) for at, cell in enumerate(cells) if cell is not None and cell != ""]
    if not filled or any(_may_be_data(cell) for _, cell in filled):
        return False
    columns = [[row[at] for row in below if at < len(row) and row[at] not in {None, ""}] for at, _ in filled]
    if any(cell in column for (_, cell), column in zip(filled, columns, strict=True)):
        return False
    typed = sum(sum(map(_is_typed, column)) * 2 > len(column) for column in columns if column)
    return settled or typed >= min(2, len(filled) / 2)


def _may_be_data(cell: Any) -> bool:
    """Return whether a cell of a row may be a value: anything but words that name no person."""
    if not isinstance(cell, str):
        return True
    letters = re.sub(r"[\W\d_]", "", cell)
    return (
        not letters
        or letters.casefold() in _NOT_KNOWN
        or looks_like_value(cell)
        or _CODE.fullmatch(cell.strip()) is not None
        or is_person_name(cell)
    )


def _is_typed(cell: Any) -> bool:
    """Return whether a cell is a number, a date or a code, or a text that shows one."""
    if not isinstance(cell, str):
        return True
    text = cell.strip()
    return looks_like_value(text) or any(form.fullmatch(text) for form in (_NUMBER, _CODE))
