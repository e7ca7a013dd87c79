"""Prefix and suffix masking; S2.2."""

import pyarrow as pa
import pytest

from shoal.data.codes import encode
from shoal.errors import BadHierarchy
from shoal.hierarchy import value_columns as columns
from shoal.hierarchy.build import build
from shoal.hierarchy.mask import Mask


def column(values):
    return encode("zip", pa.array(values))


def test_from_the_right():  # S2.2
    levels = Mask("right").taxonomy(column(["53715", "53710", "02138"])).levels
    assert [level[2] for level in levels] == ["5371*", "537**", "53***", "5****", "*"]
    assert levels[0] == ["0213*", "5371*", "5371*"]


def test_from_the_left_with_another_character():
    levels = Mask("left", "x").taxonomy(column(["abc"])).levels
    assert levels == [["xbc"], ["xxc"], ["*"]]


def test_shorter_values_keep_one_meaning_per_label():  # design 9
    hierarchy = build(column(["5", "53", "5371"]), Mask())
    assert hierarchy.labels == (
        ("5", "53", "5371"),
        ("5", "53", "537*"),
        ("5", "53**"),
        ("5***",),
        ("*",),
    )


def test_characters_are_not_bytes():
    assert Mask().taxonomy(column(["aé漢"])).levels == [["aé*"], ["a**"], ["*"]]


def test_one_character_and_no_value_at_all():
    assert build(column(["a", "b"]), Mask()).labels == (("a", "b"), ("*",))
    assert build(encode("zip", pa.array([None], pa.string())), Mask()).labels == ((None,), ("*",))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("up",), r"mask = 'up' is no side"),
        (("right", "**"), r"not one visible character"),
        (("right", " "), r"not one visible character"),
        (("right", 5), r"not one visible character"),
        (("right", "*", 0), r"length = 0 is not a whole number from 1 to 64"),
        (("right", "*", 65), r"length = 65"),
        (("right", "*", 2.5), r"length = 2.5"),
        (("right", "*", True), r"length = True"),
        (("right", "*", "5"), r"length = '5'"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(BadHierarchy, match=message):
        Mask(*arguments)


def test_long_texts_are_refused_with_their_row():
    with pytest.raises(BadHierarchy, match=r"column 'zip': row 2 is longer than 64") as refusal:
        Mask().taxonomy(column(["a", "CANARY" * 11]))
    assert "CANARY" not in str(refusal.value)


def test_a_raw_value_that_looks_like_a_label_is_refused():  # design 9
    with pytest.raises(BadHierarchy, match=r"column 'zip': the value in row .* another set of values"):
        build(column(["53*", "537", "538"]), Mask())


def test_a_given_length_pads_shorter_values():
    levels = Mask("right", length=4).taxonomy(column(["53", "5371"])).levels
    assert levels == [["53", "537*"], ["53**", "53**"], ["5***", "5***"], ["*", "*"]]
    assert Mask("left", length=3).taxonomy(column(["ab"])).levels == [["*ab"], ["**b"], ["*"]]


def test_values_beyond_the_length_are_refused_with_their_rows():
    with pytest.raises(BadHierarchy, match=r"2 value\(s\) .* 3 character.* row\(s\) 1, 3") as refusal:
        Mask(length=3).taxonomy(column(["CANARY1", "abc", "CANARY0", "CANARY1"]))
    assert "CANARY" not in str(refusal.value)
    assert refusal.value.values == ("CANARY0", "CANARY1")


def test_a_fitted_mask_keeps_its_length():
    fitted = Mask("left", "#").fit(column(["a", "abc"]))
    assert fitted == Mask("left", "#", 3)
    assert fitted.fit(column(["a"])) is fitted
    assert Mask().fit(encode("zip", pa.array([None], pa.string()))) == Mask(length=1)


def test_many_long_codes_are_refused(monkeypatch):  # bad input 16
    monkeypatch.setattr(columns, "MAX_LABELS", 10)
    with pytest.raises(BadHierarchy, match="identifier"):
        Mask().taxonomy(column(["abcdef", "ghijkl"]))
