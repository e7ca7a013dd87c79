"""Excel and OpenDocument sheets: where the table is, which row names its columns, and of which type each column is."""

import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any

from shoal.engine_port import ReadOptions, Source
from shoal.engines.reading.assemble import (
    assemble,
    cell_text,
    check_names,
    decimal_of_cells,
    marker,
    tell_row_names,
    typed_column,
    with_row_names,
)
from shoal.engines.reading.content import Content
from shoal.errors import BadData, ShoalError, ShoalWarning

_ENTRIES = 10_000
_TOTAL = 512 << 20
_RATIO = 200
_LARGE = 10 << 20
_CELLS = 50_000_000
_STEP = 4 << 20
_CELL = re.compile(rb"<(?:[\w.-]+:)?c[\s/>]")
_PLACED = re.compile(rb"""<(?:[\w.-]+:)?c\s[^>]*?\br\s*=\s*["']([A-Za-z]{1,3})([0-9]{1,12})["']""")
"""A cell that tells where it is, as nearly all do."""
_TAG = re.compile(rb"<(?:[\w.-]+:)?(row|c|table|table-row|table-cell|covered-table-cell)(?=[\s/>])([^>]*)>")
_PLACE = re.compile(rb"""(?<![\w:.-])r\s*=\s*["']([A-Za-z]{0,3})([0-9]{1,12})["']""")
_VALUE = re.compile(rb"""\"[^\"]*\"|'[^']*'""")
_REPEATED = re.compile(rb"""number-(?:rows|columns)-repeated\s*=\s*["']([0-9]{1,12})["']""")


def guard(content: Content) -> None:
    """Refuse a zip that is damaged, or would unpack to more than a spreadsheet of people needs."""
    if content.data[:2] != b"PK":
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
            entries = archive.infolist()
            _check_sizes(content.name, entries)
            for entry in entries:
                _check_extent(content.name, lambda entry=entry: archive.open(entry))  # type: ignore[misc]
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


def _check_extent(name: str, opened: Callable[[], IO[bytes]]) -> None:
    """Refuse a sheet whose cells lie so far apart that the grid between them fills the memory.

    Reading a part to its end also checks that its size is no lie.
    """
    extent, cells, placed = _Extent(name), 0, 0
    with opened() as stream:
        for step in _steps(stream):
            found = _PLACED.findall(step)
            cells, placed = cells + len(_CELL.findall(step)), placed + len(found)
            extent.cover(max((int(row) for row in {row for _, row in found}), default=0), 0)
            extent.cover(0, max((_number(letters) for letters in {of for of, _ in found}), default=0))
            if b"number-" in step:  # a table of OpenDocument
                cells += 1
    if cells > placed:  # some cells follow on others: look at each
        with opened() as stream:
            extent = _Extent(name)
            for step in _steps(stream):
                for kind, attributes in _TAG.findall(step):
                    extent.see(kind.decode(), attributes)


class _Extent:
    """How far the cells of a sheet reach."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows = self.columns = 0
        self.row = self.column = 0
        """How many rows and cells of the row came so far."""
        self.repeated = 1
        """How many rows the current one stands for."""

    def cover(self, rows: int, columns: int) -> None:
        self.rows, self.columns = max(self.rows, rows), max(self.columns, columns)
        if self.rows * self.columns > _CELLS:
            raise BadData(
                f"{self.name}: a sheet spans {self.rows:,} rows × {self.columns:,} columns; delete what is far outside"
            )

    def see(self, kind: str, attributes: bytes) -> None:
        """Follow a row or a cell, which tells its place or comes after the one before it."""
        if {*b"\"'"} & {*_VALUE.sub(b"", attributes)}:
            raise ValueError(kind)  # a > inside a value, where no program writes one
        if kind == "table":
            self.row, self.column, self.repeated = 0, 0, 1
        elif kind in {"row", "c"}:
            self._see_placed(kind, _PLACE.search(attributes))
        else:
            repeated = _REPEATED.search(attributes)
            self._see_repeated(kind, attributes, 1 if repeated is None else int(repeated[1]))

    def _see_placed(self, kind: str, place: re.Match[bytes] | None) -> None:
        if kind == "row":
            self.row, self.column = self.row + 1 if place is None else int(place[2]), 0
        elif place is None:
            self.column += 1
        else:
            self.row, self.column = int(place[2]), _number(place[1])
        self.cover(self.row, self.column)

    def _see_repeated(self, kind: str, attributes: bytes, times: int) -> None:
        if kind == "table-row":
            self.row, self.column, self.repeated = self.row + self.repeated, 0, times
            return
        self.column += times
        if b"value-type" in attributes or not attributes.endswith(b"/"):  # it is not empty
            self.cover(self.row + self.repeated - 1, self.column)


def _steps(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield a part in steps that end with a tag, as long as tags have a size that programs write."""
    rest = b""
    while step := stream.read(_STEP):
        whole, end, rest = (rest + step).rpartition(b">")
        if len(rest) > _STEP:
            whole, rest = whole + end + rest, b""  # this is no XML
        yield whole + end
    yield rest


def _number(letters: bytes) -> int:
    """Return the number of a column: A is 1, AA is 27."""
    result = 0
    for letter in letters.upper():
        result = result * 26 + letter - ord("A") + 1
    return result


Merged = Sequence[tuple[tuple[int, int], tuple[int, int]]]


@dataclass(frozen=True)
class FilledSheet:
    """The filled part of a sheet: from its first column in use to its last."""

    name: str
    rows: Mapping[int, list[Any]]
    """Rows in use by their number, from 1; an empty cell is None."""
    groups: Mapping[int, Sequence[tuple[int, int]]]
    """By row, the first and last column of cells that are merged into one, from 0; without titles."""
    titles: Collection[int]
    """Rows with one cell that is merged over several columns, from the first on."""
    width: int

    @classmethod
    def of(cls, name: str, cells: Sequence[Sequence[Any]], merged: Merged) -> "FilledSheet":
        filled = [[None if cell == "" else cell for cell in row] for row in cells]
        used = {at for row in filled for at, cell in enumerate(row) if cell is not None}
        if not used:
            return cls(name, {}, {}, (), 0)
        left, right = min(used), max(used) + 1
        rows = {number: row[left:right] for number, row in enumerate(filled, 1)}
        last = max(number for number, row in rows.items() if not _empty(row))
        # in a sheet of one column an empty row is a missing value, but not before and after the others
        first = min(number for number, row in rows.items() if not _empty(row))
        one = right - left == 1
        kept = {n: row for n, row in rows.items() if first <= n <= last and (one or not _empty(row))}
        wide = [(top + 1, begin - left, end - left) for (top, begin), (_, end) in merged if begin < end]
        alone = {n for n, begin, _ in wide if n in kept and begin == 0 and sum(c is not None for c in kept[n]) == 1}
        groups: dict[int, list[tuple[int, int]]] = {}
        for number, begin, end in wide:
            if number not in alone:
                groups.setdefault(number, []).append((begin, end))
        return cls(name, kept, groups, alone, right - left)

    @cached_property
    def header_row(self) -> int:
        """The row that names the columns: the first that is no title, if it holds texts, else the first."""
        first = min(self.rows, default=1)
        found = next((number for number in self.rows if not self._is_title(number)), first)
        return found if found in self.rows and self._is_text(found) else first

    def _is_title(self, number: int) -> bool:
        """Whether a row has too few cells to name the columns: one cell alone, or less than half of them."""
        filled = sum(cell is not None for cell in self._spread(number))
        apart = number in self.titles or number + 1 not in self.rows
        return filled * 2 < self.width or (filled == 1 < self.width and apart)

    def _is_text(self, number: int) -> bool:
        return all(cell is None or isinstance(cell, str) for cell in self.rows[number])

    @property
    def is_table(self) -> bool:
        """Whether all columns but perhaps the first have names of their own, and there are rows below them."""
        if not self.rows:
            return False
        names, depth = self.names(self.header_row)
        named = names[1:] if self.width > 1 else names
        return all(named) and len({*names}) == len(names) and self.header_row + depth <= max(self.rows)

    def names(self, number: int) -> tuple[list[str], int]:
        """Return the names of the columns, those of merged cells before those below them, and how many rows tell them.

        "Blood pressure" over "systolic" and "diastolic" makes "Blood pressure systolic" and "Blood pressure diastolic".
        """
        below = number
        while self.groups.get(below):
            below += 1
        told = [self._spread(at) for at in range(number, below + 1) if at in self.rows]
        cells = [[row[column] for row in told if row[column] is not None] for column in range(self.width)]
        return [" ".join(cell_text(cell).strip() for cell in each) for each in cells], below - number + 1

    def _spread(self, number: int) -> list[Any]:
        """Return a row in which a merged cell fills all the columns that it covers."""
        row = list(self.rows[number])
        for begin, end in self.groups.get(number, ()):
            row[begin : end + 1] = [row[begin]] * (end + 1 - begin)
        return row


def read_excel(content: Content, options: ReadOptions) -> Source:
    """Read one sheet: the one named in the options, else the first that holds a table."""
    guard(content)
    sheet, is_first = _chosen(_sheets(content, options.sheet))
    row = options.header_row or sheet.header_row
    if sheet.rows and row not in sheet.rows:
        raise BadData(f"{content.name}: sheet {sheet.name!r} has nothing in row {row}; give another header row")
    titles, depth = sheet.names(row) if sheet.rows else ([], 1)
    names = with_row_names(titles)
    check_names(content.name, names)
    rows = [cells for number, cells in sheet.rows.items() if number >= row + depth]
    if not rows:
        raise BadData(f"{content.name}: the sheet has a header but no records")
    if names != titles:
        tell_row_names(content.name, unique=_tells_rows_apart([cells[0] for cells in rows]))
    columns = {name: typed_column(name, [cells[i] for cells in rows]) for i, name in enumerate(names)}
    decimals = [decimal_of_cells(column, options) for column in columns.values()]
    commas: dict[str, str | int] = {"decimal": ","} if "," in decimals else {}
    found: dict[str, str | int] = {"sheet": sheet.name, "header-row": row, **commas}
    given = {"sheet": options.sheet, "header-row": options.header_row, "decimal": options.decimal}
    guessed = {key: value for key, value in found.items() if given[key] is None}
    under_titles = options.header_row is None and row > min(sheet.rows)
    if not is_first or under_titles or ({"sheet", "header-row"} & {*guessed} and depth > 1):
        _tell_found(content.name, sheet, row, depth)
    table = assemble(content.name, columns, options, decimals)
    return Source(table, format="excel", name=content.name, missing=marker(options), guessed=guessed)


def _chosen(sheets: Iterator[FilledSheet]) -> tuple[FilledSheet, bool]:
    """Return the first sheet with a table of several columns, else of one, else the first; and whether it is that."""
    seen: list[FilledSheet] = []
    for sheet in sheets:
        seen.append(sheet)
        if sheet.is_table and sheet.width > 1:
            return sheet, len(seen) == 1
    chosen = next((sheet for sheet in seen if sheet.is_table), seen[0])
    return chosen, chosen is seen[0]


def _tell_found(name: str, sheet: FilledSheet, row: int, depth: int) -> None:
    where = f"rows {row} to {row + depth - 1}, joined" if depth > 1 else f"row {row}"
    warnings.warn(
        f"{name}: the table is read from sheet {sheet.name!r}, its column names from {where}; give another sheet or "
        "header row if that is wrong",
        ShoalWarning,
        stacklevel=3,
    )


def _sheets(content: Content, wanted: str | None) -> Iterator[FilledSheet]:
    """Yield the sheets of a file, or the one that is wanted."""
    import python_calamine as calamine

    try:
        book = calamine.load_workbook(io.BytesIO(content.data))
        names = [one.name for one in book.sheets_metadata if one.typ == calamine.SheetTypeEnum.WorkSheet]
        if wanted not in {None, *names}:
            raise BadData(f"{content.name}: there is no sheet {wanted!r}; there is {', '.join(map(repr, names))}")
        for name in names if wanted is None else [wanted]:
            sheet = book.get_sheet_by_name(name)
            cells: list[list[Any]] = sheet.to_python(skip_empty_area=False)
            yield FilledSheet.of(name, cells, sheet.merged_cell_ranges or ())
    except calamine.PasswordError:
        raise BadData(f"{content.name}: the file is protected by a password; save it without one") from None
    except ShoalError:
        raise
    except (calamine.CalamineError, OSError, IndexError, ValueError):
        raise BadData(f"{content.name}: this is not an Excel file, or it is damaged") from None


def _tells_rows_apart(cells: Sequence[Any]) -> bool:
    return None not in cells and len({*map(cell_text, cells)}) == len(cells)


def _empty(row: Sequence[Any]) -> bool:
    return all(cell is None for cell in row)
