"""`shoal attack compose | minimality | definetti | downcode | singling-out`, end to end."""

import json

import pyarrow as pa
import pyarrow.csv as pc
import pytest

import shoal as sh
from conftest import CANARY, PEOPLE
from shoal import attacks


@pytest.fixture
def released(desk):
    assert desk.anonymize().code == 0
    return desk


def attacked(desk, name, *more):
    ran = desk.run("attack", name, desk.out, *more, "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_compose_with_the_original_a_register_or_neither(released):
    desk = released
    desk.policy(require=[{"model": "k-anonymity", "k": 4}], method={"algorithm": "local"})
    other = desk.folder / "other"
    assert desk.anonymize(out=other).code == 0
    known = attacked(desk, "compose", other, "--original", desk.data)
    assert known["of"] == 12
    assert known["channel"] == "composition"
    assert known["success"]["guesses"] == known["baseline"]["guesses"] == 12
    register = attacked(desk, "compose", other, "--register", desk.data, "--key", "name")
    assert register["figures"]["people_in_all"] == 12
    assert attacked(desk, "compose", other)["figures"]["pairs"] > 0
    shown = desk.run("attack", "compose", desk.out, other)
    assert shown.code == 0
    assert "people" in shown.out


def test_minimality_runs_the_policy_of_the_private_folder(released):
    desk = released
    assert "does not look at sensitive values" in attacked(desk, "minimality", "--original", desk.data)["sentence"]
    desk.policy(require=[{"model": "distinct-l-diversity", "l": 3}])
    assert desk.anonymize("--force").code == 0
    found = attacked(desk, "minimality", "--register", desk.data, "--worlds", "30", "--seed", "4")
    assert found["figures"]["worlds_tried"] == 30
    assert found["figures"]["worlds_that_give_this_release"] > 0
    assert found == attacked(desk, "minimality", "--register", desk.data, "--worlds", "30", "--seed", "4")


def test_downcode_knows_what_was_promised(released):
    found = attacked(released, "downcode", "--original", released.data)
    assert found["figures"]["promise"] == "k-anonymity (k = 3)"
    assert found["figures"]["minimal"] == "each column"
    assert attacked(released, "downcode", "--k", "2", "--minimal", "class")["figures"]["minimal"] == "each class"


def test_singling_out(released):
    found = attacked(released, "singling-out", "--original", released.data, "--below", "1")
    assert found["figures"]["classes"] == released_classes(released)
    assert "success" in found


def released_classes(desk):
    return json.loads((desk.out / "manifest.json").read_text("utf-8"))["classes"]["count"]


def test_definetti_of_anatomy_and_of_classes(released):
    desk = released
    by_classes = attacked(desk, "definetti", "--original", desk.data)
    assert by_classes["success"]["guesses"] == 12
    desk.policy(require=[{"model": "distinct-l-diversity", "l": 2}], method={"algorithm": "anatomy"})
    assert desk.anonymize("--force").code == 0
    assert attacked(desk, "definetti")["of"] == 12
    assert attacked(desk, "definetti", "--original", desk.data)["success"]["guesses"] == 12


def test_the_attacks_work_from_python():
    people = pc.read_csv(pa.BufferReader(PEOPLE.encode()))
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}}
    sex = {"role": "quasi-identifier", "hierarchy": {"flat": True}}
    attributes = {"name": "identifier", "age": age, "sex": sex, "disease": "sensitive"}
    releases = [
        sh.anonymize(people, sh.Policy(attributes=attributes, require=[{"model": "k-anonymity", "k": k}]))
        for k in (2, 3)
    ]
    found = sh.attack(releases[0], attacks.Compose([releases[1]]), original=people)
    assert found.of == 12
    assert found.success is not None
    several = sh.attack(releases[0], attacks.Compose([releases[1]], truths=[people], key="name"), original=people)
    assert several == found
    assert sh.attack(releases[0], attacks.Downcode(), original=people).success is not None
    assert sh.attack(releases[0], attacks.SinglingOut(control=people), original=people).success is not None
    assert sh.attack(releases[0], attacks.DeFinetti(), original=people).success is not None
    assert "does not look" in sh.attack(releases[0], attacks.Minimality(register=people)).sentence


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("command", "more", "says"),
    [
        ("compose", ["other.csv", "--qi", "age", "--sensitive", "disease"], "different columns"),
        ("compose", ["{out}", "--register", "twice.csv", "--key", "name"], "holds a person twice"),
        ("compose", ["{out}", "--register", "other.csv"], "no column 'sex'"),
        ("minimality", [], "needs a register"),
        ("minimality", ["--register", "few.csv"], "everybody whom the release was made from"),
        ("minimality", ["--register", "people.csv", "--seed", "1.5"], "--seed"),
        ("definetti", [], "look alike"),
        ("definetti", ["--attribute", "diseas"], "did you mean 'disease'?"),
        ("downcode", ["--minimal", "row"], "'class' or 'column'"),
        ("downcode", ["--control", "other.csv"], "no column 'sex'"),
        ("singling-out", ["--below", "0"], "between 0 and 1"),
        ("singling-out", ["--control", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_bad_inputs_end_in_one_sentence(released, command, more, says):
    desk = released
    desk.table(f"name,age,disease\n{CANARY},31,{CANARY}\n", "other.csv")
    desk.table(f"name,age,sex\n{CANARY},31,f\n{CANARY},32,m\n", "twice.csv")
    desk.table(f"name,age,sex\n{CANARY},31,f\n", "few.csv")
    files = {"other.csv", "twice.csv", "few.csv", "people.csv", "nowhere.csv"}
    arguments = [desk.folder / each if each in files else each.format(out=desk.out) for each in more]
    desk.refused(2, "attack", command, desk.out, *arguments, says=says)


def test_a_table_without_a_sensitive_column(desk):
    desk.refused(2, "attack", "definetti", desk.data, "--qi", "age,sex", says="no sensitive attribute")
    desk.refused(2, "attack", "downcode", desk.data, "--qi", "age,sex", says="give the policy")
