from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples
from naive_attacks import placements, release, same_rows, table, texts

from shoal.attacks.minimality import Minimality
from shoal.errors import BadInput


def the_paper(world):
    """2-diversity on HIV: q1 joins just as many of q2 as make its share of HIV at most 1/2."""
    quasi, values = texts(world, "q"), texts(world, "s")
    ones = [i for i, q in enumerate(quasi) if q == "q1"]
    others = [i for i, q in enumerate(quasi) if q != "q1"]
    ill = sum(values[i] == "HIV" for i in ones)
    if 2 * ill <= len(ones):
        return release("q", q=quasi, s=values)
    well_first = sorted(others, key=lambda i: values[i] == "HIV")
    joined = {*ones, *well_first[: 2 * ill - len(ones)]}
    return release("q", q=["Q" if i in joined else quasi[i] for i in range(len(quasi))], s=values)


REGISTER = table(q=["q1"] * 2 + ["q2"] * 5)


def covering(published):
    """`Q` covers both: what the hierarchy says."""
    from dataclasses import replace

    from shoal.hierarchy.build import Rows

    return replace(published, builders={"q": Rows([["q1", "Q", "*"], ["q2", "Q", "*"]])})


def test_who_must_be_ill():
    """models.md section 2: 21 placements of 2 HIV among 7, one of which forces generalisation."""
    world = table(q=["q1"] * 2 + ["q2"] * 5, s=["HIV"] * 2 + ["no"] * 5)
    published = covering(the_paper(world))
    assert sorted(Counter(zip(texts(published.table, "q"), texts(published.table, "s"), strict=True)).items()) == [
        (("Q", "HIV"), 2),
        (("Q", "no"), 2),
        (("q2", "no"), 3),
    ]
    found = Minimality(the_paper, REGISTER, values=("HIV",), m=2).on(published)
    assert found.figures["worlds_tried"] == 21
    assert found.figures["worlds_that_give_this_release"] == 1
    assert found.figures["every_world_tried"] == "yes"
    assert found.exposed == 2  # both of q1
    assert found.figures["largest_credibility"] == 1
    assert found.figures["largest_share_shown"] == 0.5
    assert found.figures["exposed_without_knowing_the_algorithm"] == 0


def merging(limit):
    """Everybody becomes one class as soon as a value has more than a share of a class."""

    def run(world):
        quasi, values = texts(world, "q"), texts(world, "s")
        worst = max(Fraction(many, quasi.count(q)) for (q, _), many in Counter(zip(quasi, values, strict=True)).items())
        return release("q", q=["*"] * len(quasi) if worst > limit else quasi, s=values)

    return run


@examples(60)
@given(st.lists(st.sampled_from("ab"), min_size=2, max_size=6), st.data())
def test_as_enumerated(quasi, data):
    values = data.draw(st.lists(st.sampled_from("uvw"), min_size=len(quasi), max_size=len(quasi)))
    run = merging(Fraction(1, 2))
    published = run(table(q=quasi, s=values))
    found = Minimality(run, table(q=quasi), worlds=1_000).on(published)
    wanted = Counter(zip(texts(published.table, "q"), values, strict=True))
    kept = []
    for world in placements(values):
        made = run(table(q=quasi, s=world))
        if Counter(zip(texts(made.table, "q"), world, strict=True)) == wanted:
            kept.append(world)
    most = max(max(Counter(column).values()) / len(kept) for column in zip(*kept, strict=True))
    assert found.figures["worlds_that_give_this_release"] == len(kept)
    assert found.figures["largest_credibility"] == pytest.approx(most)


def test_worlds_at_random_agree_with_all_of_them():
    quasi, values = ["a"] * 3 + ["b"] * 5, ["u", "u", "v", "u", "v", "w", "v", "w"]
    run = merging(Fraction(1, 2))
    published, register = run(table(q=quasi, s=values)), table(q=quasi)
    exact = Minimality(run, register, worlds=10_000).on(published)
    some = Minimality(run, register, worlds=400, seed=5).on(published)
    assert exact.figures["every_world_tried"] == "yes"
    assert some.figures["every_world_tried"] != "yes"
    assert some.figures["largest_credibility"] == pytest.approx(exact.figures["largest_credibility"], abs=0.1)
    assert some == Minimality(run, register, worlds=400, seed=5).on(published)


def test_chance_alone_raises_nobody():
    """All worlds give the release: what differs from the shares does so by chance."""
    published = release("q", q=["*"] * 40, s=["u", "v", "w", "x"] * 10)
    found = Minimality(lambda world: release("q", q=["*"] * 40, s=texts(world, "s")), table(q=["1"] * 40), worlds=50)
    told = found.on(published)
    assert told.figures["people_raised"] == told.exposed == 0


def test_the_original_serves_as_register_and_tells_who_was_right():
    original = table(q=["q1"] * 2 + ["q2"] * 5, s=["HIV"] * 2 + ["no"] * 5)
    published = covering(the_paper(original))
    found = [Minimality(the_paper, seed=seed).on(published, same_rows(original)) for seed in range(10)]
    assert all(each.success.right == 7 for each in found)  # one world is left
    assert min(each.baseline.right for each in found) < 7  # of q1 the release alone says 1/2


def test_an_algorithm_that_does_not_look_tells_nothing():
    found = Minimality(None, table(q=["1", "1"]), depends=False).on(release("q", q=["*"] * 2, s=["u", "v"]))
    assert found.exposed == 0
    assert "does not look" in found.sentence


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (Minimality(the_paper), "needs a register"),
        (Minimality(the_paper, table(q=["q1"])), "has 1 people"),
        (Minimality(the_paper, table(p=["q1"] * 2)), "no column 'q'"),
        (Minimality(the_paper, table(q=["q1", "other"])), "fit into no class"),
        (Minimality(the_paper, table(q=["q1"] * 2), seed=1.5), "whole number"),
        (Minimality(the_paper, table(q=["q1"] * 2), values=("x",)), "does not occur"),
        (Minimality(the_paper, table(q=["q1"] * 2, i=["x"] * 2), key="i"), "holds a person twice"),
    ],
)
def test_bad_inputs(how, said):
    with pytest.raises(BadInput, match=said):
        how.on(release("q", q=["q1"] * 2, s=["u", "v"]))


def test_a_world_never_repeats():
    from shoal.attacks.minimality import every, how_many

    groups = [np.array([0, 0, 1]), np.array([0, 1, 2])]
    seen = [tuple(np.concatenate(world).tolist()) for world in every(groups)]
    assert len(seen) == len(set(seen)) == how_many(groups) == 18
