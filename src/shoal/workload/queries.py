"""Queries of a workload: an aggregate of the rows that satisfy a predicate, written in a file or drawn at random."""

import csv
import math
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import Flags
from shoal.data.codes import Column, Kind, Table
from shoal.errors import BadInput
from shoal.labels.grammar import Members, parse_label
from shoal.models.spec import suggest_nearest

Aggregate = Literal["count", "sum", "avg", "min", "max"]
AGGREGATES: tuple[Aggregate, ...] = get_args(Aggregate)
Value = str | int | float
_KEYS = (*AGGREGATES, "where", "weight")
_RANGE_KEYS = ("from", "to", "in")


@dataclass(frozen=True, slots=True)
class Within:
    """`low <= x <= high`; an end that is None is open."""

    low: Value | None = None
    high: Value | None = None

    def document(self) -> dict[str, Any]:
        ends = {"from": self.low, "to": self.high}
        return {key: end for key, end in ends.items() if end is not None}


@dataclass(frozen=True, slots=True)
class Among:
    """`x` is one of these: equality, or IN."""

    values: tuple[Value, ...]

    def document(self) -> Any:
        return self.values[0] if len(self.values) == 1 else {"in": list(self.values)}


Predicate = Within | Among
KNOWN = Within()
"""Every value satisfies it, null does not."""


@dataclass(frozen=True, slots=True)
class Query:
    """`SELECT aggregate(of) WHERE every attribute satisfies its predicate`, and how much it matters (S4.8).

    LeFevre, DeWitt and Ramakrishnan, ICDE 2006, section 2.4 of our paper.

    >>> query = query_of({"avg": "age", "where": {"sex": "Male", "zip": {"from": 53000}}, "weight": 2})
    >>> query.aggregate, query.of, query.where[1]
    ('avg', 'age', ('zip', Within(low=53000, high=None)))
    >>> query_of(query.document()) == query
    True
    """

    aggregate: Aggregate = "count"
    of: str | None = None
    """The attribute that is aggregated; None counts rows."""
    where: tuple[tuple[str, Predicate], ...] = ()
    """Predicates in the order of the attributes' names."""
    weight: float = 1.0

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the attributes that the predicate looks at."""
        return tuple(name for name, _ in self.where)

    def document(self) -> dict[str, Any]:
        """Return the TOML table from which this query can be read again."""
        return {
            self.aggregate: True if self.of is None else self.of,
            **({"where": {name: predicate.document() for name, predicate in self.where}} if self.where else {}),
            **({"weight": self.weight} if self.weight != 1 else {}),
        }


def attributes_of(queries: Iterable[Query]) -> frozenset[str]:
    """Return all columns that some query looks at or aggregates."""
    return frozenset(name for query in queries for name in (*query.attributes, query.of) if name is not None)


def query_of(given: Any) -> Query:
    """Read a query from a TOML table; a ready query is returned as it is."""
    if isinstance(given, Query):
        return given
    if not isinstance(given, Mapping):
        raise ValueError("a query is a table like { count = true, where = { age = { from = 20, to = 40 } } }")  # noqa: TRY004
    for key in given:
        if key not in _KEYS:
            raise ValueError(f"unknown key {key!r}{suggest_nearest(str(key), _KEYS)}; known: {', '.join(_KEYS)}")
    named = [key for key in AGGREGATES if key in given]
    if len(named) != 1:
        said = f"it names {' and '.join(named)}" if named else "it names no aggregate"
        raise ValueError(f"{said}; a query has exactly one of {', '.join(AGGREGATES)}")
    (aggregate,) = named
    where = given.get("where", {})
    if not isinstance(where, Mapping):
        raise ValueError(f"where is a table like {{ sex = 'Male' }}, not {where!r}")  # noqa: TRY004
    predicates = {str(name): _predicate(str(name), said) for name, said in where.items()}
    return Query(
        aggregate,
        _read_aggregated_column(aggregate, given[aggregate]),
        tuple(sorted(predicates.items())),
        _weight(given.get("weight", 1)),
    )


def _read_aggregated_column(aggregate: Aggregate, of: Any) -> str | None:
    if aggregate == "count":
        if of is not True:
            raise ValueError(f"count counts rows; write count = true, not {of!r}")
        return None
    if not isinstance(of, str) or not of:
        raise ValueError(f"{aggregate} needs the name of a column, not {of!r}")
    return of


def _weight(weight: Any) -> float:
    is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not is_number or not math.isfinite(weight) or weight <= 0:
        raise ValueError(f"weight must be a number above 0, not {weight!r}")
    return float(weight)


def _predicate(name: str, said: Any) -> Predicate:
    if not isinstance(said, Mapping):
        return Among((_value(name, said),))
    for key in said:
        if key not in _RANGE_KEYS:
            known = ", ".join(_RANGE_KEYS)
            raise ValueError(
                f"where.{name}: unknown key {key!r}{suggest_nearest(str(key), _RANGE_KEYS)}; known: {known}"
            )
    if "in" in said:
        values = said["in"]
        if len(said) > 1 or not isinstance(values, list | tuple) or not values:
            raise ValueError(f"where.{name}: in takes a list of values, and nothing beside it")
        return Among(tuple(dict.fromkeys(_value(name, value) for value in values)))
    if not said:
        raise ValueError(f"where.{name}: a range needs from, to or both")
    return Within(*(_value(name, said[key]) if key in said else None for key in ("from", "to")))


def _value(name: str, value: Any) -> Value:
    if isinstance(value, bool):
        return str(value).lower()  # as a column of booleans is written
    if isinstance(value, date):
        return value.isoformat().replace("T", " ")
    if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError(f"where.{name}: a value is a text, a finite number or a date, not {value!r}")


Floats = NDArray[np.float64]
_DAY = 10


@dataclass(frozen=True)
class Spans:
    """The numbers that satisfy a predicate: those from `low` to `high`, or single ones."""

    low: float = -math.inf
    high: float = math.inf
    points: Floats | None = None
    """The single numbers that satisfy, ascending; None where it is a range."""

    def holds(self, numbers: Floats) -> Flags:
        if self.points is not None:
            return np.isin(numbers, self.points)
        return np.asarray((numbers >= self.low) & (numbers <= self.high))


@dataclass(frozen=True)
class Numbers:
    """Numbers by size, or dates as numbers of days; whole ones are uniform over the whole numbers, others continuous.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> ages = Numbers(encode("age", pa.array(["30", "9", None])))
    >>> ages.whole, ages.low, ages.high, ages.flag_codes(Within(10, None)).tolist()
    (True, 9.0, 30.0, [False, True, False])
    """

    column: Column

    @cached_property
    def values(self) -> Floats:
        """The number behind each code, without null."""
        if self.column.kind is Kind.NUMBER:
            return self.column.floats
        return np.array([_days(text) for text in self.column.texts.to_pylist()])

    @cached_property
    def whole(self) -> bool:
        return bool((self.values == np.floor(self.values)).all())

    @property
    def low(self) -> float:
        return float(self.values[0])

    @property
    def high(self) -> float:
        return float(self.values[-1])

    def number(self, value: Value) -> float:
        """Return a value as a number, or as days in a column of dates; ValueError if it cannot be read so."""
        if self.column.kind is not Kind.NUMBER:
            return _days(str(value))
        number = float(str(value).replace(self.column.decimal, "."))
        if not math.isfinite(number):
            raise ValueError(value)
        return number

    def greatest_up_to(self, value: Value) -> float:
        """Return the greatest number up to a value: for a day in a column of times, the end of that day."""
        number = self.number(value)
        is_day = self.column.kind is Kind.DATE and len(str(value)) == _DAY
        return math.nextafter(number + 1, 0.0) if is_day and not self.whole else number

    def spans(self, predicate: Predicate) -> Spans:
        """Return the numbers that satisfy a predicate; ValueError where it names a value that is no number."""
        if isinstance(predicate, Within):
            low = -math.inf if predicate.low is None else self.number(predicate.low)
            return Spans(low, math.inf if predicate.high is None else self.greatest_up_to(predicate.high))
        return Spans(points=np.unique([self.number(value) for value in predicate.values]))

    def flag_codes(self, predicate: Predicate) -> Flags:
        """Flag the codes of the column that satisfy a predicate; null never does."""
        held = self.spans(predicate).holds(self.values)
        return np.append(held, False) if self.column.has_null else held

    @property
    def kind(self) -> str:
        return "number" if self.column.kind is Kind.NUMBER else "date"


@dataclass(frozen=True)
class Texts:
    """Texts by code point: those of the column and those that occur only in its hierarchy."""

    column: Column
    leaves: Sequence[str] = ()

    kind = "text"

    @cached_property
    def values(self) -> list[str]:
        """The texts of the column in the order of their codes, then those that occur only in the hierarchy."""
        texts: list[str] = self.column.texts.to_pylist()
        known = set(texts)
        return [*texts, *(leaf for leaf in self.leaves if leaf not in known)]

    @cached_property
    def place(self) -> dict[str, int]:
        return {text: at for at, text in enumerate(self.values)}

    def flag_values(self, predicate: Predicate) -> Flags:
        """Flag the values that satisfy a predicate."""
        flags = np.zeros(len(self.values), dtype=bool)
        if isinstance(predicate, Within):
            low, high = (None if end is None else str(end) for end in (predicate.low, predicate.high))
            flags[:] = [(low is None or low <= text) and (high is None or text <= high) for text in self.values]
        else:
            flags[[at for at in map(self.place.get, map(str, predicate.values)) if at is not None]] = True
        return flags

    def flag_codes(self, predicate: Predicate) -> Flags:
        """Flag the codes of the column that satisfy a predicate; null never does."""
        held = self.flag_values(predicate)[: len(self.column.values)]
        return np.append(held, False) if self.column.has_null else held


Domain = Numbers | Texts


def domain_of(column: Column, leaves: Sequence[str] = ()) -> Domain:
    """Return the domain of a column: numbers and dates by size; all else, and an all-null column, as text."""
    return Texts(column, leaves) if column.kind is Kind.TEXT or not len(column.values) else Numbers(column)


def _days(text: str) -> float:
    if len(text) == _DAY:
        return float(date.fromisoformat(text).toordinal())
    moment = datetime.fromisoformat(text)
    passed = moment.replace(tzinfo=None) - datetime.combine(moment.date(), datetime.min.time())
    return moment.toordinal() + passed.total_seconds() / 86_400


def random_queries(
    table: Table, names: Sequence[str], count: int, *, attributes: int = 2, selectivity: float = 0.1, seed: int = 0
) -> tuple[Query, ...]:
    """Draw COUNT queries at random, each on `attributes` of the named columns.

    Every predicate aims at the same share of the rows, so that independent attributes together would leave
    `selectivity` of them: on numbers and dates a range from one quantile to another, on texts some of the values.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> table = Table({"age": encode("age", pa.array(range(100)))}, 100)
    >>> random_queries(table, ["age"], 1, attributes=1, selectivity=0.25)[0].where
    (('age', Within(low=47, high=71)),)
    """
    if count < 1:
        raise BadInput(f"{count} random queries cannot be drawn; ask for at least 1")
    if not 0 < selectivity <= 1:
        raise BadInput(f"selectivity = {selectivity!r} is no share of the rows; give a number above 0, at most 1")
    known = sorted(name for name in names if len(table[name].values))
    if not 1 <= attributes <= len(known):
        raise BadInput(f"queries on {attributes} attribute(s) cannot be drawn; there are {len(known)} to look at")
    rng = np.random.Generator(np.random.PCG64(seed))
    share = selectivity ** (1 / attributes)
    queries = []
    for _ in range(count):
        drawn = sorted(rng.choice(len(known), attributes, replace=False).tolist())
        where = tuple((known[at], _draw_predicate(table[known[at]], share, rng)) for at in drawn)
        queries.append(Query(where=where))
    return tuple(queries)


def _draw_predicate(column: Column, share: float, rng: np.random.Generator) -> Predicate:
    # rows of each value, by code
    rows = column.counts[: len(column.values)]
    if column.kind is Kind.TEXT:
        order = rng.permutation(len(rows))
        enough = int(np.searchsorted(np.cumsum(rows[order]), share * rows.sum())) + 1
        return Among(tuple(_value_of_code(column, code) for code in sorted(order[:enough].tolist())))
    # rows up to each value; the range begins at a random quantile and holds the wanted share
    reached = np.cumsum(rows)
    start = np.floor(rng.random() * (1 - share) * reached[-1])
    first = int(np.searchsorted(reached, start, side="right"))
    last = int(np.searchsorted(reached, start + share * reached[-1]))
    return Within(*(_value_of_code(column, min(code, len(rows) - 1)) for code in (first, max(first, last))))


def _value_of_code(column: Column, code: int) -> Value:
    if column.kind is not Kind.NUMBER:
        text: str = column.texts[code].as_py()
        return text
    number = column.numbers[code]
    return int(number) if number.denominator == 1 else float(number)


_HEAD = ("aggregate", "of", "weight")


def load_queries(path: str | os.PathLike[str]) -> tuple[Query, ...]:
    """Read queries from a file: a `.csv` has one in each line, any other is TOML with a table `[[query]]` for each.

    TOML: `count = true`, or `sum`, `avg`, `min`, `max` with the name of a column; `where`, a table of attributes, each
    with a value, `{ from = 20, to = 40 }` (both ends belong to it, one may be left out) or `{ in = ["a", "b"] }`; and
    `weight`, 1 unless given.

    CSV: columns `aggregate`, `of` and `weight`, of which only the first is needed, then one column for each attribute
    that some query looks at. A cell there is empty, a value, a range `20..40`, `20..` or `..40`, or a set `{a | b}`.
    """
    path = Path(path)
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise BadInput(f"{path.name}: there is no such file of queries") from None
    except (OSError, UnicodeDecodeError) as wrong:
        raise BadInput(f"{path.name}: the queries cannot be read ({type(wrong).__name__})") from None
    tables = _parse_csv(path.name, text) if path.suffix.lower() == ".csv" else _parse_toml(path.name, text)
    return queries_of(tables, path.name)


def queries_of(given: Iterable[Any], name: str = "queries") -> tuple[Query, ...]:
    """Read each query; errors name the workload and the number of the query.

    >>> queries_of([{"count": True}, {"cuont": True}])
    Traceback (most recent call last):
    shoal.errors.BadInput: queries: query 2: unknown key 'cuont' (did you mean 'count'?); known: count, sum, avg, min, \
max, where, weight
    """
    made = []
    for number, one in enumerate(given, 1):
        try:
            made.append(query_of(one))
        except ValueError as wrong:
            raise BadInput(f"{name}: query {number}: {wrong}") from None
    if not made:
        raise BadInput(f"{name}: there is no query in it")
    return tuple(made)


def toml_of(queries: Sequence[Query]) -> str:
    """Return TOML that loads to the same queries.

    >>> print(toml_of(queries_of([{"count": True, "where": {"sex": "Male"}}])), end="")
    query = [
        { count = true, where = { sex = "Male" } },
    ]
    """
    import tomli_w

    return tomli_w.dumps({"query": [query.document() for query in queries]})


def _parse_toml(name: str, text: str) -> list[Any]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        raise BadInput(f"{name}: not TOML: {wrong}") from None
    except ValueError:  # Python reads no whole number of more digits
        raise BadInput(f"{name}: a number has thousands of digits; write a shorter one") from None
    except RecursionError:
        raise BadInput(f"{name}: lists or tables are nested too deeply; a query needs a few levels") from None
    for key in document:
        if key != "query":
            raise BadInput(f"{name}: unknown key {key!r}{suggest_nearest(key, ['query'])}; known: query")
    tables = document.get("query", [])
    if not isinstance(tables, list):
        raise BadInput(f"{name}: queries are written as [[query]], with two brackets")
    return tables


def _parse_csv(name: str, text: str) -> list[Mapping[str, Any]]:
    lines = csv.DictReader(text.splitlines(), restkey="", restval="", strict=True)
    try:
        head, rows = list(lines.fieldnames or ()), list(lines)
    except csv.Error:
        raise BadInput(f"{name}: not a CSV; is a quote not closed?") from None
    if "aggregate" not in head or "" in head or len(set(head)) < len(head):
        raise BadInput(f"{name}: the first line names the columns, each once, and 'aggregate' is one of them")
    return [_table_of_row(name, number, row) for number, row in enumerate(rows, 1)]


def _table_of_row(name: str, number: int, row: Mapping[str, str]) -> dict[str, Any]:
    """Return a line of CSV as the TOML table of the same query."""
    if "" in row:
        raise BadInput(f"{name}: query {number}: the line has more cells than the first one")
    aggregate = row["aggregate"]
    if aggregate not in AGGREGATES:
        known = ", ".join(AGGREGATES)
        raise BadInput(
            f"{name}: query {number}: unknown aggregate {aggregate!r}{suggest_nearest(aggregate, AGGREGATES)}; "
            f"known: {known}"
        )
    of: Any = row.get("of") or (aggregate == "count")
    weight = {"weight": _number_or_text(row["weight"])} if row.get("weight") else {}
    where = {key: _parse_cell(cell) for key, cell in row.items() if key not in _HEAD and cell}
    return {aggregate: of, "where": where, **weight}


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _parse_cell(cell: str) -> Any:
    meant = parse_label(cell)
    if isinstance(meant, Members):
        return {"in": list(meant.values)}
    low, dots, high = cell.partition("..")
    return {key: end for key, end in (("from", low), ("to", high)) if end} if dots else cell
