"""Rows that were stored elsewhere too, held to those of the verified file."""

from typing import Any

import pyarrow as pa

from shoal.errors import NotVerified
from shoal.verify.opening import Opened, words


def refuse_other_rows(release: Opened, stored: pa.RecordBatchReader, name: str) -> None:
    """Refuse a copy unless it has each row of the release as often as the release has it, and no other row."""
    import duckdb

    width = len(stored.schema)
    cells = ", ".join(f"c{i}" for i in range(width))
    texts = pa.schema([(f"c{i}", pa.string()) for i in range(width)])
    batches = (pa.record_batch([words(column) for column in batch.columns], texts) for batch in stored)
    release.db.register("given_back", pa.RecordBatchReader.from_batches(texts, batches))
    try:
        release.db.execute(f"CREATE TEMP TABLE stored AS SELECT {cells}, count(*) AS n FROM given_back GROUP BY ALL")
        other: Any = release.db.execute(
            f"SELECT count(*) FROM ((SELECT {cells}, n FROM released EXCEPT ALL SELECT {cells}, n FROM stored) "
            f"UNION ALL (SELECT {cells}, n FROM stored EXCEPT ALL SELECT {cells}, n FROM released))"
        ).fetchone()
    except (duckdb.Error, pa.ArrowException, OSError):  # what they say may hold cells
        raise NotVerified(f"{name}: the stored rows cannot be read again; the table is as it was") from None
    finally:
        release.db.unregister("given_back")
    if other[0]:
        raise NotVerified(f"{name}: the database does not give back the rows of the release; the table is as it was")
