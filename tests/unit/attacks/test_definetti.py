import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import THOROUGH, examples
from naive_attacks import release, same_rows, table
from naive_worlds import counted_marginals, permuted_marginals, summed_marginals

from shoal.attacks.definetti import DeFinetti, MemberGroups
from shoal.attacks.release_under_attack import Published
from shoal.errors import BadInput


def grouped(quasi, values, groups):
    """People as they are, in groups whose values stand elsewhere: Anatomy."""
    whole = release(quasi, s=list(values), **quasi)
    classes = release("g", s=list(values), g=[str(g) for g in groups])
    return replace(whole, class_of_row=classes.class_of_row, counts=classes.counts)


def generated(seed, dependence, people=4_000):
    """A value that goes with two quasi-identifiers, or with none; groups of four at random."""
    random = np.random.default_rng(seed)
    values = random.choice(5, people, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    noise = random.integers(0, 5, (2, people))
    keep = random.random((2, people)) < dependence
    quasi = {name: [str(v) for v in np.where(keep[i], values, noise[i])] for i, name in enumerate("ab")}
    groups = random.permutation(people) // 4
    return quasi, [str(v) for v in values], groups


def attacked(seed, dependence) -> tuple:
    quasi, values, groups = generated(seed, dependence)
    found = DeFinetti(seed=seed).on(grouped(quasi, values, groups), same_rows(table(**quasi, s=values)))
    return found.success.interval, found.baseline.interval


@pytest.mark.parametrize("seed", [1, 2])
def test_groups_reveal_a_correlation(seed):
    success, baseline = attacked(seed, 0.7)
    assert success[0] > baseline[1]  # Wilson's intervals do not meet


@pytest.mark.parametrize(
    ("dependence", "said"),
    [
        (
            0.7,
            r"the attacker is at least 90% sure of [0-9,]+ and right about [0-9,]+: better than without learning, so",
        ),
        (0.0, r"the attacker is at least 90% sure of nobody, so this exposes nobody"),
    ],
)
def test_the_sentence_says_whether_it_is_better_than_guessing(dependence, said):
    quasi, values, groups = generated(2, dependence)
    found = DeFinetti(seed=1).on(grouped(quasi, values, groups), same_rows(table(**quasi, s=values)))
    assert re.search(said, found.sentence)


@pytest.mark.parametrize("anatomy", [True, False])
def test_neither_the_order_of_rows_and_columns_nor_the_numbers_of_classes_change_what_is_found(anatomy):
    """A report, which looks at the release as it is made, tells the same as an audit, which reads it from disk.

    Groups of Anatomy have numbers that are published; other classes go by what they show.
    """
    quasi, values, groups = generated(3, 0.5, 800)
    labels = [str(1_000 + g) for g in groups]
    random = np.random.default_rng(7)

    def found(order, names):
        shuffled = {name: [quasi[name][i] for i in order] for name in names}
        ill, of = [values[i] for i in order], [labels[i] for i in order]
        original = table(**shuffled, s=ill)
        if anatomy:
            return DeFinetti().on(grouped(shuffled, ill, of), same_rows(original))
        shown = release(names, s=ill, **dict.fromkeys(names, of))
        mixed = random.permutation(len(shown.counts.sizes))  # classes by other numbers
        counts = release("g", s=ill, g=[f"{mixed[c]:04}" for c in shown.class_of_row])
        return DeFinetti().on(
            replace(shown, class_of_row=counts.class_of_row, counts=counts.counts), same_rows(original)
        )

    assert found(range(800), "ab") == found(random.permutation(800), "ba")


def test_belief_that_is_no_better_than_guessing_exposes_nobody():
    """Few people, nothing to learn, and an attacker who calls 55 % sure."""
    quasi, values, groups = generated(1, 0.0, 40)
    found = DeFinetti(seed=1, sure=0.55).on(grouped(quasi, values, groups), same_rows(table(**quasi, s=values)))
    said = (
        r"the attacker believes to be at least 55% sure of [0-9]+ but is wrong about [0-9]+ of them: learning does not"
    )
    assert re.search(said, found.sentence)


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_learned_without_a_correlation(seed):
    success, baseline = attacked(seed, 0.0)
    assert success[0] <= baseline[1]


def test_generalised_classes_are_attacked_by_who_knows_everybody():
    quasi, values, groups = generated(3, 0.8)
    published = release("g", s=values, g=[f"{g}*" for g in groups])
    published = replace(published, quasi_identifiers={"a": published.quasi_identifiers["g"]})
    with pytest.raises(BadInput, match="look alike"):
        DeFinetti().on(published)
    found = DeFinetti().on(published, same_rows(table(a=quasi["a"], s=values)))
    assert found.success.interval[0] > found.baseline.interval[1]


def test_the_same_seed_gives_the_same():
    quasi, values, groups = generated(4, 0.5, 200)
    published = grouped(quasi, values, groups)
    assert DeFinetti(seed=7).on(published) == DeFinetti(seed=7).on(published)


@st.composite
def weighted_groups(draw, size):
    values = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    numbers = st.lists(st.floats(-1, 1), min_size=3, max_size=3)
    return values, np.array([draw(numbers) for _ in range(size)])


def group_of(values, size=3):
    return MemberGroups(np.zeros(len(values), dtype=np.int64), np.bincount(values, minlength=size)[None])


@examples(100)
@given(weighted_groups(2))
def test_scaling_is_exact_for_groups_of_two(drawn):
    values, logs = drawn
    wanted = np.array(permuted_marginals(logs.tolist(), values))
    assert group_of(values).scale_to_counts(logs) == pytest.approx(wanted, abs=0.01)


@examples(200)
@given(st.integers(1, 6).flatmap(weighted_groups), st.integers(1, 6).flatmap(weighted_groups), st.randoms())
def test_small_groups_are_exact(one, other, random):
    """Two groups at once, their members mixed, held against all permutations."""
    logs = np.concatenate([one[1] * 5, other[1] * 5])
    wanted = np.array(
        [*permuted_marginals((one[1] * 5).tolist(), one[0]), *permuted_marginals((other[1] * 5).tolist(), other[0])]
    )
    order = list(range(len(logs)))
    random.shuffle(order)
    group = np.repeat([0, 1], [len(one[0]), len(other[0])])[order]
    groups = MemberGroups(group, np.stack([np.bincount(each[0], minlength=3) for each in (one, other)]))
    assert groups.estimate_probabilities(logs[order]) == pytest.approx(wanted[order], abs=1e-9)


@pytest.mark.parametrize("size", [3, 4, 5, 6])
def test_scaling_small_groups_errs_by_little(size):
    """At most 0.055 against all permutations; a bare scaling with exponent 2, as for pairs, errs twice as much."""
    random, errors, bare = np.random.default_rng(size), [], []
    for _ in range(100 if THOROUGH else 10):
        values, logs = random.integers(0, 3, size), random.uniform(-1, 1, (size, 3))
        wanted = np.array(permuted_marginals(logs.tolist(), values.tolist()))
        found = group_of(values).scale_to_counts(logs)
        assert found.sum(axis=1) == pytest.approx(np.ones(size))
        errors.append(np.abs(found - wanted).max())
        bare.append(np.abs(scaled(np.exp(2 * logs), np.bincount(values, minlength=3)) - wanted).max())
    assert max(errors) <= 0.02
    assert np.mean(errors) < np.mean(bare) / 5


def scaled(weights, counts):
    """Sinkhorn's scaling alone."""
    for _ in range(200):
        weights = weights * (counts / np.maximum(weights.sum(axis=0), 1e-9))
        weights = weights / weights.sum(axis=1, keepdims=True)
    return weights


@pytest.mark.parametrize(("spread", "most"), [(1, 0.02), (2, 0.055), (4, 0.15)])
def test_groups_too_large_to_be_exact_err_by_little(spread, most):
    """At most 0.055 against count vectors, where the log likelihoods of values differ by some 2; 0.002 on the mean."""
    random, errors = np.random.default_rng(spread), []
    while len(errors) < (60 if THOROUGH else 12):
        size, values = int(random.integers(9, 60)), int(random.integers(3, 8))
        counts = random.multinomial(size, random.dirichlet(np.full(values, 2.0)))
        if not 256 < np.prod(counts + 1.0) < 6_000:
            continue
        logs = random.normal(size=(size, values)) * spread
        found = MemberGroups(np.zeros(size, dtype=np.int64), counts[None]).estimate_probabilities(logs)
        errors.append(np.abs(found - np.array(counted_marginals(logs.tolist(), counts.tolist()))))
    assert max(each.max() for each in errors) <= most
    assert np.mean([each.mean() for each in errors]) <= 0.002


@pytest.mark.parametrize(("spread", "most"), [(1, 0.005), (2, 0.02), (4, 0.06)])
def test_rare_values_of_large_groups_err_by_little(spread, most):
    """Beyond 64 members, where a normal law alone errs by 0.055 on a value that two of them have."""
    random, errors = np.random.default_rng(10 + spread), []
    while len(errors) < (60 if THOROUGH else 8):
        size, values = int(random.integers(65, 120)), int(random.integers(2, 5))
        counts = random.multinomial(size, random.dirichlet(np.full(values, 0.4)))
        if not 256 < np.prod(counts + 1.0) < 6_000:
            continue
        logs = random.normal(size=(size, values)) * spread
        found = MemberGroups(np.zeros(size, dtype=np.int64), counts[None]).estimate_probabilities(logs)
        errors.append(np.abs(found - np.array(counted_marginals(logs.tolist(), counts.tolist()))).max())
    assert max(errors) <= most


def test_many_unlikely_values_are_no_zero():
    """127 of 128 members have a value that each of them is all but sure not to have."""
    logs = np.stack([np.full(128, -25.0), np.linspace(0, 1, 128)], axis=1)
    found = group_of([0] * 127 + [1], 2).estimate_probabilities(logs)
    odds = np.exp(logs[:, 1])
    assert found[:, 1] == pytest.approx(odds / odds.sum())


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_fifty_are_not_told_as_surer_than_they_are(seed):
    """More than 256 count vectors, so that weights are scaled; each way is summed by an oracle."""
    logs = np.random.default_rng(seed).normal(size=(50, 2)) * 1.2
    wanted = np.array(summed_marginals(np.exp(logs[:, 1] - logs[:, 0]).tolist(), 25))
    found = group_of([0] * 25 + [1] * 25, 2).estimate_probabilities(logs)[:, 1]
    assert found == pytest.approx(wanted, abs=1e-4)
    surest = [np.maximum(each, 1 - each) >= 0.9 for each in (found, wanted)]
    assert abs(int(surest[0].sum()) - int(surest[1].sum())) <= 2


def random_table(seed):
    """People with up to three quasi-identifiers that go with a value, more or less or not at all, in groups."""
    random = np.random.default_rng(seed)
    people, values = int(random.choice([24, 60, 120, 300, 800])), int(random.integers(2, 7))
    size, dependence = int(random.integers(2, 9)), random.random() * (random.random() < 0.8)
    true = random.choice(values, people, p=random.dirichlet(np.full(values, 2.0)))
    quasi = []
    for _ in range(int(random.integers(1, 4))):
        codes = int(random.integers(2, 8))
        usual = random.permutation(max(values, codes))[:values] % codes
        quasi.append(np.where(random.random(people) < dependence, usual[true], random.integers(0, codes, people)))
    # groups at random, or with as many different values as there are, as Anatomy makes them
    order = random.permutation(people) if random.random() < 0.6 else np.argsort(true + random.random(people) / 2)
    group = np.empty(people, dtype=np.int64)
    group[order] = np.arange(people) % max(people // size, 1)
    return {f"q{i}": [str(code) for code in codes] for i, codes in enumerate(quasi)}, true.astype(str).tolist(), group


@pytest.mark.parametrize(
    "tables", [30 if THOROUGH else 10, pytest.param(200, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_who_is_told_as_sure_is_right(tables):
    """Of those told as at least 90 % sure, at least 85 % are right; most had nothing else to learn from."""
    sure = right = 0
    for seed in range(tables):
        quasi, values, groups = random_table(seed)
        found = DeFinetti(seed=seed).on(grouped(quasi, values, groups), same_rows(table(**quasi, s=values)))
        sure += found.figures["people_with_a_likely_value"]
        right += found.exposed
    assert sure > tables
    assert right / sure >= 0.85


@pytest.mark.parametrize(
    ("how", "said"),
    [({"rounds": 0}, "rounds"), ({"sure": 2}, "sure"), ({"seed": 0.5}, "whole number"), ({"attribute": "x"}, "'x'")],
)
def test_bad_options(how, said):
    quasi, values, groups = generated(4, 0.5, 20)
    with pytest.raises(BadInput, match=said):
        DeFinetti(**how).on(grouped(quasi, values, groups))


def test_no_sensitive_attribute():
    with pytest.raises(BadInput, match="no sensitive attribute"):
        DeFinetti().on(Published.of("r", table(a=["1", "2"]), ["a"], []))


def test_every_sensitive_column_is_tried_and_the_worst_is_told():
    quasi, values, groups = generated(4, 0.9, 400)
    dull = ["x", "y"] * 200
    whole, labels = table(**quasi, dull=dull, s=values), [str(g) for g in groups]
    seen = release("ab", ["dull", "s"], dull=dull, s=values, **quasi)
    classes = release("g", ["dull", "s"], dull=dull, s=values, g=labels)
    seen = replace(seen, class_of_row=classes.class_of_row, counts=classes.counts)
    worst = DeFinetti(seed=1).on(seen, same_rows(whole))
    assert worst.exposed > 0
    assert worst.columns == ("s",)
    assert worst.sentence.startswith("of s: learning from all classes")
    assert DeFinetti(seed=1, attribute="s").on(seen, same_rows(whole)).exposed == worst.exposed
    few = DeFinetti(seed=1, most_cells=400 * (2 + 8)).on(seen, same_rows(whole))
    assert (few.figures["attribute"], few.columns_left) == ("dull", ("s",))
