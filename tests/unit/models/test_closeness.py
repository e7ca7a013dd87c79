"""t-closeness."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples

from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.errors import BadPolicy
from shoal.models.closeness import TCloseness, equal_distance, hierarchical_distance, ordered_distance
from shoal.models.model import Closure, Need

SALARIES = [str(thousands) for thousands in range(3, 12)]
TREE = [np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, int)]
"""((a, b), (c, d))"""


def values(rows, labels=None, reference=None, levels=(), order=()):
    width = len(rows[0]) if rows else len(labels)
    dense = np.array(rows, np.int64).reshape(-1, width)
    classes, codes = np.nonzero(dense)
    names = labels or [f"v{i}" for i in range(width)]
    overall = None if reference is None else np.array(reference, np.int64)
    return ValueCounts(classes, codes, dense[classes, codes], names, len(dense), overall, levels, order)


def table(*args, **how):
    long = values(*args, **how)
    return ClassCounts(long.totals, {"s": long})


def attained(distance, *args, **how):
    return TCloseness(1.0, distance, "s").attained(table(*args, **how))["t"]


def salaries(*thousands):
    return [[1 if name in map(str, thousands) else 0 for name in SALARIES]]


@pytest.mark.parametrize(
    ("thousands", "distance", "t"),
    [
        ((3, 4, 5), "ordered", 0.375),
        ((6, 8, 11), "ordered", 1 / 6),
        ((3, 4, 5), "equal", 2 / 3),
        ((6, 8, 11), "equal", 2 / 3),
    ],
)
def test_the_salaries_of_the_paper(thousands, distance, t):
    """models.md 1.2: equal distances cannot see that 3, 4 and 5 thousand are all small."""
    assert attained(distance, salaries(*thousands), SALARIES, [1] * 9) == pytest.approx(t, rel=1e-15)


@pytest.mark.parametrize(("class_", "t"), [([1, 1, 0, 0], 0.5), ([1, 0, 1, 0], 0.25), ([1, 1, 1, 1], 0.0)])
def test_the_hierarchical_distance_of_the_example(class_, t):
    """models.md 1.2."""
    assert attained("hierarchical", [class_], reference=[1] * 4, levels=TREE) == t


def test_one_value_is_as_close_as_can_be():
    """models.md 1.2: m = 1; bad input 25."""
    one = table([[2], [3]], ["7"], levels=[np.zeros(1, int)])
    for distance in ("equal", "ordered", "hierarchical"):
        model = TCloseness(0, distance, "s")
        assert model.attained(one)["t"] == 0
        assert model.complies(one).all()


def naive(distance, row, whole, levels):
    """The definitions of models.md 1.2, in fractions."""
    q, p = ([Fraction(n, sum(counts)) for n in counts] for counts in (row, whole))
    r = [a - b for a, b in zip(q, p, strict=True)]
    if distance == "equal":
        return sum(map(abs, r)) / 2
    if distance == "ordered":
        occurring = [x for x, there in zip(r, whole, strict=True) if there]
        running = [abs(sum(occurring[: i + 1])) for i in range(len(occurring))]
        return sum(running) / (len(occurring) - 1) if len(occurring) > 1 else Fraction(0)
    height = len(levels) - 1
    cost = Fraction(0)
    for h in range(1, height + 1):
        for node in set(levels[h].tolist()):
            children = {levels[h - 1][v] for v in range(len(r)) if levels[h][v] == node}
            extras = [sum(r[v] for v in range(len(r)) if levels[h - 1][v] == child) for child in children]
            surplus, lack = sum(x for x in extras if x > 0), -sum(x for x in extras if x < 0)
            cost += Fraction(h, height) * min(surplus, lack)
    return cost


classes = st.lists(st.integers(0, 5), min_size=5, max_size=5).filter(any)
groups = st.lists(st.integers(0, 2), min_size=5, max_size=5)


@examples(300)
@given(
    st.lists(classes, min_size=1, max_size=4),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
    groups,
    st.permutations([0, 1, 2]).map(lambda p: [p[0], p[0], p[2]]),
    st.sampled_from([0, 0.1, 0.25, 0.3333333333333333, 0.5]),
)
def test_distances_follow_their_definitions(rows, more, fine, coarse, t):
    whole = [sum(column) + extra for column, extra in zip(zip(*rows, strict=True), more, strict=True)]
    levels = [np.arange(5), np.array(fine), np.array(coarse)[fine], np.zeros(5, int)]
    long = values(rows, reference=whole, levels=levels)
    ranks = np.zeros(5, int)
    ranks[np.array(whole) > 0] = np.arange(np.count_nonzero(whole))
    found = {
        "equal": equal_distance(long),
        "ordered": ordered_distance(long, ranks),
        "hierarchical": hierarchical_distance(long),
    }
    order = tuple(long.labels)
    for distance, (part, size) in found.items():
        expected = [naive(distance, row, whole, levels) for row in rows]
        assert [Fraction(int(a), int(b)) for a, b in zip(part, size, strict=True)] == expected
        counts = ClassCounts(long.totals, {"s": replace(long, order=order)})
        model = TCloseness(t, distance, "s")
        assert model.complies(counts).tolist() == [emd <= Fraction(repr(t)) for emd in expected]
        highest = max(expected)
        assert Fraction(repr(model.attained(counts)["t"])) >= highest
        assert model.attained(counts)["t"] == pytest.approx(float(highest), rel=1e-15)
        assert expected[model.worst(counts)] == highest


@pytest.mark.parametrize(
    ("t", "complies"), [(0.3333333333333333, False), (0.33333333333333337, True), (Fraction(1, 3), True)]
)
@pytest.mark.parametrize("times", [1, 10**5, 10**9])
def test_exact_at_the_threshold(t, complies, times):
    """Design 15: one third is no float, however many rows there are."""
    rows = [[2 * times, 0, times], [0, 2 * times, times]]
    whole = [2 * times] * 3
    model = TCloseness(t, "equal", "s")
    long = values(rows, reference=whole)
    assert model.complies(ClassCounts(long.totals, {"s": long})).tolist() == [complies] * 2
    by_rank = replace(long, order=["v0", "v2", "v1"])
    half = TCloseness(0.5, "ordered", "s")
    assert half.complies(ClassCounts(long.totals, {"s": by_rank})).tolist() == [True, True]


@pytest.mark.parametrize("large", [2**27 - 39, 2**31 - 1, 2**40 - 87])
def test_exact_where_products_exceed_floats_or_int64(large):
    """Products of the primes have more digits than a float, and at last more than int64."""
    rows = [[large, 1, 0, 2], [3, large - 2, 5, 7]]
    whole = [sum(column) for column in zip(*rows, strict=True)]
    long = values(rows, levels=TREE)
    found = {
        "equal": equal_distance(long),
        "ordered": ordered_distance(long, np.arange(4)),
        "hierarchical": hierarchical_distance(long),
    }
    for distance, (part, size) in found.items():
        expected = [naive(distance, row, whole, TREE) for row in rows]
        assert [Fraction(int(a), int(b)) for a, b in zip(part, size, strict=True)] == expected


def test_the_greatest_distance_where_only_sums_exceed_int64():
    """2·10⁹ times 4·10⁹ is an int64; two or three times that, over levels or ranks, is not."""
    here, there = [[2 * 10**9, 0, 0, 0]], [0, 0, 0, 4 * 10**9]
    assert attained("hierarchical", here, reference=there, levels=TREE) == 1
    part, whole = ordered_distance(values(here, reference=there), np.arange(4))
    assert (part == whole).all()


def test_many_classes_of_few_values():
    """Each of nine values is a class: value i lies Σ|i - j| / 72 from all of them, 36/72 at the ends, 20/72 inside."""
    nine = table(np.eye(9, dtype=int).tolist(), SALARIES)
    assert TCloseness(1, "ordered", "s").attained(nine)["t"] == 0.5
    assert TCloseness(0.3, "ordered", "s").complies(nine).tolist() == [False] * 3 + [True] * 3 + [False] * 3
    assert TCloseness(0.27, "ordered", "s").complies(nine).sum() == 0


def test_a_tree_of_one_level_is_no_tree():
    """Under one root all values lie as far apart as equal ones."""
    flat = [np.arange(2), np.zeros(2, int)]
    assert attained("hierarchical", [[1, 0]], reference=[1, 1], levels=flat) == 0.5


def test_merging():
    """models.md 0: M2 fails for t = 1/4, and so does dropping a class when the release is the reference."""
    rows = [[2, 2, 2], [1, 2, 1], [3, 0, 3]]
    assert attained("equal", rows) == 0.25
    assert attained("equal", rows[1:]) == pytest.approx(0.3)
    order = ["v0", "v1", "v2"]
    assert attained("ordered", rows, order=order) == 0.125
    assert attained("ordered", rows[1:], order=order) == pytest.approx(0.15)
    assert TCloseness(0.2).merging is Closure.UNION
    assert TCloseness(0.2, reference="release").merging is Closure.NOT


def test_reference():
    """Design 3: against the original, and the release measured again; or the release alone, as a whole."""
    rows, original = [[2, 1], [1, 2]], [9, 3]
    counts = table(rows, reference=original)
    against = TCloseness(0.2, "equal", "s")
    assert against.attained(counts) == {"t": pytest.approx(5 / 12), "release": {"t": pytest.approx(1 / 6)}}
    assert against.complies(counts).tolist() == [True, False]
    assert not against.holds(counts)
    itself = TCloseness(0.2, "equal", "s", "release")
    assert itself.attained(counts) == {"t": pytest.approx(1 / 6)}
    assert itself.table_wide
    assert itself.complies(counts).all()
    assert itself.holds(counts)
    assert not TCloseness(0.1, "equal", "s", "release").holds(counts)


@pytest.mark.parametrize(
    ("distance", "reference", "needs"),
    [
        ("equal", "original", {Need.ORIGINAL}),
        ("equal", "release", set()),
        ("hierarchical", "release", {Need.ORIGINAL}),
        ("ordered", "release", {Need.ORIGINAL}),
    ],
)
def test_what_verify_needs(distance, reference, needs):
    """A release holds neither the original's counts nor the hierarchy or order of its values."""
    assert TCloseness(0.2, distance, "s", reference).needs == needs


@pytest.mark.parametrize(
    ("distance", "public"), [(None, "equal"), ("equal", "equal"), ("ordered", None), ("hierarchical", None)]
)
def test_what_may_be_published(distance, public):
    """Nearness to the release, where values are told apart without the original."""
    said = public and TCloseness(0.2, public, "s", "release")
    assert TCloseness(0.2, distance, "s").public == said


def test_measure_asks_for_equal_distances_of_an_attribute():
    assert TCloseness.probes("s") == (TCloseness(1, "equal", "s"),)
    assert TCloseness.probes(None) == ()


def test_null():
    """Design 7: shares are of what is known, unless null is a value; then it is the last."""
    counts = table([[2, 0, 2], [1, 1, 0]], ["1", "2", None])
    assert TCloseness(1, "equal", "s").attained(counts)["t"] == 0.25
    assert TCloseness(1, "equal", "s", null_is_value=True).attained(counts)["t"] == pytest.approx(1 / 3)
    assert TCloseness(1, "ordered", "s").attained(counts)["t"] == 0.25
    assert TCloseness(1, "ordered", "s", null_is_value=True).attained(counts)["t"] == pytest.approx(1 / 6)


def test_a_class_of_nulls_is_close():
    counts = table([[0, 0, 2], [1, 1, 0]], ["1", "2", None])
    assert TCloseness(0, "ordered", "s").complies(counts).tolist() == [True, True]


def test_persons_with_several_values():
    """Shares are of pairs of person and value, so that they sum to 1."""
    long = replace(values([[1, 1], [1, 1]]), holders=np.array([1, 1]), everyone=np.array([2, 2]))
    assert TCloseness(0, "equal", "s").complies(ClassCounts(np.array([2, 2]), {"s": long})).all()


def test_numbers_in_two_forms_are_one_number():
    counts = table([[1, 0, 1], [0, 1, 1]], ["5", "5.0", "7"])
    assert TCloseness(0, "ordered", "s").complies(counts).all()


def test_order_by_number_not_by_text():
    assert attained("ordered", [[1, 0, 0]], ["10", "9", "100"], [1, 1, 1]) == pytest.approx(1 / 3)
    assert attained("ordered", [[0, 1, 0]], ["10", "9", "100"], [1, 1, 1]) == 0.5
    large = ["-1", str(2**63), str(2**63 + 1)]  # no float tells the last two apart
    assert attained("ordered", [[0, 1, 0]], large, [1, 1, 1]) == pytest.approx(1 / 3)


def test_an_order_by_hand_is_taken_even_of_numbers():
    counts = [[1, 0, 0]], ["1", "2", "3"], [1, 1, 1]
    assert attained("ordered", *counts) == 0.5
    assert attained("ordered", *counts, order=["2", "1", "3"]) == pytest.approx(1 / 3)


def test_equal_distance_of_numbers_says_the_ordered_one_too():
    """models.md 1.2: numbers must not fall to equal distances silently."""
    counts = table(salaries(3, 4, 5), SALARIES, [1] * 9)
    found = TCloseness(1, "equal", "s").attained(counts)
    assert (found["t"], found["ordered"]) == (pytest.approx(2 / 3), 0.375)


NUMBERS = (
    "t-closeness: the values of 's' are numbers; say distance = 'ordered', or 'equal' if their order means nothing"
)


@pytest.mark.parametrize(
    ("model", "how", "why"),
    [
        (TCloseness(0.2, None, "s"), {"labels": ["1", "2"]}, NUMBERS),
        (TCloseness(0.2, None, "s"), {"labels": ["1", None]}, NUMBERS),
        (
            TCloseness(0.2, "ordered", "s"),
            {},
            "attributes.s: distance = 'ordered' needs plain numbers, or the order of its values; give order = [...]",
        ),
        (
            TCloseness(0.2, "ordered", "s"),
            {"order": ["v0", "x"]},
            "attributes.s: its order lacks 1 of its values; add them",
        ),
        (
            TCloseness(0.2, "hierarchical", "s"),
            {},
            "attributes.s: distance = 'hierarchical' needs its hierarchy; give one",
        ),
    ],
)
def test_refusals_name_no_cell(model, how, why):
    with pytest.raises(BadPolicy) as refused:
        model.complies(table([[1, 1]], **how))
    assert str(refused.value) == why
    assert "v1" not in str(refused.value)


@pytest.mark.parametrize("t", [-0.1, 1.01, float("nan"), float("inf"), "x", None, True])
def test_t_is_a_share(t):
    with pytest.raises(ValueError, match="t must"):
        TCloseness(t)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"distance": "emd"}, "distance must be 'equal', 'ordered' or 'hierarchical', not 'emd'"),
        ({"reference": "both"}, "reference must be 'original' or 'release', not 'both'"),
        ({"null_is_value": 1}, "null-is-value must be true or false, not 1"),
    ],
)
def test_settings(how, why):
    with pytest.raises(ValueError, match=why):
        TCloseness(0.2, **how)


def test_an_empty_table_attains_nothing():
    counts = table([], ["a"])
    for distance in ("equal", "ordered", "hierarchical"):
        model = TCloseness(0.2, distance, "s")
        empty = replace(counts, sensitive={"s": replace(counts.sensitive["s"], levels=TREE[:1], order=["a"])})
        assert model.attained(empty)["t"] == 0
        assert model.worst(empty) is None


def test_a_tree_without_a_root_gets_one():
    """((a, b), (c, d)) with nothing above: the two halves meet one level higher."""
    assert attained("hierarchical", [[1, 1, 0, 0]], reference=[1] * 4, levels=TREE[:2]) == 0.5


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_nothing_overflows_at_t_zero(distance):
    """2^33 rows in a class and in the table: the products need 67 bits, also where every distance is 0."""
    many = 2**32
    alike = table([[many, many], [many, many]], ["1", "2"], levels=[np.arange(2), np.zeros(2, int)])
    assert TCloseness(0, distance, "s").complies(alike).tolist() == [True, True]
    unlike = table([[many, many], [many, many + 1]], ["1", "2"], levels=[np.arange(2), np.zeros(2, int)])
    assert TCloseness(0, distance, "s").complies(unlike).tolist() == [False, False]


def test_two_to_the_53_rows_are_counted_exactly():
    many = 2**53 + 1
    held = values([[many, many, 1], [many, many, 1]], ["1", "2", "3"])
    assert held.totals.tolist() == [2 * many + 1] * 2
    assert held.overall.tolist() == [2 * many, 2 * many, 2]
    counted = ClassCounts(held.totals, {"s": held})
    assert all(TCloseness(0, distance, "s").complies(counted).all() for distance in ("equal", "ordered"))


def test_prefix_sums_of_ranks_do_not_overflow():
    """2,000 values of 2^53 rows each: the sum of their running totals needs 75 bits."""
    labels = [str(i) for i in range(2000)]
    counted = table([[2**51] * 2000, [2**51] * 2000], labels)
    assert TCloseness(0, "ordered", "s").complies(counted).all()
