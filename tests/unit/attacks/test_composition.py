from collections import Counter

import naive_beliefs
import naive_republish
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples
from naive_attacks import release, same_rows, table
from naive_republish import SeenRelease

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


def test_a_star_overlaps_every_label():
    first, second = release("a", a=["*"] * 2, s=["flu", "HIV"]), release("a", a=["*"] * 2, s=["HIV", "cancer"])
    assert Compose([second]).on(first).figures["pairs"] == 1


def test_people_with_no_possible_value_are_counted():
    first, second = release("a", a=["1"], s=["flu"]), release("a", a=["1"], s=["HIV"])
    found = Compose([second], register=table(a=["1"])).on(first)
    assert found.figures["inconsistent"] == 1
    assert found.exposed == 0


def composed(values, classes, fakes=()):
    """The finding about people of whom every release shows those in a class, and the same as the oracle reads it.

    `classes` have everybody's class in each release, None where they are not in it; `fakes` are further rows, each
    (release, class, value), that show nobody.
    """
    original = table(a=[str(i) for i in range(len(values))], s=values)
    releases, truths, seen = [], [], []
    for number, each in enumerate(classes):
        here = [person for person, where in enumerate(each) if where is not None]
        added = [(where, value) for release, where, value in fakes if release == number]
        rows = [(each[person], values[person]) for person in here] + added
        labels, shown = zip(*rows, strict=True)
        releases.append(release("a", a=[f"c{where}" for where in labels], s=list(shown)))
        truths.append(Truth(original, np.array([*here, *[-1] * len(added)])))
        of = {person: each[person] for person in here}
        seen.append(SeenRelease(rows, of, Counter(where for where, _ in added)))
    return Compose(releases[1:], truths=truths[1:]).on(releases[0], truths[0]), seen


def certain_people(seen):
    """People of all releases who have one value in every world, by the oracle; null is no value."""
    everywhere = set.intersection(*(set(release.of) for release in seen))
    believed = naive_beliefs.posteriors(seen)
    return {person for person in everywhere if len(believed[person, 0][1].keys() - {None}) == 1}


@st.composite
def several_releases(draw):
    """Values of some people, their classes in two or three releases, and rows that show nobody."""
    people = draw(st.integers(2, 8))
    values = draw(st.lists(st.sampled_from(["u", "v", "w", None]), min_size=people, max_size=people))
    place = st.sampled_from([0, 0, 1, 1, 2, None])
    classes = [draw(st.lists(place, min_size=people - 1, max_size=people - 1)) for _ in range(draw(st.integers(2, 3)))]
    fakes = draw(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.sampled_from("uv")), max_size=2))
    return values, [[0, *each] for each in classes], fakes


def posterior_without_null(shares):
    known = {value: share for value, share in shares.items() if value is not None}
    return {value: share / sum(known.values()) for value, share in known.items()}


@examples(400)
@given(several_releases())
def test_composition_counts_possible_worlds(drawn):
    found, seen = composed(*drawn)
    everywhere = set.intersection(*(set(each.of) for each in seen))
    believed = {person: naive_beliefs.posteriors(seen)[person, 0][1] for person in everywhere}
    left = [posterior_without_null(shares) for shares in believed.values()]
    left = [shares for shares in left if shares]
    assert (found.exposed, found.of) == (len(certain_people(seen)), len(everywhere))
    figures = found.figures
    assert figures["people_weighed_exactly"] == len(everywhere)
    assert figures["inconsistent"] == figures["people_in_contradictory_classes"] == 0
    if left:
        assert figures["values_left_mean"] == pytest.approx(np.mean([len(each) for each in left]))
        assert figures["even_guess_mean"] == pytest.approx(np.mean([1 / len(each) for each in left]))
        assert figures["best_posterior_mean"] == pytest.approx(np.mean([float(max(s.values())) for s in left]))
    sets = naive_republish.intersected_values(seen)
    assert figures["exposed_by_sets_alone"] == sum(len(sets[person] - {None}) == 1 for person in everywhere)
    held = [[set(each.held[each.of[person]]) - {None} for person in everywhere] for each in seen]
    assert figures["exposed_by_one_release"] == max(sum(len(one) == 1 for one in each) for each in held)


def random_pair(seed, nulls):
    """Two releases of the same 6 to 14 people in classes of their own, with a null in ten values or none."""
    rng = np.random.default_rng(seed)
    people = int(rng.integers(6, 15))
    values = [None if nulls and rng.random() < 0.1 else str(rng.choice(list("uvwx"))) for _ in range(people)]
    return values, [rng.integers(0, max(people // 3, 1), people).tolist() for _ in range(2)]


@pytest.mark.thorough
@pytest.mark.parametrize(("nulls", "by_counts", "by_sets"), [(True, 954, 498), (False, 800, 498)])
def test_counts_expose_people_whom_sets_do_not(nulls, by_counts, by_sets):
    """Over 198 pairs of releases, everybody whom worlds tell for certain, and nobody else."""
    exposed = of_sets = 0
    for seed in range(198):
        found, seen = composed(*random_pair(seed, nulls))
        assert found.exposed == len(certain_people(seen))
        exposed += found.exposed
        of_sets += sum(len(each) == 1 for each in naive_republish.intersected_values(seen).values())
    assert (exposed, of_sets) == (by_counts, by_sets)


def test_what_others_must_have_is_not_left():
    """{u, u, v} holds x, y and z, and z is v by another class: x and y are u, though no set of theirs tells it."""
    x_to_t = ["u", "u", "v", "v", "v"]
    found, _ = composed(x_to_t, [[0, 0, 0, 1, 1], [0, 0, 1, 0, 1]])
    assert (found.figures["exposed_by_sets_alone"], found.exposed) == (3, 5)


def test_a_null_protects_nobody():
    """u or null is u: a null is none of the values that are left."""
    found, _ = composed(["u", None, "v"], [[0, 0, 1], [0, 0, 1]])
    assert (found.exposed, found.of) == (3, 3)
    first = release("a", a=["[20, 30)"] * 3, s=["flu", "HIV", None])
    second = release("a", a=["[20, 40)"] * 3, s=["HIV", "cancer", None])
    assert Compose([second], register=table(a=["24"])).on(first).exposed == 1
    pairs = Compose([second]).on(first)
    assert (pairs.exposed, pairs.figures["pairs_with_one_value"]) == (3, 1)
    only = release("a", a=["1"], s=[None])
    found = Compose([only], register=table(a=["1"])).on(only)
    assert (found.exposed, found.figures["inconsistent"]) == (0, 0)


def test_a_changed_value_leaves_the_intersection_of_its_block():
    """Where no world gives all releases, somebody's value changed: what classes have in common is all that is left."""
    originals = [table(id=list("xyz"), a=["1"] * 3, s=list(values)) for values in ("uvw", "uvx")]
    releases = [release("a", a=["1"] * 3, s=list(values)) for values in ("uvw", "uvx")]
    truths = [Truth(each, np.arange(3)) for each in originals]
    found = Compose([releases[1]], truths=truths[1:], key="id").on(releases[0], truths[0])
    assert (found.exposed, found.figures["people_in_contradictory_classes"]) == (0, 3)
    assert found.figures["values_left_mean"] == 2


def test_people_of_two_originals_are_matched_by_a_key():
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


def test_people_without_a_key_are_not_one_person_twice():
    first = release("a", a=["[20, 30)"] * 3, s=["flu", "HIV", "ulcer"])
    nameless = table(a=["24", "25", "26"], key=[None, None, "bob"])
    assert Compose([first], register=nameless, key="key").on(first).of == 3
    twice = table(a=["24", "25", "26", "27"], key=[None, "bob", None, "bob"])
    with pytest.raises(BadInput, match="holds a person twice: row 4 repeats a 'key'"):
        Compose([first], register=twice, key="key").on(first)
