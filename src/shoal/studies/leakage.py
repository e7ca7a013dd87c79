"""(alp, dif)-anonymity beside k-anonymity: figures 4 to 10 of Wang, Xu and Qu (S3.8)."""

from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.api import attack, prepare
from shoal.attacks import Homogeneity
from shoal.errors import BadInput, Infeasible
from shoal.report.plots.charts import Chart, Series
from shoal.studies.people import People
from shoal.studies.trees import quasi_identifier
from shoal.studies.written import Sheet, Study

STATUS = "marital-status"
VALUES = ("Divorced", "Widowed", "Separated", "Married-civ-spouse")
ALP = {"Divorced": 0.43, "Widowed": 0.42, "Separated": 0.5}
DIF = {"Divorced": 0.27, "Widowed": 0.31, "Separated": 0.6}
"""Married-civ-spouse has 1 and 1, which is no threshold."""
QUASI = ("age", "education", "sex", "occupation", "native-country", "salary-class")
KS = (2, 3, 4, 5, 6)
DRAWN = 6_000
SIZES = (1_000, 2_000, 3_000, 4_000, 5_000, 6_000)
DRAWS = 3
SUPPRESSION = 0.02
Measured = tuple[float, float, float]
"""People under homogeneity attack, CPU seconds, Prec."""


def study_leakage(
    people: People, repeats: int | None = None, seed: int = 0, tell: Callable[[float], None] = lambda _: None
) -> Study:
    """Attacked records, time and precision of k-anonymity and (alp, dif)-anonymity against k and the rows."""
    if not people.real:
        raise BadInput("this study is about the marital status of Adult; name its folder with --adult")
    table = people.table.filter(pc.is_in(people.table[STATUS], pa.array(VALUES))).select([*QUASI, STATUS])
    models: dict[str, list[Mapping[str, Any]]] = {
        "k-anonymity": [],
        "(alp, dif)": [{"model": "alp-dif", "alp": ALP, "dif": DIF}],
        "alp 0.43": [{"model": "alp-dif", "alp": {"Divorced": 0.43}, "dif": {"Divorced": 0.3}}],
        "alp 0.41": [{"model": "alp-dif", "alp": {"Divorced": 0.41}, "dif": {"Divorced": 0.3}}],
    }
    draws = DRAWS if repeats is None else repeats
    by_k: dict[str, list[Measured]] = {name: [] for name in models}
    steps = len(models) * len(KS) + len(SIZES)
    for k in KS:
        for name, further in models.items():
            by_k[name].append(_mean(table, DRAWN, k, further, draws, seed))
            tell(sum(map(len, by_k.values())) / steps)
    by_rows = []
    for i, rows in enumerate(SIZES):
        times = [_mean(table, rows, k, models["(alp, dif)"], draws, seed)[1] for k in (2, 3)]
        by_rows.append((rows, *(round(each, 3) for each in times)))
        tell((len(models) * len(KS) + i + 1) / steps)
    return Study(
        "leakage",
        "(alp, dif)-anonymity beside k-anonymity",
        f"Adult restricted to four marital statuses, {table.num_rows:,} rows; quasi-identifiers {', '.join(QUASI)}; "
        f"{draws} draws of {DRAWN:,} rows; the greedy search, at most {SUPPRESSION:.0%} suppressed. Paper: Wang, Xu, "
        "Qu, An Enhanced K-Anonymity Model against Homogeneity Attack, Journal of Software 6(10), 2011, figures 4 to "
        "10.",
        (_by_k(by_k), Sheet("by-rows", "Time against rows (figure 10)", ("rows", "k = 2, s", "k = 3, s"), by_rows)),
        _charts(by_k, by_rows),
        _conclusions(by_k),
    )


def _mean(table: pa.Table, rows: int, k: int, further: Sequence[Mapping[str, Any]], draws: int, seed: int) -> Measured:
    found = [_measured(table, rows, k, further, np.random.default_rng([seed, draw])) for draw in range(draws)]
    return mean(each[0] for each in found), mean(each[1] for each in found), mean(each[2] for each in found)


def _measured(
    table: pa.Table, rows: int, k: int, further: Sequence[Mapping[str, Any]], rng: np.random.Generator
) -> Measured:
    some = table.take(np.sort(rng.permutation(table.num_rows)[:rows]))
    policy = {
        "attributes": {name: quasi_identifier(name, real=True) for name in QUASI} | {STATUS: {"role": "sensitive"}},
        "require": [{"model": "k-anonymity", "k": k}, *further],
        "method": {"algorithm": "greedy", "suppression": SUPPRESSION},
    }
    began = process_time()
    try:
        release = prepare(some, policy)
    except Infeasible as why:
        raise BadInput(f"a draw of {rows:,} rows cannot keep the thresholds: {why}") from None
    seconds = process_time() - began
    attacked = attack(release, Homogeneity(protected=("Divorced", "Widowed", "Separated")))
    return attacked.exposed, seconds, release.summary.metrics["prec"]


def _by_k(found: Mapping[str, Sequence[Measured]]) -> Sheet:
    rows = [
        (k, name, f"{found[name][i][0]:.1f}", f"{found[name][i][1]:.2f}", f"{found[name][i][2]:.4f}")
        for i, k in enumerate(KS)
        for name in found
    ]
    header = ("k", "model", "attacked records", "CPU, s", "Prec")
    note = (
        "Attacked records lie in classes of one protected value (S3.7). Their number and Prec are means over the draws."
    )
    return Sheet("by-k", "Against k (figures 4 to 9)", header, rows, note)


def _charts(found: Mapping[str, Sequence[Measured]], by_rows: Sequence[tuple[float, ...]]) -> dict[str, Chart]:
    up = {"attacked": "records under homogeneity attack", "time": "CPU seconds", "precision": "Prec"}
    charts = {
        name: Chart(
            f"{label[0].upper()}{label[1:]} against k",
            "k",
            label,
            tuple(Series(model, KS, [each[i] for each in values]) for model, values in found.items()),
        )
        for i, (name, label) in enumerate(up.items())
    }
    sizes = [row[0] for row in by_rows]
    lines = tuple(Series(f"k = {k}", sizes, [row[i] for row in by_rows]) for i, k in ((1, 2), (2, 3)))
    return charts | {"rows": Chart("Time against rows", "rows", "CPU seconds", lines)}


def _conclusions(found: Mapping[str, Sequence[Measured]]) -> tuple[str, ...]:
    plain, enhanced = found["k-anonymity"], found["(alp, dif)"]
    loose, tight = found["alp 0.43"], found["alp 0.41"]

    def all_of(name: str, holds: bool) -> str:
        return f"{name}: {'as the paper says' if holds else 'NOT as the paper says'}."

    return (
        all_of("Attacked records fall with k", plain[-1][0] <= plain[0][0]),
        all_of("(alp, dif) leaves fewer attacked records than k alone", _never(enhanced, plain, 0)),
        all_of("Precision falls with k", plain[-1][2] <= plain[0][2]),
        all_of("(alp, dif) costs precision", _never(enhanced, plain, 2)),
        all_of(
            "Smaller alp: fewer attacked records and less precision",
            _never(tight, loose, 0) and _never(tight, loose, 2),
        ),
    )


def _never(one: Sequence[Measured], other: Sequence[Measured], at: int) -> bool:
    """Whether the one is never above the other."""
    return all(a[at] <= b[at] + 1e-12 for a, b in zip(one, other, strict=True))
