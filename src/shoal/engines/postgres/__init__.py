"""PostgreSQL: tables come in, and verified releases go out in one transaction, both as Arrow through binary COPY."""

from shoal.engines.postgres.naming import Postgres, named
from shoal.engines.postgres.reading import read_postgres, seems_to_need, spill_postgres
from shoal.engines.postgres.storing import Stored, refuse_target, storing

__all__ = [
    "Postgres",
    "Stored",
    "named",
    "read_postgres",
    "refuse_target",
    "seems_to_need",
    "spill_postgres",
    "storing",
]
