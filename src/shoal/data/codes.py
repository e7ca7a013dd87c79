"""Values <-> dense integers: the only place where the strings of the data live.

A column is encoded once. Codes are ranks in the natural order of its values (numbers by size, dates by time,
text by code point), so `codes` alone carries the order; null, where there is one, is the last code.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Codes = NDArray[np.int32]

_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?"
_MINUS_ZERO = r"^-0(\.0*)?$"
_LONGEST_NUMBER = 4_000
"""Most characters of a number: Python reads integers of up to 4,300 digits."""
_ISO_DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_PLACEHOLDER_YEAR = "^(0000|9999)"
_MIDNIGHT = " 00:00:00"
_MOST_TO_COMPARE = 200_000
_DIGITS = {pa.int64: 18, pa.decimal128: 38, pa.decimal256: 76}
"""Digits that every number of a type can hold."""
_LARGEST_FLOAT = float(np.finfo(np.float64).max)


class Kind(StrEnum):
    """What the texts of a column denote, which decides their natural order and which hierarchies can be built on them.

    Only plain decimals of up to 4,000 characters are numbers, and one number may be written in several ways (`7`,
    `7.0`): `02138`, `1_000`, `0x1F`, `1e5`, `inf`, `-0` and digits of other scripts are text.
    """

    NUMBER = "number"
    DATE = "date"
    TEXT = "text"


_SHORT_INTEGER = "^-?[0-9]{1,18}$"
"""Texts that are numbers of 64 bits, and are read all at once."""


@dataclass(frozen=True)
class Column:
    """One attribute of a table, as integers.

    >>> column = encode("age", pa.array(["30", "9", None, "30"]))
    >>> column.codes.tolist(), column.texts.to_pylist(), column.size
    ([1, 0, 2, 1], ['9', '30'], 3)
    """

    name: str
    codes: Codes
    """One per row, `0 <= code < size`."""
    values: pa.Array
    """The value behind each code, in its original type, without null."""
    texts: pa.StringArray
    """The same as text: what a hierarchy sees and a CSV shows."""
    kind: Kind
    has_null: bool
    decimal: str = "."
    """The decimal mark of its texts, even if they are not numbers: `1.5` is not a number where the mark is a comma."""

    @property
    def size(self) -> int:
        """Number of codes, null included."""
        return len(self.values) + self.has_null

    @property
    def null_code(self) -> int | None:
        return len(self.values) if self.has_null else None

    @cached_property
    def numbers(self) -> list[Fraction]:
        """The exact number behind each code, from least to greatest; the column must be of kind `NUMBER`.

        >>> encode("size", pa.array(["7.0", "10", "7"])).numbers
        [Fraction(7, 1), Fraction(7, 1), Fraction(10, 1)]
        """
        if pc.all(pc.match_substring_regex(self.texts, _SHORT_INTEGER), min_count=0).as_py():
            return [Fraction(number) for number in self.texts.cast(pa.int64()).to_pylist()]
        return [Fraction(t.replace(self.decimal, ".")) for t in self.texts.to_pylist()]

    def number_of(self, code: int) -> Fraction:
        """Return the number behind one code, without reading the others.

        >>> encode("size", pa.array(["7", "10"])).number_of(1)
        Fraction(10, 1)
        """
        return Fraction(self.texts[code].as_py().replace(self.decimal, "."))

    @cached_property
    def floats(self) -> NDArray[np.float64]:
        """The float nearest to each of the `numbers`, at most the largest float."""
        return np.array([_nearest_float(number) for number in self.numbers], dtype=np.float64)

    @cached_property
    def dates(self) -> list[date]:
        """The date behind each code; the column must be of kind `DATE`."""
        return [date.fromisoformat(t[:10]) for t in self.texts.to_pylist()]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows per code."""
        return np.bincount(self.codes, minlength=self.size).astype(np.int64)

    @cached_property
    def first_rows(self) -> NDArray[np.int64]:
        """For each code the first row that holds it, counted from 1, for error messages."""
        # assigned from the last row to the first, so that the first row wins
        rows = np.zeros(self.size, dtype=np.int64)
        rows[self.codes[::-1]] = np.arange(len(self.codes), 0, -1)
        return rows

    def first_row(self, code: int) -> int:
        return int(self.first_rows[code])

    @property
    def uniques(self) -> int:
        """Number of rows with a value that no other row has."""
        return int((self.counts == 1).sum())

    @property
    def look_alikes(self) -> int:
        """Number of values that differ from another in form only: `5`, `5.0`, ` 5`; 0 if they are too many to compare.

        >>> encode("n", pa.array(["5", "5.0", " 5", "7"])).look_alikes
        2
        >>> encode("n", pa.array(["5", "5.0", "7"])).look_alikes
        1
        """
        if self.kind is Kind.DATE or not pa.types.is_string(self.values.type):
            return 0
        if len(self.texts) > _MOST_TO_COMPARE:
            return 0
        mark = re.escape(self.decimal)
        if not _any_match(self.texts, rf"^\pZ|^\s|\pZ$|\s$|{mark}[0-9]*0$"):
            return 0
        return len(self.texts) - len({canonical(t.replace(self.decimal, ".")) for t in self.texts.to_pylist()})


@dataclass(frozen=True)
class Tallied(Column):
    """A column whose rows are not in memory: `codes` has one entry per distinct raw value, not per row.

    >>> raws = pa.array(["9", "30", "?"])
    >>> column = Tallied.of(encode("age", raws, missing=["?"]), raws, np.array([4, 2, 1]), lambda: np.array([1, 3, 2]))
    >>> column.texts.to_pylist(), column.counts.tolist(), column.first_rows.tolist()
    (['9', '30'], [4, 2, 1], [1, 3, 2])
    """

    raws: pa.Array = None
    """The distinct raw values as they are stored, null included; several may share a code."""
    tally: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """How many rows hold each raw value."""
    locate: Callable[[], NDArray[np.int64]] = field(default=lambda: np.zeros(0, np.int64), repr=False)
    """Returns the first row of each raw value, counted from 1; slow, for error messages only."""

    @classmethod
    def of(
        cls, column: Column, raws: pa.Array, tally: NDArray[np.int64], locate: Callable[[], NDArray[np.int64]]
    ) -> "Tallied":
        """Build the column from what `encode` made of the raw values."""
        return cls(**{f.name: getattr(column, f.name) for f in fields(Column)}, raws=raws, tally=tally, locate=locate)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        counts = np.zeros(self.size, dtype=np.int64)  # [code] in whole numbers, which np.bincount would not add
        np.add.at(counts, self.codes, self.tally)
        return counts

    @cached_property
    def first_rows(self) -> NDArray[np.int64]:
        rows = np.full(self.size, np.iinfo(np.int64).max)
        np.minimum.at(rows, self.codes, self.locate())
        return rows


@dataclass(frozen=True)
class UncollectedColumn(Column):
    """A column with too many distinct texts to collect in memory: it can only be released as it is."""

    missing: tuple[str, ...] = ()
    """Texts that mean null."""
    lone: Callable[[], int] = field(default=lambda: 0, repr=False)
    """Counts the rows with a text that no other row has."""

    @classmethod
    def of(cls, name: str, missing: Sequence[str], lone: Callable[[], int]) -> "UncollectedColumn":
        none = pa.array([], pa.string())
        return cls(
            name, np.zeros(0, np.int32), none, none, Kind.TEXT, has_null=False, missing=tuple(missing), lone=lone
        )

    @cached_property
    def uniques(self) -> int:
        return self.lone()

    def sql(self, cell: str) -> str:
        """Return the SQL expression for the text of a cell, missing texts as NULL."""
        if not self.missing:
            return cell
        marks = ", ".join("'" + text.replace("'", "''") + "'" for text in self.missing)
        return f"CASE WHEN {cell} IN ({marks}) THEN NULL ELSE {cell} END"


@dataclass(frozen=True)
class Relation:
    """Rows that are not in memory, and how DuckDB reads them."""

    sql: str
    """A SELECT that returns all rows."""
    columns: Mapping[str, str]
    """Name of each column of the table in that SELECT."""
    setup: tuple[str, ...] = ()
    """Statements to run before it."""
    counted: Callable[[Sequence[str]], pa.RecordBatchReader] | None = None
    """For rows that DuckDB cannot read: returns the distinct rows of some columns and how many `times` each occurs."""
    files: tuple[Path, ...] = ()
    """Files that the SELECT and the statements read: a database that runs them needs access to no others."""


Bounds = tuple[Fraction | None, Fraction | None]
"""The least and the greatest number that a rounded column shows, where there are such bounds."""


@dataclass(frozen=True)
class Table:
    """Encoded columns in the order of the input."""

    columns: Mapping[str, Column]
    rows: int
    relation: Relation | None = None
    """Where the rows are, if not in memory: then every column is `Tallied` or `Uncollected`."""

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]


def select_table_rows(table: Table, rows: NDArray[np.int64]) -> Table:
    """Return some rows of a table, encoded as the whole table is, so that a code means the same in every fold."""
    return Table({name: replace(column, codes=column.codes[rows]) for name, column in table.columns.items()}, len(rows))


def sample_table(table: Table, rows: int, unit: str | None = None) -> Table:
    """Return a random sample of at most so many rows, the same at every run; where there is a unit, of whole persons.

    At least one person is drawn, however many rows they have. The rows keep their order.

    >>> people = Table({"who": encode("who", pa.array([1, 1, 1, 2, 2, 2]))}, 6)
    >>> sample_table(people, 4).rows, sample_table(people, 4, "who").rows
    (4, 3)
    """
    if rows >= table.rows:
        return table
    order = np.random.default_rng(0).permutation(table.rows)
    if unit is not None:
        # `drawn` [person]: place in a random order of persons; `order`: the rows sorted by it
        drawn = np.random.default_rng(0).permutation(table[unit].size)
        order = np.argsort(drawn[table[unit].codes], kind="stable")
        persons = table[unit].codes[order]
        # the rows of the person at whom the sample ends are left out, unless there is nobody else
        begins = np.flatnonzero(np.append(True, persons[1:] != persons[:-1]))
        ends = np.append(begins[1:], table.rows)
        rows = int(ends[max(int((ends <= rows).sum()), 1) - 1])
    return select_table_rows(table, np.sort(order[:rows]))


def canonical(text: str) -> str:
    """Return the canonical form of a text: without surrounding space, and numbers without trailing zeros.

    >>> [canonical(t) for t in (" 5", "5.0", "05", "-0", "a ")]
    ['5', '5', '05', '-0', 'a']
    """
    stripped = text.strip()
    if "." in stripped and re.fullmatch(_NUMBER, stripped):
        return stripped.rstrip("0").rstrip(".")
    return stripped


def encode(
    name: str,
    array: pa.Array | pa.ChunkedArray,
    *,
    missing: Sequence[str] = (),
    decimal: str = ".",
    thousands: str = "",
    normalise: bool = False,
    step: Fraction | None = None,
    bounds: Bounds = (None, None),
) -> Column:
    """Encode one column; texts in `missing` and NaN become null, numbers are rounded to multiples of `step`, if given.

    Marks between `thousands`, any of these characters, are removed from the texts, which are numbers or missing.
    Rounded numbers below or above the `bounds` become the bound that is nearest.

    >>> encode("zip", pa.array(["02138", "?", "02139"]), missing=["?"]).kind
    <Kind.TEXT: 'text'>
    """
    indices, values = _dictionary(array)
    if thousands and pa.types.is_string(values.type):
        plain = str.maketrans("", "", thousands)
        values = pa.array(
            [t if t is None or t in missing else t.translate(plain) for t in values.to_pylist()], values.type
        )
    if normalise and pa.types.is_string(values.type):
        values = pa.array([None if t is None else canonical(t) for t in values.to_pylist()], pa.string())
    if step is not None:
        values = _round_values(values, step, decimal, missing, bounds)
    # [value] whether some row holds it; the count of index -1, null, is cut off
    held = np.bincount(indices + 1, minlength=len(values) + 1)[1:] > 0
    kept = np.flatnonzero(held & ~_flag_missing(values, missing))
    values = values.take(pa.array(kept))
    texts = _texts(values)
    kind, order = _natural_order(values, texts, decimal)
    values, texts = values.take(order), texts.take(order)
    # two values may be equal after normalising, as 0.0 and -0.0, or in a dictionary with duplicates; after sorting,
    # equal values are neighbours
    fresh = _differs_from_previous(texts)
    size = int(fresh.sum())
    # [index into the original values] its code
    rank = np.full(len(held) + 1, size, dtype=np.int32)  # index -1 is null: the last code
    rank[kept[order.to_numpy()]] = np.cumsum(fresh) - 1
    codes = rank[indices]
    if size < len(values):
        values, texts = values.filter(pa.array(fresh)), texts.filter(pa.array(fresh))
    has_null = bool(len(codes)) and int(codes.max()) == size
    return Column(name, codes, values, texts, kind, has_null, decimal)


def round_column(column: Column, step: Fraction, bounds: Bounds = (None, None)) -> Column:
    """Return the column with its numbers rounded to multiples of the step, halves up, and kept within the bounds.

    >>> round_column(encode("pay", pa.array(["155,77", "-2,5", "n/a"]), decimal=","), Fraction(1, 2)).texts.to_pylist()
    ['-2,5', '156,0', 'n/a']
    """
    values = pa.concat_arrays([column.values, pa.nulls(1, column.values.type)])
    cells = values.take(pa.array(column.codes))
    return encode(column.name, cells, decimal=column.decimal, step=step, bounds=bounds)


def _round_values(
    values: pa.Array, step: Fraction, decimal: str, missing: Sequence[str], bounds: Bounds = (None, None)
) -> pa.Array:
    """Round the numbers among the values to multiples of a step within bounds; what is not a number stays as it is."""
    of, cells = values.type, values.to_pylist()
    bottom, top = bounds

    def publish(number: Fraction) -> Fraction:
        near = _nearest(number, step)
        near = near if bottom is None else max(near, bottom)
        return near if top is None else min(near, top)

    if pa.types.is_string(of):
        number = re.compile(_NUMBER.replace(r"\.", re.escape(decimal)))
        plain = {cell for cell in cells if cell is not None and cell not in missing and number.fullmatch(cell)}
        near = {cell: publish(Fraction(cell.replace(decimal, "."))) for cell in plain}
        return pa.array([_format_multiple(near[cell], step, decimal) if cell in near else cell for cell in cells], of)
    if pa.types.is_floating(of):
        finite = {cell for cell in cells if cell is not None and math.isfinite(cell)}
        floats = {cell: float(publish(Fraction(repr(cell)))) for cell in finite}
        ends = {-math.inf: bottom, math.inf: top}
        floats |= {endless: float(end) for endless, end in ends.items() if end is not None}
        return pa.array([floats.get(cell, cell) for cell in cells], of)
    if pa.types.is_integer(of) or pa.types.is_decimal(of):
        multiples = [None if cell is None else publish(Fraction(cell)) for cell in cells]
        return _as_numbers(multiples, whole=step.denominator == 1 and pa.types.is_integer(of))
    return values


def _as_numbers(numbers: Sequence[Fraction | None], *, whole: bool) -> pa.Array:
    """Return multiples of a step as integers or floats; as decimals where these cannot hold one of them exactly.

    >>> [str(_as_numbers([Fraction(number)], whole=True).type) for number in (2**63 - 1, 2**63, 2**64)]
    ['int64', 'uint64', 'decimal128(20, 0)']
    >>> [str(_as_numbers([Fraction(number)], whole=False).type) for number in (2**53, 2**53 + 1)]
    ['double', 'decimal128(16, 0)']
    """
    known = [number for number in numbers if number is not None]
    least, most = min(known, default=Fraction(0)), max(known, default=Fraction(0))
    if whole and (most < 2**63 or least >= 0) and least >= -(2**63) and most < 2**64:
        kind = pa.int64() if most < 2**63 else pa.uint64()
        return pa.array([None if number is None else int(number) for number in numbers], kind)
    if not whole and all(Fraction(repr(float(number))) == number for number in known):
        return pa.array([None if number is None else float(number) for number in numbers], pa.float64())
    return pa.array([None if number is None else _as_decimal(number) for number in numbers])


def _as_decimal(number: Fraction) -> Decimal:
    """Return a number with finitely many decimals, exactly."""
    places = next(n for n in range(400) if (number * 10**n).denominator == 1)
    return Decimal(f"{int(number * 10**places)}e-{places}")


def _nearest(number: Fraction, step: Fraction) -> Fraction:
    """Return the multiple of a step that is nearest to a number; halves are rounded up."""
    return math.floor(number / step + Fraction(1, 2)) * step


def _format_multiple(number: Fraction, step: Fraction, decimal: str) -> str:
    """Format a multiple of a step with as many decimals as the step has.

    >>> _format_multiple(Fraction(-1, 2), Fraction(1, 4), ","), _format_multiple(Fraction(160), Fraction(10), ".")
    ('-0,50', '160')
    """
    places = next(n for n in range(400) if (step * 10**n).denominator == 1)
    digits = str(abs(int(number * 10**places))).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[: len(digits) - places]}{decimal if places else ''}{digits[len(digits) - places :]}"


def encode_together(one: Column, other: Column) -> tuple[Column, Column]:
    """Encode two columns together: a code means the same value in both, and both have the values of both.

    >>> one, other = encode_together(encode("age", pa.array([30, 9])), encode("age", pa.array(["9", None, "10"])))
    >>> one.codes.tolist(), other.codes.tolist(), one.texts.to_pylist()
    ([2, 0], [0, 3, 1], ['9', '10', '30'])
    """
    parts = [one.values, other.values] if one.values.type == other.values.type else [one.texts, other.texts]
    null = [pa.nulls(1, parts[0].type)] if one.has_null or other.has_null else []
    decimal = other.decimal if one.decimal == "." else one.decimal
    both = encode(one.name, pa.concat_arrays([*parts, *null]), decimal=decimal)
    # mine [code of one] and theirs [code of other]: the code in the common encoding
    cut = len(one.values)
    mine, theirs = both.codes[:cut], both.codes[cut : cut + len(other.values)]
    last = np.int32(both.size - 1)  # the code of null, where there is one
    return (
        replace(both, codes=np.append(mine, last)[one.codes]),
        replace(both, codes=np.append(theirs, last)[other.codes]),
    )


def renumber(codes: Codes) -> tuple[NDArray[np.int64], Codes]:
    """Return the codes in use in ascending order, and for each entry the index of its code among them.

    Codes are small, so a table of flags does what `np.unique` would need a sort for.

    >>> used, place = renumber(np.array([7, 2, 7], np.int32))
    >>> used.tolist(), place.tolist()
    ([2, 7], [1, 0, 1])
    """
    # [code] whether it is in use; [code] its rank among the codes in use
    there = np.zeros(int(codes.max(initial=-1)) + 1, dtype=bool)
    there[codes] = True
    place = (np.cumsum(there, dtype=np.int32) - 1).astype(np.int32)
    return np.flatnonzero(there), place[codes]


def reencode(column: Column, missing: Sequence[str] = ()) -> Column:
    """Re-encode a column by the values that its rows hold, dropping unused ones; texts in `missing` become null."""
    values = pa.concat_arrays([column.values, pa.nulls(1, column.values.type)])
    return encode(column.name, values.take(pa.array(column.codes)), missing=missing, decimal=column.decimal)


def _dictionary(array: pa.Array | pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """Return indices, -1 for null, and values, some of which may be null, unused or duplicates."""
    if array.type == pa.string_view():
        array = array.cast(pa.large_string())
    if pa.types.is_null(array.type):
        array = array.cast(pa.string())
    if pa.types.is_dictionary(array.type):
        encoded = array.unify_dictionaries() if isinstance(array, pa.ChunkedArray) else array
    else:
        encoded = array.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks() if encoded.num_chunks else pa.array([], encoded.type)
    indices = encoded.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    return indices, _to_plain_type(encoded.dictionary)


def _to_plain_type(values: pa.Array) -> pa.Array:
    """Convert values to a type that Arrow can sort and write."""
    of = values.type
    if pa.types.is_large_string(of) or of == pa.string_view() or pa.types.is_null(of):
        return values.cast(pa.string())
    if pa.types.is_float16(of):
        return values.cast(pa.float32())
    # adding 0.0 turns -0.0 into 0.0
    return pc.add(values, pa.scalar(0.0, of)) if pa.types.is_floating(of) else values


def _flag_missing(values: pa.Array, missing: Sequence[str]) -> NDArray[np.bool_]:
    """Return for each value whether it stands for null."""
    absent = pc.is_null(values, nan_is_null=True)
    if missing and pa.types.is_string(values.type):
        absent = pc.or_(absent, pc.is_in(values, value_set=pa.array(list(missing), pa.string())))
    result: NDArray[np.bool_] = absent.to_numpy(zero_copy_only=False)
    return result


def _texts(values: pa.Array) -> pa.StringArray:
    """Return the values as readable texts; different values have different texts."""
    if pa.types.is_string(values.type):
        return values
    if not pa.types.is_timestamp(values.type):
        return values.cast(pa.string())
    try:
        texts = values.cast(pa.timestamp("s", values.type.tz)).cast(pa.string())
    except pa.ArrowInvalid:  # some value has fractions of a second
        return values.cast(pa.string())
    days = pc.all(pc.ends_with(texts, _MIDNIGHT)).as_py()
    return pc.utf8_slice_codeunits(texts, 0, -len(_MIDNIGHT)) if days else texts


def _natural_order(values: pa.Array, texts: pa.StringArray, decimal: str) -> tuple[Kind, pa.Array]:
    """Return what the values denote and the indices that sort them; different texts of one number become neighbours."""
    if not pa.types.is_string(values.type):
        kind = _kind(values)
        return kind, pc.sort_indices(texts if kind is Kind.TEXT else values)
    if _are_dates(texts):
        return Kind.DATE, pc.sort_indices(texts)
    numbers = _sortable_numbers(texts, decimal)
    if numbers is None:
        return Kind.TEXT, pc.sort_indices(texts)
    by_number_then_text = pa.table({"number": numbers, "text": texts})
    return Kind.NUMBER, pc.sort_indices(by_number_then_text, [("number", "ascending"), ("text", "ascending")])


def _kind(values: pa.Array) -> Kind:
    """Return what values of a type other than text denote."""
    of = values.type
    if pa.types.is_floating(of):
        return Kind.NUMBER if pc.all(pc.is_finite(values), min_count=0).as_py() else Kind.TEXT
    if pa.types.is_integer(of) or pa.types.is_decimal(of):
        return Kind.NUMBER
    if pa.types.is_date(of) or pa.types.is_timestamp(of):
        years = pc.min_max(pc.year(values)).as_py()
        known = years["min"] is None or 1 <= years["min"] <= years["max"] <= date.max.year
        return Kind.DATE if known else Kind.TEXT
    return Kind.TEXT


def _sortable_numbers(texts: pa.StringArray, decimal: str) -> pa.Array | None:
    """Return an array that sorts exactly as the numbers behind the texts do; None if one of them is not a number.

    >>> _sortable_numbers(pa.array(["1" + "0" * 90, "-1.5", "2"]), ".").to_pylist()
    [2, 0, 1]
    """
    pattern = _NUMBER.replace(r"\.", re.escape(decimal))
    if not len(texts) or not _all_match(texts, pattern):
        return None
    plain = texts if decimal == "." else pc.replace_substring(texts, decimal, ".")
    longest = pc.max(pc.binary_length(plain)).as_py()
    if longest > _LONGEST_NUMBER or _any_match(plain, _MINUS_ZERO):
        return None
    # [text] its length, and the index of its decimal point, -1 without one
    length, point = (of(plain).to_numpy(zero_copy_only=False) for of in (pc.binary_length, _point))
    whole = int(np.where(point < 0, length, point).max())  # most characters before the point, a sign included
    places = int(np.where(point < 0, 0, length - point - 1).max())
    if whole <= _DIGITS[pa.int64] and not places:
        return plain.cast(pa.int64())
    for of in (pa.decimal128, pa.decimal256):
        if whole + places <= _DIGITS[of]:  # a cast of more digits may silently change the number
            return plain.cast(of(_DIGITS[of], places))
    # too many digits for any type: sort exact fractions, and return their ranks
    exact = [Fraction(text) for text in plain.to_pylist()]
    rank = {number: i for i, number in enumerate(sorted(set(exact)))}
    return pa.array([rank[number] for number in exact], pa.int64())


def _point(texts: pa.StringArray) -> pa.Array:
    """Return the index of the decimal point of each number, -1 if it has none."""
    return pc.find_substring(texts, ".")


def _nearest_float(number: Fraction) -> float:
    """Return the nearest float; numbers beyond the range of floats become the largest one, with their sign."""
    try:
        return float(number)
    except OverflowError:
        return _LARGEST_FLOAT if number > 0 else -_LARGEST_FLOAT


def _are_dates(texts: pa.StringArray) -> bool:
    """Return whether all texts are ISO dates that exist, without the placeholder years 0000 and 9999."""
    if not len(texts) or not _all_match(texts, _ISO_DATE) or _any_match(texts, _PLACEHOLDER_YEAR):
        return False
    try:
        texts.cast(pa.date32())
    except pa.ArrowInvalid:  # the 30th of February
        return False
    return True


def _all_match(texts: pa.StringArray, pattern: str) -> bool:
    # \z rather than $, which would accept "5\n" as a number
    return bool(pc.all(pc.match_substring_regex(texts, rf"\A(?:{pattern})\z")).as_py())


def _any_match(texts: pa.StringArray, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())


def _differs_from_previous(values: pa.Array) -> NDArray[np.bool_]:
    """Return for each value whether it differs from the one before it; the first one does."""
    differs = np.ones(len(values), dtype=bool)
    if len(values) > 1:
        differs[1:] = pc.not_equal(values[1:], values[:-1]).to_numpy(zero_copy_only=False)
    return differs
