"""Models as tables of a policy."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from shoal.models.alpha_k import AlphaK
from shoal.models.k_anonymity import KAnonymity
from shoal.models.l_diversity import DistinctLDiversity
from shoal.models.spec import find_unwritable, model_of, suggest_column, table_of


@pytest.mark.parametrize(
    ("table", "model"),
    [
        ({"model": "k-anonymity", "k": 5}, KAnonymity(5)),
        ({"model": "distinct-l-diversity", "l": 2, "null-is-value": True}, DistinctLDiversity(2, None, True)),
        ({"model": "distinct-l-diversity", "l": 2, "null_is_value": True}, DistinctLDiversity(2, None, True)),
        ({"model": "alpha-k", "alpha": {"a-b": 0.5}, "k": 3, "attribute": "x"}, AlphaK({"a-b": 0.5}, 3, "x")),
    ],
)
def test_a_model_survives_its_table(table, model):
    assert model_of(table) == model
    assert model_of(table_of(model)) == model
    assert model_of(model) is model


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("k-anonymity", "a model is a table like {model = 'k-anonymity', k = 5}, not 'k-anonymity'"),
        ({"k": 5}, "model is missing: write model = 'k-anonymity'"),
        ({"model": "differential-privacy"}, "model 'differential-privacy' is not known; known: k-anonymity, "),
        ({"model": ["k-anonymity"]}, "model ['k-anonymity'] is not known"),
        ({"model": "alpha-k", "k": 2}, "alpha-k needs alpha"),
        ({"model": "k-anonymity", "k": 2, 3: 4}, "k-anonymity has no parameter '3'; it takes k"),
        (
            {"model": "alpha-k", "alpha": 0.5, "null-is-values": True},
            "alpha-k has no parameter 'null-is-values' (did you mean 'null-is-value'?); it takes alpha, k, attribute, ",
        ),
        (
            {"model": "distinct-l-diversity", "l": 2, "null-is-value": "yes"},
            "null-is-value must be true or false, not 'yes'",
        ),
    ],
)
def test_bad_tables_are_refused(table, says):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole sentence is compared
        model_of(table)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize("name", ["k-anonimity", "K-Anonymity", "k anonymity", "k_anonymity"])
def test_a_misspelt_model_is_told_the_nearest_and_no_other(name):
    with pytest.raises(ValueError, match=r"is not known \(did you mean 'k-anonymity'\?\)$"):
        model_of({"model": name, "k": 5})


@dataclass(frozen=True)
class Odd(KAnonymity):
    """A model whose parameter may be anything."""

    name: ClassVar[str] = "odd"
    what: Any = 1


@pytest.mark.parametrize("value", [1, 0.5, "a", [1, "a"], {"a": [1, {"b": "c"}]}, ()])
def test_what_a_policy_file_can_hold(value):
    assert find_unwritable(Odd(2, value)) is None


@pytest.mark.parametrize("value", [object(), [1, object()], {"a": object(), "b": 1}, {1: "a", "b": "c"}, [object(), 1]])
def test_what_no_policy_file_can_hold(value):
    assert find_unwritable(Odd(2, value)) == "what"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("risk", " (did you mean 'average-risk'?)"),  # four letters are enough to be looked for within names
        ("k-anonymit", " (did you mean 'k-anonymity'?)"),
        ("k-map-presence", ""),
    ],
)
def test_the_hint_names_few(name, hint):
    with pytest.raises(ValueError, match=re.escape(f"model {name!r} is not known{hint}")) as refused:
        model_of({"model": name})
    assert str(refused.value).count("?") == (1 if hint else str(refused.value).count("?"))


@pytest.mark.parametrize(
    ("name", "columns", "hint"),
    [
        ("age", ["age_at_entry", "ages", "aged"], "ages"),  # the nearest, and no other
        ("zip", ["zip_of_the_patient", "zip_of_the_doctor"], "zip_of_the_patient"),
        ("ag", ["agathe_of_all_the_names"], None),  # two letters within another name tell nothing
        ("agathe_of_all_the_names", ["ag"], None),
    ],
)
def test_the_nearest_column(name, columns, hint):
    assert suggest_column(name, columns) == (f" (did you mean {hint!r}?)" if hint else "")
