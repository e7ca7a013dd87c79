"""Models that count columns together, from table to verified release: personalised, x-y-privacy, b-t-privacy."""

import json
import warnings
from collections import defaultdict
from fractions import Fraction
from itertools import product

import naive
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal as sh
from shoal.errors import Infeasible

ILLNESS = {"role": "sensitive", "hierarchy": {"tree": {"*": {"lung": ["flu", "cold"], "blood": ["hiv"]}}}}
AGE = {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}}
ROWS = """age,guard,disease
31,,flu
32,blood,cold
33,,hiv
34,lung,hiv
51,,flu
52,blood,flu
53,,cold
54,,hiv
"""
ATTRIBUTES = {"age": AGE, "guard": {"role": "identifier"}, "disease": ILLNESS}
PERSONALISED = {"model": "personalised", "guard": "guard", "max": 0.5}


@pytest.fixture
def guarded(desk):
    desk.table(ROWS)
    desk.policy(ATTRIBUTES, [PERSONALISED, {"model": "k-anonymity", "k": 2}])
    return desk


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "model",
    [
        PERSONALISED,
        {"model": "x-y-privacy", "y": ["guard"], "k": 2, "null-is-value": True},
        {"model": "x-y-privacy", "x": ["age"], "y": "disease", "h": 0.5},
        {"model": "b-t-privacy", "b": 0.3, "t": 0.3},
        {"model": "b-t-privacy", "b": [0.3, 1.0], "t": [0.3, 0.25]},
    ],
    ids=lambda model: "-".join(map(str, model.values())),
)
def test_from_table_to_verified_release(guarded, model):
    guarded.policy(ATTRIBUTES, [model])
    ran = guarded.anonymize("--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["data"]["columns"] == ["age", "disease"]
    needs = {v["promise"]: v["status"] for v in json.loads(guarded.verify("--json").out)["verdicts"]}
    assert needs[model["model"]] == "needs the original"
    ran = guarded.verify("--original", guarded.data, "--json")
    assert {v["status"] for v in json.loads(ran.out)["verdicts"]} == {"holds"}, ran.out


def test_verify_detects_an_original_that_breaks_the_promise(guarded):
    assert guarded.anonymize().code == 0
    other = guarded.table(ROWS.replace("52,blood,flu", "52,lung,flu").replace("51,,flu", "51,lung,flu"), "other.csv")
    ran = guarded.verify("--original", other, "--json")
    found = {v["promise"]: v["status"] for v in json.loads(ran.out)["verdicts"]}
    assert (ran.code, found["personalised"]) == (4, "fails")


def test_a_guard_is_never_released(guarded):
    guarded.policy({**ATTRIBUTES, "guard": {"role": "insensitive", "confirm": True}}, [PERSONALISED])
    says = (
        "attributes.guard: it tells what each person wants hidden and would be released; give it the role 'identifier'"
    )
    guarded.refused(2, says=says)
    guarded.policy({"age": AGE, "disease": ILLNESS}, [PERSONALISED], data={"others": "insensitive"})
    guarded.refused(2)
    guarded.policy({"age": AGE, "disease": ILLNESS}, [PERSONALISED], data={"others": "drop"})
    assert guarded.anonymize().code == 0


def test_a_guard_is_a_label_of_the_hierarchy(guarded):
    guarded.table(ROWS + "35,CANARY-7f3,flu\n36,CANARY-7f3,flu\n")
    guarded.refused(2, says="column 'guard': 2 row(s) name no label of the hierarchy of 'disease'")
    ran = guarded.anonymize("--show-values")
    assert "CANARY-7f3" in ran.err
    guarded.policy({**ATTRIBUTES, "disease": {"role": "sensitive"}}, [PERSONALISED])
    guarded.refused(2, says="attributes.disease: personalised needs a hierarchy of it")


def test_a_row_that_guards_every_value_is_refused_before_the_search(guarded):
    guarded.table(ROWS.replace("33,,hiv", "33,*,hiv"))
    guarded.refused(3, says="1 row(s) guard every value of 'disease' that the table holds, and no class hides that")


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ({"model": "x-y-privacy", "y": "nix"}, "require: x-y-privacy looks at 'nix', and the table has no such column"),
        ({"model": "x-y-privacy", "y": "guard", "x": "disease"}, "x names 'disease', which has not the role"),
        ({**PERSONALISED, "guard": "nix"}, "require: personalised looks at 'nix', and the table has no such column"),
    ],
)
def test_missing_columns_are_refused(guarded, model, says):
    guarded.policy(ATTRIBUTES, [model])
    guarded.refused(2, says=says)


# against brute force


LEAVES = "abcd"
TREE = {"a": "ab", "b": "ab", "c": "cd", "d": "cd"}
LEVELS = [{leaf: leaf for leaf in LEAVES}, TREE, dict.fromkeys(LEAVES, "*")]
COLUMN = {"role": "quasi-identifier", "hierarchy": [[leaf, TREE[leaf], "*"] for leaf in LEAVES]}
TABLE = st.lists(
    st.tuples(
        st.sampled_from(LEAVES),
        st.sampled_from(LEAVES),
        st.sampled_from(["flu", "cold", "hiv"]),
        st.sampled_from([None, "lung", "blood", "hiv", "flu"]),
    ),
    min_size=1,
    max_size=12,
)
BELOW = {"lung": {"flu", "cold"}, "blood": {"hiv"}, "hiv": {"hiv"}, "flu": {"flu"}}


def hides(rows, most):
    values = [ill for *_, ill, _ in rows]
    guards = {guard for *_, guard in rows} - {None}
    return all(Fraction(sum(v in BELOW[g] for v in values), len(values)) <= Fraction(str(most)) for g in guards)


def links(kept, x, k, h):
    """On (released p, released q, …) rows that are kept: Y is the guard, X some of p and q."""
    groups = defaultdict(list)
    for row in kept:
        groups[tuple(row[i] for i in x)].append(row[3])
    for ys in groups.values():
        known = [y for y in ys if y is not None]
        if len(set(known)) < k or any(Fraction(known.count(y), len(known)) > Fraction(str(h)) for y in known):
            return False
    return True


def allowed(table, limit, class_holds, table_holds):
    for node in product(range(3), repeat=2):
        classes = defaultdict(list)
        for p, q, ill, guard in table:
            lifted = (LEVELS[node[0]][p], LEVELS[node[1]][q])
            classes[lifted].append((*lifted, ill, guard))
        kept = [row for rows in classes.values() if class_holds(rows) for row in rows]
        if len(table) - len(kept) <= limit and kept and table_holds(kept):
            yield node


ASKED = st.one_of(
    st.tuples(st.just("personalised"), st.sampled_from([0.2, 0.34, 0.5, 0.6])),
    st.tuples(
        st.just("x-y-privacy"),
        st.sampled_from([None, (0,), (1,), (0, 1)]),
        st.integers(1, 3),
        st.sampled_from([0.5, 0.7, 1.0]),
    ),
)


@naive.examples(250)
@given(TABLE, ASKED, st.sampled_from([0, 0.2, 0.5]), st.sampled_from([1, 2]))
def test_the_search_finds_what_brute_force_finds(table, asked, share, k):
    """And verify, which counts in SQL, accepts it; k-anonymity beside it suppresses classes of its own."""
    name, *how = asked
    if name == "personalised":
        model = {"model": name, "guard": "guard", "max": how[0]}
        tests = (lambda rows: len(rows) >= k and hides(rows, how[0]), lambda _: True)
    else:
        x, *limits = how
        names = {} if x is None else {"x": ["pq"[i] for i in x]}
        model = {"model": name, "y": "guard", "k": limits[0], "h": limits[1], **names}
        if x is None:
            tests = (lambda rows: len(rows) >= k and links(rows, (0, 1), *limits), lambda _: True)
        else:
            tests = (lambda rows: len(rows) >= k, lambda kept: links(kept, x, *limits))
    policy = sh.Policy(
        attributes={"p": COLUMN, "q": COLUMN, "ill": ILLNESS, "guard": "identifier"},
        require=[model, {"model": "k-anonymity", "k": k}],
        method={"suppression": share, "metric": "height"},
    )
    nodes = list(allowed(table, int(Fraction(str(share)) * len(table)), *tests))
    columns = zip(["p", "q", "ill", "guard"], zip(*table, strict=True), strict=True)
    frame = pa.table({column: pa.array(cells, pa.string()) for column, cells in columns})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sh.ShoalWarning)
        try:
            release = sh.anonymize(frame, policy)
        except Infeasible:
            assert not nodes
            return
    found = tuple(release.plan.recoding.levels.values())
    assert found in nodes
    assert sum(found) == min(map(sum, nodes))
