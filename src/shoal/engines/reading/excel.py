"""Read Excel and OpenDocument sheets: find the table, the row that names its columns, and the type of each column."""

import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

from shoal.engine_port import ReadOptions, Source
from shoal.engines.reading.assemble import (
    assemble,
    cell_text,
    check_names,
    check_thousands,
    marks_of_cells,
    null_marker,
    sniffed_marks,
    typed_column,
    warn_of_row_names,
    with_row_names,
)
from shoal.engines.reading.content import Content
from shoal.engines.reading.sniff import names_columns, warn_of_values_among
from shoal.errors import BadData, ShoalError, ShoalWarning

if TYPE_CHECKING:
    from shoal.engine_port import Sniffed

_ENTRIES = 10_000
_TOTAL = 512 << 20
_RATIO = 200
_LARGE = 10 << 20
_CELLS = 50_000_000
_STEP = 4 << 20
_CELL = re.compile(rb"<(?:[\w.-]+:)?c[\s/>]")
_PLACED = re.compile(rb"""<(?:[\w.-]+:)?c\s[^>]*?\br\s*=\s*["']([A-Za-z]{1,3})([0-9]{1,12})["']""")
"""A cell with its position, as nearly all have."""
_TAG = re.compile(rb"<(?:[\w.-]+:)?(row|c|table|table-row|table-cell|covered-table-cell)(?=[\s/>])([^>]*)>")
_PLACE = re.compile(rb"""(?<![\w:.-])r\s*=\s*["']([A-Za-z]{0,3})([0-9]{1,12})["']""")
_VALUE = re.compile(rb"""\"[^\"]*\"|'[^']*'""")
_REPEATED = re.compile(rb"""number-(?:rows|columns)-repeated\s*=\s*["']([0-9]{1,12})["']""")


def refuse_unsafe_zip(content: Content) -> None:
    """Refuse a zip that is damaged, or would unpack to far more than a plausible spreadsheet."""
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
    """Refuse a sheet whose cells are so far apart that the grid between them would fill the memory.

    Reading a part to its end also verifies its declared size.
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
    if cells > placed:  # some cells have no position and follow the one before: examine each
        with opened() as stream:
            extent = _Extent(name)
            for step in _steps(stream):
                for kind, attributes in _TAG.findall(step):
                    extent.follow(kind.decode(), attributes)


class _Extent:
    """The number of rows and columns that the cells of a sheet span."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows = self.columns = 0
        self.row = self.column = 0
        """Current row, and current cell in it."""
        self.repeated = 1
        """Number of equal rows that the current one stands for."""

    def cover(self, rows: int, columns: int) -> None:
        """Extend the span to these rows and columns; refuse one that is too large."""
        self.rows, self.columns = max(self.rows, rows), max(self.columns, columns)
        if self.rows * self.columns > _CELLS:
            raise BadData(
                f"{self.name}: a sheet spans {self.rows:,} rows × {self.columns:,} columns; delete what is far outside"
            )

    def follow(self, kind: str, attributes: bytes) -> None:
        """Account for the tag of a table, row or cell, which has a position or follows the one before it."""
        if {*b"\"'"} & {*_VALUE.sub(b"", attributes)}:
            raise ValueError(kind)  # a > inside an attribute value, which no program writes
        if kind == "table":
            self.row, self.column, self.repeated = 0, 0, 1
        elif kind in {"row", "c"}:
            self._follow_placed(kind, _PLACE.search(attributes))
        else:
            repeated = _REPEATED.search(attributes)
            self._follow_repeated(kind, attributes, 1 if repeated is None else int(repeated[1]))

    def _follow_placed(self, kind: str, place: re.Match[bytes] | None) -> None:
        if kind == "row":
            self.row, self.column = self.row + 1 if place is None else int(place[2]), 0
        elif place is None:
            self.column += 1
        else:
            self.row, self.column = int(place[2]), _number(place[1])
        self.cover(self.row, self.column)

    def _follow_repeated(self, kind: str, attributes: bytes, times: int) -> None:
        if kind == "table-row":
            self.row, self.column, self.repeated = self.row + self.repeated, 0, times
            return
        self.column += times
        if b"value-type" in attributes or not attributes.endswith(b"/"):  # it is not empty
            self.cover(self.row + self.repeated - 1, self.column)


def _steps(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield a part in chunks that end with a complete tag, unless a tag is implausibly long."""
    rest = b""
    while step := stream.read(_STEP):
        whole, end, rest = (rest + step).rpartition(b">")
        if len(rest) > _STEP:
            whole, rest = whole + end + rest, b""  # this is not XML
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
    """The filled part of a sheet, from its first to its last column in use."""

    name: str
    rows: Mapping[int, list[Any]]
    """Rows in use by their number, from 1; an empty cell is None."""
    groups: Mapping[int, Sequence[tuple[int, int]]]
    """For each row that is not a title, the first and last column of each merged cell, counted from 0."""
    titles: Collection[int]
    """Rows whose only cell is merged over several columns, beginning with the first."""
    width: int
    tall: Collection[int] = ()
    """Rows with a cell that is merged over this row and the next."""

    @classmethod
    def of(cls, name: str, cells: Sequence[Sequence[Any]], merged: Merged) -> "FilledSheet":
        filled = [[None if cell == "" else cell for cell in row] for row in cells]
        used = {at for row in filled for at, cell in enumerate(row) if cell is not None}
        if not used:
            return cls(name, {}, {}, (), 0)
        left, right = min(used), max(used) + 1
        rows = {number: row[left:right] for number, row in enumerate(filled, 1)}
        last = max(number for number, row in rows.items() if not _is_empty(row))
        # in a sheet of one column an empty row is a missing value, except before the first and after the last value
        first = min(number for number, row in rows.items() if not _is_empty(row))
        width = right - left
        one = width == 1
        kept = {n: row for n, row in rows.items() if first <= n <= last and (one or not _is_empty(row))}
        wide = [(top + 1, begin - left, end - left) for (top, begin), (_, end) in merged if begin < end]
        alone = {n for n, begin, _ in wide if n in kept and begin == 0 and sum(c is not None for c in kept[n]) == 1}
        groups: dict[int, list[tuple[int, int]]] = {}
        for number, begin, end in wide:
            if number not in alone:
                groups.setdefault(number, []).append((begin, end))
        tall = {row for (top, begin), (bottom, end) in merged if begin == end for row in range(top + 1, bottom + 1)}
        return cls(name, kept, groups, alone, width, tall)

    @cached_property
    def header_row(self) -> int:
        """The row that names the columns: the first that is not a title, if it has only texts, else the first."""
        first = min(self.rows, default=1)
        found = next((number for number in self.rows if not self._is_title(number)), first)
        return found if found in self.rows and self._is_text(found) else first

    def _is_title(self, number: int) -> bool:
        """Return whether a row has too few cells to name the columns: a single one, or less than half of them."""
        filled = sum(cell is not None for cell in self._fill_merged_cells(number))
        apart = number in self.titles or number + 1 not in self.rows
        return filled * 2 < self.width or (filled == 1 < self.width and apart)

    def _is_text(self, number: int) -> bool:
        return all(cell is None or isinstance(cell, str) for cell in self.rows[number])

    @property
    def is_table(self) -> bool:
        """Whether all columns, except perhaps the first, have distinct names, and there are rows below them."""
        if not self.rows:
            return False
        names, depth = self.column_names(self.header_row)
        named = names[1:] if self.width > 1 else names
        return all(named) and len({*names}) == len(names) and self.header_row + depth <= max(self.rows)

    def may_be_read(self, rows: tuple[int, int] | None) -> bool:
        """Return whether the sheet holds a table, with names in these rows if given; a cover page holds none."""
        if self.width == 1 and _is_empty(self.rows.get(self.header_row + 1, [])):
            return False
        if rows is None or rows[0] not in self.rows:
            return rows is None and self.is_table
        names, _ = self.column_names(*rows)
        return all(names[1:] if self.width > 1 else names)

    def column_names(self, number: int, last: int | None = None) -> tuple[list[str], int]:
        """Return the names of the columns and the number of rows they come from, given the first of these rows.

        A merged "Blood pressure" over "systolic" and "diastolic" makes "Blood pressure systolic" and "Blood pressure
        diastolic"; rows are joined up to the `last`, or as far as they look like names. A merged cell that nothing
        below divides is numbered in the further columns that it covers.
        """
        end = self._last_of_names(number) if last is None else last
        told = [self._fill_merged_cells(at) for at in range(number, end + 1) if at in self.rows]
        cells = [[row[column] for row in told if row[column] is not None] for column in range(self.width)]
        names = [" ".join(cell_text(cell).strip() for cell in each) for each in cells]
        for begin, until in self.groups.get(end, ()):
            for nth, column in enumerate(range(begin + 1, min(until + 1, self.width)), 2):
                names[column] = f"{names[begin]} {nth}"
        return names, end - number + 1

    def _last_of_names(self, number: int) -> int:
        """Return the last of the rows whose names are joined: a merged cell stands over names, not over data."""
        while self.divides(number) and number + 1 in self.rows:
            below = [cells for at, cells in self.rows.items() if at > number + 1]
            if not names_columns(self.rows[number + 1], below, settled=number in self.tall):
                break
            number += 1
        return number

    def divides(self, number: int) -> bool:
        """Return whether a cell of a row is merged over several columns in use."""
        return any(begin + 1 < self.width for begin, _ in self.groups.get(number, ()))

    def _fill_merged_cells(self, number: int) -> list[Any]:
        """Return a row in which merged cells are repeated in all columns that they cover."""
        row = list(self.rows[number])
        for begin, end in self.groups.get(number, ()):
            row[begin : end + 1] = [row[begin]] * (end + 1 - begin)
        return row


def read_excel(content: Content, options: ReadOptions) -> Source:
    """Read one sheet: the one named in the options, else the first that holds a table."""
    check_thousands(content.name, options)
    refuse_unsafe_zip(content)
    sheet, is_first = _choose_sheet(_sheets(content, options.sheet))
    given_rows = _rows_of(options)
    if options.sheet is not None and not sheet.may_be_read(given_rows):
        _name_other_tables(content, sheet)
    row, last = given_rows or (sheet.header_row, None)
    if sheet.rows and row not in sheet.rows:
        raise BadData(f"{content.name}: sheet {sheet.name!r} has nothing in row {row}; give another header row")
    titles, depth = sheet.column_names(row, last) if sheet.rows else ([], 1)
    names = with_row_names(titles)
    check_names(content.name, names)
    rows = [cells for number, cells in sheet.rows.items() if number >= row + depth]
    if not rows:
        raise BadData(f"{content.name}: the sheet has a header but no records")
    if names != titles:
        warn_of_row_names(content.name, options, unique=_is_unique([cells[0] for cells in rows]))
    doubtful = warn_of_values_among(content.name, names, options)
    columns = {name: typed_column(name, [cells[i] for cells in rows]) for i, name in enumerate(names)}
    marks = [marks_of_cells(column, options) for column in columns.values()]
    known = sniffed_marks(marks)
    found: dict[str, Sniffed] = {"sheet": sheet.name, **known}
    if not doubtful:  # who gives the row has decided that it names the columns
        found["header-row"] = row if depth == 1 else (row, row + depth - 1)
    guessed = {key: value for key, value in found.items() if getattr(options, key.replace("-", "_")) is None}
    under_titles = given_rows is None and row > min(sheet.rows)
    alone = given_rows is None and depth == 1 and sheet.divides(row)
    if not is_first or under_titles or alone or depth > 1:
        _warn_of_choice(content.name, sheet, row, depth, alone=alone)
    table = assemble(content.name, columns, options, marks)
    # the list separator of an Excel that writes decimal commas, so that it opens a CSV of this sheet in columns
    delimiter = ";" if "decimal" in known else ","
    missing = null_marker(options)
    return Source(table, "excel", content.name, delimiter=delimiter, missing=missing, guessed=guessed)


def _rows_of(options: ReadOptions) -> tuple[int, int] | None:
    """Return the first and the last row that name the columns, as given."""
    given = options.header_row
    if isinstance(given, tuple) and given[0] > given[1]:
        raise BadData(f"header rows {given[0]} to {given[1]}: name the first before the last")
    return (given, given) if isinstance(given, int) else given


def _choose_sheet(sheets: Iterator[FilledSheet]) -> tuple[FilledSheet, bool]:
    """Return the first sheet with a table of several columns, else of one, else the first; and whether it is first."""
    seen: list[FilledSheet] = []
    for sheet in sheets:
        seen.append(sheet)
        if sheet.is_table and sheet.width > 1:
            return sheet, len(seen) == 1
    chosen = next((sheet for sheet in seen if sheet.is_table), seen[0])
    return chosen, chosen is seen[0]


def _name_other_tables(content: Content, sheet: FilledSheet) -> None:
    """Refuse a sheet that was asked for and holds no table, such as a cover page, where another sheet holds one."""
    others = [other.name for other in _sheets(content, None) if other.is_table and other.width > 1]
    if others:
        named = ", ".join(map(repr, others))
        raise BadData(
            f"{content.name}: sheet {sheet.name!r} holds no table; {named} {'does' if len(others) == 1 else 'do'}"
        )


def _warn_of_choice(name: str, sheet: FilledSheet, row: int, depth: int, *, alone: bool) -> None:
    """Warn about the sheet and the header rows that were chosen."""
    where = f"rows {row} to {row + depth - 1}, joined" if depth > 1 else f"row {row}"
    if alone:
        where += f" alone, since row {row + 1} may be data (if it is not, header-row = [{row}, {row + 1}] joins both)"
    warnings.warn(
        f"{name}: the table is read from sheet {sheet.name!r}, its column names from {where}; give another sheet or "
        "header row if that is wrong",
        ShoalWarning,
        stacklevel=3,
    )


def _sheets(content: Content, wanted: str | None) -> Iterator[FilledSheet]:
    """Yield the sheets of a file, or only the one that is wanted."""
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


def _is_unique(cells: Sequence[Any]) -> bool:
    """Return whether all cells are different and none is empty."""
    return None not in cells and len({*map(cell_text, cells)}) == len(cells)


def _is_empty(row: Sequence[Any]) -> bool:
    return all(cell is None for cell in row)
