"""What a file does not say about itself: its format, its delimiter and its quote."""

import csv
import io
import pickletools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from shoal.engine import ReadOptions
from shoal.engines.reading.content import Bytes, Content
from shoal.errors import BadData

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

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
    """Empty if quotes mean nothing."""


def format_of(content: Content) -> str:
    """Tell csv, parquet, arrow or excel: by extension, else by the first bytes."""
    of, what = next((it for magic, it in _BY_MAGIC.items() if content.data[: len(magic)] == magic), ("", ""))
    by_suffix = _BY_SUFFIX.get(content.suffix)
    if not what and by_suffix in {None, "csv"} and _is_pickle(content.data):
        what = "a Python pickle, which Shoal never loads"
    if what and (by_suffix == "csv" or not of):
        raise BadData(f"{content.name}: this is not a table as text but {what}")
    return by_suffix or of or "csv"


def _is_pickle(data: Bytes) -> bool:
    """Tell whether the bytes are a pickle, without loading it: a program that ends in a full stop."""
    if data[:1] == b"\x80" and data[1:2] in {b"\x02", b"\x03", b"\x04", b"\x05"}:
        return True
    if data[-1:] != b".":
        return False
    try:
        end = max(at for _, _, at in pickletools.genops(bytes(data)) if at is not None)
    except ValueError:
        return False
    return end == len(data) - 1


def rows_of(lines: Iterable[str], dialect: Dialect, *, strict: bool = False) -> "CsvReader":
    """Cut lines into records with Python's own reader: slow, but it knows where it is."""
    if not dialect.quote:
        return csv.reader(lines, delimiter=dialect.delimiter, quoting=csv.QUOTE_NONE, strict=strict)
    return csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote, strict=strict)


def sniff_dialect(sample: str, *, complete: bool, suffix: str, options: ReadOptions) -> Dialect:
    """Find the delimiter and the quote that cut the first records into as many fields as the header."""
    quote = options.quote if options.quote is not None else _quote(sample)
    if options.delimiter is not None:
        return Dialect(options.delimiter, quote)
    fits = {delimiter: _fit(sample, complete, Dialect(delimiter, quote)) for delimiter in _DELIMITERS}
    best = max(fits, key=fits.__getitem__)
    tabbed = suffix == ".tsv" and (fits["\t"] > _NO_FIT or fits[best] == _NO_FIT)
    return Dialect("\t" if tabbed else best, quote)


def _quote(sample: str) -> str:
    """Single quotes only where there are no double ones and every cell that opens one closes it."""
    if '"' in sample:
        return '"'
    opened = len(re.findall(r"(?:^|[,;\t|])'", sample, re.MULTILINE))
    closed = len(re.findall(r"(?:^|(?<=[,;\t|]))'(?:[^'\r\n]|'')*'(?=[,;\t|\r]|$)", sample, re.MULTILINE))
    return "'" if opened and opened == closed else '"'


def _fit(sample: str, complete: bool, dialect: Dialect) -> tuple[float, int]:
    """Share of records as wide as the header, and that width; none for a delimiter the header lacks."""
    try:
        records = rows_of(io.StringIO(sample, newline=""), dialect)
        widths = [len(record) for record in islice(records, _RECORDS + 1) if record]
    except csv.Error:
        return _NO_FIT
    if not complete and len(widths) > 1:
        widths = widths[:-1]  # the sample may end inside a record
    if not widths or widths[0] == 1:
        return _NO_FIT
    return sum(width == widths[0] for width in widths) / len(widths), widths[0]
