from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples
from naive_attacks import k_anonymous, release, same_rows, splits_of, table
from real_tables import DATA

import shoal
from shoal.attacks.child_splits import Splits
from shoal.attacks.downcode import Downcode, Promise
from shoal.errors import BadInput
from shoal.hierarchy.inline_tree import Tree
from shoal.hierarchy.intervals import Intervals
from shoal.models import MODELS
from shoal.models.k_anonymity import KAnonymity

SEX = {"q": Tree({"any": ["f", "m"]})}


def test_three_people_of_two_children_are_surely_of_both():
    """models.md section 2: |E| = k = 3, two children, local recoding: (0,3) and (3,0) are impossible."""
    published = release("q", [], SEX, q=["*"] * 3)
    found = Downcode(k=3, minimal="class").on(published)
    assert found.figures["cells_certain"] == found.exposed == 2
    splits = Splits.of(3, np.array([0.5, 0.5]), Promise([KAnonymity(3)]).sizes, 100, np.random.default_rng(0))
    allowed = {tuple(way) for way, weight in zip(splits.ways.tolist(), splits.posterior(), strict=True) if weight > 0}
    assert allowed == {(1, 2), (2, 1)}


def test_guesses_are_held_against_the_truth():
    """Nine of ten are f: without minimality all are guessed so, with it one is not."""
    control = table(q=["f"] * 90 + ["m"] * 10)
    published = release("q", [], SEX, q=["*"] * 3)
    found = Downcode(k=3, minimal="class", control=control).on(published, same_rows(table(q=["f", "f", "m"])))
    assert (found.success.right, found.success.guesses) == (3, 3)
    assert (found.baseline.right, found.baseline.guesses) == (2, 3)
    assert found.figures["cells_certain_and_true"] == 2
    assert found.figures["labels_that_were_not_minimal"] == 0


def test_a_release_that_was_not_minimal_is_noticed():
    published = release("q", [], SEX, q=["*"] * 4)
    found = Downcode(k=2, minimal="class").on(published, same_rows(table(q=["f", "f", "m", "m"])))
    assert found.figures["labels_that_were_not_minimal"] == 1


@examples(120)
@given(st.integers(2, 5), st.integers(2, 3), st.integers(1, 4), st.data())
def test_classes_as_enumerated(size, children, k, data):
    weights = np.array([data.draw(st.integers(1, 9)) for _ in range(children)], dtype=float)
    shares = weights / weights.sum()
    splits = Splits.of(size, shares, Promise([KAnonymity(k)]).sizes, 10_000, np.random.default_rng(0))
    posterior = dict(zip(map(tuple, splits.ways.tolist()), splits.posterior().tolist(), strict=True))
    wanted, fewest = {}, None
    for worlds, weight, fine in splits_of(size, shares, k_anonymous(k)):
        way = tuple(worlds.count(child) for child in range(children))
        if not fine:
            wanted[way] = wanted.get(way, 0.0) + weight
            fewest = way if fewest is None else tuple(map(min, fewest, way))
    total = sum(wanted.values())
    for way, weight in posterior.items():
        assert weight == pytest.approx(wanted.get(way, 0.0) / total if total else 0.0)
    assert tuple(splits.surely(alone=True).tolist()) == (fewest or (0,) * children)


@examples(60)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(2, 3))
def test_columns_as_enumerated(sizes, k):
    """Full-domain: the finer column fails if any class does."""
    labels = [label for i, size in enumerate(sizes) for label in [f"g{i}"] * size]
    published = release("gq", [], SEX, g=labels, q=["*"] * len(labels))
    worlds = list(product(*(product("fm", repeat=size) for size in sizes)))
    failing = [world for world in worlds if not all(k_anonymous(k)(members) for members in world)]
    sure = 0
    for i in range(len(sizes)):
        counts = [(world[i].count("f"), world[i].count("m")) for world in failing]
        sure += sum(map(min, zip(*counts, strict=True))) if counts else 0
    found = Downcode(k=k, minimal="column").on(published)
    assert found.figures["cells_certain"] == sure


def test_any_promise_is_judged_by_its_members():
    """Two f, two m; one of each value: split by sex, the classes have two values each or one."""
    published = release("q", ["s"], SEX, q=["*"] * 4, s=["u", "u", "v", "v"])
    found = Downcode(models=[MODELS["distinct-l-diversity"](l=2, attribute="s")], minimal="class").on(published)
    # (4,0) and (0,4) have two values, (1,3) leaves one alone; (2,2) may be {u,u}: each child has one member at least
    assert found.figures["cells_certain"] == 2
    assert found.figures["labels_judged_by_draws"] == 0


@examples(60)
@given(st.lists(st.sampled_from("uv"), min_size=2, max_size=5), st.integers(1, 2))
def test_any_promise_as_enumerated(values, l):
    published = release("q", ["s"], SEX, q=["*"] * len(values), s=values)
    found = Downcode(models=[MODELS["distinct-l-diversity"](l=l, attribute="s")], minimal="class").on(published)
    fewest = None
    for world in product(range(2), repeat=len(values)):
        held = [{v for v, c in zip(values, world, strict=True) if c == child} for child in {*world}]
        if not all(len(each) >= l for each in held):
            way = world.count(0), world.count(1)
            fewest = way if fewest is None else tuple(map(min, fewest, way))
    assert found.figures["cells_certain"] == (sum(fewest) if fewest else 0)


def test_columns_of_one_level_are_minimal_as_columns():
    ages = {"a": Intervals([10, 20])}
    one = release("a", [], ages, a=["[20, 30)"] * 2 + ["[30, 40)"] * 2)
    assert Downcode().on(one).figures["minimal"] == "each column"
    several = release("a", [], ages, a=["[20, 40)"] * 2 + ["[40, 50)"] * 2)
    assert Downcode().on(several).figures["minimal"] == "each class"


@pytest.mark.parametrize(
    ("how", "said"),
    [({"k": 0}, "k must"), ({"seed": -1}, "seed"), ({"minimal": "row"}, "minimal"), ({"most": 0}, "most")],
)
def test_bad_options(how, said):
    with pytest.raises(BadInput, match=said):
        Downcode(**how)


def test_without_hierarchies_there_is_nothing_to_make_finer():
    with pytest.raises(BadInput, match="give the policy"):
        Downcode().on(release("q", [], q=["*"] * 3))
    with pytest.raises(BadInput, match="no column 'q'"):
        Downcode(control=table(p=["f"])).on(release("q", [], SEX, q=["*"] * 3))


@pytest.mark.skipif(not (DATA / "adult").is_dir(), reason="Adult is not beside the repository")
def test_local_recoding_of_adult_is_downcoded():
    """k = 5: thousands of cells can be made finer, and every one of them is true."""
    names = ["sex", "age", "race", "marital-status", "workclass", "salary-class"]
    tree = DATA / "adult" / "hierarchies"
    quasi = {
        name: {"role": "quasi-identifier", "hierarchy": {"csv": str(tree / f"adult_hierarchy_{name}.csv")}}
        for name in names
    }
    others = dict.fromkeys(("education", "native-country", "occupation"), "insensitive")
    policy = shoal.Policy(
        attributes=quasi | others, require=[{"model": "k-anonymity", "k": 5}], method={"algorithm": "local"}
    )
    original = DATA / "adult" / "adult.csv"
    found = shoal.attack(shoal.anonymize(original, policy), Downcode(), original=original)
    assert found.figures["labels_that_were_not_minimal"] == 0
    assert found.figures["cells_certain"] == found.figures["cells_certain_and_true"] > 500
    assert found.success.right > found.baseline.right
