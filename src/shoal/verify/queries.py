"""Numbers out of the private database."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import duckdb


def number(db: "duckdb.DuckDBPyConnection", query: str) -> int:
    ((found,),) = db.execute(query).fetchall()  # all: an unfinished result blocks the connection
    return int(found)


def numbers(db: "duckdb.DuckDBPyConnection", query: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    column = db.sql(query).to_arrow_table().column(0).combine_chunks()
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)


def arrays(db: "duckdb.DuckDBPyConnection", query: str) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    found = db.sql(query).to_arrow_table()
    return [np.asarray(c.combine_chunks().to_numpy(zero_copy_only=False), dtype=np.int64) for c in found.columns]
