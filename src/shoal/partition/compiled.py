"""Items and axes as the compiled core takes them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Codes
from shoal.counts import Longs
from shoal.frequency import FrequencySet
from shoal.partition.axes import Axis, Floats

Words = NDArray[np.uint64]
AxisArrays = tuple[Codes, Floats, float, float, int, Codes | None, Floats | None]
"""Positions, ends, span, importance and null (-1: none); along a hierarchy, ranks and losses."""


def compiled_form(
    items: FrequencySet, axes: Sequence[Axis]
) -> tuple[Words, Longs, Codes, Codes, Words, list[AxisArrays]]:
    """Packed keys with their counts, where the code of each axis lies in them, and the axes."""
    word, shift, mask = items.layout.fields
    field = [items.attributes.index(axis.attribute) for axis in axes]
    return items.keys, items.counts, word[field], shift[field], mask[field], [_arrays(axis) for axis in axes]


def _arrays(axis: Axis) -> AxisArrays:
    ordered = axis.hierarchy is None
    return (
        axis.positions,
        axis.ends,
        axis.span,
        float(axis.importance),
        -1 if axis.null is None else axis.null,
        None if ordered else axis.ranks,
        None if ordered else axis.losses,
    )
