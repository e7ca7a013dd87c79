"""Exact numbers, and what models refuse."""

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.data.codes import Table, encode
from shoal.errors import BadPolicy
from shoal.models import MODELS
from shoal.models.alpha_k import AlphaK
from shoal.models.k_anonymity import KAnonymity
from shoal.models.model import QUASI, asked, ceiling, exact, exact_share, is_within_limits, refuse_unless_whole
from shoal.models.presence import KMap
from shoal.models.reidentification import SampleUniqueness


@pytest.mark.parametrize(
    ("written", "meant"),
    [(0.1, Fraction(1, 10)), (1, Fraction(1)), (0.29, Fraction(29, 100)), (Fraction(1, 3), Fraction(1, 3))],
)
def test_a_number_is_what_was_written(written, meant):
    assert exact("x", written) == meant


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), 1e400, True, "0.5", None])
def test_texts_that_are_no_number_are_refused(odd):
    with pytest.raises(ValueError, match="x must be a number"):
        exact("x", odd)


@pytest.mark.parametrize("odd", [0, -1, 1.5, 2.0, "abc", 1e400, float("nan"), True, None])
def test_whole_numbers_only(odd):
    """Bad input 4."""
    with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
        refuse_unless_whole("k", odd)


@pytest.mark.parametrize("whole", [1, 5, np.int64(3)])
def test_whole_numbers_are_taken(whole):
    refuse_unless_whole("k", whole)


shares = st.integers(1, 10**12).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole)))


@given(st.lists(st.tuples(shares, st.fractions(0, 1)), min_size=1, max_size=5))
def test_within_compares_exactly(cases):
    """Whatever the size of counts and denominators (design 15)."""
    part, whole = (np.array(side, np.int64) for side in zip(*(share for share, _ in cases), strict=True))
    limits = [limit for _, limit in cases]
    found = is_within_limits(part, whole, limits, np.arange(len(cases)))
    assert found.tolist() == [Fraction(*share) <= limit for share, limit in cases]


@given(shares)
def test_ceiling_is_the_least_float_that_is_not_below(share):
    share = Fraction(*share)
    up = ceiling(share)
    assert exact("x", up) >= share
    assert up == 0 or exact("x", float(np.nextafter(up, -1))) < share


def test_asked_is_what_a_policy_says():
    assert asked(AlphaK(0.5, 3)) == {"alpha": 0.5, "k": 3}
    assert asked(AlphaK(0.5, 3, null_is_value=True)) == {"alpha": 0.5, "k": 3, "null_is_value": True}


CATEGORIES = {"categories": [["1"], ["2"]]}
FAILS_WITHOUT_VALUES = {
    "distinct-l-diversity": {"l": 1},
    "entropy-l-diversity": {"l": 1},
    "recursive-cl-diversity": {"c": 9, "l": 1},
    "p-sensitive": {"p": 1},
    "p-plus-sensitive": {"p": 1, **CATEGORIES},
    "p-alpha-sensitive": {"p": 1, "alpha": 0.1, **CATEGORIES},
    "p-plus-alpha-sensitive": {"p": 1, "alpha": 0.1, **CATEGORIES},
    "l-alpha-diversity": {"l": 1, "alpha": 0.1, **CATEGORIES},
    "a-d-diversity": {"a": 1, "d": 1, "experimental": True, **CATEGORIES},
    "alpha-beta-k": {"alpha": 1, "beta": 1, "k": 1, "experimental": True, **CATEGORIES},
}
COMPLIES_WITHOUT_VALUES = {
    "alpha-k": {"alpha": 0.1},
    "alp-dif": {"alp": 0.5, "dif": 0},
    "t-closeness": {"t": 0, "distance": "equal"},
    "beta-likeness": {"beta": 0},
    "delta-disclosure": {"delta": 0.1},
    "epsilon-m": {"epsilon": 0, "m": 2},
}


@pytest.mark.parametrize("name", [*FAILS_WITHOUT_VALUES, *COMPLIES_WITHOUT_VALUES])
def test_classes_of_null_values_only(name):
    """Models that count values fail there, those that limit shares comply; the page of each says so."""
    nulls = ValueCounts(np.array([0]), np.array([2]), np.array([4]), ["1", "2", None], 1, np.array([2, 2, 4]))
    parameters = FAILS_WITHOUT_VALUES.get(name) or COMPLIES_WITHOUT_VALUES[name]
    model = MODELS[name](**parameters, attribute="s")
    assert model.holds(ClassCounts(np.array([4]), {"s": nulls})) is (name in COMPLIES_WITHOUT_VALUES)
    page = Path(__file__).parents[3] / "docs" / "models" / f"{name}.md"
    said = "complies" if name in COMPLIES_WITHOUT_VALUES else "fails"
    sentence = re.search(
        r"A class in which every sensitive cell is empty .*?\(\[empty", page.read_text("utf-8"), re.DOTALL
    )
    assert sentence is not None
    assert said in sentence[0]


def test_shares_are_read_exactly():
    assert exact_share("alpha", "2/6") == Fraction(1, 3)
    assert exact_share("alpha", 0.1) == Fraction(1, 10)
    with pytest.raises(ValueError, match='alpha must be a number, or two whole numbers such as "1/3", not'):
        exact_share("alpha", "0.1")
    assert AlphaK(Fraction(1, 3)) == AlphaK("1/3")
    assert asked(AlphaK({"HIV": Fraction(2, 7)}))["alpha"] == {"HIV": "2/7"}


def test_a_limit_of_nothing_does_not_overflow():
    whole = np.array([2**66, 1], dtype=object)
    assert is_within_limits(np.array([0, 1]), whole, [Fraction(0)], np.array([0, 0])).tolist() == [True, False]


@pytest.mark.parametrize(("share", "fine"), [(0, False), (1, True), (1.0000001, False), (-0.1, False), (0.5, True)])
def test_a_share_lies_above_0_and_at_most_at_1(share, fine):
    if fine:
        assert AlphaK(share).alpha == share
        return
    with pytest.raises(ValueError, match="alpha must lie above 0 and at most at 1"):
        AlphaK(share)


def test_zero_is_a_share_where_it_is_allowed():
    assert SampleUniqueness(0).max == 0
    with pytest.raises(ValueError, match="max must lie from 0 to 1"):
        SampleUniqueness(1.5)


def test_a_fraction_among_numbers_is_written_as_text():
    assert AlphaK({"HIV": Fraction(1, 3), "flu": 0.5}).alpha == {"HIV": "1/3", "flu": 0.5}


def test_a_table_keeps_a_promise_where_all_classes_do():
    assert KAnonymity(2).holds(ClassCounts(np.array([2, 3])))
    assert not KAnonymity(3).holds(ClassCounts(np.array([2, 3])))


def test_figures_that_need_the_original_are_not_public():
    assert KAnonymity(2).public == KAnonymity(2)
    assert KMap(2, "p.csv").public is None


@dataclass(frozen=True)
class Looks(KAnonymity):
    """Looks at two columns.

    This is no part of its sentence.
    """

    name: ClassVar[str] = "looks"

    @property
    def columns(self):
        return (QUASI, "job")


def test_the_first_paragraph_is_the_sentence():
    assert Looks.sentence == "Looks at two columns."
    assert KAnonymity.sentence != " ".join(KAnonymity.__doc__.split("\n\n")[0].split())  # it states its own


def test_a_model_that_looks_at_a_column_needs_it():
    """All quasi-identifiers are no column of that name."""
    columns = {name: encode(name, pa.array(["1"])) for name in ("age", "job")}
    Looks(2).refuse_misfit(Table(columns, 1), {}, {})
    with pytest.raises(BadPolicy, match="looks looks at 'job', and the table has no such column"):
        Looks(2).refuse_misfit(Table({"age": columns["age"]}, 1), {}, {})


def test_products_beyond_words_are_compared_exactly():
    """1/2⁴⁰ is far below one half, though 2⁴⁰ · (2⁴⁰ + 1) does not fit an int64."""
    limit = Fraction(2**40 + 1, 2**41)
    assert is_within_limits(np.array([1]), np.array([2**40]), [limit], np.array([0])).tolist() == [True]
