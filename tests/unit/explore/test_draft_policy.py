"""Drafted policies: what is guessed, and that the text is a policy."""

import tomllib

import pyarrow as pa
import pytest

from shoal.data.codes import encode
from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.explore.column_guess import guess_roles
from shoal.explore.draft_policy import _method, draft_policy
from shoal.policy.document import Policy
from shoal.roles import Role


def drafted(**columns):
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    return draft_policy(ArrowEngine().read(table, ReadOptions()), ArrowEngine()).text


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("Name", ["Ann", "Bob"] * 25, Role.UNIT),
        ("Surname", [f"Ann {i}" for i in range(50)], Role.IDENTIFIER),
        ("patient_id", [str(i) for i in range(50)], Role.IDENTIFIER),
        ("anything", [f"x{i}" for i in range(50)], Role.IDENTIFIER),
        ("Marital Status", ["single", "married"] * 25, Role.QUASI_IDENTIFIER),
        ("Status of all", ["single"] * 50, Role.INSENSITIVE),
        ("age", list(range(50)), Role.QUASI_IDENTIFIER),
        ("unheard-of", ["a", "b"] * 25, Role.SENSITIVE),
        ("Disease", ["flu", "hiv"] * 25, Role.SENSITIVE),
        ("fnlwgt", [i * i for i in range(50)], Role.SAMPLING_WEIGHT),
    ],
)
def test_roles(name, values, role):
    policy = Policy(**tomllib.loads(drafted(**{name: values, "sex": ["f", "m"] * 25})))
    assert policy.attributes[name].role is role


@pytest.mark.parametrize(
    "name", ["Größe 😀", 'quo"te', "dot.ted", "[b]", "tab\there", "del\x7f", "back\\slash", "=1+1"]
)
def test_any_name_of_a_column_makes_a_policy(name):
    assert name in Policy(**tomllib.loads(drafted(**{name: ["a", "b"] * 10, "age": [31, 42] * 10}))).attributes


def test_markers_are_proposed():
    assert tomllib.loads(drafted(age=["1", "?", "NA"] * 9))["data"]["missing"] == ["", "?", "NA"]


def test_no_value_of_the_data_is_in_it():
    text = drafted(sex=["f", "m"] * 50, city=["CANARY-7f3", "elsewhere"] * 50, age=[*range(30, 80), *[999] * 50])
    assert "CANARY" not in text
    assert "elsewhere" not in text


def test_a_lattice_too_large_to_exhaust_gets_a_time_limit():
    guesses = guess_roles([encode(f"age {i}", pa.array([j * 7 % 97 for j in range(200)])) for i in range(12)], 200, 5)
    assert "time-limit = 60  # seconds; the best release that was found by then is taken" in _method(guesses, ())
    assert _method(guesses[:1], ())[1:] == _method(guesses, ())[1:2] + _method(guesses, ())[3:]
