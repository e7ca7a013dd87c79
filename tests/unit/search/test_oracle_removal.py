"""The compiled count of rows that must go says what the models say."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts
from shoal.data.packed_keys import CountInterpretation, LongCounts
from shoal.models.alpha_k import AlphaK
from shoal.models.closeness import TCloseness
from shoal.models.disclosure import DeltaDisclosure
from shoal.models.l_diversity import EntropyLDiversity
from shoal.models.likeness import BetaLikeness
from shoal.models.recursive_cl import RecursiveCLDiversity
from shoal.search.oracle import count_removed

LABELS = ["flu", "hiv", "tbc", None]
MODELS = [
    AlphaK(0.5, 1, "ill"),
    AlphaK({"flu": 0.2, "hiv": "1/3"}, 1, "ill", null_is_value=True),
    TCloseness(0.2, "equal", "ill"),
    BetaLikeness(1.0, "basic", "ill"),
    BetaLikeness(0.5, "enhanced", "ill", null_is_value=True),
    DeltaDisclosure(1.0, "violates", 2, "ill"),
    DeltaDisclosure(0.5, "skip", "e", "ill"),
    EntropyLDiversity(2.5, "ill"),
    EntropyLDiversity(1, "ill"),
    EntropyLDiversity(2, "ill", null_is_value=True),
    RecursiveCLDiversity(2, 2.0, "ill"),
    RecursiveCLDiversity(3, 0.7, "ill", null_is_value=True),
]
row = st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any)


def counted(rows, whole, order):
    """The classes `rows`, entries in some order, as both sides read them."""
    dense = np.array(rows)
    classes, values = np.nonzero(dense)
    at = np.argsort(np.resize(order, len(classes)), kind="stable")
    classes, values = classes[at].astype(np.int32), values[at].astype(np.int32)
    long = LongCounts(classes, values, dense[classes, values], len(LABELS))
    reading = CountInterpretation({"ill": LABELS}, reference={"ill": np.array(whole)})
    sizes = dense.sum(axis=1)
    return long, ClassCounts(sizes, {"ill": reading.value_counts("ill", long, len(rows))})


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_as_many_rows_go_as_the_model_says(model):
    """Up to rounding in the search for the cap that makes a class even enough."""

    @naive.examples(60)
    @given(st.lists(row, min_size=1, max_size=5), row, st.lists(st.integers(0, 3), min_size=1, max_size=9))
    def check(rows, others, order):
        long, counts = counted(rows, np.add(others, np.sum(rows, axis=0)), order)
        limits = model.value_limits(counts)
        assert limits is not None
        removed = count_removed(limits, long, counts.sizes, np.zeros(len(rows), np.int64), 1)
        said = model.least_removed(counts)
        if isinstance(model, EntropyLDiversity):
            assert np.abs(removed - said).max() <= 1
        else:
            assert removed.tolist() == said.tolist()

    check()


def test_what_is_known_to_go_and_what_is_too_little_to_stay():
    """4 of 8 go for flu; 3 known ones change nothing, 5 do; with at least 5 rows a class, all of it goes."""
    long, counts = counted([[6, 1, 1, 0]], [9, 9, 9, 0], [0])
    limits = AlphaK(0.5, 1, "ill").value_limits(counts)
    for gone, least, found in ((3, 1, 4), (5, 1, 5), (0, 5, 8)):
        assert count_removed(limits, long, counts.sizes, np.array([gone]), least).tolist() == [found]


def test_limits_that_only_a_node_knows():
    """Distances along an order, and values counted together with others, have none."""
    _, counts = counted([[6, 1, 1, 0]], [9, 9, 9, 0], [0])
    assert TCloseness(0.2, "ordered", "ill").value_limits(counts) is None
    assert EntropyLDiversity(2, "ill", others=("job",)).value_limits(counts) is None
