from math import e

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples
from naive_attacks import release, same_rows, table

from shoal.attacks.attack import Rate
from shoal.attacks.singling_out import (
    SinglingOut,
    class_weights,
    count_satisfying,
    hash_records,
    isolation,
    isolation_by_guessing,
)
from shoal.errors import BadInput


def test_the_figures_of_the_paper():
    """models.md section 2: trivial success at most 1/e, at w = 1/n; isolation (1 - 1/|E|)^(|E| - 1), about 37 %."""
    n = 10_000
    assert isolation_by_guessing(n, np.array([1 / n]))[0] == pytest.approx(1 / e, abs=1e-4)
    assert (
        isolation_by_guessing(n, np.linspace(1e-6, 1e-2, 1_000)).max() <= isolation_by_guessing(n, np.array([1 / n]))[0]
    )
    assert isolation(np.array([1_000]))[0] == pytest.approx(1 / e, abs=1e-3)
    assert isolation(np.array([5]))[0] == pytest.approx(0.8**4)


def test_weights_are_products_of_marginals():
    published = release("ab", [], a=["1", "1", "2", "2"], b=["x", "y", "y", "y"])
    marginals = {"1": 0.5, "2": 0.5, "x": 0.25, "y": 0.75}
    shown = sorted({("1", "x"), ("1", "y"), ("2", "y")})
    wanted = sorted(marginals[a] * marginals[b] for a, b in shown)
    assert sorted(class_weights(published).tolist()) == pytest.approx(wanted)
    control = table(a=["1"] * 3 + ["2"], b=["x"] * 4)  # once more each, by Laplace's rule
    assert sorted(class_weights(published, control).tolist()) == pytest.approx(
        sorted({("1", "x"): 4 / 6 * 5 / 6, ("1", "y"): 4 / 6 / 6, ("2", "y"): 2 / 6 / 6}[each] for each in shown)
    )


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 39), st.sampled_from("xy")), min_size=1, max_size=12), st.integers(0, 5))
def test_isolated_people_are_counted_one_by_one(people, seed):
    """Ages in tens, and `*` for the second attribute of every other class."""
    ages = [f"[{a // 10 * 10}, {a // 10 * 10 + 10})" for a, _ in people]
    others = ["*" if a // 10 % 2 else b for a, b in people]
    original = table(a=[str(a) for a, _ in people], b=[b for _, b in people])
    published = release("ab", [], a=ages, b=others)
    part = hash_records(original, seed)
    wanted = []
    for class_ in range(len(published.counts.sizes)):
        row = published.class_of_row.tolist().index(class_)
        size = published.class_of_row.tolist().count(class_)
        ten = int(ages[row][1:].split(",")[0]) // 10
        inside = [a // 10 == ten and others[row] in ("*", b) for a, b in people]
        wanted.append(sum(i and p < 1 / size for i, p in zip(inside, part, strict=True)))
    assert count_satisfying(published, original, seed).tolist() == wanted


def test_a_fair_share_of_predicates_isolates():
    """A hundred rare classes of five: Wilson's interval holds (1 - 1/5)^4."""
    cells = [f"{i:03}" for i in range(100) for _ in range(5)]
    original = table(a=cells, b=cells, name=[str(i) for i in range(500)])
    published = release("ab", [], a=cells, b=cells)
    found = SinglingOut(seed=11).on(published, same_rows(original))
    assert found.figures["classes_that_breach"] == 100  # weight 1/10,000 where 1/n is 1/500, were they independent
    low, high = found.success.interval
    assert low < 0.8**4 < high
    assert found.success.share > found.baseline.share
    assert found.exposed == int(100 * 0.8**4)  # as expected of any hash, not as one hash has it
    assert SinglingOut(seed=11).on(published, same_rows(original)) == found
    assert not np.array_equal(hash_records(original, 11), hash_records(original, 12))


def test_a_single_class_that_breaches_exposes_somebody_with_and_without_the_truth():
    """One rare pair of five among common ones: 0.41 records are expected, so which hash is taken decides on 0 or 1."""
    first, second = ["a"] * 495 + ["z"] * 5, ["b"] * 495 + ["y"] * 5
    original = table(a=first, b=second, name=[str(i) for i in range(500)])
    published = release("ab", [], a=first, b=second)
    found = [SinglingOut(seed=seed).on(published, same_rows(original)) for seed in range(8)]
    assert {each.figures["classes_that_breach"] for each in found} == {1}
    assert {each.success.right for each in found} == {0, 1}
    assert {each.exposed for each in [*found, SinglingOut().on(published)]} == {1}
    assert {SinglingOut.words(each.figures, each.exposed) for each in found} == {
        "about 1 can be isolated by a predicate that fits hardly anybody"
    }


def test_an_open_tail_is_as_common_as_its_rows():
    """No value below 20 is known; the class is no rarer for that."""
    published = release("a", [], a=["<20"] * 5 + ["[20, 40)"] * 5 + ["≥40"] * 10)
    assert class_weights(published).tolist() == [0.25, 0.25, 0.5]
    assert SinglingOut().on(published).exposed == 0


def test_common_classes_do_not_breach():
    found = SinglingOut().on(release("a", [], a=["1", "2"] * 50))
    assert (found.exposed, found.figures["classes_that_breach"]) == (0, 0)
    assert found.success is None


@pytest.mark.parametrize(("how", "said"), [({"below": 0}, "below"), ({"seed": "x"}, "seed")])
def test_bad_options(how, said):
    with pytest.raises(BadInput, match=said):
        SinglingOut(**how)


def test_a_control_table_has_every_column():
    with pytest.raises(BadInput, match="no column 'a'"):
        SinglingOut(control=table(b=["1"])).on(release("a", [], a=["1"]))
    assert Rate(0, 0).share == 0.0  # nothing breaches: no guesses
