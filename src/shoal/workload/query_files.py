"""Workloads on disk, as TOML or as a CSV with a line for each query, and workloads drawn at random."""

import csv
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoal.data.codes import Column, Kind, Table
from shoal.errors import BadInput
from shoal.labels.grammar import Members, parse_label
from shoal.models.spec import suggest_nearest
from shoal.workload.queries import AGGREGATES, Among, Predicate, Query, Value, Within, query_of


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
        return Among(tuple(_value(column, code) for code in sorted(order[:enough].tolist())))
    # rows up to each value; the range begins at a random quantile and holds the wanted share
    reached = np.cumsum(rows)
    start = np.floor(rng.random() * (1 - share) * reached[-1])
    first = int(np.searchsorted(reached, start, side="right"))
    last = int(np.searchsorted(reached, start + share * reached[-1]))
    return Within(*(_value(column, min(code, len(rows) - 1)) for code in (first, max(first, last))))


def _value(column: Column, code: int) -> Value:
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
