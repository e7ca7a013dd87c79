import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples
from naive_attacks import release, same_rows, table

from shoal.attacks.composition import Compose
from shoal.attacks.release_under_attack import Truth
from shoal.errors import BadInput


def test_two_3_diverse_releases_tell_one_value():
    """models.md section 2: {flu, HIV, ulcer} and {HIV, cancer, asthma} leave HIV."""
    first = release("a", a=["[20, 30)"] * 3, s=["flu", "HIV", "ulcer"])
    second = release("a", a=["[20, 40)"] * 3, s=["HIV", "cancer", "asthma"])
    bob = table(a=["24"])
    found = Compose([second], register=bob).on(first)
    assert (found.exposed, found.of) == (1, 1)
    assert found.figures["values_left_mean"] == 1
    assert found.figures["values_by_best_release_mean"] == 3
    assert found.figures["best_posterior_mean"] == 1
    assert found.figures["exposed_by_one_release"] == 0
    # without a register: every pair of classes that can hold one person
    pairs = Compose([second]).on(first)
    assert (pairs.exposed, pairs.of) == (3, 3)
    assert pairs.figures["pairs_with_one_value"] == pairs.figures["pairs"] == 1


def test_classes_that_no_person_fits_into_both_say_nothing():
    first = release("a", a=["[20, 30)"] * 2, s=["flu", "HIV"])
    second = release("a", a=["[30, 40)"] * 2, s=["HIV", "cancer"])
    found = Compose([second]).on(first)
    assert (found.exposed, found.figures["pairs"]) == (0, 0)
    assert Compose([second], register=table(a=["24"])).on(first).of == 0


def test_stars_meet_everything():
    first, second = release("a", a=["*"] * 2, s=["flu", "HIV"]), release("a", a=["*"] * 2, s=["HIV", "cancer"])
    assert Compose([second]).on(first).figures["pairs"] == 1


def test_who_cannot_have_any_value_is_counted():
    first, second = release("a", a=["1"], s=["flu"]), release("a", a=["1"], s=["HIV"])
    found = Compose([second], register=table(a=["1"])).on(first)
    assert found.figures["inconsistent"] == 1
    assert found.exposed == 0


@st.composite
def two_releases(draw):
    people = draw(st.integers(2, 8))
    values = draw(st.lists(st.sampled_from("uvw"), min_size=people, max_size=people))
    classes = [draw(st.lists(st.integers(0, 2), min_size=people, max_size=people)) for _ in range(2)]
    return values, classes


@examples(100)
@given(two_releases())
def test_as_the_definition_says(drawn):
    values, classes = drawn
    original = table(a=[str(i) for i in range(len(values))], s=values)
    releases = [release("a", a=[f"c{c}" for c in each], s=values) for each in classes]
    truth = same_rows(original)
    found = Compose([releases[1]], truths=[truth]).on(releases[0], truth)
    sets = [[{values[j] for j in range(len(values)) if each[j] == c} for c in each] for each in classes]
    left = [a & b for a, b in zip(*sets, strict=True)]
    assert found.of == len(values)
    assert found.exposed == sum(len(each) == 1 for each in left)
    assert found.figures["inconsistent"] == 0
    assert found.figures["values_left_mean"] == pytest.approx(np.mean([len(each) for each in left]))
    assert found.figures["even_guess_mean"] == pytest.approx(np.mean([1 / len(each) for each in left]))
    alone = max(sum(len(each) == 1 for each in of) for of in sets)
    assert found.figures["exposed_by_one_release"] == alone
    for rate in (found.success, found.baseline):
        assert rate.guesses == len(values)


def test_people_of_two_originals_are_met_by_a_key():
    first = table(id=["x", "y", "z"], a=["1", "2", "3"], s=["u", "v", "w"])
    second = table(id=["z", "x"], a=["3", "1"], s=["w", "u"])
    releases = [release("a", a=["*"] * 3, s=["u", "v", "w"]), release("a", a=["*"] * 2, s=["w", "u"])]
    truths = [Truth(first, np.arange(3)), Truth(second, np.arange(2))]
    with pytest.raises(BadInput, match="tells persons apart"):
        Compose([releases[1]], truths=truths[1:]).on(releases[0], truths[0])
    found = Compose([releases[1]], truths=truths[1:], key="id").on(releases[0], truths[0])
    assert found.of == 2
    assert found.figures["values_left_mean"] == 2


def test_labels_that_overlap_give_a_smaller_box():
    """The attribute's own intersection: [20, 30) and [25, 35) leave [25, 30)."""
    original = table(a=["26", "27"], s=["u", "v"])
    releases = [release("a", a=[label] * 2, s=["u", "v"]) for label in ("[20, 30)", "[25, 35)")]
    truth = same_rows(original)
    found = Compose([releases[1]], truths=[truth]).on(releases[0], truth)
    assert found.figures["people_in_a_smaller_box"] == 2


def test_releases_of_different_columns_are_refused():
    first = release("a", a=["1"], s=["u"])
    with pytest.raises(BadInput, match="different columns: only one of them has 'b'"):
        Compose([release("ab", a=["1"], b=["1"], s=["u"])]).on(first)
    with pytest.raises(BadInput, match="no sensitive column 's'"):
        Compose([release("a", ["t"], a=["1"], t=["u"])]).on(first)
    with pytest.raises(BadInput, match="another release"):
        Compose([]).on(first)


def test_a_register_is_refused_without_showing_a_cell():
    first, second = release("a", a=["1"], s=["u"]), release("a", a=["1"], s=["u"])
    with pytest.raises(BadInput, match=r"row 2 repeats a 'id'") as wrong:
        Compose([second], register=table(a=["1", "1"], id=["SECRET", "SECRET"]), key="id").on(first)
    assert "SECRET" not in str(wrong.value)
    with pytest.raises(BadInput, match="no column 'a'"):
        Compose([second], register=table(b=["1"])).on(first)
    with pytest.raises(BadInput, match="no sensitive attribute"):
        Compose([second]).on(release("a", [], a=["1"]))
