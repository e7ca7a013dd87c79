"""Recodings of cells from the policy to the verified release (S2.3, S4.1-S4.6)."""

from collections import Counter
from datetime import date

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples
from patients import PATIENTS, patients

import shoal as sh


def test_table_2_of_the_paper_is_single_dimensional():
    """S4.3: single-dimensional."""
    data = patients("mondrian-single").data
    assert data["age"].to_pylist() == ["[35, 38]"] * 6
    assert data["sex"].to_pylist() == PATIENTS["sex"].to_pylist()
    males = "[533448, 533449]"
    assert data["zip"].to_pylist() == [males, "533441", males, males, "533441", males]


def test_table_3_of_the_paper_is_multidimensional():
    """S4.1: multidimensional."""
    data = patients("mondrian").data
    assert data["age"].to_pylist() == ["[35, 36]", "[35, 37]", "[35, 36]", "[37, 38]", "[35, 37]", "[37, 38]"]
    assert data["sex"].to_pylist() == PATIENTS["sex"].to_pylist()
    males = "[533448, 533449]"
    assert data["zip"].to_pylist() == ["533449", "533441", "533449", males, "533441", males]


def test_table_4_of_the_paper_shows_ranges_and_means():
    """S4.6: ranges and means."""
    release = patients("mondrian", age=["range", "mean"], means="any")
    assert release.data.column_names == ["age", "age_mean", "sex", "zip", "disease"]
    assert release.data["age_mean"].to_pylist() == [35.5, 36.0, 35.5, 37.5, 36.0, 37.5]
    assert release.data["age_mean"].type == pa.float64()


def test_means_of_few_rows_are_refused():
    with pytest.raises(sh.Infeasible, match="of 3 classes 3 have fewer than 5 rows"):
        patients("mondrian", age=["range", "mean"])


VALUES = {
    "number": st.one_of(st.none(), st.integers(-3, 12)),
    "decimal": st.one_of(st.none(), st.sampled_from([0.25, 0.5, 1.0, 2.75])),
    "text": st.one_of(st.none(), st.sampled_from(["a", "b", "c | d", "[e, f)", "g, h", '"'])),
    "day": st.one_of(st.none(), st.dates(date(2020, 1, 1), date(2020, 1, 9)).map(date.isoformat)),
    "region": st.sampled_from(["north", "east", "south", "west"]),
    "ill": st.sampled_from("uvw"),
}
REGIONS = {"tree": {"all": {"up": ["north", "east"], "down": ["south", "west"]}}}
BOX_ALGORITHMS = ["mondrian", "mondrian-relaxed", "mondrian-single", "mondrian-workload"]


@st.composite
def policies(draw):
    """A policy for boxes or cells on the columns above."""
    algorithm = draw(st.sampled_from([*BOX_ALGORITHMS, "local"]))
    shaped = algorithm in BOX_ALGORITHMS
    numeric = st.lists(st.sampled_from(["range", "bounds", "mean", "median", "mode"]), min_size=1, unique=True)
    other = st.lists(st.sampled_from(["range", "median", "mode"]), min_size=1, unique=True)
    forms = {"number": draw(numeric), "decimal": draw(numeric), "text": draw(other), "day": draw(other)}
    attributes = {
        name: {"role": "quasi-identifier", **({"form": form} if shaped else {})} for name, form in forms.items()
    }
    attributes["region"] = {
        "role": "quasi-identifier",
        "hierarchy": REGIONS,
        "importance": draw(st.sampled_from([1, 0.1])),
    }
    diverse = [{"model": "distinct-l-diversity", "l": 2}] if draw(st.booleans()) else []
    return {
        "attributes": {**attributes, "ill": "sensitive"},
        "require": [{"model": "k-anonymity", "k": draw(st.integers(2, 4))}, *diverse],
        "method": {"algorithm": algorithm, **({"target": "ill"} if algorithm == "mondrian-workload" else {})},
        "release": {"means": "any", "ranges": draw(st.sampled_from(["cut", "observed"])) if shaped else "cut"},
    }


TABLES = st.lists(st.fixed_dictionaries(VALUES), min_size=4, max_size=30)


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
@examples(40)
@given(TABLES, policies())
def test_every_release_of_cells_keeps_all_rows_and_verifies(rows, policy):
    """Any values, forms and promises: nobody is left out, the classes are as large as promised, and verify agrees."""
    table = pa.Table.from_pylist(rows, pa.schema([(name, TYPES[name]) for name in VALUES]))
    diverse = len(policy["require"]) == 1 or len({row["ill"] for row in rows}) > 1
    if policy["require"][0]["k"] > len(rows) or not diverse:
        with pytest.raises(sh.Infeasible, match="impossible"):
            sh.anonymize(table, policy)
        return
    release = sh.anonymize(table, policy)
    assert release.data.num_rows == len(rows)
    assert release.data["ill"].to_pylist() == [row["ill"] for row in rows]
    classes = Counter(zip(*(release.data[name].to_pylist() for name in release.data.column_names[:-1]), strict=True))
    assert min(classes.values()) >= policy["require"][0]["k"]
    assert all(verdict.holds for verdict in release.verdicts)


TYPES = {
    "number": pa.int64(),
    "decimal": pa.float64(),
    "text": pa.string(),
    "day": pa.string(),
    "region": pa.string(),
    "ill": pa.string(),
}


def test_cells_of_a_node_are_suppressed(desk):
    """AG_CS by the command: it says what it did, and that it does not look for the least."""
    desk.policy(method={"suppress": "cell"})
    ran = desk.anonymize()
    assert ran.code == 0
    assert "optimal does not look for the least" in " ".join(ran.out.split())
    assert desk.verify("--original", desk.data).code == 0


@pytest.mark.some(2)
@pytest.mark.parametrize("algorithm", [*BOX_ALGORITHMS, "local", "microaggregation", "anatomy"])
def test_a_saved_release_is_verified_with_the_original(desk, algorithm):
    method = {"algorithm": algorithm, **({"target": "disease"} if algorithm == "mondrian-workload" else {})}
    attributes = {
        "name": "identifier",
        "age": "quasi-identifier",
        "sex": "insensitive" if algorithm == "microaggregation" else "quasi-identifier",
        "disease": "sensitive",
    }
    model = {"model": "distinct-l-diversity", "l": 2} if algorithm == "anatomy" else {"model": "k-anonymity", "k": 2}
    release = {"means": "any"} if algorithm == "microaggregation" else {}
    desk.policy(attributes=attributes, require=[model], method=method, release=release)
    ran = desk.run("anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.out)
    assert ran.code == 0, ran.err
    assert desk.run("verify", desk.out).code == 0
    assert desk.run("verify", desk.out, "--original", desk.data).code == 0
    again = desk.run("anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.folder / "again")
    assert again.code == 0
    assert (desk.folder / "again" / "data.csv").read_bytes() == (desk.out / "data.csv").read_bytes()


QI = {"role": "quasi-identifier"}
PEOPLE = {"name": "identifier", "age": QI, "sex": QI, "disease": "sensitive"}


@pytest.mark.parametrize(
    ("code", "attributes", "sections", "says"),
    [
        (2, {"sex": QI | {"form": "mean"}}, {}, "attributes.sex: only numbers have a mean; use 'median' or 'mode'"),
        (2, {"sex": QI | {"form": ["bounds"]}}, {}, "attributes.sex: only numbers have bounds"),
        (2, {"sex": QI | {"order": ["f"]}}, {}, "attributes.sex: order does not name 1 value(s) of the column"),
        (2, {"age": QI | {"min-level": 1}}, {}, "attributes.age: min-level is for algorithms that choose one level"),
        (2, {"sex": QI | {"order": ["f", "m"], "hierarchy": {"flat": True}}}, {}, "it has a hierarchy and an order"),
        (2, {"sex": QI | {"hierarchy": {"rows": [["f", "x"], ["m", "y"]]}}}, {}, "several labels at the top"),
        (2, {}, {"method": {"algorithm": "mondrian-workload", "target": "job"}}, "the table has no column 'job'"),
        (2, {}, {"method": {"algorithm": "mondrian-workload", "target": "age"}}, "'age' is a quasi-identifier"),
        (2, {}, {"method": {"algorithm": "microaggregation"}}, "attributes.sex: microaggregation needs numbers"),
        (2, {}, {"require": [{"model": "k-map", "k": 2, "population": "people.csv"}]}, "compares with a population"),
        (3, {}, {"require": [{"model": "k-anonymity", "k": 99}]}, "impossible: k-anonymity: 12 records < k=99"),
        (3, {"age": QI | {"form": "mean"}}, {}, "have fewer than 5 rows to take a statistic of"),
        (3, {}, {"require": [{"model": "alp-dif", "alp": {"flu": 0.1}, "dif": {"flu": 1}}]}, "alp"),
    ],
)
def test_policies_that_cannot_be_kept_are_refused_in_one_sentence(desk, code, attributes, sections, says):
    desk.policy(**{"attributes": PEOPLE | attributes, "method": {"algorithm": "mondrian"}} | sections)
    assert says in desk.refused(code)


@pytest.mark.parametrize(
    ("algorithm", "says"),
    [
        ("mondrian-single", "no way was found to cut the table"),
        ("mondrian", "no way was found to cut the table"),
        ("local", "no way was found to put the rows together"),
    ],
)
def test_a_table_that_fails_as_one_class_is_refused(desk, algorithm, says):
    """A promise that merging can break, where no smaller classes are found that keep it."""
    attributes = {"name": "identifier", "age": "sensitive", "sex": QI, "disease": "insensitive"}
    promise = {"model": "epsilon-m", "epsilon": 2, "m": 3}
    desk.policy(attributes=attributes, require=[promise], method={"algorithm": algorithm})
    assert says in desk.refused(3)


def boxes(table, k):
    """The ages as Mondrian shows them."""
    attributes = dict.fromkeys(table.column_names, QI)
    policy = {
        "attributes": attributes,
        "require": [{"model": "k-anonymity", "k": k}],
        "method": {"algorithm": "mondrian"},
    }
    return sh.anonymize(table, policy).data["age"].to_pylist()


def test_a_lone_missing_value_is_shown_as_a_star_and_no_row_is_left_out():
    """Design 7: null is in no range; where it cannot be split off, the part shows `*`, and nobody is left out."""
    ages = [30, 31, 32, None, 50, 51, 52, 53]
    shown = boxes(pa.table({"age": pa.array(ages), "sex": list("ffffmmmm")}), 2)
    assert shown == [*["*"] * 4, "<52", "<52", "≥52", "≥52"]


def test_the_least_and_greatest_value_are_not_shown():
    shown = boxes(pa.table({"age": list(range(10, 50)) * 2}), 4)
    assert not any("10" in label or "49" in label for label in shown)
    assert any(label.startswith("<") for label in shown)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_come_back_with_numbers_as_numbers(frame):
    table = frame({"age": [30, 31, 32, 50, 51, 52] * 2, "job": list("abcdef") * 2})
    age = {"role": "quasi-identifier", "form": ["bounds", "mean"]}
    policy = {
        "attributes": {"age": age, "job": "insensitive"},
        "data": {},
        "require": [{"model": "k-anonymity", "k": 5}],
        "method": {"algorithm": "mondrian"},
        "release": {"means": "any", "ranges": "observed"},
    }
    data = sh.anonymize(table, policy).data
    assert type(data) is type(table)
    first = data.slice(0, 1).to_pylist()[0] if frame is pa.table else {name: data[name][0] for name in data.columns}
    assert [first[name] for name in ("age_lo", "age_hi", "age_mean")] == [30, 32, 31]
    assert list(data["job"]) == list(table["job"])
