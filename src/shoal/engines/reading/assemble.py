"""Make a Table from Arrow columns: checks, encoding and warnings that all formats share."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.data.codes import Column, Table, encode
from shoal.engine_port import ReadOptions
from shoal.errors import BadData, ShoalWarning
from shoal.risk.vocabulary import fold_text
from shoal.runtime.events import step_through

if TYPE_CHECKING:
    from shoal.engine_port import Sniffed

FRAME = "the frame"
"""Name of a frame in error messages."""

_PLAIN = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_time,
    pa.types.is_duration,
    pa.types.is_null,
)
_REFUSED = {
    pa.types.is_nested: "lists or records, not one value per row",
    pa.types.is_binary: "binary data",
    pa.types.is_large_binary: "binary data",
    pa.types.is_binary_view: "binary data",
    pa.types.is_fixed_size_binary: "binary data",
}


def assemble(
    name: str, columns: Mapping[str, Any], options: ReadOptions, marks: "Sequence[NumberMarks] | None" = None
) -> Table:
    """Encode the columns of a table called `name`; their names have passed `check_names`."""
    rows = len(next(iter(columns.values())))
    if not rows:
        raise BadData(f"{name}: there are no records")
    known = marks or [NumberMarks(options.decimal or ".")] * len(columns)
    encoded = {
        title: _encode_column(name, title, array, mark, options)
        for (title, array), mark in step_through(list(zip(columns.items(), known, strict=True)))
    }
    for column in encoded.values():
        refuse_beyond_calendar(name, column)
        warn_of_look_alikes(column)
    table = Table(encoded, rows)
    if said := describe_total(name, table):
        warnings.warn(said, ShoalWarning, stacklevel=3)
    return table


_TOTALS = {
    *("total", "totals", "totale", "totaal", "totaux", "total general", "grand total", "subtotal", "sum", "sums"),
    *("summe", "gesamt", "gesamtsumme", "insgesamt", "summe gesamt", "zwischensumme", "somme", "ensemble", "suma"),
    *("somma", "soma", "som", "eindtotaal", "razem", "lacznie", "ogolem", "toplam", "genel toplam"),
}
"""First cells of a row that sums up the others, in nine languages, folded."""


def describe_total(name: str, table: Table) -> str | None:
    """Say that the last row looks like a total: its first filled cell says so, and most others are empty; else None."""
    last = [
        column.texts[code].as_py()
        for column in table.columns.values()
        if (code := int(column.codes[-1])) != column.null_code
    ]
    if len(last) < 2 or 2 * len(last) > len(table.columns) + 1:
        return None
    word = fold_text(last[0]).strip(" :.=")
    if word not in _TOTALS:
        return None
    return f"{name}: the last row looks like a total (it begins with {word!r}), not like a person: delete it"


def check_names(name: str, titles: Sequence[Any]) -> None:
    """Refuse a table without columns, and columns whose name is not text, is empty or occurs twice."""
    if not titles:
        raise BadData(f"{name}: the table is empty: no columns")
    first: dict[str, int] = {}
    for at, title in enumerate(titles, 1):
        if not isinstance(title, str):
            raise BadData(f"{name}: the name of column {at} is not text; rename the columns to strings")
        if not title.strip():
            raise BadData(f"{name}: column {at} has no name; give it one")
        if title in first:
            raise BadData(f"{name}: columns {first[title]} and {at} are both named {title!r}; rename one")
        first[title] = at


ROW_NAMES = "row names"
"""Name of a first column without one, which only numbers or names the rows."""


def with_row_names(titles: Sequence[Any]) -> list[Any]:
    """Return the titles of a table, with "row names" in place of an empty first one.

    >>> with_row_names(["", "age"]), with_row_names(["age", ""])
    (['row names', 'age'], ['age', ''])
    """
    unnamed = len(titles) > 1 and isinstance(titles[0], str) and not titles[0].strip()
    return [ROW_NAMES, *titles[1:]] if unnamed and ROW_NAMES not in titles else list(titles)


def warn_of_row_names(name: str, options: ReadOptions, *, unique: bool) -> None:
    """Warn that the first column is read as row names, unless that is settled; refuse it if its values repeat."""
    if not unique:
        raise BadData(f"{name}: column 1 has no name; give it one")
    if options.row_names_settled:
        return
    warnings.warn(
        f"{name}: the first column has no name and another value in every row, so it is read as {ROW_NAMES!r}; shoal "
        "init drops it as an identifier, and a policy must give it a role like any other column",
        ShoalWarning,
        stacklevel=2,
    )


def check_type(name: str, title: str, of: pa.DataType) -> None:
    """Refuse a column that does not hold one plain value per row."""
    plain = of.value_type if pa.types.is_dictionary(of) else of
    if any(test(plain) for test in _PLAIN):
        return
    what = next((said for test, said in _REFUSED.items() if test(plain)), "values of a type Shoal does not know")
    raise BadData(f"{name}: column {title!r} holds {what}; drop it or turn it into text")


def null_marker(options: ReadOptions) -> str:
    """Return the text that is written for null."""
    return options.missing[0] if options.missing else ""


@dataclass(frozen=True)
class NumberMarks:
    """How the numbers among the texts of a column are written."""

    decimal: str = "."
    thousands: str = ""
    """The mark between thousands, one of those that a policy may name; empty if there is none."""


def encode_as_read(title: str, array: Any, marks: NumberMarks, options: ReadOptions) -> Column:
    """Encode the cells or the distinct values of a column as the options of reading say."""
    return encode(
        title,
        array,
        missing=options.missing,
        decimal=marks.decimal,
        thousands=THOUSANDS.get(marks.thousands, ""),
        normalise=options.normalise,
        step=options.step(title),
        bounds=options.bounds_of(title),
    )


def _encode_column(name: str, title: str, array: Any, marks: NumberMarks, options: ReadOptions) -> Column:
    check_type(name, title, array.type)
    try:
        return encode_as_read(title, array, marks, options)
    except (pa.ArrowException, UnicodeError):  # their messages may contain cells
        raise BadData(f"{name}: column {title!r} cannot be read; turn it into text") from None


_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400
_YEARS = 32_767
"""Years beyond this, after or before year 0, cannot be written by both Arrow and DuckDB."""


def bounds_of(of: pa.DataType) -> tuple[int, int] | None:
    """Return the first and the last valid date or timestamp of a type as numbers; None for other types."""
    first, last = (int(np.datetime64(day, "D").astype(np.int64)) for day in (f"-{_YEARS}-01-01", f"{_YEARS}-12-31"))
    if pa.types.is_date32(of):
        return first, last
    if not pa.types.is_timestamp(of) and not pa.types.is_date64(of):
        return None
    day = _DAY * _UNITS[of.unit if pa.types.is_timestamp(of) else "ms"]
    return max(first * day, -(2**63)), min((last + 1) * day - 1, 2**63 - 1)


def find_beyond_calendar(moments: pa.Array) -> int | None:
    """Return the index of the first date or timestamp out of bounds; None if there is none."""
    bounds = bounds_of(moments.type)
    if bounds is None:
        return None
    numbers = moments.view(pa.int32()) if pa.types.is_date32(moments.type) else moments.view(pa.int64())
    beyond = pc.or_(pc.less(numbers, bounds[0]), pc.greater(numbers, bounds[1]))
    found = pc.index(beyond, True).as_py()
    return found if found >= 0 else None


def beyond_calendar_error(name: str, title: str, row: int) -> BadData:
    """Return the error for a date or timestamp whose year is out of bounds."""
    return BadData(
        f"{name}: column {title!r}, row {row}: the year of a date or timestamp is beyond {_YEARS:,}, after or before "
        "our era; correct it, or turn the column into text"
    )


def refuse_beyond_calendar(name: str, column: Column) -> None:
    """Refuse a column with a date or timestamp out of bounds, which could be shown as a number only."""
    code = find_beyond_calendar(column.values)
    if code is not None:
        raise beyond_calendar_error(name, column.name, column.first_row(code))


def warn_of_look_alikes(column: Column) -> None:
    """Warn of values of a column that differ in form only, such as 5 and 5.0."""
    if count := column.look_alikes:
        warnings.warn(
            f"column {column.name!r}: {count:,} values differ only in form (like 5 and 5.0, or outer spaces)"
            " and are kept apart; set normalise = true under [data] to join them",
            ShoalWarning,
            stacklevel=2,
        )


THOUSANDS: Mapping[str, str] = {".": ".", ",": ",", " ": " \u00a0\u202f", "'": "'’"}
"""Marks between thousands that a policy may name, each with the characters that are written for it."""
_BOTH_MARKS = "[0-9][.,'’ \u00a0\u202f][0-9]{3}[.,][0-9]"


def find_thousands(texts: pa.Array, options: ReadOptions) -> NumberMarks | None:
    """Return the marks of a column whose numbers have their thousands apart; None where that is not sure.

    All texts but missing ones are numbers, and one of them has both a decimal mark and a mark between thousands, or the
    options say which mark that is.
    """
    present = _drop_missing(texts, options)
    given = options.thousands
    if given is None and not pc.any(pc.match_substring_regex(present, _BOTH_MARKS)).as_py():
        return None
    for thousands in THOUSANDS if given is None else [given]:
        mark = f"[{THOUSANDS[thousands]}]"
        for decimal in ",." if options.decimal is None else options.decimal:
            number = rf"\A-?([0-9]+|[1-9][0-9]{{0,2}}({mark}[0-9]{{3}})+)([{decimal}][0-9]+)?\z"
            apart = mark if given is not None else f"{mark}[0-9]{{3}}[{decimal}]"
            if (
                decimal != thousands
                and pc.all(pc.match_substring_regex(present, number)).as_py()
                and pc.any(pc.match_substring_regex(present, apart)).as_py()
            ):
                return NumberMarks(decimal, thousands)
    return None


_DECIMAL_COMMA = r"\A-?[0-9]+(,[0-9]+)?\z"
_THOUSANDS = r"\A-?([1-9][0-9]{0,2}(,[0-9]{3})?|0)\z"


def check_thousands(name: str, options: ReadOptions) -> None:
    """Refuse a mark between thousands that cannot be used."""
    if options.thousands not in {None, *THOUSANDS}:
        raise BadData(f"{name}: the mark between thousands must be '.', ',', \"'\" or ' ', not {options.thousands!r}")
    if options.thousands is not None and options.thousands == options.decimal:
        raise BadData(f"{name}: the decimal mark and the mark between thousands are both {options.decimal!r}")


def has_decimal_commas(texts: pa.Array, options: ReadOptions) -> bool:
    """Return whether all texts but missing ones are numbers, and one of them has a decimal comma."""
    present = _drop_missing(texts, options)
    numbers = pc.all(pc.match_substring_regex(present, _DECIMAL_COMMA)).as_py()
    return bool(numbers and pc.any(pc.match_substring(present, ",")).as_py())


def marks_of_cells(cells: pa.Array, options: ReadOptions) -> NumberMarks:
    """Return how numbers are written in the cells of a sheet: only texts can have a comma.

    If every comma is followed by three digits, it may separate thousands, and is not taken for a decimal mark.
    """
    if not pa.types.is_string(cells.type):
        return NumberMarks()
    texts = cells.drop_null()
    if found := find_thousands(texts, options):
        return found
    if options.decimal is not None:
        return NumberMarks(options.decimal)
    thousands = pc.all(pc.match_substring_regex(_drop_missing(texts, options), _THOUSANDS)).as_py()
    return NumberMarks("," if has_decimal_commas(texts, options) and not thousands else ".")


def sniffed_marks(marks: Sequence[NumberMarks]) -> "dict[str, Sniffed]":
    """Return what the marks of the columns tell about a table, by its key under [data]."""
    commas: dict[str, Sniffed] = {"decimal": ","} if any(of.decimal == "," for of in marks) else {}
    apart = {of.thousands for of in marks if of.thousands}
    return {**commas, "thousands": apart.pop()} if len(apart) == 1 else commas


def _drop_missing(texts: pa.Array, options: ReadOptions) -> pa.Array:
    return texts.filter(pc.invert(pc.is_in(texts, value_set=pa.array(options.missing, pa.string()))))


_EXACT = 2**53


def typed_column(name: str, cells: Sequence[Any]) -> pa.Array:
    """Return the cells of a column as an array of their common type, or as text if they are mixed."""
    sorts = {_kind_of_cell(cell) for cell in cells if cell is not None}
    if sorts == {"number"}:
        return _numbers(cells)
    if sorts == {"date"}:
        return _date_array(cells)
    if len(sorts) > 1:
        warnings.warn(
            f"column {name!r} mixes {' and '.join(sorted(sorts))} cells and is read as text",
            ShoalWarning,
            stacklevel=2,
        )
    of = pa.bool_() if sorts == {"true/false"} else pa.string()
    return pa.array([None if c is None else c if sorts == {"true/false"} else cell_text(c) for c in cells], of)


def _kind_of_cell(cell: Any) -> str:
    if isinstance(cell, bool):
        return "true/false"
    if isinstance(cell, int | float):
        return "number"
    if isinstance(cell, date):
        return "date"
    return "text" if isinstance(cell, str) else "time"


def _numbers(cells: Sequence[Any]) -> pa.Array:
    """Return a column of numbers, as integers if all are whole and exact: many formats store floats only."""
    if all(cell is None or (abs(cell) < _EXACT and cell == int(cell)) for cell in cells):
        return pa.array([None if cell is None else int(cell) for cell in cells], pa.int64())
    return pa.array(cells, pa.float64())


def _date_array(cells: Sequence[Any]) -> pa.Array:
    """Return a column of timestamps, as dates if all are at midnight: Excel stores timestamps only."""
    moments = [cell if cell is None or isinstance(cell, datetime) else datetime.combine(cell, time()) for cell in cells]
    stamps = pa.array(moments, pa.timestamp("us"))
    return stamps.cast(pa.date32()) if all(m is None or m.time() == time() for m in moments) else stamps


def cell_text(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and abs(cell) < _EXACT and cell.is_integer():
        return str(int(cell))
    return str(cell)
