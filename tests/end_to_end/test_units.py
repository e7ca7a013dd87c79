"""Persons, of whom one may have several rows: sizes, l and α count them (design 12)."""

import json
import warnings
from collections import defaultdict
from fractions import Fraction
from itertools import product

import naive
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal as sh
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation, join_columns
from shoal.errors import Infeasible
from shoal.models import MODELS
from shoal.models.alpha_k import AlphaK
from shoal.models.k_anonymity import KAnonymity
from shoal.models.l_diversity import DistinctLDiversity
from shoal.models.model import Closure

AGE = {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}}
ATTRIBUTES = {"person": "unit", "age": AGE, "disease": "sensitive"}
K2 = {"model": "k-anonymity", "k": 2}
VISITS = """person,age,disease
ann,31,flu
ann,31,flu
ann,31,hiv
bob,32,flu
cid,35,cold
cid,35,flu
dot,51,flu
dot,51,flu
eli,52,hiv
"""
quick = naive.examples(200)


@pytest.fixture
def visits(desk):
    desk.table(VISITS)
    attributes = {**ATTRIBUTES, "person": {"role": "unit"}, "disease": {"role": "sensitive"}}
    desk.policy(attributes, [{"model": "k-anonymity", "k": 2}])
    return desk


# what is told


def test_the_summary_tells_classes_in_rows_and_in_persons(visits):
    told = " ".join(visits.anonymize().out.split())
    assert "classes 2 of 3 to 6 rows, 4.5 on average; at least 2 persons in each" in told


def test_the_summary_says_that_persons_have_several_rows_where_no_promise_counts_them(visits):
    attributes = {**ATTRIBUTES, "person": {"role": "unit"}, "disease": {"role": "sensitive"}}
    visits.policy(attributes, [{"model": "distinct-l-diversity", "l": 2}])
    assert "rows, 4.5 on average; a person may have several rows" in " ".join(visits.anonymize().out.split())


def test_pages_tell_classes_in_persons_too(visits):
    assert visits.anonymize().code == 0
    public, private = ((folder / "report.html").read_text("utf-8") for folder in (visits.out, visits.private))
    said = "The rows form 2 classes of 3 to 6 rows, 4.5 on average; each has at least 2 persons, as promised."
    assert said in public
    assert said in private
    assert "at least 2 persons in each class: a guess is right with 50.0 % at most" in private


# counting


def counts_of(rows):
    """Rows of (class, person, value) as the product counts them."""
    person, value = sorted({r[1] for r in rows}), [*sorted({r[2] for r in rows} - {None}), None]
    at, who, what = (
        np.array(codes, np.int32)
        for codes in zip(*((r[0], person.index(r[1]), value.index(r[2])) for r in rows), strict=True)
    )
    n = int(at.max()) + 1
    long = {
        "person": (who, len(person)),
        ("person", "ill"): join_columns([(who, len(person)), (what, len(value))]),
    }
    classes = FrequencySet.count({"q": (at, n)}, long)
    return classes, CountInterpretation({"ill": value}, unit="person")


ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from("ABCDE"), st.sampled_from(["flu", "hiv", "cold", None])),
    min_size=1,
    max_size=16,
)


@quick
@given(ROWS)
def test_sizes_and_shares_are_of_persons(rows):
    classes, reading = counts_of(rows)
    counts = classes.class_counts(reading)
    shown = classes.codes("q").tolist()
    for i, at in enumerate(shown):
        here = [row for row in rows if row[0] == at]
        assert counts.sizes[i] == len({who for _, who, _ in here})
        values = counts.sensitive["ill"]
        found = {
            values.labels[v]: int(n)
            for c, v, n in zip(values.classes, values.values, values.counts, strict=True)
            if c == i
        }
        assert found == {v: len({w for _, w, u in here if u == v}) for v in {u for *_, u in here}}
        assert values.select_protecting(null=False).totals[i] == len({w for _, w, u in here if u is not None})
        assert values.select_protecting(null=True).totals[i] == counts.sizes[i]


def test_a_person_in_two_classes_is_counted_once_in_their_union():
    """A person of both classes is one person of their union."""
    classes, reading = counts_of([(0, "A", "flu"), (0, "B", "flu"), (1, "B", "flu"), (1, "C", "flu")])
    assert classes.class_counts(reading).sizes.tolist() == [2, 2]
    assert classes.project([]).class_counts(reading).sizes.tolist() == [3]


def test_a_share_of_persons_may_grow_when_classes_merge():
    """α = 1/2: A of {A, B} and C of {C, B} have hiv; of {A, B, C} two thirds have it. So α is not closed here."""
    rows = [(0, "A", "hiv"), (0, "B", "flu"), (1, "C", "hiv"), (1, "B", "cold")]
    classes, reading = counts_of(rows)
    model = AlphaK(0.5, 1, "ill")
    assert model.complies(classes.class_counts(reading)).all()
    assert not model.complies(classes.project([]).class_counts(reading)).any()


def complying(model, rows):
    classes, reading = counts_of(rows)
    shown = classes.codes("q").tolist()
    return dict(zip(shown, model.complies(classes.class_counts(reading)).tolist(), strict=True))


INSTANCES = [
    KAnonymity(2),
    KAnonymity(3),
    DistinctLDiversity(2, "ill"),
    DistinctLDiversity(2, "ill", null_is_value=True),
    *(model for name in ("p-sensitive",) if name in MODELS for model in [MODELS[name](2, attribute="ill")]),
]


@pytest.mark.parametrize("model", INSTANCES, ids=str)
def test_merging_classes_never_lowers_the_number_of_persons(model):
    """M2 for persons who may stand in several classes: SUPERSET stays."""

    @quick
    @given(ROWS)
    def check(rows):
        fine = complying(model, rows)
        coarse = complying(model, [(0 if at < 2 else at, *rest) for at, *rest in rows])
        for part in model.parts():
            assert part.merging is Closure.SUPERSET
        if any(fine.get(at) for at in (0, 1)):
            assert coarse[0]

    check()


@quick
@given(ROWS, st.sampled_from([0.34, 0.5, 0.6, 0.75]), st.booleans())
def test_shares_of_persons_who_stand_in_one_class_mix(rows, alpha, null):
    """M1 for persons whose quasi-identifiers do not vary: UNION stays."""
    home = {}
    rows = [(home.setdefault(who, at), who, what) for at, who, what in rows]
    model = AlphaK(alpha, 1, "ill", null_is_value=null)
    fine = complying(model, rows)
    coarse = complying(model, [(0 if at < 2 else at, who, what) for at, who, what in rows])
    here = [fine[at] for at in (0, 1) if at in fine]
    if here and all(here):
        assert coarse[0]


# from table to release


def test_persons_are_counted(visits):
    """Of the rows, 31 occurs three times; it is one person."""
    ran = visits.anonymize("--json")
    assert ran.code == 0, ran.err
    manifest = json.loads(ran.out)
    assert manifest["recoding"]["levels"]["age"] == 1
    assert manifest["models"][0]["attained"] == {"k": 2}
    assert manifest["data"]["columns"] == ["age", "disease"]
    assert "ann" not in (visits.out / "data.csv").read_text()
    assert json.loads((visits.out / "manifest.json").read_text())["persons"] is True


def test_counting_rows_generalises_less_than_counting_persons():
    table = pd.DataFrame({"person": list("AABB"), "age": [31, 31, 52, 52], "disease": ["flu"] * 4})
    rows = sh.Policy(attributes={**ATTRIBUTES, "person": "identifier"}, require=[K2])
    with pytest.warns(sh.ShoalWarning, match="'person' has 2 values on 4 rows: if a person can have several rows"):
        assert sh.anonymize(table, rows).data["age"].tolist() == ["31", "31", "52", "52"]
    persons = sh.Policy(attributes=ATTRIBUTES, require=[K2])
    assert sh.anonymize(table, persons).data["age"].tolist() == ["*"] * 4


def test_verify_needs_the_original(visits):
    assert visits.anonymize().code == 0
    found = {v["promise"]: v["status"] for v in json.loads(visits.verify("--json").out)["verdicts"]}
    assert found["k-anonymity"] == "needs the original"
    ran = visits.verify("--original", visits.data, "--json")
    assert ran.code == 0
    assert {v["status"] for v in json.loads(ran.out)["verdicts"]} == {"holds"}


def test_verify_detects_a_manifest_that_counts_rows_instead_of_persons(visits):
    assert visits.anonymize().code == 0
    file = visits.out / "manifest.json"
    manifest = json.loads(file.read_text())
    file.write_text(json.dumps({**manifest, "persons": False}))
    ran = visits.verify("--original", visits.data, "--json")
    why = next(v["why"] for v in json.loads(ran.out)["verdicts"] if v["promise"] == "claim")
    assert (ran.code, why) == (
        4,
        "the manifest and the policy of the private folder differ in whether persons are counted",
    )


def test_two_units_are_refused(visits):
    visits.policy({"person": {"role": "unit"}, "age": AGE, "disease": {"role": "unit"}})
    visits.refused(2, says="attributes.disease: 'person' is the unit already; one column tells persons apart")


def test_rows_without_a_person_are_refused(visits):
    visits.table(VISITS + ",33,flu\n,34,flu\n")
    visits.refused(2, says="column 'person': 2 row(s) belong to no person")


def test_a_person_with_several_ages_gives_a_warning(visits):
    visits.table(VISITS + "ann,52,flu\n")
    ran = visits.anonymize()
    assert ran.code == 0
    assert "attributes.age: some persons have several values of it, so they stand in several classes" in ran.err
    assert "every class still keeps its promises, counted in persons, but whoever knows several rows" in ran.err
    assert "give each person one value of it before, such as the first, or drop it" in ran.err


def test_columns_in_which_persons_vary_share_a_warning():
    table = pd.DataFrame({"person": list("AABBCC"), "age": [31, 32, 31, 31, 32, 32], "sex": list("fmffmm")})
    policy = sh.Policy(
        attributes={"person": "unit", "age": "quasi-identifier", "sex": "quasi-identifier"}, require=[K2]
    )
    with pytest.warns(sh.ShoalWarning, match="some persons have several values") as caught:
        sh.anonymize(table, policy)
    (said,) = [str(each.message) for each in caught if "several values" in str(each.message)]
    assert said.startswith("attributes.age, attributes.sex: some persons have several values of these, so they stand")
    assert said.endswith("give each person one value of these before, such as the first, or drop them")


def test_an_audit_tells_records_and_persons(visits):
    assert visits.anonymize().code == 0
    classes = json.loads((visits.out / "manifest.json").read_text("utf-8"))["classes"]
    persons = json.loads((visits.private / "manifest.json").read_text("utf-8"))["models"][0]["attained"]["k"]
    assert persons < classes["min"]
    said = f"by its classes: the smallest has {classes['min']} records, and each class has at least {persons} persons"
    for more in ([], ["--original", visits.data]):
        ran = visits.run("audit", visits.out, *more, "--json")
        assert json.loads(ran.out)["verdict"][0]["why"] == said


def test_too_few_persons_are_called_persons(visits):
    visits.policy({**ATTRIBUTES, "person": {"role": "unit"}}, [{"model": "k-anonymity", "k": 8}])
    visits.refused(3, says="impossible: k-anonymity: 5 persons < k=8")


def test_what_the_whole_table_shows_is_not_what_its_classes_are():
    """α is kept at 31 and 52 although two thirds of all persons have hiv: nothing may be said to be impossible."""
    table = pd.DataFrame({"person": list("ABCB"), "age": [31, 31, 52, 52], "disease": ["hiv", "flu", "hiv", "cold"]})
    policy = sh.Policy(attributes=ATTRIBUTES, require=[{"model": "alpha-k", "alpha": 0.5, "k": 2}])
    with pytest.warns(sh.ShoalWarning, match="several classes"):
        release = sh.anonymize(table, policy)
    assert release.data["age"].tolist() == ["31", "31", "52", "52"]
    with pytest.raises(Infeasible, match="3 persons < k=4"):
        sh.anonymize(table, sh.Policy(attributes=ATTRIBUTES, require=[{"model": "alpha-k", "alpha": 0.5, "k": 4}]))


def test_an_algorithm_that_relies_on_closure_is_refused_when_persons_vary():
    table = pd.DataFrame({"person": list("ABCB"), "age": [31, 31, 52, 52], "disease": ["hiv", "flu", "hiv", "cold"]})
    policy = sh.Policy(
        attributes=ATTRIBUTES, require=[{"model": "alpha-k", "alpha": 0.5, "k": 2}], method={"algorithm": "samarati"}
    )
    with pytest.raises(sh.BadPolicy, match="which alpha-k does not promise; use"):
        sh.anonymize(table, policy)


def test_the_limit_of_suppression_counts_rows():
    """Three rows of one person are three."""
    table = pd.DataFrame({"person": list("AAABCDEFGH"), "age": [31] * 3 + [52] * 7, "disease": ["flu"] * 10})
    fixed = {**ATTRIBUTES, "age": {**AGE, "max-level": 0}}
    for share, rows in ((0.3, 7), (0.2, None)):
        policy = sh.Policy(attributes=fixed, require=[K2], method={"suppression": share})
        if rows is None:
            with pytest.raises(Infeasible, match="3 of 10 rows fail k-anonymity and only 2 may be suppressed"):
                sh.anonymize(table, policy)
        else:
            assert len(sh.anonymize(table, policy).data) == rows


def test_a_model_that_counts_rows_gives_a_warning():
    table = pd.DataFrame({"person": list("AABB"), "age": [31, 31, 32, 32], "disease": ["flu", "hiv"] * 2})
    policy = sh.Policy(attributes=ATTRIBUTES, require=[{"model": "x-y-privacy", "y": "person", "k": 2}])
    with pytest.warns(sh.ShoalWarning, match="x-y-privacy counts rows, not persons"):
        assert sh.anonymize(table, policy).data["age"].tolist() == ["[30, 40)"] * 4


# against brute force


LEAVES = "abcd"
TREE = {"a": "ab", "b": "ab", "c": "cd", "d": "cd"}
LEVELS = [{leaf: leaf for leaf in LEAVES}, TREE, dict.fromkeys(LEAVES, "*")]
COLUMN = {"role": "quasi-identifier", "hierarchy": [[leaf, TREE[leaf], "*"] for leaf in LEAVES]}
TABLE = st.lists(
    st.tuples(
        st.sampled_from("ABCDEF"),
        st.sampled_from(LEAVES),
        st.sampled_from(LEAVES),
        st.sampled_from(["flu", "hiv", "cold", None]),
    ),
    min_size=1,
    max_size=12,
)


def keeps(rows, k, l, alpha):
    """The definitions, on rows of (person, value)."""
    holders = {who for who, what in rows if what is not None}
    having = defaultdict(set)
    for who, what in rows:
        if what is not None:
            having[what].add(who)
    return (
        len({who for who, _ in rows}) >= k
        and len(having) >= l
        and all(Fraction(len(some), len(holders)) <= Fraction(str(alpha)) for some in having.values())
    )


def allowed(table, limit, show, *asked):
    for node in product(range(3), repeat=2):
        classes = defaultdict(list)
        for who, *cells, what in table:
            classes[tuple(LEVELS[h][cell] for h, cell in zip(node, cells, strict=True))].append((who, what))
        failing = [rows for rows in classes.values() if not keeps(rows, *asked)]
        gone = [row for rows in failing for row in rows]
        shown = not (show and gone) or keeps(gone, *asked)
        if len(gone) <= limit and len(gone) < len(table) and shown:
            yield node


@naive.examples(250)
@given(
    TABLE,
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from([0.4, 0.5, 0.6, 0.75, 1.0]),
    st.sampled_from([0, 0.2, 0.5]),
    st.booleans(),
    st.booleans(),
)
def test_the_search_finds_what_brute_force_finds(table, k, l, alpha, share, show, constant):
    """And verify, which counts persons in SQL, accepts it."""
    if constant:
        home = {}
        table = [(who, *home.setdefault(who, cells), what) for who, *cells, what in table]
    policy = sh.Policy(
        attributes={"person": "unit", "p": COLUMN, "q": COLUMN, "ill": "sensitive"},
        require=[
            {"model": "k-anonymity", "k": k},
            {"model": "distinct-l-diversity", "l": l},
            {"model": "alpha-k", "alpha": alpha},
        ],
        method={"suppression": share, "metric": "height"},
        release={"suppressed": "show" if show else "drop"},
    )
    nodes = list(allowed(table, int(Fraction(str(share)) * len(table)), show, k, l, alpha))
    frame = pa.table(
        {
            name: pa.array(c, pa.string())
            for name, c in zip(["person", "p", "q", "ill"], zip(*table, strict=True), strict=True)
        }
    )
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


TWICE = pa.table(
    {
        "person": ["ann", "ann", "bob", "ann", "cid", "cid"],
        "age": [31, 31, 35, 44, 42, 43],
        "disease": ["flu", "flu", "hiv", "hiv", "cold", "cold"],
        "wish": ["flu", None, None, None, None, None],
    }
)
"""Ann stands in both classes; by decade they have three rows and two persons each."""


def attained_by_decade(model, role, table=TWICE):
    """Return what a model attains on classes by decade, and whether it warns that it counts rows."""
    disease = {"role": "sensitive", "hierarchy": {"tree": {"*": ["flu", "hiv", "cold"]}}}
    age = AGE | {"min-level": 1, "max-level": 1}
    attributes = {"person": role, "age": age, "disease": disease, "wish": "identifier"}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = sh.anonymize(table, {"attributes": attributes, "require": [model]})
    return made.summary.models[0].attained, any("counts rows, not persons" in str(each.message) for each in said)


@pytest.mark.parametrize(
    "model",
    [
        {"model": "personalised", "guard": "wish", "max": 1.0},
        {"model": "b-t-privacy", "b": 0.3, "t": 1.0},
        {"model": "x-y-privacy", "y": ["disease"]},
    ],
    ids=lambda model: model["model"],
)
def test_models_that_count_rows_count_them_beside_a_unit_too_and_warn(model):
    assert attained_by_decade(model, "unit") == (attained_by_decade(model, "identifier")[0], True)


def test_a_unit_as_y_counts_persons():
    assert attained_by_decade({"model": "x-y-privacy", "y": ["person"]}, "unit")[0]["k"] == 2


def test_population_uniqueness_takes_a_class_of_one_person_as_one():
    table = TWICE.set_column(1, "age", pa.array([31, 31, 31, 42, 56, 57]))  # the fifties are two rows of cid
    model = {"model": "population-uniqueness", "population-size": 20, "max": 1.0, "estimator": "zayatz"}
    by_rows, by_persons = (attained_by_decade(model, role, table)[0]["uniques"] for role in ("identifier", "unit"))
    assert by_persons > by_rows


def test_models_of_a_population_and_somebody_in_two_classes(tmp_path):
    register = tmp_path / "register.csv"
    register.write_text("age\n31\n35\n44\n42\n43\n47\n", "utf-8")
    both = {"population": str(register)}
    for role in ("identifier", "unit"):
        assert attained_by_decade({"model": "k-map", "k": 1, **both}, role)[0] == {"k": 2}
    table = TWICE.set_column(1, "age", pa.array([31, 31, 35, 44, 42, 42]))
    assert attained_by_decade({"model": "delta-presence", **both}, "unit", table)[0] == {"min": 0.5, "max": 1.0}
    register.write_text("age\n31\n35\n42\n43\n47\n", "utf-8")  # Ann is in it once
    with pytest.raises(sh.ShoalError, match=r"1 row\(s\) of the table have quasi-identifiers that fewer persons"):
        attained_by_decade({"model": "delta-presence", **both}, "unit", table)
