"""The commands of these attacks on releases of every kind, and their bad inputs."""

import json

import pyarrow as pa
import pytest

import shoal as sh
from conftest import PEOPLE
from shoal.attacks.homogeneity import Homogeneity
from shoal.attacks.join import Join
from shoal.attacks.similarity import Similarity

BOXES = {"name": "identifier", "age": "quasi-identifier", "sex": "quasi-identifier", "disease": "sensitive"}
BOUNDS = BOXES | {"age": {"role": "quasi-identifier", "form": "bounds"}}


def attacked(desk, *command):
    ran = desk.run("attack", *command, "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


@pytest.fixture
def register(desk):
    return desk.table(PEOPLE, "register.csv")


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"method": {"algorithm": "mondrian"}, "attributes": BOXES},
        {"method": {"algorithm": "mondrian"}, "attributes": BOXES, "release": {"ranges": "observed"}},
        {"method": {"algorithm": "mondrian"}, "attributes": BOUNDS},
        {"method": {"algorithm": "local"}},
        {
            "method": {"algorithm": "anatomy"},
            "attributes": BOXES,
            "require": [{"model": "distinct-l-diversity", "l": 2}],
        },
        {"method": {"suppression": 0.3}, "release": {"suppressed": "show"}},
    ],
    ids=["levels", "boxes", "observed", "bounds", "local", "anatomy", "shown"],
)
def test_everybody_finds_their_own_record(desk, register, how):
    desk.policy(**how)
    assert desk.anonymize().code == 0
    for private in ([], ["--private", desk.folder / "nowhere"]):  # with and without the hierarchies
        found = attacked(desk, "join", desk.out, "--register", register, *private)
        assert found["of"] == 12
        assert found["figures"]["matched_people"] == 12
    checked = attacked(desk, "join", desk.out, "--register", register, "--original", desk.data, "--key", "name")
    assert checked["figures"]["own_record_among_candidates"] == 12
    least = 2 if "anatomy" not in str(how) else 1
    assert found["figures"]["least_candidates"] >= least


def test_in_memory_and_on_disk_are_the_same(desk, register):
    policy = desk.policy()
    release = sh.anonymize(desk.data, policy)
    release.save(desk.out)
    here = sh.attack(release, Join(register))
    there = sh.attack(desk.out, Join(pa.table({"age": [31, 32], "sex": ["f", "m"]})))
    assert here.figures["matched_people"] == 12
    assert there.people["candidates"].to_pylist() == here.people["candidates"].to_pylist()[:2]
    assert sh.attack(release, Homogeneity()).document() == sh.attack(desk.out, Homogeneity()).document()


def test_the_table_of_people_is_private(desk, register):
    desk.policy()
    assert desk.anonymize().code == 0
    desk.refused(
        2, "attack", "join", desk.out, "--register", register, "--people", desk.out / "p.csv", says="published"
    )
    ran = desk.run("attack", "join", desk.out, "--register", register, "--people", desk.folder / "p.csv")
    assert ran.code == 0
    assert "do not publish" in ran.err
    lines = (desk.folder / "p.csv").read_text().splitlines()
    assert lines[0] == '"row","candidates","classes","disease","disease: probability","disease: certain"'
    assert len(lines) == 13
    desk.refused(
        2, "attack", "join", desk.out, "--register", register, "--people", desk.folder / "p.csv", says="--force"
    )


def test_a_folder_whose_policy_knows_the_sensitive_hierarchy(desk):
    tree = {"lung": ["flu", "cold"], "blood": ["hiv"]}
    attributes = {
        "name": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [1, 2]}},
        "sex": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
        "disease": {"role": "sensitive", "hierarchy": {"tree": tree}},
    }
    desk.policy(attributes=attributes, require=[{"model": "k-anonymity", "k": 1}])
    assert desk.anonymize().code == 0
    assert attacked(desk, "similarity", desk.out)["exposed"] == 12
    with pytest.warns(sh.ShoalWarning, match="no protection"):
        release = sh.anonymize(desk.data, desk.folder / "policy.toml")
    assert sh.attack(release, Similarity()).exposed == 12


def spoken(ran):
    """What was said, however wide the terminal is."""
    return " ".join(ran.out.split())


def test_the_attack_commands_say_what_they_found(desk, register):
    table = desk.table("age,disease\n3*,flu\n3*,flu\n5*,flu\n5*,hiv\n5*,cold\n")
    named = [table, "--qi", "age", "--sensitive", "disease"]
    said = " ".join(desk.run("attack", "join", *named, "--register", register).out.split())
    assert "0 of 12 people in the register match exactly one released record" in said
    assert "for 6 more all candidates have the same disease" in said
    assert "2 of 5 records" in spoken(desk.run("attack", "homogeneity", *named))
    assert "5 of 5 records fall" in spoken(desk.run("attack", "background", *named, "--excluded", "2"))
    assert "at least 1.5 times as likely" in spoken(desk.run("attack", "skewness", *named, "--factor", "1.5"))
    ages = desk.table("age,pay\n3*,10\n3*,14\n5*,10\n5*,90\n", "pay.csv")
    said = spoken(desk.run("attack", "similarity", ages, "--qi", "age", "--sensitive", "pay", "--width", "5%"))
    assert "2 of 4 records lie in classes whose pay is nearly the same" in said


def test_bad_inputs_are_one_sentence(desk, register):
    table = desk.table("age,disease\nyoung,CANARY-7f3\n")
    named = ["attack", "join", table, "--qi", "age", "--sensitive", "disease"]
    desk.refused(2, *named, "--register", register, says="column 'age': row 1")
    desk.refused(2, *named, "--register", register, "--on", "agee", says="did you mean 'age'?")
    desk.refused(2, *named, "--register", desk.folder / "nowhere.csv")
    desk.refused(2, *named, says="register")
    desk.refused(2, *named, "--register", register, "--original", register, says="made here")
    desk.refused(2, "attack", "similarity", table, "--qi", "age", "--width", "wide", says="5%")
    desk.refused(2, "attack", "background", table, "--qi", "age", "--excluded", "-1", says="excluded")
    desk.refused(2, "attack", "skewness", table, "--qi", "age", "--factor", "0", says="factor")
