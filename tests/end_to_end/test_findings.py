"""What a fuzzer outside the project once found, each as the smallest policy and table that showed it."""

import csv
import random
import warnings
from fractions import Fraction

import pyarrow as pa
import pytest
from fuzz_judge import LATE
from judge_of_truth import untrue_cells
from pyarrow import parquet

import shoal as sh
from shoal.api import publish
from shoal.errors import BadPolicy, Infeasible

QUASI = "quasi-identifier"
K = {"model": "k-anonymity", "k": 2}


@pytest.fixture(autouse=True)
def without_reports(monkeypatch):
    """Leave out what follows once a release is on disk: it is not what these tests are about, and takes long."""
    for name, stand_in in LATE.items():
        monkeypatch.setattr(f"shoal.pipeline.{name}", stand_in)


def published(folder, table, policy, **how):
    """Publish and verify against the original; return what does not hold."""
    with warnings.catch_warnings(action="ignore"):
        publish(table, policy, folder / "out", **how)
        return [verdict for verdict in sh.verify(folder / "out", original=table) if not verdict.holds]


def some(values, rows=24, seed=4):
    draw = random.Random(seed)
    return [draw.choice(values) for _ in range(rows)]


# internal errors


@pytest.mark.parametrize(
    "method",
    [
        {"algorithm": "suppress", "suppress": "attribute"},
        {"algorithm": "datafly", "suppress": "attribute"},
        {"algorithm": "greedy", "suppress": "attribute"},
        {"algorithm": "datafly"},
        {"algorithm": "greedy"},
        {"algorithm": "mondrian"},
    ],
    ids=lambda method: " ".join(method.values()),
)
def test_b_t_privacy_where_a_search_leaves_columns_out(tmp_path, method):
    names = {"a": "xy", "b": "pq", "job": "uvw", "zip": "12", "city": "ABC"}
    table = pa.table({name: some(values, seed=at) for at, (name, values) in enumerate(names.items())})
    policy = {
        "attributes": {**dict.fromkeys(["a", "b", "job"], QUASI), **dict.fromkeys(["zip", "city"], "sensitive")},
        "require": [K, {"model": "b-t-privacy", "b": 1, "t": 0.1, "attribute": "city"}],
        "method": method,
    }
    try:
        assert published(tmp_path, table, policy) == []
    except Infeasible:
        assert list(tmp_path.iterdir()) == []


# own releases refused after the work

COLUMNS = {
    "texts that look like numbers": ["7", "7.0", "10", "9", "x", "1e3"],
    "numbers in several spellings": ["7", "7.0", "10.50", "9.5", "-2.5", "1.70"],
    "floats": [0.1, 0.2, 0.1 + 0.2, 1e22, -1e-7],
    "beyond 2^53": [2**53 + 1, 2**53, 1, -(2**53) - 1],
    "beyond 2^63": [str(2**63), str(2**63 + 1), str(10**30), "1"],
}


@pytest.mark.covering(2)
@pytest.mark.parametrize("algorithm", ["mondrian-relaxed", "mondrian-single", "mondrian-workload"])
@pytest.mark.parametrize("form", [["mean"], ["mode"], ["median"], ["bounds"], ["range"]], ids=lambda form: form[0])
@pytest.mark.parametrize("ranges", ["cut", "observed"])
@pytest.mark.parametrize("values", COLUMNS)
@pytest.mark.parametrize("name", ["a b", "a\tb", " a"])
def test_statistics_of_boxes(tmp_path, algorithm, form, ranges, values, name):
    of_text = values == "texts that look like numbers"
    table = pa.table({name: some(COLUMNS[values]), "ill": some(["flu", "hiv"], seed=1)})
    policy = {
        "attributes": {name: {"role": QUASI, "form": ["mode"] if of_text and form[0] in {"mean", "bounds"} else form}},
        "require": [{"model": "k-anonymity", "k": 3}],
        "method": {"algorithm": algorithm, **({"target": "ill"} if algorithm == "mondrian-workload" else {})},
        "release": {"ranges": ranges, "means": "any"},
    }
    policy["attributes"]["ill"] = "sensitive"
    assert published(tmp_path, table, policy, format="csv") == []


@pytest.mark.covering(2)
@pytest.mark.parametrize(
    "model",
    [
        {"model": "t-closeness", "t": 0.3, "reference": "release"},
        {"model": "beta-likeness", "beta": 0.8, "reference": "release"},
        {"model": "a-d-diversity", "a": 0.6, "d": 2, "categories": [["flu", "cold"], ["hiv"]], "experimental": True},
    ],
    ids=lambda model: model["model"],
)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("algorithm", ["greedy", "suppress"])
@pytest.mark.parametrize("k", [1, 2])
def test_suppressed_rows_that_are_shown_must_keep_the_promise_too(tmp_path, model, seed, algorithm, k):
    """Where they do not, the search must have seen it: no release is refused after the work."""
    ages = {"role": QUASI, **({"hierarchy": {"intervals": [5, 20]}} if algorithm == "greedy" else {})}
    policy = {
        "attributes": {"age": ages, "sex": QUASI, "ill": "sensitive"},
        "require": [{"model": "k-anonymity", "k": k}, {**model, "attribute": "ill"}],
        "method": {"algorithm": algorithm, "suppression": 0.6},
        "release": {"suppressed": "show"},
    }
    ills = some(["flu", "flu", "cold", "hiv"], 20, seed + 9)
    table = pa.table({"age": some(range(20, 40, 3), 20, seed), "sex": some("fm", 20, seed + 5), "ill": ills})
    try:
        assert published(tmp_path, table, policy) == []
    except Infeasible:
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("model", [{"model": "k-map", "k": 2}, {"model": "delta-presence", "max": 0.5}], ids=str)
@pytest.mark.parametrize(
    "method",
    [
        *({"algorithm": name} for name in ("mondrian", "mondrian-relaxed", "mondrian-single", "microaggregation")),
        {"algorithm": "local"},
        {"algorithm": "optimal", "suppress": "cell"},
        {"algorithm": "suppress", "suppress": "cell"},
    ],
    ids=lambda method: " ".join(method.values()),
)
def test_a_population_together_with_cells_is_refused_before_the_work(method, model):
    require = [{**model, "population": "nowhere.csv"}]
    with pytest.raises(BadPolicy, match="compares with a population"):
        sh.Policy(attributes={"age": QUASI}, require=require, method=method)


# untrue cells

DECIMALS = ["0.13", "-2.5", "1.70", "2.60", "-4.3", "-5.0", "-0.6", "1.3"]


@pytest.mark.covering(1)
@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian-relaxed", "mondrian-single"])
@pytest.mark.parametrize("ranges", ["cut", "observed"])
@pytest.mark.parametrize("more", [[], ["1e5"], ["-0"], ["007"], ["n.a."]], ids=str)
def test_a_range_holds_every_number_of_its_rows(tmp_path, algorithm, ranges, more):
    """Trailing zeros leave numbers numbers; among texts, nothing looks like an interval of numbers."""
    values = some([*DECIMALS, *more, *(f"{i / 8:.2f}" for i in range(20))], 60)
    policy = {"attributes": {"v": QUASI}, "require": [K], "method": {"algorithm": algorithm}}
    assert published(tmp_path, pa.table({"v": values}), {**policy, "release": {"ranges": ranges}}, format="csv") == []
    assert list(untrue_cells(tmp_path / "out", {"v": values})) == []


@pytest.mark.parametrize("form", ["median", "mode", "mean"])
@pytest.mark.parametrize("algorithm", ["mondrian", "microaggregation"])
def test_statistics_of_huge_numbers_are_exact(tmp_path, form, algorithm):
    values = ["9007199254740993", "1", str(10**30)]
    policy = {
        "attributes": {"v": {"role": QUASI, "form": form}},
        "require": [{"model": "k-anonymity", "k": 3}],
        "method": {"algorithm": algorithm},
        "release": {"means": "any"},
    }
    assert published(tmp_path, pa.table({"v": values}), policy, format="csv") == []
    with (tmp_path / "out" / "data.csv").open(encoding="utf-8", newline="") as file:
        shown = {Fraction(row["v"]) for row in csv.DictReader(file)}
    mean = Fraction(sum(map(int, values)), 3)
    true = {"median": 9007199254740993, "mode": 1, "mean": mean}[form]
    assert len(shown) == 1
    assert abs(shown.pop() - true) <= (Fraction(1, 10**15) * mean if form == "mean" else 0)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("missing", [[""], ["?", ""]], ids=str)
def test_na_is_a_value_unless_the_policy_says_otherwise(tmp_path, kind, missing):
    """Namibia is released as NA, and a null as what the policy lists first."""
    (tmp_path / "people.csv").write_text("land,ill\n" + "NA,flu\nNA,NA\nDE,hiv\nDE,\n", "utf-8")
    policy = {
        "attributes": {"land": QUASI, "ill": "sensitive"},
        "require": [K],
        "method": {"algorithm": "mondrian"},
        "data": {"missing": missing},
    }
    assert published(tmp_path, tmp_path / "people.csv", policy, format=kind) == []
    if kind == "parquet":
        rows = parquet.read_table(tmp_path / "out" / "data.parquet").to_pylist()
    else:
        with (tmp_path / "out" / "data.csv").open(encoding="utf-8", newline="") as file:
            rows = [
                {name: None if cell == missing[0] else cell for name, cell in row.items()}
                for row in csv.DictReader(file)
            ]
    assert sorted((row["land"], str(row["ill"])) for row in rows) == sorted(
        [("NA", "flu"), ("NA", "NA"), ("DE", "hiv"), ("DE", "None")]
    )


# verification that disagrees with itself


@pytest.mark.parametrize(
    "model", ["p-plus-sensitive", "l-alpha-diversity", "p-plus-alpha-sensitive", "p-alpha-sensitive"]
)
@pytest.mark.parametrize(
    "categories", [[["hiv"], ["flu", "cold"]], (("hiv",), ("flu", "cold"))], ids=["lists", "tuples"]
)
def test_categories_are_read_as_they_were_written(tmp_path, model, categories):
    least = {"l": 1} if model == "l-alpha-diversity" else {"p": 1}
    weight = {} if model == "p-plus-sensitive" else {"alpha": 0.5}
    table = pa.table({"age": [1, 1, 2, 2], "ill": ["hiv", "flu", "cold", "flu"]})
    promise = {"model": model, **least, **weight, "categories": categories, "attribute": "ill"}
    policy = sh.Policy(attributes={"age": QUASI, "ill": "sensitive"}, require=[K, promise])
    assert published(tmp_path, table, policy) == []


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("values", "hierarchy"),
    [
        (["2020-01-01", "2020-02-01", "2021-03-04"], {"dates": ["month", "year"]}),
        (["7", "7.0", "7.00"], {"tree": {"any": {"low": ["7", "7.0"], "high": ["7.00"]}}}),
        (["7", "7.0", "8"], {"rows": [["7", "a", "*"], ["7.0", "a", "*"], ["8", "b", "*"]]}),
        (["7", "7.0", "12.50"], {"intervals": [5, 10]}),
    ],
    ids=["dates", "tree", "rows", "intervals"],
)
@pytest.mark.parametrize("algorithm", ["optimal", "local", "mondrian"])
def test_an_original_that_is_read_again_is_the_same(tmp_path, values, hierarchy, algorithm):
    lines = "".join(f"{value},{ill}\n" for value, ill in zip(some(values, 12), some(["flu", "hiv"], 12), strict=True))
    (tmp_path / "people.csv").write_text(f"v,ill\n{lines}", "utf-8")
    policy = {
        "attributes": {"v": {"role": QUASI, "hierarchy": hierarchy}, "ill": "sensitive"},
        "require": [K],
        "method": {"algorithm": algorithm},
    }
    assert published(tmp_path, tmp_path / "people.csv", policy) == []
