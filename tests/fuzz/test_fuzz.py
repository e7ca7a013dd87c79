"""A fixed set of random cases, fresh ones in `make test-all`, and every case that once failed."""

import os
import random

import pytest
from fuzz import PLAIN, REGRESSIONS, candidates, kind_of, tried
from fuzz_cases import ALGORITHMS, Case, case_of
from fuzz_judge import Failure, broken
from naive import THOROUGH

FIXED = 300 if THOROUGH else 40
PARTS = 10
"""Cases are dealt to so many tests."""
FRESH = int(os.environ.get("SHOAL_FUZZ_SEED", random.SystemRandom().randrange(10**9)))


@pytest.mark.parametrize("part", range(PARTS))
def test_fixed_cases_end_well(part):
    outcomes = [tried(case_of(seed)) for seed in range(part, FIXED, PARTS)]
    assert outcomes.count("published") >= len(outcomes) // 10


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_fresh_cases_end_well(part):
    for seed in range(FRESH + part, FRESH + 500, PARTS):
        try:
            tried(case_of(seed))
        except Failure as failure:
            pytest.fail(f"python tests/fuzz/fuzz.py --seed {seed} --cases 1: {failure}")


def test_what_once_failed():
    failing = {path.parent.name: kind_of(Case.read(path.parent)) for path in REGRESSIONS.glob("*/case.json")}
    assert {name: kind for name, kind in failing.items() if kind is not None} == {}


def test_a_number_gives_one_case():
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


@pytest.mark.parametrize(
    ("model", "holds"),
    [
        ({"model": "k-anonymity", "k": 3}, True),
        ({"model": "k-anonymity", "k": 4}, False),
        ({"model": "distinct-l-diversity", "l": 2, "attribute": "ill"}, True),
        ({"model": "distinct-l-diversity", "l": 3, "attribute": "ill"}, False),
        ({"model": "entropy-l-diversity", "l": 1.8, "attribute": "ill"}, True),
        ({"model": "entropy-l-diversity", "l": 2, "attribute": "ill"}, False),
        ({"model": "alpha-k", "alpha": 0.6, "k": 3, "attribute": "ill"}, False),
        ({"model": "recursive-cl-diversity", "c": 3, "l": 2, "attribute": "ill"}, True),
        ({"model": "recursive-cl-diversity", "c": 2, "l": 2, "attribute": "ill"}, False),
    ],
)
def test_the_judge_knows_the_definitions(model, holds):
    """One class: flu, flu, hiv."""
    rows = [{"ill": ill} for ill in ("flu", "flu", "hiv")]
    case = Case(0, {"ill": ["flu", "flu", "hiv"]}, {"attributes": {"ill": {"role": "sensitive"}}})
    assert (not list(broken(model, [[0, 1, 2]], rows, case))) is holds
