"""Directions that the papers state come out (S0.5, S2.7, S3.8, S4.3), and studies run on invented people too."""

from pathlib import Path

import pytest

from shoal.errors import BadInput
from shoal.studies import STUDIES, People

ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult_uci"
needs_adult = pytest.mark.skipif(not ADULT.exists(), reason="UCI's Adult is not beside the repository")


@pytest.fixture(scope="module")
def adult():
    return People.of(ADULT)


def sheets(study):
    return {sheet.name: sheet.records() for sheet in study.sheets}


@needs_adult
def test_se_rises_with_the_table_and_falls_with_k(adult):  # S0.5
    found = sheets(STUDIES["homogeneity"](adult))
    by_size = [row["SE"] for row in found["by-size"]]
    by_k = [row["SE"] for row in found["by-k"]]
    assert by_size == sorted(by_size)
    assert by_k == sorted(by_k, reverse=True)
    assert found["by-k"][3] == {**found["by-k"][3], "k": 5, "SE": 60_000 / 5 * 2.0**-4}


@needs_adult
def test_datafly_visits_the_fewest_nodes(adult):  # S2.7
    found = sheets(STUDIES["searches"](adult))
    for k in (2, 5, 10, 25, 50, 100):
        of = {row["algorithm"]: row for row in found["by-k"] if row["k"] == k}
        assert of["datafly"]["nodes visited"] == min(row["nodes visited"] for row in of.values())
        assert of["samarati"]["height"] == min(row["height"] for row in of.values())
        assert of["optimal"]["loss"] == of["incognito"]["loss"] == min(row["loss"] for row in of.values())


@needs_adult
def test_alp_dif_protects_more_and_keeps_less(adult):  # S3.8
    study = STUDIES["leakage"](adult, repeats=2)
    assert all(sentence.endswith(": as the paper says.") for sentence in study.conclusions), study.conclusions


@needs_adult
def test_multidimensional_recoding_beats_single_dimensional_recoding(adult):  # S4.3
    study = STUDIES["partitions"](adult)
    assert " beats " in study.conclusions[0]


@pytest.mark.parametrize("name", STUDIES)
def test_invented_people_will_do(tmp_path, name):
    people = People.of(None, rows=1_500)
    if name == "leakage":
        with pytest.raises(BadInput, match="name its folder with --adult"):
            STUDIES[name](people)
        return
    study = STUDIES[name](people, repeats=2)
    written = study.write(tmp_path / "out")
    assert all(path.stat().st_size for path in written)
    assert "invented census" in study.page()
