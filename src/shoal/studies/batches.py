"""A table that arrives in ten batches and is published after each: three ways, and anonymizing afresh (S3.10)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.attacks.composition_over_time import Candidates, sets_of
from shoal.pipeline import Release, make_release
from shoal.policy.document import Policy
from shoal.report.plots.charts import Chart, Series
from shoal.republish.next_release import PreviousRelease
from shoal.studies.study import Direction, People, Sheet, Study, quasi_identifier, rises

QUASI = ("age", "race", "sex", "education", "marital-status")
SENSITIVE, KEY = "occupation", "person"
BATCHES, LEAVING = 10, 0.005
K, L = 5, 3
ALP, DIF = 0.5, 0.6
SUPPRESSION = 0.5
AFRESH = "afresh"
WAYS: Mapping[str, Mapping[str, Any]] = {
    AFRESH: {},
    "monotone": {"way": "monotone"},
    "m-invariance": {"way": "m-invariance", "m": L},
    "alp-dif": {"way": "alp-dif"},
}
HEADER = ("way", "release", "rows", "exposed", "loss", "left out", "counterfeits")


@dataclass(frozen=True)
class Figures:
    """Figures of one release: what all releases so far tell together, and what it costs."""

    rows: int
    exposed: int
    loss: float
    left_out: int
    counterfeits: int


def study_batches(
    people: People, repeats: int | None = None, seed: int = 0, tell: Callable[[float], None] = lambda _: None
) -> Study:
    """Measure exposure, loss and counterfeits of each release of a growing table, in three ways and afresh."""
    del repeats
    tables = list(_batches(people.table.select([*QUASI, SENSITIVE]), seed))
    found: dict[str, list[Figures]] = {}
    for i, way in enumerate(WAYS):
        found[way] = list(_publish_batches(tables, way, real=people.real))
        tell((i + 1) / len(WAYS))
    rows = [
        (way, number, f.rows, f.exposed, round(f.loss, 4), f.left_out, f.counterfeits)
        for way, figures in found.items()
        for number, f in enumerate(figures, 1)
    ]
    note = (
        f"Exposed: people in one of the releases so far to whom all of them together leave fewer than {L} values of "
        f"{SENSITIVE}. Loss is of the quasi-identifiers; who is left out loses everything."
    )
    return Study(
        "batches",
        "A table in ten batches",
        f"{people.name}, {people.table.num_rows:,} rows in {BATCHES} batches; before each release {LEAVING:.1%} of the "
        f"people leave. Quasi-identifiers {', '.join(QUASI)}, sensitive {SENSITIVE}; {K}-anonymity and {L} different "
        f"values in every class, alp = {ALP} and dif = {DIF} for alp-dif, at most {SUPPRESSION:.0%} of rows left out. "
        "Ways: Wu, Sun and Wang 2009; Xiao and Tao, SIGMOD 2007; Wang, Xu and Qu 2011, whose future work it is.",
        _directions(found),
        (Sheet("releases", "Release by release", HEADER, rows, note),),
        {
            name: Chart(title, "release", up, _series(found, name))
            for name, title, up in (
                ("exposed", "People exposed by all releases together", "people"),
                ("loss", "Loss of each release", "loss"),
                ("counterfeits", "Rows that show nobody", "rows"),
            )
        },
        _costs(found),
    )


def _batches(table: pa.Table, seed: int) -> Iterator[pa.Table]:
    """Yield the table before each release: a tenth more rows, without those who left."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(table.num_rows)
    table = table.take(order).append_column(KEY, pa.array(map(str, range(table.num_rows)), pa.string()))
    # [row]: whether the person is in the table at this release
    here = np.zeros(table.num_rows, dtype=bool)
    for part in np.array_split(np.arange(table.num_rows), BATCHES):
        here[here] = rng.random(int(here.sum())) >= LEAVING
        here[part] = True
        yield table.filter(pa.array(here))


def _policy(way: str, *, real: bool) -> Policy:
    models: list[dict[str, Any]] = [{"model": "k-anonymity", "k": K}]
    if way == "m-invariance":
        models = []
    if way == "alp-dif":
        models.append({"model": "alp-dif", "alp": ALP, "dif": DIF})
    attributes = {name: quasi_identifier(name, real=real) for name in QUASI}
    more = {"republish": {"key": KEY, **WAYS[way]}} if WAYS[way] else {}
    return Policy(
        attributes={**attributes, SENSITIVE: {"role": "sensitive"}, KEY: {"role": "identifier"}},
        require=[*models, {"model": "distinct-l-diversity", "l": L}],
        method={"suppression": SUPPRESSION},
        **more,
    )


def _publish_batches(tables: list[pa.Table], way: str, *, real: bool) -> Iterator[Figures]:
    policy, history = _policy(way, real=real), None
    known: dict[str, int] = {}
    candidates = Candidates.empty(sorted({value for table in tables for value in table[SENSITIVE].to_pylist()}))
    for table in tables:
        release = make_release(table, policy if history is None else PreviousRelease(Path(way), policy, history))
        history = None if release.plan.grown is None else release.plan.grown.history
        candidates = _narrow_candidates(candidates, release, table, known)
        left = candidates.count_left()[candidates.of >= 0]
        yield Figures(
            table.num_rows,
            int((left < L).sum()),
            release.plan.metrics["loss"],
            release.plan.after.suppressed_rows,
            release.shown.added,
        )


def _narrow_candidates(candidates: Candidates, release: Release, table: pa.Table, known: dict[str, int]) -> Candidates:
    """Run the composition attack on the released table itself; `known` numbers people by their key."""
    keys, quasi = table[KEY].to_pylist(), release.table.select(list(QUASI)).to_pylist()
    # number of the class of each released row, by its quasi-identifiers
    number: dict[tuple[Any, ...], int] = {}
    classes = [number.setdefault(tuple(row.values()), len(number)) for row in quasi]
    # number of each person who is shown: the class of the row; added rows (−1) show nobody
    shown = {
        known.setdefault(keys[row], len(known)): classes[at] for at, row in enumerate(release.rows.tolist()) if row >= 0
    }
    place = {value: at for at, value in enumerate(candidates.values)}
    values = [place[value] for value in release.table[SENSITIVE].to_pylist()]
    # [person]: class in this release, −1 for people who are not shown
    of = np.full(len(known), -1, dtype=np.int32)
    of[list(shown)] = list(shown.values())
    more = candidates.add_people(len(known) - len(candidates.of))
    return more.add_release(of, sets_of(classes, values, len(number), len(place)))


def _series(found: Mapping[str, list[Figures]], name: str) -> tuple[Series, ...]:
    return tuple(
        Series(way, range(1, len(figures) + 1), [getattr(each, name) for each in figures])
        for way, figures in found.items()
    )


def _directions(found: Mapping[str, list[Figures]]) -> tuple[Direction, ...]:
    """Return what the papers claim: safe releases are not safe together, unless they are made for that."""
    numbers = range(1, BATCHES + 1)
    afresh = [each.exposed for each in found[AFRESH]]
    exposed = {way: max(each.exposed for each in figures) for way, figures in found.items() if way != AFRESH}
    return (
        rises(
            "releases that each keep the policy expose more people the more there are of them",
            numbers,
            afresh,
            "who leaves the table is not exposed any further, and few rows come",
            slack=0.5,
        ),
        *(
            Direction(
                f"{way}: all releases together leave everybody at least {L} values",
                f"{most:,} people exposed in the worst release",
                most == 0,
            )
            for way, most in exposed.items()
        ),
    )


def _costs(found: Mapping[str, list[Figures]]) -> tuple[str, ...]:
    last = {way: figures[-1] for way, figures in found.items()}
    return tuple(
        f"{way}: loss {each.loss:.3f} at release {BATCHES}, where anonymizing afresh has {last[AFRESH].loss:.3f}; "
        f"{each.left_out:,} rows left out, {each.counterfeits:,} counterfeits."
        for way, each in last.items()
        if way != AFRESH
    )
