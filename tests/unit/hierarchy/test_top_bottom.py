"""Top and bottom coding, and the value or nothing; S2.2."""

import pyarrow as pa
import pytest

from shoal.data.codes import encode
from shoal.errors import BadHierarchy
from shoal.hierarchy.build import build
from shoal.hierarchy.top_bottom import TopBottom, ValueOnly


def column(values):
    return encode("age", pa.array(values))


def test_values_between_the_tails_stay():  # S2.2
    hierarchy = build(column([9, 10, 50, 89, 90, 104, None]), TopBottom(bottom=10, top=90))
    assert hierarchy.labels[1:] == (("<10", "10", "50", "89", "≥90", None), ("*",))


def test_one_tail_is_enough():
    assert TopBottom(top=90).taxonomy(column([5, 95])).levels[0] == ["5", "≥90"]
    assert TopBottom(bottom=10).taxonomy(column([5, 95])).levels[0] == ["<10", "95"]


@pytest.mark.parametrize(
    ("tails", "message"),
    [
        ({}, r"needs bottom, top or both"),
        ({"bottom": 9, "top": 9}, r"bottom = 9 is not below top = 9"),
        ({"top": "9"}, r"top = '9' is not a finite number"),
    ],
)
def test_bad_tails_are_refused(tails, message):
    with pytest.raises(BadHierarchy, match=message):
        TopBottom(**tails)


def test_text_is_refused_with_its_row():
    with pytest.raises(BadHierarchy, match=r"column 'age': .* row 2 holds none") as refusal:
        TopBottom(top=9).taxonomy(column(["5", "CANARY"]))
    assert "CANARY" not in str(refusal.value)


def test_a_flat_hierarchy_has_the_value_and_the_top():
    assert build(column(["m", "f"]), ValueOnly()).labels == (("f", "m"), ("*",))
    with pytest.raises(BadHierarchy, match="flat = False means nothing"):
        ValueOnly(flat=False)
