"""Functions that run on the executors while boxes are cut: they need Shoal there, whose compiled core finishes parts.

The parameters `given` (the cutting, the names and the layout of the keys) and `tree` are Spark broadcasts.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.engines.spark.executors import Batches, Run, concat_batches, join_into_blocks, to_ipc_bytes

if TYPE_CHECKING:
    from shoal.data.codes import Codes
    from shoal.data.frequency_set import FrequencySet

_SEATS = 64
"""Number of seats among which the items of tops that need no further cuts are distributed."""
ITEMS = -1
"""Stands for an axis in counts of items, as opposed to rows at the positions of an axis."""


def counted(given: Any, tree: Any, first: int) -> Run:
    """Count the items of each part from node `first` on, and its rows at each position of each axis."""

    def run(batches: Batches) -> Batches:
        from shoal.data.packed_keys import LongCounts

        for block in join_into_blocks(batches):
            items = _items(given, block)
            # at [axis][item] its position; node [item] its node in the tree; fresh [item] whether that is to be counted
            at = _positions(given, items)
            node = tree.value.find_leaves(at)
            fresh = node >= first
            part, n = node[fresh], items.counts[fresh]
            if not len(part):
                continue
            held, sizes = np.unique(part, return_counts=True)
            yield _counts_batch(held, ITEMS, np.zeros_like(held), sizes)
            for a, axis in enumerate(given.value[0].axes):
                found = LongCounts.count(part, at[a][fresh], axis.size, weights=n)
                yield _counts_batch(found.classes, a, found.values, found.counts)

    return run


def _counts_batch(part: "Codes", axis: int, position: "Codes", n: Any) -> pa.RecordBatch:
    """Return counts as a batch for the driver."""
    columns = [part, np.full(len(part), axis, dtype=np.int32), position, n]
    return pa.record_batch(columns, ["part", "axis", "position", "n"])


def assign_seats(given: Any, tree: Any, tops: Any) -> Run:
    """Add to each item its top, and the seat by which it is grouped: the top if small, else a negative number.

    `tops` is broadcast: for each node the number of its top, and for each top whether it is small.
    """

    def run(batches: Batches) -> Batches:
        number, small = tops.value
        for block in join_into_blocks(batches):
            top = number[tree.value.find_leaves(_positions(given, _items(given, block)))]
            # [item] tops that need no work are distributed evenly among negative seats
            seat = np.where(small[top], top, -1 - np.arange(len(top), dtype=np.int32) % _SEATS)
            yield pa.record_batch([*block.columns, top, seat], [*block.schema.names, "top", "seat"])

    return run


def finished(given: Any, regions: Any) -> Run:
    """Add to the items of each seat, which are contiguous, their part; one item of each top also gets its boxes.

    `regions` is broadcast: the low and the high end of each top on each axis.
    """

    def run(batches: Batches) -> Batches:
        low, high = regions.value
        for seat, block in _iter_seats(batches):
            *columns, top, _ = block.columns
            part, boxes = np.zeros(block.num_rows, dtype=np.int32), None
            if seat >= 0:
                part, found = given.value[0].finish(_items(given, block), low[seat], high[seat])
                told = {f"low{a}": ends for a, ends in enumerate(found.low.T)}
                told |= {f"high{a}": ends for a, ends in enumerate(found.high.T)}
                boxes = to_ipc_bytes(pa.record_batch(told | {"rows": found.rows}))
            cells = pa.array([boxes, *[None] * (block.num_rows - 1)], pa.binary())
            yield pa.record_batch([*columns, top, part, cells], [*block.schema.names[:-1], "part", "boxes"])

    return run


def _iter_seats(batches: Batches) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield all items of a seat at once; for negative seats, which need no work, the items as they come."""
    held: list[pa.RecordBatch] = []
    last = -1
    for batch in batches:
        seats = batch.column("seat").to_numpy()
        edges = [0, *(np.flatnonzero(np.diff(seats)) + 1).tolist(), len(seats)]
        for begin, end in pairwise(edges):
            if begin == end:
                continue
            seat = int(seats[begin])
            if held and (seat != last or seat < 0):
                yield last, concat_batches(held)
                held = []
            held.append(batch.slice(begin, end - begin))
            last = seat
    if held:
        yield last, concat_batches(held)


def _items(given: Any, block: pa.RecordBatch) -> "FrequencySet":
    """Return the items of a block as a frequency set."""
    from shoal.data.frequency_set import FrequencySet

    _, attributes, layout = given.value
    keys = np.stack([block.column(w).to_numpy().view(np.uint64) for w in range(layout.words)], axis=1)
    return FrequencySet(attributes, layout, keys, block.column("n").to_numpy())


def _positions(given: Any, items: "FrequencySet") -> list["Codes"]:
    """Return the position of each item on each axis: [axis][item]."""
    return [axis.positions[items.codes(axis.attribute)] for axis in given.value[0].axes]
