"""Datafly, Samarati and Incognito side by side: the comparison of the survey (S2.7)."""

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.api import prepare
from shoal.report.plots.charts import Chart, Series
from shoal.studies.people import People
from shoal.studies.trees import quasi_identifier
from shoal.studies.written import Sheet, Study

QUASI = ("age", "race", "sex", "education", "marital-status")
ALGORITHMS = ("datafly", "samarati", "incognito", "optimal")
KS = (2, 5, 10, 25, 50, 100)
SIZES = (1_000, 5_000, 10_000, 20_000, 45_222)
K = 10
Row = tuple[Any, ...]


def study_searches(
    people: People, repeats: int | None = None, seed: int = 0, tell: Callable[[float], None] = lambda _: None
) -> Study:
    """Nodes visited, heights, losses and time of the searches, against k and against the rows."""
    del repeats
    order = np.random.default_rng(seed).permutation(people.table.num_rows)
    table = people.table.select(list(QUASI)).take(order)
    cases = [(k, table.num_rows) for k in KS] + [(K, size) for size in SIZES if size < table.num_rows]
    found = {}
    for i, (k, rows) in enumerate(cases):
        for algorithm in ALGORITHMS:
            found[k, rows, algorithm] = _measured(table.slice(0, rows), k, algorithm, real=people.real)
        tell((i + 1) / len(cases))
    by_k = [(k, name, *found[k, table.num_rows, name]) for k in KS for name in ALGORITHMS]
    sizes = sorted({rows for k, rows in cases if k == K})
    by_rows = [(rows, name, *found[K, rows, name]) for rows in sizes for name in ALGORITHMS]
    header = ("algorithm", "nodes visited", "height", "loss", "CPU, s")
    fewest = all(min(by, key=lambda row: row[2])[1] == "datafly" for by in _grouped(by_k))
    return Study(
        "searches",
        "Datafly, Samarati and Incognito",
        f"{people.name}, {table.num_rows:,} rows, quasi-identifiers {', '.join(QUASI)}, nothing suppressed. Visited "
        "nodes are those whose classes were counted. Times are of the whole run: coding, counting, searching, "
        "recoding.",
        (
            Sheet("by-k", "Against k", ("k", *header), by_k),
            Sheet("by-rows", f"Against the rows, k = {K}", ("rows", *header), by_rows),
        ),
        {
            "nodes": _chart("Nodes visited", "k", "nodes", by_k, 2, logarithmic=True),
            "heights": _chart("Height of the node found", "k", "height", by_k, 3),
            "times": _chart("Time against the rows", "rows", "CPU seconds", by_rows, 5),
        },
        (
            f"Datafly {'visits' if fewest else 'does not always visit'} the fewest nodes.",
            "Samarati finds nodes of least height, Incognito all that comply; `optimal` finds the least loss.",
        ),
    )


def _grouped(rows: list[Row]) -> list[list[Row]]:
    return [rows[i : i + len(ALGORITHMS)] for i in range(0, len(rows), len(ALGORITHMS))]


def _measured(table: pa.Table, k: int, algorithm: str, *, real: bool) -> Row:
    policy = {
        "attributes": {name: quasi_identifier(name, real=real) for name in QUASI},
        "require": [{"model": "k-anonymity", "k": k}],
        "method": {"algorithm": algorithm},
    }
    began = process_time()
    plan = prepare(table, policy).plan
    seconds = process_time() - began
    assert plan.search is not None
    assert plan.search.found.best is not None
    height = sum(plan.search.found.best.node)
    return plan.search.tally.checked, height, round(plan.metrics["loss"], 4), round(seconds, 3)


def _chart(title: str, across: str, up: str, rows: list[Row], at: int, *, logarithmic: bool = False) -> Chart:
    series = tuple(
        Series(name, [row[0] for row in rows if row[1] == name], [row[at] for row in rows if row[1] == name])
        for name in ALGORITHMS
    )
    return Chart(title, across, up, series, logarithmic=logarithmic)
