"""UCI's Adult, both parts, as a table: for benchmarks and tests of learners."""

import pyarrow as pa
import pyarrow.compute as pc
from common import SHARED
from pyarrow import csv

NAMES = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"]
NAMES += ["race", "sex", "capital-gain", "capital-loss", "hours", "native-country", "salary"]
NINE = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "hours", "native-country"]
"""With the salary, ten attributes."""


def adult_uci() -> pa.Table:
    """48,842 people, of whom 45,222 have no null; texts without outer spaces, and without the dots of the test part."""
    parts = [
        csv.read_csv(SHARED / "adult_uci" / file, csv.ReadOptions(column_names=NAMES, skip_rows=skipped))
        for file, skipped in (("adult.data", 0), ("adult.test", 1))
    ]
    table = pa.concat_tables(parts)
    return pa.table({name: _plain(table[name]) if _is_text(table[name]) else table[name] for name in NAMES})


def _is_text(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    texts = pc.utf8_rtrim(pc.utf8_trim_whitespace(column), characters=".")
    return pc.if_else(pc.equal(texts, "?"), None, texts)
