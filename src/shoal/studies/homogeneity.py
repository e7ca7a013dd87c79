"""How many classes become homogeneous: both cases of Mohapatra and Patra, and what really happens (S0.4, S0.5)."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.api import attack, prepare
from shoal.attacks import Homogeneity
from shoal.attacks.homogeneity import expected_uniform
from shoal.report.plots.charts import Chart, Series
from shoal.studies.people import People
from shoal.studies.trees import quasi_identifier
from shoal.studies.written import Sheet, Study

SIZES = (10_000, 20_000, 30_000, 40_000, 50_000, 60_000)
KS = (2, 3, 4, 5, 6, 7, 8, 10)
QUASI = ("age", "sex", "race", "education")
K, ROWS = 5, 60_000


def study_homogeneity(
    people: People, repeats: int | None = None, seed: int = 0, tell: Callable[[float], None] = lambda _: None
) -> Study:
    """SE against the size of the table and against k, beside homogeneous classes of real releases."""
    del repeats
    order = np.random.default_rng(seed).permutation(people.table.num_rows)
    values = len(set(people.table[people.sensitive].to_pylist()))
    by_size = []
    for i, size in enumerate(SIZES):
        by_size.append((size, expected_uniform(size, K, [values]), *_measured(people, order[:size], K)))
        tell((i + 1) / (len(SIZES) + len(KS)))
    by_k = []
    for i, k in enumerate(KS):
        by_k.append((k, expected_uniform(ROWS, k, [values]), *_measured(people, order, k)))
        tell((len(SIZES) + i + 1) / (len(SIZES) + len(KS)))
    header = ("SE", "expected with the real shares", "homogeneous classes", "classes", "people in them")
    rows = people.table.num_rows
    return Study(
        "homogeneity",
        "Homogeneous classes, expected and real",
        f"{people.name}, {rows:,} rows, sensitive {people.sensitive} of {values} values, quasi-identifiers "
        f"{', '.join(QUASI)}, local recoding. SE is equation (1) of Mohapatra and Patra, which takes values as equally "
        "likely and classes as equally large; beside it the expectation with the table's own shares and sizes, and "
        "what the release really shows. Where the table has fewer rows than a case asks for, the real figures are of "
        "all its rows.",
        (
            Sheet("by-size", f"Case 1: the size of the table, k = {K}", ("rows", *header), by_size),
            Sheet("by-k", f"Case 2: k, SE for {ROWS:,} rows", ("k", *header), by_k),
        ),
        {
            "by-size": _chart("SE rises with the table", "rows", by_size),
            "by-k": _chart("SE falls with k", "k", by_k, logarithmic=True),
        },
        _conclusions(by_size, by_k),
    )


def _measured(people: People, rows: NDArray[np.int64], k: int) -> tuple[float, int, int, int]:
    """The expectation with real shares and sizes, homogeneous classes, classes, and people in homogeneous ones."""
    some = people.table.select([*QUASI, people.sensitive]).take(np.sort(rows))
    attributes = {name: quasi_identifier(name, real=people.real) for name in QUASI}
    policy = {
        "attributes": attributes | {people.sensitive: {"role": "sensitive"}},
        "require": [{"model": "k-anonymity", "k": k}],
        "method": {"algorithm": "mondrian"},
    }
    found = attack(prepare(some, policy), Homogeneity())
    figures = found.figures
    return figures["expected"], figures["homogeneous_classes"], figures["classes"], found.exposed


def _chart(title: str, across: str, rows: Sequence[tuple[float, ...]], *, logarithmic: bool = False) -> Chart:
    x = [row[0] for row in rows]
    names = ("SE", "expected with the real shares", "homogeneous classes")
    series = tuple(Series(name, x, [max(row[i], 1e-6) for row in rows]) for i, name in enumerate(names, 1))
    return Chart(title, across, "classes", series, logarithmic=logarithmic)


def _conclusions(by_size: Sequence[tuple[float, ...]], by_k: Sequence[tuple[float, ...]]) -> tuple[str, ...]:
    rises = all(one[1] < other[1] for one, other in pairwise(by_size))
    falls = all(one[1] > other[1] for one, other in pairwise(by_k))
    real = all(one[3] >= other[3] for one, other in pairwise(by_k))
    grows = f"SE {'rises' if rises else 'does not rise'} with the size of the table"
    shrinks = f"{'falls' if falls else 'does not fall'} with k, as the paper says."
    more = (
        f"Really homogeneous classes {'fall' if real else 'do not always fall'} with k; they are many more than SE: "
        "values are neither equally likely nor independent of the quasi-identifiers."
    )
    return f"{grows} and {shrinks}", more
