"""A fixed set of random cases, fresh ones in `make test-all`, and every case that once failed."""

import os
import random

import pytest
from fuzz import PLAIN, REGRESSIONS, candidates, kind_of, run_with_limit
from fuzz_cases import ALGORITHMS, Case, case_of
from fuzz_definitions import Classes, broken
from fuzz_judge import Failure, as_read, is_true
from fuzz_tables import NAMES
from naive import THOROUGH

from shoal.hierarchy.build import BUILDERS
from shoal.models.spec import kebab
from shoal.policy.sections import DataOptions
from shoal.roles import Role

FIXED = 300 if THOROUGH else 40
PARTS = 10
"""Cases are dealt to so many tests."""
FRESH = int(os.environ.get("SHOAL_FUZZ_SEED", random.SystemRandom().randrange(10**9)))


@pytest.mark.some(3)
@pytest.mark.parametrize("part", range(PARTS))
def test_fixed_cases_end_well(part):
    outcomes = [run_with_limit(case_of(seed)) for seed in range(part, FIXED, PARTS)]
    assert outcomes.count("published") >= len(outcomes) // 10


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_fresh_cases_end_well(part):
    for seed in range(FRESH + part, FRESH + 500, PARTS):
        try:
            run_with_limit(case_of(seed))
        except Failure as failure:
            pytest.fail(f"python tests/fuzz/fuzz.py --seed {seed} --cases 1: {failure}")


def test_cases_that_once_failed_end_well():
    failing = {path.parent.name: kind_of(Case.read(path.parent)) for path in REGRESSIONS.glob("*/case.json")}
    assert {name: kind for name, kind in failing.items() if kind is not None} == {}


def test_a_seed_always_gives_the_same_case():
    assert all(case_of(seed) == case_of(seed) for seed in range(50))


def test_every_algorithm_and_every_model_is_drawn():
    from shoal.methods import ALGORITHMS as KNOWN
    from shoal.models import MODELS

    cases = [case_of(seed) for seed in range(3_000)]
    pairs = {(m["model"], c.policy["method"]["algorithm"]) for c in cases for m in c.policy["require"]}
    assert {model for model, _ in pairs} == set(MODELS)
    assert {algorithm for _, algorithm in pairs} == set(KNOWN) == {each["algorithm"] for each in ALGORITHMS}


def test_a_case_can_be_written_down(tmp_path):
    case = case_of(7)
    case.write(tmp_path)
    assert Case.read(tmp_path) == case


def test_candidates_have_less_in_them():
    case = case_of(12)
    sizes = [(made.rows, len(made.columns), len(str(made.policy))) for made in candidates(case)]
    whole = (case.rows, len(case.columns), len(str(case.policy)))
    assert all(any(a < b for a, b in zip(size, whole, strict=True)) for size in sizes[: -len(PLAIN)])


CATEGORIES = [["hiv"], ["flu", "cold"]]
ILL = {"attribute": "ill"}


@pytest.mark.parametrize(
    ("model", "holds"),
    [
        ({"model": "k-anonymity", "k": 4}, True),
        ({"model": "k-anonymity", "k": 5}, False),
        ({"model": "average-risk", "max": 0.25}, True),
        ({"model": "average-risk", "max": 0.24}, False),
        ({"model": "sample-uniqueness", "max": 0}, True),
        ({"model": "distinct-l-diversity", "l": 2}, True),
        ({"model": "distinct-l-diversity", "l": 3, **ILL}, False),
        ({"model": "distinct-l-diversity", "l": 3, "null-is-value": True, **ILL}, True),
        ({"model": "entropy-l-diversity", "l": 1.8, **ILL}, True),
        ({"model": "entropy-l-diversity", "l": 2, **ILL}, False),
        ({"model": "alpha-k", "alpha": 0.6, "k": 3, **ILL}, False),
        ({"model": "recursive-cl-diversity", "c": 3, "l": 2, **ILL}, True),
        ({"model": "recursive-cl-diversity", "c": 2, "l": 2, **ILL}, False),
        ({"model": "p-plus-sensitive", "p": 2, "categories": CATEGORIES, **ILL}, True),
        ({"model": "p-plus-sensitive", "p": 2, "categories": [["hiv", "flu"], ["cold"]], **ILL}, False),
        # two rows of the last category weigh 1 each
        ({"model": "p-alpha-sensitive", "p": 2, "alpha": 2, "categories": CATEGORIES, **ILL}, True),
        ({"model": "l-alpha-diversity", "l": 2, "alpha": 2, "over": "values", "categories": CATEGORIES, **ILL}, False),
        ({"model": "a-d-diversity", "a": 0.67, "d": 2, "categories": CATEGORIES, **ILL}, True),
        ({"model": "a-d-diversity", "a": 0.66, "d": 2, "categories": CATEGORIES, **ILL}, False),
        ({"model": "alpha-beta-k", "alpha": 1, "beta": 2, "k": 2, "categories": CATEGORIES, **ILL}, True),
        ({"model": "alpha-beta-k", "alpha": 1, "beta": 2, "k": 2, "categories": [["hiv", "flu"]], **ILL}, False),
        ({"model": "alp-dif", "alp": {"flu": 0.67}, **ILL}, True),
        ({"model": "alp-dif", "alp": {"flu": 0.66}, **ILL}, False),
        # the table: flu 2, hiv 2, cold 2 of 6; the class: flu 2, hiv 1 of 3
        ({"model": "t-closeness", "t": 0.34, **ILL}, True),
        ({"model": "t-closeness", "t": 0.33, **ILL}, False),
        ({"model": "t-closeness", "t": 0, "reference": "release", **ILL}, True),
        ({"model": "beta-likeness", "beta": 1, **ILL}, True),
        ({"model": "beta-likeness", "beta": 0.9, **ILL}, False),
        ({"model": "beta-likeness", "beta": 0.9, "reference": "release", **ILL}, True),
        ({"model": "delta-disclosure", "delta": 0.7, "absent": "skip", **ILL}, True),
        ({"model": "delta-disclosure", "delta": 0.69, "absent": "skip", **ILL}, False),
        ({"model": "delta-disclosure", "delta": 9, **ILL}, False),
        ({"model": "x-y-privacy", "y": ["pay"], "k": 3}, True),
        ({"model": "x-y-privacy", "y": ["ill"], "k": 3}, False),
        ({"model": "x-y-privacy", "y": ["ill"], "h": 0.6}, False),
        ({"model": "epsilon-m", "epsilon": 1, "m": 2, "attribute": "pay"}, True),
        ({"model": "epsilon-m", "epsilon": 10, "m": 2, "attribute": "pay"}, False),
        ({"model": "personalised", "guard": "guard", "max": 0.67, **ILL}, True),
        ({"model": "personalised", "guard": "guard", "max": 0.66, **ILL}, False),
    ],
    ids=str,
)
def test_the_judge_knows_the_definitions(model, holds):
    """One class: flu, flu, hiv, of which somebody guards flu and cold, and one row without an illness."""
    columns = {
        "ill": ["flu", "flu", "hiv", None, "hiv", "cold", "cold"],
        "pay": ["1", "10.5", "20", "30", "40", "50", "60"],
        "guard": ["bad", None, "hiv", None, None, None, None],
    }
    tree = {"tree": {"any": {"bad": ["flu", "cold"], "worse": ["hiv"]}}}
    roles = {"ill": {"role": "sensitive", "hierarchy": tree}, "pay": {"role": "insensitive"}}
    case = Case(0, columns, {"attributes": {**roles, "guard": {"role": "identifier"}}, "release": {}})
    rows = [{"ill": columns["ill"][at]} for at in range(4)]
    held = Classes([[0, 1, 2, 3]], rows, {at: at for at in range(4)}, columns, case)
    assert (not list(broken(model, held))) is holds


@pytest.mark.parametrize(
    ("label", "value", "hierarchy", "true"),
    [
        ("[1.5, 3)", "2,5", {}, False),
        ("2020-Q1", "2020-03-01", {"dates": ["quarter"]}, True),
        ("2020-Q1", "2020-04-01", {"dates": ["quarter"]}, False),
        ("2020-04", "01/04/2020", {"dates": ["month"], "format": "%d/%m/%Y"}, True),
        ("2000-2099", "1999-12-31", {"dates": ["century"]}, False),
        ("[2020-01-01, 2020-02-01)", "2020-01-31 23:59:59", {}, True),
        ("[2020-01-01, 2020-02-01)", "2020-02-01 00:00:00", {}, False),
        ("ab##", "abcd", {"mask": "right", "char": "#"}, True),
        ("ab##", "acbd", {"mask": "right", "char": "#"}, False),
        ("low", "a", {"tree": {"any": {"low": ["a"], "high": ["b"]}}}, True),
        ("high", "a", {"tree": {"any": {"low": ["a"], "high": ["b"]}}}, False),
        ("a;'=1", "a;=1", {}, False),
    ],
)
def test_the_judge_knows_labels_of_hierarchies(label, value, hierarchy, true):
    assert is_true(label, value, hierarchy) is true


def test_the_judge_reads_numbers_with_the_mark_of_the_policy():
    case = Case(0, {"a": ["1,5", "2"], "b": ["1.5", "2"]}, {"attributes": {}, "data": {"decimal": ","}})
    assert as_read(case, "a").numbers == ["1.5", "2"]
    assert not as_read(case, "b").is_numeric


def test_the_judge_finds_decimal_commas_beside_minus_zero():
    case = Case(0, {"a": ["-0", "6,8"]}, {"attributes": {"a": {"round": 5}}}, source="csv", delimiter=";")
    assert as_read(case, "a").cells == ["0", "5"]


@pytest.mark.parametrize(
    ("cells", "data", "read", "decimal"),
    [
        (["1,234.5", "12"], {}, ["1234.5", "12"], "."),
        (["1.234", "12"], {}, ["1.234", "12"], "."),
        (["1.234", "12"], {"thousands": "."}, ["1234", "12"], ","),
        (["1.234", "12"], {"thousands": ".", "decimal": ","}, ["1234", "12"], ","),
        (["1\u202f234,5", "?"], {"missing": ["?"]}, ["1234,5", None], ","),
        (["1'234", "1234'5"], {"thousands": "'"}, ["1'234", "1234'5"], "."),
    ],
)
def test_the_judge_knows_marks_between_thousands(cells, data, read, decimal):
    column = as_read(Case(0, {"a": cells}, {"attributes": {}, "data": data}), "a")
    assert (column.cells, column.decimal) == (read, decimal)


def test_hostile_names_values_and_files_are_drawn():
    cases = [case_of(seed) for seed in range(4_000)]
    names = {name for case in cases for name in case.columns}
    assert set(NAMES) <= names
    assert max(len(case.columns) for case in cases) == 300
    assert {0, 1} <= {case.rows for case in cases}
    cells = {cell for case in cases for column in case.columns.values() for cell in column}
    assert any(cell is not None and "\u202f" in cell for cell in cells)
    assert {str(2**53 + 1), str(2**63), str(10**30), "inf", "-0", "\ufeffx", "NA", None} <= cells
    drawn = [about for case in cases for about in case.policy["attributes"].values()]
    assert {key for about in drawn for key in about.get("hierarchy", {})} >= set(BUILDERS)
    assert {form for about in drawn for form in about.get("form", ())} == {"range", "bounds", "mean", "median", "mode"}
    assert {about["role"] for about in drawn} == {str(role) for role in Role}
    read = [case.policy.get("data", {}) for case in cases]
    elsewhere = {"sheet"}  # tests of reading have it
    assert {key for data in read for key in data} == {kebab(key) for key in DataOptions.model_fields} - elsewhere
    assert {case.delimiter for case in cases} >= set(",;\t| ")
    assert {case.encoding for case in cases} >= {"utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "shift_jis"}
    assert {(case.engine, case.format) for case in cases} == {
        (a, b) for a in ("arrow", "duckdb") for b in ("csv", "parquet")
    }
    assert any(case.partition_by for case in cases)
    assert any(case.population for case in cases)
    assert {of for case in cases for of in case.types.values()} >= {"float64", "uint64", "date", "timestamp in UTC"}
