"""Multidimensional, single-dimensional and full-domain recoding side by side (LeFevre et al. 2006; S4.3)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.api import prepare, workload
from shoal.report.plots.charts import Chart, Series
from shoal.studies.people import People
from shoal.studies.trees import quasi_identifier
from shoal.studies.written import Sheet, Study

QUASI = ("age", "race", "sex", "education", "marital-status")
KS = (2, 5, 10, 25, 50, 100)
ALGORITHMS = ("mondrian", "mondrian-relaxed", "mondrian-single", "optimal")
QUERIES = 500
Row = tuple[Any, ...]


def study_partitions(
    people: People, repeats: int | None = None, seed: int = 0, tell: Callable[[float], None] = lambda _: None
) -> Study:
    """Average class, discernibility and the errors of queries, against k."""
    del repeats
    order = np.random.default_rng(seed).permutation(people.table.num_rows)
    table = people.table.select(list(QUASI)).take(order)
    rows = []
    for i, k in enumerate(KS):
        rows += [(k, name, *_measured(table, k, name, seed, real=people.real)) for name in ALGORITHMS]
        tell((i + 1) / len(KS))
    header = ("k", "algorithm", "C_AVG", "C_DM", "median query error", "mean query error")
    better = all(_of(rows, k, "mondrian")[at] <= _of(rows, k, "mondrian-single")[at] for k in KS for at in (2, 5))
    return Study(
        "partitions",
        "Multidimensional, single-dimensional and full-domain recoding",
        f"{people.name}, {table.num_rows:,} rows, quasi-identifiers {', '.join(QUASI)}; {QUERIES} random COUNT queries "
        "over two attributes that aim at a tenth of the rows. Paper: LeFevre, DeWitt, Ramakrishnan, Mondrian "
        "Multidimensional K-Anonymity, ICDE 2006.",
        (Sheet("by-k", "Against k", header, rows),),
        {
            "classes": _chart("Average class over k", "C_AVG", rows, 2),
            "errors": _chart("Mean error of queries", "relative error", rows, 5),
        },
        (
            "Multidimensional recoding "
            + ("beats" if better else "does NOT always beat")
            + " single-dimensional recoding in C_AVG and in the mean error of queries, as the paper says.",
        ),
    )


def _measured(table: pa.Table, k: int, algorithm: str, seed: int, *, real: bool) -> Row:
    policy = {
        "attributes": {name: quasi_identifier(name, real=real) for name in QUASI},
        "require": [{"model": "k-anonymity", "k": k}],
        "method": {"algorithm": algorithm},
    }
    release = prepare(table, policy)
    asked = workload(table, release, random=QUERIES, seed=seed)
    metrics = release.summary.metrics
    return (
        round(metrics["c-avg"], 3),
        int(metrics["discernibility"]),
        round(asked.median, 4),
        round(asked.mean, 4),
    )


def _of(rows: list[Row], k: int, name: str) -> Row:
    return next(row for row in rows if row[:2] == (k, name))


def _chart(title: str, up: str, rows: list[Row], at: int) -> Chart:
    series = tuple(Series(name, KS, [_of(rows, k, name)[at] for k in KS]) for name in ALGORITHMS)
    return Chart(title, "k", up, series, logarithmic=True)
