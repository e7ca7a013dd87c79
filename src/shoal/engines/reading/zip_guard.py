"""A look into a zip before anything unpacks it: a small file must not become a big memory."""

import io
import re
import zipfile
import zlib
from typing import IO

from shoal.engines.reading.content import Content
from shoal.errors import BadData

_ENTRIES = 10_000
_TOTAL = 512 << 20
_RATIO = 200
_LARGE = 10 << 20
_CELLS = 50_000_000
_STEP = 4 << 20
_REFERENCE = re.compile(rb"""\br=["']([A-Z]{0,3})([0-9]{1,7})["']""")


def guard(content: Content) -> None:
    """Refuse a zip that is damaged, or would unpack to more than a spreadsheet of people needs."""
    if content.data[:2] != b"PK":
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
            entries = archive.infolist()
            _check_sizes(content.name, entries)
            for entry in entries:
                with archive.open(entry) as stream:  # reading to the end checks that its size is no lie
                    _check_extent(content.name, stream)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, ValueError):
        raise BadData(f"{content.name}: this is not an Excel file, or it is damaged") from None


def _check_sizes(name: str, entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > _ENTRIES:
        raise BadData(f"{name}: the file is a zip of {len(entries):,} parts; a spreadsheet has at most {_ENTRIES:,}")
    if sum(entry.file_size for entry in entries) > _TOTAL:
        raise BadData(f"{name}: the file unpacks to more than {_TOTAL >> 20} MB; save it as CSV")
    for entry in entries:
        if entry.file_size > max(_LARGE, _RATIO * entry.compress_size):
            raise BadData(f"{name}: a part of the file unpacks to more than {_RATIO} times its size; save it as CSV")


def _check_extent(name: str, stream: IO[bytes]) -> None:
    """Refuse a sheet whose cells lie so far apart that the grid between them fills the memory."""
    rows, columns, rest = 0, 0, b""
    while step := stream.read(_STEP):
        found = _REFERENCE.findall(rest + step)
        rows = max(rows, max((int(row) for row in {row for _, row in found}), default=0))
        columns = max(columns, max((_number(letters) for letters in {of for of, _ in found}), default=0))
        rest = step[-32:]
    if rows * columns > _CELLS:
        raise BadData(f"{name}: a sheet spans {rows:,} rows × {columns:,} columns; delete what is far outside")


def _number(letters: bytes) -> int:
    """Return the number of a column: A is 1, AA is 27."""
    result = 0
    for letter in letters:
        result = result * 26 + letter - ord("A") + 1
    return result
