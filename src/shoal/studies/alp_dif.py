"""(alp, dif)-anonymity beside k-anonymity: figures 4 to 10 of Wang, Xu and Qu (S3.8)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.api.attack_and_audit import attack
from shoal.attacks.homogeneity import Homogeneity
from shoal.errors import BadInput, Infeasible
from shoal.pipeline import Release, make_release
from shoal.report.plots.alpha_graph import AlphaGraph
from shoal.report.plots.charts import Chart, Series
from shoal.studies.study import Direction, People, Sheet, Study, below, falls, longer, quasi_identifier

STATUS = "marital-status"
PROTECTED = ("Divorced", "Widowed", "Separated")
ALP = {"Divorced": 0.43, "Widowed": 0.42, "Separated": 0.5}
DIF = {"Divorced": 0.27, "Widowed": 0.31, "Separated": 0.6}
"""Thresholds of dif by value; Married has 1 and 1, which is no threshold."""
ALPS = (0.43, 0.41)
"""Values of alp in figures 7 to 9: for Divorced alone, with a dif of 0.3."""
TIMES_SHARE = (2.5, 2.0, 1.75, 1.5, 1.25, 1.1)
"""Further values of alp, as multiples of the share of Divorced in the table, below which none is possible."""
KS = (2, 3, 4, 5, 6)
DRAWN = 6_000
DRAWS = 3
SUPPRESSION = 0.02
Models = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class LeakageFigures:
    """Figures of one release, or their means over several."""

    attacked: float
    """Rows in classes of one value (S3.7)."""
    protected: float
    """Attacked rows whose value has a threshold."""
    nodes: float
    milliseconds: float
    prec: float
    alp: float
    """The average leakage probability of Divorced."""

    @classmethod
    def mean(cls, found: Sequence["LeakageFigures"]) -> "LeakageFigures":
        return cls(*(mean(getattr(each, name) for each in found) for name in cls.__dataclass_fields__))

    def cells(self) -> tuple[str, ...]:
        return (
            f"{self.attacked:.1f}",
            f"{self.protected:.1f}",
            f"{self.nodes:.1f}",
            f"{self.milliseconds:.1f}",
            f"{self.prec:.4f}",
            f"{self.alp:.3f}",
        )


_HEADER = ("attacked records", "of them protected", "nodes visited", "CPU, ms", "Prec", "ALP of Divorced")


@dataclass(frozen=True)
class _Trial:
    """Releases of random rows, the same ones for the same seed."""

    table: pa.Table
    quasi: tuple[str, ...]
    draws: int
    seed: int
    real: bool

    def run(self, rows: int, k: int, further: Models) -> LeakageFigures:
        return LeakageFigures.mean([self._measure(some, k, further) for some in self.draw_tables(rows)])

    def draw_tables(self, rows: int) -> Iterator[pa.Table]:
        for draw in range(self.draws):
            order = np.random.default_rng([self.seed, draw]).permutation(self.table.num_rows)
            yield self.table.take(np.sort(order[:rows]))

    def _measure(self, some: pa.Table, k: int, further: Models) -> LeakageFigures:
        attributes = {name: quasi_identifier(name, real=self.real) for name in self.quasi}
        policy = {
            "attributes": attributes | {STATUS: {"role": "sensitive"}},
            "require": [{"model": "k-anonymity", "k": k}, *further],
            "method": {"algorithm": "greedy", "suppression": SUPPRESSION},
        }
        began = process_time()
        try:
            release = make_release(some, policy)
        except Infeasible as why:
            raise BadInput(f"a draw of {some.num_rows:,} rows cannot keep the thresholds: {why}") from None
        milliseconds = 1_000 * (process_time() - began)
        assert release.plan.search is not None
        return LeakageFigures(
            attack(release, Homogeneity()).exposed,
            attack(release, Homogeneity(protected=PROTECTED)).exposed,
            release.plan.search.tally.checked,
            milliseconds,
            1 - release.plan.metrics["precision-loss"],
            _alp(release),
        )


def _alp(release: Release) -> float:
    """Return the average leakage probability of Divorced (S3.1)."""
    shown = AlphaGraph.from_release(release, STATUS)
    # [class]: share of Divorced in each class; their mean is weighted by the divorced of each class
    shares = shown.matrix([shown.values.index("Divorced")])[0]
    return float(shares @ (shares * shown.totals) / (shares @ shown.totals))


def study_leakage(
    people: People, repeats: int | None = None, seed: int = 0, tell: Callable[[float], None] = lambda _: None
) -> Study:
    """Measure attacked records, time and precision of k- and (alp, dif)-anonymity against k, alp and the rows."""
    country, married = ("native-country", "Married-civ-spouse") if people.real else ("country", "Married")
    quasi = ("age", "education", "sex", "occupation", country, people.sensitive)
    table = people.table.filter(pc.is_in(people.table[STATUS], pa.array([*PROTECTED, married])))
    trial = _Trial(table.select([*quasi, STATUS]), quasi, DRAWS if repeats is None else repeats, seed, real=people.real)
    drawn = min(DRAWN, table.num_rows)
    sizes = [drawn * i // 6 for i in range(1, 7)]
    share = pc.sum(pc.equal(table[STATUS], "Divorced")).as_py() / table.num_rows
    alps = [round(times * share, 3) for times in TIMES_SHARE]
    models: dict[str, Models] = {"k-anonymity": [], "(alp, dif)": _thresholds(ALP, DIF)}
    models |= {f"alp {alp}": _thresholds({"Divorced": alp}, {"Divorced": 0.3}) for alp in ALPS}
    cases: dict[Any, tuple[int, int, Models]] = {(k, name): (drawn, k, models[name]) for k in KS for name in models}
    cases |= {("alp", alp): (drawn, 2, _thresholds({"Divorced": alp}, {"Divorced": 1.0})) for alp in alps}
    cases |= {(rows, k): (rows, k, models["(alp, dif)"]) for rows in sizes for k in (2, 3)}
    trial.run(drawn, 2, [])  # warm up: what is loaded once must not count
    found = {}
    for case, asked in cases.items():
        found[case] = trial.run(*asked)
        tell(len(found) / len(cases))
    by_k = {name: [found[k, name] for k in KS] for name in models}
    by_alp = [found["alp", alp] for alp in alps]
    by_rows = {k: [found[rows, k] for rows in sizes] for k in (2, 3)}
    return Study(
        "leakage",
        "(alp, dif)-anonymity beside k-anonymity",
        f"{people.name} restricted to four marital statuses, {table.num_rows:,} rows; quasi-identifiers "
        f"{', '.join(quasi)}; means over {trial.draws} draws of {drawn:,} rows; the greedy search, at most "
        f"{SUPPRESSION:.0%} suppressed (the paper does not say how many it allowed, nor how it chose 21,411 rows). Its "
        "figures are lost but for their directions. Paper: Wang, Xu, Qu, An Enhanced K-Anonymity Model against "
        "Homogeneity Attack, Journal of Software 6(10), 2011, figures 4 to 10.",
        (*_against_k(by_k), *_against_alp(by_k, alps, by_alp), *_against_rows(sizes, by_rows)),
        (
            Sheet("by-k", "Against k (figures 4 to 9)", ("k", "model", *_HEADER), _rows_by_k(by_k)),
            Sheet(
                "by-alp",
                "Against alp of Divorced, k = 2, without dif",
                ("alp", *_HEADER),
                [(alp, *each.cells()) for alp, each in zip(alps, by_alp, strict=True)],
                f"Multiples of {share:.3f}, the share of Divorced: no release has a smaller ALP.",
            ),
            Sheet(
                "by-rows",
                "(alp, dif) against rows (figure 10)",
                ("rows", "k", *_HEADER),
                [(rows, k, *found[rows, k].cells()) for rows in sizes for k in (2, 3)],
            ),
        ),
        _build_charts(by_k, alps, by_alp, sizes, by_rows),
    )


def _thresholds(alp: Mapping[str, float], dif: Mapping[str, float]) -> Models:
    return [{"model": "alp-dif", "alp": dict(alp), "dif": dict(dif)}]


def _rows_by_k(found: Mapping[str, Sequence[LeakageFigures]]) -> list[tuple[Any, ...]]:
    return [(k, name, *found[name][i].cells()) for i, k in enumerate(KS) for name in found]


def _values_of(found: Sequence[LeakageFigures], name: str) -> list[float]:
    return [getattr(each, name) for each in found]


def _build_charts(
    by_k: Mapping[str, Sequence[LeakageFigures]],
    alps: Sequence[float],
    by_alp: Sequence[LeakageFigures],
    sizes: Sequence[int],
    by_rows: Mapping[int, Sequence[LeakageFigures]],
) -> dict[str, Chart]:
    up = {"attacked": "records under homogeneity attack", "milliseconds": "CPU milliseconds", "prec": "Prec"}
    charts = {
        f"{name}-by-k": Chart(
            f"{label} against k",
            "k",
            label,
            tuple(Series(model, KS, _values_of(each, name)) for model, each in by_k.items()),
        )
        for name, label in up.items()
    }
    charts |= {
        f"{name}-by-alp": Chart(
            f"{up[name]} against alp, k = 2", "alp of Divorced", up[name], (Series("", alps, _values_of(by_alp, name)),)
        )
        for name in ("attacked", "prec")
    }
    lines = tuple(Series(f"k = {k}", sizes, _values_of(each, "milliseconds")) for k, each in by_rows.items())
    return charts | {"time-by-rows": Chart("Time against rows", "rows", up["milliseconds"], lines)}


_STEPS = "rows are read and coded once; the search goes from classes to fewer classes, a few nodes in all"
_UP = (
    "a smaller k keeps classes of few rows, in some of which a protected value is nearly alone: dif makes the search "
    "go further up than a larger k does, which suppresses them"
)


def _against_k(found: Mapping[str, Sequence[LeakageFigures]]) -> Iterator[Direction]:
    plain, enhanced = found["k-anonymity"], found["(alp, dif)"]
    ks = [f"k = {k}" for k in KS]
    yield falls("figure 4: attacked records fall with k (k-anonymity)", KS, _values_of(plain, "attacked"))
    yield falls(
        "figure 4: attacked records fall with k ((alp, dif))",
        KS,
        _values_of(enhanced, "attacked"),
        f"{_UP}; in a more general node fewer classes are homogeneous",
    )
    yield below(
        "figure 4: (alp, dif) has evidently fewer attacked records than k-anonymity",
        ks,
        _values_of(enhanced, "attacked"),
        _values_of(plain, "attacked"),
    )
    for name, each in (("k-anonymity", plain), ("(alp, dif)", enhanced)):
        yield longer(f"figure 5: time rises with k ({name}, CPU ms)", KS, _values_of(each, "milliseconds"), _STEPS)
    yield below(
        "figure 5: (alp, dif) takes longer than k-anonymity: nodes visited",
        ks,
        _values_of(plain, "nodes"),
        _values_of(enhanced, "nodes"),
    )
    yield falls("figure 6: Prec falls with k (k-anonymity)", KS, _values_of(plain, "prec"))
    yield falls(
        "figure 6: Prec falls with k ((alp, dif))",
        KS,
        _values_of(enhanced, "prec"),
        _UP,
    )
    yield below(
        "figure 6: (alp, dif) is less precise than k-anonymity",
        ks,
        _values_of(enhanced, "prec"),
        _values_of(plain, "prec"),
    )


def _against_alp(
    found: Mapping[str, Sequence[LeakageFigures]], alps: Sequence[float], by_alp: Sequence[LeakageFigures]
) -> Iterator[Direction]:
    ks = [f"k = {k}" for k in KS]
    loose, tight = (found[f"alp {alp}"] for alp in ALPS)
    equal = (
        f"k-anonymity alone has an ALP of {found['k-anonymity'][0].alp:.3f} at k = {KS[0]}: it is dif = 0.3 that makes "
        "the search go on, to the same nodes for both. Without dif, and over a wider range, see below"
    )
    yield below(
        "figure 7: the smaller alp takes longer: nodes visited (0.43 against 0.41)",
        ks,
        _values_of(loose, "nodes"),
        _values_of(tight, "nodes"),
        equal,
    )
    yield below(
        "figure 8: the smaller alp is less precise (0.41 against 0.43)",
        ks,
        _values_of(tight, "prec"),
        _values_of(loose, "prec"),
        equal,
    )
    yield below(
        "figure 9: the smaller alp has fewer attacked records (0.41 against 0.43)",
        ks,
        _values_of(tight, "attacked"),
        _values_of(loose, "attacked"),
        equal,
    )
    yield falls("smaller alp: less Prec (k = 2)", alps, _values_of(by_alp, "prec"))
    yield falls(
        "smaller alp: fewer attacked records (k = 2)",
        alps,
        _values_of(by_alp, "attacked"),
        "ALP is a mean over all who are divorced: it does not look at classes of the married, who are attacked too",
    )


def _against_rows(sizes: Sequence[int], found: Mapping[int, Sequence[LeakageFigures]]) -> Iterator[Direction]:
    for k, each in found.items():
        times = _values_of(each, "milliseconds")
        yield longer(f"figure 10: time rises with the rows (k = {k}, CPU ms)", sizes, times, _STEPS)
    first, last = (found[2][i].milliseconds for i in (0, -1))
    growth, more = last / first, sizes[-1] / sizes[0]
    yield Direction(
        "figure 10: time grows faster than the rows",
        f"{more:.1f} times the rows take {growth:.1f} times as long (k = 2)",
        growth > more,
        ""
        if growth > more
        else "rows are read and coded once; all else goes with the distinct ones, which grow slower",
    )
    yield below(
        "figure 10: the larger k takes longer: nodes visited (k = 2 against k = 3)",
        [f"{rows:,} rows" for rows in sizes],
        _values_of(found[2], "nodes"),
        _values_of(found[3], "nodes"),
        _UP,
    )
