"""Good nodes of a large lattice: descent, annealing, polishing."""

from itertools import pairwise
from math import inf
from random import Random

import naive
from hypothesis import given
from hypothesis import strategies as st

from shoal.hierarchy.lattice import Lattice
from shoal.metrics.catalogue import METRICS
from shoal.search.driver import Incumbent, is_better
from shoal.search.optimal import anneal, descend, polish
from shoal.search.oracle import Answer

LATTICE = Lattice(("a", "b", "c"), (0, 1, 0), (3, 3, 2))
scores = st.lists(st.sampled_from([0.1, 0.2, 0.5, 0.7, 1.0, inf]), min_size=LATTICE.size, max_size=LATTICE.size)


def replies(listed, suppressed=0):
    table = dict(zip(LATTICE.nodes(), listed, strict=True))

    def reply(node):
        return Answer(node, table[node] < inf, suppressed, 1, table[node], None, -inf)

    return reply


def starting(reply):
    found = Incumbent()
    found.consider(reply(LATTICE.top))
    return found


@naive.examples(150)
@given(scores)
def test_descent_goes_down_by_steps_that_gain(listed):
    reply = replies(listed)
    found = starting(reply)
    asked, _ = naive.run_search(descend(LATTICE, found), reply)
    if not reply(LATTICE.top).ok:
        assert asked == []
        return
    assert all(question.node in set(LATTICE.nodes()) for question in asked)
    end = found.best
    assert end.score <= reply(LATTICE.top).score
    steps = [reply(tuple(level - (at == i) for at, level in enumerate(end.node))) for i in below(end.node)]
    assert not any(step.score < end.score for step in steps), "it ends where no step down gains"


def below(node):
    return [i for i, level in enumerate(node) if level > LATTICE.bottom[i]]


def test_descent_weighs_the_gain_by_the_rows_newly_suppressed():
    """From (1, 1): a gains 0.4 for 40 rows, b gains 0.1 for one."""
    lattice = Lattice(("a", "b"), (0, 0), (1, 1))
    table = {(1, 1): (0.9, 0), (0, 1): (0.5, 40), (1, 0): (0.8, 1), (0, 0): (inf, 99)}

    def reply(node):
        score, suppressed = table[node]
        return Answer(node, score < inf, suppressed, 1, score, None, -inf)

    found = Incumbent()
    found.consider(reply((1, 1)))
    naive.run_search(descend(lattice, found), reply)
    assert found.best.node == (1, 0)


@naive.examples(150)
@given(scores, st.sampled_from([0.0, 0.01, 1.0]), st.integers(0, 99))
def test_annealing_stays_among_complying_nodes_and_keeps_the_best(listed, heat, seed):
    reply = replies(listed)
    found = starting(reply)
    asked, _ = naive.run_search(anneal(LATTICE, found, 60, heat, Random(seed)), reply)
    nodes = [question.node for question in asked]
    assert set(nodes) <= set(LATTICE.nodes())
    if not reply(LATTICE.top).ok:
        assert nodes == []
        return
    entered = {LATTICE.top}
    for node in nodes:
        assert any(sum(map(abs, map(int.__sub__, node, here))) <= 2 for here in entered), "from a node it entered"
        if reply(node).ok:
            entered.add(node)
    taken = found.best
    assert taken.ok
    assert taken.score == min([reply(LATTICE.top).score, *(reply(node).score for node in nodes)])
    assert all(0 <= question.settled <= 1 for question in asked)


@naive.examples(30)
@given(scores, st.integers(0, 99))
def test_the_same_seed_asks_the_same(listed, seed):
    reply = replies(listed)
    one, two = (naive.run_search(anneal(LATTICE, starting(reply), 60, 0.3, Random(seed)), reply)[0] for _ in range(2))
    assert one == two


def test_without_heat_nothing_dearer_is_entered():
    """Where only the top complies there is no slope to take the heat from."""
    lonely = replies([inf] * (LATTICE.size - 1) + [1.0])
    found = starting(lonely)
    asked, _ = naive.run_search(anneal(LATTICE, found, 60, 0.0, Random(0)), lonely)
    assert asked
    assert found.best.node == LATTICE.top


@naive.examples(150)
@given(scores)
def test_polish_ends_where_no_step_and_no_exchange_is_better(listed):
    reply = replies(listed)
    found = starting(reply)
    naive.run_search(polish(LATTICE, found), reply)
    if found.best is None:
        return
    end = found.best.node
    for node in LATTICE.nodes():
        moved = [b - a for a, b in zip(end, node, strict=True)]
        if min(moved) == -1 and sorted(moved)[1:] in ([0, 0], [0, 1]):
            assert not is_better(reply(node), found.best), node


@naive.examples(100)
@given(naive.instances("0.5", naive.EVERY_CLOSURE, fewest=3), st.sampled_from(sorted(METRICS)), st.integers(0, 9))
def test_on_tables_every_best_node_complies(instance, metric, seed):
    oracle, lattice, found = instance.oracle(metric), instance.lattice(), Incumbent()
    found.consider(oracle.ask(lattice.top))
    path = [found.best]
    for part in (descend(lattice, found), anneal(lattice, found, 40, 0.2, Random(seed)), polish(lattice, found)):
        naive.run_search(part, oracle.ask)
        path.append(found.best)
    for earlier, later in pairwise(path):
        if earlier is not None:
            assert instance.outcomes[later.node].ok
            assert later is earlier or is_better(later, earlier)
