"""The bound from the faces of a lattice: never above the optimum."""

from math import inf, prod

import naive
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.hierarchy.lattice import Lattice
from shoal.metrics.catalogue import METRICS
from shoal.search import optimal as searching
from shoal.search.driver import drive_search
from shoal.search.optimal import _groups, bound_by_faces


def not_above(bound, score):
    return bound <= score + 1e-12 * max(1.0, abs(score))


def choice(instance):
    """Faces are for lattices with more than one node."""
    return instance.lattice().size > 1


def bounded(instance, oracle, largest):
    additive = oracle.scorer.additive
    walk = bound_by_faces(instance.lattice(), oracle.scorer.floors, oracle.before.left_out, largest, additive=additive)
    return drive_search(walk, oracle)


@pytest.mark.parametrize("share", naive.SHARES)
def test_the_bound_of_faces_is_never_above_the_optimum(share):
    """Every metric and closure, attributes shared out at random."""

    @naive.examples(100)
    @given(
        naive.instances(share, naive.EVERY_CLOSURE, st.booleans(), fewest=2).filter(choice),
        st.integers(2, 20),
        st.none() | st.lists(st.integers(0, 3), min_size=4, max_size=4),
    )
    def check(instance, largest, shared_out):
        with pytest.MonkeyPatch.context() as patch:
            if shared_out is not None:
                parts = [{i for i in range(len(instance.names)) if shared_out[i] == part} for part in set(shared_out)]
                patch.setattr(searching, "_groups", lambda *_: [part for part in parts if part])
            for metric in METRICS:
                oracle = instance.oracle(metric)
                best = naive.best(metric, instance)
                optimum = inf if best is None else naive.value(metric, instance, best)
                assert not_above(oracle.scorer.value(bounded(instance, oracle, largest)), optimum), metric

    check()


@naive.examples(150)
@given(naive.closed_instances("0.5", fewest=2).filter(choice))
def test_one_face_of_all_attributes_is_the_lattice(instance):
    """Where everything fits on one face, the bound is the optimum."""
    for metric in METRICS:
        oracle = instance.oracle(metric)
        best = naive.best(metric, instance)
        bound = bounded(instance, oracle, 10**6)
        if best is None:
            assert bound == inf
        else:
            assert oracle.scorer.value(bound) == pytest.approx(
                naive.value(metric, instance, best), rel=1e-12, abs=1e-12
            )


def test_the_bound_of_faces_is_the_sum_of_two_attributes():
    """Two attributes of four values each, k = 2: each alone must go up, and the two together cost the sum.

    Discernibility is no sum: each of four rows costs two at least.
    """
    levels = [dict.fromkeys("abcd", "*")]
    attributes = {name: naive.Attribute(list("abcd"), levels, list("abcd"), 0, 1, None) for name in "pq"}
    instance = naive.Instance(attributes, ["u"] * 4, [naive.k_anonymity(2)], 0)
    for metric, bound in [("loss", 1), ("height", 2), ("discernibility", 8)]:
        assert bounded(instance, instance.oracle(metric), 2) == bound


def lattice_of(shape):
    return Lattice(tuple(map(str, range(len(shape)))), (0,) * len(shape), tuple(n - 1 for n in shape))


shapes = st.lists(st.integers(1, 9), min_size=2, max_size=12)


@naive.examples(150)
@given(shapes, st.integers(2, 500))
def test_every_attribute_is_on_one_face(shape, largest):
    assume(prod(shape) > largest)
    groups = _groups(lattice_of(shape), largest)
    assert sorted(i for group in groups for i in group) == list(range(len(shape)))


@naive.examples(150)
@given(shapes, st.integers(2, 500))
def test_no_face_is_too_large(shape, largest):
    """Unless one attribute alone is."""
    assume(prod(shape) > largest)
    for group in _groups(lattice_of(shape), largest):
        assert len(group) == 1 or prod(shape[i] for i in group) <= largest
