import random
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import THOROUGH, examples
from naive_attacks import k_anonymous, release, same_rows, splits_of, table
from naive_worlds import Setting, draw_levels, most_cells_at_once
from real_tables import DATA

import shoal
from shoal.attacks.child_splits import Splits
from shoal.attacks.downcode import Downcode, Promise
from shoal.errors import BadInput, Infeasible
from shoal.hierarchy.build import Rows
from shoal.hierarchy.inline_tree import Tree
from shoal.hierarchy.intervals import Intervals
from shoal.models import MODELS
from shoal.models.k_anonymity import KAnonymity
from shoal.policy.method import find_minimal_part

SEX = {"q": Tree({"any": ["f", "m"]})}


def test_three_people_of_two_children_are_surely_of_both():
    """models.md section 2: |E| = k = 3, two children, local recoding: (0,3) and (3,0) are impossible."""
    published = release("q", [], SEX, q=["*"] * 3)
    found = Downcode(k=3, minimal="class").on(published)
    assert found.figures["cells_certain"] == found.exposed == 2
    splits = Splits.of(3, np.array([0.5, 0.5]), Promise([KAnonymity(3)]).judge_sizes, 100, np.random.default_rng(0))
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
def test_splits_of_a_class_agree_with_enumeration(size, children, k, data):
    weights = np.array([data.draw(st.integers(1, 9)) for _ in range(children)], dtype=float)
    shares = weights / weights.sum()
    splits = Splits.of(size, shares, Promise([KAnonymity(k)]).judge_sizes, 10_000, np.random.default_rng(0))
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
    assert tuple(splits.count_certain_members(alone=True).tolist()) == (fewest or (0,) * children)


@examples(60)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(2, 3))
def test_downcoding_of_a_column_agrees_with_enumeration(sizes, k):
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
def test_downcoding_under_l_diversity_agrees_with_enumeration(values, l):
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


def labels_of_leaves(levels):
    """The hierarchy of an attribute of a naive setting: each leaf with its labels; the label of all is `*`."""
    top = "".join(sorted(levels[0]))
    return [[leaf, *("*" if each[leaf] == top else each[leaf] for each in levels[1:])] for leaf in sorted(levels[0])]


def certain_cells(setting, shown, **how):
    """What the attack is certain of in a release of a naive setting: attribute, face of the class, label, rows."""
    names = [f"q{i}" for i in range(len(setting.levels))]
    builders = {name: Rows(labels_of_leaves(each)) for name, each in zip(names, setting.levels, strict=True)}
    columns = {name: [row[i] for row in shown] for i, name in enumerate(names)} | {"s": [row[-1] for row in shown]}
    published = release(names, ["s"], builders, **columns)
    models = [MODELS["k-anonymity"](k=setting.k), MODELS["distinct-l-diversity"](l=setting.l, attribute="s")]
    how = {"least_levels": dict(zip(names, setting.least, strict=True)), "minimal": "column", **how}
    attack = Downcode(models=models[: 1 + (setting.l > 1)], **how)
    faces = {class_: row[:-1] for row, class_ in zip(shown, published.class_of_row.tolist(), strict=True)}
    return [
        (names.index(cell.attribute), faces[cell.class_], cell.label, cell.rows)
        for cell in attack.find_certain_cells(published)
    ]


def has_child(row, at, label):
    """Whether a row of a naive original has a leaf under the label, which is spelled by its leaves."""
    return label == "*" or row[at] in label


@pytest.mark.parametrize(
    "releases", [2_000 if THOROUGH else 200, pytest.param(20_000, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_no_certain_cell_is_false_in_any_original_that_gives_the_release(releases):
    """Every original of a setting is listed and released by a naive search, with min-levels and suppressed rows."""
    draws, done, certain = random.Random(23), 0, 0
    while done < releases:
        setting = Setting.draw(draws)
        for shown, originals in setting.releases().items():
            done += bool(shown)
            for at, face, label, rows in certain_cells(setting, shown) if shown else ():
                certain += 1
                for behind in originals:
                    held = [has_child(row, at, label) for row in behind.get(face, ())]
                    assert sum(held) >= rows, (setting, shown, at, label)
    assert certain > releases / 10


def test_a_label_at_its_least_level_may_have_been_finer():
    """Four women of a town district are shown as their town: the policy forbids districts."""
    towns = {"q": Rows([["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"], ["d", "C", "*"]])}
    published = release("q", [], towns, q=["A"] * 4)
    assert Downcode(k=2, minimal="column").on(published).figures["cells_certain"] == 2
    assert Downcode(k=2, minimal="column", least_levels={"q": 1}).on(published).figures["cells_certain"] == 0


def test_suppressed_rows_that_are_shown_do_not_make_a_column_local():
    """`[20, 30)` for everybody and `*` for the suppressed is one level, not two."""
    ages = {"a": Intervals([5, 10])}
    published = release("a", [], ages, a=["[20, 30)"] * 2 + ["[30, 40)"] * 2 + ["*"])
    found = Downcode(k=2).on(published)
    assert found.figures["minimal"] == "each column"
    assert found.figures["cells_certain"] == 0  # either class may have been the one that fails


def test_children_that_are_not_all_known_are_never_certain():
    """Of `*` over intervals an attacker knows only the values that the release shows elsewhere."""
    ages = {"a": Intervals([10, 20])}
    published = release("a", [], ages, a=["*"] * 3 + ["[0, 20)"] * 3 + ["[20, 40)"] * 3)
    cells = Downcode(k=3, minimal="class").find_certain_cells(published)
    assert {(cell.label, cell.rows) for cell in cells} == {
        ("[0, 10)", 1), ("[10, 20)", 1), ("[20, 30)", 1), ("[30, 40)", 1)
    }  # fmt: skip
    assert len(cells) == 4


@pytest.mark.parametrize(("size", "children", "k"), [(2, (2, 2), 2), (3, (2, 2), 2), (3, (2, 2), 3), (3, (2, 3), 2)])
def test_several_attributes_are_made_finer_at_once_where_that_stays_true(size, children, k):
    """Each attribute alone may be made finer; both at once need not be true, and the oracle tries every finer table."""
    columns = {f"q{i}": ["*"] * size for i in range(len(children))}
    builders = {f"q{i}": Tree({"any": list("abc"[:r])}) for i, r in enumerate(children)}
    found = Downcode(k=k, minimal="class").on(release(columns, [], builders, **columns))
    judge = k_anonymous(k)
    assert found.figures["cells_certain_at_once"] == most_cells_at_once(size, children, lambda way: not judge(way))
    assert found.figures["cells_certain_at_once"] == found.exposed <= found.figures["cells_certain"]


METHODS = [
    {"algorithm": "optimal"},
    {"algorithm": "optimal", "suppression": 0.4},
    {"algorithm": "optimal", "metric": "discernibility"},
    {"algorithm": "optimal", "metric": "average-class"},
    {"algorithm": "samarati"},
    {"algorithm": "incognito", "preference": "maximum-distribution"},
    {"algorithm": "hybrid", "suppression": 0.3},
    {"algorithm": "local"},
]
DOUBTFUL = [
    {"algorithm": "greedy"},
    {"algorithm": "datafly"},
    {"generalise": "attribute", "suppress": "cell"},
    {"algorithm": "optimal", "metric": "alpha-max"},
    {"algorithm": "optimal", "margin": 2, "seed": 3},
    {"algorithm": "mondrian"},
    {"algorithm": "suppress"},
    {"algorithm": "samarati", "suppression": 1.0},
]


def rules_for(levels, method, k=2, low=None):
    attributes = {
        f"q{i}": {"role": "quasi-identifier", "hierarchy": {"rows": labels_of_leaves(each)}}
        for i, each in enumerate(levels)
    }
    if low is not None:
        attributes["q0"]["min-level"] = low
    return shoal.Policy(
        attributes=attributes | {"s": "sensitive"},
        require=[{"model": "k-anonymity", "k": k}],
        method=method,
        release={"suppressed": "show"} if method.get("suppression") == 1 else {},
    )


@pytest.mark.some(2)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: "-".join(map(str, method.values())))
def test_no_certain_cell_of_a_release_made_here_is_false(method):
    draws, certain = random.Random(5), 0
    for _ in range(150 if THOROUGH else 8):
        levels = [draw_levels(draws) for _ in range(draws.choice([1, 2]))]
        rows = draws.randint(3, 12)
        cells = {f"q{i}": [draws.choice(sorted(each[0])) for _ in range(rows)] for i, each in enumerate(levels)}
        low = draws.choice([None, None, 1]) if method["algorithm"] != "local" else None
        frame = pa.table(cells | {"s": [draws.choice("uv") for _ in range(rows)]})
        try:
            made = shoal.anonymize(frame, rules_for(levels, method, draws.choice([2, 3]), low))
        except Infeasible:
            continue
        found = shoal.attack(made, Downcode(), original=frame).figures
        assert found["cells_certain"] == found["cells_certain_and_true"]
        assert found["minimal"] == ("each class" if method["algorithm"] == "local" else "each column")
        certain += found["cells_certain"]
    assert certain > 0


@pytest.mark.parametrize("method", DOUBTFUL, ids=lambda method: "-".join(map(str, method.values())))
def test_nothing_is_certain_where_the_release_need_not_be_minimal(method):
    levels = [({"a": "a", "b": "b"}, {"a": "ab", "b": "ab"})]
    rules = rules_for(levels, method)
    where, why = find_minimal_part(rules)
    assert (where, bool(why)) == (None, True)
    shown = pa.table({"q0": ["*"] * 3, "s": ["u", "v", "u"]})
    found = shoal.attack(shown, "downcode", policy=rules)
    assert (found.exposed, found.figures["cells_certain"]) == (0, 0)
    assert found.figures["cells_certain_if_minimal"] == 2
    assert why in found.sentence


def test_a_release_of_cell_suppression_is_doubted_for_its_cells_and_not_for_its_search():
    rules = rules_for([({"a": "a", "b": "b"}, {"a": "ab", "b": "ab"})], {"model": "AG_CS"})
    made = shoal.anonymize(pa.table({"q0": ["a", "b", "a"], "s": ["u", "v", "u"]}), rules)
    said = shoal.attack(made, "downcode").sentence
    assert "'optimal' with suppressed cells may generalise more than it must" in said
    assert "the search ended" not in said


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
