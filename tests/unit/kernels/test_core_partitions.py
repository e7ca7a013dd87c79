"""The compiled cuts refuse what would read outside of their arrays."""

import numpy as np
import pytest

from shoal import kernels
from shoal.data.frequency_set import FrequencySet
from shoal.partition.axes import Axis
from shoal.partition.mondrian import kernel_arguments_of

ITEMS = FrequencySet.count({"x": (np.array([0, 1, 2, 2], np.int32), 3)})
AXIS = Axis("x", np.arange(3, dtype=np.int32), np.arange(3.0))


def axis_with(**changed):
    names = ("positions", "ends", "span", "importance", "null", "ranks", "losses")
    given = dict(zip(names, kernel_arguments_of(ITEMS, [AXIS])[-1][0], strict=True))
    return tuple((given | changed).values())


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"positions": np.array([0, 1], np.int32), "ends": np.arange(2.0)}, "code that its axis does not know"),
        ({"positions": np.array([0, 1, 3], np.int32)}, "position outside"),
        ({"positions": np.array([0, 1, -1], np.int32)}, "position outside"),
        ({"ends": np.arange(2.0)}, "position outside"),
        ({"ends": np.arange(4.0)}, "a position without a code"),
        ({"ranks": np.zeros((1, 2), np.int32), "losses": np.zeros((1, 2))}, "a rank and a loss"),
        ({"ranks": np.zeros((1, 3), np.int32)}, "a rank and a loss"),
        ({"ranks": np.array([[0, 2, 1]], np.int32), "losses": np.zeros((1, 3))}, "do not rise"),
    ],
)
def test_bad_axes(changed, why):
    *keys, _ = kernel_arguments_of(ITEMS, [AXIS])
    with pytest.raises(ValueError, match=why):
        kernels.mondrian(*keys, [axis_with(**changed)], 2, relaxed=False)


def test_bad_items():
    keys, counts, *where = kernel_arguments_of(ITEMS, [AXIS])
    for wrong, why in ((counts[:1], "a count per key"), (counts * 0, "out of range"), (counts << 40, "out of range")):
        with pytest.raises(ValueError, match=why):
            kernels.mondrian(keys, wrong, *where, 2, relaxed=False)
    with pytest.raises(ValueError, match="single rows"):
        kernels.mondrian(keys, counts, *where, 2, relaxed=True)
    with pytest.raises(ValueError, match="needed"):
        kernels.mondrian(keys[:0], counts[:0], *where, 2, relaxed=False)
    with pytest.raises(ValueError, match="a field per axis"):
        kernels.mondrian(keys, counts, *where[:-1], 2 * where[-1], 2, relaxed=False)


@pytest.mark.parametrize(
    ("begin", "values", "rows", "why"),
    [
        ([0, 1, 2], [0, 0, 0], [1, 1, 2], "entries per item"),
        ([0, 1, 2, 3], [0, 0], [1, 1], "entries per item"),
        ([0, 2, 1, 3], [0, 0, 0], [1, 1, 2], "out of order"),
        ([0, 1, 2, 3], [0, 0, 2], [1, 1, 2], "out of range"),
        ([0, 1, 2, 3], [0, 0, -1], [1, 1, 2], "out of range"),
        ([0, 1, 2, 3], [0, 0, 1], [1, 1, 0], "out of range"),
    ],
)
def test_bad_entries(begin, values, rows, why):
    given = np.array(begin), np.array(values, np.int32), np.array(rows)
    with pytest.raises(ValueError, match=why):
        kernels.least_entropy(*kernel_arguments_of(ITEMS, [AXIS]), 1, *given, 2)


def test_bad_sums():
    with pytest.raises(ValueError, match="sums per item"):
        kernels.least_squares(*kernel_arguments_of(ITEMS, [AXIS]), 1, np.ones(3), np.ones(3), np.ones(2))


def test_long_axes_and_many_rows():
    """Positions of one, two and four bytes, and parts that threads hand to each other: all alike, at every run."""
    rng = np.random.default_rng(0)
    narrow = rng.integers(0, 200, (3, 200_000), dtype=np.int32)
    found = []
    for size in (256, 30_000, 70_000):
        items = FrequencySet.count({name: (codes, size) for name, codes in zip("xyz", narrow, strict=True)})
        axes = [Axis(name, np.arange(size, dtype=np.int32), np.arange(float(size))) for name in "xyz"]
        found += [kernels.mondrian(*kernel_arguments_of(items, axes), 5, relaxed=False)[0] for _ in range(2)]
    assert all(np.array_equal(found[0], other) for other in found)
