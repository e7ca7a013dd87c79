"""Checks that a release generalised to levels tells the truth about the original."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.labels.scale import TOP
from shoal.verify.claim import Claim, Original, Status, Verdict
from shoal.verify.open_release import OpenedRelease, query_number
from shoal.verify.original_table import count_originals, labelled_rows
from shoal.verify.truth_by_box import covers_boxed
from shoal.verify.truth_by_row import covers_mapped

if TYPE_CHECKING:
    import duckdb


def covers(release: OpenedRelease, claim: Claim, original: Original) -> Verdict:
    """Judge whether every released row is an original one, each cell unchanged or generalised to a true label.

    Rows are compared as multisets: no row may occur more often than the originals that became it. Suppressed rows that
    are shown, all `*`, may stand for any original that no other row covers; only their other columns are compared.
    With a row map the comparison is row by row instead, with a map of points box by box.
    """
    if wrong := _find_misreadings(claim, original):
        return Verdict("truthful", Status.FAILS, why=wrong)
    if original.points is not None:
        return covers_boxed(release, claim, original)
    if original.rows is not None:
        return covers_mapped(release, claim, original)
    db = release.db
    generalised = _generalise_columns(claim, original, release.typed)
    wanted = {f"c{i}": (claim.columns[i], codes) for i, (codes, _) in enumerate(generalised)}
    count_originals(db, original.table, wanted, "codes")
    every = list(range(len(generalised)))
    told = {f"c{i}": generalised[i][1] for i in every if original.table[claim.columns[i]].is_collected}
    db.execute(f"CREATE OR REPLACE TEMP TABLE generalised AS FROM {labelled_rows(db, 'codes', original.table, told)}")
    if not claim.shown:
        return _truth_verdict(_surplus(db, every, "released", "generalised"))
    quasi = [i for i in every if claim.columns[i] in original.hierarchies]
    return _judge_with_suppressed(db, claim.shown, quasi, [i for i in every if i not in quasi])


def _find_misreadings(claim: Claim, original: Original) -> str:
    """Return what is wrong with the spelling of values or the labels of hierarchies; "" if nothing."""
    wrong = []
    for name in dict.fromkeys(map(claim.source, claim.columns)):
        column, hierarchy = original.table.columns.get(name), original.hierarchies.get(name)
        if column is None or not column.is_collected:
            continue
        if column.misspelt:
            wrong.append(f"{column.misspelt} value(s) of column {name!r} are written as something else")
        elif hierarchy is not None and (false := set(column.mislabelled(hierarchy))):
            wrong.append(f"the hierarchy of column {name!r} has {len(false)} value(s) under a label that is not theirs")
    return "; ".join(wrong)


def _judge_with_suppressed(db: "duckdb.DuckDBPyConnection", shown: int, quasi: list[int], others: list[int]) -> Verdict:
    """Judge the same where suppressed rows are shown: they are matched last, with the originals that are left."""
    stars = " AND ".join(f"c{i} IS NOT DISTINCT FROM '{TOP}'" for i in quasi)
    found, natural = (_rows(db, f"{table} WHERE {stars}") for table in ("released", "generalised"))
    if not shown <= found <= shown + natural:  # a value may itself be *
        return Verdict("truthful", Status.FAILS, why=f"{found} released row(s) are all *, not {shown}")
    every = sorted([*quasi, *others])
    # `kept`: released rows that are not all *; `remaining`: the originals that these do not account for
    kept = f"(FROM released WHERE NOT ({stars}))"
    db.execute(
        f"CREATE OR REPLACE TEMP TABLE remaining AS SELECT g.* REPLACE (greatest(g.n - coalesce(r.n, 0), 0) AS n) "
        f"FROM {_grouped(every, 'generalised')} g LEFT JOIN {_grouped(every, kept)} r ON {_same(every)}"
    )
    wrong = _surplus(db, every, kept, "generalised")
    return _truth_verdict(wrong + _surplus(db, others, f"(FROM released WHERE {stars})", "remaining"))


def _truth_verdict(wrong: int) -> Verdict:
    if wrong:
        return Verdict("truthful", Status.FAILS, why=f"{wrong} released row(s) do not cover an original one")
    return Verdict("truthful", Status.HOLDS)


def _generalise_columns(
    claim: Claim, original: Original, typed: frozenset[str]
) -> list[tuple[np.ndarray[Any, np.dtype[np.integer[Any]]], list[str | None]]]:
    """Return, for each released column, an array [original code] with the number of its label, and the labels."""
    out: list[tuple[np.ndarray[Any, np.dtype[np.integer[Any]]], list[str | None]]] = []
    for name in claim.columns:
        column, hierarchy = original.table[name], original.hierarchies.get(name)
        if hierarchy is None:
            out.append((np.arange(column.size, dtype=np.int32), column.labels(typed=name in typed)))
        else:
            level = original.levels[name]
            out.append((hierarchy.levels[level], list(hierarchy.labels[level])))
    return out


def _surplus(db: "duckdb.DuckDBPyConnection", columns: list[int], released: str, originals: str) -> int:
    """Count the released rows that exceed, in these columns, the number of equal originals."""
    return query_number(
        db,
        "SELECT coalesce(sum(greatest(r.n - coalesce(g.n, 0), 0)), 0)::BIGINT "
        f"FROM {_grouped(columns, released)} r LEFT JOIN {_grouped(columns, originals)} g ON {_same(columns)}",
    )


def _grouped(columns: list[int], table: str) -> str:
    cells = ", ".join(f"c{i}" for i in columns) or "1 AS one"
    return f"(SELECT {cells}, sum(n) AS n FROM {table} GROUP BY ALL)"


def _same(columns: list[int]) -> str:
    return " AND ".join(f"r.c{i} IS NOT DISTINCT FROM g.c{i}" for i in columns) or "true"


def _rows(db: "duckdb.DuckDBPyConnection", table: str) -> int:
    return query_number(db, f"SELECT coalesce(sum(n), 0)::BIGINT FROM {table}")
