"""A hierarchy that names its root shows that name at the top; `*` is the top of those that name none, and of what is
suppressed (S2.2, S2.6)."""

import json
from fractions import Fraction

import pyarrow as pa
import pyarrow.csv as pc
import pytest

import shoal as sh
from shoal.hierarchy.build import parse

# the survey's private table, §3.3.1, after Samarati and Sweeney
RACE = ["asian"] * 5 + ["black"] * 2 + ["white"] * 2
ZIP = ["94142", "94141", "94139", "94139", "94139", "94138", "94139", "94139", "94141"]
PEOPLE = pa.table({"Race": RACE, "ZIP": ZIP})
TREE = {"tree": {"person": ["asian", "black", "white"]}}
ROWS = {"rows": [["asian", "person"], ["black", "person"], ["white", "person"]]}
HIERARCHIES = pytest.mark.parametrize("hierarchy", [TREE, ROWS], ids=["tree", "rows"])


def rules(hierarchy=TREE, *, release=None, k=2, **method):
    return {
        "attributes": {
            "Race": {"role": "quasi-identifier", "hierarchy": hierarchy},
            "ZIP": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}},
        },
        "require": [{"model": "k-anonymity", "k": k}],
        "method": method,
        **({} if release is None else {"release": release}),
    }


def publish(desk, policy, table=PEOPLE):
    """Publish a table and return its private manifest."""
    pc.write_csv(table, desk.data)
    policy.save(desk.folder / "policy.toml")
    made = desk.run("anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.folder / "out")
    assert made.code == 0, made.err
    manifest = json.loads((desk.private / "manifest.json").read_text())
    return {**manifest, "printed": made.out}


def pairs(release):
    return sorted(zip(*(release.table[name].to_pylist() for name in ("Race", "ZIP")), strict=True))


@HIERARCHIES
def test_the_generalised_tables_of_the_survey(hierarchy):
    """GT[1,0] and GT[0,1] with MaxSup = 2, as §3.3.2 prints them, without the suppressed rows."""
    policy = sh.Policy(**rules(hierarchy, algorithm="incognito", minimal=True, suppression={"rows": 2}))
    first = sh.anonymize(PEOPLE, policy.at_node({"Race": 1, "ZIP": 0}))
    assert pairs(first) == [("person", "94139")] * 5 + [("person", "94141")] * 2
    other = sh.anonymize(PEOPLE, policy.at_node({"Race": 0, "ZIP": 1}))
    assert pairs(other) == [("asian", "9413*")] * 3 + [("asian", "9414*")] * 2 + [("black", "9413*")] * 2


def test_a_suppressed_row_that_is_shown_stays_a_star():
    asked = rules(algorithm="incognito", suppression={"rows": 2}, release={"suppressed": "show"})
    release = sh.anonymize(PEOPLE, sh.Policy(**asked).at_node({"Race": 1, "ZIP": 0}))
    assert pairs(release) == [("*", "*")] * 2 + [("person", "94139")] * 5 + [("person", "94141")] * 2
    assert release.summary.rows.shown == 2


@HIERARCHIES
def test_a_suppressed_cell_shows_nothing_rather_than_the_root(hierarchy):
    asked = rules(hierarchy, model="_CS")
    del asked["attributes"]["ZIP"]
    shown = sh.anonymize(pa.table({"Race": ["asian", "asian", "black", "white"]}), asked).table["Race"].to_pylist()
    assert sorted(shown) == ["*", "*", "asian", "asian"]


@pytest.mark.some(3)
@HIERARCHIES
@pytest.mark.parametrize("algorithm", ["optimal", "samarati", "datafly", "mondrian", "local", None])
def test_every_way_of_generalising_shows_it_and_verifies(desk, hierarchy, algorithm):
    """Null joins the values at the root, whatever it is called."""
    method = {"generalise": "attribute", "suppress": "cell"} if algorithm is None else {"algorithm": algorithm}
    table = pa.table({"Race": [*RACE, None, None, None], "ZIP": [*ZIP, "94138", "94138", "94140"]})
    policy = sh.Policy(**rules(hierarchy, k=3, **method))
    publish(desk, policy, table)
    checked = desk.run("verify", desk.folder / "out", "--original", desk.data)
    assert checked.code == 0, checked.err
    release = sh.anonymize(table, policy)
    shown = {*release.table["Race"].to_pylist()}
    assert "person" in shown
    assert "*" not in shown
    assert sh.Policy.load(desk.folder / "policy.toml") == policy


@pytest.mark.parametrize("algorithm", ["mondrian", "local"])
def test_the_loss_of_the_root_is_1(algorithm):
    table = pa.table({"Race": ["asian", "black", "white"]})
    asked = {
        "attributes": {"Race": {"role": "quasi-identifier", "hierarchy": TREE}},
        "require": [{"model": "k-anonymity", "k": 3}],
        "method": {"algorithm": algorithm},
    }
    release = sh.anonymize(table, asked)
    assert release.table["Race"].to_pylist() == ["person"] * 3
    assert Fraction(release.summary.metrics["loss"]) == 1


@HIERARCHIES
def test_a_column_of_roots_is_warned_of(desk, hierarchy):
    """It says as little as one of stars."""
    manifest = publish(desk, sh.Policy(**rules(hierarchy, algorithm="incognito")).at_node({"Race": 1, "ZIP": 2}))
    said = manifest["recommendation"]
    assert (said["starred"], said["tops"], said["advice"]) == (["Race"], {"Race": "person"}, "think again")
    assert "Race is person in every row" in said["sentence"]
    assert manifest["recoding"]["stars"] == ["Race"]
    assert manifest["recoding"]["tops"] == {"Race": "person"}
    assert "Race 1 (person), ZIP 2" in manifest["printed"]
    for page in ("out/report.html", "out.private/report.html"):
        assert "Race is person in every row" in (desk.folder / page).read_text()
    assert "level 1 of 1: nothing but person" in (desk.private / "report.html").read_text()


def test_a_column_of_roots_and_stars_is_warned_of(desk):
    asked = rules(algorithm="incognito", suppression={"rows": 2}, release={"suppressed": "show"})
    said = publish(desk, sh.Policy(**asked).at_node({"Race": 1, "ZIP": 0}))["recommendation"]
    assert said["starred"] == ["Race"]
    assert "Race is person or * in every row" in said["sentence"]
    assert said["blank"] == 2


def test_a_column_of_mostly_roots_is_warned_of(desk):
    """Cell by cell: three of the five races are the root."""
    table = pa.table({"Race": ["asian", "asian", "black", "white", "white"], "ZIP": ["9"] * 2 + ["8"] * 3})
    said = publish(desk, sh.Policy(**rules(algorithm="local")), table)["recommendation"]
    assert {*pc.read_csv(desk.folder / "out" / "data.csv")["Race"].to_pylist()} == {"asian", "person"}
    assert (said["mostly_starred"], said["tops"]) == ({"Race": 3}, {"Race": "person"})
    assert "Race is person in 60 % of the rows" in said["sentence"]


def test_what_a_root_and_an_implied_top_are():
    """Several roots have no name of their own, and a list has none at all."""
    for spec, top in (
        (TREE, "person"),
        (ROWS, "person"),
        ({"tree": ["asian", "black", "white"]}, "*"),
        ({"tree": {"a": ["asian"], "b": ["black", "white"]}}, "*"),
        ({"rows": [["asian", "*"], ["black", "*"], ["white", "*"]]}, "*"),
    ):
        shown = sh.anonymize(PEOPLE, rules(spec, algorithm="optimal", k=9)).table["Race"].to_pylist()
        assert {*shown} == {top}, spec


def test_join_reads_the_root_by_the_policy(desk):
    """Everybody of the register fits a row that shows the root; nobody of another race is in the hierarchy."""
    publish(desk, sh.Policy(**rules(algorithm="incognito", suppression={"rows": 2})).at_node({"Race": 1, "ZIP": 0}))
    (desk.folder / "register.csv").write_text("Name,Race,ZIP\nAnn,asian,94141\nBob,white,94139\nCid,black,94138\n")
    found = desk.run("attack", "join", desk.folder / "out", "--register", desk.folder / "register.csv", "--json")
    assert found.code == 0, found.err
    figures = json.loads(found.out)["figures"]
    assert figures["matched_people"] == 2
    assert figures["least_candidates"] == 2


def test_queries_read_the_root_as_everything():
    table = pa.table({"Race": [*RACE, None], "ZIP": [*ZIP, "94139"]})
    release = sh.anonymize(table, sh.Policy(**rules(algorithm="incognito")).at_node({"Race": 1, "ZIP": 2}))
    assert {*release.table["Race"].to_pylist()} == {"person"}
    queries = [{"count": True, "where": {"Race": "asian"}}]
    (answer,) = sh.workload(table, release, queries=queries).answered
    assert answer.estimate == pytest.approx(10 / 4)  # three races, and null as one more


def test_apply_shows_it_too(desk):
    publish(desk, sh.Policy(**rules(algorithm="optimal")).at_node({"Race": 1, "ZIP": 1}))
    ran = desk.run("apply", desk.private, desk.data, "--out", desk.folder / "later")
    assert ran.code == 0, ran.err
    later = pc.read_csv(desk.folder / "later" / "data.csv")
    assert {*later["Race"].to_pylist()} == {"person"}


def test_specs_are_unchanged():
    for spec in (TREE, ROWS):
        assert parse(spec).spec() == spec
