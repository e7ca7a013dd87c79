"""Average risk, sample and population uniqueness."""

from fractions import Fraction
from itertools import combinations

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts
from shoal.models.model import Closure
from shoal.models.reidentification import AverageRisk, PopulationUniqueness, SampleUniqueness, count_smallest

EXAMPLE = {1: 60, 2: 15, 3: 6, 4: 3, 6: 2, 10: 1, 20: 1}


def sizes(*of):
    return ClassCounts(np.array(of, np.int64))


def histogram(of):
    return ClassCounts(np.repeat(list(of), list(of.values())).astype(np.int64))


def test_the_tiny_example():
    """models.md 1.19: classes of 3, 2 and 1 rows have the average risk 3/6."""
    table = sizes(3, 2, 1)
    assert AverageRisk(1.0).attained(table) == {"max": 0.5}
    assert AverageRisk(0.5).holds(table)
    assert not AverageRisk(0.499).holds(table)
    assert SampleUniqueness(1.0).attained(table) == {"max": pytest.approx(1 / 6)}
    assert AverageRisk(0.5).worst(table) == SampleUniqueness(0).worst(table) == 2


@naive.examples(300)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=12), st.integers(1, 20).map(lambda i: i / 20))
def test_as_defined(of, most):
    rows = [size for size in of for _ in range(size)]
    average = sum(Fraction(1, size) for size in rows) / len(rows)
    uniques = Fraction(sum(size == 1 for size in rows), len(rows))
    assert AverageRisk(most).holds(sizes(*of)) == (average <= Fraction(str(most)))
    assert SampleUniqueness(most).holds(sizes(*of)) == (uniques <= Fraction(str(most)))


@pytest.mark.parametrize(("most", "holds"), [(0.3333333333333333, False), (0.33333333333333337, True), (0.1, False)])
def test_exact_at_the_threshold(most, holds):
    assert AverageRisk(most).holds(sizes(3, 3, 3)) == holds
    assert SampleUniqueness(most).holds(sizes(1, 2)) == holds


def test_merging_with_a_bad_class_can_break_average_risk():
    """models.md 0: one class of 100 rows, 0.01, with 20 bad ones of 5: 21/200 = 0.105; so UNION, not SUPERSET."""
    assert AverageRisk(0.01).holds(sizes(100))
    assert AverageRisk(1.0).attained(sizes(100, *[5] * 20)) == {"max": 0.105}
    assert AverageRisk.closure is SampleUniqueness.closure is Closure.UNION


def test_no_unique_rows_at_all():
    assert SampleUniqueness(0).holds(sizes(2, 2))
    assert not SampleUniqueness(0).holds(sizes(2, 1))


def test_impossible_average_risk():
    assert AverageRisk(0.1).impossible(sizes(10), 0) is None
    assert AverageRisk(0.1).impossible(sizes(9), 9) == (
        "9 records have an average risk of 1/9 even as one class: max >= 0.1112"
    )


def test_an_empty_table_has_no_risk():
    for model in (AverageRisk(0.1), SampleUniqueness(0), PopulationUniqueness(0, 100)):
        assert model.holds(sizes())
        assert model.attained(sizes())["max"] == 0
        assert model.worst(sizes()) is None


def test_population_uniqueness_of_the_example():
    """models.md 1.20: n = 162 of N = 1620; the rule takes Pitman: 215.7."""
    table = histogram(EXAMPLE)
    attained = PopulationUniqueness(0.1, 1620).attained(table)
    assert attained == {
        "max": pytest.approx(215.67 / 1620, rel=1e-4),
        "uniques": pytest.approx(215.67, rel=1e-4),
        "estimator": "pitman",
    }
    assert PopulationUniqueness(attained["max"], 1620).holds(table)
    assert not PopulationUniqueness(0.133, 1620).holds(table)
    assert PopulationUniqueness(0.1, 1620, "zayatz").attained(table)["uniques"] == pytest.approx(290.2, abs=0.05)


def test_a_missing_estimate_is_not_zero():
    """models.md 1.20: the bad case, by Pitman alone."""
    table = histogram({1: 20, 2: 10, 3: 5, 5: 3})
    alone = PopulationUniqueness(1.0, 1000, "pitman")
    assert alone.attained(table) == {"max": None, "uniques": None, "estimator": "no estimate"}
    assert not alone.holds(table)
    assert PopulationUniqueness(1.0, 1000).attained(table)["estimator"] == "zayatz"


def test_zayatz_is_not_monotone_either():
    """ARX declares that it is, but merging two classes of two rows raises the estimate."""
    before, after = sizes(1, 2, 2), sizes(1, 4)
    model = PopulationUniqueness(0.5, 10, "zayatz")
    raised = [model.attained(table)["uniques"] for table in (before, after)]
    assert raised[0] < raised[1]
    assert PopulationUniqueness.closure is Closure.NOT


def test_impossible_population():
    why = PopulationUniqueness(0.1, 8).impossible(sizes(10), 1)
    assert why == "10 records > population-size=8: they are no sample of it"
    assert PopulationUniqueness(0.1, 8).impossible(sizes(10), 2) is None


@pytest.mark.parametrize("most", [-0.1, 1.01, float("nan"), float("inf"), "x", None, True])
@pytest.mark.parametrize("model", [AverageRisk, SampleUniqueness, lambda most: PopulationUniqueness(most, 100)])
def test_max_is_a_share(model, most):
    with pytest.raises(ValueError, match="max must"):
        model(most)


def test_nobody_is_at_no_risk_on_average():
    with pytest.raises(ValueError, match="max must lie above 0"):
        AverageRisk(0)


@pytest.mark.parametrize("people", [0, -1, 1.5, "x", None])
def test_population_size_is_a_whole_number(people):
    with pytest.raises(ValueError, match="population-size must be a whole number"):
        PopulationUniqueness(0.1, people)


def test_estimator_is_known():
    with pytest.raises(ValueError, match="estimator must be one of dankar, zayatz, pitman, snb, not 'arx'"):
        PopulationUniqueness(0.1, 100, "arx")


@naive.examples(300)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=8).map(sorted),
    st.lists(
        st.sampled_from([AverageRisk(0.2), AverageRisk(0.45), SampleUniqueness(0.1), SampleUniqueness(0)]), min_size=1
    ),
    st.integers(0, 8),
)
def test_the_smallest_classes_are_the_fewest_rows(of, promises, most):
    """Over all sets of at most `most` classes, and of all but one, that may be suppressed."""
    enough = [
        sum(of) - sum(kept)
        for number in range(min(most, len(of) - 1) + 1)
        for kept in combinations(of, len(of) - number)
        if all(promise.holds(sizes(*kept)) for promise in promises)
    ]
    found = count_smallest(promises, np.array(of), most)
    assert (None if found is None else sum(of[:found])) == min(enough, default=None)


def test_population_uniqueness_is_about_the_population():
    assert PopulationUniqueness.sentence == "At most this share of the population is estimated to be alone in it."


def test_the_average_risk_of_one_class_is_rounded_up():
    """A table of 3 rows cannot go below 1/3: 0.3334 is asked for."""
    assert "max >= 0.3334" in AverageRisk(0.3).impossible(sizes(1, 2), 0)
    assert "max >= 0.1250" in AverageRisk(0.1).impossible(sizes(8), 0)


@pytest.mark.parametrize("model", [AverageRisk(0.5), SampleUniqueness(0.5)])
def test_the_smallest_classes_are_suppressed(model):
    assert model.suppresses_smallest is True


def test_only_rows_that_are_alone_help_against_uniqueness():
    """Classes of 1 and 2 rows: leaving out the pair as well lowers no share that must fall."""
    assert SampleUniqueness(0.2).largest_suppressed == 1
    assert count_smallest([SampleUniqueness(0.1)], np.array([1, 2, 2]), 3) == 1


def test_suppressed_rows_that_are_shown_are_a_class():
    """One row alone is a class as small as it was; two of them are a class of two, as is asked."""
    alone = np.array([1, 1, 4])
    assert count_smallest([SampleUniqueness(0.0)], alone, 2, shown=(0, 2)) == 2
    assert count_smallest([SampleUniqueness(0.0)], alone, 2, shown=(0, 3)) is None
    assert count_smallest([SampleUniqueness(0.0)], np.array([1, 4]), 1, shown=(2, 2)) == 1


def test_models_that_any_class_may_help_look_at_all():
    """The limit of useful sizes holds only where every promise has one."""
    every = [SampleUniqueness(0.0), PopulationUniqueness(1.0, 100)]
    assert PopulationUniqueness(1.0, 100).largest_suppressed is None
    assert count_smallest(every, np.array([1, 1, 4]), 2) == 2


def test_one_row_is_at_full_risk():
    assert AverageRisk(1).attained(sizes(1)) == {"max": 1.0}


def test_a_promise_that_larger_classes_help_looks_at_them():
    """Without 1 and 2 rows 3 of 18 is at most 0.19; against uniqueness alone only single rows would help."""
    both = [AverageRisk(0.19), SampleUniqueness(0.5)]
    assert count_smallest(both, np.array([1, 2, 2, 8, 8]), 20) == 2
