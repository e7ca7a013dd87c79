"""Boxes for rows that were not there when they were cut."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples

from shoal.data.codes import Table, encode, select_table_rows
from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.hierarchy.value_columns import Labels
from shoal.mining.held_out_rows import HeldOutDisplay, TrainingRecoding, assign_to_boxes
from shoal.policy.document import Policy
from shoal.recoding.columns import ReleasedColumn
from shoal.recoding.kinds import PartRecoding
from shoal.solve import make_plan

NAMES = ("age", "job")


def recoding(part, **shown):
    columns = {name: {name: ReleasedColumn.of(np.arange(len(texts)), list(texts))} for name, texts in shown.items()}
    return PartRecoding("boxes", np.array(part, np.int32), columns)


def table(ages, jobs):
    return Table({"age": encode("age", pa.array(ages)), "job": encode("job", pa.array(jobs))}, len(ages))


def test_by_hand():
    """Ages from 0 to 100: a row in a box, one in two boxes of which one is smaller, two in none, one without an age."""
    people = table([0, 20, 50, 60, 100, 30, None, 90], ["a", "a", "b", "b", "b", "c", "a", "a"])
    boxes = recoding([0, 0, 1, 1, 2], age=["<30", "[50, 70)", "≥50"], job=["a", "b", "{a | b}"])
    training, others = (select_table_rows(people, np.array(rows)) for rows in ([0, 1, 2, 3, 4], [1, 3, 5, 6, 7, 2]))
    part, outside = assign_to_boxes(boxes, NAMES, training, others, {})
    # 30, c is 1 from every job, and 0.1 above box 0; a missing age is 1 from every age, and `a` is in the boxes 0 and 2
    assert part.tolist() == [0, 1, 0, 0, 2, 1]
    assert outside.tolist() == [False, False, True, True, False, False]


def test_without_labels_between_the_values_of_the_training_rows():
    people = table([0, 20, 50, 60, 100, 30], ["a", "a", "b", "b", "b", "a"])
    boxes = recoding([0, 0, 1, 1, 1], age=["10", "70"], job=["a", "b"])
    training, others = (select_table_rows(people, np.array(rows)) for rows in ([0, 1, 2, 3, 4], [1, 5, 2]))
    part, outside = assign_to_boxes(boxes, ["job"], training, others, {})
    assert part.tolist() == [0, 0, 1]
    assert outside.tolist() == [False, True, False]


ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 9)),
        st.sampled_from(["aa", "ab", "ba", "bb"]),
        st.sampled_from(["u", "v", None]),
    ),
    min_size=8,
    max_size=30,
)


@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian-relaxed", "mondrian-single"])
@pytest.mark.parametrize("form", ["range", "bounds", "mean"])
@examples(60)
@given(rows=ROWS, ranges=st.sampled_from(["cut", "observed"]), seed=st.integers(0, 3))
def test_training_rows_lie_inside_their_boxes(algorithm, form, rows, ranges, seed):
    """And every row that is said to lie in a box is covered by all its labels."""
    columns = dict(zip(("age", "zip", "sex"), zip(*rows, strict=True), strict=True))
    given_table = pa.table({name: pa.array(values) for name, values in columns.items()})
    attributes = {name: {"role": "quasi-identifier"} for name in columns}
    attributes["zip"]["hierarchy"] = {"mask": "right"}
    attributes["age"]["form"] = form
    policy = Policy(
        attributes=attributes,
        require=[{"model": "k-anonymity", "k": 2}],
        method={"algorithm": algorithm},
        release={"ranges": ranges, "means": "any"},
    )
    source = ArrowEngine().read(given_table, ReadOptions())
    if source.table["age"].kind == "text":  # all missing
        return
    order = np.random.default_rng(seed).permutation(len(rows))
    train, test = np.sort(order[: len(rows) // 2]), np.sort(order[len(rows) // 2 :])
    some = select_table_rows(source.table, train)
    plan = make_plan(type(source)(some, source.format, source.name), policy, ArrowEngine())
    training = TrainingRecoding(some, plan.recoding, plan.hierarchies, plan.statistics)
    again = training.show_held_out(some, list(columns), set(columns))
    assert again.how is HeldOutDisplay.BOXES
    assert not again.outside.any()
    others = select_table_rows(source.table, test)
    held_out = training.show_held_out(others, list(columns), set(columns))
    for name in ("zip", "sex") if form != "range" else columns:
        released, labels = held_out.shown[name]["range"], Labels(others[name], plan.hierarchies.get(name))
        covers = np.stack([labels.covered(text) for text in released.texts.to_pylist()])
        inside = covers[released.codes, others[name].codes]
        assert inside[~held_out.outside].all()
