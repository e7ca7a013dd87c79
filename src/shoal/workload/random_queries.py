"""Random workloads: the same for the same seed."""

from collections.abc import Sequence

import numpy as np

from shoal.codes import Column, Kind, Table
from shoal.errors import BadInput
from shoal.workload.queries import Among, Predicate, Query, Value, Within


def random_queries(
    table: Table, names: Sequence[str], count: int, *, attributes: int = 2, selectivity: float = 0.1, seed: int = 0
) -> tuple[Query, ...]:
    """COUNT queries on so many of the named attributes each, drawn at random.

    Every predicate aims at the same share of the rows, so that independent attributes together would leave
    `selectivity` of them: on numbers and dates a range from one quantile to another, on texts some of the values.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
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
        where = tuple((known[at], _predicate(table[known[at]], share, rng)) for at in drawn)
        queries.append(Query(where=where))
    return tuple(queries)


def _predicate(column: Column, share: float, rng: np.random.Generator) -> Predicate:
    rows = column.counts[: len(column.values)]
    if column.kind is Kind.TEXT:
        order = rng.permutation(len(rows))
        enough = int(np.searchsorted(np.cumsum(rows[order]), share * rows.sum())) + 1
        return Among(tuple(_value(column, code) for code in sorted(order[:enough].tolist())))
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
