"""The rows of the original, counted in SQL: by their codes where these are in memory, else read afresh."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.codes import Codes, Table, Tallied, Uncollected
from shoal.errors import NotVerified

if TYPE_CHECKING:
    import duckdb

Wanted = Mapping[str, tuple[str, Codes | np.ndarray[Any, np.dtype[np.integer[Any]]]]]
"""What a number is called that is wanted of each row, the column it is about, and the number of each code.

Of a column that was not collected, the text itself is told.
"""


def count_originals(db: "duckdb.DuckDBPyConnection", table: Table, wanted: Wanted, name: str) -> None:
    """Make a table `name`: every combination of the numbers wanted, and how many rows (`n`) have it."""
    if table.relation is None:
        db.register("original_rows", pa.table({at: number[table[of].codes] for at, (of, number) in wanted.items()}))
        db.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT *, count(*) AS n FROM original_rows GROUP BY ALL")
        db.unregister("original_rows")
        return
    for statement in table.relation.setup:
        db.execute(statement)
    numbers, joins = [], []
    for at, (of, number) in wanted.items():
        column, cell = table[of], f"s.{table.relation.columns[of]}"
        if isinstance(column, Uncollected):
            numbers.append(f"{column.sql(cell)} AS {at}")
            continue
        assert isinstance(column, Tallied)
        known = column.raws.is_valid()
        told = number[column.codes]
        null = [int(one) for one in told[~known.to_numpy(zero_copy_only=False)]]
        db.register("raw_values", pa.table({"raw": column.raws, "number": told}).filter(known))
        db.execute(f"CREATE OR REPLACE TEMP TABLE raw_{at} AS FROM raw_values")
        db.unregister("raw_values")
        # where nothing is null, every row finds its value, or their number tells
        joins.append(f"{'LEFT ' if null else ''}JOIN raw_{at} ON {cell} = raw_{at}.raw")
        said = f"raw_{at}.number"
        numbers.append(f"{f'CASE WHEN {cell} IS NULL THEN {null[0]} ELSE {said} END' if null else said} AS {at}")
    rows = f"SELECT {', '.join(numbers)} FROM ({table.relation.sql}) s {' '.join(joins)}"
    db.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT *, count(*) AS n FROM ({rows}) GROUP BY ALL")
    known = [at for at, (of, _) in wanted.items() if not isinstance(table[of], Uncollected)]
    strange = " OR ".join(f"{at} IS NULL" for at in known) or "false"
    ((unknown, counted),) = db.execute(f"SELECT count(*) FILTER ({strange}), sum(n) FROM {name}").fetchall()
    if unknown or counted != table.rows:
        raise NotVerified("the original changed while the release was made; make a copy of it and use that")
