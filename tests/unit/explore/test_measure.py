"""What `measure` tells of a table as it is."""

import json
from dataclasses import FrozenInstanceError

import pyarrow as pa
import pytest

import shoal as sh


def test_attributes_that_hide_alone_point_at_people_together():
    """Four people: k = 2 for the sex and for the PIN code alone, k = 1 for the pair."""
    table = pa.table({"sex": ["Male", "Female", "Male", "Female"], "pin": ["110010", "110011", "110011", "110010"]})
    found = sh.measure(table, quasi_identifiers=["sex", "pin"])
    assert found.alone == {"sex": 2, "pin": 2}
    assert found.models[0].attained == {"k": 1}
    assert found.k == 1


def test_single_attributes_are_shown_beside_all_of_them(desk):
    data = desk.table("sex,pin\nm,110010\nf,110011\nm,110011\nf,110010\n")
    shown = desk.run("measure", data, "--qi", "sex,pin").out
    assert "of sex alone" in shown
    assert "of pin alone" in shown
    assert "alone" not in desk.run("measure", data, "--qi", "sex").out


def test_the_worst_class_has_a_size_and_rows(desk):
    """Its values only for those who ask."""
    data = desk.table("age,sex,ill\n30,f,flu\n40,m,hiv\n30,f,hiv\n40,m,hiv\n50,f,flu\n")
    found = sh.measure(data, quasi_identifiers=["age", "sex"], sensitive="ill")
    worst = {each.model: each.to_dict().get("worst") for each in found.models}
    assert worst["k-anonymity"] == {"size": 1, "rows": [5]}
    assert worst["distinct-l-diversity"] == {"size": 2, "rows": [2, 4]}
    assert "age = 50" not in desk.run("measure", data, "--qi", "age,sex", "--sensitive", "ill").out
    named = sh.measure(data, quasi_identifiers=["age", "sex"], sensitive="ill", show_values=True)
    assert named.models[0].worst["values"] == {"age": "50", "sex": "f"}
    assert "age = 50" in desk.run("measure", data, "--qi", "age,sex", "--sensitive", "ill", "--show-values").out


def test_recursive_diversity_for_two_and_three_values():
    """models.md 1.1: counts 3, 2, 1: (c,2) holds iff c > 1, (c,3) iff c > 3."""
    table = pa.table({"q": ["x"] * 6, "ill": ["a", "a", "a", "b", "b", "c"]})
    found = {each.model: each.attained for each in sh.measure(table, "q", "ill").models}
    told = found["recursive-cl-diversity"]
    assert 1 < told["c (l=2)"] < 1 + 1e-12
    assert 3 < told["c (l=3)"] < 3 + 1e-12


def test_the_json_of_the_command_is_the_dictionary(desk):
    data = desk.table("age,sex,ill\n30,f,flu\n40,m,hiv\n30,f,hiv\n40,m,hiv\n*,*,flu\n")
    found = sh.measure(data, ["age", "sex"], "ill")
    said = desk.run("measure", data, "--qi", "age,sex", "--sensitive", "ill", "--json").out
    assert json.loads(said) == found.to_dict()
    assert list(found.to_dict()) == ["rows", "classes", "models", "homogeneity", "alphas", "alone", "suppressed"]
    assert sh.measure(data, ["age"], unit="sex").to_dict()["persons"] == 3


def test_a_measurement_does_not_change_and_shows_no_value():
    found = sh.measure(pa.table({"q": ["CANARY", "x", "x"], "<i>": ["CANARY", "a", "b"]}), "q", "<i>", show_values=True)
    assert repr(found) == "TableMeasurement(3 rows in 2 classes, k = 1)"
    assert repr(found.models[0]) == "ModelMeasurement(k-anonymity: k = 1)"
    for shown in (repr(found), repr(found.models), str(found), found._repr_html_()):
        assert "CANARY" not in shown
    assert "<i>" not in found._repr_html_()
    with pytest.raises(FrozenInstanceError):
        found.rows = 1
    with pytest.raises(TypeError, match="does not change"):
        found.models[0].attained["k"] = 9


def test_sex_alone_is_3_anonymous_and_the_pair_is_not():  # S2.2b
    """The survey's table of section 2.2, called 2-anonymous by each attribute: k = 3 by sex, 2 by PIN, 1 by both."""
    sexes = ["Male", "Female", "Male", "Female", "Male", "Female"]
    pins = ["110010", "110011", "110011", "110010", "110012", "110012"]
    salaries = [">50k", ">100k", ">100k", ">50K", ">150k", ">150k"]
    table = pa.table({"Sex": sexes, "PIN_Code": pins, "Salary": salaries})
    found = sh.measure(table, ["Sex", "PIN_Code"], "Salary")
    assert dict(found.alone) == {"Sex": 3, "PIN_Code": 2}
    assert found.k == 1
