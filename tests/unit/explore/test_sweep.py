"""Values as people write them, and policies in which one thing is another."""

import pytest
import small_census
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import BadInput
from shoal.explore.sweep import parameter_of, values_of, vary
from shoal.policy.document import Policy
from shoal.policy.sections import RowLimit


@given(st.integers(-50, 50), st.integers(0, 60), st.integers(1, 7))
def test_a_range_of_whole_numbers(first, more, step):
    assert values_of(f"{first}..{first + more}:{step}") == tuple(range(first, first + more + 1, step))
    assert values_of(f"{first + more}..{first}:-{step}") == tuple(range(first + more, first - 1, -step))


@given(st.integers(0, 90), st.integers(0, 60))
def test_steps_are_exact(first, more):
    """Hundredths do not add up in binary; they do here."""
    found = values_of(f"{first / 100:.2f}..{(first + more) / 100:.2f}:0.01")
    assert found == tuple((first + at) / 100 for at in range(more + 1))


def test_lists_of_all_kinds():
    assert values_of("1, 2..3 ,0.5,k,true,false") == (1, 2, 3, 0.5, "k", True, False)
    assert parameter_of(" a.b = x=y") == ("a.b", ("x=y",))


@pytest.mark.parametrize("text", ["", "1,", "0.5..2", "3..1", "1..9:0", "1..2:-1", "0..1:0.0001"])
def test_texts_without_values_are_refused(text):
    with pytest.raises(BadInput):
        values_of(text)


def test_one_model_or_all_that_have_it():
    both = [{"model": "k-anonymity", "k": 5}, {"model": "alpha-k", "alpha": 0.5, "k": 3}]
    policy = Policy(**{**small_census.policy(), "require": both})
    assert [model.k for model in vary(policy, "k", 7).require] == [7, 7]
    assert [model.k for model in vary(policy, "alpha-k.k", 7).require] == [5, 7]
    assert vary(policy, "alpha", 0.6).require[1].alpha == 0.6


def test_numbers_of_suppressed_rows_are_values():
    """MaxSup of the papers is a number of rows (S2.5)."""
    policy = Policy(**small_census.policy(4, suppression=0.1))
    name, values = parameter_of("suppression=rows=0,rows=2,1/3,k")
    found = [vary(policy, name, value).method.suppression for value in values]
    assert found == [RowLimit(rows=0), RowLimit(rows=2), "1/3", "k"]


def test_all_else_stays():
    policy = Policy(**small_census.policy(4, suppression=0.1, seed=3))
    changed = vary(policy, "attributes.$town.importance", 0.5)
    assert changed.attributes["$town"].importance == 0.5
    assert vary(changed, "attributes.$town.importance", 1.0).attributes["age"] == policy.attributes["age"]
    assert vary(policy, "time-limit", 9).method == policy.method.model_copy(update={"time_limit": 9.0})
    assert vary(vary(policy, "k", 9), "k", 4) == policy
