"""Rows that were stored elsewhere too, held to those of the verified file."""

import pyarrow as pa

from shoal.errors import NotVerified
from shoal.labels import words
from shoal.verify.opening import Opened

_PLAIN_TIME = (
    r"regexp_replace(regexp_replace({0}, '(\.[0-9]*[1-9])0+($|[^0-9])', '\1\2'), '\.0+($|[^0-9])', '\1') AS {0}"
)
"""A time of day without zeros at its end: 12:30:00 and 12:30:00.000 are one time."""


def refuse_other_rows(release: Opened, stored: pa.RecordBatchReader, name: str) -> None:
    """Refuse a copy unless it has each row of the release as often as the release has it, and no other row."""
    import duckdb

    texts = pa.schema([(f"c{i}", pa.string()) for i in range(len(stored.schema))])
    batches = (pa.record_batch([words(column) for column in batch.columns], texts) for batch in stored)
    cells = ", ".join(_cell(i, of) for i, of in enumerate(stored.schema.types))
    release.db.register("given_back", pa.RecordBatchReader.from_batches(texts, batches))
    try:
        release.db.execute(
            f"CREATE TEMP TABLE stored AS SELECT {cells}, count(*)::BIGINT AS n FROM given_back GROUP BY ALL"
        )
        told = f"SELECT {cells}, sum(n)::BIGINT AS n FROM released GROUP BY ALL"
        ((other,),) = release.db.execute(
            f"SELECT count(*) FROM (({told} EXCEPT ALL FROM stored) UNION ALL (FROM stored EXCEPT ALL {told}))"
        ).fetchall()
    except (duckdb.Error, pa.ArrowException, OSError):  # what they say may hold cells
        raise NotVerified(f"{name}: the stored rows cannot be read again; the table is as it was") from None
    finally:
        release.db.unregister("given_back")
    if other:
        raise NotVerified(f"{name}: the database does not give back the rows of the release; the table is as it was")


def _cell(i: int, of: pa.DataType) -> str:
    return _PLAIN_TIME.format(f"c{i}") if pa.types.is_timestamp(of) or pa.types.is_time(of) else f"c{i}"
