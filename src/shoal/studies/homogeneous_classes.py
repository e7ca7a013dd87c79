"""How many classes become homogeneous: both cases of Mohapatra and Patra, and real releases (S0.4, S0.5)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.api.attack_and_audit import attack
from shoal.attacks.homogeneity import Homogeneity, expected_uniform
from shoal.pipeline import make_release
from shoal.report.plots.charts import Chart, Series
from shoal.studies.study import Direction, People, Sheet, Study, falls, quasi_identifier, rises

SIZES = (10_000, 20_000, 30_000, 40_000, 50_000, 60_000)
KS = (2, 3, 4, 5, 6, 7, 8, 10)
QUASI = ("age", "sex", "race", "education")
K, ROWS = 5, 60_000
Row = tuple[Any, ...]
_EXPECTED, _REAL, _CLASSES, _EXPOSED, _SHARE = range(2, 7)
"""Columns of both tables, after the size or k, and SE."""


def study_homogeneity(
    people: People, repeats: int | None = None, seed: int = 0, tell: Callable[[float], None] = lambda _: None
) -> Study:
    """Measure SE against the size of the table and against k, beside homogeneous classes of real releases."""
    del repeats
    rows = people.table.num_rows
    order = np.random.default_rng(seed).permutation(rows)
    values = len(set(people.table[people.sensitive].to_pylist()))
    sizes = _sizes(rows)
    cases = [(size, K) for size in sizes] + [(rows, k) for k in KS]
    found = []
    for i, (size, k) in enumerate(cases):
        found.append(_measure(people, order[:size], k))
        tell((i + 1) / len(cases))
    by_size = [(n, round(expected_uniform(n, K, [values]), 4), *each) for n, each in zip(sizes, found, strict=False)]
    by_k = [
        (k, round(expected_uniform(ROWS, k, [values]), 4), *each)
        for k, each in zip(KS, found[len(sizes) :], strict=True)
    ]
    header = ("expected with the real shares", "homogeneous classes", "classes", "people in them", "share of people")
    return Study(
        "homogeneity",
        "Homogeneous classes, expected and real",
        f"{people.name}, {rows:,} rows, sensitive {people.sensitive} of {values} values, quasi-identifiers "
        f"{', '.join(QUASI)}, strict Mondrian. SE is equation (1) of Mohapatra and Patra, which takes values as "
        "equally likely and classes as equally large; beside it the expectation with the table's own shares and sizes, "
        "and what the release really shows. The paper's figures are lost but for their directions. Paper: Mohapatra, "
        "Patra, Analysis of k-Anonymity for Homogeneity Attack.",
        _directions(by_size, by_k),
        (
            Sheet("by-size", f"Case 1: the size of the table, k = {K}", ("rows", "SE", *header), by_size),
            Sheet("by-k", f"Case 2: k, SE for {ROWS:,} rows, the rest for {rows:,}", ("k", "SE", *header), by_k),
        ),
        {
            "by-size": _chart(f"Homogeneous classes against the size of the table, k = {K}", "rows", by_size),
            "by-k": _chart("Homogeneous classes against k", "k", by_k, logarithmic=True),
        },
        (_note(by_size[-1], values),),
    )


def _sizes(rows: int) -> list[int]:
    """Return the paper's sizes as far as there are rows; for a small table, sixths of it."""
    if rows < SIZES[1]:
        return [rows * i // 6 for i in range(1, 7)]
    return [*(size for size in SIZES if size < rows), rows][: len(SIZES)]


def _measure(people: People, rows: NDArray[np.int64], k: int) -> Row:
    """Measure the expectation with real shares and sizes, homogeneous classes, classes, and people exposed."""
    some = people.table.select([*QUASI, people.sensitive]).take(np.sort(rows))
    attributes = {name: quasi_identifier(name, real=people.real) for name in QUASI}
    policy = {
        "attributes": attributes | {people.sensitive: {"role": "sensitive"}},
        "require": [{"model": "k-anonymity", "k": k}],
        "method": {"algorithm": "mondrian"},
    }
    found = attack(make_release(some, policy), Homogeneity())
    figures = found.figures
    share = round(found.exposed / len(rows), 4)
    return round(figures["expected"], 2), figures["homogeneous_classes"], figures["classes"], found.exposed, share


def _chart(title: str, across: str, rows: Sequence[Row], *, logarithmic: bool = False) -> Chart:
    x = [row[0] for row in rows]
    names = {"SE": 1, "expected with the real shares": _EXPECTED, "really homogeneous": _REAL}
    series = tuple(Series(name, x, [max(row[i], 1e-6) for row in rows]) for name, i in names.items())
    return Chart(title, across, "classes", series, logarithmic=logarithmic)


def _column(rows: Sequence[Row], at: int) -> list[float]:
    return [float(row[at]) for row in rows]


def _mean_size(row: Row) -> float:
    """Return the mean size of the classes; the size of the table is the first cell of the row."""
    return float(row[0] / row[_CLASSES])


def _directions(by_size: Sequence[Row], by_k: Sequence[Row]) -> tuple[Direction, ...]:
    sizes, ks = [row[0] for row in by_size], [row[0] for row in by_k]
    return (
        rises(f"SE rises with the size of the table (k = {K})", sizes, _column(by_size, 1)),
        falls(f"SE falls with k ({ROWS:,} rows)", ks, _column(by_k, 1)),
        rises(
            "the homogeneous classes become more with the size of the table",
            sizes,
            _column(by_size, _REAL),
            "in a larger table classes are larger, and more seldom homogeneous",
        ),
        rises(
            "the possibility of an attack rises with the size: the share of people in homogeneous classes",
            sizes,
            _column(by_size, _SHARE),
            "SE rises because it counts classes: its share of them is the same for every size. Real classes have "
            f"{_mean_size(by_size[0]):.1f} rows on average in the smallest table and {_mean_size(by_size[-1]):.1f} in "
            "the largest, since rows of one point cannot be cut apart, and a larger class is more seldom homogeneous",
        ),
        falls("the possibility of an attack falls with k: people in homogeneous classes", ks, _column(by_k, _EXPOSED)),
    )


def _note(row: Row, values: int) -> str:
    """Return a note on what the largest table shows, whichever way it goes."""
    n, expected, real = row[0], row[1], row[_REAL]
    side = "more than" if real > expected else "fewer than" if real < expected else "as many as"
    return (
        f"Of {n:,} rows at k = {K}, SE is {expected:,.1f}, the expectation with the real shares {row[_EXPECTED]:,.1f}, "
        f"and {real:,} classes of {row[_CLASSES]:,} are homogeneous: {side} SE. Its {n // K:,} classes of {K} are "
        f"all as small as k allows, and its {values} values equally likely and independent of the quasi-identifiers; "
        "real classes are larger, which makes them fewer, and values lean on the quasi-identifiers, which makes more "
        "of them homogeneous."
    )
