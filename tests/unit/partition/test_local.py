"""Local recoding: laws on small random tables, cell suppression against the optimum, Adult."""

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import inf
from pathlib import Path
from random import Random

import naive
import naive_rows
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.data.codes import encode
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation
from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.errors import Infeasible
from shoal.hierarchy.taxonomy import compile_taxonomy
from shoal.hierarchy.top_bottom import ValueOnly
from shoal.models.closeness import TCloseness
from shoal.models.k_anonymity import KAnonymity
from shoal.models.reidentification import AverageRisk
from shoal.partition.cell_labels import Cells, Judge, lower_bound
from shoal.partition.condition import Condition
from shoal.partition.local import local
from shoal.partition.solver import recode_cells
from shoal.policy.document import Policy
from shoal.problem import Problem
from shoal.recoding.outcome import Before

ROUNDING = Fraction(1, 10**12)
"""Of what is summed in floats, relative to it."""
DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


@dataclass(frozen=True)
class Table:
    """A promise about all classes together."""

    model: object
    holds: object


def average_risk(most):
    return Table(AverageRisk(most), lambda classes: len(classes) <= Fraction(str(most)) * sum(map(len, classes)))


def t_close(t, everybody):
    def holds(values):
        mine, all_ = Counter(values), Counter(everybody)
        apart = sum(abs(Fraction(mine[v], len(values)) - Fraction(all_[v], len(everybody))) for v in all_)
        return apart / 2 <= Fraction(str(t))

    return naive.Promise(TCloseness(t, "equal", naive.SENSITIVE), holds)


@dataclass(frozen=True)
class Case:
    """A table, what is promised of its classes, and what of all of them."""

    instance: naive.Instance
    table: tuple[Table, ...] = ()

    @property
    def before(self):
        return self.instance.before()

    @property
    def condition(self):
        column = encode(naive.SENSITIVE, pa.array(self.instance.sensitive, pa.string()))
        reading = CountInterpretation(self.instance.labels, reference={naive.SENSITIVE: np.bincount(column.codes)})
        models = [*self.instance.models, *(promise.model for promise in self.table)]
        return Condition(self.before.classes, models, reading)

    def complies(self, rows):
        return self.instance._holds(rows)

    def keeps(self, classes):
        rows = list(classes.values())
        return all(map(self.complies, rows)) and all(promise.holds(rows) for promise in self.table)

    def label(self, name, row, level):
        attribute = self.instance.attributes[name]
        return attribute.label(attribute.values[row], level)

    def node(self, node):
        """The classes of a full-domain node."""
        return classes_of(self, dict.fromkeys(range(self.instance.rows), node))

    def loss(self, levels):
        """The mean over cells, each at its row's level, weighted."""
        names, weights = self.instance.names, self.instance.weights
        cells = (
            weight * self.instance.attributes[name].loss(self.instance.attributes[name].values[row], level)
            for row, shown in levels.items()
            for name, weight, level in zip(names, weights, shown, strict=True)
        )
        return sum(cells) / sum(weights) / self.instance.rows


def classes_of(case, levels):
    """Rows whose labels are all equal."""
    classes = {}
    for row, shown in levels.items():
        labels = tuple(case.label(name, row, level) for name, level in zip(case.instance.names, shown, strict=True))
        classes.setdefault(labels, []).append(row)
    return classes


def recode(case, **options):
    """The levels of each row, and its part."""
    found = local(case.before, case.condition, **options)
    part = found.part[case.before.classes.classes].tolist()
    return {row: tuple(found.levels[p].tolist()) for row, p in enumerate(part)}, part


def lowest(case, rows):
    """Per attribute, the lowest level at which the rows share a label, or None."""
    names = case.instance.names
    heights = (case.instance.attributes[name].height for name in names)
    ways = (
        (h for h in range(top + 1) if len({case.label(n, r, h) for r in rows}) == 1)
        for n, top in zip(names, heights, strict=True)
    )
    return tuple(next(way, None) for way in ways)


def splits(case, levels, rows):
    """Every way to split a class along the children of one label."""
    for i, name in enumerate(case.instance.names):
        level = levels[rows[0]][i]
        if level > 0:
            groups = {}
            for row in rows:
                groups.setdefault(case.label(name, row, level - 1), []).append(row)
            yield list(groups.values())


@st.composite
def cases(draw):
    kind = draw(st.sampled_from(["class", "close", "table", "not"]))
    instance = draw(naive.instances("0", promises=naive.EVERY_CLOSURE if kind == "not" else naive.PROMISES))
    table = ()
    if kind == "close":
        instance = replace(instance, sensitive=[value or "u" for value in instance.sensitive])
        promise = t_close(draw(st.sampled_from([0.1, 0.25, 0.34, 0.5])), instance.sensitive)
        instance = replace(instance, promises=[promise, *draw(st.sampled_from([[], [naive.k_anonymity(2)]]))])
    if kind == "table":
        table = (average_risk(draw(st.sampled_from([0.2, 0.34, 0.5]))),)
    case = Case(instance, table)
    highest = tuple(instance.attributes[name].height for name in instance.names)
    assume(case.keeps(case.node(highest)))
    return case


@naive.examples(600)
@given(cases(), st.integers(0, 3))
def test_every_row_is_in_a_class_that_complies_and_cannot_be_split(case, seed):
    levels, part = recode(case, seed=seed)
    classes = classes_of(case, levels)
    assert case.keeps(classes)
    assert len(set(part)) == len(classes) == max(part) + 1
    for rows in classes.values():
        assert len({part[row] for row in rows}) == 1
        assert lowest(case, rows) == levels[rows[0]]
        for groups in splits(case, levels, rows):
            if all(map(case.complies, groups)):
                # classes that do not comply together, or not with the table, are the only excuse
                finer = {row: lowest(case, group) for group in groups for row in group}
                assert not case.keeps(classes_of(case, levels | finer))
                assert case.table or not all(model.merging for model in case.instance.models)


@naive.examples(300)
@given(cases())
def test_no_full_domain_node_without_suppression_loses_less(case):
    levels, _ = recode(case)
    heights = [range(case.instance.attributes[name].height + 1) for name in case.instance.names]
    for node in product(*heights):
        if case.keeps(case.node(node)):
            assert case.loss(levels) <= case.loss(dict.fromkeys(levels, node)) + Fraction(1, 10**9)


@naive.examples(100)
@given(cases(), st.randoms(use_true_random=False), st.integers(0, 3))
def test_the_order_of_rows_changes_nothing(case, random, seed):
    order = list(range(case.instance.rows))
    random.shuffle(order)
    shuffled = {n: replace(a, values=[a.values[r] for r in order]) for n, a in case.instance.attributes.items()}
    sensitive = [case.instance.sensitive[r] for r in order]
    other = Case(replace(case.instance, attributes=shuffled, sensitive=sensitive), case.table)
    (levels, part), (again, parts) = recode(case, seed=seed), recode(other, seed=seed)
    assert [levels[r] for r in order] == [again[r] for r in range(len(order))]
    assert [part[r] for r in order] == parts
    assert recode(case, seed=seed) == (levels, part)


@naive.examples(100)
@given(cases(), st.integers(0, 3))
def test_stopped_at_once_it_complies_and_cannot_be_split(case, calls):
    levels, _ = recode(case, stop=naive.stop_after(calls))
    classes = classes_of(case, levels)
    assert case.keeps(classes)
    if not case.table and all(model.merging for model in case.instance.models):
        ways = (groups for rows in classes.values() for groups in splits(case, levels, rows))
        assert not any(all(map(case.complies, groups)) for groups in ways)


def test_progress_goes_up_to_the_end():
    seen = []
    ages = FrequencySet.count({"age": (np.arange(40, dtype=np.int32) // 3, 14)})
    hierarchies = (naive.numbers("age", 14, [2, 4, 14]),)
    local(Before(ages, hierarchies), Condition(ages, [KAnonymity(5)]), watch=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_what_nothing_can_keep_is_refused():
    """A hierarchy without a top keeps the two values apart, and one of them is alone."""
    ages = FrequencySet.count({"age": (np.array([0, 0, 1], np.int32), 2)})
    with pytest.raises(Infeasible):
        local(Before(ages, (naive.numbers("age", 2, []),)), Condition(ages, [KAnonymity(2)]))


def test_persons_are_counted_where_the_condition_says_so():
    """Two rows of one person are one person."""
    age, person = np.array([0, 0, 1, 2], np.int32), np.array([0, 0, 1, 2], np.int32)
    classes = FrequencySet.count({"age": (age, 3)}, {"who": (person, 3)})
    found = local(
        Before(classes, (naive.numbers("age", 3, [2, 4]),)),
        Condition(classes, [KAnonymity(2)], CountInterpretation(unit="who")),
    )
    assert found.part.tolist() == [0, 0, 0]


def optimum(rows, k):
    """The fewest suppressed cells over all partitions of the rows in parts of at least k; equal rows may be apart."""

    @cache
    def least(left):
        if not left:
            return 0
        first, *others = left
        costs = [inf]
        for size in range(k - 1, len(others) + 1):
            for chosen in combinations(others, size):
                members = [rows[first], *(rows[i] for i in chosen)]
                cells = len(members) * sum(len(set(column)) > 1 for column in zip(*members, strict=True))
                costs.append(cells + least(tuple(i for i in others if i not in chosen)))
        return min(costs)

    return least(tuple(range(len(rows))))


def suppressed_cells(rows, k):
    columns = [encode(f"q{i}", pa.array([row[i] for row in rows])) for i in range(len(rows[0]))]
    classes = FrequencySet.count({c.name: (c.codes, c.size) for c in columns}, want_classes=True)
    before = Before(classes, tuple(compile_taxonomy(c, ValueOnly().taxonomy(c)) for c in columns))
    found = local(before, Condition(classes, [KAnonymity(k)]))
    return int((found.levels[found.part] * classes.counts[:, None]).sum())


@pytest.mark.thorough
def test_cell_suppression_stays_near_the_optimum():
    """Flat hierarchies: few suppressed cells, against every partition of the rows."""
    random, ratios = Random(0), []
    for _ in range(300):
        width, k = random.choice([2, 3]), random.choice([2, 3])
        rows = tuple(tuple(random.choice("abc") for _ in range(width)) for _ in range(random.randint(k, 8)))
        best, found = optimum(rows, k), suppressed_cells(rows, k)
        assert found >= best
        ratios.append(1.0 if found == best else found / best if best else float("inf"))
    # measured: mean 1.017, worst 2; equal rows stay together here, since a class is an item and lends nothing, and so
    # the optimum is not always within reach
    assert np.mean(ratios) < 1.03
    assert max(ratios) <= 2


@pytest.mark.skipif(not (DATA / "adult").is_dir(), reason="the table adult is not beside the repository")
def test_adult_loses_less_than_with_arx():
    """ARX 3.9.2, local recoding by the same formula: 0.0524."""
    folder = DATA / "adult" / "hierarchies"
    files = {file.stem.removeprefix("adult_hierarchy_"): str(file) for file in folder.iterdir()}
    attributes = {n: {"role": "quasi-identifier", "hierarchy": {"csv": file}} for n, file in files.items()}
    policy = Policy(attributes=attributes, require=[{"model": "k-anonymity", "k": 5}])
    before = Problem.of(ArrowEngine().read(DATA / "adult" / "adult.csv", ReadOptions()), policy, ArrowEngine()).before
    found = local(before, Condition(before.classes, policy.models))
    rows, lost = before.classes.counts, 0.0
    for i, hierarchy in enumerate(before.hierarchies):
        codes = before.classes.codes(hierarchy.attribute)
        for part, code, count in zip(found.part.tolist(), codes.tolist(), rows.tolist(), strict=True):
            level = found.levels[part, i]
            lost += count * hierarchy.losses[level][hierarchy.levels[level][code]] / len(before.hierarchies)
    assert lost / rows.sum() <= 0.048
    assert np.bincount(found.part, weights=rows).min() >= 5
    assert rows.sum() == 30_162


def t_holds(values, everybody):
    apart = sum(
        abs(Fraction(values.count(v), len(values)) - Fraction(everybody.count(v), len(everybody))) for v in "uvw"
    )
    return apart / 2 <= Fraction(3, 10)


def cl_holds(values):
    """c = 2, l = 2: the most frequent value is rarer than twice all others."""
    most = max(Counter(values).values())
    return most < 2 * (len(values) - most)


PROMISES = {
    "k": ({}, lambda values, everybody: True),
    "l": ({"model": "distinct-l-diversity", "l": 2}, lambda values, everybody: len(set(values)) >= 2),
    "alpha": (
        {"model": "alpha-k", "alpha": 0.6},
        lambda values, everybody: 10 * max(Counter(values).values()) <= 6 * len(values),
    ),
    "t": ({"model": "t-closeness", "t": 0.3}, t_holds),
    "entropy": (
        {"model": "entropy-l-diversity", "l": 1.8},
        lambda values, everybody: naive.entropy_l(1.8).holds(values),
    ),
    "(c,l)": ({"model": "recursive-cl-diversity", "c": 2, "l": 2}, lambda values, everybody: cl_holds(values)),
}


def plan_of(table, require, **method):
    """The plan of local recoding of a tiny table."""
    names = [f"q{i}" for i in range(len(table.shapes))]
    columns = {name: [row[i] for row in table.rows] for i, name in enumerate(names)}
    attributes = {
        name: {"role": "quasi-identifier", "hierarchy": {"rows": [list(labels) for labels in shape.values()]}}
        for name, shape in zip(names, table.shapes, strict=True)
    }
    policy = Policy(
        attributes={**attributes, "ill": {"role": "sensitive", "confirm": True}},
        require=require,
        method={"algorithm": "local", **method},
    )
    read = ArrowEngine().read(pa.table({**columns, "ill": list(table.sensitive)}), ReadOptions())
    return recode_cells(Problem.of(read, policy, ArrowEngine()))


@pytest.mark.parametrize("promise", PROMISES)
def test_the_loss_is_near_that_of_the_best_partition_of_the_rows(promise):
    """Against every partition of the rows; the bound lies below the best of them."""
    random, ratios, bounds = Random(promise), [], []
    more, holds = PROMISES[promise]
    most, tables = (10, 100) if naive.THOROUGH else (8, 25)
    while len(ratios) < tables:
        table, k = naive_rows.draw_table(random, most), random.choice([2, 3])
        everybody = table.sensitive
        best = naive_rows.least_loss(table, lambda v, k=k, all_=everybody: len(v) >= k and holds(v, all_))
        if best is None:
            continue
        plan = plan_of(table, [{"model": "k-anonymity", "k": k}, *([more] if more else [])])
        assert plan.score >= best * (1 - ROUNDING)
        assert plan.bound <= best * (1 + ROUNDING)
        assert not plan.proved or plan.score <= best * (1 + ROUNDING)
        ratios.append(1.0 if plan.score <= best + 1e-9 else plan.score / float(best) if best else inf)
        bounds.append(plan.bound / float(best) if best else 1.0)
    # measured on 100 tables of up to 10 rows: k 1.001, l 1.000, alpha 1.015, t 1.001, entropy 1.004, (c,l) 1.016
    assert np.mean(ratios) <= (1.02 if promise == "k" else 1.06)
    assert max(ratios) <= 2
    # measured on 100 tables of up to 10 rows: k 0.84, l 0.84, alpha 0.82, t 0.86, entropy 0.82, (c,l) 0.78
    assert np.mean(bounds) >= 0.72


def pairs_among(leaves):
    """A hierarchy that pairs its first two values, over so many of them."""
    names = [f"v{i}" for i in range(leaves)]
    return {name: (name, "first" if i < 2 else name, "*") for i, name in enumerate(names)}


@pytest.mark.parametrize("leaves", [(1001, 1002), (1002, 1001), (100_001, 100_002)])
def test_the_bound_is_below_a_loss_that_is_hardly_less(leaves):
    """Four rows pair by either attribute, at losses that differ by 5e-7, or by 5e-11: the bound is of the lesser."""
    one, other = leaves
    shapes = (pairs_among(one), pairs_among(other))
    table = naive_rows.TinyTable(shapes, tuple(product(("v0", "v1"), repeat=2)), ("u",) * 4)
    best = Fraction(1, 2 * max(one, other) - 2)
    plan = plan_of(table, [{"model": "k-anonymity", "k": 2}])
    assert best <= plan.score * (1 + ROUNDING)
    classes = plan.before.classes
    judge = Judge(Cells.of(Before(classes, tuple(plan.hierarchies.values()))), Condition(classes, [KAnonymity(2)]))
    for part in ([0, 0, 1, 1], [0, 1, 0, 1]):  # whichever pairs were found
        bound = lower_bound(judge, np.array(part, np.int32), 2)
        assert best * Fraction(999, 1000) < bound <= best * (1 + ROUNDING)


def test_a_heavy_point_lends_what_it_can_spare():
    """Of 1 m and 99 f only two rows lose their cell at k = 2, not all of them."""
    table = naive_rows.TinyTable(({"f": ("f", "*"), "m": ("m", "*")},), (("m",), *[("f",)] * 99), ("u",) * 100)
    plan = plan_of(table, [{"model": "k-anonymity", "k": 2}])
    assert plan.score == 0.02
    assert sorted(plan.after.kept.tolist()) == [2, 98]
    # a row that is alone loses its cell in any class, and so does another beside it: that is proved
    assert (plan.bound, plan.gap, plan.proved) == (0.02, 0.0, True)


def test_a_heavy_point_of_a_large_table_lends_rows_of_its_own():
    """Not every row is an item there, and the loss is as small."""
    table = naive_rows.TinyTable(({"f": ("f", "*"), "m": ("m", "*")},), (("m",), *[("f",)] * 499), ("u",) * 500)
    assert plan_of(table, [{"model": "k-anonymity", "k": 3}]).score == 3 / 500


SEX = {"f": ("f", "*"), "m": ("m", "*")}
SIDE = {"x": ("x", "*"), "y": ("y", "*")}


@pytest.mark.parametrize(("women", "k"), [(100, 6), (100, 50), (101, 13), (499, 64), (5_000, 10), (5_000, 500)])
def test_a_heavy_point_lends_as_many_rows_as_a_class_lacks(women, k):
    """The m and k - 1 of the f lose their cell, however many that are, and this is proved to be the least."""
    rows = (("m",), *[("f",)] * women)
    plan = plan_of(naive_rows.TinyTable((SEX,), rows, ("u",) * len(rows)), [{"model": "k-anonymity", "k": k}])
    assert (plan.score, plan.proved) == (k / len(rows), True)
    assert sorted(plan.after.kept.tolist()) == [k, len(rows) - k]


@pytest.mark.parametrize("rare", [200, 10, 2])
def test_a_heavy_point_lends_the_values_that_a_class_lacks(rare):
    """Of l = 2 values the m has one; the other may be rare among the f, and some of it has to stay there."""
    rows, sensitive = (("m",), *[("f",)] * 400), (*["u"] * (401 - rare), *["v"] * rare)
    require = [{"model": "k-anonymity", "k": 10}, {"model": "distinct-l-diversity", "l": 2}]
    plan = plan_of(naive_rows.TinyTable((SEX,), rows, sensitive), require)
    assert plan.score == 10 / 401


@pytest.mark.parametrize(("k", "men", "others"), [(6, 3, 4), (10, 6, 5), (20, 11, 10), (50, 26, 25)])
@pytest.mark.parametrize("heavy", [200, 3_000])
def test_a_heavy_point_lends_to_two_classes(k, men, others, heavy):
    """Men and others differ from it in one cell each, and in both from each other: together they would lose more."""
    rows = (*[("m", "x")] * men, *[("f", "y")] * others, *[("f", "x")] * heavy)
    plan = plan_of(naive_rows.TinyTable((SEX, SIDE), rows, ("u",) * len(rows)), [{"model": "k-anonymity", "k": k}])
    assert plan.score == pytest.approx(k / len(rows))
    assert sorted(plan.after.kept.tolist()) == [k, k, len(rows) - 2 * k]


def test_two_heavy_points_lend_to_a_class_each():
    """In one town five m are beside many f, in the other five d: each borrow three f of their own town."""
    town, sex = {"a": ("a", "*"), "b": ("b", "*")}, {one: (one, "*") for one in "fmd"}
    rows = (*[("a", "m")] * 5, *[("b", "d")] * 5, *[("a", "f")] * 150, *[("b", "f")] * 150)
    plan = plan_of(naive_rows.TinyTable((town, sex), rows, ("u",) * len(rows)), [{"model": "k-anonymity", "k": 8}])
    assert plan.score == pytest.approx(8 / len(rows))
    assert sorted(plan.after.kept.tolist()) == [8, 8, 147, 147]


def test_equal_rows_of_a_person_stay_together():
    """Five rows of f are two persons, who could be lent one by one; no row leaves the others of its person."""
    people = pa.table({"sex": ["m", "f", "f", "f", "f", "f"], "who": [0, 1, 1, 1, 2, 2]})
    policy = Policy(
        attributes={"sex": {"role": "quasi-identifier", "hierarchy": {"flat": True}}, "who": {"role": "unit"}},
        require=[{"model": "k-anonymity", "k": 2}],
        method={"algorithm": "local"},
    )
    plan = recode_cells(Problem.of(ArrowEngine().read(people, ReadOptions()), policy, ArrowEngine()))
    of_row = plan.class_of_row.tolist()
    assert len(set(of_row[1:4])) == len(set(of_row[4:])) == 1


def test_which_rows_are_lent_depends_on_the_seed_and_not_on_the_order_of_the_table():
    """A fixed order by value would tell whose sensitive value a lent row shows."""
    sensitive = tuple(f"d{i:02}" for i in range(40))
    table = naive_rows.TinyTable(({"f": ("f", "*"), "m": ("m", "*")},), (("m",), *[("f",)] * 39), sensitive)
    other = replace(table, rows=table.rows[::-1], sensitive=sensitive[::-1])

    def lent(table, seed):
        of_row = plan_of(table, [{"model": "k-anonymity", "k": 2}], seed=seed).class_of_row
        alone = of_row[[row[0] for row in table.rows].index("m")]
        return {value for value, part in zip(table.sensitive, of_row, strict=True) if part == alone}

    assert lent(table, 1) == lent(other, 1)
    assert len({frozenset(lent(table, seed)) for seed in range(8)}) > 2


def test_classes_may_keep_what_the_table_as_one_class_does_not():
    """(epsilon, m): 11 has three of four numbers within 1, but {10, 12} and {11, 13} have none near each other."""
    table = pa.table({"age": [20, 21, 40, 41], "pay": [10, 12, 11, 13]})
    attributes = {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20, 40]}},
        "pay": {"role": "sensitive"},
    }
    near = {"model": "epsilon-m", "epsilon": 1, "m": 2, "attribute": "pay"}
    policy = Policy(attributes=attributes, require=[near], method={"algorithm": "local"})
    plan = recode_cells(Problem.of(ArrowEngine().read(table, ReadOptions()), policy, ArrowEngine()))
    assert not any(failed.any() for failed in plan.failed.values())
    # at k = 3 there is one class only, and that fails
    policy = Policy(
        attributes=attributes, require=[near, {"model": "k-anonymity", "k": 3}], method={"algorithm": "local"}
    )
    with pytest.raises(Infeasible):
        recode_cells(Problem.of(ArrowEngine().read(table, ReadOptions()), policy, ArrowEngine()))
