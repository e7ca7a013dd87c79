"""What a closed policy tells about nodes that nobody looked at."""

from itertools import product

import naive
from hypothesis import given
from hypothesis import strategies as st

from shoal.search.oracle import InferredCompliance

NODES = list(product(range(3), repeat=3))
LEFT_OUT = (3, 3, 3)


def below(one, other):
    return all(a <= b for a, b in zip(one, other, strict=True))


@naive.examples(200)
@given(st.lists(st.sampled_from(NODES), max_size=3), st.lists(st.sampled_from(NODES), max_size=12))
def test_only_what_follows_from_known_nodes_is_inferred(lowest, looked_at):
    """The truth is what lies above some nodes; it is told part of it."""
    truth = {node: any(below(low, node) for low in lowest) for node in NODES}
    known = InferredCompliance(LEFT_OUT)
    for node in looked_at:
        known.learn(node, ok=truth[node])
    for node in NODES:
        up = any(truth[seen] and below(seen, node) for seen in looked_at)
        down = any(not truth[seen] and below(node, seen) for seen in looked_at)
        assert known.infer_compliance(node) == (True if up else False if down else None)
        assert known.infer_compliance(node) in {truth[node], None}


def test_nothing_is_inferred_from_one_face_to_another():
    """One that complies with an attribute left out says nothing about the nodes that show it."""
    known = InferredCompliance((2, 2))
    known.learn((0, 2), ok=True)
    known.learn((2, 1), ok=False)
    assert known.infer_compliance((1, 2)) is True
    assert known.infer_compliance((2, 0)) is False
    assert known.infer_compliance((0, 0)) is known.infer_compliance((1, 1)) is known.infer_compliance((2, 2)) is None
