"""`shoal risk` as a person and as a machine see it."""

import json

import pytest

from conftest import CANARY

SIX = f"age,w,ill\n31,1,{CANARY}\n31,2,flu\n31,3,flu\n52,4,flu\n52,5,hiv\n60,10,hiv\n"


@pytest.fixture
def six(desk):
    return desk.table(SIX)


def test_a_sentence_that_a_person_understands(desk, six):
    ran = desk.run("risk", six, "--qi", "age", "--threshold", "0.34")
    assert ran.code == 0
    said = " ".join(ran.out.split())
    assert "1 of 6 people can be found with certainty" in said
    assert "3 of 6 people (50.00 %) have a risk above 0.34: fewer than 3 alike" in said
    assert "finds about 3 of 6 people (50.00 %)" in said
    assert "needs --population or --population-size" in said


def test_a_threshold_may_be_a_ratio_which_is_exact(desk, six):
    def at_risk(threshold):
        ran = desk.run("risk", six, "--qi", "age", "--threshold", threshold, "--json")
        return json.loads(ran.out)["reidentification"]["prosecutor"]["at_risk"]

    assert (at_risk("1/3"), at_risk("0.3333"), at_risk("1/2")) == (3, 6, 1)
    ran = desk.run("risk", six, "--discover", "--discover-threshold", "2/3", "--json")
    assert json.loads(ran.out)["discovery"]["threshold"] == pytest.approx(2 / 3)
    ran = desk.run("risk", six, "--qi", "age", "--threshold", "a third")
    assert ran.code != 0
    assert 'threshold must be a number, or two whole numbers such as "1/3"' in ran.err


@pytest.mark.parametrize(
    ("attack", "option"),
    [
        ("rules", "--at"),
        ("rules", "--held-out"),
        ("prosecutor", "--threshold"),
        ("skewness", "--threshold"),
        ("singling-out", "--below"),
    ],
)
def test_shares_of_attacks_may_be_ratios(desk, six, attack, option):
    control = ["--control", desk.table("age\n31\n52\n60\n", "others.csv")] if attack == "singling-out" else []
    asked = ("attack", attack, six, "--qi", "age", "--sensitive", "ill", *control, "--json", option)
    as_ratio, as_number = desk.run(*asked, "3/4"), desk.run(*asked, "0.75")
    assert as_ratio.code == 0
    assert json.loads(as_ratio.out) == json.loads(as_number.out)
    refused = desk.run(*asked, "3/0")
    assert refused.code != 0
    assert 'must be a number, or two whole numbers such as "1/3"' in json.loads(refused.err)["error"]["message"]


def test_one_json_document(desk, six):
    ran = desk.run("risk", six, "--qi", "age", "--weight", "w", "--suda", "--discover", "--identifiers", "--json")
    told = json.loads(ran.out)
    assert not ran.err
    assert set(told) == {"rows", "reidentification", "identifiers", "discovery"}
    assert told["reidentification"]["individual"]["exact"]["max"] == pytest.approx(0.255843, abs=1e-6)


def test_all_options_together_show_no_cell(desk, six):
    desk.table("age\n" + "31\n52\n60\n" * 4, "all.csv")
    options = ("--suda", "--discover", "--identifiers", "--preset", "ema-0070,hipaa-safe-harbor,hipaa-expert")
    for more in (["--population", desk.folder / "all.csv"], ["--population-size", "60"]):
        ran = desk.run("risk", six, "--qi", "age", *options, "--weight", "w", *more)
        assert ran.code == 0
        assert CANARY not in ran.out + ran.err
        assert "FAILS" in ran.out
        assert "no number" in ran.out


def test_discover_lists_possible_quasi_identifiers(desk):
    ran = desk.run("risk", desk.data)
    assert ran.code == 0
    assert "a name (A)" in ran.out
    assert "Every column alone" in ran.out
    assert "--qi" in ran.err


def test_only_the_named_parts_are_reported(desk):
    assert set(json.loads(desk.run("risk", desk.data, "--identifiers", "--json").out)) == {"rows", "identifiers"}
    assert set(json.loads(desk.run("risk", desk.data, "--discover", "--json").out)) == {"rows", "discovery"}
    told = json.loads(desk.run("risk", desk.data, "--preset", "hipaa-safe-harbor", "--json").out)
    assert set(told) == {"rows", "identifiers", "presets"}
    assert told["presets"][0]["holds"] is False


def test_the_risk_of_a_release(desk):
    desk.policy()
    assert desk.run("anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.out).code == 0
    ran = desk.run("risk", desk.out, "--preset", "ferpa-3")
    assert ran.code == 0
    assert "0 of 12 people can be found with certainty" in " ".join(ran.out.split())
    assert "holds" in ran.out


def test_presets_are_listed(desk):
    ran = desk.run("risk", "--preset", "list")
    assert ran.code == 0
    assert "ema-0070" in ran.out
    told = json.loads(desk.run("risk", "--preset", "list", "--json").out)
    assert {"preset", "asks", "source"} == set(told["presets"][0])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--qi", "agee"], "did you mean 'age'?"),
        (["--qi", "age", "--threshold", "0"], "threshold must lie above 0"),
        (["--qi", "age", "--weight", "ill"], "the weight of row 1 is not a number"),
        (["--suda"], "name the quasi-identifiers"),
        (["--qi", "age", "--preset", "nix"], "there is no preset 'nix'"),
        (["--qi", "age", "--population-size", "3"], "more than the population size of 3"),
        (["--qi", "age", "--population", "nix.csv"], "no such file"),
        (["--discover-threshold", "7"], "distinction must lie above 0"),
    ],
)
def test_bad_input(desk, six, options, sentence):
    ran = desk.run("risk", six, *options)
    assert ran.code == 2
    assert sentence in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert CANARY not in ran.err


def test_risk_refuses_missing_and_empty_input(desk):
    assert desk.run("risk").code == 2
    assert desk.run("risk", desk.table("", "empty.csv"), "--qi", "age").code == 2
    assert desk.run("risk", desk.table("age\n", "header.csv"), "--qi", "age").code == 2
