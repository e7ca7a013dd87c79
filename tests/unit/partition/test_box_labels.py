"""Labels of ranges (S4.6, design 9)."""

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.data.codes import encode
from shoal.errors import BadData
from shoal.hierarchy.build import build
from shoal.hierarchy.inline_tree import Tree
from shoal.partition.axes import hierarchy_axis, ordered_axis
from shoal.partition.box_labels import quote_if_needed, set_label, show_boxes


def labels(column, *ranges, held=None):
    """What ranges of positions show."""
    low, high = (np.array(ends, dtype=np.int32) for ends in zip(*ranges, strict=True))
    shown = show_boxes(ordered_axis(column), column, low, high, held)
    return shown.released.texts.take(pa.array(shown.released.codes)).to_pylist(), shown.losses.tolist()


def test_numbers():
    """An edge is the next value of the table; the outermost ranges are open, and nobody's least value is shown."""
    column = encode("age", pa.array([20, 25, 30, 40, None]))
    found, losses = labels(column, (0, 1), (1, 2), (2, 3), (0, 3), (1, 1), (4, 4), (0, 4))
    assert found == ["<30", "[25, 40)", "≥30", "*", "25", None, "*"]
    assert losses == [0.25, 0.25, 0.5, 1.0, 0.0, 0.0, 1.0]


def test_observed_numbers():
    column = encode("age", pa.array([20, 25, 30, 40]))
    found, _ = labels(column, (0, 1), (0, 3), (3, 3), held=[np.array([0, 1]), np.array([0, 3]), np.array([3])])
    assert found == ["[20, 25]", "[20, 40]", "40"]


def test_decimals_are_written_with_a_point():
    column = encode("price", pa.array(["1,5", "2,25", "3", "4"]), decimal=",")
    assert labels(column, (1, 2), (1, 1))[0] == ["[2.25, 4)", "2,25"]


def test_dates():
    column = encode("day", pa.array([date(2020, 1, day).isoformat() for day in (1, 5, 9)]))
    assert labels(column, (0, 1), (1, 2), (0, 2))[0] == ["<2020-01-09", "≥2020-01-05", "*"]
    held = [np.array([0, 1]), np.array([1, 2])]
    assert labels(column, (0, 1), (1, 2), held=held)[0] == ["[2020-01-01, 2020-01-05]", "[2020-01-05, 2020-01-09]"]


def test_texts_are_sets_and_many_of_them_an_interval():
    column = encode("zip", pa.array([f"0{i:03}" for i in range(40)]))
    found, losses = labels(column, (0, 2), (5, 30), (0, 39), (7, 7))
    assert found == ["{0000 | 0001 | 0002}", '["0005", "0030"]', "*", "0007"]
    assert losses == [2 / 39, 25 / 39, 1.0, 0.0]


def test_observed_texts_are_those_of_the_part():
    column = encode("sex", pa.array(["a", "b", "c", None]))
    held = [np.array([0, 2]), np.array([3]), np.array([1, 3])]
    assert labels(column, (0, 2), (3, 3), (1, 3), held=held)[0] == ["{a | c}", None, "*"]


def test_parts_of_a_label_are_quoted():
    assert set_label(["a", 'b"c', " d", "e|f"]) == '{a | "b""c" | " d" | "e|f"}'
    assert [quote_if_needed(text) for text in ("a b", "<20", "*")] == ["a b", '"<20"', '"*"']


def test_a_value_that_reads_like_a_range_is_refused():
    column = encode("code", pa.array(["a", "b", "{a | b}"]))
    with pytest.raises(BadData, match="reads like the label of a range"):
        labels(column, (0, 1), (2, 2))
    assert labels(column, (0, 0), (2, 2))[0] == ["a", "{a | b}"]


def test_labels_of_a_hierarchy():
    """S4.4: the lowest label that covers what the part holds."""
    column = encode("job", pa.array(["cook", "nurse", "smith", None]))
    axis = hierarchy_axis(build(column, Tree({"work": {"care": ["nurse"], "craft": ["cook", "smith"]}})))
    ranges = [
        axis.positions[column.codes[[0, 2]]],
        axis.positions[column.codes[[0, 1]]],
        axis.positions[column.codes[[3, 3]]],
    ]
    low, high = np.sort(np.array(ranges), axis=1).T.astype(np.int32)
    shown = show_boxes(axis, column, low, high)
    assert shown.released.texts.take(pa.array(shown.released.codes)).to_pylist() == ["craft", "work", None]
    assert shown.losses.tolist() == [0.5, 1.0, 0.0]


def covers(label, number):
    """Whether a label of a box covers a number, read naively."""
    if label == "*":
        return True
    if label.startswith("<"):
        return number < int(label[1:])
    if label.startswith("≥"):
        return number >= int(label[1:])
    if label.startswith("["):
        low, high = map(int, label[1:-1].split(", "))
        return low <= number < high if label.endswith(")") else low <= number <= high
    return number == int(label)


@pytest.mark.parametrize("ranges", ["cut", "observed"])
@pytest.mark.parametrize("seed", range(5))
def test_the_loss_of_a_box_is_what_its_labels_cover(ranges, seed):
    """One definition for both: of the table's values that the label covers, greatest less least, over the range."""
    rng = np.random.default_rng(seed)
    table = {name: rng.integers(0, 30, 40).tolist() for name in ("a", "b")}
    policy = shoal.Policy(
        attributes=dict.fromkeys(table, "quasi-identifier"),
        require=[{"model": "k-anonymity", "k": 3}],
        method={"algorithm": "mondrian"},
        release={"ranges": ranges},
    )
    release = shoal.anonymize(pa.table(table), policy)
    lost = []
    for name, values in table.items():
        for label in release.table[name].to_pylist():
            inside = [value for value in values if covers(label, value)]
            lost.append((max(inside) - min(inside)) / (max(values) - min(values)))
    assert release.summary.metrics["loss"] == pytest.approx(sum(lost) / len(lost))
