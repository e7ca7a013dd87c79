"""Excel and OpenDocument sheets: the first row names the columns, a column has one type or is text."""

import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import IO, Any

import pyarrow as pa

from shoal.engine_port import ReadOptions, Source
from shoal.engines.reading.assemble import assemble, check_names, marker
from shoal.engines.reading.content import Content
from shoal.errors import BadData, ShoalError, ShoalWarning

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
    except ShoalError:
        raise
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


_EXACT = 2**53


def read_excel(content: Content, options: ReadOptions) -> Source:
    """Read one sheet: the one named in the options, else the first."""
    guard(content)
    names, rows = _table(_cells(content, options.sheet))
    check_names(content.name, names)
    if not rows:
        raise BadData(f"{content.name}: the sheet has a header but no records")
    columns = {name: _column(name, [row[i] for row in rows]) for i, name in enumerate(names)}
    table = assemble(content.name, columns, options)
    return Source(table, format="excel", name=content.name, missing=marker(options))


def _cells(content: Content, sheet: str | None) -> list[list[Any]]:
    import python_calamine as calamine

    try:
        book = calamine.load_workbook(io.BytesIO(content.data))
        if sheet is not None and sheet not in book.sheet_names:
            names = ", ".join(map(repr, book.sheet_names))
            raise BadData(f"{content.name}: there is no sheet {sheet!r}; there is {names}")
        rows: list[list[Any]] = book.get_sheet_by_name(sheet or book.sheet_names[0]).to_python()
    except calamine.PasswordError:
        raise BadData(f"{content.name}: the file is protected by a password; save it without one") from None
    except ShoalError:
        raise
    except (calamine.CalamineError, OSError, IndexError, ValueError):
        raise BadData(f"{content.name}: this is not an Excel file, or it is damaged") from None
    return rows


def _table(cells: list[list[Any]]) -> tuple[list[str], list[list[Any]]]:
    """Split off the header; leave out empty columns at the right and, as a CSV's blank lines, empty rows.

    In a sheet of one column an empty row is a missing value, but not at the end.
    """
    filled = [[None if cell == "" else cell for cell in row] for row in cells]
    while filled and _empty(filled[-1]):
        filled.pop()
    if not filled:
        return [], []
    width = max(at for row in filled for at, cell in enumerate(row, 1) if cell is not None)
    kept = [row for row in filled if width == 1 or not _empty(row)]
    return ["" if cell is None else _text(cell) for cell in kept[0][:width]], kept[1:]


def _empty(row: list[Any]) -> bool:
    return all(cell is None for cell in row)


def _column(name: str, cells: Sequence[Any]) -> pa.Array:
    """Turn the cells of a column into its one type, or into text."""
    sorts = {_sort(cell) for cell in cells if cell is not None}
    if sorts == {"number"}:
        return _numbers(cells)
    if sorts == {"date"}:
        return _moments(cells)
    if len(sorts) > 1:
        warnings.warn(
            f"column {name!r} mixes {' and '.join(sorted(sorts))} cells and is read as text",
            ShoalWarning,
            stacklevel=2,
        )
    of = pa.bool_() if sorts == {"true/false"} else pa.string()
    return pa.array([None if c is None else c if sorts == {"true/false"} else _text(c) for c in cells], of)


def _sort(cell: Any) -> str:
    if isinstance(cell, bool):
        return "true/false"
    if isinstance(cell, int | float):
        return "number"
    if isinstance(cell, date):
        return "date"
    return "text" if isinstance(cell, str) else "time"


def _numbers(cells: Sequence[Any]) -> pa.Array:
    """Numbers of a column; Excel knows floats only, so that whole ones become integers where that is exact."""
    if all(cell is None or (abs(cell) < _EXACT and cell == int(cell)) for cell in cells):
        return pa.array([None if cell is None else int(cell) for cell in cells], pa.int64())
    return pa.array(cells, pa.float64())


def _moments(cells: Sequence[Any]) -> pa.Array:
    """Moments of a column; Excel knows no dates, so that moments become dates where all are at midnight."""
    moments = [cell if cell is None or isinstance(cell, datetime) else datetime.combine(cell, time()) for cell in cells]
    stamps = pa.array(moments, pa.timestamp("us"))
    return stamps.cast(pa.date32()) if all(m is None or m.time() == time() for m in moments) else stamps


def _text(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and abs(cell) < _EXACT and cell.is_integer():
        return str(int(cell))
    return str(cell)
