"""Clusters along hierarchies: sizes, and what the kernel refuses."""

import numpy as np
import pytest

from shoal.kernels._core import Clusters, cheapest_sets, cost_in_classes

CODES = np.arange(6, dtype=np.int32)[:, None].copy()
ROWS = np.ones(6, dtype=np.int64)
PAIRS = np.stack([np.arange(6), np.arange(6) // 2, np.zeros(6)], axis=1).astype(np.int32)
LOSSES = np.tile([0.0, 0.2, 1.0], (6, 1))


def made(codes=CODES, rows=ROWS, groups=PAIRS, losses=LOSSES, least=2, rules=()):
    return Clusters(codes, rows, [groups], [losses], least, list(rules), 4, 100, 0)


def rule(values, form=0, number=0.0, least=2, limits=(0.5, 0.5), begin=range(7)):
    """A rule about one value per point."""
    each = np.array(values, dtype=np.int32)
    ones = np.ones(len(each), dtype=np.int64)
    return form, number, least, np.array(limits), np.array(begin, dtype=np.int64), each, ones


def test_neighbours_come_together():
    clusters = made()
    clusters.improve(0.1, 0.0)
    found = clusters.clusters()
    assert len(set(found.tolist())) == 3
    assert (found[::2] == found[1::2]).all()


@pytest.mark.parametrize(
    "asked",
    [
        rule([0, 0, 1, 1, 0, 1], form=0, least=2),
        rule([0, 0, 1, 1, 0, 1], form=1, limits=(0.5, 0.5)),
        rule([0, 0, 1, 1, 0, 1], form=2, number=1.9),
        rule([0, 0, 1, 1, 0, 1], form=3, number=1.5, least=2),
        rule([0, 0, 1, 1, 0, 1], form=4, number=0.1),
        rule([0, 0, 1, 1, 0, 1], form=5, number=0.1),
    ],
    ids=["distinct", "shares", "entropy", "recursive", "equal", "ordered"],
)
def test_clusters_hold_values_as_a_rule_asks(asked):
    """Both values equally often, in every form: the pairs 0, 1 and 2, 3 hold one value each, so they come together."""
    clusters = made(rules=[asked])
    for _ in range(5):
        clusters.improve(0.1, 0.0)
    found = clusters.clusters().tolist()
    for cluster in set(found):
        held = [asked[5][p] for p in range(6) if found[p] == cluster]
        assert held.count(0) == held.count(1)
    assert found[4] == found[5]
    assert len(set(found)) in {2, 3}


def test_the_cheapest_set_has_enough_rows_and_different_values():
    given = (CODES, ROWS, [PAIRS], [LOSSES])
    found = cheapest_sets(*given, 2, [], np.full(6, 1.0))
    assert found.tolist() == pytest.approx([0.2] * 6, abs=1e-5)
    # three rows are in no pair: nothing is cheaper than what is paid, and that is returned as it is
    assert cheapest_sets(*given, 3, [], np.full(6, 1.0)).tolist() == [1.0] * 6
    # only the last pair holds both values
    both = cheapest_sets(*given, 2, [rule([0, 0, 1, 1, 0, 1])], np.full(6, 1.0))
    assert both.tolist() == pytest.approx([1.0, 1.0, 1.0, 1.0, 0.2, 0.2], abs=1e-5)


@pytest.mark.parametrize(
    "asked",
    [
        rule([0, 0, 1, 1, 0, 1], form=1, limits=[0.5, 0.5]),
        rule([0, 0, 1, 1, 0, 1], form=2, number=2.0),
        rule([0, 0, 1, 1, 0, 1], form=3, number=1.5, least=2),
        rule([0, 0, 1, 1, 0, 1], form=4, number=0.1),
    ],
    ids=["shares", "entropy", "recursive", "equal"],
)
def test_the_cheapest_set_holds_values_that_can_keep_a_rule(asked):
    """In the last pair alone both values are equally often."""
    found = cheapest_sets(CODES, ROWS, [PAIRS], [LOSSES], 2, [asked], np.full(6, 1.0))
    assert found.tolist() == pytest.approx([1.0, 1.0, 1.0, 1.0, 0.2, 0.2], abs=1e-5)


def test_three_rows_of_two_values_cannot_be_even():
    """A pair of points with rows of 1 and 2, or of 2 and 2: of three rows or more, only four can be even."""
    shares = rule([0, 1, 0, 1, 0, 1], form=1, limits=[0.5, 0.5])
    shares = (*shares[:6], np.array([1, 2, 2, 2, 1, 1]))
    found = cheapest_sets(CODES, np.array([1, 2, 2, 2, 1, 1]), [PAIRS], [LOSSES], 3, [shares], np.full(6, 1.0))
    assert found.tolist() == pytest.approx([1.0, 1.0, 0.2, 0.2, 1.0, 1.0], abs=1e-5)


def test_what_keeps_an_order_of_values_gives_no_bound():
    with pytest.raises(ValueError, match="part"):
        cheapest_sets(CODES, ROWS, [PAIRS], [LOSSES], 2, [rule([0] * 6, form=5)], np.ones(6))


@pytest.mark.parametrize(
    ("costs", "least", "total"),
    [
        ([1, 0, 0, 0], 2, 2),  # with the dear row goes another
        ([3, 1, 1, 1], 2, 8),  # {3, 1} and {1, 1}
        ([1, 1, 1, 0], 2, 4),  # {1, 1} and {1, 0}, or all of them in one class
        ([1, 1, 1, 0, 0], 2, 3),  # three rows in one class
        ([2, 2, 0, 0, 0], 3, 10),  # no two classes of three
    ],
)
def test_rows_cost_as_much_as_the_dearest_of_their_class(costs, least, total):
    assert cost_in_classes(np.array(costs, dtype=np.float64), least) == total


def test_the_cost_in_classes_is_that_of_the_best_partition():
    """Against every partition of up to eight rows."""
    random = np.random.default_rng(1)
    for _ in range(20):
        rows, least = int(random.integers(3, 9)), int(random.integers(1, 4))
        costs = np.sort(random.integers(0, 5, rows).astype(np.float64))[::-1].copy()
        wanted = min(
            sum(len(part) * max(costs[list(part)]) for part in parts)
            for parts in partitions(list(range(rows)))
            if min(map(len, parts)) >= least
        )
        assert cost_in_classes(costs, least) == wanted


def partitions(items):
    """Every way to part some items."""
    if not items:
        yield []
        return
    first, *others = items
    for parts in partitions(others):
        yield [[first], *parts]
        for at in range(len(parts)):
            yield [*parts[:at], [first, *parts[at]], *parts[at + 1 :]]


def test_more_rows_than_there_are_make_one_cluster():
    assert set(made(least=7).clusters().tolist()) == {0}


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": ROWS[:5]},
        {"codes": CODES + np.int32(1)},
        {"codes": CODES - np.int32(1)},
        {"losses": LOSSES[:, :2].copy()},
        {"groups": PAIRS[:, :2].copy(), "losses": LOSSES[:, :2].copy()},
        {"groups": PAIRS + np.int32(6)},
        {"rules": [rule([0] * 6, form=6)]},
        {"rules": [rule([0] * 6, begin=range(6))]},
        {"rules": [rule([0] * 6, begin=[0, 2, 1, 3, 4, 5, 6])]},
        {"rules": [rule([2] * 6)]},
        {"rules": [rule([-1] * 6)]},
    ],
)
def test_reads_beyond_the_arrays_are_refused(wrong):
    with pytest.raises(ValueError, match=r"needed|know|top|groups|form|belong"):
        made(**wrong)
