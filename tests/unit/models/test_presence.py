"""k-map and δ-presence."""

from fractions import Fraction
from pathlib import Path

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts
from shoal.models.model import Closure, Need
from shoal.models.presence import DeltaPresence, KMap, NoStrangers
from shoal.models.spec import model_of


def counts(pairs, strangers=0):
    """Classes as (persons in the table, persons of the population)."""
    sizes, population = np.array(pairs, np.int64).reshape(-1, 2).T
    return ClassCounts(sizes, population=population, strangers=strangers)


TABLES = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 12)), max_size=6)
SHARES = st.sampled_from([0, 0.1, 0.25, 0.3, 0.3333333333333333, 0.5, 0.75, 1])


def test_k_map_counts_everybody():
    """models.md 1.15: a class of one row is safe among k persons of the population."""
    table = counts([(1, 5), (3, 3), (2, 4)])
    assert KMap(4, "p.csv").complies(table).tolist() == [True, False, True]
    assert KMap(4, "p.csv").attained(table) == {"k": 3}
    assert KMap(4, "p.csv").worst(table) == 1
    assert KMap(1, "p.csv").attained(counts([])) == {"k": 0}


def test_delta_presence_is_a_share_of_everybody():
    """models.md 1.14: min <= count_T / count_P <= max."""
    table = counts([(1, 2), (1, 4), (3, 4)])
    assert DeltaPresence("p.csv", 0.25, 0.5).complies(table).tolist() == [True, True, False]
    assert DeltaPresence("p.csv", 0.3, 0.75).complies(table).tolist() == [True, False, True]
    assert DeltaPresence("p.csv").attained(table) == {"min": 0.25, "max": 0.75}
    assert DeltaPresence("p.csv").worst(table) == 2


def test_a_class_of_the_population_without_rows_has_the_share_0():
    """models.md 1.14: it violates min > 0, whatever the others are."""
    table = counts([(1, 2)], strangers=1)
    assert DeltaPresence("p.csv", 0, 0.5).holds(table)
    assert not DeltaPresence("p.csv", 0.1, 0.5).holds(table)
    assert DeltaPresence("p.csv", 0.1, 0.5).complies(table).all()
    assert DeltaPresence("p.csv", 0.1).attained(table) == {"min": 0.0, "max": 0.5}


def test_suppressed_people_are_in_no_class():
    table = counts([(1, 2), (2, 2), (1, 0)])
    kept = table.select_classes(np.array([True, False, False]))
    assert (kept.strangers, kept.hidden, kept.population.tolist()) == (1, 1, [2])
    assert DeltaPresence("p.csv").holds(kept)


def test_a_suppressed_class_has_the_share_0_only_if_asked():
    """Two of two people are left out; somebody of the population whom the table never had has the share 0 anyway."""
    kept = counts([(1, 2), (2, 2)]).select_classes(np.array([True, False]))
    assert DeltaPresence("p.csv", 0.5).holds(kept)
    assert DeltaPresence("p.csv", 0.5).attained(kept) == {"min": 0.5, "max": 0.5}
    asked = DeltaPresence("p.csv", 0.5, suppressed_counts=True)
    assert not asked.holds(kept)
    assert asked.attained(kept) == {"min": 0.0, "max": 0.5}
    with_a_stranger = counts([(1, 2), (2, 2)], strangers=1).select_classes(np.array([True, False]))
    assert not DeltaPresence("p.csv", 0.5).holds(with_a_stranger)


def test_people_outside_the_population_have_no_share():
    table = counts([(1, 2), (1, 0)])
    assert DeltaPresence("p.csv").complies(table).tolist() == [True, False]
    assert DeltaPresence("p.csv").attained(table) == {"min": 0.0, "max": None}


@naive.examples(300)
@given(TABLES, SHARES, SHARES.filter(bool), st.integers(0, 2))
def test_as_defined(pairs, least, most, strangers):
    if least > most:
        least, most = most, least
    low, high = Fraction(str(least)), Fraction(str(most))
    fine = [p > 0 and low <= Fraction(t, p) <= high for t, p in pairs]
    model = DeltaPresence("p.csv", least, most)
    table = counts(pairs, strangers)
    assert model.complies(table).tolist() == fine
    assert model.holds(table) == (all(fine) and not (low and strangers))
    assert all(part.holds(table) for part in model.parts()) == model.holds(table)
    if pairs and all(p >= t for t, p in pairs):
        attained = model.attained(table)
        assert DeltaPresence("p.csv", **attained).holds(table)
        if not strangers:
            assert attained["min"] == pytest.approx(float(min(Fraction(*pair) for pair in pairs)))
        assert attained["max"] == pytest.approx(float(max(Fraction(*pair) for pair in pairs)))


def test_exact_at_the_threshold():
    """Design 15: 3/10 is 0.3 although the float 0.3 lies below it; a third is no float."""
    assert DeltaPresence("p.csv", 0.3, 0.3).complies(counts([(3, 10), (3 * 10**15, 10**16)])).all()
    assert not DeltaPresence("p.csv", 0, 0.3333333333333333).complies(counts([(1, 3)])).any()
    assert not DeltaPresence("p.csv", 0.33333333333333337).complies(counts([(1, 3)])).any()
    attained = DeltaPresence("p.csv").attained(counts([(1, 3)]))
    assert DeltaPresence("p.csv", **attained).complies(counts([(1, 3)])).all()


def test_parts():
    assert list(DeltaPresence("p.csv", 0, 0.5).parts()) == [DeltaPresence("p.csv", 0, 0.5)]
    both = DeltaPresence("p.csv", 0.1, 0.5)
    assert list(both.parts()) == [both, NoStrangers("p.csv")]
    assert NoStrangers("p.csv").table_wide
    assert NoStrangers("p.csv").merging is Closure.SUPERSET
    assert NoStrangers("p.csv", suppressed_counts=True).merging is Closure.UNION
    assert NoStrangers("p.csv").attained(counts([], 3)) == {"strangers": 3}


@pytest.mark.parametrize(
    ("model", "suppressible", "why"),
    [
        (KMap(21, "p.csv"), 9, "the population has 20 persons < k=21"),
        (KMap(20, "p.csv"), 0, None),
        (
            DeltaPresence("p.csv", 0.6),
            9,
            "only 10 of the 20 persons of the population are in the table: min <= 0.5",
        ),
        (
            DeltaPresence("p.csv", 0, 0.45),
            0,
            "10 of the 20 persons of the population are in the table: max >= 0.5",
        ),
        (DeltaPresence("p.csv", 0, 0.45), 1, None),  # 9 / 20
        (DeltaPresence("p.csv", 0.5, 0.5), 0, None),
    ],
)
def test_impossible(model, suppressible, why):
    assert model.impossible(counts([(10, 20)]), suppressible) == why


@pytest.mark.parametrize("k", [0, -1, 1.5, "abc", True])
def test_k_is_a_whole_number(k):
    with pytest.raises(ValueError, match="k must be a whole number"):
        KMap(k, "p.csv")


@pytest.mark.parametrize(
    ("least", "most", "says"),
    [
        (-0.1, 1, "min must lie from 0 to 1, not -0.1"),
        (1.1, 1, "min must lie from 0 to 1"),
        (float("nan"), 1, "min must be a number"),
        (0, 0, "max must lie above 0 and at most at 1, not 0"),
        (0, 1.5, "max must lie above 0 and at most at 1, not 1.5"),
        (0, "x", "max must be a number"),
        (0.6, 0.5, "min must be at most max, not 0.6 with max = 0.5"),
    ],
)
def test_bad_shares_are_refused(least, most, says):
    with pytest.raises(ValueError, match=says):
        DeltaPresence("p.csv", least, most)


@pytest.mark.parametrize("population", ["", None, 5, "a\0b"])
def test_the_population_is_a_path(population):
    for made in (lambda: KMap(2, population), lambda: DeltaPresence(population)):
        with pytest.raises(ValueError, match="population must be the path of a table"):
            made()


def test_a_path_is_a_text():
    assert KMap(2, Path("people") / "all.csv").population == "people/all.csv"
    assert model_of({"model": "k-map", "k": 2, "population": "all.csv"}) == KMap(2, "all.csv")
    with pytest.raises(ValueError, match="k-map needs population"):
        model_of({"model": "k-map", "k": 2})


def test_k_map_cites_one_source():
    assert KMap.source in KMap.__doc__


def test_nothing_attained_without_classes():
    assert DeltaPresence("p.csv").attained(counts([])) == {"min": 0.0, "max": 0.0}


def test_shares_that_are_alike_as_floats_are_told_apart():
    """Above and below one half by a part in 10¹³."""
    many = 10**13
    table = counts([(many, 2 * many), (many + 1, 2 * many + 1), (many, 2 * many + 1)])
    attained = DeltaPresence("p.csv").attained(table)
    assert attained["max"] == pytest.approx((many + 1) / (2 * many + 1), rel=1e-15)
    assert attained["min"] == pytest.approx(many / (2 * many + 1), rel=1e-15)
    assert attained["min"] < 0.5 < attained["max"]
    assert DeltaPresence("p.csv", attained["min"], attained["max"]).complies(table).all()


def test_the_table_is_too_small_or_too_large_a_part_of_the_population():
    """3 of 10 persons: δ from 0.3; without 2 of them 1 of 10."""
    table = counts([(3, 10)])
    assert "min <= 0.3" in DeltaPresence("p.csv", 0.4).impossible(table, 0)
    assert "max >= 0.3" in DeltaPresence("p.csv", 0, 0.2).impossible(table, 0)
    assert DeltaPresence("p.csv", 0, 0.2).impossible(table, 1) is None
    assert DeltaPresence("p.csv", 0, 0.01).impossible(table, 3) is None
    assert "min <= 0.3333" in DeltaPresence("p.csv", 0.4).impossible(counts([(1, 3)]), 0)


@pytest.mark.parametrize("model", [KMap(2, "p.csv"), DeltaPresence("p.csv"), NoStrangers("p.csv")])
def test_a_population_is_needed(model):
    """So that nothing is judged, or published, without one."""
    assert Need.POPULATION in model.needs
    assert model.public is None


def test_the_least_that_must_go():
    """5 of 6 persons: for a share of 1/2, (5 − 3) / (1 − 1/2) = 4 rows must go; 1 of 4 is in bounds."""
    assert DeltaPresence("p.csv", 0, 0.5).least_removed(counts([(5, 6), (1, 4)])).tolist() == [4, 0]
    assert DeltaPresence("p.csv", 0.5, 1).least_removed(counts([(1, 4), (2, 4)])).tolist() == [1, 0]


def test_the_worst_class_has_the_greatest_share():
    assert DeltaPresence("p.csv").worst(counts([(4, 100), (3, 4)])) == 1


def test_bounds_of_the_whole_table_are_rounded_to_the_safe_side():
    assert "min <= 0.9999" in DeltaPresence("p.csv", 1, 1).impossible(counts([(99_999, 100_000)]), 0)
    assert "max >= 1.0" in DeltaPresence("p.csv", 0, 0.6).impossible(counts([(1, 1)]), 0)
