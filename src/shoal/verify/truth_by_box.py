"""Checks that boxes tell the truth where no row map can be kept: a file tells which point lies in which box."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import NotVerified
from shoal.runtime.memory import explain_memory_error
from shoal.verify.claim import Claim, Original, PointFiles, Status, Verdict
from shoal.verify.open_release import OpenedRelease, classes_sql, quasi_cells, query_number
from shoal.verify.original_table import Lookup, count_originals
from shoal.verify.release_files import escape_glob
from shoal.verify.truth_by_row import flag_covered, flag_unchanged

if TYPE_CHECKING:
    import duckdb

    from shoal.verify.original_table import Wanted

_CHANGED = "the map of points is missing, damaged, or of another table"


def match_by_points(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original, other: dict[str, str]) -> None:
    """Create `source` and `behind`: distinct original rows with their codes, `behind` with the class of their box.

    The codes of the quasi-identifiers are q0, q1, … in the order of their names; `other` names further columns. A
    row of the original is in at most one class, and in none if the map does not list it.
    """
    assert original.points is not None
    table = original.table
    named = {f"q{i}": name for i, name in enumerate(sorted(map(claim.source, claim.quasi_identifiers)))} | other
    wanted: Wanted = {at: (name, np.arange(table[name].size, dtype=np.int32)) for at, name in named.items()}
    count_originals(db, table, wanted, "source")
    _place_boxes(db, claim, original.points)
    same = " AND ".join(f"s.{at} = p.{at}" for at in named if at not in other)
    points = f"read_parquet('{escape_glob(original.points.points)}')"
    try:
        with explain_memory_error():
            db.execute(
                f"CREATE OR REPLACE TEMP TABLE behind AS SELECT s.*, b.class FROM source s JOIN {points} p ON {same} "
                "JOIN box_classes b ON p.part = b.part"
            )
    except _duckdb_error():  # what it says may hold paths
        raise NotVerified(_CHANGED) from None
    if query_number(db, "SELECT coalesce(sum(n), 0)::BIGINT FROM behind") > table.rows:
        raise NotVerified("the map of points has a point in several boxes")


def _place_boxes(db: "duckdb.DuckDBPyConnection", claim: Claim, given: PointFiles) -> None:
    """Create `box_classes`: for each box the released class that shows the same."""
    cells = quasi_cells(claim)
    same = " AND ".join(f"b.s{i} IS NOT DISTINCT FROM k.{cell}" for i, cell in enumerate(cells))
    boxes = f"read_parquet('{escape_glob(given.boxes)}')"
    try:
        db.execute(
            f"CREATE OR REPLACE TEMP TABLE box_classes AS SELECT b.part, k.class FROM {boxes} b "
            f"JOIN {classes_sql(claim)} k ON {same}"
        )
    except _duckdb_error():
        raise NotVerified(_CHANGED) from None
    if query_number(db, "SELECT count(*) - count(DISTINCT part) FROM box_classes"):
        raise NotVerified("the map of points tells twice what a box shows")


def covers_boxed(release: OpenedRelease, claim: Claim, original: Original) -> Verdict:
    """Judge whether every original row lies in one box, whose labels cover it, and every box shows exactly its rows.

    The map is not trusted: labels are parsed by their grammar, and rows are counted afresh in both tables.
    """
    db = release.db
    others = [name for name in claim.columns if name not in claim.quasi_identifiers]
    match_by_points(db, claim, original, {f"o{i}": name for i, name in enumerate(others)})
    placed = query_number(db, "SELECT coalesce(sum(n), 0)::BIGINT FROM behind")
    wrong = [] if placed == original.table.rows else [f"{original.table.rows - placed} original row(s) are in no box"]
    wrong += [*_false_labels(db, claim, original), *_false_rows(release, claim, original, others)]
    return Verdict("truthful", Status.FAILS if wrong else Status.HOLDS, why="; ".join(wrong))


def _false_labels(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original) -> Iterator[str]:
    """Yield a sentence for every column with labels that do not cover an original value in their box."""
    at = {name: f"q{i}" for i, name in enumerate(sorted(claim.quasi_identifiers))}
    for name, cell in zip(claim.quasi_identifiers, quasi_cells(claim), strict=True):
        held = f"(SELECT class, {at[name]} AS code, sum(n) AS n FROM behind GROUP BY ALL)"
        pairs = db.sql(
            f"SELECT k.{cell} AS cell, h.code, sum(h.n)::BIGINT AS n "
            f"FROM {held} h JOIN {classes_sql(claim)} k ON h.class = k.class GROUP BY ALL"
        ).to_arrow_table()
        column = original.table[name]
        false = pairs.filter(pa.array(~flag_unchanged(pairs, column, typed=False)))
        false = false.filter(pa.array(~flag_covered(false, column.coverage(original.hierarchies.get(name)))))
        if false.num_rows:
            yield f"{pc.sum(false['n']).as_py()} original row(s) are not covered in column {name!r}"


def _false_rows(release: OpenedRelease, claim: Claim, original: Original, others: list[str]) -> Iterator[str]:
    """Yield a sentence if classes show rows more or less often than they occur among their originals."""
    db, same, cells = release.db, ["r.class = g.class"], ""
    lookup = Lookup(db, "behind")
    for i, name in enumerate(others):
        labels = pa.array(original.table[name].labels(typed=name in release.typed), pa.string())
        db.register(f"t{i}", pa.table({"code": np.arange(len(labels), dtype=np.int32), "label": labels}))
        cells += f", {lookup.join(f'JOIN t{i} {{0}} ON {{0}}.code = s.o{i}', '{0}.label')} AS l{i}"
        same.append(f"r.c{claim.columns.index(name)} IS NOT DISTINCT FROM g.l{i}")
    shown = "".join(f", c{claim.columns.index(name)}" for name in others)
    grouped = "SELECT class{0}, sum(n) AS n FROM {1} GROUP BY ALL"
    originals = grouped.format(cells, f"{lookup.rows()} s")
    wrong = query_number(
        db,
        "SELECT coalesce(sum(abs(coalesce(r.n, 0) - coalesce(g.n, 0))), 0)::BIGINT "
        f"FROM ({grouped.format(shown, 'classed')}) r FULL JOIN ({originals}) g ON {' AND '.join(same)}",
    )
    if wrong:
        yield f"{wrong} row(s) are shown more or less often than they are behind their box"


def _duckdb_error() -> type[Exception]:
    import duckdb

    return duckdb.Error
