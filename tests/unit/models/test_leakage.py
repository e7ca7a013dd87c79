"""(alp,dif)-anonymity."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples

import shoal as sh
from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.errors import Infeasible
from shoal.models.leakage import AlpDif, Leakage
from shoal.models.model import Closure


def counts(rows, labels):
    dense = np.array(rows, np.int64).reshape(-1, len(labels))
    classes, values = np.nonzero(dense)
    long = ValueCounts(classes, values, dense[classes, values], list(labels), len(dense))
    return ClassCounts(dense.sum(axis=1), {"illness": long})


ILLNESSES = ["HIV", "cancer", "cold", "fever"]
TABLE_1 = counts([[2, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 2]], ILLNESSES)
TABLE_2 = counts([[2, 1, 1, 2]], ILLNESSES)
TABLE_3 = counts([[2, 1, 1, 0], [0, 0, 0, 2]], ILLNESSES)


def alp(value, limit):
    return AlpDif({value: limit}, None, "illness")


def test_table_3_of_the_seed_paper():
    """S3.1: HIV y=2 of x=4: ALP 0.5."""
    assert AlpDif({"HIV": 0.5}, {"HIV": 0}, "illness").attained(TABLE_3) == {"alp": {"HIV": 0.5}, "dif": {"HIV": 0.0}}
    assert alp("HIV", 0.5).holds(TABLE_3)
    assert not alp("HIV", 0.499).holds(TABLE_3)


def test_tables_1_to_3_of_the_seed_paper():
    """S3.3b: III is accepted because fever has no threshold; I leaks HIV, II shows one class."""
    model = AlpDif({"HIV": 0.5, "cancer": 0.5}, {"HIV": 0.1}, "illness")
    assert [model.holds(table) for table in (TABLE_1, TABLE_2, TABLE_3)] == [False, True, True]
    assert not alp("fever", 0.9).holds(TABLE_3)
    largest = [max(Counter(table.sensitive["illness"].classes.tolist()).values()) for table in (TABLE_1, TABLE_2)]
    assert largest == [2, 4]
    fewest = [np.bincount(t.sensitive["illness"].classes).min() for t in (TABLE_1, TABLE_2, TABLE_3)]
    assert fewest == [1, 4, 1]  # attained p


def test_alp_may_rise_when_rows_are_suppressed():
    """S3.2: (1,9) kept, (2,0),(2,0) suppressed at k=3: 0.10; one level up all are kept: 0.82."""
    fine = counts([[1, 9]], ["s", "t"])
    coarse = counts([[1, 9], [4, 0]], ["s", "t"])
    assert alp("s", 1).attained(fine)["alp"] == {"s": 0.1}
    assert alp("s", 1).attained(coarse)["alp"]["s"] == pytest.approx(0.82)
    assert alp("s", 0.82).holds(coarse)
    assert not alp("s", 0.8199).holds(coarse)
    assert alp("s", 0.5).merging is Closure.UNION


def test_dif_may_rise_when_classes_merge():
    """S3.3: (3,3),(1,2),(3,2),(3,2): merging the first two takes the largest DIF from 17/300 to 14/225."""
    fine = Leakage.of(np.array([3, 1, 3, 3]), np.array([6, 3, 5, 5]))
    coarse = Leakage.of(np.array([4, 3, 3]), np.array([9, 5, 5]))
    assert [leak.most - leak.average for leak in (fine, coarse)] == [Fraction(17, 300), Fraction(14, 225)]
    model = AlpDif(None, {"s": 0.06}, "illness")
    assert model.holds(counts([[3, 3], [1, 2], [3, 2], [3, 2]], ["s", "t"]))
    assert not model.holds(counts([[4, 5], [3, 2], [3, 2]], ["s", "t"]))
    assert model.merging is Closure.NOT


def test_parts_are_pruned_each_by_its_own_closure():
    model = AlpDif({"s": 0.5}, {"s": 0.1}, "illness")
    assert [(part.alp, part.dif, part.merging) for part in model.parts()] == [
        ({"s": 0.5}, None, Closure.UNION),
        (None, {"s": 0.1}, Closure.NOT),
    ]
    assert all(part.table_wide for part in model.parts())
    assert list(alp("s", 0.5).parts()) == [alp("s", 0.5)]


LABELS = ("a", "b", None)
one_class = st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any)
limits = st.sampled_from(["0.1", "0.25", "0.3333333333333333", "0.5", "0.6", "1"])


def naive(rows, null):
    """ALP and the largest DIF of each value, row by row."""
    out = {}
    for i, label in enumerate(LABELS[:2]):
        shares = [Fraction(row[i], sum(row) if null else row[0] + row[1]) for row in rows for _ in range(row[i])]
        if shares:
            average = sum(shares) / len(shares)
            out[label] = (average, max(shares) - average)
    return out


@examples(300)
@given(st.lists(one_class, min_size=1, max_size=6), limits, limits, st.booleans())
def test_as_defined(rows, most, above, null):
    table, found = counts(rows, LABELS), naive(rows, null)
    model = AlpDif({"a": float(most)}, {"a": float(above), "b": 1.0}, "illness", null)
    average, excess = found.get("a", (0, 0))
    assert model.holds(table) == (average <= Fraction(most) and excess <= Fraction(above))
    every = AlpDif(float(most), float(above), "illness", null)
    assert every.holds(table) == all(x <= Fraction(most) and y <= Fraction(above) for x, y in found.values())
    attained = every.attained(table)
    assert attained["alp"] == pytest.approx({label: float(x) for label, (x, _) in found.items()})
    assert attained["dif"] == pytest.approx({label: float(y) for label, (_, y) in found.items()})
    assert not found or AlpDif(attained["alp"], attained["dif"], "illness", null).holds(table)


@examples(300)
@given(st.lists(one_class, min_size=2, max_size=6))
def test_alp_never_rises_when_classes_merge(rows):
    """S3.2: ALP never rises when classes merge."""
    merged = [[x + y for x, y in zip(rows[0], rows[1], strict=True)], *rows[2:]]
    for label, (average, _) in naive(merged, null=False).items():
        assert average <= naive(rows, null=False)[label][0]


@pytest.mark.parametrize(
    ("limit", "rows", "holds"),
    [
        (0.1, [[1, 9], [2, 18]], True),
        (0.3, [[3, 7]], True),  # 0.3 as a float lies below 3/10
        (0.3333333333333333, [[1, 2], [2, 4]], False),
        (0.33333333333333337, [[1, 2], [2, 4]], True),
        (0.3333333333333333, [[10**12, 2 * 10**12]], False),  # y² is beyond 64 bits
        (0.5, [[10**10, 10**10], [10**10, 10**10]], True),
    ],
)
def test_exact_at_the_threshold(limit, rows, holds):
    assert alp("s", limit).holds(counts(rows, ["s", "t"])) == holds


def test_dif_exact_at_the_threshold():
    table = counts([[1, 1], [1, 3]], ["s", "t"])  # ALP 3/8, LP 1/2
    assert AlpDif(None, {"s": 0.125}, "illness").holds(table)
    assert not AlpDif(None, {"s": 0.12499999999999999}, "illness").holds(table)


def test_many_classes_exactly():
    """100,000 classes of hundreds of sizes: the sum is of as many fractions as there are sizes."""
    random = np.random.default_rng(0)
    whole = random.integers(1, 2000, 100_000)
    part = random.integers(1, whole + 1)
    leak = Leakage.of(part, whole)
    assert float(leak.average) == pytest.approx(leak.approximate_average, rel=1e-14)
    assert leak.average_within(leak.average)
    assert not leak.average_within(leak.average - Fraction(1, 10**40))


@pytest.mark.parametrize(
    ("model", "suppressible", "why"),
    [
        (alp("Divorced", 0.43), 0, None),
        (alp("Divorced", 0.1), 0, "Divorced is 13.98 % of the rows, so alp >= 0.1398 is needed"),
        (
            alp("Divorced", 0.1),
            100,
            "Divorced stays 13.12 % of the rows when 100 of its own are suppressed, so alp >= 0.1312 is needed",
        ),
        (alp("Divorced", 0.1), 1398, None),
        (alp("Widowed", 0.1), 0, None),  # nobody has it
        (AlpDif(0.5, None, "illness"), 0, "a value of 'illness' is 86.02 % of the rows, so alp >= 0.8602 is needed"),
        (AlpDif(None, {"Divorced": 0}, "illness"), 0, None),
    ],
)
def test_impossible(model, suppressible, why):
    """S3.2, Theorem 2: ALP >= y/N; only a value that the policy names is named."""
    assert model.impossible(counts([[1398, 8602]], ["Divorced", "Married"]), suppressible) == why


def test_the_needed_alp_is_rounded_up():
    table = counts([[1, 2]], ["s", "t"])
    assert alp("s", 0.3333).impossible(table, 0) == "s is 33.34 % of the rows, so alp >= 0.3334 is needed"
    assert alp("s", 0.3334).impossible(table, 0) is None


def test_null_protects_nobody():
    """Design 7: of {HIV, HIV, null} all that is known is HIV."""
    table = counts([[2, 1], [0, 3]], ["HIV", None])
    assert alp("HIV", 1).attained(table)["alp"] == {"HIV": 1.0}
    counted = AlpDif({"HIV": 1}, None, "illness", null_is_value=True)
    assert counted.attained(table)["alp"] == {"HIV": pytest.approx(2 / 3)}
    assert set(AlpDif(1.0, None, "illness", null_is_value=True).attained(table)["alp"]) == {"HIV"}


def test_a_value_that_nobody_has_is_not_named():
    """What is attained is published: it names no value that the table does not show."""
    assert alp("cholera", 0.1).holds(TABLE_3)
    assert alp("cholera", 0.1).attained(TABLE_3) == {"alp": {}, "dif": {}}
    assert alp("cholera", 0.1).worst(TABLE_3) is None


def test_worst():
    assert alp("HIV", 0.5).worst(TABLE_3) == 0
    assert AlpDif(0.5, None, "illness").worst(TABLE_3) == 1


@pytest.mark.parametrize("limit", [0, -0.1, 1.01, float("nan"), float("inf"), "x", True, {"HIV": 0}, {}, {"HIV": None}])
def test_alp_is_a_share(limit):
    with pytest.raises(ValueError, match="alp"):
        AlpDif(limit)


@pytest.mark.parametrize("limit", [-0.1, 1.01, float("nan"), "x", True, {"HIV": -1}, {}])
def test_dif_is_a_share_or_nothing(limit):
    with pytest.raises(ValueError, match="dif"):
        AlpDif({"HIV": 0.5}, limit)


def test_alp_or_dif_is_needed():
    with pytest.raises(ValueError, match="needs alp or dif"):
        AlpDif(attribute="illness")


@pytest.mark.parametrize("flag", [1, 0, "yes", None])
def test_null_is_value_is_a_flag(flag):
    with pytest.raises(ValueError, match="null-is-value must be true or false"):
        AlpDif({"HIV": 0.5}, None, "illness", flag)


PEOPLE = pa.table({"age": [*range(20, 40), *range(60, 80)], "ill": ["s"] * 10 + ["t"] * 25 + ["s"] * 5})


def policy(require, **age):
    attributes = {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20, 40]}, **age},
        "ill": "sensitive",
    }
    return sh.Policy(attributes=attributes, require=[require])


def test_a_release_keeps_alp_and_dif():
    """S3.1: tens would do for k, but s fills the twenties."""
    release = sh.anonymize(PEOPLE, policy({"model": "alp-dif", "alp": {"s": 0.5}, "dif": {"s": 0.1}}))
    assert release.summary.recoding.levels == {"age": 2}
    attained = release.summary.models[0].attained
    assert dict(attained["alp"]) == {"s": pytest.approx((10 * 10 / 20 + 5 * 5 / 20) / 15)}
    nodes = sh.lattice(PEOPLE, policy({"model": "alp-dif", "alp": {"s": 0.5}})).nodes
    assert [node.complies for node in nodes] == [False, False, True, True, True]


def test_infeasible_alp_is_refused():
    with pytest.raises(Infeasible, match=r"^impossible: alp-dif: s is 37.50 % of the rows, so alp >= 0.3750 is needed"):
        sh.anonymize(PEOPLE, policy({"model": "alp-dif", "alp": {"s": 0.3}}))
    with pytest.raises(Infeasible, match="even at the most general one the table as a whole fails alp-dif"):
        sh.anonymize(PEOPLE, policy({"model": "alp-dif", "alp": {"s": 0.4}}, **{"max-level": 1}))


def test_a_saved_release_verifies_and_hides_thresholds_of_values_not_shown(tmp_path):
    """Thresholds of values that the release does not show stay private, and what is left is still a promise."""
    rare = policy({"model": "alp-dif", "alp": {"s": 0.5, "nobody": 0.1}, "dif": {"nobody": 0.1}})
    with pytest.warns(sh.errors.ShoalWarning, match="the table holds no 'nobody'"):
        sh.anonymize(PEOPLE, rare).save(tmp_path / "out")
    assert "nobody" not in (tmp_path / "out" / "manifest.json").read_text()
    assert {verdict.status for verdict in sh.verify(tmp_path / "out")} <= {"holds", "needs the original"}


def test_counts_beyond_words_are_exact():
    """The square of 3·10⁹ fits an int64, the sum of two does not: classes that hold only the value leak all of it."""
    many = 3 * 10**9
    alone = np.array([many, many, 1])
    assert Leakage.of(alone, alone).average == 1
    assert Leakage.of(alone[:2], alone[:2]).average == 1


def test_what_is_left_is_never_less_than_nothing():
    """Three rows of HIV, all of which may go: nothing is asked then; one that must stay is all of what is left."""
    table = counts([[3]], ["HIV"])
    assert alp("HIV", 0.5).impossible(table, 3) is None
    assert alp("HIV", 0.5).impossible(table, 4) is None
    assert "alp >= 1.0000 is needed" in alp("HIV", 0.5).impossible(table, 2)
