"""The verdict comes from what was run, never from what was promised (S1.7)."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import shoal as sh
from shoal.attacks.attack import Channel

ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult"
QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]
K5 = [{"model": "k-anonymity", "k": 5}]


def verdict(found):
    return {str(line.channel): line for line in found.lines}


def released(require):
    hierarchies = {name: {"csv": str(ADULT / "hierarchies" / f"adult_hierarchy_{name}.csv")} for name in QUASI}
    attributes = {name: {"role": "quasi-identifier", "hierarchy": hierarchies[name]} for name in QUASI}
    policy = {
        "data": {"missing": ["?"]},
        "attributes": attributes | {"occupation": {"role": "sensitive"}},
        "require": require,
        "method": {"algorithm": "local", "time-limit": 5},
    }
    return sh.anonymize(str(ADULT / "adult.csv"), policy)


@pytest.mark.thorough
@pytest.mark.skipif(not ADULT.exists(), reason="the Adult table is not beside the repository")
def test_k_anonymity_alone_leaves_people_exposed_and_diversity_changes_the_verdict():
    alone = sh.audit(released(K5))
    lines = verdict(alone)
    assert lines["record linkage"].verdict == "protected"
    assert "the smallest has 5 records" in lines["record linkage"].why
    found = {finding.attack: finding for finding in alone.findings}
    assert found["homogeneity"].exposed > 0
    assert found["rules"].exposed > 0
    assert found["downcode"].exposed > 0
    assert "in classes that show one value only" in lines["attribute linkage"].why
    assert "perfect rule" in lines["rule inference"].why
    assert "made finer with certainty" in lines["singling out"].why
    assert lines["composition"].verdict == "not looked at"
    both = sh.audit(released([*K5, {"model": "alpha-k", "alpha": 0.5, "k": 5}]))
    after = verdict(both)
    assert next(each for each in both.findings if each.attack == "homogeneity").exposed == 0
    assert after["rule inference"].verdict == "protected"
    assert after["attribute linkage"].people < lines["attribute linkage"].people


PATIENTS = pa.table(
    {
        "age": ["[30, 40)"] * 4 + ["[40, 50)"] * 4,
        "ill": ["flu", "flu", "hiv", "ulcer", "flu", "hiv", "cold", "ulcer"],
    }
)


def test_a_release_that_no_attack_exposes_is_called_protected():
    found = sh.audit(PATIENTS, quasi_identifiers="age", sensitive="ill")
    lines = verdict(found)
    assert not found.exposed
    assert [lines[str(channel)].verdict_text for channel in Channel] == [
        *("protected", "protected", "protected", "not looked at", "protected"),
    ]
    assert set(found.skipped) >= {"join", "compose", "minimality", "similarity"}
    assert all(found.skipped.values())


def test_other_releases_and_registers_change_the_verdict():
    other = pa.table(
        {"age": ["[20, 40)"] * 3 + ["[40, 60)"] * 3, "ill": ["hiv", "gout", "acne", "cold", "gout", "acne"]}
    )
    register = pa.table({"age": [31, 45]})
    found = sh.audit(PATIENTS, others=[other], register=register, quasi_identifiers="age", sensitive="ill")
    lines = verdict(found)
    assert lines["composition"].verdict == "exposed"
    assert "at least 4 candidates" in lines["record linkage"].why
    alone = sh.audit(PATIENTS.slice(0, 5), register=register, quasi_identifiers="age", sensitive="ill")
    assert verdict(alone)["record linkage"].verdict_text == "exposed: 1 record"
    assert "match one record only" in verdict(alone)["record linkage"].why


def test_without_sensitive_attributes_only_records_are_looked_at():
    lines = verdict(sh.audit(PATIENTS.select(["age"]), quasi_identifiers="age"))
    assert (
        lines["attribute linkage"].why
        == lines["rule inference"].why
        == "no sensitive attribute was named (--sensitive, in Python sensitive=…)"
    )
    assert lines["record linkage"].verdict == "protected"


def test_the_command(desk):
    desk.policy(
        attributes={
            "name": {"role": "identifier"},
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
            "sex": {"role": "quasi-identifier"},
            "disease": {"role": "sensitive"},
        }
    )
    assert desk.anonymize().code == 0
    ran = desk.run("audit", desk.out, "--original", desk.data)
    assert ran.code == 0, ran.err
    for word in ("Verdict", "record linkage", "protected", "What was not run", "compose"):
        assert word in ran.out
    told = json.loads(desk.run("audit", desk.out, "--json").out)
    assert [line["channel"] for line in told["verdict"]] == [str(channel) for channel in Channel]
    assert {attack["attack"] for attack in told["attacks"]} >= {"prosecutor", "homogeneity", "rules"}
    pa.csv.write_csv(pa.table({"agee": [31]}), desk.folder / "register.csv")
    wrong = desk.run("audit", desk.out, "--register", desk.folder / "register.csv", "--json")
    assert "join" in json.loads(wrong.out)["not_run"]
    desk.refused(2, "audit", desk.folder / "nothing.csv", "--qi", "age", says="nothing.csv")


def test_singling_out_reads_decimal_commas(desk):
    """Attributes with intervals were not looked at, though the release was made of the same numbers."""
    rows = "".join(f"{age};{age * 3},50;{'fm'[age % 2]};flu\n" for age in range(20, 40))
    data = desk.table("age;costs;sex;disease\n" + rows)
    roles = {name: {"role": "quasi-identifier"} for name in ("age", "costs", "sex")}
    roles["costs"]["hierarchy"] = {"intervals": [10, 50]}
    desk.policy(roles | {"disease": {"role": "sensitive"}}, method={"algorithm": "local"})
    assert desk.anonymize().code == 0
    ran = desk.run("audit", desk.out, "--original", data, "--json")
    assert ran.code == 0, ran.err
    assert "singling-out" not in json.loads(ran.out)["not_run"]


def test_records_that_are_stars_everywhere_are_counted_apart():
    shown = {"age": ["3*"] * 3 + ["*"] * 2, "sex": ["f"] * 3 + ["*"] * 2}
    found = sh.audit(pa.table(shown), quasi_identifiers=["age", "sex"])
    prosecutor = next(each for each in found.findings if each.attack == "prosecutor")
    rest = "; 2 more records show * in every quasi-identifier and could be anybody's"
    assert prosecutor.sentence == f"0 of 3 records are alone in their class; the smallest class has 3{rest}"
    assert prosecutor.figures["suppressed_records"] == 2
    assert verdict(found)["record linkage"].why == f"by its classes: the smallest has 3 records{rest}"


def test_background_knowledge_is_told_apart_from_what_the_release_tells():
    shown = {"age": ["3*"] * 4, "ill": ["flu", "hiv", "flu", "hiv"]}
    line = verdict(sh.audit(pa.table(shown), quasi_identifiers=["age"], sensitive=["ill"]))["attribute linkage"]
    assert (line.verdict, line.people) == ("protected unless more is known", 0)
    assert line.verdict_text == "protected unless more is known: 4 records"
    assert line.document()["records_if_more_is_known"] == 4
    assert line.why.endswith(
        "somebody who knows from elsewhere one value that a person does not have can tell the value of 4 (the release "
        "alone does not tell these)"
    )


def test_other_sensitive_columns_are_not_known_when_one_is_attacked(desk):
    """Pay tells the vote, but nobody knows anybody's pay: naming the vote alone makes no rule of it."""
    rows = [f"{30 + i % 2},{1000 + i % 4},{'yes' if i % 4 < 2 else 'no'}" for i in range(40)]
    data = desk.table("age,pay,vote\n" + "\n".join(rows) + "\n", "votes.csv")
    attributes = {"age": {"role": "quasi-identifier"}, "pay": {"role": "sensitive"}, "vote": {"role": "sensitive"}}
    policy = {"attributes": attributes, "require": [{"model": "k-anonymity", "k": 2}]}
    sh.anonymize(data, policy).save(desk.out)
    for sensitive in ([], ["vote"], ["pay", "vote"]):
        line = verdict(sh.audit(desk.out, sensitive=sensitive))["rule inference"]
        assert line.verdict == "protected", sensitive
