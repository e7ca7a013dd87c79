"""Counts in SQL the original rows, and the people of the population, behind each released class."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.data.class_counts import ClassCounts, Indices, JointCounts, ValueCounts
from shoal.errors import NotVerified
from shoal.verify.claim import Claim, Original
from shoal.verify.open_release import (
    classes_sql,
    place_rows,
    quasi_cells,
    query_arrays,
    query_number,
    query_numbers,
    starred_sql,
)
from shoal.verify.original_table import OriginalTable, count_originals, labelled_rows
from shoal.verify.truth_by_box import match_by_points

if TYPE_CHECKING:
    import duckdb


def add_population(
    db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original, counts: ClassCounts
) -> ClassCounts:
    """Add to the counts the population of each class, and how many classes of the population are not released.

    Where suppressed rows are shown, people who are in no other class may belong to the class of stars. `source` has the
    rows of the original: of the classes that are not released, those that hold one were left out.
    """
    assert original.population is not None
    people = {
        f"q{i}": generalised_labels(original, name, original.population)
        for i, name in enumerate(claim.quasi_identifiers)
    }
    db.register("people", pa.table(people))
    same = " AND ".join(f"s.{q} IS NOT DISTINCT FROM r.{c}" for q, c in zip(people, quasi_cells(claim), strict=True))
    known = classes_sql(claim)
    grouped = "(SELECT *, count(*) AS n FROM people GROUP BY ALL)"
    at, found = query_arrays(
        db, f"SELECT coalesce(class, -1), sum(n)::BIGINT FROM {grouped} s LEFT JOIN {known} r ON {same} GROUP BY ALL"
    )
    # `population` [class]: its people; those of class -1, in no released class, follow below
    population = np.zeros(len(counts.sizes), dtype=np.int64)
    population[at[at >= 0]] = found[at >= 0]
    if claim.shown:
        star, *_ = query_numbers(
            db, f"SELECT coalesce(any_value(class), -1) FROM classed WHERE {starred_sql(claim)}"
        ).tolist()
        if star >= 0:
            population[star] += int(found[at < 0].sum())
            return replace(counts, population=population)
    unseen = f"FROM {grouped} s LEFT JOIN {known} r ON {same}"
    labels = {
        f"q{i}": original.hierarchies[name].labels[original.levels[name]]
        for i, name in enumerate(claim.quasi_identifiers)
    }
    rows = labelled_rows(db, "source", original.table, labels)
    alike = " AND ".join(f"s.{q} IS NOT DISTINCT FROM o.{q}" for q in people)
    hidden = query_number(
        db, f"SELECT count(*) {unseen} WHERE class IS NULL AND EXISTS (SELECT 1 FROM {rows} o WHERE {alike})"
    )
    strangers = query_number(db, f"SELECT count(*) {unseen} WHERE class IS NULL")
    return replace(counts, population=population, strangers=strangers, hidden=hidden)


def generalised_labels(original: Original, name: str, table: OriginalTable) -> pa.Array:
    """Return, row by row, the label of a quasi-identifier at the level of the release."""
    level, hierarchy = original.levels[name], original.hierarchies[name]
    return pa.array(hierarchy.labels[level], pa.string()).take(pa.array(hierarchy.levels[level][table[name].codes]))


def count_originals_behind(
    db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original, classes: int
) -> ClassCounts:
    """Count the original rows behind each released class, with persons and columns that are not released."""
    others = list(dict.fromkeys([*claim.sensitive, *(n for names in original.together for n in names)]))
    source = {f"v{i}": name for i, name in enumerate(others)}
    if original.unit is not None:
        source["person"] = original.unit
    if original.points is not None:
        match_by_points(db, claim, original, source)
    else:
        (_match_by_labels if original.rows is None else _match_by_rows)(db, claim, original, source)
    many = "sum(n)::BIGINT" if original.unit is None else "count(DISTINCT person)"
    sizes = np.zeros(classes, dtype=np.int64)
    at, counts = query_arrays(db, f"SELECT class, {many} AS n FROM behind GROUP BY class")
    sizes[at] = counts
    sensitive = {
        name: _values_behind(db, f"v{others.index(name)}", name, original, sizes, many) for name in claim.sensitive
    }
    joint = {
        names: _joint_behind(db, [f"v{others.index(name)}" for name in names], names, original)
        for names in original.together
    }
    found = ClassCounts(
        sizes, sensitive, joint, released=_number_shown_values(db, claim) if joint else {}, quasi=original.quasi
    )
    return found if original.population is None else add_population(db, claim, original, found)


def _match_by_labels(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original, source: dict[str, str]) -> None:
    """Create `source` and `behind`: a row of the original belongs to the class of its generalised quasi-identifiers.

    Where suppressed rows are shown, those of no such class belong to the class of stars.
    """
    table, quasi, labels = original.table, {}, {}
    for i, name in enumerate(claim.quasi_identifiers):
        hierarchy, level = original.hierarchies[name], original.levels[name]
        quasi[f"q{i}"] = name, hierarchy.levels[level]
        labels[f"q{i}"] = hierarchy.labels[level]
    count_originals(
        db, table, quasi | {at: (name, np.arange(table[name].size)) for at, name in source.items()}, "source"
    )
    rows = labelled_rows(db, "source", table, labels)
    same = " AND ".join(f"s.q{i} IS NOT DISTINCT FROM r.{c}" for i, c in enumerate(quasi_cells(claim)))
    join = f"FROM {rows} s {'LEFT ' if claim.shown else ''}JOIN {classes_sql(claim)} r ON {same}"
    star = f"(SELECT any_value(class) FROM classed WHERE {starred_sql(claim)})"
    db.execute(f"CREATE OR REPLACE TEMP TABLE behind AS SELECT s.*, coalesce(r.class, {star}) AS class {join}")


def _match_by_rows(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original, source: dict[str, str]) -> None:
    """Create the same tables by the row map: an original row belongs to the class of the row that it became."""
    if original.population is not None:
        raise NotVerified("a release in which rows were recoded one by one cannot be compared with a population")
    assert original.rows is not None
    every = np.arange(original.table.rows)
    codes = {at: original.table[name].codes for at, name in source.items()}
    db.register("source", pa.table({"input": every, "n": np.ones_like(every), **codes}))
    db.register("became", pa.table({"row": np.arange(len(original.rows)), "input": original.rows}))
    place_rows(db, claim)
    db.execute(
        "CREATE OR REPLACE TEMP TABLE behind AS SELECT s.*, p.class "
        "FROM source s JOIN became b ON s.input = b.input JOIN placed p ON b.row = p.row"
    )


def _number_shown_values(db: "duckdb.DuckDBPyConnection", claim: Claim) -> dict[str, Indices]:
    """Return, for each quasi-identifier, an array [class] that numbers what each class shows of it."""
    shown = db.sql(f"FROM {classes_sql(claim)} ORDER BY class").to_arrow_table()
    found: dict[str, list[Indices]] = {}
    for name, cell in zip(claim.quasi_identifiers, quasi_cells(claim), strict=True):
        codes = shown[cell].combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
        found.setdefault(claim.source(name), []).append(codes)
    return {name: _combine_codes(found[name]) for name in sorted(found)}


def _combine_codes(codes: list[Indices]) -> Indices:
    """Return an array [class] that numbers the combinations of codes."""
    return codes[0] if len(codes) == 1 else np.unique(np.stack(codes), axis=1, return_inverse=True)[1].reshape(-1)


def _values_behind(
    db: "duckdb.DuckDBPyConnection",
    column: str,
    name: str,
    original: Original,
    sizes: np.ndarray[Any, np.dtype[np.int64]],
    many: str,
) -> ValueCounts:
    labels = original.table[name].labels()
    at, values, counts = query_arrays(
        db, f"SELECT class, {column} AS value, {many} AS n FROM behind GROUP BY ALL ORDER BY ALL"
    )
    value, overall = query_arrays(db, f"SELECT {column} AS value, {many} AS n FROM source GROUP BY ALL")
    # `reference` [value]: rows or persons that have it in the whole table
    reference = np.zeros(len(labels), dtype=np.int64)
    reference[value] = overall
    holders = None
    if original.unit is not None:
        null = len(labels) - 1 if labels and labels[-1] is None else -1
        # `holders` [class]: persons with at least one value that is not null
        holders = np.zeros_like(sizes)
        here, persons = query_arrays(
            db, f"SELECT class, {many} AS n FROM behind WHERE {column} <> {null} GROUP BY class"
        )
        holders[here] = persons
    return ValueCounts(
        at,
        values,
        counts,
        labels,
        len(sizes),
        reference=reference,
        levels=original.trees.get(name, ()),
        order=original.order.get(name, ()),
        holders=holders,
        everyone=None if holders is None else sizes,
        level_labels=original.tree_labels.get(name, ()),
    )


def _joint_behind(
    db: "duckdb.DuckDBPyConnection", columns: list[str], names: tuple[str, ...], original: Original
) -> JointCounts:
    labels = tuple(original.table[name].labels() for name in names)
    listed = ", ".join(columns)
    *codes, overall = query_arrays(db, f"SELECT {listed}, sum(n)::BIGINT AS n FROM source GROUP BY ALL ORDER BY ALL")
    whole = JointCounts(np.zeros(len(overall), dtype=np.int64), tuple(codes), overall, labels)
    at, *codes, counts = query_arrays(
        db, f"SELECT class, {listed}, sum(n)::BIGINT AS n FROM behind GROUP BY ALL ORDER BY ALL"
    )
    return JointCounts(at, tuple(codes), counts, labels, whole)
