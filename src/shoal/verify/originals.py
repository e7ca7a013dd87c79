"""The rows of the original, counted in SQL: by their codes where these are in memory, else read afresh."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.errors import NotVerified
from shoal.memory import is_shortage
from shoal.verify.original_table import OriginalTable

if TYPE_CHECKING:
    import duckdb

Wanted = Mapping[str, tuple[str, np.ndarray[Any, np.dtype[np.integer[Any]]]]]
"""What a number is called that is wanted of each row, the column it is about, and the number of each code.

Of a column that was not collected, the text itself is told.
"""

_BITS = 63


def count_originals(db: "duckdb.DuckDBPyConnection", table: OriginalTable, wanted: Wanted, name: str) -> None:
    """Make a table `name`: every combination of the numbers wanted, and how many rows (`n`) have it."""
    if table.relation is None:
        db.register("original_rows", pa.table({at: number[table[of].codes] for at, (of, number) in wanted.items()}))
        db.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT *, count(*) AS n FROM original_rows GROUP BY ALL")
        db.unregister("original_rows")
        return
    for statement in table.relation.setup:
        db.execute(statement)
    counting = _Counting(db, table)
    if table.relation.counted is not None:
        cells = dict.fromkeys(table.relation.columns[of] for of, _ in wanted.values())
        db.register("given_rows", table.relation.counted(list(cells)))
        counting.times = True
    for at, (of, number) in wanted.items():
        counting.want(at, of, number)
    try:
        db.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {counting.query()}")
    except _errors() as wrong:  # what it says may hold cells
        if table.relation.counted is None or is_shortage(wrong):
            raise
        raise NotVerified("the original could not be read again where it is; its own logs say why") from None
    ((strange, counted),) = db.execute(f"SELECT count(*) FILTER ({counting.strange}), sum(n) FROM {name}").fetchall()
    if strange or counted != table.rows:
        raise NotVerified("the original changed while the release was made; make a copy of it and use that")


def _errors() -> type[Exception]:
    import duckdb

    return duckdb.Error


class _Counting:
    """Numbers side by side in as few words as they need: one word is grouped faster than many columns."""

    def __init__(self, db: "duckdb.DuckDBPyConnection", table: OriginalTable) -> None:
        self.db, self.table = db, table
        self.joins: list[str] = []
        self.words: list[list[str]] = [[]]
        self.texts: list[str] = []
        self.told: list[str] = []
        self.known: list[str] = []
        self.used = 0
        self.times = False
        """Whether rows are given as distinct ones, with how often each occurs."""

    def want(self, at: str, of: str, number: np.ndarray[Any, np.dtype[np.integer[Any]]]) -> None:
        assert self.table.relation is not None
        column, cell = self.table[of], f"s.{self.table.relation.columns[of]}"
        if not column.is_collected:
            self.texts.append(f"{column.sql(cell)} AS {at}")
            self.told.append(at)
            return
        assert column.raws is not None
        width = max(int(number.max(initial=0)).bit_length(), 1)
        if self.used + width > _BITS:
            self.words.append([])
            self.used = 0
        placed = number[column.codes].astype(np.int64) << self.used
        present = column.raws.is_valid()
        null = placed[~present.to_numpy(zero_copy_only=False)].tolist()
        self.db.register("raw_values", pa.table({"raw": column.raws, "number": placed}).filter(present))
        self.db.execute(f"CREATE OR REPLACE TEMP TABLE raw_{at} AS FROM raw_values")
        self.db.unregister("raw_values")
        # where nothing is null, every row finds its value, or their number tells
        self.joins.append(f"{'LEFT ' if null else ''}JOIN raw_{at} ON {cell} = raw_{at}.raw")
        said = f"raw_{at}.number"
        self.words[-1].append(f"(CASE WHEN {cell} IS NULL THEN {null[0]} ELSE {said} END)" if null else said)
        self.told.append(f"(w{len(self.words) - 1} >> {self.used}) & {(1 << width) - 1} AS {at}")
        self.known.append(at)
        self.used += width

    def query(self) -> str:
        assert self.table.relation is not None
        words = [f"{' | '.join(parts)} AS w{w}" for w, parts in enumerate(self.words) if parts]
        given = "given_rows" if self.times else f"({self.table.relation.sql})"
        cells = [*words, *self.texts, *(["s.times"] if self.times else [])]
        rows = f"SELECT {', '.join(cells)} FROM {given} s {' '.join(self.joins)}"
        counted = "* EXCLUDE (times), sum(times)::BIGINT AS n" if self.times else "*, count(*) AS n"
        return f"SELECT {', '.join(self.told)}, n FROM (SELECT {counted} FROM ({rows}) GROUP BY ALL)"

    @property
    def strange(self) -> str:
        """A row whose value is unknown."""
        return " OR ".join(f"{at} IS NULL" for at in self.known) or "false"
