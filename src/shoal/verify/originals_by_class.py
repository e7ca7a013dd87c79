"""The rows of the original, and everybody of the population, behind each released class, counted in SQL."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.data.class_counts import ClassCounts, Indices, JointCounts, ValueCounts
from shoal.errors import NotVerified
from shoal.verify.claim import Claim, Original
from shoal.verify.open_release import arrays, classes_of, number, numbers, place, quasi_cells, starred
from shoal.verify.original_table import OriginalTable, count_originals, labelled_rows
from shoal.verify.truth_by_box import follow_points

if TYPE_CHECKING:
    import duckdb


def in_population(
    db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original, counts: ClassCounts
) -> ClassCounts:
    """Add to the counts the population of each class, and how many classes of the population are not released.

    Where suppressed rows are shown, people who are in no other class may be behind the class of stars.
    """
    assert original.population is not None
    people = {f"q{i}": labelled(original, name, original.population) for i, name in enumerate(claim.quasi_identifiers)}
    db.register("people", pa.table(people))
    same = " AND ".join(f"s.{q} IS NOT DISTINCT FROM r.{c}" for q, c in zip(people, quasi_cells(claim), strict=True))
    known = classes_of(claim)
    grouped = "(SELECT *, count(*) AS n FROM people GROUP BY ALL)"
    at, found = arrays(
        db, f"SELECT coalesce(class, -1), sum(n)::BIGINT FROM {grouped} s LEFT JOIN {known} r ON {same} GROUP BY ALL"
    )
    # [class] people of the population; those of class -1 look like nobody who is released
    population = np.zeros(len(counts.sizes), dtype=np.int64)
    population[at[at >= 0]] = found[at >= 0]
    if claim.shown:
        star, *_ = numbers(db, f"SELECT coalesce(any_value(class), -1) FROM classed WHERE {starred(claim)}").tolist()
        if star >= 0:
            population[star] += int(found[at < 0].sum())
            return replace(counts, population=population)
    strangers = number(db, f"SELECT count(*) FROM {grouped} s LEFT JOIN {known} r ON {same} WHERE class IS NULL")
    return replace(counts, population=population, strangers=strangers)


def labelled(original: Original, name: str, table: OriginalTable) -> pa.Array:
    """Labels that a release at these levels shows for a quasi-identifier, row by row."""
    level, hierarchy = original.levels[name], original.hierarchies[name]
    return pa.array(hierarchy.labels[level], pa.string()).take(pa.array(hierarchy.levels[level][table[name].codes]))


def count_behind(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original, classes: int) -> ClassCounts:
    """Count the original rows behind each released class, with persons and columns that are not released."""
    others = list(dict.fromkeys([*claim.sensitive, *(n for names in original.together for n in names)]))
    source = {f"v{i}": name for i, name in enumerate(others)}
    if original.unit is not None:
        source["person"] = original.unit
    if original.points is not None:
        follow_points(db, claim, original, source)
    else:
        (_follow_labels if original.rows is None else _follow_rows)(db, claim, original, source)
    many = "sum(n)::BIGINT" if original.unit is None else "count(DISTINCT person)"
    sizes = np.zeros(classes, dtype=np.int64)
    at, counts = arrays(db, f"SELECT class, {many} AS n FROM behind GROUP BY class")
    sizes[at] = counts
    sensitive = {
        name: _values_behind(db, f"v{others.index(name)}", name, original, sizes, many) for name in claim.sensitive
    }
    joint = {
        names: _joint_behind(db, [f"v{others.index(name)}" for name in names], names, original)
        for names in original.together
    }
    found = ClassCounts(sizes, sensitive, joint, released=_released(db, claim) if joint else {}, quasi=original.quasi)
    return found if original.population is None else in_population(db, claim, original, found)


def _follow_labels(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original, source: dict[str, str]) -> None:
    """Make `source` and `behind`: a row of the original belongs to the class of its generalised quasi-identifiers.

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
    join = f"FROM {rows} s {'LEFT ' if claim.shown else ''}JOIN {classes_of(claim)} r ON {same}"
    star = f"(SELECT any_value(class) FROM classed WHERE {starred(claim)})"
    db.execute(f"CREATE OR REPLACE TEMP TABLE behind AS SELECT s.*, coalesce(r.class, {star}) AS class {join}")


def _follow_rows(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original, source: dict[str, str]) -> None:
    """Make the same tables where a row of the original belongs to the class of the released row that it became."""
    if original.population is not None:
        raise NotVerified("a release in which rows were recoded one by one cannot be compared with a population")
    assert original.rows is not None
    every = np.arange(original.table.rows)
    codes = {at: original.table[name].codes for at, name in source.items()}
    db.register("source", pa.table({"input": every, "n": np.ones_like(every), **codes}))
    db.register("became", pa.table({"row": np.arange(len(original.rows)), "input": original.rows}))
    place(db, claim)
    db.execute(
        "CREATE OR REPLACE TEMP TABLE behind AS SELECT s.*, p.class "
        "FROM source s JOIN became b ON s.input = b.input JOIN placed p ON b.row = p.row"
    )


def _released(db: "duckdb.DuckDBPyConnection", claim: Claim) -> dict[str, Indices]:
    """[class] number for what each class shows of a quasi-identifier, by its name."""
    shown = db.sql(f"FROM {classes_of(claim)} ORDER BY class").to_arrow_table()
    found: dict[str, list[Indices]] = {}
    for name, cell in zip(claim.quasi_identifiers, quasi_cells(claim), strict=True):
        codes = shown[cell].combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
        found.setdefault(claim.source(name), []).append(codes)
    return {name: _together(found[name]) for name in sorted(found)}


def _together(codes: list[Indices]) -> Indices:
    """[class] number of its combination of codes."""
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
    at, values, counts = arrays(
        db, f"SELECT class, {column} AS value, {many} AS n FROM behind GROUP BY ALL ORDER BY ALL"
    )
    value, overall = arrays(db, f"SELECT {column} AS value, {many} AS n FROM source GROUP BY ALL")
    reference = np.zeros(len(labels), dtype=np.int64)
    reference[value] = overall
    holders = None
    if original.unit is not None:
        null = len(labels) - 1 if labels and labels[-1] is None else -1
        holders = np.zeros_like(sizes)
        here, persons = arrays(db, f"SELECT class, {many} AS n FROM behind WHERE {column} <> {null} GROUP BY class")
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
    *codes, overall = arrays(db, f"SELECT {listed}, sum(n)::BIGINT AS n FROM source GROUP BY ALL ORDER BY ALL")
    whole = JointCounts(np.zeros(len(overall), dtype=np.int64), tuple(codes), overall, labels)
    at, *codes, counts = arrays(
        db, f"SELECT class, {listed}, sum(n)::BIGINT AS n FROM behind GROUP BY ALL ORDER BY ALL"
    )
    return JointCounts(at, tuple(codes), counts, labels, whole)
