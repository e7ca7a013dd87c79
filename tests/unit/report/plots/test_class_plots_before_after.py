"""A column before and after: what rows of the original and labels of the release say, counted naively."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import shoal as sh

TOWNS = {
    "a$": ["a$"],
    "b": ["b"],
    "c": ["c"],
    "d": ["d"],
    "north": ["a$", "b"],
    "south": ["c", "d"],
    "*": ["a$", "b", "c", "d"],
}


def test_texts(release, people):
    shown = sh.plot.BeforeAfter.from_release(release, "$town")
    expected = Counter()
    for label in release.data["$town"].to_pylist():
        for town in TOWNS[label]:
            expected[town] += 1 / len(TOWNS[label])
    assert shown.labels == ("a$", "b", "c", "d")
    assert shown.after.tolist() == pytest.approx([expected[town] for town in shown.labels])
    real = Counter(people["$town"].to_pylist())
    axes = shown.plot()
    widths = [bar.get_width() for bar in axes.patches]
    assert widths[:4] == [real[town] for town in shown.labels]
    assert widths[4:] == shown.after.tolist()
    assert shown.rows == (people.num_rows, release.data.num_rows)


def test_numbers(release, people):
    shown = sh.plot.BeforeAfter.from_release(release, "age")
    ages = people["age"].to_pylist()
    low, high = min(ages), max(ages)
    expected = np.zeros(high - low + 1)
    for label in release.data["age"].to_pylist():
        begin, end = (low, high + 1) if label == "*" else map(int, label.strip("[)").split(","))
        inside = np.arange(max(begin, 0), end)
        for age in inside[(inside >= low) & (inside <= high)]:
            expected[age - low] += 1 / len(inside)
    assert shown.before.tolist() == [ages.count(age) for age in range(low, high + 1)]
    assert shown.after.tolist() == pytest.approx(expected.tolist())
    stairs = shown.plot().patches
    assert [each.get_data().values.tolist() for each in stairs] == [shown.before.tolist(), shown.after.tolist()]
    assert shown.edges[0] == low - 0.5


@pytest.mark.parametrize("numbers", [[0.5 * i + 0.25 for i in range(400)], list(range(0, 4_000, 10))])
def test_no_row_is_lost_in_the_steps(numbers):
    policy = {
        "attributes": {"n": "quasi-identifier"},
        "require": [{"model": "k-anonymity", "k": 7}],
        "method": {"algorithm": "mondrian"},
    }
    shown = sh.plot.BeforeAfter.from_release(sh.anonymize(pa.table({"n": numbers}), policy), "n")
    assert shown.before.sum() == len(numbers)
    assert shown.after.sum() == pytest.approx(len(numbers))
    assert len(shown.edges) - 1 == len(shown.before) <= 120


def test_rare_texts_are_put_together(people):
    many = pa.table({"age": people["age"], "job": [f"j{i % 50:02}" for i in range(people.num_rows)]})
    policy = {
        "attributes": {"age": "quasi-identifier", "job": {"role": "sensitive"}},
        "require": [{"model": "k-anonymity", "k": 2}],
        "method": {"algorithm": "mondrian"},
    }
    shown = sh.plot.BeforeAfter.from_release(sh.anonymize(many, policy), "job")
    assert shown.labels[-1] == "20 others"
    assert shown.before.tolist() == shown.after.tolist() == [6.0] * 30 + [120.0]


def test_dates():
    days = pa.array([f"2020-01-{day:02}" for day in (1, 1, 3, 4)])
    policy = {
        "attributes": {"day": "quasi-identifier"},
        "require": [{"model": "k-anonymity", "k": 2}],
        "method": {"algorithm": "mondrian"},
    }
    shown = sh.plot.BeforeAfter.from_release(sh.anonymize(pa.table({"day": days.cast(pa.date32())}), policy), "day")
    assert shown.before.tolist() == [2, 0, 1, 1]
    assert shown.after.sum() == pytest.approx(4)
