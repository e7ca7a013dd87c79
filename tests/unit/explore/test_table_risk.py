"""The risk of tables and of releases, from Python."""

import warnings

import pandas as pd
import pyarrow as pa
import pytest

import shoal as sh
from shoal.explore.table_risk import RiskAsked

SIX = pa.table({"age": [31, 31, 31, 52, 52, 60], "w": [1, 2, 3, 4, 5, 10], "who": list("aabbcd")})


def reidentification(source, **asked):
    return sh.risk(source, quasi_identifiers=asked.pop("qi", "age"), **asked).document()["reidentification"]


def test_classes_of_3_2_1():
    """models.md 1.19, from the table on."""
    found = reidentification(SIX, threshold=0.34)
    assert found["prosecutor"] == {"basis": "the table", "max": 1.0, "average": 0.5, "at_risk": 3, "certain": 1}
    assert found["marketer"] == {"basis": "the table", "average": 0.5}
    assert found["histogram"] == [{"size": size, "classes": 1, "rows": size} for size in (1, 2, 3)]
    assert reidentification(SIX, threshold=0.33)["prosecutor"]["at_risk"] == 6
    assert "journalist" not in found


def test_suppressed_rows_are_in_no_class():
    """models.md 1.19: excluded from n, shown beside; a row with one * only is counted."""
    table = pa.table({"age": ["*", "31", "31", "*"], "sex": ["*", "f", "f", "m"]})
    found = reidentification(table, qi=["age", "sex"])
    assert (found["rows"], found["classes"], found["suppressed"]) == (3, 2, {"shown": 1})


def test_a_population_table():
    everybody = pd.DataFrame({"age": ["31"] * 6 + ["52"] * 2 + ["60"] * 4 + ["70"], "name": list("abcdefghijklm")})
    found = reidentification(SIX, population=everybody, threshold=0.2)
    assert found["journalist"]["max"] == 0.5
    assert found["journalist"]["at_risk"] == 3  # F = 6, 2, 4
    assert found["journalist"]["average"] == pytest.approx(max(3 / 12, (3 / 6 + 2 / 2 + 1 / 4) / 6))
    assert found["marketer"]["average"] == pytest.approx((3 / 6 + 2 / 2 + 1 / 4) / 6)
    assert found["uniqueness"] == {"sample": 1, "population": 1, "both": 0}


def test_a_population_that_lacks_some_of_the_table():
    found = sh.risk(SIX, quasi_identifiers="age", population=pa.table({"age": [31, 31, 31, 31, 52]}))
    assert found.notes == (
        "2 classes (3 rows) have more rows than people in the population; they were taken to have as many",
    )
    assert found.document()["reidentification"]["journalist"]["max"] == 1.0
    with pytest.raises(sh.BadInput, match="no row of the table is found in the population"):
        sh.risk(SIX, quasi_identifiers="age", population=pa.table({"age": [1, 2]}))
    with pytest.raises(sh.BadInput, match="the population has no column 'age'"):
        sh.risk(SIX, quasi_identifiers="age", population=pa.table({"x": [1, 2]}))


def test_the_size_of_a_population():
    found = sh.risk(SIX, quasi_identifiers="age", population_size=60)
    told = found.document()["reidentification"]
    # each row stands for ten: E[1/F] = .255843, .082684, .046368 for f = 1, 2, 3 (models.md 1.21)
    assert told["journalist"]["max"] == pytest.approx(0.255843, abs=1e-6)
    assert told["journalist"]["average"] == pytest.approx((0.255843 + 2 * 0.082684 + 3 * 0.046368) / 6, abs=1e-6)
    assert "certain" not in told["journalist"]
    assert told["journalist"]["basis"] == "the size of the population"
    assert "same chance" in found.notes[0]
    assert set(told["uniqueness"]["estimates"]) == {"zayatz", "pitman", "snb"}


def test_weights():
    told = reidentification(SIX, weight="w")["individual"]
    assert told["exact"]["max"] == pytest.approx(0.255843, abs=1e-6)  # f = 1, F = 10
    assert told["weight"] == "w"
    who = reidentification(SIX, weight="w", threshold=0.2)["journalist"]
    assert (who["basis"], who["max"], who["at_risk"]) == ("the weights", told["exact"]["max"], 1)
    assert told["exact"]["expected"] == pytest.approx(6 * told["exact"]["average"])
    light = sh.risk(pa.table({"age": [1, 1], "w": [0.5, 0.5]}), quasi_identifiers="age", weight="w")
    assert "add up to less than the rows" in light.notes[0]


def test_persons():
    found = sh.risk(SIX, quasi_identifiers="age", unit="who")
    told = found.document()["reidentification"]
    assert (told["persons"], told["rows"], told["prosecutor"]["certain"]) == (4, 4, 1)  # classes of 2, 2 and 1 persons
    assert "each is counted once, in the smallest of them" in found.notes[0]


def test_a_person_in_several_classes_has_the_greatest_risk_of_them():
    """Ann is alone once; the others share a class of three with her, or of two."""
    visits = pa.table({"who": ["ann", "ann", "bob", "eve", "joe", "kim"], "age": [1, 2, 2, 2, 3, 3]})
    told = sh.risk(visits, quasi_identifiers="age", unit="who", threshold=0.4).document()["reidentification"]
    assert (told["persons"], told["rows"], told["classes"]) == (5, 5, 3)
    assert (told["prosecutor"]["certain"], told["prosecutor"]["at_risk"], told["uniqueness"]["sample"]) == (1, 3, 1)
    mean = (1 + 1 / 3 + 1 / 3 + 1 / 2 + 1 / 2) / 5
    assert told["prosecutor"]["average"] == told["marketer"]["average"] == pytest.approx(mean)
    assert sh.measure(visits, quasi_identifiers="age", unit="who").persons == 5
    everybody = sh.risk(visits, quasi_identifiers="age", unit="who", population_size=5).document()["reidentification"]
    assert everybody["uniqueness"]["estimate"]["uniques"] == 1  # the table is the population, of five and not of six


def test_suda_and_its_fraction():
    assert reidentification(SIX, qi=["age", "w"], suda=True)["suda"]["fraction"] == 0.01
    told = reidentification(SIX, qi=["age", "w"], suda=True, population_size=60)["suda"]
    assert (told["fraction"], told["rows"]) == (0.1, 6)
    assert reidentification(SIX, qi=["age", "w"], suda=True, fraction=0.5)["suda"]["fraction"] == 0.5


def test_rows_are_numbered_as_in_the_table():
    found = reidentification(pa.table({"age": ["*", "31", "31", "52"]}), suda=True)
    assert [one["row"] for one in found["suda"]["worst"]] == [4]


def test_without_quasi_identifiers():
    found = sh.risk(pa.table({"mail": [f"p{i}@b.org" for i in range(8)], "sex": list("ffmm") * 2}))
    assert found.reidentification is None
    assert [one.column for one in found.identifiers] == ["mail"]
    assert [one.columns for one in found.discovery.minimal] == [("mail",)]
    assert set(found.document()) == {"rows", "identifiers", "discovery"}


def test_sensitive_columns_are_not_known_outside():
    found = sh.risk(SIX, sensitive="w")
    assert {one.columns for one in found.discovery.alone} == {("age",), ("who",)}


def test_presets():
    found = sh.risk(SIX, quasi_identifiers="age", preset=["ferpa-3", "hipaa-safe-harbor"])
    assert [(one.preset.name, one.holds) for one in found.presets] == [("ferpa-3", False), ("hipaa-safe-harbor", True)]
    assert found.identifiers == ()


@pytest.mark.parametrize("rows", [1, 5])
def test_one_row_and_rows_all_identical(rows):
    table = pa.table({"age": [30] * rows, "sex": ["f"] * rows})
    everything = {"suda": True, "discover": True, "identifiers": True, "population_size": 5, "preset": "ema-0070"}
    told = sh.risk(table, quasi_identifiers=["age", "sex"], **everything).document()
    assert told["reidentification"]["prosecutor"]["max"] == 1 / rows
    assert told["reidentification"]["prosecutor"]["certain"] == (1 if rows == 1 else 0)


@pytest.fixture
def release(tmp_path):
    people = pa.table(
        {"age": [31, 33, 35, 51, 53, 55, 99], "disease": ["flu", "hiv", "flu", "cold", "hiv", "flu", "flu"]}
    )
    policy = sh.Policy(
        attributes={
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}},
            "disease": "sensitive",
        },
        require=[{"model": "k-anonymity", "k": 3}],
        method={"suppression": 0.2},
    )
    with warnings.catch_warnings(action="ignore"):
        sh.anonymize(people, policy).save(tmp_path / "out")
    return tmp_path / "out"


def test_a_release_names_its_quasi_identifiers(release):
    told = sh.risk(release, discover=True).document()
    found = told["reidentification"]
    assert found["quasi_identifiers"] == ["age"]
    assert (found["rows"], found["classes"], found["prosecutor"]["certain"]) == (6, 2, 0)
    assert found["suppressed"] == {"shown": 0, "dropped": 1}
    assert [one["columns"] for one in told["discovery"]["columns"]] == [["age"]]  # the disease is sensitive
    assert sh.risk(release, quasi_identifiers=["age", "disease"]).reidentification.rows == 6
    (release / "data.csv").unlink()
    with pytest.raises(sh.BadInput, match=r"out/data.csv: the released table is missing"):
        sh.risk(release)


BAD = {
    "there is no column 'agee' (did you mean 'age'?)": {"quasi_identifiers": "agee"},
    "there is no column 'ww' (did you mean 'w'?)": {"quasi_identifiers": "age", "weight": "ww"},
    "threshold must lie above 0 and at most at 1, not 1.5": {"quasi_identifiers": "age", "threshold": 1.5},
    "'age' cannot be quasi-identifier, sensitive or unit at once": {"quasi_identifiers": "age", "sensitive": "age"},
    "give either a population table or its size, not both": {
        "quasi_identifiers": "age",
        "population": SIX,
        "population_size": 9,
    },
    "population-size must be a whole number of at least 1, not 0": {"quasi_identifiers": "age", "population_size": 0},
    "more than the population size of 5": {"quasi_identifiers": "age", "population_size": 5},
    "suda-size must be a whole number of at least 1, not 1.5": {"quasi_identifiers": "age", "suda_size": 1.5},
    "the sampling fraction must lie above 0": {"quasi_identifiers": "age", "suda": True, "fraction": 2},
    "weights and SUDA look at rows": {"quasi_identifiers": "age", "unit": "who", "weight": "w"},
    "a weight looks at classes: name the quasi-identifiers": {"weight": "w"},
    "the preset 'cms' looks at classes: name the quasi-identifiers": {"preset": "cms"},
    "there is no preset 'nix'": {"preset": "nix"},
    "distinction must lie above 0 and at most at 1, not 2": {"discover_threshold": 2},
    "the weight of row 1 is not a number": {"quasi_identifiers": "age", "weight": "who"},
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_input_is_one_sentence(sentence):
    with pytest.raises(sh.BadInput) as wrong:
        sh.risk(SIX, **BAD[sentence])
    assert sentence in str(wrong.value)


def test_every_row_suppressed():
    with pytest.raises(sh.BadInput, match="every row is suppressed"):
        sh.risk(pa.table({"age": ["*", "*"]}), quasi_identifiers="age")


def test_an_empty_table():
    with pytest.raises(sh.BadInput):
        sh.risk(pa.table({"age": pa.array([], pa.int64())}), quasi_identifiers="age")


def test_bad_options_are_refused_before_anything_is_read():
    with pytest.raises(sh.BadInput, match="threshold"):
        RiskAsked(threshold=0)
