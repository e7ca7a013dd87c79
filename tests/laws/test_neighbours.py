"""Neighbours: originals that differ only in what must not show give the same bytes of `out/` as a whole.

Whoever reads the public folder may know everybody but one, and try every value that the one could have: whatever in
`out/` is not the same for all of them tells which it was.
"""

import json
import re
import warnings
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import combinations
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from naive import THOROUGH

import shoal as sh
from shoal.errors import BadData, BadPolicy, Infeasible
from shoal.methods import ALGORITHMS
from shoal.models import MODELS
from shoal.pipeline import make_release

ILLS = ["flu", "cold", "gout", "hiv", "mumps", "ulcer"]
CATEGORIES = [["hiv", "ulcer"], ["flu", "cold"], ["gout", "mumps"]]
QUASI = "quasi-identifier"
TREE = {"any": {"airways": ["flu", "cold"], "others": ["gout", "hiv", "mumps", "ulcer", "plague"]}}
OUTLIER = -1


def people():
    """Four groups of six, who all look alike and have all illnesses; and somebody who stands alone."""
    rows = [
        {
            "name": f"n{6 * group + i}",
            "age": 30 + 10 * group,
            "job": ["cook", "baker", "nurse", "judge"][group],
            "ill": ill,
            "pay": str(10 * i + group),
            "guard": ["airways", None][i % 2],
            "seen": f"s{i}",
            "weight": str(i + 1),
        }
        for group in range(4)
        for i, ill in enumerate(ILLS)
    ]
    alone = {"name": "zoe", "age": 99, "job": "smith", "ill": "gout", "pay": "77", "guard": None, "seen": "s9"}
    return [*rows, {**alone, "weight": "5"}]


@dataclass(frozen=True)
class Case:
    """A table, and what is asked of its release."""

    model: dict[str, Any]
    method: dict[str, Any]
    rows: list[dict[str, Any]] = field(default_factory=people)
    jobs: dict[str, Any] = field(default_factory=lambda: {"any": {"hot": ["cook", "baker", "smith"], "law": ["judge"]}})
    ills: dict[str, Any] = field(default_factory=lambda: TREE)
    population: int = 2

    def changed(self, row, **values):
        rows = [dict(each) for each in self.rows]
        rows[row] |= values
        return replace(self, rows=rows)

    def with_unused_leaves(self):
        jobs = {"any": {**self.jobs["any"], "sea": ["sailor"]}}
        return replace(self, jobs=jobs, ills={"any": {**self.ills["any"], "skin": ["rash"]}})

    def document(self, folder):
        """The policy."""
        require, asked = [{"model": "k-anonymity", "k": 3}], dict(self.model)
        if "population" in asked:
            path = folder / "population.csv"
            everybody = [each for each in self.rows for _ in range(self.population)]
            pc.write_csv(pa.table({name: [str(each[name]) for each in everybody] for name in ("age", "job")}), path)
            asked["population"] = str(path)
        return {
            "attributes": {
                **self._quasi_identifiers(),
                "name": "identifier",
                "ill": {"role": "sensitive", "hierarchy": {"tree": self.ills}},
                "pay": "sensitive" if asked.get("attribute") == "pay" else {"role": "insensitive", "confirm": True},
                "guard": "identifier",
                "seen": "identifier",
                "weight": "sampling-weight",
            },
            "require": require if asked["model"] == "k-anonymity" else [*require, asked],
            "method": self.method,
        }

    def _quasi_identifiers(self):
        """Age and job; each with a hierarchy where the algorithm has use for one, and not to the top where it may."""
        algorithm = self.method["algorithm"]
        jobs = {"hierarchy": {"tree": {"any": {**self.jobs["any"], "care": ["nurse"]}}}}
        if algorithm == "microaggregation":
            return {"age": QUASI, "job": "identifier"}
        if algorithm in {"suppress", "anatomy"}:
            return {"age": QUASI, "job": QUASI}
        if algorithm.startswith("mondrian"):
            return {"age": QUASI, "job": {"role": QUASI, **jobs}}
        most = {"max-level": 1} if algorithm in LEAVING_OUT and "suppression" in self.method else {}
        ages = {"hierarchy": {"intervals": [50]}}
        return {"age": {"role": QUASI, **ages, **most}, "job": {"role": QUASI, **jobs, **most}}

    def published(self, folder, **how):
        """The bytes of every file of `out/`, or why there is none."""
        folder.mkdir(parents=True)
        with warnings.catch_warnings(action="ignore"):
            try:
                table = pa.Table.from_pylist(self.rows)
                policy = sh.Policy(**self.document(folder))
                make_release(table, policy).save(folder / "out", **how)
            except (BadData, BadPolicy, Infeasible) as why:
                return str(why)
        out = folder / "out"
        return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


MODELS_ASKED: dict[str, dict[str, Any]] = {
    "k-anonymity": {"k": 3},
    "distinct-l-diversity": {"l": 2, "attribute": "ill"},
    "entropy-l-diversity": {"l": 2, "attribute": "ill"},
    "recursive-cl-diversity": {"l": 2, "c": 3, "attribute": "ill"},
    "alpha-k": {"alpha": {"hiv": 0.5, "gout": 0.9}, "k": 3, "attribute": "ill"},
    "p-sensitive": {"p": 2, "attribute": "ill"},
    "p-plus-sensitive": {"p": 2, "categories": CATEGORIES, "attribute": "ill"},
    "p-alpha-sensitive": {"p": 2, "alpha": 0.5, "categories": CATEGORIES, "attribute": "ill"},
    "p-plus-alpha-sensitive": {"p": 2, "alpha": 0.5, "categories": CATEGORIES, "attribute": "ill"},
    "l-alpha-diversity": {"l": 2, "alpha": 0.5, "categories": CATEGORIES, "attribute": "ill"},
    "a-d-diversity": {"a": 0.9, "d": 2, "categories": CATEGORIES, "attribute": "ill", "experimental": True},
    "alpha-beta-k": {
        "alpha": 1,
        "beta": 2,
        "k": 3,
        "categories": CATEGORIES,
        "attribute": "ill",
        "experimental": True,
    },
    "alp-dif": {"alp": {"hiv": 0.9, "gout": 0.9}, "dif": {"hiv": 0.9}, "attribute": "ill"},
    "average-risk": {"max": 0.5},
    "sample-uniqueness": {"max": 0.5},
    "population-uniqueness": {"max": 0.5, "population-size": 1000},
    "t-closeness": {"t": 0.6, "attribute": "ill"},
    "beta-likeness": {"beta": 9, "attribute": "ill"},
    "delta-disclosure": {"delta": 5, "absent": "skip", "attribute": "ill"},
    "epsilon-m": {"epsilon": 1, "m": 2, "attribute": "pay"},
    "k-map": {"k": 3, "population": ""},
    "delta-presence": {"min": 0, "max": 1, "population": ""},
    "personalised": {"guard": "guard", "max": 0.95, "attribute": "ill"},
    "x-y-privacy": {"y": ["seen"], "k": 2},
    "b-t-privacy": {"b": 0.9, "t": 1, "attribute": "ill"},
}
VARIANTS = {
    "t-closeness, hierarchical": ("t-closeness", {"t": 0.9, "distance": "hierarchical", "attribute": "ill"}),
    "t-closeness, ordered": ("t-closeness", {"t": 0.9, "distance": "ordered", "attribute": "pay"}),
    "t-closeness of texts, some of them numbers": ("t-closeness", {"t": 1, "attribute": "pay"}),
    "t-closeness, by the release": ("t-closeness", {"t": 0.6, "reference": "release", "attribute": "ill"}),
    "beta-likeness, by the release": ("beta-likeness", {"beta": 9, "reference": "release", "attribute": "ill"}),
}
ASKED = {name: {"model": name, **asked} for name, asked in MODELS_ASKED.items()} | {
    name: {"model": model, **asked} for name, (model, asked) in VARIANTS.items()
}
LEAVING_OUT = {"optimal", "datafly", "samarati", "incognito", "hybrid", "greedy"}
METHODS = {
    name: {"algorithm": name, **({"suppression": 0.05} if name in LEAVING_OUT else {})}
    for name in ALGORITHMS
    if name != "suppress"
} | {
    "mondrian-workload": {"algorithm": "mondrian-workload", "target": ["ill"]},
    "optimal, cells": {"algorithm": "optimal", "suppress": "cell"},
    "suppress, rows": {"algorithm": "suppress", "suppress": "tuple"},
    "suppress, columns": {"algorithm": "suppress", "suppress": "attribute"},
    "suppress, cells": {"algorithm": "suppress", "suppress": "cell"},
}
MAKES_ITS_OWN_COLUMNS = {"microaggregation"}


def neighbours(case):
    """What must not show, changed."""
    yield "the illness of who is left out", case.changed(OUTLIER, ill="hiv")
    yield "an illness that nobody else has", case.changed(OUTLIER, ill="plague")
    yield "who is left out altogether", case.changed(OUTLIER, age=98, job="cook", ill="ulcer", pay="1")
    yield "a pay that is no number", case.changed(OUTLIER, pay="unknown")
    yield "a missing illness", case.changed(OUTLIER, ill=None)
    yield "identifiers", replace(case, rows=[dict(row, name=f"O'{i}\"; x") for i, row in enumerate(case.rows)])
    yield "weights", replace(case, rows=[dict(row, weight=str(2 * i + 3)) for i, row in enumerate(case.rows)])
    yield "the guard of who is left out", case.changed(OUTLIER, guard="airways")
    yield "somebody's guard", case.changed(3, guard="others")
    yield "nobody's guard", replace(case, rows=[dict(row, guard=None) for row in case.rows])
    yield "a hidden value", case.changed(0, seen="s1")
    yield "a hidden value of who is left out", case.changed(OUTLIER, seen="s1")
    yield "a larger population", replace(case, population=3)
    yield "leaves that nobody has", case.with_unused_leaves()


def neighbours_at_once(case):
    """The same in few steps, for every model with every algorithm."""
    yield "who is left out", case.changed(OUTLIER, age=98, ill="hiv", pay="1", guard="airways", seen="s1")
    yield "a value that nobody else has", case.changed(OUTLIER, ill="plague", pay="none")
    rows = [dict(row, name=f"O'{i}\"; x", weight=str(2 * i + 3)) for i, row in enumerate(case.rows)]
    yield "identifiers, weights, leaves, population", replace(case, rows=rows, population=3).with_unused_leaves()
    yield "a guard and a hidden value", case.changed(3, guard="others", seen="s1")


def tables_of(files):
    return {name: content for name, content in files.items() if name.startswith(("data", "sensitive"))}


def compare(case, folder, others, **how):
    """How many neighbours give the same table; of all of them, all of the public folder must be the same."""
    plain, alike = case.published(folder / "plain", **how), 0
    if isinstance(plain, str):
        pytest.skip(f"this cannot be asked for: {plain.partition(':')[0]}")
    for i, (what, other) in enumerate(others):
        files = other.published(folder / str(i), **how)
        if isinstance(files, str) or tables_of(files) != tables_of(plain):
            continue
        alike += 1
        differ = [name for name in {*plain, *files} if plain.get(name) != files.get(name)]
        assert not differ, f"{what}: {differ} tell"
    return alike


JUDGED_WITH_MORE = ("t-closeness", "delta-presence", "personalised", "x-y-privacy")
"""Models that are judged with more than the released table, each in another way."""


@pytest.mark.parametrize("model", ASKED if THOROUGH else JUDGED_WITH_MORE[::2])
def test_nobody_who_is_left_out_can_be_told_from_another(tmp_path, model):
    case = Case(ASKED[model], METHODS["optimal"])
    if "texts" in model:
        case = case.changed(OUTLIER, pay="unheard of")
    alike = compare(case, tmp_path, neighbours(case), format=["csv", "parquet"][len(model) % 2])
    assert alike >= 10, "too few neighbours give the same table: the test tests nothing"


def pairs():
    """Every model with every algorithm; in a quick run, each algorithm with some."""
    every = [(model, method) for model in ASKED for method in METHODS]
    return every if THOROUGH else every[::53]


@pytest.mark.parametrize(("model", "method"), pairs())
def test_neighbours_give_the_same_public_folder(tmp_path, model, method):
    case = Case(ASKED[model], METHODS[method])
    formats = [{"format": "csv"}, {"format": "parquet"}, {"partition_by": ["age"]}]
    how = formats[len(model + method) % (2 if method == "anatomy" or method in MAKES_ITS_OWN_COLUMNS else 3)]
    alike = compare(case, tmp_path, neighbours_at_once(case), **how)
    assert alike, "no neighbour gives the same table: the test tests nothing"


def test_every_model_and_every_algorithm_has_its_case():
    assert {asked["model"] for asked in ASKED.values()} == set(MODELS)
    assert {method["algorithm"] for method in METHODS.values()} == set(ALGORITHMS)


def eighteen(ill):
    """Seventeen people, and one who is left out."""
    rows = [(30 + i // 6, ["flu", "cold", "gout"][i % 3]) for i in range(17)]
    return pa.table({"age": [*(age for age, _ in rows), 90], "ill": [*(each for _, each in rows), ill]})


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_nothing_public_tells_the_illness_of_a_suppressed_person(tmp_path, engine):
    """18 rows, one suppressed, k, t and β: the figures of the original named the disease with certainty."""
    age = {"role": QUASI, "hierarchy": {"intervals": [2]}, "max-level": 1}
    policy = {
        "attributes": {"age": age, "ill": "sensitive"},
        "require": [
            {"model": "k-anonymity", "k": 3},
            {"model": "t-closeness", "t": 0.5},
            {"model": "beta-likeness", "beta": 4},
            {"model": "delta-disclosure", "delta": 4, "absent": "skip"},
        ],
        "method": {"suppression": 0.1},
    }
    seen = set()
    attained = set()
    for ill in ("hiv", "ulcer", "flu", "gout"):
        pq.write_table(eighteen(ill), tmp_path / "people.parquet")
        release = sh.anonymize(tmp_path / "people.parquet", policy, engine=engine)
        release.save(tmp_path / ill, reproducible=True)
        assert release.summary.rows.suppressed == 1
        out = sorted((tmp_path / ill).iterdir())
        seen.add(tuple(path.read_bytes() for path in out))
        private = json.loads((tmp_path / f"{ill}.private" / "manifest.json").read_text())
        attained.add(json.dumps([model["attained"] for model in private["models"]]))
    assert len(seen) == 1
    assert len(attained) > 1  # the private manifest still tells them


def test_public_figures_are_those_of_the_release(tmp_path):
    """What is published can be counted again from the published table, and is."""
    policy = {
        "attributes": {"age": {"role": QUASI, "hierarchy": {"intervals": [2]}, "max-level": 1}, "ill": "sensitive"},
        "require": [{"model": "k-anonymity", "k": 3}, {"model": "t-closeness", "t": 0.5}],
        "method": {"suppression": 0.1},
    }
    sh.anonymize(eighteen("hiv"), policy).save(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    k, t = (model["attained"] for model in manifest["models"])
    found = sh.measure(tmp_path / "out" / "data.csv", quasi_identifiers=["age"], sensitive=["ill"])
    measured = {each.model: each.attained for each in found.models}
    assert (k, t) == (measured["k-anonymity"], {"release": {"t": measured["t-closeness"]["t"]}})
    manifest["models"][1]["attained"]["release"]["t"] += 0.01
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    (verdict,) = (each for each in sh.verify(tmp_path / "out") if each.promise == "t-closeness")
    assert (verdict.status, verdict.why) == ("fails", "the manifest says that it attains something else")


def test_times_of_suppressed_rows_do_not_decide_the_format_of_times(tmp_path):
    """Whether times are shown as days is decided by those that are released, in the pages of a typed file too."""
    start = datetime.fromisoformat("2020-01-01 00:00")
    age = {"role": QUASI, "hierarchy": {"intervals": [10]}, "max-level": 1}
    policy = {
        "attributes": {"age": age, "seen": {"role": "sensitive", "confirm": True}},
        "require": [{"model": "k-anonymity", "k": 3}],
        "method": {"suppression": 0.2},
    }
    seen = set()
    for passed in (timedelta(0), timedelta(hours=12), timedelta(microseconds=1)):
        times = [*(start + timedelta(days=i) for i in range(6)), start + passed]
        table = pa.table({"age": [30] * 3 + [40] * 3 + [99], "seen": pa.array(times, pa.timestamp("us"))})
        out = tmp_path / str(passed.microseconds + passed.seconds)
        sh.anonymize(table, policy).save(out, format="parquet")
        seen.add(tuple(path.read_bytes() for path in sorted(out.iterdir())))
    assert len(seen) == 1


BRANCHES = {"north": ["abe", "bea", "cid", "dan", "eve"], "east": ["fay", "gus", "hal", "ida", "jay"], "isle": ["kim"]}
SHOWN = ["abe"] * 3 + ["fay"] * 3
"""Who is shown as he is, under any method below."""
PICTURED = {
    "local": ({"algorithm": "local"}, {}, "north"),
    "optimal": ({"algorithm": "optimal", "suppression": 0.3}, {"suppressed": "show"}, "*"),
    "greedy": ({"algorithm": "greedy", "suppression": 0.3}, {"suppressed": "show"}, "*"),
    "cells": ({"algorithm": "optimal", "suppress": "cell"}, {}, "*"),
}


@pytest.mark.parametrize("method", PICTURED)
def test_the_picture_of_labels_tells_nothing_of_who_is_under_them(tmp_path, method):
    """Two people are shown as a label above others; whoever they are, the whole public folder is the same.

    Values that only they have, and leaves that nobody has, are neither drawn nor counted.
    """
    how, release, label = PICTURED[method]
    other = {"local": BRANCHES["north"][1:]}.get(method, [*BRANCHES["north"][1:], *BRANCHES["east"][1:], "kim"])
    alone = [*combinations(other, 2)]
    tree = {"*": BRANCHES | {"moon": ["zed"]}}
    most = {"max-level": 0} if label == "*" and method != "cells" else {}
    policy = {
        "attributes": {"name": {"role": QUASI, "hierarchy": {"tree": tree}, **most}, "ill": "sensitive"},
        "require": [{"model": "k-anonymity", "k": 2}],
        "method": how,
        "release": release,
    }
    seen = set()
    for i, pair in enumerate(alone[:: max(len(alone) // (12 if THOROUGH else 5), 1)]):
        table = pa.table({"name": [*SHOWN, *pair], "ill": ["flu", "cold"] * 4})
        out = tmp_path / str(i)
        sh.anonymize(table, policy).save(out)
        names = [line.split(",")[0] for line in (out / "data.csv").read_text().splitlines()[1:]]
        assert sorted(names) == sorted([*SHOWN, label, label])
        seen.add(tuple((path.name, path.read_bytes()) for path in sorted(out.iterdir())))
    assert len(seen) == 1
    (page,) = (dict(each)["report.html"].decode() for each in seen)
    assert "Which labels cover which" in page
    picture = page.partition("Which labels cover which")[2].partition("</svg>")[0]
    drawn = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    assert sorted(drawn) == sorted(["abe", "fay", label])
    hidden = {*other, "zed", "moon", "isle", "east", "north"} - {label}
    assert not {name for name in hidden if re.search(rf"\b{name}\b", page)}


def test_the_picture_of_labels_is_in_an_order_of_its_own(tmp_path):
    """Days as texts are sorted by month: the first of a year, whom it hides, must not decide which year comes first."""
    hierarchy = {"dates": ["month", "year"], "format": "%m/%d/%y"}
    policy = {
        "attributes": {"born": {"role": QUASI, "hierarchy": hierarchy}, "ill": "sensitive"},
        "require": [{"model": "k-anonymity", "k": 2}],
        "method": {"algorithm": "local"},
    }
    seen = set()
    for hidden in ("2/03/80", "4/29/80"):
        born = ["5/05/76"] * 2 + ["6/06/80"] * 2 + ["2/28/76", "3/01/76", hidden, "3/02/80"]
        out = tmp_path / hidden.replace("/", "-")
        sh.anonymize(pa.table({"born": born, "ill": ["flu", "cold"] * 4}), policy).save(out)
        assert "Which labels cover which" in (out / "report.html").read_text()
        seen.add(tuple((path.name, path.read_bytes()) for path in sorted(out.iterdir())))
    assert len(seen) == 1
