"""Categories of sensitive values."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from shoal.data.class_counts import ValueCounts
from shoal.models.categories import count_categories, describe_uncategorised
from shoal.models.p_alpha_sensitive import PAlphaSensitive
from shoal.models.p_sensitive import PPlusSensitive
from shoal.models.spec import model_of, table_of

LABELS = ["flu", "hiv", "tbc", "cold", None]
CATEGORIES = (("hiv", "tbc"), ("flu", "plague"))


def counted(rows):
    dense = np.array([[row.count(value) for value in LABELS] for row in rows], np.int64).reshape(-1, len(LABELS))
    classes, values = np.nonzero(dense)
    return ValueCounts(classes, values, dense[classes, values], LABELS, len(dense))


@naive.examples(300)
@given(st.lists(st.lists(st.sampled_from(LABELS), min_size=1, max_size=8), max_size=5))
def test_categories_are_counted_as_by_hand(rows):
    found = count_categories(counted(rows), CATEGORIES)
    expected = {}
    for i, row in enumerate(rows):
        for value in row:
            if value is not None:
                category = next((c for c, named in enumerate(CATEGORIES) if value in named), -1)
                expected.setdefault((i, category), []).append(value)
    keys = list(zip(found.classes.tolist(), found.categories.tolist(), strict=True))
    assert dict(zip(keys, found.rows.tolist(), strict=True)) == {key: len(held) for key, held in expected.items()}
    assert dict(zip(keys, found.values.tolist(), strict=True)) == {key: len(set(v)) for key, v in expected.items()}
    assert found.distinct.tolist() == [sum(i == at and c >= 0 for at, c in expected) for i in range(len(rows))]


def test_values_in_no_category_are_counted_and_not_named():
    assert (
        describe_uncategorised(counted([["flu", "cold", None]]), CATEGORIES) == " (1 of its values are in no category)"
    )
    assert describe_uncategorised(counted([["flu", "hiv", None]]), CATEGORIES) == ""


@pytest.mark.parametrize(
    ("categories", "says"),
    [
        ("hiv", "categories must be a list of lists of values, the most secret first, not 'hiv'"),
        (["hiv", "flu"], "categories must be a list of lists of values, the most secret first, not ['hiv', 'flu']"),
        ([["hiv"], [3]], "categories must be a list of lists of values, the most secret first, not [['hiv'], [3]]"),
        (None, "categories must be a list of lists of values, the most secret first, not None"),
        ([], "categories must be at least 1, not 0"),
        ([["hiv"], []], "categories must each name a value; number 2 has none"),
        ([["hiv"], ["flu", "hiv"]], "categories must name each value once, and name 'hiv' twice"),
        ([["hiv", "hiv"]], "categories must name each value once, and name 'hiv' twice"),
    ],
)
def test_bad_categories_are_refused(categories, says):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole sentence is compared
        PPlusSensitive(1, categories)
    assert str(caught.value) == says


def test_models_with_weights_need_two_categories():
    assert PPlusSensitive(1, [["hiv"]]).categories == (("hiv",),)
    with pytest.raises(ValueError, match="categories must be at least 2, not 1"):
        PAlphaSensitive(1, 0.5, [["hiv"]])


def test_a_model_with_categories_survives_the_policy_file():
    """TOML has lists; a model has tuples."""
    model = model_of({"model": "p-plus-sensitive", "p": 2, "categories": [["hiv"], ["flu", "cold"]]})
    assert model == PPlusSensitive(2, (("hiv",), ("flu", "cold")))
    assert model_of(table_of(model)) == model
    assert hash(model)


def test_the_schema_knows_lists_of_lists():
    schema = TypeAdapter(PPlusSensitive).json_schema()["properties"]["categories"]
    assert schema["items"] == {"items": {"type": "string"}, "minItems": 1, "type": "array"}
    assert schema["minItems"] == 1
    assert TypeAdapter(PAlphaSensitive).json_schema()["properties"]["categories"]["minItems"] == 2
