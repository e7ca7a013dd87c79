from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples
from naive_attacks import placements, release, same_rows, table, texts
from naive_worlds import credibilities

import shoal
from shoal.attacks.minimality import Minimality, Pool, count_worlds
from shoal.attacks.release_under_attack import Truth
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


def test_the_example_of_the_paper():
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
    assert found.figures["count_vectors_tried"] == 3  # two, one or none of q1 have HIV: 1 + 10 + 10 worlds
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
def test_minimality_agrees_with_enumeration(quasi, data):
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


def test_random_worlds_agree_with_all_worlds():
    quasi, values = ["a"] * 3 + ["b"] * 5 + ["c"] * 3, ["u", "u", "v", "u", "v", "w", "v", "w", "u", "v", "w"]
    run = merging(Fraction(1, 2))
    published, register = run(table(q=quasi, s=values)), table(q=quasi)
    exact = Minimality(run, register, worlds=10_000).on(published)
    some = Minimality(run, register, worlds=60, seed=5).on(published)
    assert exact.figures["every_world_tried"] == "yes"
    assert some.figures["every_world_tried"] != "yes"
    assert some.figures["largest_credibility"] == pytest.approx(exact.figures["largest_credibility"], abs=0.1)
    assert some == Minimality(run, register, worlds=60, seed=5).on(published)


def test_random_differences_expose_nobody():
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


def test_an_algorithm_that_ignores_sensitive_values_exposes_nobody():
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


def test_every_world_is_counted_once():
    """Kinds of 2 and 3 people, values u, v, w of 2, 2 and 1 rows: 5!/(2! 2! 1!) worlds, each in one count vector."""
    pool = Pool([np.array([0, 1]), np.array([2, 3, 4])], (2, 2, 1))
    listed = list(pool.list_counts())
    worlds = {
        world: tuple(tuple(Counter(part)[value] for value in range(3)) for part in (world[:2], world[2:]))
        for world in placements([0, 0, 1, 1, 2])
    }
    assert len(worlds) == sum(map(count_worlds, listed)) == 30
    assert Counter(worlds.values()) == {tuple(map(tuple, counts)): count_worlds(counts) for counts in listed}


def suppressing(limit, most, shown):
    """Suppresses the rows of kinds with a value above a share; if they are more than `most`, generalises all rows."""

    def plan(quasi, values):
        counts = Counter(zip(quasi, values, strict=True))
        bad = {q for (q, _), many in counts.items() if Fraction(many, quasi.count(q)) > limit}
        left = [q in bad for q in quasi]
        if sum(left) > most:
            return [("*", value) for value in values]
        rows = [(q, value) for q, value, out in zip(quasi, values, left, strict=True) if not out]
        return rows + [("*", value) for value, out in zip(values, left, strict=True) if out and shown]

    def run(world):
        rows = plan(texts(world, "q"), texts(world, "s"))
        return release("q", q=[q for q, _ in rows], s=[value for _, value in rows]) if rows else None

    return plan, run


@pytest.mark.parametrize("shown", [True, False])
@examples(80)
@given(st.lists(st.sampled_from("abc"), min_size=3, max_size=6), st.data())
def test_suppressed_rows_agree_with_enumeration(shown, quasi, data):
    """Whoever was left out may have any of the released values; all of these worlds are listed one by one."""
    quasi = sorted(quasi)
    values = data.draw(st.lists(st.sampled_from("uvw"), min_size=len(quasi), max_size=len(quasi)))
    plan, run = suppressing(Fraction(1, 2), data.draw(st.integers(0, 3)), shown)
    made = plan(quasi, values)
    if not made:
        return
    published = run(table(q=quasi, s=values))
    found = Minimality(run, table(q=quasi), worlds=100_000).on(published)
    seen = sorted({value for _, value in made})
    many, shares = credibilities(len(quasi), seen, lambda world: Counter(plan(quasi, world)), Counter(made))
    assert found.figures["every_world_tried"] == "yes"
    assert found.figures["worlds_that_give_this_release"] == many
    assert found.figures["largest_credibility"] == pytest.approx(max(float(max(each.values())) for each in shares))


def test_a_release_of_a_policy_that_suppresses():
    """The two of `b` are left out: had they not both the value that fills their class, they would be there."""
    people = {"q": ["a"] * 4 + ["b"] * 2 + ["c"] * 4, "s": ["u", "v"] * 2 + ["u", "u"] + ["v", "u"] * 2}
    rules = shoal.Policy(
        attributes={
            "q": {"role": "quasi-identifier", "hierarchy": {"tree": {"any": ["a", "b", "c"]}}},
            "s": "sensitive",
        },
        require=[{"model": "distinct-l-diversity", "l": 2}],
        method={"suppression": 0.2},
    )
    made = shoal.anonymize(pa.table(people), rules)
    assert made.summary.rows.suppressed == 2
    found = shoal.attack(made, Minimality(register=pa.table({"q": people["q"]})), policy=rules)
    # (u, u) and (v, v) are left out; (u, v) and (v, u) are not: 6 · 6 ways for the others
    assert found.figures["worlds_tried"] == 6 * 6 * 4
    assert found.figures["worlds_that_give_this_release"] == 6 * 6 * 2
    told = shoal.attack(made, Minimality(), policy=rules, original=pa.table(people))
    assert told.success.guesses == 10


def test_people_drawn_for_those_left_out_are_as_likely_as_worlds():
    """One row shows u, two people are left out: three people have 3, 2 or 1 times u in 1, 3 and 3 worlds."""
    pool, random = Pool([np.arange(3)], (1, 0)), np.random.default_rng(7)
    drawn = Counter(int((pool.draw_codes(random)[1] == 0).sum()) for _ in range(7_000))
    assert [drawn[many] / 7_000 for many in (3, 2, 1)] == pytest.approx([1 / 7, 3 / 7, 3 / 7], abs=0.03)


def test_added_rows_are_refused():
    truth = Truth(table(q=["a", "a", "b"], s=["u", "v", "u"]), np.array([0, 1, -1]))
    with pytest.raises(BadInput, match="without added rows"):
        Minimality(merging(Fraction(1, 2))).on(release("q", q=["a", "a", "b"], s=["u", "v", "u"]), truth)
