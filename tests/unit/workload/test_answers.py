"""Answers from a release: by hand, on the paper's table, and by brute force over every value that a label covers."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples
from patients import PATIENTS, patients

import shoal as sh
from shoal.data.codes import Table, encode
from shoal.hierarchy.taxonomy import Taxonomy
from shoal.workload.answers import answer_queries
from shoal.workload.generalised_table import QueriedOriginal, read_release
from shoal.workload.queries import queries_of

AVERAGE = {"avg": "age", "where": {"sex": "Male"}}
YOUNG = {"count": True, "where": {"sex": "Male", "age": {"to": 36}}}


def answered(release, *queries):
    return sh.workload(PATIENTS, release, queries=queries).answered


def test_the_first_query_of_the_paper():
    """S4.8: AVG(Age) of males is exact where means are released."""
    for form in (["range", "mean"], ["bounds", "mean"], "mean"):
        (one,) = answered(patients("mondrian", age=form, means="any"), AVERAGE)
        assert one.estimate == one.actual == 36.5
        assert one.error == 0


def test_the_second_query_of_the_paper():
    """S4.8: COUNT of males up to 36 matches the multidimensional release, not the single-dimensional one."""
    for form in ("range", "bounds", ["range", "mean"]):
        (one,) = answered(patients("mondrian", age=form, means="any"), YOUNG)
        assert one.matches
        assert one.estimate == one.actual == 2
    (one,) = answered(patients("mondrian-single"), YOUNG)
    assert not one.matches
    assert one.estimate == 2  # [35, 38] of four males: half of them


def test_a_mean_alone_matches_no_range():
    """A mean alone tells no range."""
    (one,) = answered(patients("mondrian", age="mean", means="any"), YOUNG)
    assert not one.matches


def test_ranges_give_the_ends():
    release = patients("mondrian")
    low, high = answered(release, {"min": "age", "where": {"sex": "Male"}}, {"max": "zip", "where": {"sex": "Female"}})
    assert (low.estimate, low.actual) == (35, 35)
    assert (high.estimate, high.actual) == (533441, 533441)


def shown(name, values, labels, **known):
    """One column, released as these labels."""
    column = encode(name, pa.array(values))
    original = QueriedOriginal(Table({name: column}, len(values)), known)
    texts = list(dict.fromkeys(labels))
    codes = np.array([texts.index(label) for label in labels], np.int32)
    return read_release({name: (codes, texts)}, {}, {name}, original)


def one(release, **query):
    found = answer_queries(release, queries_of([query]))
    return found.values[0], found.matching[0]


def test_numbers_that_are_not_whole_are_a_continuum():
    release = shown("pay", [0.5, 3.0, 2.5, 4.5], ["[0.5, 2.5)", "[2.5, 4.5]", "[2.5, 4.5]", "[2.5, 4.5]"])
    assert one(release, count=True, where={"pay": {"to": 1.5}}) == (0.5, False)
    assert one(release, count=True, where={"pay": {"from": 2.5}}) == (3, True)
    assert one(release, count=True, where={"pay": {"from": 4.5}}) == (0, False)  # one row may have it
    assert one(release, count=True, where={"pay": 3.5}) == (0, False)
    assert one(release, count=True, where={"pay": {"in": [5, 6]}}) == (0, True)
    assert one(release, sum="pay", where={"pay": {"from": 3.5}}) == (1.5 * 4, False)
    assert one(release, min="pay", where={"pay": {"from": 2}}) == (2, False)


def test_days_are_whole_and_times_are_not():
    days = shown("day", ["2020-01-01", "2020-01-10"], ["[2020-01-01, 2020-01-11)"] * 2)
    assert one(days, count=True, where={"day": "2020-01-04"}) == (0.2, False)
    assert one(days, count=True, where={"day": {"to": "2020-01-05"}}) == (1, False)
    moments = pa.array(["2020-01-01T06:00", "2020-01-02T18:00"]).cast(pa.timestamp("s"))
    times = shown("time", moments, ["[2020-01-01, 2020-01-02]"] * 2)
    assert one(times, count=True, where={"time": {"to": "2020-01-01"}})[0] == pytest.approx(1)
    assert one(times, count=True, where={"time": {"from": "2020-01-01", "to": "2020-01-02"}}) == (2, True)


def test_leaves_that_no_row_has_count_too():
    tree = Taxonomy(["a", "b", "c", "d"], [["x", "x", "x", "y"], ["*"] * 4], str)
    release = shown("kind", ["a", "b", "d"], ["x", "x", "y"], kind=tree)
    assert one(release, count=True, where={"kind": "a"})[0] == pytest.approx(2 / 3)
    assert one(release, count=True, where={"kind": "c"})[0] == pytest.approx(2 / 3)
    assert one(release, count=True, where={"kind": "d"}) == (1, True)


def test_labels_of_a_hierarchy_of_numbers():
    tree = Taxonomy(["1", "2", "3"], [["low", "low", "[3, 9)"], ["*"] * 3], str)
    release = shown("n", [1, 2, 3], ["low", "low", "[3, 9)"], n=tree)
    assert one(release, count=True, where={"n": 1}) == (1, False)
    assert one(release, avg="n", where={"n": {"to": 2}}) == (1.5, True)
    assert one(release, max="n", where={"n": {"to": 2}}) == (2, True)


def test_what_cannot_be_read_is_refused():
    with pytest.raises(sh.BadInput, match="column 'n': it shows what neither the grammar"):
        shown("n", [1, 2], ["many", "many"])
    with pytest.raises(sh.BadInput, match="column 't': it shows what neither the grammar"):
        shown("t", ["a", "b"], ["both", "both"])


# --- brute force ---------------------------------------------------------------------------------------------------

AGES = range(10)
REGIONS = {"up": ["n", "e"], "down": ["s", "w", "x"]}
LEAVES = [leaf for leaves in REGIONS.values() for leaf in leaves]
TREE = Taxonomy(LEAVES, [[up for up, of in REGIONS.items() for _ in of], ["*"] * 5], str)


def age_labels(age, ages):
    """Every label that an age may have, with the values that it covers."""
    known = [one for one in ages if one is not None]
    least, most = min(known), max(known)
    if age is None:
        return [(None, [None])]
    spans = [(low, high) for low in range(age + 1) for high in range(age, 10)]
    return [
        (str(age), [age]),
        *((f"[{low}, {high}]", list(range(low, high + 1))) for low, high in spans),
        *((f"[{low}, {high + 1})", list(range(low, high + 1))) for low, high in spans),
        *((f"<{end}", list(range(least, end))) for end in range(age + 1, 11)),
        *((f"≥{end}", list(range(end, most + 1))) for end in range(age + 1)),
        (f"{{{age} | 12}}", [age, 12]),
    ]


def region_labels(region):
    if region is None:
        return [(None, [None])]
    group = next(up for up, of in REGIONS.items() if region in of)
    return [(region, [region]), (group, REGIONS[group]), (f"{{{region} | n | w}}", sorted({region, "n", "w"}))]


@st.composite
def tables(draw):
    """Rows of age, region and pay; of the first two, what is shown and what that may stand for, with its chance."""
    ages = draw(st.lists(st.one_of(st.none(), st.sampled_from(AGES)), min_size=1, max_size=8))
    rows = []
    if any(age is not None for age in ages):
        regions = draw(st.lists(st.one_of(st.none(), st.sampled_from(LEAVES)), min_size=len(ages), max_size=len(ages)))
        pays = draw(st.lists(st.one_of(st.none(), st.integers(-3, 5)), min_size=len(ages), max_size=len(ages)))
        for age, region, pay in zip(ages, regions, pays, strict=True):
            stars = draw(st.sampled_from([0, 0, 0, 1]))
            label, covered = draw(st.sampled_from(age_labels(age, ages)))
            known = [one for one in ages if one is not None]
            age_face = everything(range(min(known), max(known) + 1), ages) if stars else even(covered)
            text, leaves = draw(st.sampled_from(region_labels(region)))
            region_face = everything(LEAVES, regions) if stars else even(leaves)
            shown_as = ("*", "*") if stars else (label, text)
            rows.append(((age, region, pay), shown_as, (age_face, region_face, {pay: Fraction(1)})))
    return rows


def even(values):
    return {value: Fraction(1, len(values)) for value in values}


def everything(values, held):
    """Null is one of the values of its column."""
    distinct = set(held)
    null = Fraction(1, len(distinct)) if None in distinct else Fraction(0)
    each = {value: (1 - null) / len(values) for value in values}
    if all(value is None for value in distinct):
        return {None: Fraction(1)}
    return each | ({None: null} if null else {})


PREDICATES = {
    "age": st.one_of(
        st.integers(0, 12),
        st.fixed_dictionaries({"from": st.integers(-1, 10)}, optional={"to": st.integers(-1, 13)}),
        st.fixed_dictionaries({"in": st.lists(st.integers(0, 12), min_size=1, max_size=4)}),
    ),
    "region": st.one_of(
        st.sampled_from([*LEAVES, "q"]),
        st.fixed_dictionaries({"to": st.sampled_from("nsw")}),
        st.fixed_dictionaries({"in": st.lists(st.sampled_from(LEAVES), min_size=1, max_size=3)}),
    ),
    "pay": st.one_of(st.integers(-3, 5), st.fixed_dictionaries({"to": st.integers(-3, 5)})),
}
QUERIES = st.builds(
    lambda aggregate, of, where: {aggregate: True if aggregate == "count" else of, "where": where},
    st.sampled_from(["count", "sum", "avg", "min", "max"]),
    st.sampled_from(["age", "pay"]),
    st.fixed_dictionaries({}, optional=PREDICATES),
)
NAMES = ("age", "region", "pay")


def satisfies(predicate, value):
    if value is None:
        return False
    if not isinstance(predicate, dict):
        return value == predicate
    if "in" in predicate:
        return value in predicate["in"]
    return all(
        low <= high for low, high in ((predicate.get("from", value), value), (value, predicate.get("to", value)))
    )


def brute_force(faces, query):
    """Row by row, every value that it may have."""
    (aggregate, of), where = next(item for item in query.items() if item[0] != "where"), query["where"]
    asked = {} if aggregate == "count" else {of: None}
    weights, sums, ends, matching = Fraction(0), Fraction(0), [], True
    for face in faces:
        by_name = dict(zip(NAMES, face, strict=True))
        held = {
            name: {
                v: p
                for v, p in by_name[name].items()
                if v is not None and (name not in where or satisfies(where[name], v))
            }
            for name in asked | where
        }
        on_where = [(len(held[name]), len(by_name[name])) for name in where]
        matching &= any(some == 0 for some, _ in on_where) or all(some == of_all for some, of_all in on_where)
        share = math.prod((sum(held[name].values(), Fraction(0)) for name in held), start=Fraction(1))
        weights += share
        if aggregate != "count" and all(held.values()):
            mean = sum(p * v for v, p in held[of].items()) / sum(held[of].values())
            sums += share * mean
            ends += held[of]
    answer = {
        "count": weights,
        "sum": sums,
        "avg": sums / weights if weights else None,
        "min": min(ends, default=None),
        "max": max(ends, default=None),
    }[aggregate]
    return answer, matching


def compared(release, faces, queries):
    alone = [answer_queries(release, queries_of([query])) for query in queries]
    twice = answer_queries(release, queries_of(queries * 2))  # several on the same attributes are answered together
    found = [
        *zip(twice.values.tolist(), twice.matching, strict=True),
        *((one.values[0], one.matching[0]) for one in alone),
    ]
    for query, (value, matches) in zip(queries * 3, found, strict=True):
        expected, matching = brute_force(faces, query)
        assert (None if math.isnan(value) else value) == (None if expected is None else pytest.approx(float(expected)))
        assert matches == matching, query


def original_of(rows):
    columns = {
        name: encode(name, pa.array([row[0][at] for row in rows], pa.string() if name == "region" else pa.int64()))
        for at, name in enumerate(NAMES)
    }
    return QueriedOriginal(Table(columns, len(rows)), {"region": TREE})


@examples(600)
@given(tables(), st.lists(QUERIES, min_size=1, max_size=6))
def test_answers_agree_with_brute_force(rows, queries):
    """S4.8: the uniform assumption is what it says."""
    if not rows:
        return
    original = original_of(rows)
    cells = {}
    for at, name in enumerate(NAMES):
        labels = [row[1][at] if at < 2 else None if row[0][2] is None else str(row[0][2]) for row in rows]
        texts = list(dict.fromkeys(labels))
        cells[name] = (np.array([texts.index(label) for label in labels], np.int32), texts)
    compared(read_release(cells, {}, NAMES, original), [row[2] for row in rows], queries)


@examples(300)
@given(tables(), st.lists(QUERIES, min_size=1, max_size=6))
def test_a_table_that_is_not_recoded_answers_exactly(rows, queries):
    """Every share is 0 or 1."""
    if not rows:
        return
    faces = [tuple({value: Fraction(1)} for value in row[0]) for row in rows]
    original = original_of(rows)
    compared(original.show_columns(NAMES), faces, queries)
    assert all(answer_queries(original.show_columns(NAMES), queries_of(queries)).matching)
