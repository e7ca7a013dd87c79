"""What runs on executors while boxes are made, run here: the parts of Mondrian in memory, however items lie there."""

import sys
from types import SimpleNamespace

import naive
import naive_partition as textbook
import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from shoal import __version__
from shoal.engines.spark import executor_cuts as cutting
from shoal.engines.spark import executors
from shoal.partition.mondrian import Marginals, mondrian
from shoal.partition.upper_cuts import Cutting, CutTree, PartBoxes, PartCounts


def sent(value):
    return SimpleNamespace(value=value)


class Here:
    """Items in batches of a few, as executors get them."""

    def __init__(self, items, axes, k, room, step):
        self.axes, self.tree = axes, CutTree()
        self.cutting = Cutting(tuple(axes), k, room)
        self.given = sent((self.cutting, items.attributes, items.layout))
        words = {f"k{w}": items.keys[:, w].view(np.int64) for w in range(items.layout.words)}
        self.batches = pa.table({**words, "n": items.counts}).to_batches(step)

    def run(self, what, batches=None):
        return pa.Table.from_batches(what(self.batches if batches is None else batches))

    def counted(self, nodes):
        """As the driver adds up what the executors counted."""
        found = self.run(cutting.counted(self.given, sent(self.tree), nodes[0].start)).to_pylist()
        for sides in nodes:
            made = []
            for node in sides:
                mine = [row for row in found if row["part"] == node]
                held = Marginals.without_rows(self.axes)
                for row in mine:
                    if row["axis"] != cutting.ITEMS:
                        held.add(row["axis"], np.array([row["position"]]), np.array([row["n"]]))
                made.append(PartCounts(node, held, sum(row["n"] for row in mine if row["axis"] == cutting.ITEMS)))
            yield made

    def split(self, tops):
        return self.counted([self.tree.cut(top.where, top.cut) for top in tops])

    def finished(self, step):
        """Key, top and part of each item, and the boxes of all tops."""
        ((whole,),) = self.counted([range(1)])
        tops = list(self.cutting.cut_upper_parts(whole, self.split, together=True))
        number = np.zeros(len(self.tree.below), dtype=np.int32)
        number[[top.where for top in tops]] = np.arange(len(tops), dtype=np.int32)
        told = sent((number, np.array([top.small for top in tops])))
        seated = self.run(cutting.assign_seats(self.given, sent(self.tree), told)).sort_by("seat")
        regions = sent((np.stack([top.low for top in tops]), np.stack([top.high for top in tops])))
        made = self.run(cutting.finished(self.given, regions), seated.to_batches(step))
        boxes = [None if top.small else self.cutting.box_of(top) for top in tops]
        for row in made.filter(made["boxes"].is_valid()).to_pylist():
            told = pa.ipc.open_stream(row["boxes"]).read_all().to_pydict()
            low, high = (np.array([told[f"{end}{a}"] for a in range(len(self.axes))]).T for end in ("low", "high"))
            assert boxes[row["top"]] is None, "a top is told twice"
            boxes[row["top"]] = PartBoxes(low, high, np.array(told["rows"]))
        return made, boxes


@naive.examples(300)
@given(textbook.tables(), st.integers(0, 12), st.integers(1, 9))
def test_cutting_gives_the_parts_of_mondrian_in_memory(table, room, step):
    """S4.1, S4.7: numbers, texts, hierarchies, null, ties: the parts of Mondrian in memory and their numbers."""
    condition, axes = table.condition(), table.axes()
    items = condition.items
    expected = mondrian(condition, axes)
    made, boxes = Here(items, axes, condition.k, room, step).finished(step)
    begin = np.cumsum([0, *(len(each.rows) for each in boxes[:-1])])
    place = {tuple(key): part for key, part in zip(items.keys.tolist(), expected.part.tolist(), strict=True)}
    words = [made[f"k{w}"].to_numpy().view(np.uint64) for w in range(items.layout.words)]
    parts = begin[made["top"].to_numpy()] + made["part"].to_numpy()
    assert dict(zip(map(tuple, np.stack(words, axis=1).tolist()), parts.tolist(), strict=True)) == place
    assert sorted(made["n"].to_pylist()) == sorted(items.counts.tolist())
    whole = PartBoxes.from_several(boxes)
    assert np.array_equal(whole.low, expected.low)
    assert np.array_equal(whole.high, expected.high)
    assert whole.rows.tolist() == np.bincount(expected.part, weights=items.counts).tolist()


def test_keys_are_repeated_as_often_as_they_occur(monkeypatch):
    monkeypatch.setattr(executors, "_BLOCK", 3)
    batch = pa.record_batch(
        [pa.array([7, 8, 9]), pa.array([4, 1, 2]), pa.array([1, 0, 1], pa.int32()), pa.array([2, 0, 0], pa.int32())],
        ["k0", "n", "top", "part"],
    )
    made = list(executors.repeat_keys(sent(np.array([0, 5])))([batch, batch.slice(0, 0)]))
    assert [each.num_rows for each in made] == [3, 3, 1]
    rows = pa.Table.from_batches(made)
    assert rows["k0"].to_pylist() == [7, 7, 7, 7, 8, 9, 9]
    assert rows["k1"].to_pylist() == [7, 7, 7, 7, 0, 5, 5]


def test_an_executor_tells_which_shoal_it_has(monkeypatch):
    asked = pa.record_batch({"id": [0, 1]})
    (found,) = executors.version()([asked])
    assert found["version"].to_pylist() == [__version__] * 2
    monkeypatch.setitem(sys.modules, "shoal.kernels", None)
    (found,) = executors.version()([asked])
    assert found["version"].to_pylist() == ["", ""]
