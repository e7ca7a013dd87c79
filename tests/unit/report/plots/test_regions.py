"""Boxes: figure 1 of the paper, and that boxes hold the rows that show them."""

import pyarrow as pa
import pytest
from small_census import ROLES

import shoal as sh

# Patients of seed paper 004, ZIP codes as its table 3 has them
PATIENTS = pa.table({"Age": [35, 35, 36, 37, 37, 38], "Zipcode": [53711, 53712, 53711, 53710, 53712, 53711]})


def partitioned(algorithm):
    roles = {"Age": "quasi-identifier", "Zipcode": "quasi-identifier"}
    policy = {"attributes": roles, "require": [{"model": "k-anonymity", "k": 2}], "method": {"algorithm": algorithm}}
    return sh.plot.Boxes.from_release(sh.anonymize(PATIENTS, policy), "Zipcode", "Age")


def corners(axes):
    """Left, right, bottom, top of what is drawn."""
    return [
        (*path.vertices[:, 0][[0, 2]].tolist(), *path.vertices[:, 1][[0, 2]].tolist())
        for path in axes.collections[0].get_paths()
    ]


def held(box, points):
    left, right, bottom, top = box
    return [(x, y) for x, y in points if left <= x <= right and bottom <= y <= top]


def test_figure_1a_the_points():  # S4.1
    points = list(zip(PATIENTS["Zipcode"].to_pylist(), PATIENTS["Age"].to_pylist(), strict=True))
    dots = partitioned("mondrian").plot().collections[1].get_offsets().tolist()
    assert sorted(map(tuple, dots)) == sorted(points)


def test_figure_1b_single_dimensional():  # S4.3
    """One cut between the ZIP codes 53711 and 53712; none of age is allowable after it."""
    found = partitioned("mondrian-single")
    drawn = corners(found.plot())
    assert sorted(drawn) == [(53709.5, 53711.5, 34.5, 38.5), (53711.5, 53712.5, 34.5, 38.5)]
    assert sorted(found.rows.tolist()) == [2, 4]


def test_figure_1c_strict_multidimensional():  # S4.1
    """The same cut, and the left side cut again between the ages 36 and 37."""
    found = partitioned("mondrian")
    drawn = corners(found.plot())
    assert sorted(drawn) == [
        (53709.5, 53711.5, 34.5, 36.5),
        (53709.5, 53711.5, 36.5, 38.5),
        (53711.5, 53712.5, 34.5, 38.5),
    ]
    assert found.rows.tolist() == [2, 2, 2]
    points = list(zip(PATIENTS["Zipcode"].to_pylist(), PATIENTS["Age"].to_pylist(), strict=True))
    assert [len(held(box, points)) for box in drawn] == [2, 2, 2]
    width, height = 53712.5 - 53709.5, 38.5 - 34.5
    assert sum((right - left) * (top - bottom) for left, right, bottom, top in drawn) == width * height  # they tile


def test_every_point_lies_in_one_box_and_boxes_count_them(people):
    """Numbers without a hierarchy: regions of a strict partitioning share no point."""
    two = pa.table({"a": people["age"], "b": [7 * i % 101 for i in range(people.num_rows)]})
    policy = {
        "attributes": {"a": "quasi-identifier", "b": "quasi-identifier"},
        "require": [{"model": "k-anonymity", "k": 4}],
        "method": {"algorithm": "mondrian"},
    }
    found = sh.plot.Boxes.from_release(sh.anonymize(two, policy), "a", "b")
    points = [(row["a"], row["b"]) for row in two.to_pylist()]
    assert [len(held(box, points)) for box in found.boxes.tolist()] == found.rows.tolist()
    assert found.rows.sum() == found.weights.sum() == len(points)
    assert found.rows.min() >= 4


def test_texts_lie_as_their_hierarchy_has_them(release, people):
    """Labels of a tree are boxes of neighbours; rows that were left out are crosses."""
    found = sh.plot.Boxes.from_release(release, "age", "$town")
    order = list(found.ticks["$town"])
    assert sorted([order[:2], order[2:]]) == [["a$", "b"], ["c", "d"]]
    out = people.num_rows - release.data.num_rows
    assert out > 0
    assert found.weights[found.suppressed].sum() == out
    assert found.rows.sum() == release.data.num_rows
    for (x, y), suppressed in zip(found.points.tolist(), found.suppressed.tolist(), strict=True):
        assert suppressed or any(held(box, [(x, y)]) for box in found.boxes.tolist())
    axes = found.plot()
    assert [text.get_text() for text in axes.get_yticklabels()] == order
    assert [text.get_text().split()[-1] for text in axes.get_legend().get_texts()] == ["released", "out"]


def test_labels_that_are_no_neighbours_are_several_boxes():
    table = pa.table({"t": ["a", "b", "c"] * 4, "n": [0] * 12})
    roles = {
        "t": {"role": "quasi-identifier", "order": ["a", "b", "c"]},
        "n": {"role": "quasi-identifier"},
    }
    policy = {"attributes": roles, "require": [{"model": "k-anonymity", "k": 12}], "method": {"algorithm": "mondrian"}}
    found = sh.plot.Boxes.from_release(sh.anonymize(table, policy), "t", "n")
    assert found.boxes.tolist() == [[-0.5, 2.5, -0.5, 0.5]]


def test_missing_values_are_not_drawn():
    table = pa.table({"a": [1, 1, None, None], "b": [2, 2, 2, 2]})
    roles = {"a": "quasi-identifier", "b": "quasi-identifier"}
    policy = {"attributes": roles, "require": [{"model": "k-anonymity", "k": 2}], "method": {"algorithm": "mondrian"}}
    found = sh.plot.Boxes.from_release(sh.anonymize(table, policy), "a", "b")
    assert found.weights.tolist() == [2]
    assert found.rows.tolist() == [2]


@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian-relaxed", "mondrian-single", "local", "optimal"])
def test_every_recoding(people, algorithm):
    policy = {"attributes": ROLES, "require": [{"model": "k-anonymity", "k": 5}], "method": {"algorithm": algorithm}}
    found = sh.plot.Boxes.from_release(sh.anonymize(people, policy), "age", "$town")
    for point in found.points[~found.suppressed].tolist():
        assert any(held(box, [tuple(point)]) for box in found.boxes.tolist())


def test_dates():
    days = pa.array([f"2020-01-{day:02}" for day in (1, 1, 9, 9)])
    table = pa.table({"day": days.cast(pa.date32()), "n": [1, 1, 1, 1]})
    roles = {"day": "quasi-identifier", "n": "quasi-identifier"}
    policy = {"attributes": roles, "require": [{"model": "k-anonymity", "k": 2}], "method": {"algorithm": "mondrian"}}
    axes = sh.plot.Boxes.from_release(sh.anonymize(table, policy), "day", "n").plot()
    axes.figure.canvas.draw()
    assert any(text.get_text().startswith("2020-01-0") for text in axes.get_xticklabels())
