"""l-diversity of several sensitive attributes: each alone, or in classes enlarged by the others."""

import json
from collections import Counter
from fractions import Fraction
from itertools import chain, product

import naive
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

import shoal as sh
from shoal.data.class_counts import ClassCounts, JointCounts, ValueCounts
from shoal.errors import BadPolicy, NotVerified
from shoal.models.l_diversity import DistinctLDiversity, EntropyLDiversity
from shoal.models.model import Closure
from shoal.models.recursive_cl import RecursiveCLDiversity
from shoal.models.spec import model_of, table_of

OTHERS = ("salary", "job")
COLUMNS = ("disease", *OTHERS)
DISTINCT = DistinctLDiversity(2, "disease", others=OTHERS)
MODELS = [
    DISTINCT,
    DistinctLDiversity(2, "disease", null_is_value=True, others=OTHERS),
    EntropyLDiversity(1.8, "disease", others=OTHERS),
    RecursiveCLDiversity(2, 2, "disease", others=OTHERS),
]


def counted(tables):
    """Class counts of classes that are lists of (disease, salary, job)."""
    labels = [["flu", "hiv", "tbc", None], ["low", "high", None], ["cook", "judge"]]
    entries = [(i, *row, n) for i, rows in enumerate(tables) for row, n in Counter(rows).items()]
    entries.reverse()  # in any order
    at = np.array([entry[0] for entry in entries], np.int64)
    codes = [np.array([labels[c].index(entry[c + 1]) for entry in entries], np.int64) for c in range(3)]
    numbers = np.array([entry[-1] for entry in entries], np.int64)
    joint = JointCounts(at, tuple(codes), numbers, tuple(labels))
    dense = np.zeros((len(tables), 4), np.int64)
    np.add.at(dense, (at, codes[0]), numbers)
    classes, values = np.nonzero(dense)
    alone = ValueCounts(classes, values, dense[classes, values], labels[0], len(tables))
    return ClassCounts(dense.sum(axis=1), {"disease": alone}, {COLUMNS: joint})


def definition(model, rows):
    """Of the rows of one class, with each combination of the other values that occurs."""
    groups = {}
    for disease, *others in rows:
        groups.setdefault(tuple(others), []).append(disease)
    return all(diverse(model, values) for values in groups.values())


def diverse(model, values):
    known = sorted(Counter(v for v in values if v is not None or model.null_is_value).values(), reverse=True)
    if isinstance(model, DistinctLDiversity):
        return len(known) >= model.l
    if isinstance(model, RecursiveCLDiversity):
        return len(known) >= model.l and known[0] < Fraction(model.c) * sum(known[model.l - 1 :])
    shares = [n / sum(known) for n in known]
    return bool(known) and np.exp(-sum(q * np.log(q) for q in shares)) >= model.l - 1e-9


rows = st.tuples(
    st.sampled_from(["flu", "hiv", "tbc", None]),
    st.sampled_from(["low", "high", None]),
    st.sampled_from(["cook", "judge"]),
)
tables = st.lists(st.lists(rows, min_size=1, max_size=10), min_size=1, max_size=4)
few = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["flu", "hiv", None]), st.sampled_from(["low", "high"]), st.just("cook")),
        min_size=1,
        max_size=5,
    ),
    min_size=1,
    max_size=4,
)


def test_who_knows_the_salary_learns_the_disease():
    """Diverse alone; but who is known to earn much has HIV (TKDD 2007, section 4.3)."""
    table = counted(
        [[("flu", "low", "cook"), ("tbc", "low", "cook"), ("hiv", "high", "cook"), ("hiv", "high", "cook")]]
    )
    assert DistinctLDiversity(3, "disease").complies(table).all()
    assert not DISTINCT.complies(table).any()
    assert DISTINCT.attained(table) == {"l": 1}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.name}-{model.null_is_value}")
def test_l_diversity_over_several_columns_follows_its_definition(model):
    @naive.examples(300)
    @given(st.one_of(tables, few))
    def check(table):
        expected = [definition(model, class_) for class_ in table]
        assert model.complies(counted(table)).tolist() == expected
        assert model.holds(counted(table)) == all(expected)
        alone = counted([table[model.worst(counted(table))]])
        assert model.attained(alone) == pytest.approx(model.attained(counted(table)))

    check()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.name}-{model.null_is_value}")
def test_closed_under_unions(model):
    """M1: parts of equal other values merge, and each is diverse before."""

    @naive.examples(300)
    @given(st.one_of(tables, few))
    def check(table):
        if model.holds(counted(table)):
            assert model.holds(counted([list(chain(*table))]))

    assert model.merging is Closure.UNION
    check()


def test_not_closed_under_supersets():
    """M2: who earns much is not hidden by a class in which all earn little."""
    good, bad = [("flu", "low", "cook"), ("hiv", "low", "cook")], [("hiv", "high", "cook")]
    assert DISTINCT.complies(counted([good, bad, good + bad])).tolist() == [True, False, False]
    assert DistinctLDiversity(2, "disease").merging is Closure.SUPERSET


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.name}-{model.null_is_value}")
def test_impossible_is_sound(model):
    """If it says impossible, no merging of the classes that stay complies."""
    said = []

    @naive.examples(300)
    @given(st.one_of(tables, few), st.integers(0, 6))
    def check(table, suppressible):
        whole = counted([list(chain(*table))])
        if not suppressible:
            assert (model.impossible(whole, 0) is None) == model.holds(whole)
        if model.impossible(whole, suppressible) is None:
            return
        said.append(suppressible)
        for kept in product([True, False], repeat=len(table)):
            stays = [rows for rows, keep in zip(table, kept, strict=True) if keep]
            gone = sum(len(rows) for rows in table) - sum(len(rows) for rows in stays)
            if stays and gone <= suppressible:
                assert not model.holds(counted([list(chain(*stays))]))  # closed under unions: the best there is

    check()
    assert any(said)


def test_impossible_counts_the_records():
    table = counted([[("flu", "low", "cook"), ("hiv", "low", "cook"), ("hiv", "high", "cook"), (None, "high", "cook")]])
    said = "2 records share their 'salary', 'job' with too few different values of 'disease' for l=2"
    assert DISTINCT.impossible(table, 1) == said
    assert DISTINCT.impossible(table, 2) is None
    assert EntropyLDiversity(2, "disease", others=OTHERS).impossible(table, 1) == said
    assert DistinctLDiversity(3, "disease", others=OTHERS).impossible(table, 9) is not None


def test_an_empty_table_attains_nothing():
    assert DISTINCT.attained(counted([])) == {"l": 0}
    assert DISTINCT.worst(counted([])) is None


def test_the_attribute_itself_may_be_among_the_others():
    """The attribute itself may be in the list; a list of it alone says nothing."""
    assert DistinctLDiversity(2, "salary", others=("disease", "salary")).columns == ("salary", "disease")
    alone = DistinctLDiversity(2, "salary", others=("salary",))
    assert alone.columns == ()
    assert alone.merging is Closure.SUPERSET
    assert DistinctLDiversity(2, others=("disease", "salary")).columns == ()  # not about an attribute yet


def test_persons_are_not_counted_together():
    """Columns counted together are counted by rows; distinct values are the same either way."""
    table = counted([[("flu", "low", "cook"), ("hiv", "low", "cook")]])
    one = np.array([2])
    values = ValueCounts(
        np.array([0, 0]), np.array([0, 1]), np.array([1, 1]), ["flu", "hiv"], 1, holders=one, everyone=one
    )
    table = ClassCounts(table.sizes, {"disease": values}, table.joint)
    assert DISTINCT.impossible(table, 0) is None
    for model in (EntropyLDiversity(2, "disease", others=OTHERS), RecursiveCLDiversity(2, 2, "disease", others=OTHERS)):
        assert "the unit asks for persons" in model.impossible(table, 5)
    assert EntropyLDiversity(2, "disease").impossible(table, 0) is None


def test_a_model_with_others_survives_the_policy_file():
    model = model_of({"model": "entropy-l-diversity", "l": 2.5, "others": ["a", "b"]})
    assert model == EntropyLDiversity(2.5, others=("a", "b"))
    assert model_of(table_of(model)) == model
    assert "others" not in table_of(EntropyLDiversity(2.5))
    schema = TypeAdapter(EntropyLDiversity).json_schema()
    assert {"items": {"type": "string"}, "minItems": 1, "type": "array"} in schema["properties"]["others"]["anyOf"]


@pytest.mark.parametrize("others", ["salary", 5, [3], {"salary": 1}])
def test_others_are_a_list_of_names(others):
    with pytest.raises(ValueError, match="others must be a list of sensitive attributes"):
        DistinctLDiversity(2, others=others)


@pytest.mark.parametrize("others", [[], (), ["a", "a"]])
def test_others_are_named_once(others):
    with pytest.raises(ValueError, match="others must name at least one sensitive attribute, and none twice"):
        DistinctLDiversity(2, others=others)


def people():
    """Old people who earn much are ill in one way only."""
    groups = [(30, "flu", "low"), (30, "hiv", "low"), (60, "flu", "low"), (60, "hiv", "low"), (60, "hiv", "high")]
    groups += [(30, "flu", "high"), (30, "hiv", "high")]
    return pa.table(dict(zip(("age", "disease", "salary"), map(list, zip(*groups, strict=True)), strict=True)))


def policy(require, **attributes):
    ages = {"role": "quasi-identifier", "hierarchy": {"intervals": [100]}}
    return sh.Policy(
        attributes={"age": ages, "disease": "sensitive", "salary": "sensitive"} | attributes, require=[require]
    )


def test_a_release_keeps_it_and_says_so(tmp_path):
    """Verify counts the released columns together, with nothing but the release."""
    alone = {"model": "distinct-l-diversity", "l": 2, "attribute": "disease"}
    assert sh.anonymize(people(), policy(alone)).plan.recoding.levels == {"age": 0}
    release = sh.anonymize(people(), policy(alone | {"others": ["salary"]}))
    assert release.plan.recoding.levels == {"age": 1}
    release.save(tmp_path / "out")
    promises = {verdict.promise: verdict for verdict in sh.verify(tmp_path / "out")}
    assert promises["distinct-l-diversity"].holds
    assert promises["distinct-l-diversity"].attained == {"l": 2}


def test_a_promise_about_columns_that_were_not_released(tmp_path):
    sh.anonymize(people(), policy({"model": "distinct-l-diversity", "l": 2, "others": ["salary", "disease"]})).save(
        tmp_path / "out"
    )
    manifest = tmp_path / "out" / "manifest.json"
    document = json.loads(manifest.read_text("utf-8"))
    document["models"][0]["asked"]["others"] = ["gone"]
    manifest.write_text(json.dumps(document), "utf-8")
    with pytest.raises(NotVerified, match="a promise about columns that the release does not have"):
        sh.verify(tmp_path / "out")


def test_others_are_sensitive_columns():
    wrong = {"model": "distinct-l-diversity", "l": 2, "attribute": "disease"}
    with pytest.raises(BadPolicy, match="others names 'age', which has not the role 'sensitive'"):
        sh.anonymize(people(), policy(wrong | {"others": ["age"]}))
    with pytest.raises(BadPolicy, match="the table has no such column"):
        sh.anonymize(people(), policy(wrong | {"others": ["salery"]}))
