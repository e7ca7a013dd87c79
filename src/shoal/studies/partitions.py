"""Multidimensional, single-dimensional and full-domain recoding side by side (LeFevre et al. 2006; S4.1, S4.3)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.api.analysis import workload
from shoal.pipeline import Release, make_release
from shoal.report.plots.charts import Chart, Series
from shoal.report.plots.regions import Boxes
from shoal.studies.study import Direction, People, Sheet, Study, below, quasi_identifier, rises

QUASI = ("age", "race", "sex", "education", "marital-status")
KS = (2, 5, 10, 25, 50, 100)
ALGORITHMS = ("mondrian", "mondrian-relaxed", "mondrian-single", "optimal")
QUERIES = 500
PATIENTS = {"Age": [35, 35, 36, 37, 37, 38], "Zipcode": [53711, 53712, 53711, 53710, 53712, 53711]}
"""Table 1 of the paper; its ZIP codes as its table 3 has them."""
Row = tuple[Any, ...]
_AVERAGE, _SQUARES, _MEDIAN, _MEAN = range(2, 6)


def study_partitions(
    people: People, repeats: int | None = None, seed: int = 0, tell: Callable[[float], None] = lambda _: None
) -> Study:
    """Measure average class size, discernibility and query errors against k, and repeat the paper's figure 1."""
    del repeats
    order = np.random.default_rng(seed).permutation(people.table.num_rows)
    table = people.table.select(list(QUASI)).take(order)
    rows: list[Row] = []
    for i, k in enumerate(KS):
        rows += [(k, name, *_measure(table, k, name, seed, real=people.real)) for name in ALGORITHMS]
        tell((i + 1) / len(KS))
    header = ("k", "algorithm", "C_AVG", "C_DM", "median query error", "mean query error")
    patients = {name: _patients(name) for name in ("mondrian-single", "mondrian")}
    return Study(
        "partitions",
        "Multidimensional, single-dimensional and full-domain recoding",
        f"{people.name}, {table.num_rows:,} rows, quasi-identifiers {', '.join(QUASI)}; {QUERIES} random COUNT queries "
        "over two attributes that aim at a tenth of the rows, answered under the uniform assumption. The text gives no "
        "figures of its experiments, only their directions; its worked example of six patients is re-made. Paper: "
        "LeFevre, DeWitt, Ramakrishnan, Mondrian Multidimensional K-Anonymity, ICDE 2006.",
        (*_directions(rows), _check_figure_1(patients)),
        (Sheet("by-k", "Against k", header, rows), _regions(patients)),
        {
            "classes": _chart("Average class over k", "C_AVG", rows, _AVERAGE),
            "discernibility": _chart("Discernibility", "C_DM", rows, _SQUARES),
            "errors": _chart("Mean error of queries", "relative error", rows, _MEAN),
            **{f"patients-{name}": boxes for name, boxes in patients.items()},
        },
    )


def _measure(table: pa.Table, k: int, algorithm: str, seed: int, *, real: bool) -> Row:
    release = _anonymize(table, {name: quasi_identifier(name, real=real) for name in QUASI}, k, algorithm)
    asked = workload(table, release, random=QUERIES, seed=seed)
    metrics = release.plan.metrics
    return (
        round(metrics["average-class"] / k, 3),
        int(metrics["discernibility"]),
        round(asked.median, 4),
        round(asked.mean, 4),
    )


def _anonymize(table: pa.Table, attributes: dict[str, Any], k: int, algorithm: str) -> Release:
    require = [{"model": "k-anonymity", "k": k}]
    return make_release(table, {"attributes": attributes, "require": require, "method": {"algorithm": algorithm}})


def _patients(algorithm: str) -> Boxes:
    roles = {name: {"role": "quasi-identifier"} for name in PATIENTS}
    return Boxes.from_release(_anonymize(pa.table(PATIENTS), roles, 2, algorithm), "Zipcode", "Age")


def _values_of(rows: Sequence[Row], name: str, at: int) -> list[float]:
    return [float(row[at]) for row in rows if row[1] == name]


def _chart(title: str, up: str, rows: Sequence[Row], at: int) -> Chart:
    series = tuple(Series(name, KS, _values_of(rows, name, at)) for name in ALGORITHMS)
    return Chart(title, "k", up, series, logarithmic=True)


def _directions(rows: Sequence[Row]) -> list[Direction]:
    ks = [f"k = {k}" for k in KS]
    figures = {"C_AVG": _AVERAGE, "C_DM": _SQUARES, "mean query error": _MEAN}
    others = {"mondrian-single": "single-dimensional recoding", "optimal": "full-domain recoding"}
    said = [
        below(
            f"multidimensional recoding beats {kind} in {figure}",
            ks,
            _values_of(rows, "mondrian", at),
            _values_of(rows, name, at),
        )
        for name, kind in others.items()
        for figure, at in figures.items()
    ]
    said.append(
        below(
            "relaxed partitions are at most as large as strict ones: C_AVG",
            ks,
            _values_of(rows, "mondrian-relaxed", _AVERAGE),
            _values_of(rows, "mondrian", _AVERAGE),
        )
    )
    said.append(
        rises("a larger k costs more: mean query error of strict Mondrian", KS, _values_of(rows, "mondrian", _MEAN))
    )
    return said


def _regions(patients: dict[str, Boxes]) -> Sheet:
    rows = [
        (name, f"{low + 0.5:.0f} to {high - 0.5:.0f}", f"{bottom + 0.5:.0f} to {top - 0.5:.0f}", int(held))
        for name, boxes in patients.items()
        for (low, high, bottom, top), held in zip(boxes.boxes.tolist(), boxes.rows.tolist(), strict=True)
    ]
    note = (
        "Ages and ZIP codes alone, k = 2, as in figure 1: single-dimensional partitioning makes one cut, "
        "multidimensional partitioning cuts its left side again."
    )
    return Sheet("patients", "The six patients (figure 1)", ("algorithm", "Zipcode", "Age", "rows"), rows, note)


def _check_figure_1(patients: dict[str, Boxes]) -> Direction:
    """Check figure 1: both cut ZIP codes once; strict partitioning alone also cuts ages, left of that cut."""
    single, strict = ({tuple(box) for box in patients[name].boxes.tolist()} for name in ("mondrian-single", "mondrian"))
    cut = {box[1] for box in single} == {box[1] for box in strict}
    holds = cut and len(single) == 2 and len(strict) == 3 and len(single & strict) == 1
    return Direction(
        "figure 1: after a first cut of the ZIP codes, only multidimensional partitioning can cut ages, on the left",
        f"{len(single)} regions by single-dimensional, {len(strict)} by multidimensional partitioning, "
        f"{len(single & strict)} in both",
        holds,
    )
