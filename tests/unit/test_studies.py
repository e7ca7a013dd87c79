"""Directions that the papers state come out (S0.5, S2.7, S3.8, S4.3), are told from figures, and are written down."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from naive import THOROUGH

from shoal.cli.explore_commands import SAID
from shoal.studies import STUDIES, inference, partitions, searches
from shoal.studies import alp_dif as leakage
from shoal.studies import homogeneous_classes as homogeneity
from shoal.studies.study import People

ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult_uci"
needs_adult = pytest.mark.skipif(not ADULT.exists(), reason="UCI's Adult is not beside the repository")


@pytest.fixture(scope="module")
def adult():
    return People.of(ADULT)


@pytest.fixture(scope="module")
def small():
    """Every study of a few invented people, run once."""
    people, found = People.of(None, rows=2_000), {}

    def run(name):
        if name not in found:
            found[name] = STUDIES[name](people, repeats=2)
        return found[name]

    return run


def sheets(study):
    return {sheet.name: sheet.records() for sheet in study.sheets}


def verdicts(study):
    return {each.paper: each.holds for each in study.directions}


def of(study, *begins):
    """The verdicts on statements that begin so."""
    found = [holds for paper, holds in verdicts(study).items() if paper.startswith(begins)]
    assert len(found) >= len(begins)
    return found


# of invented people and of Adult


def homogeneity_holds(study):  # S0.5
    assert all(of(study, "SE rises with the size", "SE falls with k", "the possibility of an attack falls with k"))


def searches_hold(study):  # S2.7
    assert all(of(study, "Datafly checks very few nodes", "Samarati's generalisation is minimal"))


def leakage_holds(study):  # S3.8
    assert all(
        of(
            study,
            "figure 4: attacked records fall with k (k-anonymity)",
            "figure 4: (alp, dif) has evidently fewer",
            "figure 5: (alp, dif) takes longer",
            "figure 6: Prec falls with k (k-anonymity)",
            "figure 6: (alp, dif) is less precise",
            "smaller alp: less Prec",
        )
    )


def partitions_hold(study):  # S4.3
    assert all(of(study, "multidimensional recoding beats", "figure 1"))


HOLD = {
    "homogeneity": homogeneity_holds,
    "searches": searches_hold,
    "leakage": leakage_holds,
    "partitions": partitions_hold,
}


@pytest.mark.some(4)
@pytest.mark.parametrize("name", HOLD)
def test_directions_of_invented_people(small, name):
    HOLD[name](small(name))


@pytest.mark.thorough
@needs_adult
@pytest.mark.parametrize("name", HOLD)
def test_directions_of_adult(adult, name):
    study = STUDIES[name](adult)
    HOLD[name](study)
    if name == "leakage":
        assert of(study, "smaller alp: fewer attacked records") == [True]
    if name == "homogeneity":
        by_k = sheets(study)["by-k"]
        assert by_k[3] == {**by_k[3], "k": 5, "SE": 60_000 / 5 * 2.0**-4}
    if name == "searches":
        for k in searches.KS:
            rows = {row["algorithm"]: row for row in sheets(study)["by-k"] if row["k"] == k}
            assert rows["datafly"]["nodes visited"] == min(row["nodes visited"] for row in rows.values())
            assert rows["optimal"]["loss"] == rows["incognito"]["loss"] == min(row["loss"] for row in rows.values())


# directions are told from figures: other figures, other verdicts


def test_reversed_homogeneity_figures_are_judged_false(small):
    by_size, by_k = (sheet.rows for sheet in small("homogeneity").sheets)

    def turned(rows):
        return [(one[0], *other[1:]) for one, other in zip(rows, rows[::-1], strict=True)]

    rises, falls, *_ = homogeneity._directions(turned(by_size), turned(by_k))
    assert (rises.holds, falls.holds) == (False, False)
    same = [(row[0], *by_k[0][1:]) for row in by_k]
    assert homogeneity._directions(by_size, same)[1].holds is None


def test_swapped_search_figures_are_judged_false(small):
    swapped = {"datafly": "incognito", "incognito": "datafly"}
    by_k, by_rows = (
        [(row[0], swapped.get(row[1], row[1]), *row[2:]) for row in sheet.rows] for sheet in small("searches").sheets
    )
    fewest = searches._directions(by_k, by_rows)[0]
    assert fewest.holds is False
    assert "above it at k = 2" in fewest.measured


@pytest.mark.thorough
def test_swapped_leakage_figures_are_judged_false(small):
    found = {name: [] for name in ("k-anonymity", "(alp, dif)")}
    for row in sheets(small("leakage"))["by-k"]:
        if row["model"] in found:
            measured = leakage.LeakageFigures(*(float(row[column]) for column in leakage._HEADER))
            found[row["model"]].append(measured)
    other = {"k-anonymity": found["(alp, dif)"], "(alp, dif)": found["k-anonymity"]}
    turned = {each.paper: each.holds for each in leakage._against_k(other)}
    assert turned["figure 4: (alp, dif) has evidently fewer attacked records than k-anonymity"] is False
    assert turned["figure 6: (alp, dif) is less precise than k-anonymity"] is False
    falling = {name: each[::-1] for name, each in found.items()}
    turned = {each.paper: each.holds for each in leakage._against_k(falling)}
    assert turned["figure 4: attacked records fall with k (k-anonymity)"] is False


@pytest.mark.parametrize(("real", "side"), [(3, "more than SE."), (1, "fewer than SE."), (2, "as many as SE.")])
def test_the_note_on_homogeneous_classes_compares_in_english(real, side):
    assert f"are homogeneous: {side} Its" in homogeneity._note((100, 2, 2.5, real, 9, 5, 0.1), 4)


@pytest.mark.thorough
def test_swapped_partition_figures_are_judged_false(small):
    swapped = {"mondrian": "mondrian-single", "mondrian-single": "mondrian"}
    rows = [(row[0], swapped.get(row[1], row[1]), *row[2:]) for row in small("partitions").sheets[0].rows]
    assert [each.holds for each in partitions._directions(rows)[:3]] == [False] * 3


def test_bad_inference_figures_are_judged_false():
    people = replace(People.of(None, rows=10), real=True)
    good = {"initial": [0.9, 0.91, 0.92], "10-anonymous": [0.8, 0.81, 0.82], "blocked": [0.7, 0.71, 0.72]}
    assert [each.holds for each in inference._accuracy_directions(good, people)] == [True, True, False]
    bad = {"initial": good["blocked"], "10-anonymous": good["10-anonymous"], "blocked": good["blocked"]}
    reversed_, _ = [*inference._accuracy_directions(bad, people)][:2]
    assert (reversed_.holds, reversed_.why) == (False, "")  # the whole interval lies below 0
    assert [each.holds for each in inference._accuracy_directions(bad, people)][:2] == [False, True]
    unclear = {"initial": [0.8, 0.9], "10-anonymous": [0.9, 0.8], "blocked": [0.7, 0.71]}
    open_ = next(inference._accuracy_directions(unclear, people))
    assert (open_.holds, open_.why[:20]) == (None, "the interval holds 0")
    paper = {name: [value / 100, value / 100 + 1e-4] for name, value in inference.REPORTED.items()}
    assert [each.holds for each in inference._accuracy_directions(paper, people)] == [True, True, True]


# what is written


@pytest.mark.parametrize("name", list(STUDIES)[:: 1 if THOROUGH else 3])
def test_each_writes_tables_figures_and_verdicts(small, tmp_path, name):
    study = small(name)
    written = study.write(tmp_path / "out")
    assert all(path.stat().st_size for path in written)
    page = (tmp_path / "out" / "study.md").read_text()
    assert "invented census" in page
    for figure in study.figures:
        assert f"({figure}.svg)" in page
        assert (tmp_path / "out" / f"{figure}.svg").read_bytes()[:5] == b"<?xml"
    for each in study.directions:
        assert f"| {each.paper} | {each.measured} | {each.verdict} | {each.why} |" in page
        assert each.holds or each.why, f"a direction that does not come out is explained: {each.paper}"
    assert json.dumps(study.document())


def test_the_patients_of_figure_1(small):
    """S4.1, S4.3: regions of six patients by both kinds of partitioning."""
    rows = sheets(small("partitions"))["patients"]
    assert [(row["Zipcode"], row["Age"], row["rows"]) for row in rows if row["algorithm"] == "mondrian"] == [
        ("53710 to 53711", "35 to 36", 2),
        ("53710 to 53711", "37 to 38", 2),
        ("53712 to 53712", "35 to 38", 2),
    ]
    assert len([row for row in rows if row["algorithm"] == "mondrian-single"]) == 2


# the command


def test_every_study_is_listed(desk):
    assert list(SAID) == list(STUDIES)
    for ran in (desk.run("study", "--help"), desk.run("study", "list")):
        assert ran.code == 0
        assert all(name in ran.out for name in STUDIES)


@pytest.mark.thorough
def test_study_all_makes_one_page(desk, small, monkeypatch):
    found = {name: small(name) for name in STUDIES}
    for name in STUDIES:
        monkeypatch.setitem(STUDIES, name, lambda *_, name=name: found[name])
    out = desk.folder / "studies"
    ran = desk.run("study", "all", "--rows", "200", "--out", out, "--json")
    assert ran.code == 0, ran.err
    assert [each["study"] for each in json.loads(ran.out)["studies"]] == list(STUDIES)
    page = (out / "index.md").read_text()
    for name in STUDIES:
        assert f"## {small(name).title}\n" in page
        assert small(name).verdict_counts in page
        for figure in small(name).figures:
            assert f"({name}/{figure}.svg)" in page
            assert (out / name / f"{figure}.svg").is_file()


def test_the_study_command_prints_verdicts(desk):
    ran = desk.run("study", "homogeneity", "--rows", "300")
    assert ran.code == 0, ran.err
    assert "SE falls with k" in ran.out
    assert "holds" in ran.out
