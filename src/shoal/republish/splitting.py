"""The partition of m-invariance: a bucket cut into groups of neighbours, each with one row of every value."""

from collections.abc import Sequence

import numpy as np

from shoal.codes import Codes
from shoal.counts import Longs
from shoal.partition.axes import Floats


def split(bucket: Codes, value: Codes, places: Sequence[Floats]) -> Codes:
    """The group of each row; in a bucket all values have equally many rows, and in a group they have one.

    All parts are cut at once: each along the attribute in which it is widest, and every value at its own median.
    Xiao and Tao: m-invariance: towards privacy preserving re-publication of dynamic datasets. SIGMOD 2007.

    >>> split(np.zeros(4, np.int32), np.array([0, 1, 0, 1]), [np.array([0.1, 0.8, 0.9, 0.2])]).tolist()
    [0, 1, 1, 0]
    """
    _, part = np.unique(bucket, return_inverse=True)
    part = part.ravel()
    while True:
        each = _rows_of_a_value(part, value)
        rows = np.flatnonzero(each[part] > 1)
        if not len(rows):
            return part.astype(np.int32)
        _, here = np.unique(part[rows], return_inverse=True)
        along = _widest(here, [place[rows] for place in places])
        place = np.stack([place[rows] for place in places])[along[here], np.arange(len(rows))]
        order = np.lexsort((place, value[rows], here))
        begins = np.flatnonzero(np.append(True, (np.diff(here[order]) != 0) | (np.diff(value[rows][order]) != 0)))
        nth = np.empty(len(rows), dtype=np.int64)
        nth[order] = np.arange(len(rows)) - np.repeat(begins, np.diff(np.append(begins, len(rows))))
        part = 2 * part
        part[rows] += nth >= each[part[rows] // 2] // 2
        part = np.unique(part, return_inverse=True)[1].ravel()


def _rows_of_a_value(part: Longs, value: Codes) -> Longs:
    pairs, counts = np.unique(part * (int(value.max()) + 1) + value, return_counts=True)
    each = np.zeros(int(part.max()) + 1, dtype=np.int64)
    each[pairs // (int(value.max()) + 1)] = counts
    return each


def _widest(part: Longs, places: Sequence[Floats]) -> Longs:
    """Per part the attribute in which its rows lie farthest apart."""
    parts = int(part.max()) + 1
    widths = np.zeros((len(places), parts))
    for i, place in enumerate(places):
        low, high = np.full(parts, np.inf), np.full(parts, -np.inf)
        np.minimum.at(low, part, place)
        np.maximum.at(high, part, place)
        widths[i] = high - low
    return np.asarray(widths.argmax(axis=0), dtype=np.int64)
