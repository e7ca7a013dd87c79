"""The greedy search of the (alp,dif) paper (S3.4) and its two weightings (S3.5)."""

from dataclasses import replace
from fractions import Fraction

import naive
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.hierarchy.lattice import Lattice
from shoal.search.driver import drive_walk
from shoal.search.greedy import greedy, step_losses

WEIGHTINGS = ["importance", "paper"]


def weight(instance, name, weighting):
    """The importance; equation (10): 1 - W, where W is 1 for what is not mentioned, and 0 if nothing is."""
    given = [attribute.importance for attribute in instance.attributes.values()]
    own = instance.attributes[name].importance
    if weighting == "importance":
        return Fraction(1) if own is None else own
    if all(importance is None for importance in given):
        return Fraction(1)
    return Fraction(0) if own is None else 1 - own


def loss(instance, name, level, weighting):
    """Equations (9) and (10), over the rows."""
    attribute = instance.attributes[name]
    lost = sum(Fraction(attribute.leaves_under(value, level) - 1, len(attribute.leaves)) for value in attribute.values)
    return weight(instance, name, weighting) * lost


def step(instance, node, weighting):
    """The attribute with least loss is chosen for generalisation; ties by name."""
    best, least = None, None
    for i, name in enumerate(instance.names):
        if node[i] < instance.attributes[name].high:
            lost = loss(instance, name, node[i] + 1, weighting)
            if least is None or lost < least:
                best, least = i, lost
    return None if best is None else tuple(level + (i == best) for i, level in enumerate(node))


def by_the_book(instance, weighting):
    """Section 4.C: first until k holds, suppressing at most v rows, then until all does."""
    sizes = [naive.k_anonymity(promise.model.k) for promise in instance.promises if hasattr(promise.model, "k")]
    node = tuple(instance.attributes[name].low for name in instance.names)
    for wanted in (replace(instance, promises=sizes, show=False), instance):
        while not wanted.outcome(node).ok:
            node = step(instance, node, weighting)
            if node is None:
                return ()
    return (node,)


@pytest.mark.parametrize("share", naive.SHARES)
def test_equals_the_book(share):
    """S3.4, S3.5: with both weightings, for policies of every closure."""

    @naive.examples(300)
    @given(naive.instances(share, naive.EVERY_CLOSURE, st.booleans()))
    def check(instance):
        oracle = instance.oracle()
        for weighting in WEIGHTINGS:
            walk = greedy(instance.lattice(), step_losses(oracle.before, weighting))
            assert drive_walk(walk, oracle) == by_the_book(instance, weighting)

    check()


def table(importance):
    """Two columns that are the same but for what they matter."""
    flat, values = [dict.fromkeys("ab", "*")], list("abab")
    attributes = {name: naive.Attribute(["a", "b"], flat, values, 0, 1, w) for name, w in importance.items()}
    return naive.Instance(attributes, list("uvwu"), [naive.k_anonymity(3)], 0)


@pytest.mark.parametrize(("weighting", "first"), [("importance", (0, 1)), ("paper", (1, 0))])
def test_the_two_weightings_disagree(weighting, first):
    """S3.5: `age` matters more. By default it is kept; equation (10) generalises it first."""
    before = table({"age": Fraction(3, 4), "sex": Fraction(1, 4)}).before()
    walk = greedy(table({"age": None, "sex": None}).lattice(), step_losses(before, weighting))
    asked, _ = naive.run_search(walk, lambda _: False)
    assert [question.node for question in asked] == [(0, 0), first, (1, 1)]


def test_without_importance_the_two_weightings_agree():
    """S3.5."""
    before = table({"age": None, "sex": None}).before()
    one, other = (step_losses(before, weighting) for weighting in WEIGHTINGS)
    assert [list(losses) for losses in one] == [list(losses) for losses in other] == [[0, 2], [0, 2]]


def test_the_loss_is_equation_9_over_the_rows():
    """S3.5: (leaves under v' - 1) / (leaves of the domain), not / (leaves - 1): 4 rows, 1 of 2 leaves more."""
    before = table({"age": Fraction(1, 2), "sex": None}).before()
    assert [list(losses) for losses in step_losses(before, "importance")] == [[0, 1], [0, 2]]
    assert [list(losses) for losses in step_losses(before, "paper")] == [[0, 1], [0, 0]]


def test_the_next_level_counts_and_not_what_it_adds():
    """Equation (10): from losses 0.5 and 0, next 0.6 and 0.55, the second is raised, though its step adds more."""
    walk = greedy(Lattice(("a", "b"), (1, 0), (2, 1)), [[0.0, 0.5, 0.6], [0.0, 0.55]])
    assert [next(walk).node, walk.send(False).node] == [(1, 0), (1, 1)]
