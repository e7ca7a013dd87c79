"""What runs on the executors while boxes are made: it needs Shoal there, whose compiled core finishes the parts.

What is called `given` is broadcast: the cutting, and the names and the layout of the keys. So is `tree`.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.engines.spark.executors import Batches, Run, as_bytes, blocks, joined

if TYPE_CHECKING:
    from shoal.data.codes import Codes
    from shoal.data.frequency_set import FrequencySet

_SEATS = 64
"""Number of seats over which items of parts that need no work are spread."""
ITEMS = -1
"""In place of an axis: what is counted are items, not rows at its positions."""


def counted(given: Any, tree: Any, first: int) -> Run:
    """Count, for each part from node `first` on, its items, and its rows at each position of each axis."""

    def run(batches: Batches) -> Batches:
        from shoal.data.packed_keys import Long

        for block in blocks(batches):
            items = _items(given, block)
            at = _positions(given, items)
            node = tree.value.place(at)
            fresh = node >= first
            part, n = node[fresh], items.counts[fresh]
            if not len(part):
                continue
            held, sizes = np.unique(part, return_counts=True)
            yield _told(held, ITEMS, np.zeros_like(held), sizes)
            for a, axis in enumerate(given.value[0].axes):
                found = Long.count(part, at[a][fresh], axis.size, weights=n)
                yield _told(found.classes, a, found.values, found.counts)

    return run


def _told(part: "Codes", axis: int, position: "Codes", n: Any) -> pa.RecordBatch:
    columns = [part, np.full(len(part), axis, dtype=np.int32), position, n]
    return pa.record_batch(columns, ["part", "axis", "position", "n"])


def seated(given: Any, tree: Any, tops: Any) -> Run:
    """Give items the number of their top, and a seat: that of a small top, else one of some that need no work.

    `tops` is broadcast: for each node the number of its top, and for each top whether it is small.
    """

    def run(batches: Batches) -> Batches:
        number, small = tops.value
        for block in blocks(batches):
            top = number[tree.value.place(_positions(given, _items(given, block)))]
            seat = np.where(small[top], top, -1 - np.arange(len(top), dtype=np.int32) % _SEATS)
            yield pa.record_batch([*block.columns, top, seat], [*block.schema.names, "top", "seat"])

    return run


def finished(given: Any, regions: Any) -> Run:
    """Give the items of each seat, which lie one after the other, their part; one item of a top gets its boxes.

    `regions` is broadcast: the low and the high end of each top on each axis.
    """

    def run(batches: Batches) -> Batches:
        low, high = regions.value
        for seat, block in _by_seat(batches):
            *columns, top, _ = block.columns
            part, boxes = np.zeros(block.num_rows, dtype=np.int32), None
            if seat >= 0:
                part, found = given.value[0].finished(_items(given, block), low[seat], high[seat])
                told = {f"low{a}": ends for a, ends in enumerate(found.low.T)}
                told |= {f"high{a}": ends for a, ends in enumerate(found.high.T)}
                boxes = as_bytes(pa.record_batch(told | {"rows": found.rows}))
            cells = pa.array([boxes, *[None] * (block.num_rows - 1)], pa.binary())
            yield pa.record_batch([*columns, top, part, cells], [*block.schema.names[:-1], "part", "boxes"])

    return run


def _by_seat(batches: Batches) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield all items of a seat at once; those of one that needs no work, as they come."""
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
                yield last, joined(held)
                held = []
            held.append(batch.slice(begin, end - begin))
            last = seat
    if held:
        yield last, joined(held)


def _items(given: Any, block: pa.RecordBatch) -> "FrequencySet":
    from shoal.data.frequency_set import FrequencySet

    _, attributes, layout = given.value
    keys = np.stack([block.column(w).to_numpy().view(np.uint64) for w in range(layout.words)], axis=1)
    return FrequencySet(attributes, layout, keys, block.column("n").to_numpy())


def _positions(given: Any, items: "FrequencySet") -> list["Codes"]:
    return [axis.positions[items.codes(axis.attribute)] for axis in given.value[0].axes]
