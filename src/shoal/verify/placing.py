"""The classes of a release: of each distinct row, and of each row in its place."""

from typing import TYPE_CHECKING

from shoal.labels import TOP
from shoal.verify.claim import Claim

if TYPE_CHECKING:
    import duckdb


def classify(db: "duckdb.DuckDBPyConnection", claim: Claim) -> None:
    """Make `classed`: the distinct released rows with the number of their class, from 0.

    Classes are fewer than rows, and only they are sorted.
    """
    cells = quasi_cells(claim)
    listed = ", ".join(cells)
    db.execute(
        f"CREATE OR REPLACE TEMP TABLE classes AS SELECT *, row_number() OVER (ORDER BY {listed}) - 1 AS class "
        f"FROM (SELECT DISTINCT {listed} FROM released)"
    )
    same = " AND ".join(f"r.{cell} IS NOT DISTINCT FROM k.{cell}" for cell in cells)
    db.execute(f"CREATE OR REPLACE TEMP TABLE classed AS SELECT r.*, k.class FROM released r JOIN classes k ON {same}")


def place(db: "duckdb.DuckDBPyConnection", claim: Claim) -> None:
    """Make `placed`: every listed row with the number that its class has in `classed`."""
    same = " AND ".join(f"l.{cell} IS NOT DISTINCT FROM k.{cell}" for cell in quasi_cells(claim))
    db.execute(
        "CREATE OR REPLACE TEMP TABLE placed AS "
        f"SELECT l.rowid AS row, k.class FROM listed l JOIN {classes_of(claim)} k ON {same}"
    )


def classes_of(claim: Claim) -> str:
    """The SQL of all classes, each with the cells it shows."""
    return f"(SELECT class, {', '.join(quasi_cells(claim))} FROM classes)"


def starred(claim: Claim) -> str:
    """The SQL that tells a row that shows nothing: all `*`, and nothing where a number would be."""
    return " AND ".join(
        f"coalesce({cell}, '{TOP}') = '{TOP}'" if name in claim.statistics else f"{cell} IS NOT DISTINCT FROM '{TOP}'"
        for name, cell in zip(claim.quasi_identifiers, quasi_cells(claim), strict=True)
    )


def quasi_cells(claim: Claim) -> list[str]:
    """What the quasi-identifiers are called in the database."""
    return [f"c{claim.columns.index(name)}" for name in claim.quasi_identifiers]
