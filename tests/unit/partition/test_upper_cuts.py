"""S4.7: Mondrian on disk makes the parts of Mondrian in memory, and goes to the disk no more often than it says."""

import tempfile
from dataclasses import replace
from pathlib import Path

import naive
import naive_partition as textbook
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.frequency_set import FrequencySet
from shoal.data.on_disk import StoredRows, distinct_of
from shoal.models.k_anonymity import KAnonymity
from shoal.partition.condition import Condition
from shoal.partition.mondrian import mondrian
from shoal.partition.upper_cuts import mondrian_on_disk


def on_disk(condition, axes, room):
    """The part of each item, found on disk, and the boxes."""
    items, given_out = condition.items, []
    with tempfile.TemporaryDirectory() as folder:
        stored = StoredRows(items.attributes, items.layout, Path(folder) / "items")
        stored.add(items.select_classes(np.arange(len(items)) % 2 == 0))
        stored.add(items.select_classes(np.arange(len(items)) % 2 == 1))
        boxes, traffic = mondrian_on_disk(stored, axes, condition.k, lambda *some: given_out.append(some), room=room)
        assert not list(Path(folder).iterdir())
    place = {tuple(key): i for i, key in enumerate(items.keys.tolist())}
    part = np.full(len(items), -1, dtype=np.int32)
    for piece, parts in given_out:
        at = [place[tuple(key)] for key in piece.keys.tolist()]
        assert (part[at] == -1).all()
        part[at] = parts
    return part, boxes, traffic


@naive.examples(600)
@given(textbook.tables(), st.integers(0, 12))
def test_parts_on_disk_are_those_in_memory(table, room):
    """S4.1, S4.7: numbers, texts, hierarchies, null, ties: whatever fits in memory, the parts and their numbers."""
    condition, axes = table.condition(), table.axes()
    expected = mondrian(condition, axes)
    part, boxes, _ = on_disk(condition, axes, room)
    assert np.array_equal(part, expected.part)
    assert np.array_equal(boxes.low, expected.low)
    assert np.array_equal(boxes.high, expected.high)
    assert boxes.rows.tolist() == np.bincount(expected.part, weights=condition.items.counts).tolist()


@pytest.mark.parametrize("room", [1, 7, 100, 3000])
def test_at_most_two_scans_and_one_write_per_level(room):
    """S4.7: at most two scans and one write per level."""
    draw = np.random.default_rng(5)
    columns = {f"x{i}": draw.integers(0, 40, 3000).astype(np.int32) for i in range(3)}
    table = textbook.by_number(4, {name: values.tolist() for name, values in columns.items()})
    condition = table.condition()
    _, _, traffic = on_disk(condition, table.axes(), room)
    items = len(condition.items)
    assert max(traffic.read.values()) <= 2 * items
    assert max(traffic.written.values(), default=0) <= items
    assert (len(traffic.written) > 0) == (room < items)


def test_rows_of_one_point_that_differ_elsewhere_stay_together():
    """Items of one point that differ elsewhere stay together."""
    draw = np.random.default_rng(6)
    table = textbook.by_number(3, {"x": draw.integers(0, 30, 400).tolist(), "y": draw.integers(0, 9, 400).tolist()})
    items, axes = table.condition().items, table.axes()
    points = replace(items, counts=np.full(len(items), 2))
    expected = mondrian(Condition(points, [KAnonymity(3)]), axes)
    twice = {name: (np.repeat(items.codes(name), 2), 64) for name in items.attributes}
    wide = FrequencySet.count(twice | {"else": (np.tile(np.array([0, 1], np.int32), len(items)), 2)})
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        stored = StoredRows(wide.attributes, wide.layout, Path(folder) / "items")
        stored.add(wide)

        def keep(piece, part):
            of, parts = distinct_of(piece, items.attributes, part)
            at = zip(*(of.codes(name).tolist() for name in items.attributes), strict=True)
            found.update(zip(at, parts.tolist(), strict=True))

        mondrian_on_disk(stored, axes, 3, keep, room=20)
    at = zip(*(items.codes(name).tolist() for name in items.attributes), strict=True)
    assert found == dict(zip(at, expected.part.tolist(), strict=True))
