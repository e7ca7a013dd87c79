"""Measures of a finished release: worked numbers, laws, and their definitions cell by cell on random tables."""

import json
from dataclasses import replace
from fractions import Fraction
from math import log2

import naive
import naive_measures
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal as sh
from shoal.data.codes import Table, encode
from shoal.metrics.catalogue import METRICS, catalogue, measured, scorers
from shoal.metrics.comparison import see
from shoal.partition.released_labels import show_levels
from shoal.pipeline import make_release
from shoal.policy.document import Policy
from shoal.publish.summary import compare_with_original, metrics_of
from shoal.recoding.kinds import NodeRecoding, PartRecoding
from shoal.recoding.outcome import After, RecodedCells

AGES = {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}}


def release_of(table, attributes, k=2, **more):
    """A release, its measures, and the flat figures of its manifest."""
    policy = Policy(attributes=attributes, require=[{"model": "k-anonymity", "k": k}], **more)
    release = make_release(table, policy)
    told = measured(compare_with_original(release.plan, policy, release.source))
    return release, told, metrics_of(release.plan, told)


# worked numbers


PATIENTS = pa.table(
    {
        "age": [35, 35, 36, 37, 37, 38],
        "sex": ["Male", "Female", "Male", "Male", "Female", "Male"],
        "zip": [533449, 533441, 533449, 533448, 533441, 533449],
        "disease": ["Flu", "Cancer", "Aids", "Hang Nail", "Hepatitis", "Broken arm"],
    }
)
"""Table 1 of S4, row 5's ZIP read as 533441."""


def patients(algorithm):
    roles = {**dict.fromkeys(("age", "sex", "zip"), "quasi-identifier"), "disease": "sensitive"}
    return release_of(PATIENTS, roles, method={"algorithm": algorithm}, release={"ranges": "observed"})


def test_table_3_of_the_patients():
    """S4.5: three classes of two rows; ages [35, 36], [35, 37], [37, 38], ZIPs 533449, 533441, [533448, 533449]."""
    _, told, figures = patients("mondrian")
    assert figures["discernibility"] == figures["discernibility-star"] == 12
    assert (figures["average-class"], figures["c-avg"]) == (2, 1)
    assert told["loss"].attributes == pytest.approx({"age": (1 / 3 + 2 / 3 + 1 / 3) / 3, "sex": 0, "zip": 1 / 8 / 3})
    assert figures["gcp"] == pytest.approx((4 / 9 + 0 + 1 / 24) / 3)
    assert figures["ncp"] == pytest.approx(4 / 9 + 1 / 24)
    # of ages there are 35 35 36 37 37 38: the labels cover 3, 5 and 3 of the six rows
    ages = sum(log2(c) for c in (3 / 2, 3 / 1, 5 / 2, 5 / 2, 3 / 2, 3 / 1))
    zips = log2(4 / 1) + log2(4 / 3)  # 533449 three times, 533448 once, in the rows that show both
    assert told["non-uniform-entropy"].attributes == pytest.approx({"age": ages, "sex": 0, "zip": zips})
    assert told["sse"].attributes == pytest.approx({"age": 0.5**2 * 4 + 1**2 * 2, "zip": 0.5**2 * 2})
    # 2 points, 3 points and 2 × 2 points
    assert figures["ambiguity"] == pytest.approx((2 + 3 + 4) / 3)
    assert figures["ambiguity-log2"] == pytest.approx((log2(2) + log2(3) + log2(4)) / 3)
    # every row is a point of its own, p = 1/6; a class of two rows, spread over v points: q = 1/3v
    assert figures["kl-divergence"] == pytest.approx(sum(log2(v / 2) for v in (2, 3, 4)) / 3)
    assert [(b.least, b.most, b.classes, b.rows) for b in told["class-sizes"].buckets] == [(2, 4, 3, 6)]
    assert "prec" not in figures  # numbers in boxes follow no hierarchy


def test_table_2_of_the_patients():
    """S4.5: single-dimensional; the males are a class of four."""
    _, told, figures = patients("mondrian-single")
    assert (figures["discernibility"], figures["average-class"], figures["c-avg"]) == (20, 3, 1.5)
    assert told["loss"].attributes == pytest.approx({"age": 1, "sex": 0, "zip": 1 / 8 * 4 / 6})


SIX = pa.table(
    {
        "age": [41, 48, 31, 39, 22, 27],
        "education": ["Dr.", "Dr.", "Master", "Master", "Secondary", "Secondary"],
        "sex": ["M", "M", "M", "M", "F", "F"],
        "illness": ["HIV", "HIV", "cancer", "cold", "fever", "fever"],
    }
)
"""What Tables I to III of S3 may have been made from."""
EDUCATION = [["Dr.", "tertiary", "*"], ["Master", "tertiary", "*"], ["Secondary", "secondary", "*"]]


@pytest.mark.parametrize(
    ("levels", "prec", "loss"),
    [
        ((1, 0, 0), 1 - (1 / 2 + 0 + 0) / 3, (1 / 5 + 0 + 0) / 3),  # Table I
        ((2, 2, 1), 0, 1),  # Table II
        ((1, 1, 0), 1 - (1 / 2 + 1 / 2 + 0) / 3, (1 / 5 + 1 / 2 * 4 / 6 + 0) / 3),
    ],
)
def test_the_tables_of_alp_dif(levels, prec, loss):
    """S3.6, equations 11 and 12, and S3.5: tens of ages above ages, `*` above tens."""
    attributes = {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}},
        "education": {"role": "quasi-identifier", "hierarchy": {"rows": EDUCATION}},
        "sex": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
        "illness": "sensitive",
    }
    for attribute, level in zip(attributes.values(), levels, strict=False):
        attribute |= {"min-level": level, "max-level": level}
    _, told, figures = release_of(SIX, attributes)
    assert [figures["prec"], figures["prec-full-domain"]] == pytest.approx([prec, prec])
    assert figures["precision-loss"] == pytest.approx(1 - prec)
    assert figures["loss"] == pytest.approx(loss)
    assert figures["leaf-loss"] == pytest.approx(sum(told["leaf-loss"].attributes.values()) / 3)
    assert told["leaf-loss"].attributes["age"] == pytest.approx(6 * (1 / 6 if levels[0] == 1 else 5 / 6))


def test_suppressed_rows_lose_everything():
    """Eleven rows, of which one is left out: DM and AECS as ARX has them, (N - sup) · level/height + sup for Prec."""
    table = pa.table({"age": [11] * 5 + [21] * 5 + [95]})
    age = {**AGES, "max-level": 0}
    _, _, figures = release_of(table, {"age": age}, k=5, method={"suppression": 0.1})
    assert figures["discernibility"] == 25 + 25 + 11
    assert figures["discernibility-star"] == 25 + 25 + 1
    assert figures["average-class"] == 11 / 3
    assert figures["c-avg"] == 1
    assert figures["prec"] == pytest.approx(1 - 1 / 11)
    assert figures["prec-full-domain"] == 1
    assert figures["loss"] == figures["missing-cells"] == pytest.approx(1 / 11)
    assert figures["leaf-loss"] == pytest.approx(2 / 3)
    assert figures["non-uniform-entropy"] == pytest.approx(log2(11))
    # the one who is left out may be any of three
    p = (5 / 11, 5 / 11, 1 / 11)
    q = (5 / 11 + 1 / 33, 5 / 11 + 1 / 33, 1 / 33)
    assert figures["kl-divergence"] == pytest.approx(sum(a * log2(a / b) for a, b in zip(p, q, strict=True)))


def test_a_shown_mean_is_the_number():
    """S4.6: means of 1 2 6 and 8 9 13, two columns that stay in step."""
    table = pa.table({"a": [1, 2, 6, 8, 9, 13], "b": [2, 4, 12, 16, 18, 26]})
    roles = {name: {"role": "quasi-identifier", "form": ["mean"]} for name in "ab"}
    more = {"method": {"algorithm": "mondrian"}, "release": {"means": "any"}}
    _, told, figures = release_of(table, roles, k=3, **more)
    assert told["sse"].attributes == pytest.approx({"a": 14 + 14, "b": 56 + 56})
    assert figures["sse-share"] == pytest.approx(28 / (28 + 6 * 3.5**2))
    assert figures["correlation-change"] == pytest.approx(0)


def test_a_label_that_says_no_range_stands_for_the_middle_of_its_values():
    rows = [["1", "low", "*"], ["2", "low", "*"], ["9", "high", "*"]]
    age = {"role": "quasi-identifier", "hierarchy": {"rows": rows}}
    _, told, _ = release_of(pa.table({"age": [1, 2, 9, 9]}), {"age": {**age, "min-level": 1, "max-level": 1}})
    assert told["sse"].attributes == {"age": 0.5}


def test_anatomy_shows_every_value():
    """Whose disease is whose is not shown: nothing is said of what ties them."""
    table = pa.table({"age": [1, 2, 3, 4], "ill": ["a", "b", "a", "b"]})
    policy = Policy(
        attributes={"age": "quasi-identifier", "ill": "sensitive"},
        require=[{"model": "distinct-l-diversity", "l": 2}],
        method={"generalise": "none", "suppress": "none", "algorithm": "anatomy"},
    )
    release = make_release(table, policy)
    told = measured(compare_with_original(release.plan, policy, release.source))
    figures = metrics_of(release.plan, told)
    assert (figures["loss"], figures["prec"], figures["kl-divergence"], figures["ambiguity"]) == (0, 1, 0, 1)
    assert figures["discernibility"] == 8
    assert told["contingency-change"].total is None


def test_cells_of_a_node_that_are_left_out():
    """AG_CS of S2.3: a label counts as high as it stands in its hierarchy, a cell that is left out as the top."""
    ages, sexes = [*range(10, 20), *range(30, 40)], [*"ffffffffffmmmmmmmmmf"]
    attributes = {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 50]}},
        "sex": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
    }
    release, told, figures = release_of(
        pa.table({"age": ages, "sex": sexes}), attributes, method={"generalise": "attribute", "suppress": "cell"}
    )
    shown = {name: release.table[name].to_pylist() for name in ("age", "sex")}
    assert set(shown["age"]) <= {"[10, 20)", "[30, 40)", "*"} != {"*"}
    stars = {name: sum(label == "*" for label in labels) for name, labels in shown.items()}
    assert sum(stars.values())
    lifts = {"age": ((20 - stars["age"]) / 3 + stars["age"]) / 20, "sex": stars["sex"] / 20}
    assert told["prec"].attributes == pytest.approx({name: 1 - lift for name, lift in lifts.items()})
    assert figures["missing-cells"] == pytest.approx(sum(stars.values()) / 40)
    age = ((20 - stars["age"]) * 9 / 19 + stars["age"]) / 20
    assert told["loss"].attributes == pytest.approx({"age": age, "sex": stars["sex"] / 20})


EVERYTHING = [
    *({"algorithm": name} for name in ("optimal", "local", "microaggregation", "mondrian", "mondrian-relaxed")),
    {"algorithm": "suppress", "generalise": "none", "suppress": "cell"},
    {"algorithm": "suppress", "generalise": "none", "suppress": "tuple", "suppression": 1.0},
    {"generalise": "attribute", "suppress": "cell"},
]


@pytest.mark.some(2)
@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
@pytest.mark.parametrize("method", EVERYTHING, ids=lambda method: "-".join(map(str, method.values())))
@naive.examples(40)
@given(rows=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.sampled_from("uv")), min_size=3, max_size=20))
def test_every_recoding_keeps_within_the_ranges(method, rows):
    table = pa.table({name: list(column) for name, column in zip("abs", zip(*rows, strict=True), strict=True)})
    shaped = {"form": ["bounds"]} if method.get("algorithm", "").startswith("mondrian") else {}
    attributes = {"a": {"role": "quasi-identifier", **shaped}, "b": "quasi-identifier", "s": "sensitive"}
    try:
        _, _, figures = release_of(table, attributes, method=method, release={"means": "any"})
    except sh.Infeasible:
        return  # all rows differ, and a release without rows is none
    shares = ["loss", "gcp", "granularity", "prec", "missing-cells", "non-uniform-entropy-share", "contingency-change"]
    assert all(-1e-12 <= figures[name] <= 1 + 1e-12 for name in shares if name in figures)
    assert figures["ambiguity"] >= 1 - 1e-12
    assert figures["kl-divergence"] >= 0
    assert figures["gcp"] == pytest.approx(figures["loss"])
    assert all(np.isfinite(value) for value in figures.values())


# definitions cell by cell


def cell(attribute, value, level, domain):
    """What a value shows at a level of one of the random hierarchies; None: `*` above all of them."""
    if level is None:
        everything = Fraction(len(attribute.leaves) - 1, max(len(attribute.leaves) - 1, 1))
        return naive_measures.Cell(value, "*", domain, len(attribute.leaves), everything, Fraction(1))
    label, under = attribute.label(value, level), {value}
    if level and label is not None:
        under = {v for v in (*attribute.leaves, None) if v in domain and attribute.label(v, level) == label}
    lift = attribute.level_share(value, level)
    loss = attribute.loss(value, level)
    return naive_measures.Cell(value, label, frozenset(under), attribute.leaves_under(value, level), loss, lift)


def by_definition(instance, level_of, out, classes, k):
    """`level_of(name, row)` of every cell."""
    attributes = {}
    for name in instance.names:
        attribute = instance.attributes[name]
        domain = frozenset(attribute.leaves) | ({None} & set(attribute.values))
        cells = [cell(attribute, v, level_of(name, row), domain) for row, v in enumerate(attribute.values)]
        weight = Fraction(1) if attribute.importance is None else attribute.importance
        attributes[name] = naive_measures.Attribute(cells, domain, len(attribute.leaves), weight)
    sensitive = {naive.SENSITIVE: instance.sensitive}
    return naive_measures.all_measures(naive_measures.Table(attributes, out, classes, sensitive, k))


def encoded(instance):
    columns = {**instance.columns(), naive.SENSITIVE: pa.array(instance.sensitive, pa.string())}
    return Table({name: encode(name, array) for name, array in columns.items()}, instance.rows)


def seen(instance, after, recoding, of_row, k=1):
    before = instance.before()
    hierarchies = {h.attribute: h for h in before.hierarchies}
    sensitive = [naive.SENSITIVE]
    return see(encoded(instance), before, after, recoding, hierarchies, of_row, statistics={}, sensitive=sensitive, k=k)


def node_of(instance, node, draw_out):
    """A node with any classes suppressed, as the product has it."""
    before = instance.before()
    maps = {h.attribute: h.levels[level] for h, level in zip(before.hierarchies, node, strict=True)}
    classes = before.classes.rollup(maps, want_classes=True)
    out = draw_out(len(classes))
    of_row = classes.classes[before.classes.classes]
    recoding = NodeRecoding(dict(zip(instance.names, node, strict=True)), out[of_row])
    return After(tuple(node), classes, out), recoding, of_row


def nothing(length):
    return np.zeros(length, dtype=bool)


def totals(seen):
    return {name: each.total for name, each in measured(seen).items()}


def agree(found, expected):
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert (found[name] is None) == (value is None), name
        if value is not None:
            assert found[name] == pytest.approx(float(value), rel=1e-9, abs=1e-9), name


@naive.examples(300)
@given(instance=naive.instances(), data=st.data(), k=st.integers(1, 4))
def test_nodes_by_definition(instance, data, k):
    """At any node with any classes suppressed, and in agreement with what searches minimise."""
    node = data.draw(st.sampled_from(list(instance.nodes())))
    draw = st.booleans()
    chosen = node_of(instance, node, lambda n: np.array(data.draw(st.lists(draw, min_size=n, max_size=n))))
    after, recoding, of_row = chosen
    assume(not after.suppressed.all())
    out = frozenset(np.flatnonzero(recoding.suppressed).tolist())
    levels = dict(zip(instance.names, node, strict=True))
    classes = instance.outcome(node).classes
    found = totals(seen(instance, after, recoding, of_row, k))
    agree(found, by_definition(instance, lambda name, _: levels[name], out, classes, k))
    for name, scorer in scorers(instance.before()).items():
        if name in found:
            assert found[name] == pytest.approx(scorer.value(scorer.score(after)), rel=1e-12, abs=1e-12)


@naive.examples(300)
@given(instance=naive.instances(), data=st.data())
def test_cells_by_definition(instance, data):
    """Any parts, each at the least level that its rows share; equal rows may be in different parts."""
    values = [instance.attributes[name].values for name in instance.names]
    part = data.draw(st.lists(st.integers(0, 3), min_size=instance.rows, max_size=instance.rows))
    part = np.unique(part, return_inverse=True)[1].astype(np.int32)
    members = [np.flatnonzero(part == p).tolist() for p in range(int(part.max()) + 1)]
    levels = np.zeros((len(members), len(values)), dtype=np.int32)
    for p, rows in enumerate(members):
        for i, name in enumerate(instance.names):
            attribute = instance.attributes[name]
            one = (len({attribute.label(values[i][row], h) for row in rows}) == 1 for h in range(attribute.height + 1))
            levels[p, i] = next((h for h, agree in enumerate(one) if agree), -1)
    assume((levels >= 0).all())
    before, table = instance.before(), encoded(instance)
    items = before.classes.from_rows({name: (table[name].codes, table[name].size) for name in instance.names})
    showing = show_levels(items, part, levels, before.hierarchies)
    alike, count = showing.group_identical()
    sizes = np.bincount(part).astype(np.int64)
    after = RecodedCells(
        items.merge_into_parts(alike[part], count),
        sizes,
        showing.losses,
        tuple(showing.covers[name] for name in instance.names),
    )
    recoding = PartRecoding("cells", part, showing.shown)
    found = totals(seen(instance, after, recoding, alike[part]))
    classes = [np.flatnonzero(alike[part] == c).tolist() for c in range(count)]
    at = {name: levels[part, i].tolist() for i, name in enumerate(instance.names)}
    agree(found, by_definition(instance, lambda name, row: at[name][row], frozenset(), classes, 1))


def ranged(values, label):
    """What a range of Mondrian covers, its width and its middle, read from its label."""
    known = sorted({v for v in values if v is not None})
    domain = frozenset(values)
    if label is None:
        return frozenset({None}), 1, Fraction(0), None
    least, most = known[0], known[-1]
    if label == "*":
        low, high = least, most
    elif label.startswith("["):
        low, high = (int(end) for end in label[1:-1].split(", "))
        high -= label.endswith(")")
    else:
        low = least if label[0] == "<" else int(label.strip("≥"))
        high = int(label[1:]) - 1 if label[0] == "<" else most if label[0] == "≥" else low
    covers = frozenset(v for v in known if low <= v <= high)
    mixed = label == "*" and None in domain
    width = Fraction(max(covers) - min(covers), (most - least) or 1)
    loss = Fraction(1) if mixed else width
    return covers | ({None} if mixed else frozenset()), len(covers), loss, (low + high) / 2


NUMBERS = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from([0, 10, 30, 31, None]), st.sampled_from("uv")),
    min_size=2,
    max_size=25,
)


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
@naive.examples(120)
@given(
    NUMBERS, st.sampled_from(["mondrian", "mondrian-relaxed", "mondrian-single"]), st.sampled_from(["cut", "observed"])
)
def test_boxes_by_definition(rows, algorithm, ranges):
    table = pa.table({name: list(column) for name, column in zip("abs", zip(*rows, strict=True), strict=True)})
    table = table.set_column(1, "b", pa.array(table["b"].to_pylist(), pa.int64()))
    roles = {"a": "quasi-identifier", "b": "quasi-identifier", "s": "sensitive"}
    more = {"method": {"algorithm": algorithm}, "release": {"ranges": ranges}}
    release, told, _ = release_of(table, roles, **more)
    shown = {name: release.table[name].to_pylist() for name in "ab"}
    # a `*` that a part without null shows covers less than it says; what it says is tested with hierarchies
    assume(not (None in table["b"].to_pylist() and "*" in shown["b"]))
    attributes = {}
    for name in "ab":
        values = table[name].to_pylist()
        cells = []
        for value, label in zip(values, shown[name], strict=True):
            covers, leaves, loss, middle = ranged(values, label)
            cells.append(naive_measures.Cell(value, label, covers, leaves, loss, None, middle))
        size = max(len(set(values) - {None}), 1)
        attributes[name] = naive_measures.Attribute(cells, frozenset(values), size)
    lines = list(zip(shown["a"], shown["b"], strict=True))
    classes = [[row for row, other in enumerate(lines) if other == line] for line in dict.fromkeys(lines)]
    sensitive = {"s": table["s"].to_pylist()}
    expected = naive_measures.all_measures(naive_measures.Table(attributes, frozenset(), classes, sensitive, 2))
    agree({name: each.total for name, each in told.items()}, expected)


# laws


INTACT = {
    **dict.fromkeys(["loss", "ncp", "gcp", "leaf-loss", "leaf-loss-mean", "missing-cells", "non-uniform-entropy"], 0),
    **dict.fromkeys(["non-uniform-entropy-share", "kl-divergence", "ambiguity-log2", "contingency-change"], 0),
    **dict.fromkeys(["prec", "prec-full-domain", "granularity", "ambiguity"], 1),
}


@naive.examples(100)
@given(instance=naive.instances())
def test_the_table_itself_is_intact(instance):
    found = totals(seen(instance, *node_of(instance, (0,) * len(instance.names), nothing)))
    for name, value in INTACT.items():
        assert found[name] == pytest.approx(value, abs=1e-12) or found[name] is None, name
    assert None not in [found[name] for name in INTACT if name != "contingency-change"]


@naive.examples(100)
@given(instance=naive.instances())
def test_all_stars_lose_everything(instance):
    starred = {}
    for name, attribute in instance.attributes.items():
        leaves = [*attribute.leaves, "z"]
        starred[name] = replace(attribute, leaves=leaves, levels=[dict.fromkeys(leaves, "*")], low=0, high=1)
    instance = replace(instance, attributes=starred)
    found = totals(seen(instance, *node_of(instance, (1,) * len(starred), nothing)))
    for name in ("loss", "gcp", "missing-cells"):
        assert found[name] == pytest.approx(1)
    for name in ("prec", "prec-full-domain", "granularity"):
        assert found[name] == pytest.approx(0, abs=1e-12)
    assert found["ncp"] == pytest.approx(len(starred))
    assert found["non-uniform-entropy-share"] in (0, pytest.approx(1))
    assert found["discernibility"] == instance.rows**2
    everyone = totals(seen(instance, *node_of(instance, (0,) * len(starred), lambda n: np.ones(n, dtype=bool))))
    for name in ("loss", "prec", "non-uniform-entropy", "kl-divergence", "ambiguity"):
        assert everyone[name] == pytest.approx(found[name], abs=1e-9), name


@naive.examples(100)
@given(instance=naive.instances(), data=st.data())
def test_coarser_loses_more(instance, data):
    """Without suppression no step up makes anything better that adds up over the cells."""
    node = data.draw(st.sampled_from(list(instance.nodes())))
    higher = [
        min(level + 1, instance.attributes[name].height) for name, level in zip(instance.names, node, strict=True)
    ]
    fine, coarse = (totals(seen(instance, *node_of(instance, n, nothing))) for n in (node, higher))
    more = ["loss", "leaf-loss", "discernibility", "non-uniform-entropy", "kl-divergence", "ambiguity", "missing-cells"]
    for name in more:
        assert fine[name] <= coarse[name] + 1e-9 * max(1, coarse[name]), name
    assert fine["prec"] >= coarse["prec"] - 1e-12


def test_unchanged_numbers_lose_nothing():
    """SSE 0, correlations and contingency as they were."""
    table = pa.table({"a": [1, 1, 5, 5, 9, 9], "b": [3.5, 3.5, 1.25, 1.25, 8.0, 8.0], "s": list("xyxyxx")})
    flat = {"role": "quasi-identifier", "hierarchy": {"flat": True}, "max-level": 0}
    _, told, figures = release_of(table, {"a": flat, "b": flat, "s": "sensitive"})
    assert told["sse"].attributes == {"a": 0, "b": 0}
    assert figures["sse-share"] == 0
    for name in ("correlation-change", "contingency-change"):
        assert figures[name] == pytest.approx(0, abs=1e-12)
        assert all(pair.before == pytest.approx(pair.after) for pair in told[name].pairs)
    assert [(p.one, p.other) for p in told["contingency-change"].pairs] == [("a", "b"), ("a", "s"), ("b", "s")]


def test_numbers_too_large_for_a_float_are_not_told():
    """Of 400 attributes of ten values each a row of stars may be one of 10^400."""
    columns = {f"q{i}": [str(row % 10) for row in range(10)] for i in range(400)}
    flat = {"role": "quasi-identifier", "hierarchy": {"flat": True}, "min-level": 1}
    _, _, figures = release_of(pa.table(columns), dict.fromkeys(columns, flat), k=10)
    assert "ambiguity" not in figures
    assert figures["ambiguity-log2"] == pytest.approx(400 * log2(10))


# the list


def test_every_metric_is_listed_once():
    names = [entry.name for entry in catalogue()]
    assert len(names) == len(set(names))
    assert {entry.name for entry in catalogue() if entry.minimised} == set(METRICS)
    assert all(entry.tells.endswith(".") and entry.range and entry.source for entry in catalogue())
    assert set(METRICS) | {e.name for e in catalogue() if e.measure is not None} == set(names)


def test_every_figure_of_a_release_is_listed(desk):
    desk.policy(require=[{"model": "k-anonymity", "k": 3}, {"model": "distinct-l-diversity", "l": 2}])
    assert desk.anonymize().code == 0
    manifest = json.loads((desk.private / "manifest.json").read_text())
    names = {entry.name for entry in catalogue()}
    assert set(manifest["metrics"]) <= names
    assert names - set(manifest["metrics"]) == {"class-sizes", "sse", "correlation-change"}  # of one numeric attribute
    assert set(manifest["measures"]) <= names
    assert set(manifest["measures"]["loss"]["attributes"]) == {"age", "sex"}
    assert {"one", "other", "before", "after"} == set(manifest["measures"]["contingency-change"]["pairs"][0])
    page = (desk.private / "report.html").read_text()
    assert all(name in page for name in manifest["metrics"])
    assert "Attribute by attribute" in page
    assert "measures" not in json.loads((desk.out / "manifest.json").read_text())


def test_the_metrics_command_lists_every_metric(shoal):
    ran = shoal("metrics", "--json")
    assert ran.code == 0
    listed = json.loads(ran.out)["metrics"]
    assert [each["name"] for each in listed] == [entry.name for entry in catalogue()]
    assert all(set(each) == {"name", "tells", "range", "minimised", "source"} for each in listed)
    said = shoal("metrics")
    assert said.code == 0
    assert f"{len(catalogue())} metrics" in said.out


def test_a_frame_has_them_too():
    table = pa.table({"age": [11, 12, 21, 22]})
    summary = sh.anonymize(table, Policy(attributes={"age": AGES}, require=[{"model": "k-anonymity", "k": 2}])).summary
    assert summary.metrics["c-avg"] == 1
    assert summary.measures["granularity"]["attributes"] == {"age": pytest.approx(2 / 3)}
    with pytest.raises(TypeError, match="does not change"):
        summary.measures["loss"] = 0
