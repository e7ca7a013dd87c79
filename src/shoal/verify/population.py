"""Everybody of the population in each released class, counted in SQL."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal.counts import ClassCounts
from shoal.verify.claim import Claim, Original
from shoal.verify.original_table import OriginalTable
from shoal.verify.placing import classes_of, quasi_cells, starred
from shoal.verify.queries import arrays, number, numbers

if TYPE_CHECKING:
    import duckdb


def in_population(
    db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original, counts: ClassCounts
) -> ClassCounts:
    """How many persons of the population each class has, and how many of its classes have nobody released.

    Where suppressed rows are shown, whoever is in no other class may be behind the class of stars.
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
    """A quasi-identifier's column as it is released."""
    level, hierarchy = original.levels[name], original.hierarchies[name]
    return pa.array(hierarchy.labels[level], pa.string()).take(pa.array(hierarchy.levels[level][table[name].codes]))
