"""Features by hand: every form in which a value can be shown."""

from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples

from shoal.data.codes import Table, encode
from shoal.hierarchy.arx_csv import Csv
from shoal.hierarchy.build import build, parse
from shoal.hierarchy.dates import Dates
from shoal.hierarchy.inline_tree import Tree
from shoal.hierarchy.intervals import Intervals
from shoal.hierarchy.mask import Mask
from shoal.hierarchy.value_columns import Labels
from shoal.mining import features as encodings
from shoal.mining.attributes import Quantity, key_by_form, show_unchanged, take_rows
from shoal.mining.features import Encoding, PathFeatures
from shoal.recoding.columns import ReleasedColumn
from shoal.recoding.kinds import NodeRecoding

AGES = encode("age", pa.array([20, 30, 40, 60, 100, None]))
JOBS = encode("job", pa.array(["baker", "cook", "doctor", "nurse", None]))
TREE = {"*": {"food": ["baker", "cook"], "health": ["doctor", "nurse"]}}


def shown(*texts):
    return ReleasedColumn.of(np.arange(len(texts), dtype=np.int32), list(texts))


def ages(hierarchy=None, training=(0, 1, 2, 3)):
    """The training rows do not hold 100: their range is 20 to 60."""
    return Quantity.of(Labels(AGES, hierarchy), np.array(training, np.int32))


@pytest.mark.parametrize(
    ("text", "middle", "width"),
    [
        ("20", 0, 0),
        ("50", 0.75, 0),  # of no row
        ("37.5", 0.4375, 0),
        ("[20, 40)", 0.2375, 0.475),
        ("[20, 40]", 0.25, 0.5),
        ("<40", 0.2375, 0.475),
        ("≥40", 0.75, 0.5),
        ("≥100", 2, 0),  # beyond the training rows
        ("<10", -0.275, 0),
        ("{20 | 40}", 0.25, 0.5),
        ("*", 0.5, 1),
        ("nothing that can be read", 0.5, 1),
    ],
)
def test_numbers(text, middle, width):
    assert ages().to_features({"range": shown(text)}).tolist() == [[middle, width, 0]]


def test_a_missing_number_lies_anywhere():
    assert ages().to_features({"range": shown(None)}).tolist() == [[0.5, 1, 1]]


def test_labels_of_a_hierarchy_of_numbers_by_what_they_hold(tmp_path):
    """ARX's files write 20-39."""
    (tmp_path / "age.csv").write_text("20;20-39;*\n30;20-39;*\n40;40-;*\n60;40-;*\n100;40-;*\n")
    hierarchy = build(AGES, Csv("age.csv", tmp_path))
    assert ages(hierarchy).to_features({"range": shown("20-39", "40-", "*")}).tolist() == [
        [0.125, 0.25, 0],
        [1.25, 1.5, 0],
        [0.5, 1, 0],
    ]


@pytest.mark.parametrize("ends", [("lo", "hi"), ("min", "max")])
def test_bounds(ends):
    low, high = shown("20", None, "40", None), shown("40", "40", None, None)
    assert ages().to_features(dict(zip(ends, (low, high), strict=True))).tolist() == [
        [0.25, 0.5, 0],
        [0.25, 0.5, 0],
        [0.75, 0.5, 0],
        [0.5, 1, 0],
    ]


@pytest.mark.parametrize("form", ["mean", "median", "mode"])
def test_a_statistic_is_the_middle(form):
    alone = ages().to_features({form: shown("35", None)})
    assert alone.tolist() == [[0.375, 0, 0], [0.5, 1, 1]]
    beside = ages().to_features({"range": shown("[20, 40)"), form: shown("35")})
    assert beside.tolist() == [[0.375, 0.475, 0]]


def test_dates():
    days = encode("day", pa.array([date(2020, 1, 1), date(2020, 1, 31), date(2020, 3, 1)]))
    quantity = Quantity.of(Labels(days, build(days, Dates(["month"]))), days.codes)
    texts = ("2020-01-31", "[2020-01-01, 2020-03-01)", "≥2020-01-31", "2020-01", "*")
    assert quantity.to_features({"range": shown(*texts)})[:, :2].tolist() == [
        [0.5, 0],
        [29.5 / 60, 59 / 60],
        [0.75, 0.5],
        [0.25, 0.5],
        [0.5, 1],
    ]


def test_columns_of_one_number_or_of_nulls():
    same = encode("n", pa.array([7, 7]))
    assert Quantity.of(Labels(same), same.codes).to_features(show_unchanged(same)).tolist() == [[0, 0, 0]] * 2
    assert ages(training=(5,)).to_features({"range": shown(None)})[0, 2] == 1


@pytest.mark.parametrize(
    ("label", "features"),
    [
        ("nurse", {"nurse": 1, "health": 1, "*": 1}),
        ("health", {"health": 1, "*": 1}),
        ("*", {"*": 1}),
        (None, {"*": 1, "job is missing": 1}),
        ("{doctor | nurse}", {"doctor": 0.5, "nurse": 0.5, "health": 1, "*": 1}),
        (
            "{baker | cook | nurse}",
            {"baker": 1 / 3, "cook": 1 / 3, "nurse": 1 / 3, "food": 2 / 3, "health": 1 / 3, "*": 1},
        ),
        ("[baker, doctor]", {"baker": 1 / 3, "cook": 1 / 3, "doctor": 1 / 3, "food": 2 / 3, "health": 1 / 3, "*": 1}),
        ("nothing that can be read", {"*": 1}),
    ],
)
def test_texts(label, features):
    paths = PathFeatures(Labels(JOBS, build(JOBS, Tree(TREE))))
    found = {paths.names[at]: weight for at, weight in paths.weights(label).items()}
    assert found == pytest.approx(features)


def test_texts_without_a_hierarchy():
    paths = PathFeatures(Labels(JOBS))
    assert paths.names == ("baker", "cook", "doctor", "nurse", "*", "job is missing")
    assert [paths.weights(label) for label in ("cook", "*", "{baker | cook}")] == [
        {1: 1, 4: 1},
        {4: 1},
        {0: 0.5, 4: 1, 1: 0.5},
    ]


def test_a_statistic_of_texts_is_a_label():
    paths = PathFeatures(Labels(JOBS))
    assert paths.rows({"mode": shown("cook")})[0] == [{1: 1, 4: 1}]


def test_a_label_on_several_levels_is_one_feature():
    column = encode("zip", pa.array(["53715", "53710", "53703"]))
    rows = [["53715", "same", "same", "*"], ["53710", "same", "same", "*"], ["53703", "53703", "other", "*"]]
    paths = PathFeatures(Labels(column, build(column, parse(rows))))
    assert len(set(paths.names)) == len(paths.names)
    assert {paths.names[at] for at in paths.weights("same")} == {"same", "*"}


LEAVES = ["aa", "ab", "ba", "bb", None]


@examples(100)
@given(st.lists(st.sampled_from(LEAVES), min_size=1, max_size=12), st.integers(0, 2))
def test_a_generalised_row_keeps_the_upper_part_of_its_path(values, level):
    """So that it shares those features with a row that is shown as it is."""
    column = encode("code", pa.array(values, pa.string()))
    hierarchy = build(column, Mask("right", length=2))
    paths = PathFeatures(Labels(column, hierarchy))
    upper = {label for labels in hierarchy.labels[level:] for label in labels} | {"*", "code is missing"}
    for code in range(column.size):
        fine, coarse = (hierarchy.labels[h][hierarchy.levels[h][code]] for h in (0, level))
        before, after = ({paths.names[at] for at in paths.weights(label)} for label in (fine, coarse))
        assert after == before & upper or (code == column.null_code and coarse == "*" and after == {"*"})


def test_the_recoding_of_an_attribute_by_form():
    hierarchy = build(AGES, Intervals([20]))
    recoding = NodeRecoding({"age": 1}, np.zeros(6, dtype=bool))
    found = key_by_form(recoding.show(AGES, {"age": hierarchy}), {})
    assert list(found) == ["range"]
    assert take_rows(found, np.array([5, 0]))["range"].codes.tolist() == found["range"].codes[[5, 0]].tolist()
    named = key_by_form({"age_lo": found["range"], "age": found["range"]}, {"age_lo": ("age", "lo")})
    assert list(named) == ["lo", "range"]


def test_sparse_where_large(monkeypatch):
    table = Table({"age": AGES, "job": encode("job", pa.array(["cook", "nurse", "cook", None, "cook", "cook"]))}, 6)
    made = Encoding.of(table, ["age", "job"], {}, np.arange(6))
    rows = {name: show_unchanged(table[name]) for name in ("age", "job")}
    dense = made.encode_rows(rows)
    assert dense.shape == (6, len(made.names))
    monkeypatch.setattr(encodings, "_MOST_CELLS", 0)
    assert (made.encode_rows(rows).toarray() == dense).all()
